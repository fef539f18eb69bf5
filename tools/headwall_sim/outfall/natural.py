"""What flows without anybody's doing: ground water, storm runoff with its recession, snow melt, the tide's level."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from math import cos, pi

from headwall_sim.outfall.mix import Mix
from headwall_sim.outfall.site import Outfall, Tide
from headwall_sim.outfall.steps import DAY, STEP_S, STEPS, local
from headwall_sim.outfall.weather import Weather, fading

_TIDE_DAYS = 12.4206 / 24
_NEAPS_DAYS = 14.765


@dataclass(frozen=True)
class Natural:
    """l/s of each step: ground water, runoff of rain and melt, the part of that which is melt."""

    ground: list[float]
    runoff: list[float]
    melt: list[float]


def flow_naturally(outfall: Outfall, weather: Weather, mix: Mix) -> Natural:
    ground = _ground(outfall, weather)
    rain, melt, washed = _runoff(outfall, weather)
    _add_ground(outfall, ground, mix)
    _add_runoff(outfall, weather, [a + b for a, b in zip(rain, melt, strict=True)], washed, mix)
    return Natural(ground, [a + b for a, b in zip(rain, melt, strict=True)], melt)


def _ground(outfall: Outfall, weather: Weather) -> list[float]:
    """A flow that follows the season and, for days to weeks, the rain; none in a pipe above the water table."""
    if outfall.base == 0:
        return [0.0] * STEPS
    catchment = outfall.catchment
    keep = fading(catchment.ground)
    raised = 0.0
    found = []
    hours = local().hours
    for step in range(STEPS):
        fed = (weather.rain[step] + weather.melt[step]) * catchment.ground_share * catchment.area_m2 / STEP_S
        raised = raised * keep + fed * (1 - keep)
        day = step / DAY
        season = 1 + outfall.season * cos(2 * pi * (day - 100) / 365)
        summer = max(-cos(2 * pi * (day - 20) / 365), 0)
        drunk = outfall.thirst * summer * max(cos(2 * pi * (hours[step] - 16) / 24), 0)
        # the catchment's rain may not make a trickle a river: what it raises is bounded by what is there
        found.append((outfall.base * season + min(raised, outfall.base)) * (1 - drunk))
    return found


def _runoff(outfall: Outfall, weather: Weather) -> tuple[list[float], list[float], list[float]]:
    """Runoff of rain and of melt in l/s, and the millimetres that run over the pavement in each step.

    Each runs through a fast and a slow linear reservoir. The first millimetres of a storm wet the ground; sun and
    wind dry it in the days after.
    """
    catchment = outfall.catchment
    keep_fast, keep_slow, dry = fading(catchment.fast), fading(catchment.slow), catchment.loss_mm / (1.5 * DAY)
    litres = catchment.area_m2 / STEP_S  # l/s of 1 mm in a step
    room = catchment.loss_mm
    stores = [[0.0, 0.0], [0.0, 0.0]]  # fast and slow, of rain and of melt
    found: tuple[list[float], list[float]] = ([], [])
    washed = []
    for rain, melt in zip(weather.rain, weather.melt, strict=True):
        both = rain + melt
        wetted = min(both, room)
        room = min(room - wetted + (dry if both == 0 else 0), catchment.loss_mm)
        ran = (both - wetted) * catchment.runoff_share
        washed.append(both - wetted)
        for part, (store, flow) in zip((rain, melt), zip(stores, found, strict=True), strict=True):
            into = ran * part / both * litres if both else 0.0
            store[0] = store[0] * keep_fast + into * (1 - catchment.slow_share) * (1 - keep_fast)
            store[1] = store[1] * keep_slow + into * catchment.slow_share * (1 - keep_slow)
            flow.append(store[0] + store[1] if store[0] + store[1] > 1e-4 else 0.0)
    return *found, washed


def _add_ground(outfall: Outfall, ground: list[float], mix: Mix) -> None:
    """Shallow ground water: warmest in September; saltiest at the end of winter."""
    for step, flow in enumerate(ground):
        if flow > 0:
            day = step / DAY
            celsius = outfall.ground_c + outfall.ground_swing_c * cos(2 * pi * (day - 250) / 365)
            salt = 1 + 0.12 * cos(2 * pi * (day - 80) / 365)
            mix.add(step, flow, celsius, outfall.ground.conductivity * salt, outfall.ground.turbidity)


def _add_runoff(outfall: Outfall, weather: Weather, runoff: list[float], washed: list[float], mix: Mix) -> None:
    """Runoff: as warm as the air of its hour, dirtiest at first, and salty where roads were salted.

    Chloride in water of storm drains at Ithaca peaked at 25 g/l and was 0.6 g/l after the storms of summer (Cornell
    Soil and Water Lab, 2014): a salted road's first melt is far saltier than sewage, and the salt is gone after some
    millimetres of rain.
    """
    salt, dirt, lost = 0.0, 1.0, fading(30 * DAY)
    air = weather.air[0]
    for step, flow in enumerate(runoff):
        snow = weather.snow[step]
        salt *= lost  # what traffic and wind carry off
        if snow > 0:
            salt = min(salt + 1_500 * snow, 12_000)
        air += (weather.air[step] - air) / 12
        dirt = min(dirt + 1 / (5 * DAY), 1.0)  # five dry days make the street as dirty as it gets
        if washed[step] > 0:
            salt *= fading(8 / washed[step])
            dirt *= fading(6 / washed[step])
        if flow > 0:
            pavement = 3.0 if air > 15 else 0.0  # a hot street warms the water, the pipe's wall tempers it
            strength = 0.3 + 2.0 * dirt + min(washed[step] * 3, 3)
            mix.add(
                step,
                flow,
                max(0.75 * air + 2 + pavement, 0.5),
                outfall.runoff.conductivity * (0.7 + 0.6 * dirt) + salt,
                outfall.runoff.turbidity * strength,
            )


def tide_levels(tide: Tide, seed: int) -> list[float]:
    """Level before the outfall in metres above its invert, springs and neaps and some days of wind in it."""
    chance = random.Random(f"tide {seed}")
    surge = 0.0
    found = []
    for step in range(STEPS):
        day = step / DAY
        surge = 0.999 * surge + chance.gauss(0, 0.006)
        springs = 1 + 0.18 * cos(2 * pi * day / _NEAPS_DAYS)
        found.append(tide.mean_m + surge + tide.amplitude_m * springs * cos(2 * pi * (day / _TIDE_DAYS + tide.phase)))
    return found


def stored_by_tide(tide: Tide, levels: list[float]) -> list[float]:
    """l/s that the tide takes into the pipe (above 0) or gives back, while it stands above the invert."""
    found = [0.0]
    for before, level in pairwise(levels):
        rise = max(level, 0) - max(before, 0)
        filled = min(max(level, before, 0) / 0.3, 1)
        found.append(tide.stored_m2 * filled * rise * 1000 / STEP_S)
    return found
