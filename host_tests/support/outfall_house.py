"""An outfall in a village of rules_house, fed with quiet flow and with pulses on top of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from headwall.ledger.append import append_readings
from headwall.registry import Registry

from support.registry_text import node, sensors, site
from support.rules_house import HOUR, MINUTE, PRIMARY, House, at, make_registry

START = at("2026-06-01 04:00")  # midnight in New York
DAY = 24 * HOUR
STEP = 5 * MINUTE
SITE = "outfall-7"
#: (node, datastream, time, value)
Reading = tuple[str, str, int, float]
#: two hours in the morning of June 9 that look like flushing
PULSE = (START + 8 * DAY + 10 * HOUR, START + 8 * DAY + 12 * HOUR, 0.012)
#: m³/s
BASE = 0.002
#: the gauge of the outfall
NEAR = PRIMARY.replace("5,", "50,")
_OUTFALL = node("node-7", "240ac400001b", "meter.flow", "water.temperature") + site(
    SITE,
    "outfall",
    f"gauges = [{NEAR}]",
    sensors({"node-7/meter.flow": "flow", "node-7/water.temperature": "water_temperature"}),
)


def outfall_registry(folder: Path, code: str = "elmsford") -> Registry:
    """The village with its outfall, under a code."""
    return make_registry(folder, code=code, more=_OUTFALL)


class OutfallHouse(House):
    """A house whose outfall is accepted."""

    def __init__(self, registry: Registry, *, url: str = "sqlite://") -> None:
        super().__init__(registry, START, url=url)
        self.accept("node-7", "meter.flow")

    def feed(self, readings: Sequence[Reading], every: int = 2000) -> None:
        """Readings in the order given, judged after each part; the clock stands at the newest."""
        for first in range(0, len(readings), every):
            part = readings[first : first + every]
            rows = [self.reading(time_us, value, node=node, stream=name) for node, name, time_us, value in part]
            with self.ledger.begin() as conn:
                append_readings(self.ledger, conn, rows)
            self.clock.now = max(self.clock.now, *(each[2] for each in part))
            self.judge()

    def feed_late(self, readings: Sequence[Reading], seed: int) -> None:
        """Readings when all of them are past, shuffled; as they are and on time where the seed is 0."""
        order = list(readings)
        if seed:
            random.Random(seed).shuffle(order)
            self.clock.now = readings[-1][2]
        self.feed(order, every=1500)


def quiet(days: int, pulses: Sequence[tuple[int, int, float]] = (), start_us: int = START) -> list[Reading]:
    """Base flow with some noise, reports of a gauge without rain, and pulses (start, end, m³/s)."""
    chance, found = random.Random(1), list[Reading]()
    for time_us in range(start_us, start_us + days * DAY, STEP):
        more = sum(flow for begin, end, flow in pulses if begin <= time_us < end)
        found.append(("node-7", "meter.flow", time_us, BASE + more + chance.gauss(0, 0.00003)))
        if time_us % (15 * MINUTE) == 0:
            found.append(("board-a", "rain.tips", time_us + 1, 0))
            found.append(("node-7", "water.temperature", time_us, 12.0 if not more else 11.0))
    return found


def folder_with_a_suspicion(folder: Path) -> Path:
    """A folder with the registry of an outfall, and a ledger that holds one suspicion about it."""
    house = OutfallHouse(outfall_registry(folder), url=f"sqlite:///{folder / 'headwall.db'}")
    house.feed(quiet(10, [PULSE]))
    house.close()
    return folder
