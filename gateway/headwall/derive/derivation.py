"""Derived values of a site or a datastream: which steps are in force when, computed over the ledger's readings.

Names: NODE/STREAM is the datastream itself, calibrated ("outfall-7/water.temperature"). SITE/QUANTITY is computed at a
site: "outfall-7/flow" in m³/s, "brook-lane-12/sludge_clearance" in m, "pond/volume_lost" in %, or a role of its sensors
("outfall-7/stage", "brook-lane-12/sludge"): the height above the site's zero where the registry says how, else the
calibrated reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, get_args

import sqlalchemy as sa

from headwall.derive.calibrated import CalibrationsOf, line_of
from headwall.derive.samples import Sample, samples_of
from headwall.derive.steps import (
    BESIDE_OF,
    NEAREST_US,
    Beside,
    Calibrated,
    Cleared,
    Corrected,
    Height,
    Lost,
    NotSetUp,
    RangeCompensated,
    Rated,
    Step,
    Tipped,
    WaterAbove,
)
from headwall.derive.tip_depth import tip_depths
from headwall.errors import UnknownThingError
from headwall.hydrology.derived import Derived
from headwall.registry import Registry
from headwall.registry.measures import FlowMeter, Level, PulseMeter, Rating, Role
from headwall.registry.registry import SiteMeasures
from headwall.registry.spans import E, Span, in_force
from headwall.wire.contract import UNIT_OF

MISSING = Derived(None, "missing")
REJECTED = Derived(None, "rejected")
_US = 1_000_000
#: quantities that follow from the height of a role
_ON_HEIGHTS: Final[dict[str, Role]] = {
    "scum_clearance": "scum",
    "sludge_clearance": "sludge",
    "volume_lost": "sediment",
    "depth_lost": "sediment",
}


class Value(NamedTuple):
    """A derived value at the time of the reading it was made of.

    Attributes:
        flag: QARTOD flag of the reading, its own or a person's. Where it is 4 the value must not be used.
    """

    time_us: int
    derived: Derived
    flag: int


class Segment(NamedTuple):
    """A stretch in which nothing changes of how a value is made: from which datastream, by which steps."""

    start_us: int
    end_us: int
    datastream: str | None
    steps: tuple[Step, ...]
    meter: PulseMeter | None = None


class Derivation:
    """Derived values over one connection; keeps what it has read of calibrations.

    Args:
        through: the append position up to which the ledger is read; None: all of it.
    """

    def __init__(self, conn: sa.Connection, registry: Registry, *, through: int | None = None) -> None:
        self._conn = conn
        self._registry = registry
        self._through = through
        self._calibrations: dict[str, CalibrationsOf] = {}

    def series(self, name: str, start_us: int, end_us: int) -> list[Value]:
        """Values with start_us <= time < end_us, in order of time.

        Raises:
            UnknownThingError: no such datastream or site, or a quantity that the site has not.
        """
        return [value for segment in self.segments(name, start_us, end_us) for value in self.values(segment)]

    def segments(self, name: str, start_us: int, end_us: int) -> list[Segment]:
        """The stretch, cut where the way of making the value changes. Raises as `series` does."""
        if "." in name:
            self._registry.require_datastream(name)
            return self._of_datastream(name, start_us, end_us)
        site, _, quantity = name.partition("/")
        measures = self._measures(site, quantity)
        changes = self._changes(measures, quantity)
        return [self._segment(site, measures, quantity, a, b) for a, b in _cut(changes, start_us, end_us)]

    def _of_datastream(self, name: str, start_us: int, end_us: int) -> list[Segment]:
        if name.endswith(".tips"):
            tipped = Tipped(tip_depths(self._conn, self._registry, name))
            return [Segment(start_us, end_us, name, (tipped,))]
        edges = self.calibrations(name).changes_us
        return [Segment(a, b, name, tuple(self._calibration(name, a))) for a, b in _cut(edges, start_us, end_us)]

    def calibrations(self, datastream: str) -> CalibrationsOf:
        """The calibrations of a datastream."""
        if datastream not in self._calibrations:
            self._calibrations[datastream] = CalibrationsOf.read(self._conn, datastream)
        return self._calibrations[datastream]

    def computed(self, segment: Segment, samples: Sequence[Sample]) -> Iterator[Value]:
        """The values of samples of a segment."""
        steps = segment.steps
        for sample in samples:
            value = sample.value
            if value is None:
                yield Value(sample.time_us, MISSING if sample.why.startswith("null") else REJECTED, sample.flag)
                continue
            derived = Derived(value)
            for step in steps:
                derived = step.apply(sample.time_us, value)
                if derived.value is None:
                    break
                value = derived.value
            yield Value(sample.time_us, derived, sample.flag)

    def values(self, segment: Segment) -> Iterator[Value]:
        """The values of a segment, from the ledger."""
        if segment.datastream is None:
            return iter(())
        if segment.meter is not None:
            return _metered(segment, self._samples(segment, before_us=NEAREST_US), segment.meter)
        return self.computed(segment, self._samples(segment))

    def _samples(self, segment: Segment, before_us: int = 0) -> list[Sample]:
        assert segment.datastream is not None
        start_us = segment.start_us - before_us
        return samples_of(self._conn, segment.datastream, start_us, segment.end_us, through=self._through)

    # --- what is in force ---

    def _measures(self, site: str, quantity: str) -> SiteMeasures:
        self._registry.require_site(site)
        measures = self._registry.measures(site)
        there = quantities_of(measures)
        if quantity not in there:
            raise UnknownThingError(f"site {site} has no {quantity!r}; it has {', '.join(there) or 'nothing measured'}")
        return measures

    def _changes(self, measures: SiteMeasures, quantity: str) -> list[int]:
        """Every instant at which something of the site's set-up, or a calibration, changes."""
        edges = edges_of(measures.sensors) | edges_of(measures.levels) | edges_of(measures.corrections)
        if quantity == "flow":
            edges |= edges_of(measures.ratings)
        elif quantity in _ON_HEIGHTS:
            edges |= edges_of(measures.tanks) | edges_of(measures.basins)
        for span in measures.sensors:
            edges.update(self.calibrations(span.entry.datastream).changes_us)
        return sorted(edges)

    def _segment(self, site: str, measures: SiteMeasures, quantity: str, start_us: int, end_us: int) -> Segment:
        if quantity in _ON_HEIGHTS:
            found = self._by_steps(site, measures, _ON_HEIGHTS[quantity], start_us, end_us)
            return found._replace(steps=(*found.steps, _last(measures, quantity, start_us)))
        if quantity != "flow":
            role: Role = quantity  # type: ignore[assignment]
            return self._by_steps(site, measures, role, start_us, end_us)
        rating = next(in_force(measures.ratings, start_us), None)
        if rating is None:
            direct = measures.has("flow") and not measures.ratings
            found = self._by_steps(site, measures, "flow" if direct else "stage", start_us, end_us)
            return found if direct else found._replace(steps=(NotSetUp("rating"),))
        if isinstance(rating, PulseMeter):
            return Segment(start_us, end_us, _stream(measures, "meter", start_us), (), rating)
        if isinstance(rating, FlowMeter):
            return self._by_steps(site, measures, "flow", start_us, end_us)
        found = self._by_steps(site, measures, "stage", start_us, end_us)
        return found._replace(steps=(*found.steps, self._rated(site, measures, rating, start_us, end_us)))

    def _by_steps(self, site: str, measures: SiteMeasures, role: Role, start_us: int, end_us: int) -> Segment:
        datastream = _stream(measures, role, start_us)
        if datastream is None:
            return Segment(start_us, end_us, None, ())
        steps = (*self._calibration(datastream, start_us), *self._height(site, measures, role, start_us, end_us))
        return Segment(start_us, end_us, datastream, steps)

    def _calibration(self, datastream: str, at_us: int) -> Iterator[Step]:
        record = self.calibrations(datastream).at(at_us)
        unit = UNIT_OF[datastream.rpartition(".")[2]]
        line = None if record is None else line_of(record, unit)
        if record is not None and line is not None:
            yield Calibrated(record, line, unit)

    def _height(self, site: str, measures: SiteMeasures, role: Role, start_us: int, end_us: int) -> Iterator[Step]:
        level = measures.level(role, start_us)
        if level is None:
            if any(span.entry.of == role for span in measures.levels):
                yield NotSetUp("level")
            return
        beside = _compensated_by(level)
        if beside is not None:
            values = self._beside(site, beside, start_us, end_us)
            yield WaterAbove(level, values) if level.method == "pressure" else RangeCompensated(level, values)
        yield Height(level)
        corrections = measures.corrections_of(role, start_us)
        if corrections:
            yield Corrected(corrections)

    def _rated(self, site: str, measures: SiteMeasures, rating: Rating, start_us: int, end_us: int) -> Step:
        role = BESIDE_OF.get(rating.method)
        if role is None or measures.sensor(role, start_us) is None:
            return Rated(rating)
        return Rated(rating, self._beside(site, role, start_us, end_us))

    def _beside(self, site: str, role: Role, start_us: int, end_us: int) -> Beside:
        name = f"{site}/{role}"
        found = self.series(name, start_us - NEAREST_US, end_us + NEAREST_US)
        good = [(each.time_us, each.derived.value) for each in found if each.derived.value is not None]
        return Beside(name, [time_us for time_us, _ in good], [value for _, value in good])


