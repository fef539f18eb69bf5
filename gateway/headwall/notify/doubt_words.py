"""Doubts about a gauge's rain in words, with their evidence in the officer's units. They say what may be wrong with a
depth and leave what follows from it to the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from headwall.hydrology.rain_doubt import Suspicion
from headwall.law.localtime import short
from headwall.notify import wording
from headwall.notify.lookup import Lookup
from headwall.officer_units import shown


def sentence(doubts: Sequence[Suspicion]) -> str:
    """The doubts of a storm in a sentence for its lead; "" where none stands out."""
    found = [text for each in doubts if (text := briefly(each))]
    return f"Doubt about this depth: {'; '.join(found)} (see What fell)." if found else ""


def briefly(doubt: Suspicion) -> str:
    """A doubt in a few words; "" for one that does not stand out."""
    match doubt.kind:
        case "frozen":
            cold = shown(float(doubt.evidence["temperature_c"]), "Cel")
            return f"the air was at {cold}, and snow or ice is not measured"
        case "melt":
            return "snow may have melted in the funnel"
        case "even_tail":
            return "the funnel may be clogged"
        case "saturated":
            return "the counter stood at its end"
    return ""  # said at length alone: in winter it stands beside every storm of a place without a thermometer


def line(look: Lookup, doubt: Suspicion, zone: tzinfo) -> str:
    """A doubt with its evidence."""
    seen = doubt.evidence
    start, end = short(doubt.start_us, zone), short(doubt.end_us, zone)
    match doubt.kind:
        case "frozen":
            cold, limit = (shown(float(seen[key]), "Cel") for key in ("temperature_c", "liquid_from_c"))
            return (
                f"The air was at {cold} between {start} and {end}: below {limit} a gauge without heater shows liquid "
                "only, and snow or ice is not in its depth."
            )
        case "melt":
            now, cold = (shown(float(seen[key]), "Cel") for key in ("temperature_c", "cold_c"))
            return (
                f"The air was at {now}, but at {cold} on {start}: snow that melts in the funnel may be in this depth, "
                "and may have fallen before."
            )
        case "no_temperature":
            within = wording.duration(int(seen["nearest_within_s"]) * 1_000_000)
            return (
                f"No air temperature is known within {within}: what fell may have been snow or ice, which a gauge "
                "without heater does not show."
            )
        case "even_tail":
            apart = wording.duration(round(float(seen["mean_interval_s"]) * 1e6))
            return (
                f"From {start} to {end} it tipped about every {apart}, as even as a clock: water may be seeping "
                "through a clogged funnel. Then times are late, and more may have fallen."
            )
        case "saturated":
            when = start if doubt.start_us == doubt.end_us else f"{start} to {end}"
            return (
                f"{when}: a reading of {seen['ceiling']} tips, the most that its counter shows. More may have fallen."
            )
        case "neighbours_have_rain":
            depths = {name.removesuffix("_mm"): float(mm) for name, mm in seen.items()}
            others = [f"{wording.depth_of_mm(mm)} at “{look.gauge_place(name)}”" for name, mm in depths.items()]
            return f"Since {start} there was rain of {wording.listed(others)}, and none at this gauge up to {end}."
        case "level_rises":
            rise, place = shown(float(seen["rise_m"]), "m"), look.site_name(str(seen["at"]))
            return f"The stage at {place} rose by {rise} between {start} and {end}, without rain at this gauge."
