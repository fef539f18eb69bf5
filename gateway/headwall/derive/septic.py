"""A septic tank by its sensors, beside what people measured and did there.

What a sensor gives is an indication: INDICATION goes with every text made of it. It takes the place of no inspection
and establishes no failing system; whoever acts measures by hand first. The distances at which a code asks for a
pump-out are the code's and come in as Limits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from statistics import median
from typing import Final, Literal, NamedTuple

import sqlalchemy as sa

from headwall.derive.heights import Height, heights, tested
from headwall.errors import InputError
from headwall.hydrology.derived import Derived
from headwall.hydrology.septic import Tank, Trend, scum_clearance_m, sludge_clearance_m, trend
from headwall.hydrology.tank_liquid import Above, Sinking, Surge, above_invert, sinkings, surges
from headwall.ledger.entries import Entry, PumpOut, SepticMeasurement, standing
from headwall.registry import Registry
from headwall.registry import measures as registry_measures
from headwall.registry.spans import in_force
from headwall.units import parse_quantity

INDICATION: Final = "Indication; it takes the place of no inspection and establishes nothing."
Layer = Literal["scum", "sludge"]
LAYERS: Final[tuple[Layer, ...]] = ("scum", "sludge")
_DAY_US: Final = 86_400_000_000
_MINUTE_US: Final = 60_000_000
#: values of a forecast; with more days each value stands for several
_VALUES: Final = 500
#: a hand measurement is compared with the sensor's value nearest to it, no further away than this
BESIDE_US: Final = _DAY_US
#: a length computed in floats may miss one written in inches by less than this
_ROUNDING_M: Final = 1e-9


@dataclass(frozen=True)
class Limits:
    """Clearances in m at which a code asks for a pump-out, both reached by equality."""

    scum_m: float
    sludge_m: float

    def of(self, layer: Layer) -> float:
        return self.scum_m if layer == "scum" else self.sludge_m


class Clearance(NamedTuple):
    """Between a layer and the end of the outlet baffle, below 0 where the layer has passed it.

    Attributes:
        derived: in m; infinite where the sensor found no such layer; none with the reason.
        flag: QARTOD flag of the reading.
    """

    time_us: int
    derived: Derived
    flag: int

    def reaches(self, limit_m: float) -> bool:
        """Whether a code's distance is reached, equality included; never where there is no value."""
        return self.derived.value is not None and within(self.derived.value, limit_m)


def within(clearance_m: float, limit_m: float) -> bool:
    """Whether a clearance is as small as a limit; equal counts."""
    return clearance_m <= limit_m + _ROUNDING_M


def clearances(
    conn: sa.Connection, registry: Registry, site: str, layer: Layer, start_us: int, end_us: int
) -> list[Clearance]:
    """Clearances with start_us <= time < end_us, by the tank that the registry had then."""
    if not registry.measures(site).has(layer):
        return []
    found = tested(conn, registry, f"{site}/{layer}_clearance", start_us, end_us)
    return [Clearance(each.time_us, Derived(inf) if each.nothing else each.derived, each.flag) for each in found]


def tank_at(registry: Registry, site: str, at_us: int) -> registry_measures.Tank | None:
    """The tank's depths in force at an instant."""
    return next(in_force(registry.measures(site).tanks, at_us), None)


# ---- when it must be pumped


@dataclass(frozen=True)
class Forecast:
    """When a clearance will have shrunk to a limit, by the sensor's values since the last pump-out.

    Attributes:
        since_us: the last pump-out on record, or the first reading where there is none.
        pumped: whether it is a pump-out.
        values: how many the line goes through.
        expected_us, earliest_us, latest_us: the interval has the confidence of hydrology.septic; latest None: perhaps
            never.
        why: why there is no date; "" with one.
    """

    layer: Layer
    limit_m: float
    since_us: int
    pumped: bool
    values: int
    expected_us: int | None = None
    earliest_us: int | None = None
    latest_us: int | None = None
    why: str = ""


def forecast(
    conn: sa.Connection, registry: Registry, site: str, layer: Layer, limit_m: float, at_us: int
) -> Forecast | None:
    """The forecast as of an instant, from one value a day (the day's median; a day is 24 hours from the pump-out).

    With more than 500 days each value stands for as many days as keep it at 500 values. None: no such sensor has
    given anything.
    """
    pumped = last_pump_out(conn, site, at_us)
    since_us = pumped.done_us if pumped is not None else _first_us(registry, site)
    found = [
        (each.time_us, each.derived.value)
        for each in clearances(conn, registry, site, layer, since_us, at_us + 1)
        if each.derived.value is not None and isfinite(each.derived.value)
    ]
    if not found:
        return None
    if pumped is None:
        since_us = found[0][0]
    days, values = _daily(found, since_us)
    made = Forecast(layer, limit_m, since_us, pumped is not None, len(days))
    line = trend(days, [-value for value in values])  # what is used up rises
    return _dated(made, line, limit_m)


