"""When the rain of a gauge is to be doubted: frost, melting snow, a clogged funnel, a counter at its end.

Each function looks for one fault and gives a suspicion with its evidence, or None. A suspicion is for a person to
weigh: it changes no reading, and no suspicion is no proof that the gauge is sound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Final, Literal

from headwall.hydrology.derived import is_number
from headwall.units import Depth

Kind = Literal["frozen", "melt", "no_temperature", "neighbours_have_rain", "level_rises", "even_tail", "saturated"]
Evidence = Mapping[str, float | int | str]

_HOUR_US: Final = 3_600_000_000


@dataclass(frozen=True)
class Suspicion:
    """A fault that may be, from one instant to another.

    Attributes:
        evidence: what was seen, by names that carry their units.
    """

    kind: Kind
    start_us: int
    end_us: int
    evidence: Evidence = field(default_factory=dict)


@dataclass(frozen=True)
class Winter:
    """What an unheated gauge does in the cold: Headwall's own numbers, to be set by what a gauge has shown.

    Attributes:
        liquid_c: below it precipitation may be frozen, and what the gauge shows is liquid only and not valid.
        melt_us: so long after such cold its rain may be snow that melts in the funnel.
        nearest_us: how far in time a temperature may be.
    """

    liquid_c: float = 2.0
    melt_us: int = 24 * _HOUR_US
    nearest_us: int = _HOUR_US


def frozen(
    at_us: int, temperatures: Sequence[tuple[int, float]], winter: Winter, *, heated: bool = False
) -> Suspicion | None:
    """Whether an unheated gauge can be believed at an instant, tip or none.

    Args:
        temperatures: (time, °C) of valid air temperatures, in any order.
        heated: such a gauge melts what falls: it is believed.
    """
    if heated:
        return None
    temperatures = [each for each in temperatures if is_number(each[1])]
    near = [each for each in temperatures if abs(each[0] - at_us) <= winter.nearest_us]
    if not near:
        return Suspicion("no_temperature", at_us, at_us, {"nearest_within_s": winter.nearest_us // 1_000_000})
    _, now_c = min(near, key=lambda each: (abs(each[0] - at_us), each[0]))
    if now_c < winter.liquid_c:
        return Suspicion("frozen", at_us, at_us, {"temperature_c": now_c, "liquid_from_c": winter.liquid_c})
    cold = [each for each in temperatures if at_us - winter.melt_us <= each[0] <= at_us and each[1] < winter.liquid_c]
    if not cold:
        return None
    last_us, last_c = max(cold)
    return Suspicion(
        "melt", last_us, at_us, {"temperature_c": now_c, "cold_c": last_c, "liquid_from_c": winter.liquid_c}
    )


def neighbours_have_rain(
    own: Depth, neighbours: Mapping[str, Depth], span: tuple[int, int], *, at_least: Depth, of_them: int = 1
) -> Suspicion | None:
    """A gauge that shows nothing while neighbours have rain; depths over a time in which all of them have spoken."""
    wet = {name: depth for name, depth in neighbours.items() if depth >= at_least}
    if own.mm or len(wet) < max(of_them, 1):
        return None
    return Suspicion("neighbours_have_rain", *span, {f"{name}_mm": float(depth.mm) for name, depth in wet.items()})


def level_rises(
    own: Depth, levels: Sequence[tuple[int, float]], span: tuple[int, int], *, at_least_m: float
) -> Suspicion | None:
    """A gauge that shows nothing while the stage beside it rises; `levels` as (time, m) in order of time."""
    within = [level for time_us, level in levels if span[0] <= time_us <= span[1] and is_number(level)]
    if own.mm or not within:
        return None
    lowest, rise = within[0], 0.0
    for level in within:
        lowest = min(lowest, level)
        rise = max(rise, level - lowest)
    return Suspicion("level_rises", *span, {"rise_m": rise}) if rise >= at_least_m else None


def even_tail(
    times_us: Sequence[int], *, tips: int = 10, evenness: float = 0.15, slower_than_us: int = 300_000_000
) -> Suspicion | None:
    """A storm that ends in tips as even as a clock's, far apart: water that seeps through a clogged funnel.

    Args:
        times_us: the storm's tips in order of time.
        tips: so many intervals at its end are looked at.
        evenness: the greatest spread of the ratios of each interval to the mean of those on either side of it: 0 for a
            clock, and for a funnel that drains ever more slowly nearly so; rain varies by far more.
        slower_than_us: the mean interval must be longer than this.
    """
    tail = [after - before for before, after in pairwise(times_us[-tips - 1 :])]
    if len(tail) < max(tips, 3):
        return None
    unevenness, mean_us = _unevenness(tail), fmean(tail)
    if unevenness > evenness or mean_us <= slower_than_us:
        return None
    evidence = {"tips": len(tail), "mean_interval_s": mean_us / 1e6, "unevenness": unevenness}
    return Suspicion("even_tail", times_us[-tips - 1], times_us[-1], evidence)


def _unevenness(intervals: Sequence[int]) -> float:
    beside = zip(intervals, intervals[1:], intervals[2:], strict=False)
    sums = [(own, before + after) for before, own, after in beside]
    return pstdev(2 * own / both if both else 1.0 for own, both in sums)


def saturated(amounts: Sequence[tuple[int, int]], *, ceiling: int) -> list[Suspicion]:
    """Interval totals that stand at the most the counter can show: more may have fallen. One for each run of them."""
    found: list[Suspicion] = []
    before_full = False
    for time_us, amount in amounts:
        full = amount >= ceiling
        if full and before_full:
            found[-1] = Suspicion("saturated", found[-1].start_us, time_us, {"ceiling": ceiling})
        elif full:
            found.append(Suspicion("saturated", time_us, time_us, {"ceiling": ceiling}))
        before_full = full
    return found
