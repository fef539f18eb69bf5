#!/usr/bin/env python3
"""Derived values and rules over long histories.

1. What a reading costs the rules, live: the same months of rain and flow arrive at three ledgers that hold 1, 10 and
   100 years of the same before. Medians of the months, CPU time, and their ratios; the goal is 1.2.
2. A year of one-minute readings of a stage computed to flow anew, as after a calibration that was entered late, beside
   reading the same rows from SQLite; and a year of one-minute rain judged again after one. The goal is 10 s each.
3. What a reading of a septic tank costs, live, whose liquid has stood above the outlet and whose scum has been near the
   baffle for 1, 10 and 100 days.

    python tools/bench/bench_hydrology.py [YEARS,YEARS,…] [MONTHS]
"""

from __future__ import annotations

import json
import logging
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
import structlog
from headwall.clock import SystemClock, to_us
from headwall.derive.derivation import Derivation
from headwall.law.profile import load_profile
from headwall.ledger import schema
from headwall.ledger.calibrations import add_calibration, parse_calibrations
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry
from headwall.rules import duties
from headwall.rules.engine import CURSOR, RuleEngine
from headwall.settings import RulesSettings

GOAL_RATIO, GOAL_S = 1.2, 10.0
MINUTE_US = 60_000_000
STEP_US = 15 * MINUTE_US
DAY_US = 96 * STEP_US
YEAR_US = 365 * DAY_US
LIVE_US = to_us(datetime(2026, 3, 1, tzinfo=UTC))
MONTH_US = 30 * DAY_US
WET_DAYS = 45  # a year: with 24 tips each some 1,100 tips
READINGS_A_STEP = 8  # one pack of a board now and then
#: what each registry begins with; more datastreams of its board may follow
HEAD = """
[[municipalities]]
id = "elmsford"
name = "Village of Elmsford"
profile = "CODE"
[[people]]
id = "olive"
name = "Olive"
email = "olive@village.example"
roles = [{ role = "smo", municipality = "elmsford", from = 1900-01-01 }]
[[nodes]]
id = "board"
mac = "240ac400000a"
place = "gate"
legal_basis = "consent"
legal_reference = "letter"
installer = "olive"
from = 1900-01-01
[[nodes.datastreams]]
name = "rain.tips"
quantity = "tips"
tip = "0.01 in"
silent_after_min = 60
from = 1900-01-01
[[nodes.datastreams]]
name = "stage.level"
quantity = "level"
from = 1900-01-01
"""
YARD = """
[[sites]]
id = "yard"
kind = "construction"
name = "Yard"
place = "gate"
municipality = "elmsford"
status = [{ status = "active", from = 1900-01-01, by = "Olive" }]
gauges = [{ datastream = "board/rain.tips", distance_m = 5, from = 1900-01-01 }]
"""
OUTFALL = """
[[sites]]
id = "outfall"
kind = "outfall"
name = "Outfall"
place = "gate"
municipality = "elmsford"
status = [{ status = "active", from = 1900-01-01, by = "Olive" }]
gauges = [{ datastream = "board/rain.tips", distance_m = 5, from = 1900-01-01 }]
sensors = [{ datastream = "board/stage.level", of = "stage", from = 1900-01-01 }]
levels = [{ of = "stage", method = "level", from = 1900-01-01 }]
ratings = [{ method = "v_notch", angle_deg = 90, from = 1900-01-01 }]
"""
TANK = """
[[nodes.datastreams]]
name = "liquid.level"
quantity = "level"
from = 1900-01-01
[[nodes.datastreams]]
name = "scum.level"
quantity = "level"
from = 1900-01-01
[[sites]]
id = "tank"
kind = "septic"
name = "Tank"
place = "gate"
municipality = "elmsford"
status = [{ status = "active", from = 1900-01-01, by = "Olive" }]
sensors = [
  { datastream = "board/liquid.level", of = "liquid", from = 1900-01-01 },
  { datastream = "board/scum.level", of = "scum", from = 1900-01-01 },
]
levels = [
  { of = "liquid", method = "level", from = 1900-01-01 },
  { of = "scum", method = "level", from = 1900-01-01 },
]
tanks = [{ floor = "48 in", baffle = "16 in", tolerance = "0.5 in", dwell_min = 60, from = 1900-01-01 }]
"""
CALIBRATION = {
    "v": 1,
    "by": "Sam",
    "method": "bench",
    "verdict": "fail",
    "at": "2026-03-01T00:00:00Z",
}
Row = tuple[int, str, float]


class LiveClock(SystemClock):
    """Stands at the newest reading."""

    now = LIVE_US

    def now_us(self) -> int:
        return self.now


def registry_of(folder: Path, code: str, *more: str) -> Registry:
    path = folder / "registry.toml"
    path.write_text("".join((HEAD.replace("CODE", code), *more)), "utf-8")
    return load_registry(path)


