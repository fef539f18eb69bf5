"""Mails about spills: whatever the mail is, the calls come before everything else, in both its parts."""

from __future__ import annotations

import os
import re
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.cases import steps
from headwall.law.profile import load_profile
from headwall.ledger.newest import newest
from headwall.notify import outbox
from headwall.notify.compose import Composer
from headwall.notify.grouping import Batch
from headwall.rules import spills
from headwall.rules.base import Step
from headwall.rules.engine import RuleEngine
from headwall.rules.facts import NodeFault, OpenCase, OpenMatters, Reminder, to_body
from headwall.rules.layers import Layers
from headwall.settings import NotifySettings, SmtpSettings
from support.case_town import TOWN, CaseTown, local
from support.outfall_house import SITE
from support.set_clock import SetClock

GOLDEN = Path(__file__).parent / "golden" / "spill.txt"
NOW = local("10-09 17:45")
FIRST = "CALL FIRST: 911 (emergency dispatch)"


@pytest.fixture
def town(tmp_path: Path) -> CaseTown:
    made = CaseTown(tmp_path, "horseheads")
    made.now = NOW
    return made


def composed(town: CaseTown, folder: Path, *bodies: dict[str, object]) -> EmailMessage:
    smtp = SmtpSettings(host="mail.example", sender="headwall@village.example")
    key = folder / "link.key"
    key.write_text("5a" * 32)
    profiles = {each.profile: load_profile(each.profile) for each in town.registry.municipalities}
    composer = Composer(smtp, NotifySettings(link_key=key), town.ledger, town.registry, profiles)
    rows = tuple(outbox.Waiting(n, f"fact/{n}", "officer", "now", body, NOW) for n, body in enumerate(bodies))
    message = message_from_bytes(composer.mail(Batch("officer", False, rows), NOW).eml, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def text(message: EmailMessage, kind: str = "plain") -> str:
    part = message.get_body((kind,))
    assert isinstance(part, EmailMessage)
    return str(part.get_content()).replace("\r\n", "\n")


def told(town: CaseTown) -> list[tuple[str, str, dict[str, object]]]:
    """What the rules tell: (person, key, body)."""
    profiles = {each.profile: load_profile(each.profile) for each in town.registry.municipalities}
    engine = RuleEngine(town.ledger, town.registry, profiles, SetClock(NOW))
    while engine.step():
        pass
    assert engine.healthy() is None
    with town.ledger.read() as conn:
        rows = conn.execute(outbox.schema.outbox.select()).all()
    return [(row.person, row.fact, row.body) for row in rows if row.kind == "spill_reported"]


def test_a_spill_is_told_once_with_whom_the_code_wants_told(town: CaseTown, tmp_path: Path) -> None:
    town.open("spill", "10-09 17:30")
    ((person, key, body),) = told(town)
    assert (person, key) == ("officer", "spill/1")
    assert told(town) == [(person, key, body)]
    found = re.sub(r"/seen/\S+", "/seen/LINK", text(composed(town, tmp_path, body)))  # of this very ledger
    if os.environ.get("HEADWALL_UPDATE_GOLDEN"):
        GOLDEN.write_text(found, "utf-8")
    assert found == GOLDEN.read_text("utf-8")
    assert found.startswith(FIRST)


def test_a_spill_that_could_not_be_told_is_told_at_the_next_look_and_the_others_once(
    town: CaseTown, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        town.open("spill", "10-09 17:30")
    rule, layers = spills.SpillRule(town.ledger, town.registry), Layers(town.ledger, town.registry)

    def code_of(conn: Any, registry: Any, case: Any) -> Any:
        if case.id == 2:
            raise RuntimeError("a fault")
        return steps.code_of(conn, registry, case)

    def look() -> list[str]:
        with town.ledger.begin() as conn:
            rule.judge(Step(conn, NOW, 0, newest(conn), layers))
            return sorted(conn.execute(sa.select(outbox.schema.outbox.c.fact)).scalars())

    with monkeypatch.context() as broken:
        broken.setattr(spills, "code_of", code_of)
        assert look() == ["spill/1", "spill/3"]
    assert look() == ["spill/1", "spill/2", "spill/3"]


def test_another_case_that_a_person_opens_is_no_spill(town: CaseTown) -> None:
    town.open("suspected_discharge", "10-09 17:30")
    assert told(town) == []


def _reminder(kind: str) -> dict[str, object]:
    fact = Reminder("before", TOWN, SITE, "state-spill-hotline", "tell", "", NOW, case=1, case_kind=kind)
    return to_body(fact)


def _list(kind: str) -> dict[str, object]:
    case = OpenCase(1, kind, SITE, "suspected", NOW)
    return to_body(OpenMatters(TOWN, NOW, NOW, [], [], [case], 0, 0, 1, 0))


@pytest.mark.parametrize("make", [_reminder, _list])
@pytest.mark.parametrize(("kind", "first"), [("spill", True), ("turbidity", False)])
def test_reminders_and_lists_with_a_spill_begin_with_the_calls(
    town: CaseTown, tmp_path: Path, make: object, kind: str, first: bool
) -> None:
    other = to_body(NodeFault("node-7", "silent", "no data", NOW))
    message = composed(town, tmp_path, other, make(kind))  # type: ignore[operator]
    assert text(message).startswith(FIRST) is first
    page = text(message, "html")
    assert (FIRST in page) is first
    if first:
        assert page.index(FIRST) < page.index("<h1>")
        assert '<a href="tel:+1-800-457-7362">1-800-457-7362</a>' in page  # a thumb is enough


def test_a_spill_told_by_a_person_is_on_record_by_that_name(town: CaseTown) -> None:
    case = town.open("spill", "10-09 17:30")
    assert [(step.action, step.by) for step in case.steps] == [("open", "Olive")]
    assert steps.may_follow(case)[0] == "note"
