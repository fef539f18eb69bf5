"""A silent gauge is told once a silence, closes when it speaks, and is told again the next time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.rules.facts import GaugeSilent, StormDuty
from support.registry_text import ACTIVE
from support.rules_house import GAUGE, HOUR, MINUTE, House, at, make_registry

NOON = at("2026-06-10 12:00")
_SHUT = ACTIVE.replace("active", "shut_down")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(make_registry(tmp_path), NOON)
    yield made
    made.close()


def _silences(house: House) -> list[GaugeSilent]:
    return [fact for *_, fact in house.outbox() if isinstance(fact, GaugeSilent)]


def test_an_hour_without_valid_data_is_told_once(house: House) -> None:
    house.put((NOON, 0))
    house.judge(NOON)
    house.judge(NOON + 59 * MINUTE)
    assert _silences(house) == []
    for minutes in (60, 61, 200):
        house.judge(NOON + minutes * MINUTE)
    (fact,) = _silences(house)
    assert (fact.last_valid_us, fact.noticed_us, fact.limit_min) == (NOON, NOON + HOUR, 60)
    assert (fact.datastream, fact.sites, fact.municipality) == (GAUGE, ["yard"], "elmsford")
    assert [(person, how) for _, person, how, _ in house.outbox()] == [("officer", "now")]


def test_the_engine_asks_to_be_woken_when_the_gauge_falls_silent(house: House) -> None:
    house.put((NOON, 0))
    house.judge(NOON)
    house.put((NOON + 10 * MINUTE, 0))
    house.judge(NOON + 10 * MINUTE)
    assert house.engine._next_us() <= NOON + 10 * MINUTE + HOUR


def test_silence_ends_when_the_gauge_speaks_and_the_next_one_is_told_again(house: House) -> None:
    house.put((NOON, 0))
    house.judge(NOON + HOUR)
    house.put((NOON + 2 * HOUR, 0))
    house.judge(NOON + 2 * HOUR)
    assert [notice.closed_us for notice in house.notices("gauge_silent")] == [NOON + 2 * HOUR]
    house.judge(NOON + 3 * HOUR)
    assert [notice.closed_us for notice in house.notices("gauge_silent")] == [NOON + 2 * HOUR, None]
    assert len(_silences(house)) == 2


def test_a_backlog_that_does_not_reach_the_present_leaves_the_notice_open(house: House) -> None:
    house.put((NOON, 0))
    house.judge(NOON + 2 * HOUR)
    house.put((NOON + 30 * MINUTE, 0))
    house.judge(NOON + 2 * HOUR + MINUTE)
    assert [notice.closed_us for notice in house.notices("gauge_silent")] == [None]
    assert len(_silences(house)) == 1


def test_a_restart_does_not_begin_the_hour_anew(house: House) -> None:
    house.put((NOON, 0))
    house.judge(NOON)
    house.clock.now = NOON + 50 * MINUTE
    house.new_engine()
    house.judge(NOON + 60 * MINUTE)
    assert len(_silences(house)) == 1


def test_a_start_after_a_long_stop_waits_for_the_backlog_before_it_calls_a_gauge_silent(house: House) -> None:
    house.put((NOON, 0))
    house.judge(NOON)
    house.clock.now = NOON + 5 * HOUR
    house.new_engine()
    house.judge()
    assert _silences(house) == []
    house.judge(NOON + 5 * HOUR + 2 * MINUTE)
    assert len(_silences(house)) == 1


def test_nulls_and_failed_readings_do_not_end_a_silence(house: House) -> None:
    house.put((NOON, 0))
    house.judge(NOON + HOUR)
    house.put((NOON + 2 * HOUR, None))
    house.put((NOON + 2 * HOUR, 0), quality=4)
    house.judge(NOON + 2 * HOUR)
    assert [notice.closed_us for notice in house.notices("gauge_silent")] == [None]


def test_a_gauge_that_never_spoke_is_silent_an_hour_after_the_first_start(house: House) -> None:
    house.judge(NOON)
    house.judge(NOON + 59 * MINUTE)
    assert _silences(house) == []
    house.judge(NOON + HOUR)
    assert [fact.last_valid_us for fact in _silences(house)] == [None]


def test_in_commissioning_the_installer_alone_is_told(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path), NOON, accepted=False)
    house.put((NOON, 0))
    house.judge(NOON + HOUR)
    assert [person for _, person, _, _ in house.outbox()] == ["installer"]
    house.close()


def test_no_active_site_no_notice(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path, status=_SHUT), NOON)
    house.put((NOON, 0))
    house.judge(NOON + 5 * HOUR)
    assert house.notices("gauge_silent") == []
    house.close()


def test_a_storm_whose_gauge_falls_silent_says_the_open_gap_and_then_the_closed_one(house: House) -> None:
    last = house.rain(NOON, 55)
    house.judge(last)
    house.judge(last + HOUR)
    assert [(gap.start_us, gap.end_us) for gap in house.duties()[0].body.gaps] == [(last, None)]
    house.put((last + 3 * HOUR, 0))
    house.judge(last + 3 * HOUR)
    assert [(gap.start_us, gap.end_us) for gap in house.duties()[0].body.gaps] == [(last, last + 3 * HOUR)]
    assert len([fact for *_, fact in house.outbox() if isinstance(fact, StormDuty)]) == 1
