"""What people let into the drain: sewage, wash water, hydrants, pumps, pools and sprinklers, with their approvals.

More of it than an outfall has in an ordinary year: what matters is enough of each class to judge a rule by.

Magnitudes: 245 gal a day for a home (City of Austin), 70 gal a person. Washing a car takes 150 to 600 l (Journal of
Water Reuse and Desalination 8(2), 2018), a pressure washer 0.2 to 0.4 l/s. Hydrants give 500 to 1,500 gal/min
(NFPA 291's classes), 32 to 95 l/s, of which throttled or diffused flushing takes a part. Turbidity of dewatering is
held against 50 NTU (EPA's 2022 construction permit) and often far above it. A home's pool holds 60 to 100 m³ and its
pump gives 2 to 5 l/s; a public pool takes days.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import cos, pi

from headwall_sim.outfall.mix import Mix
from headwall_sim.outfall.site import Outfall, Quality
from headwall_sim.outfall.steps import DAY, HOUR, STEPS, local, spread, step_of, time_us
from headwall_sim.outfall.truth import SUSPECT_CLASSES, Approval, Class, Episode

#: sewage of each hour, least from 2 to 5, most from 7 to 9 and 18 to 21
_HOURS = (
    *(0.62, 0.45, 0.36, 0.32, 0.33, 0.45, 0.85, 1.45, 1.60, 1.40, 1.20, 1.10),
    *(1.05, 1.00, 0.95, 0.95, 1.00, 1.15, 1.40, 1.45, 1.35, 1.20, 1.00, 0.80),
)
_HOME_L_S = 0.0107


@dataclass
class Discharges:
    """What was let in so far; `illicit` is l/s of each step."""

    episodes: list[Episode] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)
    illicit: list[float] = field(default_factory=lambda: [0.0] * STEPS)
    taken: list[tuple[int, int]] = field(default_factory=list)


class _Drain:
    """Puts discharges into the pipe and writes down what they were."""

    def __init__(self, outfall: Outfall, seed: int, air: list[float], mix: Mix) -> None:
        self.outfall = outfall
        self.chance = random.Random(f"discharges {seed}")
        self.air = air
        self.mix = mix
        self.done = Discharges()

    def free(self, first: int, last: int) -> bool:
        """Whether no illicit discharge runs then or within a day of it: so each suspicion has one cause."""
        return first >= 0 and last <= STEPS and all(last + DAY <= a or b + DAY <= first for a, b in self.done.taken)

    def covers(self, kind: Class, first: int, last: int) -> bool:
        """Whether something of that class happens then: what is not approved must not happen under an approval."""
        begin, end = time_us(first), time_us(last)
        return any(it.kind == kind and it.start_us < end and begin < it.end_us for it in self.done.episodes)

    def place(self, first: Callable[[], int], length: int) -> int | None:
        """A free time of that length for an illicit discharge."""
        for _ in range(60):
            at = first()
            if self.free(at, at + length):
                self.done.taken.append((at, at + length))
                return at
        return None

    def pour(self, kind: Class, first: int, flows: list[float], water: Callable[[int], tuple[float, Quality]]) -> None:
        """Lets flows in l/s in from a step on.

        Args:
            water: °C and the rest of what flows, by the number of steps since the first.
        """
        illicit = kind in SUSPECT_CLASSES
        flows = flows[: STEPS - first]
        while flows and flows[-1] == 0:
            flows.pop()
        if not flows:
            return
        for number, flow in enumerate(flows):
            if flow > 0:
                celsius, quality = water(number)
                self.mix.add(first + number, flow, celsius, quality.conductivity, quality.turbidity)
            if illicit:
                self.done.illicit[first + number] += flow
        self.done.episodes.append(
            Episode(
                kind,
                time_us(first),
                time_us(first + len(flows)),
                illicit=illicit,
                approved=kind.startswith("approved"),
                exempt=kind == "irrigation",
            )
        )

    def tap_c(self, step: int) -> float:
        """Mains water lags the air by a month or so: 5 to 19 °C."""
        return 12 - 7 * cos(2 * pi * (step / DAY - 45) / 365)


def discharge(outfall: Outfall, seed: int, air: list[float], mix: Mix) -> Discharges:
    drain = _Drain(outfall, seed, air, mix)
    chance = drain.chance
    # the long ones first, since the short ones find room between them
    if chance.random() < 0.7:
        for _ in range(chance.choice((1, 1, 2))):
            _sewage(drain)
    if chance.random() < 0.65:
        _dewatering(drain, chance.randint(1, 4))
    if chance.random() < 0.75:
        _unapproved_flushing(drain, chance.randint(1, 5))
    if chance.random() < 0.55:
        _washing(drain, chance.randint(5, 30))
    if chance.random() < 0.6:
        _approved_flushing(drain, chance.randint(1, 3))
    if chance.random() < 0.3:
        _approved_dewatering(drain)
    if chance.random() < 0.5:
        _irrigation(drain)
    drain.done.episodes.sort(key=lambda episode: (episode.start_us, episode.kind))
    drain.done.approvals.sort(key=lambda approval: approval.start_us)
    return drain.done


def _sewage(drain: _Drain) -> None:
    """A wrong connection of some to some hundred homes, for weeks, until somebody repairs it."""
    chance = drain.chance
    homes = spread(chance, 15, 300)
    days = chance.randint(21, 120)
    first = drain.place(partial(_connected, chance, days), days * DAY)
    if first is None:
        return
    mean = homes * _HOME_L_S * chance.uniform(0.6, 1.2)
    # a few homes make single flushes of water, many make a curve
    flows = sewage_flows(chance, first, days * DAY, mean, burst=0.4 + homes / 15)
    strength = Quality(drain.outfall.tap.conductivity + spread(chance, 250, 700), spread(chance, 40, 220))
    warm = chance.uniform(3, 7)
    hours = local().hours

    def water(number: int) -> tuple[float, Quality]:
        strong = 0.8 + 0.4 * min(_hourly(hours[first + number]), 1.4) / 1.4  # weakest at night, when taps drip
        return drain.tap_c(first + number) + warm, Quality(
            strength.conductivity * strong * chance.uniform(0.9, 1.1),
            strength.turbidity * strong * chance.uniform(0.6, 1.4),
        )

    drain.pour("sewage", first, flows, water)


def _connected(chance: random.Random, days: int) -> int:
    return step_of(chance.randint(10, 364 - days), chance.uniform(8, 17))


def sewage_flows(chance: random.Random, first: int, length: int, mean: float, *, burst: float) -> list[float]:
    """Sanitary flow of homes: mean in l/s, night flow 0.3 to 0.5 of it, later mornings at week-ends.

    Args:
        burst: shape of the gamma distribution each step is drawn from: below 1 most steps are nearly nothing.
    """
    hours, weekdays = local()
    contrast, later = chance.uniform(0.7, 1.05), chance.uniform(0.5, 2.0)
    means = [_hourly(hour / HOUR) ** contrast for hour in range(24 * HOUR)]
    level, scale = 1.0, mean * len(means) / sum(means)
    flows = []
    for step in range(first, min(first + length, STEPS)):
        hour = hours[step]
        if weekdays[step] >= 5 and 4 <= hour < 14:
            hour = max(hour - later, 3.0)
        level = 0.55 * level + 0.45 * chance.gammavariate(burst, 1 / burst)  # the pipe evens them out
        flows.append(scale * _hourly(hour) ** contrast * level)
    return flows


def _hourly(hour: float) -> float:
    whole = int(hour)
    part = hour - whole
    return _HOURS[whole % 24] * (1 - part) + _HOURS[(whole + 1) % 24] * part


def _dewatering(drain: _Drain, count: int) -> None:
    """Pumps in an excavation or a cellar for days, or a pool emptied in spring or autumn, without asking."""
    for _ in range(count):
        pool = drain.chance.random() < 0.4
        flows = pool_flows(drain.chance) if pool else pump_flows(drain.chance)
        first = drain.place(partial(_pumping_start, drain.chance, pool), len(flows))
        if first is not None:
            _pump(drain, "dewatering", first, flows, pool)


def _pumping_start(chance: random.Random, pool: bool) -> int:
    day = chance.choice((chance.randint(105, 150), chance.randint(245, 290))) if pool else chance.randint(15, 345)
    return step_of(day, chance.uniform(7, 17))


def pump_flows(chance: random.Random) -> list[float]:
    """30 to 250 gal/min for one to six days: all the time, by a float switch, or while people work."""
    rate, length = spread(chance, 1.0, 15), round(chance.uniform(1, 6) * DAY)
    kind = chance.random()
    on, off = chance.randint(6, 24), chance.randint(2, 12)
    flows = []
    for number in range(length):
        runs = True
        if kind < 0.3:
            runs = number % (on + off) < on
        elif kind < 0.5:
            runs = number % DAY < 9 * HOUR
        flows.append(rate * (1 - 0.3 * number / length) * chance.gauss(1, 0.02) if runs else 0.0)
    return flows


def pool_flows(chance: random.Random) -> list[float]:
    """A pool of 60 to 800 m³ at a steady rate, at the end less."""
    rate = spread(chance, 1.5, 6)
    length = min(round(spread(chance, 60, 800) / rate * 1000 / 300), 3 * DAY)
    return [rate * min(1, 0.2 + (length - number) / 12) * chance.gauss(1, 0.01) for number in range(length)]


def _pump(drain: _Drain, kind: Class, first: int, flows: list[float], pool: bool) -> None:
    chance, outfall = drain.chance, drain.outfall
    if pool:
        quality = Quality(outfall.tap.conductivity + spread(chance, 300, 2500), chance.uniform(0.3, 4))
    else:
        quality = Quality(outfall.ground.conductivity * chance.uniform(0.7, 1.5), spread(chance, 5, 500))

    def water(number: int) -> tuple[float, Quality]:
        season = drain.tap_c(first + number) + 4 if pool else outfall.ground_c + 0.2 * (drain.air[first + number] - 11)
        settling = 1.0 if pool else 0.3 + 0.7 * (1 - number / len(flows))  # the water clears as the pit empties
        return season, Quality(quality.conductivity, quality.turbidity * settling)

    drain.pour(kind, first, flows, water)


def flushing_flows(chance: random.Random) -> list[float]:
    """A hydrant for half an hour to two hours; part of its water stays in gutters and goes to other drains."""
    rate, steps = spread(chance, 5, 70), chance.randint(6, 24)
    tail = [rate * 0.35, rate * 0.1]
    return [rate * 0.7, *(rate * chance.gauss(1, 0.03) for _ in range(steps - 1)), *tail]


def _flush(drain: _Drain, kind: Class, first: int, flows: list[float]) -> None:
    rust = spread(drain.chance, 5, 300)
    tap = drain.outfall.tap

    def water(number: int) -> tuple[float, Quality]:
        return drain.tap_c(first + number), Quality(tap.conductivity, tap.turbidity + 2 + rust * 0.6**number)

    drain.pour(kind, first, flows, water)


def _unapproved_flushing(drain: _Drain, count: int) -> None:
    """Hydrants opened without approval, or on a day of one but hours after its end."""
    chance = drain.chance
    for _ in range(count):
        flows = flushing_flows(chance)
        night = chance.random() < 0.2
        first = drain.place(
            partial(_opened, chance, night),
            len(flows),
        )
        if first is None:
            continue
        if chance.random() < 0.3:
            end = first - chance.randint(2, 5) * HOUR
            _approve(drain, "flushing", end - 4 * HOUR, end)
        _flush(drain, "unapproved_flushing", first, flows)


def _opened(chance: random.Random, night: bool) -> int:
    return step_of(chance.randint(15, 355), chance.uniform(20, 23) if night else chance.uniform(7, 17))


def _approved_flushing(drain: _Drain, programmes: int) -> None:
    """The water department's programme: some days of one or two hydrants, all within what it was allowed."""
    chance = drain.chance
    for _ in range(programmes):
        start = chance.choice((chance.randint(90, 140), chance.randint(255, 310)))
        begins, ends = chance.choice(((8.0, 16.0), (7.0, 15.0), (21.0, 23.9)))
        for day in range(start, start + chance.randint(1, 5)):
            first, last = step_of(day, begins), step_of(day, ends)
            if drain.covers("unapproved_flushing", first, last):
                continue
            _approve(drain, "flushing", first, last)
            for _ in range(chance.choice((0, 1, 1, 2))):
                flows = flushing_flows(chance)
                at = chance.randint(first, max(first, last - len(flows)))
                if at + len(flows) <= last:
                    _flush(drain, "approved_flushing", at, flows)


