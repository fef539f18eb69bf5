"""Rain of several gauges at one place, and how long it has been dry: with what is not known said beside it.

A gauge is silent in its gaps, and silence is no dryness: a dry time reaches back only to the end of the last gap, a sum
over a gap is "at least", and gauges are compared only over time in which both have spoken.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeVar

from headwall.units import Depth

Span = tuple[int, int]
T = TypeVar("T", bound=tuple[Any, ...])  # a reading, its time first


class Dry(NamedTuple):
    """Time without rain before an instant.

    Attributes:
        dry_us: how long it is known to have been dry.
        known: rain ended it; False where a gap or the start of the record did, and it may have been longer or not.
    """

    dry_us: int
    known: bool


class Rained(NamedTuple):
    """Quanta that fell within a stretch, and how much of the stretch lies in gaps (then it is "at least")."""

    amount: int
    unknown_us: int


class Compared(NamedTuple):
    """Two gauges over one stretch of time.

    Attributes:
        verdict: "unknown" where too little of the stretch was seen by both.
        compared_us: time in which both spoke; the depths are those of this time.
    """

    verdict: Literal["agree", "disagree", "unknown"]
    primary: Depth
    backup: Depth
    compared_us: int


def dry_before(rain: Iterable[tuple[int, int]], gaps: Iterable[Span], at_us: int, since_us: int) -> Dry:
    """The antecedent dry period of an instant: since the last rain before it, or since the last gap or the record.

    Args:
        rain: (time, quanta) in any order; what fell at `at_us` itself is not before it.
        gaps: stretches without valid data.
        since_us: where the record begins.
    """
    rained_us = max((time_us for time_us, amount in rain if amount and since_us <= time_us < at_us), default=None)
    silent_us = max((min(end_us, at_us) for start_us, end_us in gaps if start_us < at_us), default=since_us)
    silent_us = max(silent_us, since_us)
    if rained_us is not None and rained_us >= silent_us:
        return Dry(at_us - rained_us, True)
    return Dry(max(at_us - silent_us, 0), False)


def rain_within(rain: Iterable[tuple[int, int]], gaps: Iterable[Span], start_us: int, end_us: int) -> Rained:
    """What fell in (start, end], the window of "less than 0.1 in over 72 h"."""
    amount = sum(each for time_us, each in rain if start_us < time_us <= end_us)
    return Rained(amount, _length(clipped(gaps, start_us, end_us)))


def backed_up(gauges: Iterable[tuple[Iterable[T], Iterable[Span]]]) -> list[tuple[int, T]]:
    """The rain of the first gauge, in its gaps that of the next, and so on: (index of the gauge, reading), by time.

    Where all are silent there is no rain and no dryness: `silent_both` gives those stretches.

    Args:
        gauges: in order of preference: readings that begin with their time, and gaps from their start up to, not
            including, their end. A gauge's own readings in its gaps do not count.
    """
    found: list[tuple[int, T]] = []
    unheard: list[Span] | None = None  # by those before; None: always
    for n, (readings, gaps) in enumerate(gauges):
        own = merged(gaps)
        found += [(n, each) for each in readings if not _holds(own, each[0]) and _holds(unheard, each[0])]
        unheard = own if unheard is None else silent_both(unheard, own)
    return sorted(found, key=lambda each: (each[1][0], each))


def _holds(spans: list[Span] | None, time_us: int) -> bool:
    if spans is None:
        return True
    n = bisect_right(spans, time_us, key=lambda span: span[0]) - 1
    return n >= 0 and time_us < spans[n][1]


def silent_both(primary_gaps: Iterable[Span], backup_gaps: Iterable[Span]) -> list[Span]:
    """Stretches in which neither gauge has spoken."""
    other = merged(backup_gaps)
    return [part for start_us, end_us in merged(primary_gaps) for part in clipped(other, start_us, end_us)]


def compare(
    primary: tuple[Sequence[tuple[int, int]], Depth, Sequence[Span]],
    backup: tuple[Sequence[tuple[int, int]], Depth, Sequence[Span]],
    span: Span,
    *,
    share: Fraction,
    at_least: Depth,
    seen: Fraction = Fraction(1, 2),
) -> Compared:
    """Whether two gauges caught the same rain in (start, end].

    Args:
        primary, backup: rain as (time, quanta), the depth of a quantum, and gaps.
        span: whole storms rather than minutes: gauges at some distance see a cell at different times.
        share, at_least: they disagree when their depths differ by more than this share of the greater one, and by more
            than this depth, which ought to be two tips or more.
        seen: the part of the span that both must have seen.
    """
    start_us, end_us = span
    blind = clipped(merged([*primary[2], *backup[2]]), start_us, end_us)
    compared_us = end_us - start_us - _length(blind)
    one, other = (
        quantum * sum(n for time_us, n in rain if start_us < time_us <= end_us and not _inside(blind, time_us))
        for rain, quantum, _ in (primary, backup)
    )
    if compared_us < seen * (end_us - start_us):
        return Compared("unknown", one, other, compared_us)
    differ = abs(one.mm - other.mm)
    apart = differ > share * max(one, other).mm and differ > at_least.mm
    return Compared("disagree" if apart else "agree", one, other, compared_us)


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same time in spans that lie apart, in order."""
    found: list[Span] = []
    for start_us, end_us in sorted(spans):
        if found and start_us <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end_us))
        elif end_us > start_us:
            found.append((start_us, end_us))
    return found


def clipped(spans: Iterable[Span], start_us: int, end_us: int) -> list[Span]:
    """The parts of spans that lie between two instants, apart and in order."""
    parts = [(max(a, start_us), min(b, end_us)) for a, b in merged(spans)]
    return [(a, b) for a, b in parts if b > a]


def _length(spans: Iterable[Span]) -> int:
    return sum(end_us - start_us for start_us, end_us in spans)


def _inside(spans: Iterable[Span], time_us: int) -> bool:
    """Whether an instant lies in one of the spans, ends left out: the readings at both ends of a gap are valid."""
    return any(start_us < time_us < end_us for start_us, end_us in spans)
