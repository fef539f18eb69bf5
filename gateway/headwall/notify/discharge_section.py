"""The part of a mail about flow in dry weather: what was seen, what it looks like, and that a person has to look."""

from __future__ import annotations

from typing import Final

from headwall.law.localtime import short
from headwall.notify import gauge_rows, wording
from headwall.notify.content import Block, Row, Section, row
from headwall.notify.lookup import Lookup
from headwall.officer_units import shown
from headwall.rules.facts import SuspectedDischarge

#: what a class of hydrology.dry_weather is called in a sentence
_LIKENESS: Final = {
    "sewage": "sewage: it follows the rhythm of a household",
    "wash_water": "wash water: short, in working hours",
    "flushing": "tap water let go at once, as from a hydrant",
    "dewatering": "steady pumping, as of a pit or a pool",
}
#: end of an evidence's name → the SI unit that it stands for
_UNITS: Final = {"_m3_s": "m3/s", "_m3": "m3", "_c": "Cel", "_s_m": "S/m", "_ntu": "NTU", "_m": "m"}


def suspected_discharge(look: Lookup, fact: SuspectedDischarge) -> Section:
    """A proposal: the officer decides whether somebody goes there."""
    zone = look.zone(fact.municipality)
    since, lasted = short(fact.start_us, zone), wording.duration(max(fact.end_us - fact.start_us, 0))
    seen = f"Since {since} it has run" if fact.ongoing else f"From {since} to {short(fact.end_us, zone)} it ran"
    return Section(
        heading=f"{look.site_name(fact.site)}: flow in dry weather, a discharge is suspected",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            f"{seen} without rain to explain it, for {lasted} so far. It looks like {likeness(fact.likeness)}.",
            "That is what the readings look like, and no finding: whether there is a discharge, and whose, a person "
            "has to find out on the spot.",
        ),
        steps=(
            "Have the outfall looked at while it runs: colour, smell, foam, sheen, temperature; take a sample where "
            "there is anything.",
            "Ask whether somebody was allowed to discharge, or was flushing, pumping or washing upstream.",
            "A spill is reported by telephone at once, whatever this mail says: 911 where there is danger.",
        ),
        blocks=(
            Block(
                "What was seen",
                (
                    row(
                        "First and last",
                        f"{wording.full_time(fact.start_us, zone)}",
                        wording.full_time(fact.end_us, zone),
                    ),
                    row("Confidence", f"{fact.confidence:.0%}, by Headwall's own measure"),
                    *evidence_rows(fact.evidence),
                ),
            ),
            Block("The outfall", (row("Place", _place(look, fact.site)), row("Readings", fact.datastream))),
            Block("Reference", (row("This matter", f"suspected discharge, {fact.site}, {since}"),)),
        ),
    )


def _place(look: Lookup, site: str) -> str:
    found = look.registry.site(site)
    return found.place if found else "not in the registry"


def likeness(name: str) -> str:
    """What an episode looks like, in words."""
    return _LIKENESS.get(name, "nothing known: neither its rhythm nor its water says more")


def evidence_rows(evidence: dict[str, float | int | str]) -> list[Row]:
    """Evidence in the officer's units, by the unit at the end of each name."""
    return [row(*_evidence(name, value)) for name, value in evidence.items()]


def _evidence(name: str, value: float | int | str) -> tuple[str, str]:
    if isinstance(value, str):
        return _label(name), value.replace("_", " ")
    for end, unit in _UNITS.items():
        if name.endswith(end):
            return _label(name.removesuffix(end)), shown(float(value), unit)
    if name.endswith("_mm"):
        return _label(name.removesuffix("_mm")), wording.depth_of_mm(float(value))
    if name.endswith("_h"):
        return _label(name.removesuffix("_h")), f"{value:,.0f} h"
    return _label(name), f"{value:.3g}" if isinstance(value, float) else str(value)


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()
