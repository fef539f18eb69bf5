"""Tips faster than a bucket can give them: a fault of the sensor, which the gateway notices too, and no storm."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.rules.rain import RainReading, plausible
from hypothesis import given
from hypothesis import strategies as st
from support.rules_house import HOUR, MINUTE, House, at, content, make_registry

NOON = at("2026-06-10 12:00")
MS = 1_000


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(make_registry(tmp_path), NOON + HOUR)
    yield made
    made.close()


def faults(house: House) -> set[str]:
    return {notice.body["fault"] for notice in house.notices("node_fault")}


def test_two_hundred_tips_in_a_second_are_a_fault_and_no_duty(house: House) -> None:
    house.alive(NOON - HOUR, NOON - MINUTE)
    house.judge()
    house.rain(NOON, 200, 5 * MS)
    house.judge()
    assert house.duties(everything=True) == []
    assert faults(house) == {"implausible_rate"}
    assert {person for _, person, _, _ in house.outbox()} == {"installer"}


def test_chatter_that_comes_tip_by_tip_ends_without_a_duty(house: House) -> None:
    for n in range(60):
        house.rain(NOON + n * 5 * MS, 1)
        house.judge()
    assert not [duty for duty in house.duties() if not duty.body.trigger_gone]
    assert faults(house) == {"implausible_rate"}


def test_chatter_beside_real_rain_leaves_the_duty_of_the_rain(house: House) -> None:
    house.rain(NOON - HOUR, 55)
    house.rain(NOON, 200, 5 * MS)
    house.judge()
    (duty,) = house.duties()
    assert duty.body.storm.depth_in == "0.55"


def test_contact_that_bounces_twice_a_tip_is_still_judged(house: House) -> None:
    for n in range(30):
        house.rain(NOON - HOUR + n * MINUTE, 3, 100 * MS)
    house.judge()
    assert len(house.duties()) == 1, "rather a duty too many than a storm unseen"


def test_imported_tips_with_times_to_the_second_are_judged(house: House) -> None:
    house.rain(NOON - HOUR, 60, 0, source="import")
    house.judge()
    assert len(house.duties()) == 1


def test_chatter_in_any_order_and_any_steps_ends_alike(tmp_path: Path) -> None:
    times = [NOON - HOUR + n * MINUTE for n in range(52)] + [NOON + n * 5 * MS for n in range(100)]
    ends = []
    for seed in range(4):
        house = House(make_registry(tmp_path), NOON + HOUR, batch=(7, 5000)[seed % 2])
        shuffled = random.Random(seed).sample(times, len(times)) if seed else times
        for start in range(0, len(shuffled), 31):
            house.put(*((time_us, 1) for time_us in shuffled[start : start + 31]))
            house.judge()
        ends.append(content(house.duties()))
        house.close()
    assert ends[0] and all(end == ends[0] for end in ends)


_readings = st.lists(
    st.builds(RainReading, st.integers(0, 3_000_000), st.integers(1, 9), st.integers(0, 1), st.booleans()), max_size=60
).map(sorted)


@given(_readings)
def test_plausible_drops_only_tips_of_the_node_in_long_runs_and_nothing_more_the_second_time(
    readings: list[RainReading],
) -> None:
    kept = plausible(readings)
    dropped = [reading for reading in readings if reading not in kept]
    assert all(reading.tips and not reading.imported for reading in dropped)
    assert len(readings) - len(kept) == 0 or len(readings) - len(kept) >= 10
    assert plausible(kept) == kept
