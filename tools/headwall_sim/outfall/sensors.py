"""What the instruments make of the water: noise, drift, steps of resolution, spikes, gaps, ranges.

Probes foul until somebody cleans them, a weir catches leaves until a storm or a person clears it, a battery dies for
days. What is not read is None.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from headwall_sim.outfall.site import Instruments
from headwall_sim.outfall.steps import DAY, HOUR, STEPS, spans, spread, time_us
from headwall_sim.outfall.truth import Series, Span

Values = list[float | None]


def draw_outages(chance: random.Random, per_year: float, longest_days: float) -> set[int]:
    """Steps without a reading: stretches of hours to days."""
    out: set[int] = set()
    step = chance.expovariate(per_year / STEPS)
    while step < STEPS:
        length = spread(chance, 1 * HOUR, longest_days * DAY)
        out.update(range(int(step), min(int(step + length), STEPS)))
        step += length + chance.expovariate(per_year / STEPS)
    return out


def fouling(chance: random.Random, most: float) -> list[float]:
    """0 on a clean probe, growing to at most `most` in the one to four months between cleanings."""
    found: list[float] = []
    while len(found) < STEPS:
        days, worst = chance.randint(30, 120), most * chance.random()
        found += [worst * step / (days * DAY) for step in range(days * DAY)]
    return found[:STEPS]


def draw_debris(chance: random.Random, instruments: Instruments, water_mm: list[float]) -> list[Span]:
    """Steps in which leaves stand on a weir, up to ten days or until a storm carries them off."""
    if instruments.meter != "weir":
        return []
    found = []
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        first = chance.randint(14 * DAY, 350 * DAY)
        last, fallen = first, 0.0
        longest = round(spread(chance, 6 * HOUR, 10 * DAY))
        while last < min(first + longest, STEPS) and fallen < 10:
            fallen += water_mm[last]
            last += 1
        found.append((first, last))
    return sorted(found)


def measure_flow(
    chance: random.Random, flow: list[float], instruments: Instruments, debris: list[Span], out: set[int]
) -> tuple[Series, list[Span], list[Span]]:
    """Flow in m³/s with the spans below and above the meter's range.

    Args:
        flow: of a perfect meter, l/s.
        debris: steps in which the weir reads too much, growing.
    """
    raised = [0.0] * STEPS
    for first, last in debris:
        share, plus = spread(chance, 0.1, 0.8), spread(chance, 0.05, 0.5)
        for step in range(first, last):
            grown = min((step - first) / (6 * HOUR), 1)
            raised[step] = grown * (share * flow[step] + plus)
    gain = 1.0
    values: Values = []
    below, above = [], []
    for step, true in enumerate(flow):
        gain += 0.00002 * (1 - gain) + chance.gauss(0, 0.00025)
        read = gain * (true + raised[step])
        read += chance.gauss(0, instruments.noise + instruments.noise_share * abs(true))
        value = _odd(chance, read, 1 / 4000, partial(_spike, chance, read))
        if step in out:
            value = None
        elif value is not None and instruments.low and value < instruments.low:
            below.append(step)
            value = None
        elif value is not None and value > instruments.high:
            above.append(step)
            value = None
        values.append(_to_step(value, instruments.resolution))
    return (
        [(time_us(step), None if value is None else round(value / 1000, 6)) for step, value in enumerate(values)],
        _times(below),
        _times(above),
    )


def measure(
    chance: random.Random,
    water: Values,
    out: set[int],
    *,
    noise: float,
    noise_share: float,
    foul: Callable[[float, float], float],
    fouls: list[float],
    resolution: float,
    odd_share: float,
    odd: Callable[[], float],
) -> Series:
    """One probe in the water; None where there is no water.

    Args:
        foul: what a fouled probe shows, of the true value and of how fouled it is.
        odd_share: of readings that are nonsense, or are none.
        odd: such a reading.
    """
    found: Series = []
    for step, true in enumerate(water):
        value: float | None = None
        if true is not None and step not in out:
            read = foul(true, fouls[step]) + chance.gauss(0, noise + noise_share * abs(true))
            value = _to_step(_odd(chance, read, odd_share, odd), resolution)
        found.append((time_us(step), None if value is None else round(value, 6)))
    return found


def _odd(chance: random.Random, read: float, share: float, odd: Callable[[], float]) -> float | None:
    """Now and then a spike instead of the reading, as often no reading at all."""
    draw = chance.random()
    if draw < share:
        return odd()
    return None if draw < 2 * share else read


def _spike(chance: random.Random, read: float) -> float:
    """An echo of something else in the pipe."""
    return chance.uniform(2, 20) * abs(read) + chance.uniform(0, 5)


def _to_step(value: float | None, resolution: float) -> float | None:
    return None if value is None else round(value / resolution) * resolution


def _times(steps: list[int]) -> list[Span]:
    return [(time_us(first), time_us(last - 1)) for first, last in spans(steps)]
