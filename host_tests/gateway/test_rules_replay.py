"""However the same readings arrive, the duties end the same: shuffled, in batches, with restarts, from no state."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.rules_house import HOUR, MINUTE, House, at, content, make_registry

START = at("2026-10-31 22:00")  # the night in which New York's clocks go back
#: bursts of rain: pause before it in half hours, tips, seconds between tips
_BURST = st.tuples(st.integers(0, 60), st.integers(1, 60), st.integers(0, 400))


def _readings(bursts: list[tuple[int, int, int]]) -> list[tuple[int, float]]:
    """Tips of the bursts, and a zero report every 50 minutes from before the first to long after the last."""
    found: list[tuple[int, float]] = []
    now_us = START
    for pause, tips, seconds in bursts:
        now_us += pause * 30 * MINUTE
        for _ in range(tips):
            found.append((now_us, 1.0))
            now_us += seconds * 1_000_000
    found += [(instant, 0.0) for instant in range(START - HOUR, now_us + 8 * HOUR, 50 * MINUTE)]
    return sorted(found)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bursts=st.lists(_BURST, min_size=1, max_size=6), seed=st.integers(0, 2**32), batch=st.integers(1, 60))
def test_readings_in_any_order_and_batching_give_the_same_duties(
    tmp_path: Path, bursts: list[tuple[int, int, int]], seed: int, batch: int
) -> None:
    readings = _readings(bursts)
    now_us = readings[-1][0]
    registry = make_registry(tmp_path)
    on_time = House(registry, now_us)
    on_time.put(*readings)
    on_time.judge()
    shuffled = House(registry, now_us, batch=batch)
    chance = random.Random(seed)
    chance.shuffle(readings)
    while readings:
        taken = chance.randint(1, len(readings))
        shuffled.put(*readings[:taken])
        del readings[:taken]
        if chance.random() < 0.3:
            shuffled.new_engine()
        shuffled.judge()
    assert content(shuffled.duties()) == content(on_time.duties())
    assert all(duty.body.trigger_gone == "" for duty in shuffled.duties())
    on_time.close()
    shuffled.close()


@pytest.mark.parametrize("batch", [1, 7, 5000])
def test_reading_by_reading_and_at_once_give_the_same_duties(tmp_path: Path, batch: int) -> None:
    readings = _readings([(0, 49, 60), (14, 3, 60), (10, 60, 30), (60, 55, 200), (13, 49, 10)])
    registry = make_registry(tmp_path)
    houses = [House(registry, readings[-1][0], batch=each) for each in (5000, batch)]
    for house in houses:
        house.put(*readings)
        house.judge()
    assert content(houses[0].duties()) == content(houses[1].duties())
    assert len(houses[0].duties()) >= 2
    for house in houses:
        house.close()


def test_a_restart_in_the_middle_of_a_storm_changes_nothing(tmp_path: Path) -> None:
    registry = make_registry(tmp_path)
    house = House(registry, START)
    house.judge(house.rain(START, 30))
    house.new_engine()
    house.judge(house.rain(START + 30 * MINUTE, 30))
    (duty,) = house.duties()
    assert duty.body.crossing_us == START + 49 * MINUTE
    assert len(house.outbox()) == 1
    house.close()


def test_readings_met_again_by_an_engine_without_memory_change_nothing(tmp_path: Path) -> None:
    from headwall.rules.engine import CURSOR

    house = House(make_registry(tmp_path), START)
    last = house.rain(START, 60)
    house.judge(last)
    before = (content(house.duties()), house.outbox(), house.records(), house.duties()[0].version)
    house.new_engine()
    with house.ledger.begin() as conn:
        house.ledger.set_cursor(conn, CURSOR, 0)
    house.judge(last)
    assert (content(house.duties()), house.outbox(), house.records(), house.duties()[0].version) == before
    house.close()
