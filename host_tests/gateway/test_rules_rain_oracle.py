"""Rain judged step by step, in any order and batching, is what a slow and plain reading of all of it gives.

Events of every kind arrive shuffled among the readings of two gauges: maintenance, calibrations, flags of persons,
water of snow. The oracle knows no fold, no spell and no cache: it looks at each instant of all data anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from headwall.law import localtime
from headwall.units import Depth
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from support.long import LONG
from support.rules_house import BACKUP, BOARD_B, HOUR, MINUTE, PRIMARY, House, at, content, make_registry

START = at("2026-10-31 10:00")  # the clocks go back in the night
_SILENT = HOUR
_ZONE = localtime.zone("America/New_York")
_INCH = Fraction(254, 10)
_NOMINAL = {"board-a": _INCH / 100, "board-b": Fraction(1, 5)}
_B: dict[str, Any] = {"node": "board-b", "jid": "00000000000000bb"}
_HALF = _INCH / 2


@dataclass
class World:
    """All that happens, in no order: what `House` is fed and what the oracle looks at."""

    readings: list[tuple[str, int, int]] = field(default_factory=list)  # node, time, tips
    windows: list[tuple[str, int, int]] = field(default_factory=list)  # maintenance
    flags: list[tuple[str, int, int]] = field(default_factory=list)  # failed by a person
    calibrations: list[tuple[int, int]] = field(default_factory=list)  # of board-a: done, mm of reference for 20
    snow: list[tuple[int, str]] = field(default_factory=list)  # instant, inches

    @property
    def end_us(self) -> int:
        return max(time_us for _, time_us, _ in self.readings)

    def feeds(self) -> list[Callable[[House], object]]:
        """One call an event."""
        calls: list[Callable[[House], object]] = [lambda h, r=each: _put(h, [r]) for each in self.readings]
        calls += [lambda h, w=window: h.maintain(w[1], w[2], w[0]) for window in self.windows]
        calls += [lambda h, f=flag: h.flag(f[1], f[2], 4, node=f[0]) for flag in self.flags]
        calls += [
            lambda h, c=each: h.calibrate(c[0], reference=str(c[1]), reading="20")
            for each in dict(self.calibrations).items()
        ]
        calls += [lambda h, s=each: h.snow(s[0] - HOUR, s[0], f"{s[1]} in") for each in dict(self.snow).items()]
        return calls


def _put(house: House, readings: list[tuple[str, int, int]]) -> None:
    for node, fields in (("board-a", {}), ("board-b", _B)):
        house.put(*((time_us, tips) for each, time_us, tips in readings if each == node), **fields)


# ---- the oracle


def _valid(world: World, node: str) -> list[tuple[int, int]]:
    hidden = [(a, b) for each, a, b in [*world.windows, *world.flags] if each == node]
    return sorted((t, n) for each, t, n in world.readings if each == node and not any(a <= t < b for a, b in hidden))


def _primary_speaks(world: World, valid: list[tuple[int, int]], time_us: int, newest_us: int) -> bool:
    """Whether the instant lies in no gap of the primary."""
    if any(node == "board-a" and a <= time_us < b for node, a, b in [*world.windows, *world.flags]):
        return False
    times = [t for t, _ in valid]
    if time_us in times:
        return True
    before = max((t for t in times if t < time_us), default=None)
    after = min((t for t in times if t > time_us), default=None)
    if before is None:
        return False
    return (newest_us if after is None else after) - before <= _SILENT


def _tip(world: World, node: str, time_us: int) -> Fraction:
    done = [each for each in sorted(dict(world.calibrations).items()) if each[0] <= time_us]
    factor = Fraction(done[-1][1], 20) if done and node == "board-a" else Fraction(1)
    return _NOMINAL[node] * factor


def _rain(world: World) -> list[tuple[int, Fraction]]:
    """Every rain that counts, in mm, in order of time."""
    primary, backup = _valid(world, "board-a"), _valid(world, "board-b")
    newest_us = max((t for t, _ in [*primary, *backup]), default=0)
    found = [(t, n * _tip(world, "board-a", t)) for t, n in primary if n]
    found += [
        (t, n * _tip(world, "board-b", t)) for t, n in backup if n and not _primary_speaks(world, primary, t, newest_us)
    ]
    found += [(t, Fraction(inches) * _INCH) for t, inches in dict(world.snow).items()]
    return sorted(found)


def _expected(world: World) -> list[dict[str, Any]]:
    """Crossings of "event, rolling 24 h or day, whichever is first, once a storm; answered rain counts no more"."""
    storms: list[list[tuple[int, Fraction]]] = []
    for each in _rain(world):
        if not storms or each[0] - storms[-1][-1][0] >= 6 * HOUR:
            storms.append([])
        storms[-1].append(each)
    answered: list[int] = []
    found = []
    for n, storm in enumerate(storms):
        crossing = next((c for i in range(len(storm)) if (c := _crossing(storms, n, i, answered))), None)
        if crossing is not None:
            answered.append(n)
            depth = sum((mm for _, mm in storm), Fraction(0))
            found.append({"start": storm[0][0], "end": storm[-1][0], "crossing": crossing, "mm": Depth(depth).text_mm})
    return found


def _crossing(storms: list[list[tuple[int, Fraction]]], n: int, i: int, answered: list[int]) -> int | None:
    now_us = storms[n][i][0]
    own = storms[n][: i + 1]
    earlier = [rain for m, storm in enumerate(storms[:n]) if m not in answered for rain in storm]
    day_us = localtime.day_bounds(now_us, _ZONE)[0]
    event = sum((mm for _, mm in own), Fraction(0))
    rolling = sum((mm for t, mm in [*earlier, *own] if t > now_us - 24 * HOUR), Fraction(0))
    today = sum((mm for t, mm in [*earlier, *own] if t >= day_us), Fraction(0))
    return now_us if max(event, rolling, today) >= _HALF else None


# ---- worlds


def _world(seed: int, layers: int) -> World:
    chance, world = random.Random(seed), World()
    now_us = START
    for _ in range(chance.randint(1, 4)):
        now_us += chance.choice([10 * MINUTE, 50 * MINUTE, 2 * HOUR, 6 * HOUR, 9 * HOUR, 30 * HOUR])
        step_us = chance.choice([7_000_000, 40_000_000, 3 * MINUTE])
        for _ in range(chance.randint(1, 30)):
            world.readings.append(("board-a", now_us, chance.choice([1, 2, 3])))
            if chance.random() < 0.8:
                world.readings.append(("board-b", now_us + chance.randint(1, 999) * 1000, chance.choice([1, 2, 5])))
            now_us += step_us
    for node in ("board-a", "board-b"):
        world.readings += [(node, t, 0) for t in range(START - HOUR, now_us + 8 * HOUR, 50 * MINUTE)]
    for _ in range(chance.randint(0, 2)):  # a board that is away: nothing of it ever comes
        gone = chance.choice(["board-a", "board-a", "board-b"])
        a = START + chance.randint(0, 20) * HOUR
        b = a + chance.choice([HOUR // 2, 2 * HOUR, 9 * HOUR, 400 * HOUR])
        world.readings = [each for each in world.readings if not (each[0] == gone and a <= each[1] < b)]
    world.readings = world.readings or [("board-a", START, 0)]
    span = now_us - START
    for _ in range(layers):
        kind, node = chance.randint(0, 3), chance.choice(["board-a", "board-b"])
        a = START + chance.randrange(span + 1)
        b = a + chance.choice([10 * MINUTE, HOUR, 5 * HOUR])
        if kind == 0:
            world.windows.append((node, a, b))
        elif kind == 1:
            world.flags.append((node, a, b))
        elif kind == 2:
            world.calibrations.append((a // 1_000_000 * 1_000_000, chance.choice([17, 19, 21, 26])))
        else:
            world.snow.append((a, chance.choice(["0.1", "0.23", "0.5"])))
    return world


def _judged(house: House) -> list[dict[str, Any]]:
    standing = [duty.body for duty in house.duties() if duty.body.trigger_gone == ""]
    found = [
        {"start": b.storm.start_us, "end": b.storm.end_us, "crossing": b.crossing_us, "mm": b.storm.depth_mm}
        for b in standing
    ]
    return sorted(found, key=lambda each: each["crossing"])


def _both(folder: Path, now_us: int, batch: int = 5000) -> House:
    registry = make_registry(folder, gauges=f"{PRIMARY}, {BACKUP}", nodes=BOARD_B)
    return House(registry, now_us, batch=batch)


@pytest.mark.timeout(1800)
@settings(
    max_examples=100 if LONG else 10,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # a smaller seed is no simpler world
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32), layers=st.integers(0, 5), batch=st.sampled_from([9, 60, 5000]))
@example(seed=1591382744, layers=5, batch=60)  # a backup's readings come after the primary's gap has ended
@example(seed=1001466475, layers=6, batch=5000)  # the same, out of order
def test_events_in_any_order_and_batching_end_as_a_plain_reading_of_all_of_them(
    tmp_path: Path, seed: int, layers: int, batch: int
) -> None:
    world = _world(seed, layers)
    calls, chance = world.feeds(), random.Random(seed)
    house = _both(tmp_path, world.end_us, batch)
    if chance.random() < 0.7:
        chance.shuffle(calls)
    while calls:
        taken = chance.randint(1, max(len(calls) // 2, 40))
        for call in calls[:taken]:
            call(house)
        del calls[:taken]
        if chance.random() < 0.2:
            house.new_engine()
        house.judge()
    at_once = _both(tmp_path, world.end_us)
    for call in reversed(world.feeds()):
        call(at_once)
    at_once.judge()
    assert _judged(house) == _expected(world)
    gone = {duty.body.duty for duty in house.duties() if duty.body.trigger_gone}
    standing = [duty for duty in house.duties() if duty.body.duty not in gone]
    assert _without_numbers(content(standing)) == _without_numbers(content(at_once.duties()))
    house.close()
    at_once.close()


def _without_numbers(duties: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries have the number under which they came."""
    for duty in duties:
        storm = duty.pop("storm")
        duty["storm"] = [getattr(storm, name) for name in storm.__struct_fields__ if name != "by_hand"]
        duty["snow"] = sorted((each.end_us, each.depth_in) for each in storm.by_hand)
    return duties


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_itself_sees_storms_backups_and_layers(seed: int) -> None:
    """A test against an oracle that finds nothing would prove nothing."""
    worlds = [_world(seed * 100 + n, 4) for n in range(30)]
    assert sum(len(_expected(world)) for world in worlds) > 20
    plain = [World(readings=world.readings) for world in worlds]
    assert sum(_expected(one) != _expected(other) for one, other in zip(worlds, plain, strict=True)) > 5
