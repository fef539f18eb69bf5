"""What a tipping bucket misses while it tips: a corrected depth beside the raw one, never instead of it.

Rain that falls while a bucket turns over is lost. At one tip in T seconds the share lost / T of the rain is missed, so
a tip stands for T / (T - lost) of its depth: with 0.450 s and tips of 0.254 mm 0.98 % are missing at 19.9 mm/h and
8.6 % at 175.2 mm/h (J. Atmos. Oceanic Technol. 31(6), whose own measurements are 0.98 % and 8.78 %). The factor is
never below 1. The first tip of a series has no interval and stands for itself.

Corrected amounts are whole millionths of a quantum, cut off: their sums are exact, come out the same in any order, and
can be folded into storms as tips are, with a depth in millionths (`units.quanta_to_reach`).

Beyond the fastest tips that the source measured the factor is that of the fastest: a lower bound, and said so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from headwall.errors import InputError
from headwall.units import Depth

#: millionths in one quantum
PARTS: Final = 1_000_000
#: rain lost in one tip of a bucket of 0.254 mm, in µs, and the fastest tips it was measured for (175.2 mm/h)
LOST_US: Final = 450_000
FASTEST_US: Final = 5_219_000


class Corrected(NamedTuple):
    """What one reading stands for, in millionths of a quantum; `at_least` where its tips came too fast to know."""

    time_us: int
    parts: int
    at_least: bool


class Undercatch:
    """Corrects the rain of one series, storm or whole record, reading by reading in order of time.

    Args:
        interval_us: of interval totals, whose tips are spread evenly over it; 0 for tips at their instants.
        lost_us: the time in which rain is lost, each tip.
        fastest_us: the shortest interval between tips for which that is known.

    Raises:
        InputError: a fastest interval that is not longer than the time lost.
    """

    def __init__(self, *, interval_us: int = 0, lost_us: int = LOST_US, fastest_us: int = FASTEST_US) -> None:
        if not 0 <= lost_us < fastest_us:
            raise InputError(
                f"tips every {fastest_us} µs lose {lost_us} µs each: the interval must be longer than the loss"
            )
        self._interval_us = interval_us
        self._lost_us = lost_us
        self._fastest_us = fastest_us
        self._before_us: int | None = None  # the instant of rain before the latest
        self._time_us: int | None = None
        self._amount = 0  # at the latest instant
        self._parts = 0

    def add(self, time_us: int, amount: int) -> Corrected:
        """Take the next rain, more than 0; what it adds. Tips of one instant count as having filled together."""
        if time_us != self._time_us:
            self._before_us, self._time_us, self._amount, self._parts = self._time_us, time_us, 0, 0
        self._amount += amount
        since_us = self._interval_us or (None if self._before_us is None else time_us - self._before_us)
        before, fastest_of_all_us = self._parts, self._amount * self._fastest_us
        if since_us is None:
            self._parts = self._amount * PARTS
            return Corrected(time_us, self._parts - before, False)
        span_us = max(since_us, fastest_of_all_us)
        self._parts = self._amount * PARTS * span_us // (span_us - self._amount * self._lost_us)
        return Corrected(time_us, self._parts - before, since_us < fastest_of_all_us)


def corrected(
    rain: Iterable[tuple[int, int]],
    *,
    interval_us: int = 0,
    lost_us: int = LOST_US,
    fastest_us: int = FASTEST_US,
) -> list[Corrected]:
    """Corrected amounts of (time in µs, quanta) in order of time, one an instant with rain; see `Undercatch`."""
    series = Undercatch(interval_us=interval_us, lost_us=lost_us, fastest_us=fastest_us)
    found: list[Corrected] = []
    for time_us, amount in rain:
        if amount:
            added = series.add(time_us, amount)
            if found and found[-1].time_us == time_us:
                added = Corrected(time_us, found.pop().parts + added.parts, added.at_least)
            found.append(added)
    return found


def depth_of(parts: int, quantum: Depth) -> Depth:
    """The depth of so many millionths of a quantum."""
    return Depth(quantum.mm * parts / PARTS)