def weather(start_us: int, end_us: int, step_us: int = STEP_US) -> Iterator[Row]:
    """(time, stream, value) in order: a stage with its storms, a report of the gauge each step, tips on wet days."""
    for day_us in range(start_us, end_us, DAY_US):
        chance = random.Random(day_us)
        tips: list[int] = []
        if chance.random() < WET_DAYS / 365:
            first_us = day_us + chance.randrange(12) * 4 * STEP_US
            count = int(chance.expovariate(1 / 24)) + 1
            tips = sorted(first_us + chance.randrange(8 * 4 * STEP_US) for _ in range(count))
        rows: list[Row] = [(time_us, "rain.tips", 1.0) for time_us in tips]
        base_m = 0.10 + 0.02 * chance.random()
        for time_us in range(day_us, min(day_us + DAY_US, end_us), step_us):
            fallen = sum(time_us - 2 * 4 * STEP_US < tip_us <= time_us for tip_us in tips)
            rows += [(time_us, "stage.level", base_m + 0.004 * fallen), (time_us + 1, "rain.tips", 0.0)]
        yield from sorted(rows)


class Bench:
    """A ledger with a history, its rules, and what arrives live."""

    def __init__(self, folder: Path, name: str, registry: Registry) -> None:
        self.ledger = Ledger.open(f"sqlite:///{folder / name}.db")
        self.registry = registry
        self.clock = LiveClock()
        self._pos = 0
        with self.ledger.begin() as conn:
            for stream in ("rain.tips", "stage.level"):
                conn.execute(schema.acceptances.insert().values(node="board", stream=stream, by="Olive", at_us=0))

    def fill(self, rows: Iterator[Row]) -> int:
        """Put rows in behind the others."""
        before, table = self._pos, schema.readings
        while part := list(islice(rows, 50_000)):
            with self.ledger.begin() as conn:
                conn.execute(table.insert(), [self._row(*row) for row in part])
                conn.execute(schema.append_position.update().values(pos=self._pos))
        return self._pos - before

    def _row(self, time_us: int, stream: str, value: float) -> dict[str, Any]:
        self._pos += 1
        return {
            "pos": self._pos, "node": "board", "jid": "00000000000000aa", "seq": self._pos, "stream": stream,
            "time_us": time_us, "value": value, "quality": 1, "source": "node", "received_us": time_us,
        }  # fmt: skip

    def begin_rules(self, batch: int) -> RuleEngine:
        """Rules that have judged all there is: of the history alone the last 60 days, to have what they keep."""
        profiles = {"elmsford": load_profile("elmsford")}
        engine = RuleEngine(self.ledger, self.registry, profiles, self.clock, RulesSettings(batch_readings=5000))
        c = schema.readings.c
        with self.ledger.begin() as conn:
            seen = conn.execute(sa.select(sa.func.max(c.pos)).where(c.time_us < LIVE_US - 60 * DAY_US)).scalar() or 0
            self.ledger.set_cursor(conn, CURSOR, seen)
        _drain(engine)
        self._old_duties()
        return RuleEngine(self.ledger, self.registry, profiles, self.clock, RulesSettings(batch_readings=batch))

    def _old_duties(self) -> None:
        """As many duties as that history would have opened, 18 a year, in the tables."""
        c = schema.readings.c
        with self.ledger.begin() as conn:
            first_us = conn.execute(sa.select(sa.func.min(c.time_us))).scalar_one()
            known = duties.listed(conn, everything=True)
            if not known:
                return
            body = known[0].body
            for due_us in range(first_us, LIVE_US - 60 * DAY_US, YEAR_US // 18):
                storm = msgspec.structs.replace(body.storm, start_us=due_us - DAY_US, end_us=due_us - DAY_US // 2)
                old = msgspec.structs.replace(body, storm=storm, crossing_us=due_us - DAY_US, due_us=due_us)
                duties.open_duty(conn, old, due_us, historical=True)

    def live(self, engine: RuleEngine, rows: list[Row], pack: int = READINGS_A_STEP) -> float:
        """CPU seconds a reading, while rows come in small packs."""
        spent = 0.0
        for first in range(0, len(rows), pack):
            come = rows[first : first + pack]
            self.fill(iter(come))
            self.clock.now = come[-1][0]
            spent += _timed(lambda: _drain(engine))
        return spent / len(rows)


def histories(folder: Path, registry: Registry, years: list[int], months: int) -> None:
    benches: list[tuple[int, Bench, RuleEngine]] = []
    for each in years:
        bench = Bench(folder, f"years-{each}", registry)
        count = bench.fill(weather(LIVE_US - each * YEAR_US, LIVE_US))
        benches.append((each, bench, bench.begin_rules(READINGS_A_STEP)))
        print(f"{each:4} years of history: {count:,} readings", flush=True)
    costs: dict[int, list[float]] = {each: [] for each in years}
    for month in range(months):
        start_us = LIVE_US + month * MONTH_US
        rows = list(weather(start_us, start_us + MONTH_US))
        for each, bench, engine in benches:
            costs[each].append(bench.live(engine, rows))
    first = statistics.median(costs[years[0]])
    for each in years:
        cost = statistics.median(costs[each])
        share = f"{cost / first:.2f} of the first (goal {GOAL_RATIO})"
        print(f"{each:4} years before: {cost * 1e6:6.1f} µs a reading, {share}")
    for _, bench, _ in benches:
        bench.ledger.close()


def tank_rows(start_us: int, end_us: int) -> Iterator[Row]:
    """(time, stream, value): a tank whose outlet is blocked and whose scum nobody has pumped."""
    chance = random.Random(start_us)
    for time_us in range(start_us, end_us, STEP_US):
        yield time_us, "liquid.level", 0.03 + 0.002 * chance.random()
        yield time_us + 1, "scum.level", -0.35 - 0.001 * chance.random()


def tanks(folder: Path, histories_d: tuple[int, ...] = (1, 10, 100)) -> None:
    """Two days live after each history."""
    registry, profiles = registry_of(folder, "hillburn", TANK), {"hillburn": load_profile("hillburn")}
    live = list(tank_rows(LIVE_US, LIVE_US + 2 * DAY_US))
    for days in histories_d:
        bench = Bench(folder, f"tank-{days}", registry)
        bench.fill(tank_rows(LIVE_US - days * DAY_US, LIVE_US))
        bench.clock.now = LIVE_US
        engine = RuleEngine(bench.ledger, registry, profiles, bench.clock, RulesSettings())
        _drain(engine)
        cost = bench.live(engine, live, pack=2)
        print(f"a tank, {days:3} days before: {cost * 1e3:6.2f} ms a reading", flush=True)
        bench.ledger.close()


def recomputed(folder: Path, registry: Registry) -> None:
    """The rain is judged for a construction site alone: an outfall beside it would be judged again as well."""
    bench = Bench(folder, "minutes", registry_of(folder, "elmsford", YARD))
    count = bench.fill(weather(LIVE_US, LIVE_US + YEAR_US, MINUTE_US))
    end_us = LIVE_US + YEAR_US
    bench.clock.now = end_us
    print(f"a year of minutes: {count:,} readings")
    query = sa.select(schema.readings).where(
        schema.readings.c.node == "board", schema.readings.c.stream == "stage.level"
    )
    with bench.ledger.read() as conn:
        read_s = _timed(lambda: conn.execute(query.order_by(schema.readings.c.time_us)).all())
    _calibrate(bench, "stage.level", "level_two_point", "m", ("0.10", "0.11"))
    with bench.ledger.read() as conn:
        derived_s = _timed(lambda: Derivation(conn, registry).series("outfall/flow", LIVE_US, end_us))
    print(f"stage to flow: {derived_s:.1f} s (goal {GOAL_S:g} s), {_beside(derived_s, read_s)}")
    _rain_judged_again(bench, end_us)
    bench.ledger.close()


def _rain_judged_again(bench: Bench, end_us: int) -> None:
    profiles = {"elmsford": load_profile("elmsford")}
    engine = RuleEngine(bench.ledger, bench.registry, profiles, bench.clock, RulesSettings(batch_readings=5000))
    first_s = _timed(lambda: _drain(engine))
    with bench.ledger.read() as conn:
        before = len(duties.listed(conn, everything=True))
    _calibrate(bench, "rain.tips", "rain_volume", "mm", ("110", "100"))
    again_s = _timed(lambda: _drain(engine))
    c = schema.readings.c
    query = sa.select(schema.readings).where(c.node == "board", c.stream == "rain.tips", c.time_us < end_us)
    with bench.ledger.read() as conn:
        read_s = _timed(lambda: conn.execute(query.order_by(c.time_us)).all())
        after = len(duties.listed(conn, everything=True))
    print(f"rain judged at first: {first_s:.1f} s, {before} duties")
    print(f"again after a calibration: {again_s:.1f} s (goal {GOAL_S:g} s), {after} duties, {_beside(again_s, read_s)}")


def _beside(spent_s: float, read_s: float) -> str:
    return f"reading the rows {read_s:.1f} s, ratio {spent_s / read_s:.1f}"


def _calibrate(bench: Bench, stream: str, kind: str, unit: str, point: tuple[str, str]) -> None:
    as_found = [{"reference": point[0], "reading": point[1]}]
    body = {**CALIBRATION, "datastream": f"board/{stream}", "kind": kind, "unit": unit, "as_found": as_found}
    (record,) = parse_calibrations(json.dumps(body).encode(), "bench")
    with bench.ledger.begin() as conn:
        add_calibration(conn, record, bench.clock.now)


def _drain(engine: RuleEngine) -> None:
    while engine.step():
        pass


def _timed(work: Any) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    years = [int(each) for each in (sys.argv[1] if len(sys.argv) > 1 else "1,10,100").split(",")]
    months = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        registry = registry_of(folder, "elmsford", YARD, OUTFALL)
        tanks(folder)
        recomputed(folder, registry)
        histories(folder, registry, years, months)


if __name__ == "__main__":
    main()
