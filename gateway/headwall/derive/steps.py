"""The steps from a reading to a derived value, one class each: what it computes, and what it says of itself.

A step takes the value of the step before it at an instant and gives a `Derived`. Series and explanations go through
the same steps, so that what is explained is what was computed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, Protocol

from headwall.clock import from_us
from headwall.derive.calibrated import Line
from headwall.derive.tip_depth import TipDepths
from headwall.hydrology import flume, pipe, pressure_level, sound, weir
from headwall.hydrology.derived import Derived
from headwall.hydrology.sediment import depth_lost_percent, volume_lost_percent
from headwall.hydrology.septic import scum_clearance_m, sludge_clearance_m
from headwall.ledger.calibrations import Calibration
from headwall.registry.measures import Basin, Correction, Level, Rating, Rectangular, Role, Tank

#: a sample of another sensor that compensates a reading must be so near to it in time (DOMAIN: 15 min)
NEAREST_US: Final = 15 * 60_000_000
UNCOMPENSATED: Final = Derived(None, "uncompensated")


class Beside:
    """Values of another sensor, by time: the nearest one that counts."""

    def __init__(self, name: str, times_us: Sequence[int], values: Sequence[float]) -> None:
        """`name` of the derived value; times in order, one value each."""
        self.name = name
        self._times = times_us
        self._values = values

    def nearest(self, at_us: int) -> tuple[int, float] | None:
        """(time, value) of the nearest sample within NEAREST_US; the earlier of two equally near ones."""
        times = self._times
        n = bisect_left(times, at_us)
        if n == len(times) or (n and at_us - times[n - 1] <= times[n] - at_us):
            n -= 1
        if n < 0 or not -NEAREST_US <= times[n] - at_us <= NEAREST_US:
            return None
        return times[n], self._values[n]

    def read_at(self, near: tuple[int, float] | None) -> str:
        """Whose reading it was and when, in words; that there was none."""
        return f"no {self.name} within 15 min" if near is None else f"{self.name}, {from_us(near[0]):%H:%M:%S} UTC"


class Step(Protocol):
    """One layer over a reading."""

    @property
    def name(self) -> str:
        """In a word."""

    @property
    def unit(self) -> str:
        """Of what it gives."""

    def apply(self, time_us: int, value: float) -> Derived:
        """What the step makes of a value."""

    def source(self, time_us: int) -> str:
        """How, by whom and from when: what a person needs to check it."""


@dataclass(frozen=True)
class Calibrated:
    """Sets a reading right by a calibration that did not pass."""

    record: Calibration
    line: Line
    unit: str
    name: str = "calibration"

    def apply(self, time_us: int, value: float) -> Derived:  # noqa: ARG002 - as every step
        return Derived(self.line.slope * value + self.line.offset)

    def source(self, time_us: int) -> str:  # noqa: ARG002
        certificate = f", certificate {self.record.certificate}" if self.record.certificate else ""
        return (
            f"{self.line.slope:.9g} x reading {self.line.offset:+.9g} {self.unit}; {self.record.at:%Y-%m-%d} "
            f"{self.record.summary}{certificate}"
        )


@dataclass(frozen=True)
class Tipped:
    """Tips as a depth of rain, by what a tip stands for at that time."""

    depths: TipDepths
    unit: str = "m"
    name: str = "tips"

    def apply(self, time_us: int, value: float) -> Derived:
        tip = self.depths.at(time_us)
        return Derived(None, "not_set_up") if tip is None else Derived(float(tip.depth.mm * round(value) / 1000))

    def source(self, time_us: int) -> str:
        tip = self.depths.at(time_us)
        if tip is None:
            return "the registry has no such gauge then"
        record = tip.calibration
        by = "registry" if record is None else f"registry, {record.at:%Y-%m-%d} {record.summary}"
        return f"{tip.depth} a tip; {by}"


@dataclass(frozen=True)
class RangeCompensated:
    """Sets a range right for the speed of sound that the sensor did not know."""

    level: Level
    beside: Beside
    unit: str = "m"
    name: str = "compensation"

    def apply(self, time_us: int, value: float) -> Derived:
        near = self.beside.nearest(time_us)
        true_m_s = None if near is None else self._speed(near[1])
        return UNCOMPENSATED if true_m_s is None else Derived(sound.range_m(value, self._assumed_m_s, true_m_s))

    @cached_property
    def _assumed_m_s(self) -> float:
        if self.level.assumed_air_c is not None:
            return sound.in_air_m_s(self.level.assumed_air_c)
        assert self.level.assumed_sound_m_s is not None  # the step is made for one of the two
        return self.level.assumed_sound_m_s

    def _speed(self, temperature_c: float) -> float | None:
        if self.level.assumed_air_c is not None:
            return sound.in_air_m_s(temperature_c)
        low, high = sound.WATER_RANGE_C
        return sound.in_water_m_s(temperature_c) if low <= temperature_c <= high else None

    def source(self, time_us: int) -> str:
        near = self.beside.nearest(time_us)
        assumed = f"the sensor assumes {self._assumed_m_s:.2f} m/s"
        if near is None:
            return f"{assumed}; {self.beside.read_at(near)}"
        speed = self._speed(near[1])
        there = "outside the relation" if speed is None else f"{speed:.2f} m/s"
        return f"{assumed}; {there} at {near[1]:g} °C ({self.beside.read_at(near)})"


@dataclass(frozen=True)
class WaterAbove:
    """Depth of water over an unvented transducer."""

    level: Level
    beside: Beside
    unit: str = "m"
    name: str = "compensation"

    def apply(self, time_us: int, value: float) -> Derived:
        near = self.beside.nearest(time_us)
        if near is None:
            return UNCOMPENSATED
        return Derived(pressure_level.water_above_m(value, near[1], self.level.density_kg_m3))

    def source(self, time_us: int) -> str:
        near = self.beside.nearest(time_us)
        if near is None:
            return self.beside.read_at(near)
        air = f"air {near[1]:g} Pa ({self.beside.read_at(near)})"
        return f"(p - air) / (rho g), {air}, rho {self.level.density_kg_m3:g} kg/m³"


@dataclass(frozen=True)
class Height:
    """Height of what the sensor sees above the site's zero."""

    level: Level
    unit: str = "m"
    name: str = "height"

    def apply(self, time_us: int, value: float) -> Derived:  # noqa: ARG002
        return Derived(self.level.zero - value if self.level.method == "range_down" else value - self.level.zero)

    def source(self, time_us: int) -> str:  # noqa: ARG002
        zero = f"{self.level.zero:g} m"
        how = f"{zero} less the reading" if self.level.method == "range_down" else f"the reading less {zero}"
        return f"{how}; registry, from {self.level.valid_from}"


