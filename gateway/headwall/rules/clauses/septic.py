"""Septic systems: the yearly inspection, pump-outs by scum and sludge, the advice of every few years, certificates.

Where septic systems contribute to special conditions of the storm sewer's permit, as the officer has declared with
date and document, these are duties; before that they are advice. A sensor's clearance is an indication: it asks for a
look by hand, and takes the place of no inspection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from headwall.derive import septic as tanks
from headwall.hydrology.septic import Tank
from headwall.law import localtime
from headwall.law.deadlines import Start
from headwall.law.provision import Provision
from headwall.law.provisions import DesignCertificate, SepticPumpOut
from headwall.ledger.entries import Entry, PumpOut, SepticCertificate, SepticMeasurement, SepticRepair
from headwall.rules.clauses.construction import owing
from headwall.rules.clauses.expected import Done, Expected, recorded, unanswered
from headwall.rules.clauses.filling import Hand, Layer, fillings, reached, signs
from headwall.rules.clauses.look import FOREVER_US, Look
from headwall.rules.septic import NEAR, clearance_of

#: the officer's declaration in the register of approvals
DECLARED = "special_conditions"
_NOT_DECLARED = "the officer has declared no special conditions, so this is advice"
_IN_M = 0.0254


def _owner(look: Look, due_us: int | None, done: Done | None = None) -> str:
    """Who owes what is due then, or was due at once then."""
    return owing(look, due_us, done, "owner")


def declared(look: Look) -> list[tuple[int, int, str]]:
    """When the special conditions are declared and the site is active, with the document, in order of time."""
    found = []
    for each in look.approvals(DECLARED):
        end_us = FOREVER_US if each.to_us is None else each.to_us
        for start_us, stop_us in look.active_spans():
            begin, end = max(each.from_us, start_us), min(end_us, stop_us)
            if begin < end and begin <= look.now_us:
                found.append((begin, end, each.body.reference))
        look.wake(each.from_us)
        look.wake(each.to_us)
    return sorted(found)


def _holds(spans: Sequence[tuple[int, int, str]], at_us: int) -> str:
    """The document under which the conditions hold at an instant; "" where they do not."""
    return next((document for start_us, end_us, document in spans if start_us <= at_us < end_us), "")


# ---- the yearly inspection


def inspection(look: Look, clause: Provision) -> Iterator[Expected]:
    if look.site.kind != "septic":
        return
    done = [each for each in look.entries(SepticMeasurement) if _is_inspection(each.body)]
    spans = declared(look)
    years: dict[str, Expected] = {}
    for start_us, end_us, document in _joined(spans):
        # an inspection before a pause starts the year after it too: what is asked after it counts
        years |= {each.occurrence: each for each in _yearly(look, clause, done, (start_us, end_us), document)}
    yield from years.values()
    yield from _advised(look, clause, done, spans)


def _joined(spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Declarations that overlap or follow at once are one, under all their documents."""
    found: list[tuple[int, int, str]] = []
    for start_us, end_us, document in spans:
        if found and start_us <= found[-1][1]:
            before_us, until_us, documents = found[-1]
            both = dict.fromkeys([*documents.split("; "), document])
            found[-1] = before_us, max(until_us, end_us), "; ".join(both)
        else:
            found.append((start_us, end_us, document))
    return found


def _is_inspection(body: SepticMeasurement) -> bool:
    """A look for scum and for sludge."""
    scum = body.no_scum or body.scum_clearance is not None or body.scum_bottom is not None
    return scum and body.sludge is not None


def _yearly(
    look: Look, clause: Provision, done: Sequence[Entry[SepticMeasurement]], span: tuple[int, int], document: str
) -> Iterator[Expected]:
    """One inspection after the other while the conditions hold.

    The first year runs from an inspection before them that is not yet a year old, else from their declaration: nobody
    was late before it.
    """
    start_us, end_us = span
    before = [each for each in done if each.done_us < start_us and _due_us(look, clause, each.done_us) > start_us]
    anchors = [before[-1].done_us if before else start_us]
    within = [each for each in done if start_us <= each.done_us < end_us]
    anchors += [each.done_us for each in within]
    for anchor_us, answer in zip(anchors, [*within, None], strict=True):
        declared_only = anchor_us == start_us and not before
        due_us = _due_us(look, clause, anchor_us, declared_only)
        ended = answer is None and end_us <= look.now_us and due_us > end_us
        yield Expected(
            clause,
            "next",
            f"since {look.iso(anchor_us)}",
            _starts(look, anchor_us, declared_only),
            "Inspect the septic tank for scum and sludge, by hand",
            owed_by=_owner(look, due_us, recorded(answer)),
            evidence={
                "special conditions": document,
                "last inspection": "none in the year before" if declared_only else _day(look, anchor_us),
            },
            answer=_inspected(look),
            done=recorded(answer),
            gone=f"the special conditions ended on {_day(look, end_us)}" if ended else "",
        )


