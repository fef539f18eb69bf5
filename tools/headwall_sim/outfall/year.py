"""Makes a year of an outfall, with its truth, from a seed: the same seed, the same year."""

from __future__ import annotations

import random
from typing import Final

from headwall_sim.outfall.discharges import Discharges, discharge
from headwall_sim.outfall.mix import Mix
from headwall_sim.outfall.natural import Natural, flow_naturally, stored_by_tide, tide_levels
from headwall_sim.outfall.sensors import Values, draw_debris, draw_outages, fouling, measure, measure_flow
from headwall_sim.outfall.site import Outfall, draw_outfall
from headwall_sim.outfall.steps import DAY, HOUR, STEPS, spans, time_us, where
from headwall_sim.outfall.truth import Episode, Inputs, OutfallYear, Series, Span, State, Truth
from headwall_sim.outfall.weather import TIP_MM, Weather, draw_weather

_WET_L_S: Final = 0.02  # less is a wet pipe, no flow


def outfall_year(seed: int) -> OutfallYear:
    outfall, weather, mix = draw_outfall(seed), draw_weather(seed), Mix()
    natural = flow_naturally(outfall, weather, mix)
    done = discharge(outfall, seed, weather.air, mix)
    levels = tide_levels(outfall.tide, seed) if outfall.tide else None
    meter = list(mix.flow)
    if outfall.tide and levels:
        stored = stored_by_tide(outfall.tide, levels)
        meter = [flow - into for flow, into in zip(meter, stored, strict=True)]
    waters = _waters(outfall, mix, levels, weather.air)
    chance = random.Random(f"sensors {seed}")
    fallen = [rain + melt for rain, melt in zip(weather.rain, weather.melt, strict=True)]
    debris = draw_debris(chance, outfall.instruments, fallen)
    inputs = _inputs(chance, outfall, weather, meter, waters, levels, debris, done)
    return OutfallYear(seed, inputs, _truth(outfall, natural, done, meter, fallen, debris))


def _waters(outfall: Outfall, mix: Mix, levels: list[float] | None, air: list[float]) -> tuple[Values, Values, Values]:
    """Temperature, conductivity in S/m and turbidity at the probes; a dry pipe has only its air's temperature."""
    heat: Values = []
    ions: Values = []
    solids: Values = []
    pipe_c = air[0]
    for step in range(STEPS):
        pipe_c += (air[step] - pipe_c) / (6 * HOUR)
        water = mix.water(step)
        sea = min(max(levels[step], 0) / 0.2, 1) if levels else 0.0
        if water is None:
            celsius, conductivity, turbidity = 0.6 * pipe_c + 5, 0.0, 0.0  # 12 °C in the ground
        else:
            celsius, conductivity, turbidity = water
        if outfall.tide and sea > 0:
            share = sea if water else 1.0
            sea_c = 12.5 - 9.5 * _season(step)
            celsius += share * (sea_c - celsius)
            conductivity += share * (outfall.tide.sea.conductivity - conductivity)
            turbidity += share * (outfall.tide.sea.turbidity - turbidity)
        dry = water is None and sea == 0
        heat.append(celsius)
        ions.append(None if dry else conductivity * 1e-4)
        solids.append(None if dry else turbidity)
    return heat, ions, solids


def _season(step: int) -> float:
    """1 at the end of February, when the sea is coldest, -1 at the end of August: a polygon is near enough."""
    part = (step / DAY - 55) % 365 / 365
    return 1 - 4 * part if part < 0.5 else 4 * part - 3


