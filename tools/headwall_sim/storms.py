"""Design storms as tips of a rain gauge, and the contact closures that a board's pin sees.

The NRCS (SCS) Type III 24-hour storm is the one for the Atlantic coast of New York. Its cumulative distribution,
half-hourly, is that of the Soil Conservation Service (TP-149, 1973; TR-55, 1986, appendix B), the same ordinates
as in the City of Austin's Drainage Criteria Manual, table 2-6 (taken from HEC-HMS). The quarter hours at
noon are from Chow, Maidment and Mays, Applied Hydrology (1988): 0.339 at 11:45, and 12:15 by the curve's
symmetry (the ratio at 12 h + t is one minus that at 12 h - t).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from headwall_sim.timeline import Edge, Timeline

_MINUTE_US = 60_000_000
_NEAR_US = 2_000_000  # tips keep so far from a full minute, so that texts with minutes are stable
_APART_US = 1_000_000  # a bucket's tip takes half a second (JTECH 31(6): 0.524 s)

#: ten-thousandths of the depth at 0:00, 0:30, … 12:00; the rest follows by symmetry
_HALF_HOURS = (
    *(0, 50, 100, 150, 200, 252, 308, 367, 430, 497, 568, 642, 720),
    *(806, 905, 1016, 1140, 1284, 1458, 1659, 1890, 2165, 2500, 2980, 5000),
)
_BEFORE_NOON = sorted([*((30 * i, ratio) for i, ratio in enumerate(_HALF_HOURS)), (705, 3390)])
#: (minutes since the storm's start, ten-thousandths of its depth), cumulative
TYPE_III = (*_BEFORE_NOON, *((1440 - minute, 10_000 - ratio) for minute, ratio in reversed(_BEFORE_NOON[:-1])))


@dataclass(frozen=True)
class Rain:
    """What falls on one gauge: the instants of its tips and the levels of the pin it is wired to."""

    tips: list[int]
    timeline: Timeline


def tip_count(depth: Decimal, tip: Decimal) -> int:
    """How many tips a depth makes, both in the same unit.

    Raises:
        ValueError: the depth is not a whole number of tips.
    """
    count, rest = divmod(depth, tip)
    if rest:
        raise ValueError(f"{depth} is not a whole number of tips of {tip}; take {count * tip} or {(count + 1) * tip}")
    return int(count)


def type_iii_tips(count: int, start_us: int, *, seed: int = 0) -> list[int]:
    """Instants of the `count` tips of a Type III storm that begins at `start_us`.

    The bucket is half full at the start, so that the n-th tip falls when n - 1/2 tips of rain are down. Each is
    then moved by up to 2 s (by `seed`), and away from full minutes.
    """
    chance = random.Random(f"tips {seed}")
    tips: list[int] = []
    for number in range(1, count + 1):
        at_us = start_us + _instant_of_ratio(2 * number - 1, 2 * count) + chance.randint(-2_000_000, 2_000_000)
        if tips:
            at_us = max(at_us, tips[-1] + _APART_US)
        tips.append(_off_the_minute(at_us))
    return tips


def rain(tips: Sequence[int], *, pin: int, closed: int = 0, seed: int = 0) -> Rain:
    """The gauge's contact on a pin: closures of 50 to 150 ms that bounce for a few milliseconds at both ends.

    Args:
        closed: the pin's level while the contact is closed; it rests at the other.
    """
    return Rain(list(tips), Timeline(contact_edges(tips, pin=pin, closed=closed, seed=seed), {pin: 1 - closed}))


def contact_edges(tips: Iterable[int], *, pin: int, closed: int = 0, seed: int = 0) -> list[Edge]:
    """The edges of the contact's closures; see rain()."""
    chance = random.Random(f"contact {seed}")
    edges: list[Edge] = []
    for tip in tips:
        edges += _change(tip, pin, closed, chance)
        edges += _change(tip + chance.randint(50_000, 150_000), pin, 1 - closed, chance)
    return edges


def _change(at_us: int, pin: int, level: int, chance: random.Random) -> list[Edge]:
    """A change to `level` that begins at `at_us` and bounces back up to three times within some milliseconds."""
    edges = [Edge(at_us, pin, level)]
    for _ in range(chance.randint(0, 3)):
        back_us = edges[-1].at_us + chance.randint(200, 1_500)
        edges += [Edge(back_us, pin, 1 - level), Edge(back_us + chance.randint(200, 1_500), pin, level)]
    return edges


def _instant_of_ratio(numerator: int, denominator: int) -> int:
    """Microseconds from the storm's start until this part of the depth has fallen, linear between ordinates."""
    for (minute, ratio), (next_minute, next_ratio) in pairwise(TYPE_III):
        if numerator * 10_000 <= next_ratio * denominator:
            span_us = (next_minute - minute) * _MINUTE_US
            passed = numerator * 10_000 - ratio * denominator
            return minute * _MINUTE_US + span_us * passed // ((next_ratio - ratio) * denominator)
    raise ValueError(f"{numerator}/{denominator} is more than the whole storm")


def _off_the_minute(at_us: int) -> int:
    """The instant itself, or where it is too near to a full minute, the next that is not."""
    from_near_us = (at_us + _NEAR_US) % _MINUTE_US  # counted from 2 s before the minute
    return at_us if from_near_us >= 2 * _NEAR_US else at_us + 2 * _NEAR_US - from_near_us
