"""What passed an outfall in a stretch of time, how it runs in dry weather, and what turbidity is added.

Readings that failed a test, or that a person flagged as failed, give no value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from math import ceil, fsum
from typing import Final, NamedTuple

import sqlalchemy as sa

from headwall.derive.heights import tested
from headwall.hydrology.baseflow import base_flow
from headwall.hydrology.derived import Derived
from headwall.hydrology.dry_weather import HOUR_US, Settings
from headwall.hydrology.flow_pattern import DayPattern, day_pattern
from headwall.hydrology.flow_volume import FlowVolume, Sample, volume
from headwall.hydrology.gauges import Span, merged, rain_within
from headwall.hydrology.turbidity import added, added_between, background
from headwall.registry import Registry

#: flows further apart have a gap between them
LONGEST_STEP_US: Final = 3_600_000_000
#: an upstream reading further away in time is none
_WITHIN_US: Final = 15 * 60_000_000
_DAY_US: Final = 24 * HOUR_US
#: readings in dry weather that make a natural background
_LEAST_READINGS: Final = 24


class BaseShare(NamedTuple):
    """Base flow as a share of what flowed on so many days, 0 to 1; None where nothing flowed."""

    share: float | None
    days: int


def flows(conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int) -> list[Sample]:
    """Flow of a site with start_us <= time < end_us, in order of time. UnknownThingError for a site without flow."""
    return [Sample(*each) for each in _values(conn, registry, f"{site}/flow", start_us, end_us)]


def passed(conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int) -> FlowVolume:
    """Volume and peak of a stretch, such as a storm or a day, with what was not measured."""
    samples = flows(conn, registry, site, start_us - LONGEST_STEP_US, end_us + LONGEST_STEP_US)
    return volume(samples, (start_us, end_us), longest_step_us=LONGEST_STEP_US)


def turbidity_added(
    conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int, *, travel_us: int = 0
) -> list[tuple[int, Derived]]:
    """Downstream less upstream turbidity in NTU at each downstream reading, `travel_us` the water's way between."""
    down, up = (
        _values(conn, registry, f"{site}/{role}", start_us - back_us, end_us)
        for role, back_us in (("turbidity", 0), ("upstream_turbidity", travel_us + _WITHIN_US))
    )
    return added_between(down, up, travel_us=travel_us, within_us=_WITHIN_US)


def turbidity_over_background(
    conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int, dry: Sequence[Span]
) -> list[tuple[int, Derived]]:
    """Turbidity in NTU less that of dry weather in the same stretch, at each reading: missing with little of that."""
    found = _values(conn, registry, f"{site}/turbidity", start_us, end_us)
    known = [(time_us, derived.value) for time_us, derived in found if derived.value is not None]
    natural = background(known, dry, at_least=_LEAST_READINGS)
    return [(time_us, added(derived, natural)) for time_us, derived in found]


def _values(
    conn: sa.Connection, registry: Registry, name: str, start_us: int, end_us: int
) -> list[tuple[int, Derived]]:
    return [(each.time_us, each.derived) for each in tested(conn, registry, name, start_us, end_us)]


def dry_spans(rain: Sequence[tuple[int, int]], gaps: Sequence[Span], span: Span, *, quanta_per_mm: int) -> list[Span]:
    """The hours of a stretch known to be dry weather, by the depth and the time of `dry_weather.Settings`, joined.

    Args:
        rain: (time, quanta), in order of time; it and `gaps` from that time before the stretch on.
    """
    settings = Settings()
    below, back_us = ceil(settings.dry_below.mm * quanta_per_mm), settings.dry_hours * HOUR_US
    silent = merged(gaps)

    def dry(hour_us: int) -> bool:
        since_us, end_us = hour_us - back_us, hour_us + HOUR_US
        first = bisect_left(rain, since_us, key=lambda each: each[0])
        last = bisect_left(rain, end_us + 1, lo=first, key=lambda each: each[0])
        found = rain_within(rain[first:last], silent, since_us, end_us)
        return found.amount < below and found.unknown_us == 0

    return merged((start, start + HOUR_US) for start in range(span[0], span[1] - HOUR_US + 1, HOUR_US) if dry(start))


def base_share(samples: Sequence[Sample], start_us: int, end_us: int) -> BaseShare:
    """Base flow of the days of 24 hours in a stretch, by the filter of hydrology.baseflow over their mean flows."""
    flows = list(_daily(samples, start_us, end_us))
    known = [flow for flow in flows if flow is not None]
    base = fsum(flow for flow in base_flow(flows) if flow is not None)
    return BaseShare(base / fsum(known) if fsum(known) > 0 else None, len(known))


def _daily(samples: Sequence[Sample], start_us: int, end_us: int) -> Iterator[float | None]:
    """Mean flows in m³/s; None for a day that was measured for half of it or less, or on which it ran back."""
    for day_us in range(start_us, end_us - _DAY_US + 1, _DAY_US):
        first = bisect_left(samples, day_us - LONGEST_STEP_US, key=lambda each: each.time_us)
        last = bisect_left(samples, day_us + _DAY_US + LONGEST_STEP_US, key=lambda each: each.time_us)
        day = volume(samples[first:last], (day_us, day_us + _DAY_US), longest_step_us=LONGEST_STEP_US)
        enough = day.low_m3 >= 0 and 2 * day.measured_us > _DAY_US
        yield day.low_m3 * 1_000_000 / day.measured_us if enough else None


def dry_pattern(samples: Sequence[Sample], dry: Sequence[Span], hour_of: Callable[[int], int]) -> DayPattern:
    """The mean day of a flow in dry weather; a flow below the range of its meter counts as 0."""

    def flows() -> Iterator[tuple[int, float]]:
        for start_us, end_us in dry:
            first = bisect_left(samples, start_us, key=lambda each: each.time_us)
            last = bisect_left(samples, end_us, key=lambda each: each.time_us)
            for time_us, flow in samples[first:last]:
                value = 0.0 if flow.flag == "below_range" else flow.value
                if value is not None:
                    yield time_us, value

    return day_pattern(flows(), hour_of)
