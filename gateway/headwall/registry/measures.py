"""How what sensors read becomes a stage, a flow, a tank's depths: the dated geometry of a site (registry.toml).

Lengths, volumes and flows are texts with their unit ("48 in", "0.312 m", "10 gal"); inside they are SI.
What is wrong with a weir's angle or a table's points is said when the registry is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from headwall.errors import InputError
from headwall.hydrology.flume import PARSHALL
from headwall.hydrology.rating import RatingTable
from headwall.hydrology.sediment import StageVolume
from headwall.hydrology.septic import Tank as TankDepths
from headwall.hydrology.weir import V_NOTCH_ANGLES
from headwall.registry.dated import MOST_MIN, Dated, Said
from headwall.units import parse_quantity

#: what a sensor of a site measures there: stage above a control and the stage behind it, the air for compensation, the
#: water's state; in a tank the underside of the scum, the top of the sludge, the liquid; the sediment of a basin
Role = Literal[
    "stage",
    "second_stage",
    "velocity",
    "flow",
    "meter",
    "air_temperature",
    "air_pressure",
    "water_temperature",
    "conductivity",
    "turbidity",
    "upstream_turbidity",
    "scum",
    "sludge",
    "liquid",
    "sediment",
]

#: quantities of the wire contract that a role can have
QUANTITIES_OF: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("stage", "second_stage", "liquid"), ("level", "distance", "pressure")),
    **dict.fromkeys(("scum", "sludge", "sediment"), ("level", "distance")),
    "velocity": ("velocity",),
    "flow": ("flow",),
    "meter": ("pulses",),
    "air_temperature": ("temperature",),
    "air_pressure": ("pressure",),
    "water_temperature": ("temperature",),
    "conductivity": ("conductivity",),
    "turbidity": ("turbidity",),
    "upstream_turbidity": ("turbidity",),
}
#: role of the sensor without which a rating gives nothing; "stage" for those not named
NEEDED_BY: Final[dict[str, str]] = {"area_velocity": "velocity", "flow_meter": "flow", "pulse_meter": "meter"}

_T = TypeVar("_T")


def _in(base: str) -> Callable[[Any], Any]:
    def parsed(value: Any) -> Any:
        try:
            return float(parse_quantity(value, base))
        except InputError as error:
            raise ValueError(str(error)) from None

    return parsed


LengthM = Annotated[float, BeforeValidator(_in("m"))]
SizeM = Annotated[LengthM, Field(gt=0)]
VolumeM3 = Annotated[float, BeforeValidator(_in("m3"))]
SizeM3 = Annotated[VolumeM3, Field(gt=0)]
FlowM3S = Annotated[float, BeforeValidator(_in("m3/s"))]


class Level(Dated):
    """How a sensor's reading becomes the height of what it sees above the site's zero.

    The zero is the crest of a weir, the vertex of a notch, a pipe's invert; for liquid and scum of a tank its outlet
    invert, for sludge and sediment the floor. `zero` is what the sensor reads when the surface stands there: so the
    height is the reading less `zero`, or `zero` less the reading for a sensor that looks down.

    Attributes:
        method: level (m), range_down or range_up (distance, m), pressure (Pa of an unvented transducer: needs a sensor
            with the role air_pressure).
        density_kg_m3: of the water, for pressure; 999.1 is fresh water at 15 °C.
        assumed_air_c: the air temperature for which a range is computed that does not correct itself; it is set right
            with the sensor whose role is air_temperature. Without it the sensor corrects itself.
        assumed_sound_m_s: the same in water, with the sensor whose role is water_temperature.
    """

    of: Role
    method: Literal["level", "range_down", "range_up", "pressure"]
    zero: LengthM = 0.0
    density_kg_m3: float = Field(default=999.1, gt=900, lt=1100)
    assumed_air_c: float | None = Field(default=None, ge=-40, le=60)
    assumed_sound_m_s: float | None = Field(default=None, ge=1300, le=1600)

    @model_validator(mode="after")
    def _fits(self) -> Level:
        ranged = self.method in ("range_down", "range_up")
        if not ranged and (self.assumed_air_c is not None or self.assumed_sound_m_s is not None):
            raise ValueError("assumed_air_c and assumed_sound_m_s belong to a range")
        if self.assumed_air_c is not None and self.assumed_sound_m_s is not None:
            raise ValueError("a range goes through air or through water: give one of the two")
        return self


class Correction(Dated):
    """A shift of a sensor's height that a person found, as of a staff gauge; those in force add up."""

    of: Role
    add: LengthM
    by: Said
    reason: Said


