"""Care of monitoring equipment: calibrations that have come due, obstructions that were to be removed, legal basis.

No code gives an interval: the registry's own counts, else what the municipality has chosen, else none.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwall.law import localtime
from headwall.law.provision import Provision
from headwall.law.provisions import DeviceCare
from headwall.ledger.calibrations import listed_calibrations
from headwall.ledger.entries import Obstruction
from headwall.registry.model import Datastream
from headwall.registry.spans import Span, instant_us
from headwall.rules.clauses.expected import Done, Expected, recorded
from headwall.rules.clauses.look import Look

_DAY_US = 24 * localtime.HOUR_US


def device_care(look: Look, clause: Provision) -> Iterator[Expected]:
    """What is due of every device of a site."""
    if not isinstance(clause, DeviceCare):
        return
    for datastream in sorted({sensor.datastream for sensor in look.site.sensors}):
        for span in look.registry.datastream_spans(datastream):
            if span.start_us <= look.now_us:
                yield from _calibrations(look, clause, datastream, span)
    yield from _obstructions(look, clause)


def _calibrations(look: Look, clause: Provision, datastream: str, span: Span[Datastream]) -> Iterator[Expected]:
    """Once for each time that a calibration was not on record when it came due."""
    node = look.registry.require_node(datastream.partition("/")[0])
    basis = span.entry.legal_basis or node.legal_basis
    ends_us = look.now_us if span.end_us is None else min(span.end_us, look.now_us)
    done = [each for each in _done(look, datastream) if span.start_us <= each.at_us <= look.now_us]
    before = [each for each in _done(look, datastream) if each.at_us < span.start_us]
    first_us = before[-1].at_us if before else span.start_us
    for last_us, after in zip([first_us, *(each.at_us for each in done)], [*done, None], strict=True):
        every = span.entry.calibrate_every_days or look.choice("calibration.interval_d", last_us)
        if not every:
            continue
        due_us = last_us + every * _DAY_US
        look.wake(due_us)
        if due_us > ends_us or (after is not None and after.at_us <= due_us):
            continue
        yield Expected(
            clause,
            "",
            f"{datastream} {look.iso(due_us)}",
            {"record": last_us},
            f"Calibrate {datastream}: {every} days have passed since the last time",
            owed_by="" if basis == "order" else "the municipality, whose device it is",
            evidence={
                "legal basis": basis.replace("_", " "),
                "due": look.day(due_us).isoformat(),
                "last": look.day(last_us).isoformat(),
            },
            answer="headwall calibration add FILE",
            done=after,
        )


def _done(look: Look, datastream: str) -> list[Done]:
    """Calibrations of ledger and registry, by time."""
    node = datastream.partition("/")[0]
    found = [
        Done(each.calibration.done_us, each.calibration.by, f"calibration {each.id}")
        for each in listed_calibrations(look.conn, node)
        if each.calibration.datastream == datastream
    ]
    zone = look.registry.zone_of_node(look.registry.require_node(node))
    for span in look.registry.datastream_spans(datastream):
        found += [Done(instant_us(each.on, zone), each.by, "registry") for each in span.entry.calibrations]
    return sorted(found, key=lambda each: (each.at_us, each.reference))


def _obstructions(look: Look, clause: Provision) -> Iterator[Expected]:
    """What was asked to be removed, where the code has that."""
    if not any(each.name == "obstruction" for each in clause.deadlines):
        return
    known = look.entries(Obstruction)
    for asked in known:
        if asked.body.step != "asked":
            continue
        removed = next(
            (
                each
                for each in known
                if each.body.step == "removed" and each.body.what == asked.body.what and each.done_us >= asked.done_us
            ),
            None,
        )
        yield Expected(
            clause,
            "obstruction",
            f"{asked.body.what[:48]} {look.iso(asked.done_us)}",
            {"request": asked.done_us},
            f"Have {asked.body.what} removed, as was asked",
            evidence={"asked by": asked.by, "means": asked.body.means or "not told"},
            answer=f"headwall record obstruction {look.site.id} removed --what TEXT --by NAME",
            done=recorded(removed),
        )
