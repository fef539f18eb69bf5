"""A duty as text: what a mail would say of it now, and what was known when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from headwall.cli.opened import Opened
from headwall.law.localtime import short
from headwall.notify import wording
from headwall.notify.content import Block, Content, Row, row
from headwall.notify.duty_section import duty_section
from headwall.notify.lookup import Lookup
from headwall.notify.render import render_text
from headwall.rules.duties import AnyDuty
from headwall.rules.facts import ClauseDuty, DutyFact, StormDuty


def shown(at: Opened, duty: AnyDuty, versions: Sequence[DutyFact], state: str) -> str:
    """The text, at most 78 columns wide."""
    look, notify = _look(at), at.settings.notify
    section = duty_section(look, duty.body, notify.late_after_us, page=notify.public_url.rstrip("/"))
    known = Block("What was known when", tuple(_version(look, version) for version in versions))
    section = replace(section, blocks=(*section.blocks, known))
    profile = look.profile(duty.body.municipality)
    closing = (f"{profile.disclaimer} A person decides.",) if profile else ()
    return render_text(Content("", section.heading, f"Duty {duty.id}: {state}.", (section,), closing))


def doubts(at: Opened, duty: StormDuty) -> list[Any]:
    """Why the depth of its storm may be wrong."""
    return [msgspec.to_builtins(each) for each in _look(at).doubts(duty.datastream, duty.storm)]


def _version(look: Lookup, version: DutyFact) -> Row:
    zone = look.zone(version.municipality)
    if isinstance(version, ClauseDuty):
        due = "no date" if version.due_us is None else f"due {short(version.due_us, zone)}"
        done = f"; answered by {version.done.reference}" if version.done else ""
        gone = f"; asked no longer: {version.trigger_gone}" if version.trigger_gone else ""
        return row(f"Version {version.version}", f"{due}{done}{gone}")
    gone = f", reason gone: {version.trigger_gone}" if version.trigger_gone else ""
    return row(
        f"Version {version.version}",
        f"{wording.inches(version.storm.depth_in)}, reached {short(version.crossing_us, zone)}, due "
        f"{short(version.due_us, zone)}; storm {'over' if version.storm.ended else 'going on'}{gone}",
    )


def _look(at: Opened) -> Lookup:
    return Lookup(at.registry, at.codes, at.ledger, at.clock.now_us())