class VNotch(Dated):
    """Kindsvater-Shen; a second stage is the tailwater above the vertex."""

    method: Literal["v_notch"]
    angle_deg: float = Field(ge=V_NOTCH_ANGLES[0], le=V_NOTCH_ANGLES[1])


class Rectangular(Dated):
    """Francis, both ends contracted or both suppressed."""

    method: Literal["rectangular"]
    length: SizeM
    ends: Literal["contracted", "suppressed"]


class Cipolletti(Dated):
    """A trapezoid with sides of 1 to 4; `length` of its crest."""

    method: Literal["cipolletti"]
    length: SizeM


class Parshall(Dated):
    """By throat, such as "1 ft"; a second stage is the head in the throat."""

    method: Literal["parshall"]
    throat: str

    @model_validator(mode="after")
    def _known(self) -> Parshall:
        if self.throat not in PARSHALL:
            raise ValueError(f"no Parshall flume of {self.throat!r}; known throats: {', '.join(PARSHALL)}")
        return self


class Manning(Dated):
    """A circular pipe in uniform flow, by the depth in it."""

    method: Literal["manning"]
    diameter: SizeM
    slope: float = Field(gt=0, lt=1)
    n: float = Field(gt=0, lt=1)


class AreaVelocity(Dated):
    """A circular pipe with a sensor of mean velocity (role velocity)."""

    method: Literal["area_velocity"]
    diameter: SizeM


class Table(Dated):
    """The owner's rating: points of stage and flow, interpolated on logarithms above the stage of zero flow."""

    method: Literal["table"]
    points: list[tuple[LengthM, FlowM3S]]
    offset: LengthM = 0.0

    @model_validator(mode="after")
    def _rises(self) -> Table:
        _ = self.table
        return self

    @cached_property
    def table(self) -> RatingTable:
        return _checked(lambda: RatingTable(self.points, self.offset))


class FlowMeter(Dated):
    """An instrument that gives the flow itself (role flow)."""

    method: Literal["flow_meter"]


class PulseMeter(Dated):
    """A meter that counts (role meter): so much passes with each pulse."""

    method: Literal["pulse_meter"]
    pulse: SizeM3


Rating = Annotated[
    VNotch | Rectangular | Cipolletti | Parshall | Manning | AreaVelocity | Table | FlowMeter | PulseMeter,
    Field(discriminator="method"),
]


class Tank(Dated):
    """A septic tank by depths below its outlet invert.

    Attributes:
        floor: depth of the floor; baffle: of the lower end of the outlet baffle.
        tolerance: liquid so far above the invert is normal flow (half an inch: Headwall's own, no code gives a number).
        dwell_min: it must stand above for so long (Headwall's own too); 0 tells each reading.
    """

    floor: SizeM
    baffle: SizeM
    tolerance: Annotated[LengthM, Field(ge=0)] = 0.0127
    dwell_min: int = Field(default=120, ge=0, le=MOST_MIN)

    @model_validator(mode="after")
    def _stands(self) -> Tank:
        _ = self.depths
        return self

    @cached_property
    def depths(self) -> TankDepths:
        return _checked(lambda: TankDepths(self.floor, self.baffle))


class Basin(Dated):
    """A sediment basin: volume below each level above its floor, and its capacity by the approved plan."""

    stage_volume: list[tuple[LengthM, VolumeM3]]
    design_volume: SizeM3
    design_depth: SizeM

    @model_validator(mode="after")
    def _rises(self) -> Basin:
        _ = self.table
        return self

    @cached_property
    def table(self) -> StageVolume:
        return _checked(lambda: StageVolume(self.stage_volume))


class DesignFlow(Dated):
    """The most that may leave a stormwater practice by its design, as its approved plan has it.

    Attributes:
        reference: the plan.
        dwell_min: it must be exceeded for so long (Headwall's own); 0 tells each reading.
    """

    flow: Annotated[FlowM3S, Field(gt=0)]
    reference: Said
    dwell_min: int = Field(default=15, ge=0, le=MOST_MIN)


def _checked(make: Callable[[], _T]) -> _T:
    try:
        return make()
    except InputError as error:
        raise ValueError(str(error)) from None
