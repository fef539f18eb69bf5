"""An outfall is judged by the gauges that it has at the time: one that is taken away or replaced, and rain on each."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall.registry import load_registry
from support.outfall_house import DAY, NEAR, PULSE, START, OutfallHouse, Reading, outfall_registry, quiet
from support.rules_house import BOARD_B, HOUR, MINUTE

_UNTIL = NEAR.replace("2020-01-01 }", "2020-01-01, to = {day} }")
_THEN = '{ datastream = "board-b/rain.tips", distance_m = 60, from = {day} }'


def suspected(folder: Path, gauges: str, readings: list[Reading]) -> list[tuple[int, int]]:
    outfall_registry(folder)
    path = folder / "registry.toml"
    text = path.read_text("utf-8")
    assert NEAR in text
    path.write_text(BOARD_B.lstrip() + text.replace(NEAR, gauges), "utf-8")
    house = OutfallHouse(load_registry(path))
    house.accept("board-b")
    house.feed(readings)
    found = [
        (r.body["start_us"], r.body["end_us"]) for r in house.notices("suspected_discharge") if r.closed_us is None
    ]
    house.close()
    return found


def of_b(readings: list[Reading]) -> list[Reading]:
    return [("board-b", *each[1:]) for each in readings if each[0] == "board-a"]


def merged(*parts: list[Reading]) -> list[Reading]:
    return sorted((each for part in parts for each in part), key=lambda each: each[2])


def test_after_its_gauge_was_taken_away_no_hour_of_an_outfall_is_dry(tmp_path: Path) -> None:
    assert suspected(tmp_path, _UNTIL.replace("{day}", "2026-06-06"), quiet(10, [PULSE])) == []


@pytest.mark.parametrize("still_speaks", [True, False])
def test_a_gauge_that_replaces_another_is_heard(tmp_path: Path, still_speaks: bool) -> None:
    gauges = f"{_UNTIL}, {_THEN}".replace("{day}", "2026-06-04")
    readings, changed_us = quiet(10, [PULSE]), START + 3 * DAY
    kept = [each for each in readings if each[0] != "board-a" or still_speaks or each[2] < changed_us]
    assert suspected(tmp_path, gauges, merged(kept, of_b(readings))) == [PULSE[:2]]


def test_rain_at_the_gauge_that_replaced_another_counts_and_at_the_other_no_more(tmp_path: Path) -> None:
    gauges = f"{_UNTIL}, {_THEN}".replace("{day}", "2026-06-04")
    readings = quiet(10, [PULSE])
    rain: list[Reading] = [("board-a", "rain.tips", PULSE[0] - 5 * HOUR + n * MINUTE, 1.0) for n in range(40)]
    (tmp_path / "a").mkdir()
    assert suspected(tmp_path / "a", gauges, merged(readings, of_b(readings), rain)) == [PULSE[:2]]
    (tmp_path / "b").mkdir()
    assert suspected(tmp_path / "b", gauges, merged(readings, of_b(readings), of_b(rain))) == []


@pytest.mark.parametrize("spoke_before", [True, False])
def test_before_a_gauge_is_the_outfalls_no_hour_is_dry_though_it_spoke_elsewhere(
    tmp_path: Path, spoke_before: bool
) -> None:
    since_us = START + 8 * DAY  # 2026-06-09, ten hours before the pulse
    readings = [each for each in quiet(10, [PULSE]) if each[0] != "board-a" or spoke_before or each[2] >= since_us]
    assert suspected(tmp_path, NEAR.replace("2020-01-01", "2026-06-09"), readings) == []
