"""Rain intensity and hyetographs, from when the rain fell and not from when it was reported.

A tip says that a bucket has filled since the tip before: its depth is spread evenly over that interval. So one tip of
0.2794 mm, 20 minutes after the last, is 0.84 mm/h, whatever the length of an upload window. The first tip of a storm
began to fill at an unknown time and gives no intensity. An interval total is spread over its interval.

A peak is the greatest depth in any stretch of the given length inside the storm, over that length. A storm shorter
than the stretch has no such peak (None), as in USGS Rainmaker, which writes -9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from headwall.errors import InputError
from headwall.units import Depth

MINUTE_US: Final = 60_000_000
#: lengths of the peaks that Rainmaker and `headwall storms` give
PEAK_MINUTES: Final = (5, 10, 15, 30, 60)


class Fallen(NamedTuple):
    """An amount of rain, in quanta, that fell evenly between two instants."""

    start_us: int
    end_us: int
    amount: int


def spread(rain: Iterable[tuple[int, int]], interval_us: int = 0) -> list[Fallen]:
    """Rain of one storm, in order of time, as stretches: over `interval_us` for totals, between tips if that is 0."""
    merged = _merge(rain)
    if interval_us:
        return [Fallen(time_us - interval_us, time_us, amount) for time_us, amount in merged]
    return [Fallen(before, time_us, amount) for (before, _), (time_us, amount) in pairwise(merged)]


def _merge(rain: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Zero rows left out, rain of one instant (two tips within the clock's step) added up."""
    sums: dict[int, int] = {}
    for time_us, amount in rain:
        if amount:
            sums[time_us] = sums.get(time_us, 0) + amount
    return list(sums.items())


def peak_amount(fallen: Sequence[Fallen], window_us: int) -> Fraction | None:
    """The most that fell within `window_us`, more than 0, in quanta; None if all of it took less time than that."""
    if window_us <= 0:
        raise InputError(f"a window of {window_us} µs has no intensity; give a length of time")
    if not fallen or fallen[-1].end_us - fallen[0].start_us < window_us:
        return None
    first_us, last_us = fallen[0].start_us, fallen[-1].end_us
    # A sum over a sliding window of steady rates is greatest where one of its ends meets a change of rate.
    changes = sorted({instant for each in fallen for instant in each[:2]})
    starts = [change for change in changes if change + window_us <= last_us]
    starts += [change - window_us for change in changes if change - window_us >= first_us]
    starts.sort()
    before = _cumulative(fallen, starts)
    after = _cumulative(fallen, [start + window_us for start in starts])
    return Fraction(max(b - a for a, b in zip(before, after, strict=True)))


def _cumulative(fallen: Sequence[Fallen], instants: Sequence[int]) -> list[int | Fraction]:
    """What had fallen by each of the instants, which must be in order."""
    sums: list[int | Fraction] = []
    total = n = 0
    for instant in instants:
        while n < len(fallen) and fallen[n].end_us <= instant:
            total += fallen[n].amount
            n += 1
        inside = n < len(fallen) and instant > fallen[n].start_us
        sums.append(total + _part(fallen[n], instant) if inside else total)
    return sums


def _part(fallen: Fallen, instant: int) -> Fraction:
    """What of a stretch had fallen by an instant inside it."""
    return Fraction(fallen.amount * (instant - fallen.start_us), fallen.end_us - fallen.start_us)


def rate_mm_h(amount: Fraction, window_us: int, quantum: Depth) -> Fraction:
    """An amount in quanta over a length of time, in mm/h."""
    return amount * quantum.mm * 60 * MINUTE_US / window_us


def peak_mm_h(
    rain: Iterable[tuple[int, int]], window_us: int, quantum: Depth, *, interval_us: int = 0
) -> Fraction | None:
    """The peak intensity, in mm/h, of one storm's rain over a length of time; None for a shorter storm."""
    amount = peak_amount(spread(rain, interval_us), window_us)
    return None if amount is None else rate_mm_h(amount, window_us, quantum)


def rounded_mm_h(rate: Fraction) -> float:
    """An intensity as it is shown: to 0.001 mm/h."""
    return float(round(rate, 3))


def hyetograph(rain: Iterable[tuple[int, int]], step_us: int, *, interval_us: int = 0) -> list[tuple[int, int]]:
    """Rain in order of time as bars (start in µs, quanta), `step_us` long, whole steps from the epoch, dry ones too.

    A tip at the edge of two bars belongs to the later; an interval total to the bar in which its interval begins.
    """
    sums: dict[int, int] = {}
    for time_us, amount in rain:
        if amount:
            start_us = (time_us - interval_us) // step_us * step_us
            sums[start_us] = sums.get(start_us, 0) + amount
    if not sums:
        return []
    return [(start_us, sums.get(start_us, 0)) for start_us in range(min(sums), max(sums) + step_us, step_us)]
