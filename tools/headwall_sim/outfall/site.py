"""What one outfall is like: its catchment, its ground water, its waters and the instruments in it, drawn from a seed.

The ranges are wide on purpose, so that no single number tells the kinds of water apart. Conductivities in µS/cm and
turbidities in NTU lie around the mean values of the source waters of Birmingham and Tuscaloosa (R. Pitt and M. Lalor;
Center for Watershed Protection and R. Pitt, Illicit Discharge Detection and Elimination, 2004, appendix E: tap about
110, spring 300, sewage 420, car wash 485, laundry 560, irrigation 105; from memory, not read again). They are spread
further here, because the tap water of New York lies anywhere between that of the Catskill reservoirs (about 100) and
that of wells (600).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from headwall_sim.outfall.steps import spread

Meter = Literal["weir", "area_velocity"]


@dataclass(frozen=True)
class Quality:
    """A water without its temperature: conductivity in µS/cm, turbidity in NTU."""

    conductivity: float
    turbidity: float


@dataclass(frozen=True)
class Tide:
    """A semidiurnal tide before the outfall: levels in metres above its invert.

    Attributes:
        stored_m2: water surface in the pipe, which a rising tide fills and a falling one empties.
    """

    mean_m: float
    amplitude_m: float
    phase: float
    stored_m2: float
    sea: Quality


@dataclass(frozen=True)
class Catchment:
    """Where the water of storms comes from; times in steps, shares of 1.

    Attributes:
        runoff_share: of rain above `loss_mm` that runs off.
        fast: time constant of what comes off pavement.
        slow_share: part of the runoff that drains slowly, with the time constant `slow`.
        ground_share: part of all rain that feeds the ground water flow, with the time constant `ground`.
    """

    area_m2: float
    runoff_share: float
    loss_mm: float
    fast: float
    slow_share: float
    slow: float
    ground_share: float
    ground: float


@dataclass(frozen=True)
class Instruments:
    """What is in the pipe and how good it is; flows in l/s.

    Attributes:
        low: a weir's or meter's lower limit: below it there is no flow reading, only the word that it is below.
        high: its upper limit.
        noise, noise_share: standard deviation of a flow reading, in l/s and as a share of the flow.
    """

    meter: Meter
    low: float
    high: float
    noise: float
    noise_share: float
    resolution: float
    conductivity: bool
    turbidity: bool


@dataclass(frozen=True)
class Outfall:
    """See the module's docstring; flows in l/s.

    Attributes:
        base: mean ground water flow over the year, 0 in a pipe that is dry between storms.
        season: how far ground water follows the season (greatest in April), share of 1.
        thirst: how far it falls on summer afternoons, when trees drink, share of 1.
    """

    catchment: Catchment
    base: float
    season: float
    thirst: float
    ground_c: float
    ground_swing_c: float
    ground: Quality
    runoff: Quality
    tap: Quality
    tide: Tide | None
    instruments: Instruments


def draw_outfall(seed: int) -> Outfall:
    chance = random.Random(f"outfall {seed}")
    # no outfall pipe drains less than a street or more than a small quarter of a village
    impervious = chance.uniform(0.2, 0.65)
    catchment = Catchment(
        area_m2=spread(chance, 15_000, 400_000),
        runoff_share=0.05 + 0.8 * impervious,
        loss_mm=chance.uniform(0.8, 3.0),
        fast=spread(chance, 3, 15),
        slow_share=chance.uniform(0.03, 0.15),
        slow=spread(chance, 3 * 12, 20 * 12),
        ground_share=chance.uniform(0.02, 0.08),
        ground=spread(chance, 5 * 288, 20 * 288),
    )
    tidal = chance.random() < 0.2
    dry = chance.random() < 0.3
    tap = Quality(spread(chance, 90, 600), chance.uniform(0.2, 1.5))
    return Outfall(
        catchment=catchment,
        base=0.0 if dry else spread(chance, 0.2, 6.0),
        season=chance.uniform(0.15, 0.5),
        thirst=chance.uniform(0.0, 0.08),
        ground_c=chance.uniform(10.5, 12.0),
        ground_swing_c=chance.uniform(0.5, 3.5),
        # urban ground water keeps the salt of winters (NOAA repository 59626: 12 of 12 urban streams above background)
        ground=Quality(spread(chance, 250, 1100), spread(chance, 0.8, 8)),
        runoff=Quality(spread(chance, 40, 150), spread(chance, 15, 120)),
        tap=tap,
        tide=_draw_tide(chance) if tidal else None,
        instruments=_draw_instruments(chance, tidal),
    )


def _draw_tide(chance: random.Random) -> Tide:
    amplitude = chance.uniform(0.5, 1.1)  # mean ranges of New York Harbor and the Sound: 1.4 to 2.2 m
    return Tide(
        mean_m=-amplitude * chance.uniform(0.2, 0.8),
        amplitude_m=amplitude,
        phase=chance.uniform(0, 1),
        stored_m2=spread(chance, 20, 200),
        sea=Quality(chance.uniform(5_000, 30_000), chance.uniform(3, 15)),
    )


def _draw_instruments(chance: random.Random, tidal: bool) -> Instruments:
    weir = not tidal and chance.random() < 0.6
    return Instruments(
        meter="weir" if weir else "area_velocity",
        # heads of 0.06 m: a 90 degree notch 1.3 l/s, one of 25 degrees 0.3; a meter needs 15 to 25 mm of water
        low=0.0 if tidal else spread(chance, 0.15, 1.3) if weir else spread(chance, 0.1, 0.4),
        high=spread(chance, 120, 500) if weir else spread(chance, 400, 2000),
        noise=spread(chance, 0.01, 0.05) if weir else spread(chance, 0.03, 0.15),
        noise_share=chance.uniform(0.01, 0.03) if weir else chance.uniform(0.02, 0.05),
        resolution=0.01 if weir else 0.05,
        conductivity=chance.random() < 0.75,
        turbidity=chance.random() < 0.7,
    )