def quantities_of(measures: SiteMeasures) -> list[str]:
    """What can be derived at a site: roles of its sensors, and flow where there is a rating."""
    roles: list[str] = [role for role in get_args(Role) if measures.has(role)]
    more = [quantity for quantity, role in _ON_HEIGHTS.items() if role in roles]
    return [*roles, *more] if not measures.ratings or "flow" in roles else [*roles, "flow", *more]


def _last(measures: SiteMeasures, quantity: str, at_us: int) -> Step:
    """The step from a height to what a tank or a basin makes of it."""
    tank, basin = next(in_force(measures.tanks, at_us), None), next(in_force(measures.basins, at_us), None)
    if quantity in ("scum_clearance", "sludge_clearance"):
        return NotSetUp("tank") if tank is None else Cleared(tank, "scum" if quantity == "scum_clearance" else "sludge")
    return NotSetUp("basin") if basin is None else Lost(basin, "volume" if quantity == "volume_lost" else "depth")


def edges_of(spans: Iterable[Span[E]]) -> set[int]:
    """Every instant at which an entry comes into force or goes out of it."""
    return {edge for span in spans for edge in (span.start_us, span.end_us) if edge is not None}


def _cut(edges: Sequence[int], start_us: int, end_us: int) -> list[tuple[int, int]]:
    inside = [edge for edge in edges if start_us < edge < end_us]
    return list(pairwise([start_us, *dict.fromkeys(inside), end_us])) if start_us < end_us else []


def _stream(measures: SiteMeasures, role: Role, at_us: int) -> str | None:
    sensor = measures.sensor(role, at_us)
    return None if sensor is None else sensor.datastream


def _compensated_by(level: Level) -> Role | None:
    if level.method == "pressure":
        return "air_pressure"
    if level.assumed_air_c is not None:
        return "air_temperature"
    return "water_temperature" if level.assumed_sound_m_s is not None else None


def _metered(segment: Segment, samples: Sequence[Sample], meter: PulseMeter) -> Iterator[Value]:
    """Mean flow between two readings of a running count, at the later one; a fall is a new beginning: missing."""
    for one, other in pairwise(samples):
        if other.time_us < segment.start_us:
            continue
        derived = MISSING
        if one.value is not None and other.value is not None and other.value >= one.value:
            passed_us = other.time_us - one.time_us
            if passed_us > 0:
                derived = Derived((other.value - one.value) * meter.pulse * _US / passed_us)
        yield Value(other.time_us, derived, other.flag)