@dataclass(frozen=True)
class Corrected:
    """Shifts that persons found; those in force add up."""

    corrections: tuple[Correction, ...]
    unit: str = "m"
    name: str = "correction"

    def apply(self, time_us: int, value: float) -> Derived:  # noqa: ARG002
        return Derived(value + sum(each.add for each in self.corrections))

    def source(self, time_us: int) -> str:  # noqa: ARG002
        return "; ".join(
            f"{each.add * 1000:+g} mm from {each.valid_from} by {each.by}: {each.reason}" for each in self.corrections
        )


@dataclass(frozen=True)
class Rated:
    """Flow at a stage. `beside`: the stage behind the control, or the water's velocity, where the rating takes it."""

    rating: Rating
    beside: Beside | None = None
    unit: str = "m3/s"
    name: str = "rating"

    def apply(self, time_us: int, value: float) -> Derived:
        near = None
        if self.beside is not None:
            near = self.beside.nearest(time_us)
            if near is None:  # submergence that cannot be looked at is not ruled out
                return UNCOMPENSATED
        return _FLOWS[self.rating.method](self.rating, value, None if near is None else near[1])

    def source(self, time_us: int) -> str:
        parts = [_RATED_BY[self.rating.method](self.rating), f"registry, from {self.rating.valid_from}"]
        if self.beside is not None:
            near = self.beside.nearest(time_us)
            there = f"{self.beside.name} {near[1]:.4g}" if near else self.beside.read_at(near)
            parts.insert(1, there)
        return "; ".join(parts)


