"""A restart of the gateway changes nothing of what is suspected: not of long ago, not of hours that still waited.

And what no hour has ended for costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.rules import outfalls
from support.outfall_house import DAY, PULSE, START, OutfallHouse, Reading, outfall_registry, quiet
from support.rules_house import MINUTE


@pytest.fixture
def house(tmp_path: Path) -> Iterator[OutfallHouse]:
    made = OutfallHouse(outfall_registry(tmp_path))
    yield made
    made.close()


def open_spans(house: OutfallHouse) -> list[tuple[int, int]]:
    rows = [row for row in house.notices("suspected_discharge") if row.closed_us is None]
    return sorted((row.body["start_us"], row.body["end_us"]) for row in rows)


def test_a_restart_closes_no_notice_of_a_month_ago(house: OutfallHouse) -> None:
    """Hours at the far end of what is read again have too little before them to be judged."""
    readings = quiet(43, [PULSE])
    restart = next(n for n, each in enumerate(readings) if each[2] > PULSE[0] + 34 * DAY)
    house.feed(readings[:restart])
    assert open_spans(house) == [PULSE[:2]]
    house.new_engine()
    house.feed(readings[restart:])
    assert open_spans(house) == [PULSE[:2]]


def test_hours_that_waited_for_the_gauge_are_judged_after_a_restart_and_a_long_silence(house: OutfallHouse) -> None:
    def heard(each: Reading, since_us: int, until_us: int) -> bool:
        return since_us < each[2] < until_us

    readings, end_us, back_us = quiet(20, [PULSE]), PULSE[1] + 30 * MINUTE, PULSE[0] + 9 * DAY
    of_gauge = [each for each in readings if each[0] == "board-a"]
    house.feed([each for each in readings if heard(each, 0, end_us) and (each not in of_gauge or each[2] < PULSE[0])])
    assert open_spans(house) == []
    house.new_engine()
    house.feed([each for each in of_gauge if heard(each, PULSE[0], back_us)])
    house.feed([each for each in readings if heard(each, back_us, back_us + DAY)])
    assert [start_us for start_us, _ in open_spans(house)] == [PULSE[0]]


def test_between_two_hours_a_report_costs_an_outfall_no_look_into_the_ledger(
    house: OutfallHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked(*_: object, **__: object) -> None:
        raise AssertionError("looked into the ledger")

    house.feed(quiet(1))
    now_us = START + DAY + 5 * MINUTE
    house.feed([("node-7", "meter.flow", now_us, 0.002), ("board-a", "rain.tips", now_us, 0)])
    with monkeypatch.context() as patched:
        patched.setattr(outfalls, "newest_time", looked)
        house.feed([("node-7", "meter.flow", now_us + MINUTE, 0.002), ("board-a", "rain.tips", now_us + MINUTE, 0)])
        assert house.engine.healthy() is None
        house.feed([("node-7", "meter.flow", now_us + 60 * MINUTE, 0.002)])
        assert "looked into the ledger" in (house.engine.healthy() or "")
