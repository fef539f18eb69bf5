"""Hourly summaries of what an outfall's sensors say: all that a judgement of dry weather looks at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import fsum, pi, sqrt
from statistics import median
from typing import Any, Final, NamedTuple, TypeVar

from headwall.hydrology.derived import Derived
from headwall.hydrology.gauges import Span, clipped, merged

HOUR_US: Final = 3_600_000_000
_HELD_US: Final = 1_800_000_000  # a level beyond the outfall this old says nothing of now
_TRIMMED: Final = 2  # steps of flow left out of the noise: one pulse has two edges
_LEAST_STEPS: Final = 4

T = TypeVar("T", bound=tuple[Any, ...])  # a reading, its time first
Readings = Sequence[tuple[int, float | None]]


class Water(NamedTuple):
    """What the probes in the water say; None where there is no probe, no reading, or no water at it."""

    temperature_c: float | None = None
    conductivity_s_m: float | None = None
    turbidity_ntu: float | None = None


class Hour(NamedTuple):
    """One hour.

    Attributes:
        samples: flows in it that count: read, or known to lie below or above the meter's range, without backwater.
        flow_m3_s: their median; a flow below the range counts as 0, one above it as the end of the range: at least
            that much flowed. None without samples.
        high_m3_s: the greatest flow that two samples within three steps both reach, so that one odd sample is none.
        noise_m3_s: standard deviation of one sample, of the steps from sample to sample; None with too few.
        water: the medians of the hour.
        high_water: the medians of the samples in the upper half of the flow's range in this hour.
        rain: quanta of rain, `rain_unknown_us` of the hour without a valid gauge.
        backwater_us: time in which water stood in the outfall from beyond it, or flow ran back into it.
    """

    start_us: int
    samples: int = 0
    flow_m3_s: float | None = None
    high_m3_s: float | None = None
    noise_m3_s: float | None = None
    water: Water = Water()
    high_water: Water = Water()
    air_c: float | None = None
    rain: int = 0
    rain_unknown_us: int = 0
    backwater_us: int = 0


class _Sample(NamedTuple):
    time_us: int
    flow: float


def summarise(
    span: Span,
    *,
    flow: Sequence[tuple[int, Derived]] = (),
    temperature_c: Readings = (),
    conductivity_s_m: Readings = (),
    turbidity_ntu: Readings = (),
    tailwater_m: Readings = (),
    air_c: Readings = (),
    rain: Sequence[tuple[int, int]] = (),
    rain_gaps: Iterable[Span] = (),
    step_us: int = 300_000_000,
) -> list[Hour]:
    """The full hours of a stretch of time, from its start; what is absent stays empty.

    Args:
        span: start and end in µs; a last part of an hour is left out.
        flow: (time, m³/s), in order of time, as all that follow; negative is backflow.
        tailwater_m: water beyond the outfall above its invert: above 0 it stands in the pipe.
        rain: (time, quanta of rain).
        rain_gaps: stretches without a valid gauge.
        step_us: the step of the flow, which an instant of backwater is taken to last.
    """
    gaps = merged(rain_gaps)
    series = [temperature_c, conductivity_s_m, turbidity_ntu]
    held = _held(tailwater_m)
    before: _Sample | None = None
    hours = []
    for start_us in range(span[0], span[1] - HOUR_US + 1, HOUR_US):
        end_us = start_us + HOUR_US
        samples, backwater = _samples(_within(flow, start_us, end_us), held)
        probes = [_within(each, start_us, end_us) for each in series]
        hour = Hour(
            start_us,
            water=Water(*(_median(each) for each in probes)),
            air_c=_median(_within(air_c, start_us, end_us)),
            rain=sum(quanta for _, quanta in _within(rain, start_us, end_us)),
            rain_unknown_us=sum(end - start for start, end in clipped(gaps, start_us, end_us)) if gaps else 0,
            backwater_us=min(backwater * step_us, HOUR_US),
        )
        if samples:
            hour = _with_flow(hour, samples, before, probes, 3 * step_us)
            before = samples[-1]
        hours.append(hour)
    return hours


def _within(series: Sequence[T], start_us: int, end_us: int) -> Sequence[T]:
    first = bisect_left(series, start_us, key=lambda each: each[0])
    return series[first : bisect_left(series, end_us, lo=first, key=lambda each: each[0])]


def _median(readings: Readings) -> float | None:
    values = [value for _, value in readings if value is not None]
    return median(values) if values else None


def _held(tailwater_m: Readings) -> tuple[list[int], list[float | None]]:
    return [time_us for time_us, _ in tailwater_m], [level for _, level in tailwater_m]


def _samples(
    flow: Sequence[tuple[int, Derived]], held: tuple[list[int], list[float | None]]
) -> tuple[list[_Sample], int]:
    """The flows that count, and how many are set aside for backwater; what is not known to be free is set aside."""
    found, aside = [], 0
    for time_us, each in flow:
        value = 0.0 if each.censored == "<" else each.limit if each.censored else each.value
        if value is None:
            continue
        free = _free(held, time_us) if held[0] else value >= 0
        if each.flag == "submerged" or not free:
            aside += 1
        else:
            found.append(_Sample(time_us, value))
    return found, aside


def _free(held: tuple[list[int], list[float | None]], time_us: int) -> bool:
    """Whether no water stood in the outfall at an instant, nor at the reading before."""
    last = bisect_right(held[0], time_us)
    near = held[1][max(last - 2, 0) : last]
    return bool(near) and time_us - held[0][last - 1] <= _HELD_US and all(e is not None and e <= 0 for e in near)


def _with_flow(
    hour: Hour, samples: list[_Sample], before: _Sample | None, probes: list[Readings], apart_us: int
) -> Hour:
    joined = [before, *samples] if before else samples
    flows = [each.flow for each in samples]
    high = max((min(one.flow, two.flow) for one, two in _near(joined, apart_us)), default=None)
    high_water = hour.water
    if high is not None:
        middle = (min(flows) + high) / 2
        times = {each.time_us for each in samples if each.flow >= middle}
        high_water = Water(*(_median([each for each in probe if each[0] in times]) for probe in probes))
    return hour._replace(
        samples=len(samples),
        flow_m3_s=median(flows),
        high_m3_s=high,
        noise_m3_s=_noise([two.flow - one.flow for one, two in pairwise(samples)]),
        high_water=high_water,
    )


def _near(samples: list[_Sample], apart_us: int) -> Iterable[tuple[_Sample, _Sample]]:
    """Samples with one of the three that follow."""
    for after in (1, 2, 3):
        yield from (
            pair
            for pair in zip(samples, samples[after:], strict=False)
            if pair[1].time_us - pair[0].time_us <= apart_us
        )


def _noise(steps: list[float]) -> float | None:
    """Of steps between normal samples, whose mean size is 2 σ / √π; the greatest ones are water that changes."""
    sizes = sorted(abs(step) for step in steps)[: len(steps) - _TRIMMED]
    return fsum(sizes) / len(sizes) * sqrt(pi) / 2 if len(sizes) >= _LEAST_STEPS else None
