"""The part of a mail about flow in dry weather: what was seen, what it looks like, and that a person has to look."""

from __future__ import annotations

from collections.abc import Callable
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
#: what stands out, in words
_SIGNS: Final = {
    "pulse": "a pulse above the flow of the day before",
    "level": "a level above what the week before fell to",
    "rhythm": "the rhythm of sewage: peaks morning and evening, least before dawn",
}
Known = dict[str, float | int | str]


def suspected_discharge(look: Lookup, fact: SuspectedDischarge) -> Section:
    """A proposal: the officer decides whether somebody goes there."""
    zone = look.zone(fact.municipality)
    since, lasted = short(fact.start_us, zone), wording.duration(max(fact.end_us - fact.start_us, 0))
    if fact.ongoing:
        seen, lasted = f"Since {since} it has run", f"{lasted} so far"
    else:
        seen = f"From {since} to {short(fact.end_us, zone)} it ran"
    return Section(
        heading=f"{look.site_name(fact.site)}: flow in dry weather, a discharge is suspected",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            f"{seen} without rain to explain it, for {lasted}. It looks like {likeness(fact.likeness)}.",
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
            Block(
                "What to enter",
                (
                    row("A sample", f"headwall record sample {fact.site} --by NAME"),
                    row("It was allowed", f"headwall approval add KIND --site {fact.site}"),
                    row("You decide", f"headwall case list --site {fact.site}"),
                ),
            ),
            Block("The outfall", (row("Place", place_of(look, fact.site)), row("Readings", fact.datastream))),
            Block("Reference", (row("This matter", f"suspected discharge, {fact.site}, {since}"),)),
        ),
    )


def place_of(look: Lookup, site: str) -> str:
    """Where a site is, in words."""
    found = look.registry.site(site)
    return found.place if found else "not in the registry"


def likeness(name: str) -> str:
    """What an episode looks like, in words."""
    return _LIKENESS.get(name, "nothing known: neither its rhythm nor its water says more")


def evidence_rows(evidence: Known) -> list[Row]:
    """What is known of the evidence, in the officer's units and in a fixed order; more under its own name."""
    left = dict(evidence)
    rows = [row(label, text) for label, told in _TOLD for text in [told(left)] if text]
    for name in _USED:
        left.pop(name, None)
    return [*rows, *(row(name.replace("_", " ").capitalize(), str(value)) for name, value in left.items())]


def _flow(name: str) -> Callable[[Known], str]:
    return lambda known: shown(float(known[name]), "m3/s") if name in known else ""


def _dry(known: Known) -> str:
    if "hours_dry" not in known:
        return ""
    hours = f"{known['hours_dry']} h"
    return f"{hours} since the last rain" if known.get("hours_dry_known") == "yes" else f"at least {hours}"


def _rain(known: Known) -> str:
    if "rain_in_72_h_mm" not in known:
        return ""
    fallen = wording.depth_of_mm(float(known["rain_in_72_h_mm"]))
    unknown = float(known.get("rain_unknown_hours", 0.0))
    return f"{fallen} in 72 h" + (f", of which {unknown:.0f} h without a gauge" if unknown else "")


def _water(known: Known) -> str:
    """Temperature, and by how much it differs from the base flow's."""
    if "temperature_c" not in known:
        return ""
    text = shown(float(known["temperature_c"]), "Cel")
    if "warmer_c" not in known:
        return text
    warmer_c = float(known["warmer_c"])
    return f"{text}, {shown(abs(warmer_c), 'K')} {'warmer' if warmer_c >= 0 else 'colder'} than the flow before"


def _probe(name: str, unit: str, ratio: str) -> Callable[[Known], str]:
    def told(known: Known) -> str:
        if name not in known:
            return ""
        times = f", {float(known[ratio]):.2g} times the flow before" if ratio in known else ""
        return shown(float(known[name]), unit) + times

    return told


def _night(known: Known) -> str:
    if "night_over_mean" not in known:
        return ""
    return f"{float(known['night_over_mean']):.2f} of the day's mean (sewage 0.3 to 0.5, ground water about 1)"


def _signs(known: Known) -> str:
    return "; ".join(_SIGNS.get(sign, sign) for sign in str(known.get("signs", "")).split(", ") if sign)


def _backwater(known: Known) -> str:
    hours = float(known.get("backwater_hours", 0.0))
    return f"{hours:.1f} h of this hour: not judged" if hours else ""


def _flow_hours(known: Known) -> str:
    if "flow_h" not in known:
        return ""
    rain = known.get("rain_driven_h", 0)
    return f"{known['flow_h']}" + (f", {rain} of them in or after rain" if rain else ", none of them in or after rain")


#: rows in their order
_TOLD: Final[tuple[tuple[str, Callable[[Known], str]], ...]] = (
    ("What stands out", _signs),
    ("Dry for", _dry),
    ("Rain", _rain),
    ("Flow", _flow("flow_m3_s")),
    ("Greatest", _flow("high_m3_s")),
    ("The day before", _flow("base_m3_s")),
    ("Low of the week", _flow("low_m3_s")),
    ("At night", _night),
    ("Water", _water),
    ("Conductivity", _probe("conductivity_s_m", "S/m", "conductivity_ratio")),
    ("Turbidity", _probe("turbidity_ntu", "NTU", "turbidity_ratio")),
    ("Backwater", _backwater),
    ("Suspected hours", lambda known: str(known.get("suspected_h", ""))),
    ("Hours of flow", _flow_hours),
    ("Allowed here", lambda known: str(known.get("allowed_here", "")).replace("_", " ")),
)
#: what the rows above have told
_USED: Final = (
    "signs", "hours_dry", "hours_dry_known", "rain_in_72_h_mm", "rain_unknown_hours", "flow_m3_s", "high_m3_s",
    "base_m3_s", "low_m3_s", "night_over_mean", "temperature_c", "warmer_c", "conductivity_s_m", "conductivity_ratio",
    "turbidity_ntu", "turbidity_ratio", "backwater_hours", "suspected_h", "flow_h", "rain_driven_h",
    "allowed_here", "noise_m3_s",
)  # fmt: skip
