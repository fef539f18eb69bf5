"""Volume and peak of a flow over a stretch of time, such as a storm: what was not measured is a gap and not guessed.

Between two samples the flow runs straight (trapezoidal rule). A sample without a value (missing, submerged, surcharged)
and a step between samples that is too long are gaps. Censored samples bound the volume: a flow below a weir's range
lies between 0 and the limit, one above it is at least the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import fsum
from typing import Final, NamedTuple

from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived, is_number
from headwall.hydrology.gauges import Span, clipped

_US: Final = 1_000_000


class Sample(NamedTuple):
    """A flow at an instant."""

    time_us: int
    flow: Derived  # m³/s


class FlowVolume(NamedTuple):
    """What passed in a stretch of time.

    Attributes:
        low_m3, high_m3: bounds of what passed while it was measured, equal where no sample is censored; `high_m3` None
            where a flow was above its range. What passed in the gaps comes on top of both.
        peak: the greatest flow of the samples inside, in m³/s, censored or missing as they are.
        peak_us: when; None without a sample.
        measured_us: how much of the stretch was measured.
        gaps: the rest of it.
    """

    low_m3: float
    high_m3: float | None
    peak: Derived
    peak_us: int | None
    measured_us: int
    gaps: tuple[Span, ...]


class _Bounds(NamedTuple):
    low: float
    high: float | None


def volume(samples: Sequence[Sample], span: Span, *, longest_step_us: int) -> FlowVolume:
    """Volume and peak from one instant to another.

    Args:
        samples: in order of time; those next to the span on either side are needed to reach its ends.
        span: start and end in µs.
        longest_step_us: samples further apart have a gap between them.

    Raises:
        InputError: a span that does not last, or samples out of order.
    """
    start_us, end_us = span
    if start_us >= end_us:
        raise InputError(f"a stretch from {start_us} to {end_us} µs does not last; give its start and then its end")
    low, high, measured = list[float](), list[float | None](), list[Span]()
    for one, other in pairwise(samples):
        if one.time_us > other.time_us:
            raise InputError(
                f"flow at {other.time_us} µs after flow at {one.time_us} µs; give samples in order of time"
            )
        if other.time_us <= start_us or one.time_us >= end_us or not 0 < other.time_us - one.time_us <= longest_step_us:
            continue  # not in the span, a gap, or two flows at one instant: a step, which holds no volume
        a, b = _bounds(one.flow), _bounds(other.flow)
        if a is None or b is None:
            continue
        part = (max(one.time_us, start_us), min(other.time_us, end_us))
        measured.append(part)
        low.append(_under(one.time_us, a.low, other.time_us, b.low, part))
        if a.high is None or b.high is None:
            high.append(None)
        else:
            high.append(_under(one.time_us, a.high, other.time_us, b.high, part))
    known = [each for each in high if each is not None]
    peak_us, peak = _peak([each for each in samples if start_us <= each.time_us <= end_us])
    gaps = _between(measured, span)
    measured_us = end_us - start_us - sum(b - a for a, b in gaps)
    return FlowVolume(fsum(low), fsum(known) if len(known) == len(high) else None, peak, peak_us, measured_us, gaps)


def _bounds(flow: Derived) -> _Bounds | None:
    """Between what a flow lies; None where nothing is known of it."""
    if flow.value is not None:
        return _Bounds(flow.value, flow.value) if is_number(flow.value) else None
    if flow.limit is None:
        return None
    return _Bounds(0.0, flow.limit) if flow.flag == "below_range" else _Bounds(flow.limit, None)


def _under(from_us: int, from_flow: float, to_us: int, to_flow: float, part: Span) -> float:
    """The volume under a straight line, over a part of it."""
    slope = (to_flow - from_flow) / (to_us - from_us)
    middle_us = (part[0] + part[1]) / 2 - from_us
    return (from_flow + slope * middle_us) * (part[1] - part[0]) / _US


def _between(measured: Iterable[Span], span: Span) -> tuple[Span, ...]:
    gaps, at_us = [], span[0]
    for start_us, end_us in clipped(measured, *span):
        if start_us > at_us:
            gaps.append((at_us, start_us))
        at_us = end_us
    return (*gaps, (at_us, span[1])) if at_us < span[1] else tuple(gaps)


def _peak(samples: Sequence[Sample]) -> tuple[int | None, Derived]:
    """The first of the greatest flows; "at least" that where one was above its range."""
    ranked = [(bounds, each) for each in samples if (bounds := _bounds(each.flow))]
    if not ranked:
        return None, MISSING
    lows = max(bounds.low for bounds, _ in ranked)
    _, first = next(each for each in ranked if each[0].low == lows)
    unbounded = next((each for bounds, each in ranked if bounds.high is None), None)
    if unbounded is not None:
        return unbounded.time_us, Derived(None, "above_range", lows)
    highs = max(bounds.high for bounds, _ in ranked if bounds.high is not None)
    if first.flow.value is None or highs > lows:  # nothing measured exceeds what is only known to be below a limit
        return first.time_us, Derived(None, "below_range", highs)
    return first.time_us, first.flow
