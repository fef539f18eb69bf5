"""Why the rain that a gauge shows of a storm may be wrong, from the ledger: frost, melting snow, a clogged funnel, a
counter at its end.

Doubts are worked out whenever a storm is told or shown, and stored nowhere: what came late counts, and no duty gets
another version because a temperature came. They change no reading and no trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from headwall.derive.derivation import Derivation
from headwall.hydrology.qartod import FAIL
from headwall.hydrology.rain_doubt import Suspicion, Winter, even_tail, frozen, saturated
from headwall.law import localtime
from headwall.registry import Registry
from headwall.registry.model import Datastream, DoubtLimits
from headwall.rules.layers import gauge_layers
from headwall.rules.rain import EVERYTHING, RainReading, valid_between

_MINUTE_US = 60_000_000
_QUARTER_US = 15 * _MINUTE_US  # the cold is looked for so often: a storm of days has thousands of tips


def of_storm(conn: sa.Connection, registry: Registry, datastream: str, start_us: int, end_us: int) -> list[Suspicion]:
    """Doubts about what a gauge shows of the storm from its first tip to its last; [] where there is none."""
    stream = registry.datastream(datastream, start_us)
    if stream is None:
        return []
    rain = [
        each
        for each in valid_between(conn, gauge_layers(conn, registry, datastream), start_us, end_us, EVERYTHING)
        if each.tips
    ]
    return [*cold(conn, registry, datastream, _quarters(rain)), *_tail(rain, stream.doubts), *_full(rain, stream)]


def cold(conn: sa.Connection, registry: Registry, datastream: str, instants: Sequence[int]) -> list[Suspicion]:
    """The weightiest doubt that the air's temperature casts on a gauge at some instants; at most one."""
    stream = registry.datastream(datastream, instants[0]) if instants else None
    if stream is None or stream.heated:
        return []
    limits = stream.doubts
    winter = Winter(limits.liquid_c, round(limits.melt_h * localtime.HOUR_US), limits.temperature_min * _MINUTE_US)
    first_us, last_us = instants[0] - winter.melt_us, instants[-1] + winter.nearest_us
    sensor = thermometer(registry, datastream, instants[0])
    air = values_between(conn, registry, sensor, first_us, last_us) if sensor else []
    seen = [each for at_us in instants if (each := frozen(at_us, air, winter)) is not None]
    if not _may_freeze(registry, datastream, instants[0], limits):
        seen = [each for each in seen if each.kind != "no_temperature"]
    return _weightiest(seen)


def thermometer(registry: Registry, datastream: str, at_us: int) -> str | None:
    """The datastream of the air temperature that counts for a gauge: of a place that has the gauge, else of a station
    of the same municipality."""  # fmt: skip
    own = registry.places_of_gauge(datastream, at_us)
    municipalities = {site.municipality for site in own}
    stations = [each for each in registry.sites if each.kind == "station" and each.municipality in municipalities]
    sensors = (registry.measures(site.id).sensor("air_temperature", at_us) for site in [*own, *stations])
    return next((sensor.datastream for sensor in sensors if sensor is not None), None)


def values_between(
    conn: sa.Connection, registry: Registry, name: str, start_us: int, end_us: int
) -> list[tuple[int, float]]:
    """(time, value) of what a sensor says, or a site's quantity, with start <= time <= end: good values alone."""
    found = Derivation(conn, registry).series(name, start_us, end_us + 1)
    return [
        (each.time_us, each.derived.value) for each in found if each.derived.value is not None and each.flag != FAIL
    ]


def _quarters(rain: Iterable[RainReading]) -> list[int]:
    """The first rain of each quarter of an hour that has some."""
    return list({each.time_us // _QUARTER_US: each.time_us for each in sorted(rain, reverse=True)}.values())[::-1]


def _may_freeze(registry: Registry, datastream: str, at_us: int, limits: DoubtLimits) -> bool:
    zone = registry.zone_of_node(registry.require_node(datastream.partition("/")[0]))
    return localtime.day_of(at_us, zone).month in limits.frost_months


def _weightiest(seen: Sequence[Suspicion]) -> list[Suspicion]:
    """Frost before melting snow before a temperature that is not known, over all the time it was seen."""
    for kind in ("frozen", "melt", "no_temperature"):
        of_kind = [each for each in seen if each.kind == kind]
        if of_kind:
            coldest = min(of_kind, key=lambda each: float(each.evidence.get("temperature_c", 0)))
            start_us, end_us = min(each.start_us for each in of_kind), max(each.end_us for each in of_kind)
            return [Suspicion(of_kind[0].kind, start_us, end_us, coldest.evidence)]
    return []


def _tail(rain: Sequence[RainReading], limits: DoubtLimits) -> list[Suspicion]:
    """An even end of the storm; totals by the interval, as loggers write them, are even by their making."""
    last = rain[-limits.tail_tips - 1 :]
    if any(each.imported or each.tips != 1 for each in last):
        return []
    found = even_tail(
        [each.time_us for each in last],
        tips=limits.tail_tips,
        evenness=limits.tail_evenness,
        slower_than_us=round(limits.tail_slower_min * _MINUTE_US),
    )
    return [] if found is None else [found]


def _full(rain: Sequence[RainReading], stream: Datastream) -> list[Suspicion]:
    if stream.most_tips is None:
        return []
    return saturated([(each.time_us, each.tips) for each in rain], ceiling=stream.most_tips)
