"""Sediment out of traps and basins at the code's share of their design capacity, and a hint about watercourses.

What a survey found and what a sensor indicates ask for it alike; the newest survey takes the place of the sensor.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwall.derive import basins
from headwall.hydrology.derived import Derived
from headwall.law.localtime import short
from headwall.law.provision import Provision
from headwall.law.provisions import SedimentRemoval
from headwall.ledger.entries import SedimentRemoved
from headwall.rules.clauses.construction import owing
from headwall.rules.clauses.expected import Expected
from headwall.rules.clauses.filling import Hand, Layer, fillings, reached, signs
from headwall.rules.clauses.look import Look
from headwall.rules.water_conditions import BACKWATER, SEDIMENT, lost_of


def removal(look: Look, clause: Provision) -> Iterator[Expected]:
    """Once for each filling of a basin."""
    if look.site.kind != "basin" or not isinstance(clause, SedimentRemoval):
        return
    layer = _layer(look, clause)
    for filling in fillings(look.entries(SedimentRemoved)):
        found = reached(filling, [layer])
        if found is None or look.status_at(found.at_us) != "active":
            continue
        yield Expected(
            clause,
            "",
            filling.occurrence(look),
            {"discovery": found.at_us},
            "Take the sediment out of the basin"
            if found.by_hand
            else "Survey the basin, and take the sediment out if it has lost as much as the sensor indicates",
            owed_by=owing(look, found.at_us, None, "developer"),
            evidence={**found.evidence, "the code's share": f"{clause.share} of the design capacity"},
            answer=f"headwall record sediment-removed {look.site.id} --by NAME",
            done=filling.emptied,
            gone=f"surveyed against it: {found.refuted}" if found.refuted else "",
        )


def _layer(look: Look, clause: SedimentRemoval) -> Layer:
    share = basins.share_percent(clause.share)
    hands = []
    for each in basins.surveyed(look.conn, look.registry, look.site.id, look.now_us):
        basis = look.choice("sediment.basis", each.time_us)
        lost = lost_of(each, basis)
        told = f"{_percent(lost)} lost by {basis} on {look.day(each.time_us).isoformat()}"
        hands.append(Hand(each.time_us, each.by, basins.reaches(lost, share), told))
    sensed = []
    for sign in signs(look, SEDIMENT):
        told = f"{float(sign.evidence['lost_percent']):.0f} % lost, {look.day(sign.start_us).isoformat()}"
        sensed.append((sign.start_us, sign.end_us, told))
    return Layer("capacity", hands, sensed)


def _percent(lost: Derived) -> str:
    if lost.value is not None:
        return f"{lost.value:.0f} %"
    return f"more than {lost.limit:.0f} %" if lost.limit is not None else "an unknown part"


def watercourse(look: Look, clause: Provision) -> Iterator[Expected]:
    """A hint alone: the code has no interval, and no sensor sees what lies in a stream."""
    for each in signs(look, BACKWATER):
        yield Expected(
            clause,
            "",
            look.iso(each.start_us),
            {"discovery": each.start_us},
            "Look whether something holds up the water below the outfall",
            owed_by=owing(look, each.start_us, None, "owner"),
            evidence={
                "water behind the outfall": f"up to {float(each.evidence['most_m']) / 0.0254:.0f} in",
                "from": short(each.start_us, look.where),
                "to": short(each.end_us, look.where),
            },
            advice=True,
        )
