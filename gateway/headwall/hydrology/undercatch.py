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


def corrected(
    rain: Iterable[tuple[int, int]],
    *,
    interval_us: int = 0,
    lost_us: int = LOST_US,
    fastest_us: int = FASTEST_US,
) -> list[Corrected]:
    """Corrected amounts of rain in order of time, one a reading with rain.

    Args:
        rain: (time in µs, quanta); a quantum is one tip.
        interval_us: of interval totals, whose tips are spread evenly over it; 0 for tips at their instants.
        lost_us: the time in which rain is lost, each tip.
        fastest_us: the shortest interval between tips for which that is known.

    Raises:
        InputError: a fastest interval that is not longer than the time lost.
    """
    if not 0 <= lost_us < fastest_us:
        raise InputError(
            f"tips every {fastest_us} µs lose {lost_us} µs each: the interval must be longer than the loss"
        )
    found: list[Corrected] = []
    for time_us, amount, since_us in _with_intervals(rain, interval_us):
        if since_us is None:
            found.append(Corrected(time_us, amount * PARTS, False))
            continue
        fastest_of_all_us = amount * fastest_us
        span_us = max(since_us, fastest_of_all_us)
        parts = amount * PARTS * span_us // (span_us - amount * lost_us)
        found.append(Corrected(time_us, parts, since_us < fastest_of_all_us))
    return found


def _with_intervals(rain: Iterable[tuple[int, int]], interval_us: int) -> Iterable[tuple[int, int, int | None]]:
    """(time, amount, time in which it fell): tips of one instant together, the first tips without a known interval."""
    sums: dict[int, int] = {}
    for time_us, amount in rain:
        if amount:
            sums[time_us] = sums.get(time_us, 0) + amount
    before_us: int | None = None
    for time_us, amount in sums.items():
        since_us = interval_us or (None if before_us is None else time_us - before_us)
        yield time_us, amount, since_us
        before_us = time_us


def depth_of(parts: int, quantum: Depth) -> Depth:
    """The depth of so many millionths of a quantum."""
    return Depth(quantum.mm * parts / PARTS)
