"""The liquid of a septic tank against its outlet invert: how long it stood above, surges, and sinking below it.

Levels are in m above the invert, below 0 under it, None where there is no value; times are µs and rise. In use the
liquid stands at the invert: so it counts as above it from a tolerance on, and for as long as a dwell. How much and how
long no code says; the caller does. What is found is an indication and no finding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from headwall.hydrology.derived import is_number
from headwall.hydrology.exceeding import Judged, stretches

_HOUR_US: Final = 3_600_000_000
#: without a level for longer than this nothing is said of the time between
GAP_US: Final = 24 * _HOUR_US
#: the part of the tolerance at which liquid stands above the invert no more: Headwall's own number
CLEARS: Final = 0.5
Levels = Sequence[tuple[int, float | None]]


class Above(NamedTuple):
    """A stretch that began above the invert by more than the tolerance, and did not come back near it.

    Attributes:
        start_us, end_us: times of its first and of its last level.
        peak_m: the highest.
        dwelt: it lasted as long as the dwell; before that it is a suspicion.
        ended: a level followed that clears it; else it may go on.
    """

    start_us: int
    end_us: int
    peak_m: float
    dwelt: bool
    ended: bool


class Surge(NamedTuple):
    """A rise faster than the outlet lets go, from the low before it to its peak."""

    start_us: int
    peak_us: int
    rise_m: float


class Sinking(NamedTuple):
    """The level fell below the invert while nothing came in: an intact tank does not do that."""

    start_us: int
    end_us: int
    drop_m: float


def above_invert(levels: Levels, *, tolerance_m: float, dwell_us: int, gap_us: int = GAP_US) -> list[Above]:
    """Stretches above the invert, in order. A dwell of 0 is the instant mode: one level suffices.

    It clears at half the tolerance. A missing level ends no stretch; a gap longer than `gap_us` does, since nobody
    knows what was in it.
    """
    judged = (Judged(time_us, level_m, tolerance_m, tolerance_m * CLEARS) for time_us, level_m in levels)
    return [
        Above(each.start_us, each.end_us, each.peak, each.end_us - each.start_us >= dwell_us, each.ended)
        for each in stretches(judged, gap_us=gap_us)
    ]


def surges(levels: Levels, *, rise_m: float = 0.05, within_us: int = _HOUR_US) -> list[Surge]:
    """Rises of at least so much within so long; one ends when half of it has gone, or at a gap."""
    found: list[Surge] = []
    lows: deque[tuple[int, float]] = deque()  # of the window, rising: the head is its lowest
    going: Surge | None = None
    low_m = 0.0
    last_us = None
    for time_us, level_m in _known(levels):
        if going is not None:
            if last_us is not None and time_us - last_us <= within_us and level_m > low_m + going.rise_m / 2:
                if level_m - low_m > going.rise_m:
                    going = Surge(going.start_us, time_us, level_m - low_m)
                last_us = time_us
                continue
            found.append(going)
            going = None
            lows.clear()
        last_us = time_us
        while lows and time_us - lows[0][0] > within_us:
            lows.popleft()
        while lows and lows[-1][1] >= level_m:
            lows.pop()
        lows.append((time_us, level_m))
        start_us, low_m = lows[0]
        if level_m - low_m >= rise_m:
            going = Surge(start_us, time_us, level_m - low_m)
    return found if going is None else [*found, going]


def sinkings(
    levels: Levels,
    *,
    tolerance_m: float,
    drop_m: float = 0.01,
    least_us: int = 6 * _HOUR_US,
    inflow_m: float = 0.003,
    gap_us: int = GAP_US,
) -> list[Sinking]:
    """Stretches without inflow in which the level, below the invert by more than the tolerance, fell and fell.

    Args:
        drop_m, least_us: by at least so much, over at least so long.
        inflow_m: a rise of more than this above the lowest level is inflow and ends a stretch.

    A stretch most of whose fall came between two readings is left out: that is a tank being pumped, or a sensor moved.
    """
    found: list[Sinking] = []
    for run in _quiet(levels, inflow_m, gap_us):
        low = [(time_us, level_m) for time_us, level_m in run if level_m < -tolerance_m]
        if len(low) < 3 or low[-1][0] - low[0][0] < least_us:
            continue
        drop = low[0][1] - low[-1][1]
        step = max(one[1] - other[1] for one, other in pairwise(low))
        if drop >= drop_m and step < drop / 2:
            found.append(Sinking(low[0][0], low[-1][0], drop))
    return found


def _quiet(levels: Levels, inflow_m: float, gap_us: int) -> Iterator[list[tuple[int, float]]]:
    """Stretches of levels without inflow."""
    run: list[tuple[int, float]] = []
    lowest = 0.0
    for time_us, level_m in _known(levels):
        if run and (level_m - lowest > inflow_m or time_us - run[-1][0] > gap_us):
            yield run
            run = []
        lowest = min(lowest, level_m) if run else level_m
        run.append((time_us, level_m))
    if run:
        yield run


def _known(levels: Levels) -> Iterator[tuple[int, float]]:
    return ((time_us, level_m) for time_us, level_m in levels if level_m is not None and is_number(level_m))
