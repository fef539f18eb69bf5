"""Turbidity that a site adds: downstream less upstream, or less the natural background of the place. Values in NTU.

A sensor at the end of its range says "more than", and what follows from it says so too. Whether a difference is a
visible contrast to natural conditions is for a person to see.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from statistics import median

from headwall.hydrology.derived import MISSING, Derived, is_number


def added(downstream: Derived, other: Derived) -> Derived:
    """Downstream less upstream or background; negative where the water has cleared. Censored values bound it."""
    low, high = _bounds(downstream)
    other_low, other_high = _bounds(other)
    least = None if low is None or other_high is None else low - other_high
    most = None if high is None or other_low is None else high - other_low
    if least is not None and least == most:
        return Derived(least)
    if least is not None and most is None:
        return Derived(None, "above_range", least)
    if most is not None and least is None:
        return Derived(None, "below_range", most)
    return MISSING


def _bounds(value: Derived) -> tuple[float | None, float | None]:
    """Between what it lies; None for a side that is open."""
    if value.value is not None:
        return (value.value, value.value) if is_number(value.value) else (None, None)
    return {"above_range": (value.limit, None), "below_range": (None, value.limit)}.get(value.flag or "", (None, None))


def added_between(
    downstream: Sequence[tuple[int, Derived]],
    upstream: Sequence[tuple[int, Derived]],
    *,
    travel_us: int = 0,
    within_us: int,
) -> list[tuple[int, Derived]]:
    """What was added at each downstream reading, against the nearest upstream reading of the same water.

    Args:
        downstream, upstream: (time in µs, NTU), in order of time.
        travel_us: the time the water takes from one to the other.
        within_us: an upstream reading further away in time is none: the difference is missing.
    """
    times = [time_us for time_us, _ in upstream]

    def nearest(at_us: int) -> Derived:
        n = bisect_left(times, at_us)
        found = min(upstream[max(n - 1, 0) : n + 1], key=lambda each: abs(each[0] - at_us), default=None)
        return MISSING if found is None or abs(found[0] - at_us) > within_us else found[1]

    return [(time_us, added(value, nearest(time_us - travel_us))) for time_us, value in downstream]


def background(readings: Iterable[tuple[int, float]], spans: Sequence[tuple[int, int]], *, at_least: int) -> Derived:
    """The natural background: the median of valid readings in undisturbed spans (ends included), such as dry weather.

    Missing with fewer readings than `at_least`.
    """
    found = [
        value
        for time_us, value in readings
        if is_number(value) and any(start <= time_us <= end for start, end in spans)
    ]
    return Derived(median(found)) if found and len(found) >= at_least else MISSING