def _starts(look: Look, anchor_us: int, declared_only: bool = False) -> dict[Start, int]:
    """What the year is counted from: the inspection, or by calendar years the last day of its year."""
    if look.choice("septic.period", anchor_us) == "calendar_year":
        new_year = date(look.day(anchor_us).year + (0 if declared_only else 1), 1, 1)
        return {"last_inspection": localtime.midnight_us(new_year, look.where) - 1}
    return {"last_inspection": anchor_us}


def _due_us(look: Look, clause: Provision, anchor_us: int, declared_only: bool = False) -> int:
    starts = _starts(look, anchor_us, declared_only)
    due = look.due(clause, "next", starts)
    return FOREVER_US if due.taken_us is None else due.taken_us


def _advised(
    look: Look, clause: Provision, done: Sequence[Entry[SepticMeasurement]], spans: Sequence[tuple[int, int, str]]
) -> Iterator[Expected]:
    """The same as advice, from one inspection to the next, while nothing is declared."""
    if look.status_at(look.now_us) != "active":
        return
    for last, answer in zip([None, *done], [*done, None], strict=True):
        if last is not None and _holds(spans, last.done_us):
            continue
        document = _holds(spans, look.now_us if answer is None else answer.done_us)
        due_us = None if last is None else _due_us(look, clause, last.done_us)
        yield Expected(
            clause,
            "next",
            "advice, none on record" if last is None else f"advice, since {look.iso(last.done_us)}",
            {} if last is None else _starts(look, last.done_us),
            "Inspect the septic tank for scum and sludge every year",
            owed_by=_owner(look, due_us, recorded(answer)),
            evidence={
                "special conditions": _NOT_DECLARED,
                "last inspection": "none on record" if last is None else _day(look, last.done_us),
            },
            answer=_inspected(look),
            advice=True,
            done=None if document else recorded(answer),
            gone=f"it is a duty since the special conditions were declared ({document})" if document else "",
        )


def _inspected(look: Look) -> str:
    return f"headwall record septic {look.site.id} --scum-clearance LENGTH --sludge LENGTH --by NAME"


# ---- pump-outs by scum and sludge


def pump_out(look: Look, clause: Provision) -> Iterator[Expected]:
    """Once for each filling: under special conditions a duty, else advice."""
    if look.site.kind != "septic" or not isinstance(clause, SepticPumpOut):
        return
    layers, spans = [_layer(look, clause, layer) for layer in tanks.LAYERS], declared(look)
    for filling in fillings(look.entries(PumpOut)):
        found = reached(filling, layers)
        if found is None:
            continue
        under = [(max(found.at_us, start), end, document) for start, end, document in spans if end > found.at_us]
        under = [each for each in under if each[0] < filling.until_us]
        asks = (
            "Pump out the septic tank: scum or sludge is as near to the outlet baffle as the code lets it come"
            if found.by_hand
            else "Measure scum and sludge by hand, and pump out the tank if they are as near as the sensor indicates"
        )
        evidence = {
            **found.evidence,
            "the code's distance": f"scum {clause.scum_clearance}, sludge {clause.sludge_clearance}",
        }
        gone = f"measured against it: {found.refuted}" if found.refuted else ""
        since_us, document = (under[0][0], under[0][2]) if under else (found.at_us, "")
        if under and filling.emptied is None and not gone and under[-1][1] <= look.now_us:
            gone = unanswered(f"the special conditions ended on {_day(look, under[-1][1])}")
        yield Expected(
            clause,
            "",
            ("" if under else "advice, ") + filling.occurrence(look),
            {"discovery": since_us},
            asks,
            owed_by=_owner(look, since_us),
            evidence={**evidence, "special conditions": document or _NOT_DECLARED},
            answer=f"headwall record pump-out {look.site.id} --by NAME",
            advice=not under,
            done=filling.emptied,
            gone=gone,
        )


