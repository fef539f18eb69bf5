"""What a reading in order costs the rules does not grow: counted in lines that run, not in seconds."""

from __future__ import annotations

from pathlib import Path

from headwall.hydrology.storms import HOUR_US
from support.executed import lines_run
from support.rules_house import HOUR, MINUTE, House, at, make_registry

START = at("2026-06-10 12:00")
_JUDGING = (
    "rules/storm.py",
    "rules/rain_line.py",
    "rules/rain_heard.py",
    "rules/rain.py",
    "rules/duties.py",
    "rules/matching.py",
    "hydrology/storms.py",
    "hydrology/undercatch.py",
    "hydrology/intensity.py",
)


def _cost(house: House, start_us: int, readings: int, every_us: int) -> int:
    """Lines that judge steady rain: a tip in ten reports."""
    times = [start_us + n * every_us for n in range(readings)]
    house.put(*((time_us, 1 if n % 10 == 0 else 0) for n, time_us in enumerate(times)))
    house.clock.now = times[-1]
    return lines_run(house.judge, *_JUDGING)


def _storms(house: House, weeks: int) -> int:
    """A storm a week and the hours after it; returns the time of the last tip."""
    for week in range(weeks):
        last = house.rain(START + week * 168 * HOUR, 60)
        house.alive(last + 15 * MINUTE, last + 7 * HOUR, every_us=HOUR)
    return last


def test_a_reading_late_in_a_long_storm_costs_what_one_early_in_it_does(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path), START, batch=200)
    hours = [_cost(house, START + hour * HOUR, 600, 6_000_000) for hour in range(14)]
    (duty,) = house.duties()
    assert duty.body.storm.end_us > START + 13 * HOUR_US
    assert hours[13] <= 1.2 * hours[2]
    house.close()


def test_a_reading_after_years_of_storms_costs_what_one_after_a_few_does(tmp_path: Path) -> None:
    costs = []
    for weeks in (3, 150):
        house = House(make_registry(tmp_path), START)
        last = _storms(house, weeks) + 166 * HOUR
        house.put((last, 0))
        house.judge(last)
        assert len(house.duties(everything=True)) == weeks
        costs.append(_cost(house, last + MINUTE, 600, 6_000_000))
        house.close()
    assert costs[1] <= 1.2 * costs[0]


def test_late_readings_cost_their_wet_spell_once_a_batch_and_not_the_time_between(tmp_path: Path) -> None:
    """A reading of now and one of two years ago in one batch: two spells are folded, and nothing between them."""
    costs = []
    for weeks in (3, 100):
        house = House(make_registry(tmp_path), START)
        last = _storms(house, weeks)
        house.judge(last + 8 * HOUR)
        house.put((START + 90_000_000, 1), (last + 8 * HOUR, 0))
        costs.append(lines_run(house.judge, *_JUDGING))
        house.close()
    assert costs[1] <= 1.2 * costs[0]