def _inputs(
    chance: random.Random,
    outfall: Outfall,
    weather: Weather,
    meter: list[float],
    waters: tuple[Values, Values, Values],
    levels: list[float] | None,
    debris: list[Span],
    done: Discharges,
) -> Inputs:
    instruments = outfall.instruments
    dead = draw_outages(chance, 3, 5)  # the node itself
    flow, below, above = measure_flow(chance, meter, instruments, debris, dead | draw_outages(chance, 2, 3))
    heat, ions, solids = waters
    none = [0.0] * STEPS
    temperature = measure(
        chance,
        heat,
        dead | draw_outages(chance, 1, 3),
        noise=0.06,
        noise_share=0,
        foul=lambda true, _: true,
        fouls=none,
        resolution=0.0625,
        odd_share=1 / 8000,
        odd=lambda: chance.choice((85.0, -127.0)),  # what a DS18B20 says at power-on and unplugged
    )
    conductivity = measure(
        chance,
        ions,
        dead | draw_outages(chance, 2, 7),
        noise=0.0002,
        noise_share=0.01,
        foul=lambda true, grown: true * (1 - grown),
        fouls=fouling(chance, 0.2),
        resolution=0.0001,
        odd_share=1 / 3000,
        odd=lambda: chance.choice((0.0, chance.uniform(0, 0.5))),
    )
    turbidity = measure(
        chance,
        solids,
        dead | draw_outages(chance, 3, 7),
        noise=0.3,
        noise_share=0.06,
        foul=lambda true, grown: max(true, 0) + grown,
        fouls=fouling(chance, 30),
        resolution=0.1,
        odd_share=1 / 600,
        odd=lambda: chance.uniform(20, 1000),  # a bubble, a leaf
    )
    tailwater: Series | None = None
    if levels:
        tailwater = [
            (time_us(step), None if step in dead else round(level + chance.gauss(0, 0.005), 3))
            for step, level in enumerate(levels)
        ]
    air: Series = [
        (time_us(step), round(weather.air[step] + chance.gauss(0, 0.3), 1)) for step in range(0, STEPS, HOUR)
    ]
    start, step_us = time_us(0), time_us(1) - time_us(0)
    return Inputs(
        flow_m3_s=flow,
        temperature_c=temperature,
        conductivity_s_m=conductivity if instruments.conductivity else None,
        turbidity_ntu=turbidity if instruments.turbidity else None,
        tailwater_m=tailwater,
        air_c=air,
        tips=[tip for tip in weather.tips if (tip - start) // step_us not in dead],
        tip_mm=TIP_MM,
        below_range=below,
        above_range=above,
        range_m3_s=(round(instruments.low / 1000, 6), round(instruments.high / 1000, 6)),
        approvals=done.approvals,
    )


def _truth(
    outfall: Outfall, natural: Natural, done: Discharges, meter: list[float], fallen: list[float], debris: list[Span]
) -> Truth:
    episodes = list(done.episodes)
    for first, last in spans(where(natural.melt, lambda flow: flow > 0.05), apart=6 * HOUR):
        episodes.append(Episode("melt", time_us(first), time_us(last)))
    episodes += [Episode("debris", time_us(first), time_us(last)) for first, last in debris]
    instruments = outfall.instruments
    return Truth(
        episodes=sorted(episodes, key=lambda episode: (episode.start_us, episode.kind)),
        states=_states(natural, done.illicit, fallen),
        flow_m3_s=[flow / 1000 for flow in meter],
        illicit_m3_s=[flow / 1000 for flow in done.illicit],
        noise_m3_s=[(instruments.noise + instruments.noise_share * abs(flow)) / 1000 for flow in meter],
        water_mm=fallen,
    )


def _states(natural: Natural, illicit: list[float], fallen: list[float]) -> list[State]:
    """Wet while it rains or melts and for an hour after it; a recession while its runoff is a twentieth of the flow."""
    found: list[State] = []
    since = HOUR
    for ground, runoff, foreign, water in zip(natural.ground, natural.runoff, illicit, fallen, strict=True):
        since = 0 if water > 0.01 else since + 1
        if runoff > max(0.05 * ground, _WET_L_S):
            found.append("wet" if since < HOUR else "recession")
        elif foreign > 0:
            found.append("suspected_discharge")
        else:
            found.append("base_flow" if ground > _WET_L_S else "dry")
    return found