def _daily(found: Sequence[tuple[int, float]], since_us: int) -> tuple[list[float], list[float]]:
    """The middle of each day, or of each few days, since an instant, and the median of its values."""
    days = (found[-1][0] - since_us) // _DAY_US + 1
    width = -(-days // _VALUES)
    buckets: dict[int, list[float]] = defaultdict(list)
    for time_us, value in found:
        buckets[(time_us - since_us) // (width * _DAY_US)].append(value)
    return [(n + 0.5) * width for n in buckets], [median(values) for values in buckets.values()]


def _dated(made: Forecast, line: Trend | None, limit_m: float) -> Forecast:
    if line is None:
        return replace(made, why=f"{made.values} days with a value since then, of at least 3 needed")
    reached = line.day_of(-limit_m)
    if reached is None:
        return replace(made, why="the layer does not grow")
    expected, earliest, latest = (None if day is None else made.since_us + round(day * _DAY_US) for day in reached)
    return replace(made, expected_us=expected, earliest_us=earliest, latest_us=latest)


def last_pump_out(conn: sa.Connection, site: str, at_us: int) -> Entry[PumpOut] | None:
    """The newest pump-out on record up to an instant."""
    return next(reversed(standing(conn, PumpOut, site, until_us=at_us)), None)


def _first_us(registry: Registry, site: str) -> int:
    return min((span.start_us for span in registry.measures(site).sensors), default=0)


# ---- the liquid


@dataclass(frozen=True)
class Liquid:
    """The liquid over a stretch, against the outlet invert.

    Attributes:
        tolerance_m, dwell_us: of the tank, by the registry.
        newest: of the stretch, in m above the invert.
    """

    tolerance_m: float
    dwell_us: int
    newest: Height | None
    above: tuple[Above, ...]
    surges: tuple[Surge, ...]
    sinkings: tuple[Sinking, ...]


def liquid(
    conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int, *, instant: bool = False
) -> Liquid | None:
    """The liquid with start_us <= time < end_us; None without a tank in the registry at its end.

    Args:
        instant: tell each level above the tolerance, however short; so does a tank whose dwell is 0.
    """
    tank = tank_at(registry, site, end_us - 1)
    if tank is None:
        return None
    found = heights(conn, registry, site, "liquid", start_us, end_us)
    levels = [(height.time_us, height.derived.value) for height in found]
    dwell_us = 0 if instant else tank.dwell_min * _MINUTE_US
    return Liquid(
        tank.tolerance,
        dwell_us,
        found[-1] if found else None,
        tuple(above_invert(levels, tolerance_m=tank.tolerance, dwell_us=dwell_us)),
        tuple(surges(levels)),
        tuple(sinkings(levels, tolerance_m=tank.tolerance)),
    )


# ---- beside what a stick found


class Compared(NamedTuple):
    """A hand measurement and the sensor's value nearest to it, both in m; infinite where no such layer was found.

    Attributes:
        what: scum_clearance, sludge (its thickness) or liquid (above the invert).
        sensor_m: None without a value within a day.
    """

    entry: int
    done_us: int
    by: str
    what: str
    hand_m: float
    sensor_m: float | None

    @property
    def difference_m(self) -> float | None:
        """Hand less sensor; None where one of them has no number."""
        if self.sensor_m is None or not (isfinite(self.sensor_m) and isfinite(self.hand_m)):
            return None
        return self.hand_m - self.sensor_m


def compared(
    conn: sa.Connection, registry: Registry, site: str, at_us: int, *, from_us: int | None = None
) -> list[Compared]:
    """Every hand measurement up to an instant beside the sensors, in order of time: how their difference went.

    Args:
        from_us: only those done at or after.
    """
    found: list[Compared] = []
    for entry in standing(conn, SepticMeasurement, site, from_us=from_us, until_us=at_us):
        tank = tank_at(registry, site, entry.done_us)
        span = (entry.done_us - BESIDE_US, entry.done_us + BESIDE_US + 1)
        for what, hand_m in by_hand(entry.body, None if tank is None else tank.depths):
            if what == "scum_clearance":
                values = [(each.time_us, each.derived) for each in clearances(conn, registry, site, "scum", *span)]
            else:
                role: Literal["sludge", "liquid"] = "sludge" if what == "sludge" else "liquid"
                values = [(each.time_us, each.derived) for each in heights(conn, registry, site, role, *span)]
            found.append(Compared(entry.id, entry.done_us, entry.by, what, hand_m, _nearest(values, entry.done_us)))
    return found


def by_hand(body: SepticMeasurement, tank: Tank | None) -> list[tuple[str, float]]:
    """What a stick found, in m: (scum_clearance, sludge or liquid, amount).

    The bottom of the scum becomes a clearance where the tank is known and deep enough; else it is left out.
    """
    found = []
    if body.no_scum:
        found.append(("scum_clearance", inf))
    elif body.scum_clearance is not None:
        found.append(("scum_clearance", _metres(body.scum_clearance)))
    elif body.scum_bottom is not None and tank is not None and _metres(body.scum_bottom) <= tank.floor_m:
        found.append(("scum_clearance", scum_clearance_m(tank, _metres(body.scum_bottom))))
    found += [
        (what, _metres(text)) for what, text in (("sludge", body.sludge), ("liquid", body.liquid)) if text is not None
    ]
    return found


def hand_clearance(what: str, hand_m: float, tank: Tank) -> float | None:
    """The clearance that a hand measurement stands for; None for liquid, and for sludge that fits no such tank."""
    if what == "scum_clearance":
        return hand_m
    try:
        return sludge_clearance_m(tank, hand_m) if what == "sludge" else None
    except InputError:
        return None


def _nearest(values: Iterable[tuple[int, Derived]], at_us: int) -> float | None:
    known = [(abs(time_us - at_us), derived.value) for time_us, derived in values if derived.value is not None]
    return min(known, key=lambda each: each[0])[1] if known else None


def _metres(text: str) -> float:
    return float(parse_quantity(text, "m"))