@dataclass(frozen=True)
class Cleared:
    """From the end of the outlet baffle to a layer of a septic tank, below 0 where the layer has passed it."""

    tank: Tank
    layer: Literal["scum", "sludge"]
    unit: str = "m"
    name: str = "clearance"

    def apply(self, time_us: int, value: float) -> Derived:  # noqa: ARG002
        tank = self.tank.depths
        if self.layer == "scum":
            if -value > tank.floor_m:  # below the floor
                return Derived(None, "below_range", tank.baffle_m - tank.floor_m)
            return Derived(scum_clearance_m(tank, -value))
        if value < 0:  # a layer cannot be thinner than nothing
            return Derived(None, "above_range", sludge_clearance_m(tank, 0))
        if value > tank.floor_m:
            return Derived(None, "below_range", sludge_clearance_m(tank, tank.floor_m))
        return Derived(sludge_clearance_m(tank, value))

    def source(self, time_us: int) -> str:  # noqa: ARG002
        ends = f"the baffle ends {self.tank.baffle:.4g} m below the invert"
        if self.layer == "sludge":
            ends += f", the floor lies {self.tank.floor:.4g} m below it"
        return f"{ends}; registry, from {self.tank.valid_from}; an indication, which establishes nothing"


@dataclass(frozen=True)
class Lost:
    """How much of a basin's design capacity sediment takes, by volume or by depth."""

    basin: Basin
    by: Literal["volume", "depth"]
    unit: str = "%"
    name: str = "capacity lost"

    def apply(self, time_us: int, value: float) -> Derived:  # noqa: ARG002
        if self.by == "volume":
            return volume_lost_percent(self.basin.table, value, self.basin.design_volume)
        return depth_lost_percent(value, self.basin.design_depth)

    def source(self, time_us: int) -> str:  # noqa: ARG002
        of = f"{self.basin.design_volume:.4g} m³" if self.by == "volume" else f"{self.basin.design_depth:.4g} m"
        return f"{self.by} of {of} by the approved plan; registry, from {self.basin.valid_from}"


@dataclass(frozen=True)
class NotSetUp:
    """A value for which the registry has no way at that time."""

    what: str
    unit: str = ""
    name: str = "registry"

    def apply(self, time_us: int, value: float) -> Derived:  # noqa: ARG002
        return Derived(None, "not_set_up")

    def source(self, time_us: int) -> str:  # noqa: ARG002
        return f"no {self.what} of this site is in force then"


def _rectangular(rating: Rectangular, stage_m: float, tailwater_m: float | None) -> Derived:
    contracted = rating.ends == "contracted"
    return weir.rectangular_m3_s(stage_m, rating.length, contracted=contracted, tailwater_m=tailwater_m)


#: rating by method → flow at a stage (m), with the second stage or the velocity beside it
_FLOWS: Final[dict[str, Callable[[Any, float, Any], Derived]]] = {
    "v_notch": lambda r, stage_m, second_m: weir.v_notch_m3_s(stage_m, r.angle_deg, second_m),
    "rectangular": _rectangular,
    "cipolletti": lambda r, stage_m, second_m: weir.cipolletti_m3_s(stage_m, r.length, second_m),
    "parshall": lambda r, stage_m, second_m: flume.parshall_m3_s(stage_m, r.throat, second_m),
    "manning": lambda r, stage_m, _: pipe.manning_m3_s(stage_m, r.diameter, r.slope, r.n),
    "area_velocity": lambda r, stage_m, m_s: pipe.area_velocity_m3_s(stage_m, r.diameter, m_s),
    "table": lambda r, stage_m, _: r.table.flow_m3_s(stage_m),
}
#: rating by method → the role of what is measured beside the stage
BESIDE_OF: Final[dict[str, Role]] = {
    **dict.fromkeys(("v_notch", "rectangular", "cipolletti", "parshall"), "second_stage"),
    "area_velocity": "velocity",
}
#: rating by method → formula and source in words
_RATED_BY: Final[dict[str, Callable[..., str]]] = {
    "v_notch": lambda r: f"V-notch of {r.angle_deg:g}°, Kindsvater-Shen, USBR Water Measurement Manual 7.7",
    "rectangular": lambda r: f"rectangular weir of {r.length:.4g} m, ends {r.ends}, Francis, USBR manual 7.10",
    "cipolletti": lambda r: f"Cipolletti weir of {r.length:.4g} m, USBR manual 7.11",
    "parshall": lambda r: f"Parshall flume of {r.throat}, USBR manual table 8-9",
    "manning": lambda r: f"pipe of {r.diameter:.4g} m, slope {r.slope:g}, n {r.n:g}, Manning (Chow 1959)",
    "area_velocity": lambda r: f"velocity x wetted area in a pipe of {r.diameter:.4g} m (Chow 1959)",
    "table": lambda r: f"owner's rating of {len(r.points)} points, on logarithms above {r.offset:g} m (USGS TM 3-A8)",
}
