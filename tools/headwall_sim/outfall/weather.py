"""A year of weather: rain, snow and its melt, air temperature, and what an unheated gauge makes of it.

Storms: in the Northeast some 70 a year of more than 0.1 in, 0.5 in deep on average (E. D. Driscoll and others,
Analysis of Storm Event Characteristics, EPA 1989; both numbers from memory), here about 1,000 mm a year with the small
ones, as at Albany. Those of summer last some 3 h, those of winter a day in three bands of 7 h (abstract of Preliminary
calculations of average storm duration and seasonal precipitation rates for the northeast sector of the United States).
A design storm has one shape for all, so each storm here has bands of its own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import cos, exp, pi

from headwall_sim.outfall.steps import DAY, HOUR, STEP_US, STEPS, local, spread, time_us

TIP_MM = 0.254
_MELT_MM = 3.0  # for each °C above 0 and day: within the 1.6 to 6 of the degree-day method (NRCS, NEH 630, chapter 11)


@dataclass(frozen=True)
class Weather:
    """Each step's liquid rain, snow (as water) and water from melting snow in mm, its air temperature in °C; tips."""

    rain: list[float]
    snow: list[float]
    melt: list[float]
    air: list[float]
    tips: list[int]


def draw_weather(seed: int) -> Weather:
    chance = random.Random(f"weather {seed}")
    air = _air(chance)
    rain, snow = [0.0] * STEPS, [0.0] * STEPS
    for step, depth in _precipitation(chance).items():
        (rain if air[step] > 0.5 else snow)[step] = depth
    return Weather(rain, snow, _melt(snow, air), air, _tips(chance, rain, snow, air))


def _air(chance: random.Random) -> list[float]:
    """Seasons from -1 to 24 °C (Westchester), warm and cold spells of some days, days warmest at 15:00."""
    spells = [chance.gauss(0, 4)]
    for _ in range(366):
        spells.append(0.75 * spells[-1] + chance.gauss(0, 2.8))
    swings = [chance.uniform(2, 7) for _ in range(366)]
    found = []
    for step, hour in enumerate(local().hours):
        day, part = divmod(step, DAY)
        season = 11.5 - 12.5 * cos(2 * pi * (step / DAY - 20) / 365)
        spell = spells[day] + (spells[day + 1] - spells[day]) * part / DAY
        found.append(season + spell + swings[day] * cos(2 * pi * (hour - 15) / 24))
    return found


def _precipitation(chance: random.Random) -> dict[int, float]:
    """Depth in mm by step, of storms one after the other."""
    fallen: dict[int, float] = {}
    step = round(chance.expovariate(1 / (70 * HOUR)))
    while step < STEPS:
        summer = 0.5 - 0.5 * cos(2 * pi * (step / DAY - 20) / 365)  # 0 in January, 1 in July
        usual = 13 - 10 * summer
        hours = min(spread(chance, 0.5, 4) + chance.expovariate(1 / usual), 48)
        steps = max(round(hours * HOUR), 6)
        # 10 mm on average, one of three below 0.1 in; long storms bring more, and winter knows no cloudburst
        depth = chance.weibullvariate(8.8, 0.75) * (hours / (usual + 1.7)) ** 0.5
        depth = min(depth, hours * (4 + 26 * summer))
        bands = 1 + round(hours / 7 + chance.random())
        for at, part in _hyetograph(chance, steps, bands):
            if step + at < STEPS:
                fallen[step + at] = min(depth * part, 1.2 + 5 * summer)  # 74 mm in an hour of July at the very most
        step += steps + round(6 * HOUR + chance.expovariate(1 / (68 * HOUR)))
    return fallen


def _hyetograph(chance: random.Random, steps: int, bands: int) -> list[tuple[int, float]]:
    """Shares of a storm by step: bands that come and go, gusts within them."""
    shapes = [
        (chance.uniform(0, steps), max(steps * chance.uniform(0.08, 0.3), 2), chance.gammavariate(1.0, 1.0) + 0.1)
        for _ in range(bands)
    ]
    parts = []
    for at in range(steps):
        strength = sum(weight * max(1 - abs(at - middle) / width, 0) for middle, width, weight in shapes)
        parts.append(strength * chance.gammavariate(1.5, 1 / 1.5))
    whole = sum(parts) or 1.0
    return [(at, part / whole) for at, part in enumerate(parts) if part > 0]


def _melt(snow: list[float], air: list[float]) -> list[float]:
    pack = 0.0
    melt = []
    for fallen, degrees in zip(snow, air, strict=True):
        pack += fallen
        water = min(pack, max(degrees, 0) * _MELT_MM / DAY)
        pack -= water
        melt.append(water)
    return melt


def _tips(chance: random.Random, rain: list[float], snow: list[float], air: list[float]) -> list[int]:
    """Tips of an unheated gauge: its funnel keeps up to some millimetres of snow, which tip it when they melt."""
    catch = chance.uniform(0.93, 1.0)
    room = chance.uniform(3, 15)
    bucket, funnel = 0.5 * TIP_MM, 0.0
    tips: list[int] = []
    for step, (fallen, flakes, degrees) in enumerate(zip(rain, snow, air, strict=True)):
        if fallen == flakes == funnel == 0:
            continue
        funnel = min(funnel + flakes, room)
        water = min(funnel, max(degrees, 0) * 4 * _MELT_MM / DAY)  # metal in the sun
        funnel = 0.0 if funnel - water < 1e-9 else funnel - water
        bucket += fallen * catch + water
        count = int(bucket / TIP_MM)
        bucket -= count * TIP_MM
        tips += [time_us(step) + STEP_US * (2 * number + 1) // (2 * count) for number in range(count)]
    return tips


def fading(steps: float) -> float:
    """What is left of 1 after one step, for a time constant in steps."""
    return exp(-1 / steps)
