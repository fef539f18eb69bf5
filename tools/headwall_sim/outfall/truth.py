"""A synthetic outfall year: what a rule may see of it (Inputs), and what only the score may (Truth)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Class = Literal[
    "sewage",
    "wash_water",
    "unapproved_flushing",
    "dewatering",
    "approved_flushing",
    "approved_dewatering",
    "irrigation",
    "melt",
    "debris",
]
State = Literal["dry", "wet", "recession", "base_flow", "suspected_discharge"]
Series = list[tuple[int, float | None]]
Span = tuple[int, int]

#: what a rule has to find
SUSPECT_CLASSES: Final[tuple[Class, ...]] = ("sewage", "wash_water", "unapproved_flushing", "dewatering")


@dataclass(frozen=True)
class Approval:
    """The municipality lets somebody discharge from one instant to another."""

    kind: Literal["flushing", "dewatering"]
    start_us: int
    end_us: int


@dataclass(frozen=True)
class Episode:
    """What happened at the outfall itself, from one instant to another.

    Attributes:
        illicit: to be suspected.
        approved: the municipality had allowed it for this time.
        exempt: most codes allow it without asking.
    """

    kind: Class
    start_us: int
    end_us: int
    illicit: bool = False
    approved: bool = False
    exempt: bool = False


@dataclass(frozen=True)
class Inputs:
    """What the gateway knows of an outfall; instants in µs, the series on one grid of five minutes.

    A reading that failed, or is out of the meter's range, or was never taken in an outage, is None.

    Attributes:
        conductivity, turbidity: None for an outfall without that sensor.
        tailwater: level before a tidal outfall, metres above its invert; None at others.
        air: temperature of the gateway's own station, hourly.
        below_range, above_range: spans [first, last] in which the flow meter said so.
        tips: instants of the tips of the site's gauge, `tip_mm` each.
    """

    flow_m3_s: Series
    temperature_c: Series
    conductivity_s_m: Series | None
    turbidity_ntu: Series | None
    tailwater_m: Series | None
    air_c: Series
    tips: list[int]
    tip_mm: float
    below_range: list[Span]
    above_range: list[Span]
    range_m3_s: tuple[float, float]
    approvals: list[Approval]

    @property
    def tidal(self) -> bool:
        return self.tailwater_m is not None


@dataclass(frozen=True)
class Truth:
    """Never for a rule. Lists hold one value a step; episodes of different suspect classes never overlap.

    Attributes:
        states: of the natural flow (ground water or none, storm or its tail), but a suspected discharge where an
            illicit one flows outside of a storm and its recession. Approved and exempt flows change no state.
        flow_m3_s: what a perfect meter shows, tide included.
        illicit_m3_s: the part of illicit discharges.
        noise_m3_s: standard deviation of the meter's reading.
        water_mm: rain and melt that reached the ground.
    """

    episodes: list[Episode]
    states: list[State]
    flow_m3_s: list[float]
    illicit_m3_s: list[float]
    noise_m3_s: list[float]
    water_mm: list[float]


@dataclass(frozen=True)
class OutfallYear:
    seed: int
    inputs: Inputs
    truth: Truth