def _layer(look: Look, clause: SepticPumpOut, layer: tanks.Layer) -> Layer:
    limit_m = clearance_of(clause, layer)
    hands = []
    for each in look.entries(SepticMeasurement):
        tank = tanks.tank_at(look.registry, look.site.id, each.done_us)
        clearance_m = _by_hand(each.body, layer, None if tank is None else tank.depths)
        if clearance_m is not None:
            told = f"clearance {_inches(clearance_m)} on {_day(look, each.done_us)}"
            hands.append(Hand(each.done_us, each.by, tanks.within(clearance_m, limit_m), told))
    sensed = []
    for sign in signs(look, NEAR[layer]):
        told = f"{_inches(float(sign.evidence['least_clearance_m']))}, {_day(look, sign.start_us)}"
        sensed.append((sign.start_us, sign.end_us, told))
    return Layer(f"{layer} clearance", hands, sensed)


def _by_hand(body: SepticMeasurement, layer: tanks.Layer, tank: Tank | None) -> float | None:
    """The clearance that a measurement stands for; of sludge, and of the bottom of scum, where the tank is known."""
    for what, metres in tanks.by_hand(body, tank):
        if what == ("scum_clearance" if layer == "scum" else "sludge"):
            if what == "scum_clearance":
                return metres
            return None if tank is None else tanks.hand_clearance(what, metres, tank)
    return None


def _inches(metres: float) -> str:
    return "without end: none found" if metres == float("inf") else f"{metres / _IN_M:.1f} in"


# ---- the advice of every few years


def advice(look: Look, clause: Provision) -> Iterator[Expected]:
    """A reminder when the strict reading of the years is over, a stronger one when the lenient is."""
    if look.site.kind != "septic" or look.status_at(look.now_us) != "active":
        return
    for filling in fillings(look.entries(PumpOut)):
        if filling.since_us is None:
            continue
        starts: dict[Start, int] = {"last_pump_out": filling.since_us}
        due = look.due(clause, "next", starts)
        for name, at_us, more, asks in (
            (
                "next",
                due.strict_us,
                "",
                "Have the septic tank pumped out, and looked at for cracks, leaks and blockages",
            ),
            (
                "",
                due.lenient_us,
                ", again",
                "Have the septic tank pumped out soon: it is longer ago than the code advises",
            ),
        ):
            look.wake(at_us)
            if at_us is None or at_us > min(look.now_us, filling.until_us):
                continue
            yield Expected(
                clause,
                name,
                filling.occurrence(look) + more,
                starts,
                asks,
                owed_by=_owner(look, at_us),
                evidence={"last pump-out": _day(look, filling.since_us)},
                answer=f"headwall record pump-out {look.site.id} --by NAME",
                advice=True,
                done=filling.emptied,
            )


# ---- certificates at the completion of a repair


def certificates(look: Look, clause: Provision) -> Iterator[Expected]:
    if look.site.kind != "septic" or not isinstance(clause, DesignCertificate):
        return
    repairs, came, spans = look.entries(SepticRepair), look.entries(SepticCertificate), declared(look)
    ends_us = [*(each.done_us for each in repairs), FOREVER_US][1:]
    for repair, until_us in zip(repairs, ends_us, strict=True):
        document = _holds(spans, repair.done_us)
        for certificate in clause.certificates:
            of_it = (each for each in came if each.body.certificate == certificate.name)
            answer = next((each for each in of_it if repair.done_us <= each.done_us < until_us), None)
            by_designer = certificate.issued_by == clause.owed_by
            yield Expected(
                clause,
                "",
                f"{certificate.name} {look.iso(repair.done_us)}",
                {"record": repair.done_us},
                f"Ask for the {certificate.text}, by {certificate.issued_by}, for the {repair.body.work}",
                owed_by=repair.body.designer if by_designer else certificate.issued_by,
                evidence={
                    repair.body.work: f"completed {_day(look, repair.done_us)}, by {repair.by} (entry {repair.id})",
                    "special conditions": document or _NOT_DECLARED,
                },
                answer=f"headwall record septic-certificate {look.site.id} {certificate.name} --by NAME",
                advice=not document,
                done=recorded(answer),
            )


def _day(look: Look, at_us: int) -> str:
    return look.day(at_us).isoformat()