def _approved_dewatering(drain: _Drain) -> None:
    """A contractor who asked, and keeps to it."""
    chance = drain.chance
    flows = pump_flows(chance)
    first = _pumping_start(chance, False)
    begin, end = first - chance.randint(0, 24) * HOUR, first + len(flows) + chance.randint(0, 24) * HOUR
    if drain.covers("dewatering", begin, end):
        return
    _approve(drain, "dewatering", begin, end)
    _pump(drain, "approved_dewatering", first, flows, False)


def _approve(drain: _Drain, kind: str, first: int, last: int) -> None:
    approved = Approval("flushing" if kind == "flushing" else "dewatering", time_us(first), time_us(last))
    if approved not in drain.done.approvals:
        drain.done.approvals.append(approved)


def _washing(drain: _Drain, events: int) -> None:
    """One business washes vehicles or a yard into the drain, on its days of the week, seldom in frost."""
    chance = drain.chance
    rate = spread(chance, 0.3, 2.5)
    dirt = Quality(drain.outfall.tap.conductivity + spread(chance, 60, 600), spread(chance, 60, 600))
    warm = chance.uniform(0, 10)
    days = chance.sample(range(6), chance.randint(1, 4))
    _, weekdays = local()
    opened = [
        day for day in range(10, 360) if weekdays[day * DAY + DAY // 2] in days and drain.air[day * DAY + 150] > 2
    ]
    for day in sorted(chance.sample(opened, min(events, len(opened)))):
        first, length = step_of(day, chance.uniform(8, 16.5)), chance.randint(3, 15)
        if not _room_for_washing(drain, first, first + length):
            continue
        drain.done.taken.append((first, first + length))
        flows = [rate * chance.uniform(0.5, 1.5) for _ in range(length)]  # car after car

        def water(number: int, first: int = first) -> tuple[float, Quality]:
            strong = chance.uniform(0.6, 1.4)  # soap, then rinsing
            return drain.tap_c(first + number) + warm, Quality(dirt.conductivity, dirt.turbidity * strong)

        drain.pour("wash_water", first, flows, water)


def _room_for_washing(drain: _Drain, first: int, last: int) -> bool:
    """Washing may follow washing on the next day, and else keeps the distance of all."""
    washed = {(episode.start_us, episode.end_us) for episode in drain.done.episodes if episode.kind == "wash_water"}
    others = [(a, b) for a, b in drain.done.taken if (time_us(a), time_us(b)) not in washed]
    return all(last + DAY <= a or b + DAY <= first for a, b in others)


def _irrigation(drain: _Drain) -> None:
    """Sprinklers that wet the street at dawn from May to September, by a clock, on every first to third day."""
    chance = drain.chance
    rate, steps, apart = spread(chance, 0.05, 1.0), chance.randint(4, 14), chance.randint(1, 3)
    hour, sensor = chance.uniform(3.5, 6.5), chance.random() < 0.4
    tap = drain.outfall.tap
    quality = Quality(tap.conductivity * chance.uniform(1.0, 1.3), chance.uniform(2, 15))
    for day in range(chance.randint(130, 160), chance.randint(240, 265), apart):
        first = step_of(day, hour)
        if sensor and drain.air[first] < 12:  # the owner turns it off in cool weather
            continue

        def water(number: int, first: int = first) -> tuple[float, Quality]:
            return 0.5 * drain.tap_c(first + number) + 0.5 * drain.air[first + number], quality

        flows = [rate * min(1, (number + 1) / 3) * chance.gauss(1, 0.05) for number in range(steps)]
        drain.pour("irrigation", first, [*flows, rate * 0.4, rate * 0.15], water)
