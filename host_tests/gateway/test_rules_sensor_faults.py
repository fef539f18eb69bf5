"""A sensor that gives no value, or a board that gives nothing, is told once to its installer, and is over when well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headwall.ledger import schema
from headwall.rules.facts import NodeFault
from support.registry_text import node, stream
from support.rules_house import HOUR, MINUTE, House, at, make_registry

NOON = at("2026-06-10 12:00")
_OUTFALL = node(
    "outfall-7",
    "240ac400000b",
    stream("stage.distance", "null_limit = 4", "silent_after_min = 60"),
    "water.temperature",
)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(make_registry(tmp_path, more=_OUTFALL), NOON)
    made.alive(NOON - HOUR, NOON + 48 * HOUR)  # the gauge is well
    yield made
    made.close()


def sense(house: House, at_us: int, value: float | None, reason: str = "no_echo", **fields: Any) -> None:
    """One reading of the stage sensor, taken and judged at an instant."""
    given = {"node": "outfall-7", "stream": "stage.distance", "jid": "00000000000000bb"}
    house.clock.now = at_us
    hear(house, at_us)
    house.put((at_us, value), **{**given, "null_reason": None if value is not None else reason, **fields})
    house.judge()


def hear(house: House, at_us: int) -> None:
    with house.ledger.begin() as conn:
        conn.execute(schema.node_states.delete())
        row = {"node": "outfall-7", "status": "online", "body": {}, "received_us": at_us, "last_data_us": at_us}
        conn.execute(schema.node_states.insert().values(**row))


def told(house: House) -> list[tuple[str, str, str]]:
    return [(who, fact.node, fact.fault) for _, who, _, fact in house.outbox() if isinstance(fact, NodeFault)]


def standing(house: House) -> list[str]:
    return [row.body["fault"] for row in house.notices("node_fault") if row.closed_us is None]


NO_VALUE = ("installer", "outfall-7", "stage.distance gives no value")
STUCK = ("installer", "outfall-7", "stage.distance stuck")


def test_a_few_nulls_are_no_fault(house: House) -> None:
    for n, value in enumerate([None, None, None, 1.5, None, None, None, 1.5]):
        sense(house, NOON + n * MINUTE, value)
    assert told(house) == []


def test_nulls_in_a_row_are_told_once_and_over_with_the_first_value(house: House) -> None:
    for n in range(12):
        sense(house, NOON + n * MINUTE, None)
    assert told(house) == [NO_VALUE]
    assert standing(house) == ["stage.distance gives no value"]
    sense(house, NOON + 12 * MINUTE, 1.5)
    assert standing(house) == []
    for n in range(13, 17):
        sense(house, NOON + n * MINUTE, None)
    assert told(house) == [NO_VALUE] * 2


def test_a_frozen_value_is_told_at_once(house: House) -> None:
    sense(house, NOON, 1.5)
    sense(house, NOON + MINUTE, None, "stuck")
    sense(house, NOON + 2 * MINUTE, None, "stuck")
    assert told(house) == [STUCK]
    sense(house, NOON + 3 * MINUTE, 1.6)
    assert standing(house) == []


def test_a_restart_in_the_middle_of_a_row_changes_nothing(house: House) -> None:
    for n in range(2):
        sense(house, NOON + n * MINUTE, None)
    house.new_engine()
    for n in range(2, 8):
        sense(house, NOON + n * MINUTE, None)
        house.new_engine()
    assert told(house) == [NO_VALUE]
    sense(house, NOON + 9 * MINUTE, 1.5)
    assert standing(house) == []


def test_nulls_that_come_late_do_not_count_against_newer_values(house: House) -> None:
    sense(house, NOON + 30 * MINUTE, 1.5)
    for n in range(8):
        sense(house, NOON + n * MINUTE, None)
    assert told(house) == []


def test_nulls_of_a_backlog_are_old_news(house: House) -> None:
    house.clock.now = NOON + 20 * HOUR
    hear(house, house.clock.now)
    fields = {"node": "outfall-7", "stream": "stage.distance", "jid": "00000000000000bb", "null_reason": "no_echo"}
    house.put(*((NOON + n * MINUTE, None) for n in range(10)), **fields)
    house.judge()
    assert told(house) == []


def test_nulls_in_maintenance_do_not_count(house: House) -> None:
    with house.ledger.begin() as conn:
        window = {"node": "outfall-7", "start_us": NOON, "end_us": NOON + 5 * MINUTE, "by": "Sam", "at_us": NOON}
        conn.execute(schema.maintenance.insert().values(**window))
    for n in range(8):
        sense(house, NOON + n * MINUTE, None)
    assert told(house) == []
    for n in range(5, 12):  # marked by the board itself
        sense(house, NOON + 10 * MINUTE + n * MINUTE, None, quarantine="maintenance")
    assert told(house) == []
    sense(house, NOON + 9 * MINUTE, None)
    assert told(house) == [NO_VALUE]


def test_a_stream_that_the_registry_does_not_have_now_is_nobodys_fault(house: House) -> None:
    for n in range(8):
        sense(house, NOON + n * MINUTE, None, stream="roof.distance")
    assert told(house) == []


def test_nulls_of_a_rain_gauge_are_left_to_its_own_rules(house: House) -> None:
    house.put(*((NOON + n * MINUTE, None) for n in range(10)), null_reason="stuck")
    hear(house, NOON + 10 * MINUTE)
    house.judge(NOON + 10 * MINUTE)
    assert told(house) == []


def test_a_board_without_a_gauge_that_falls_silent_is_told_once_whatever_the_broker_says(house: House) -> None:
    sense(house, NOON, 1.5)
    for minutes in (30, 59, 65, 90, 300):  # it is looked at every five minutes
        house.judge(NOON + minutes * MINUTE)
        assert bool(told(house)) is (minutes > 60), minutes
    house.new_engine()
    house.judge(NOON + 400 * MINUTE)
    assert told(house) == [("installer", "outfall-7", "silent")]
    sense(house, NOON + 500 * MINUTE, 1.5)
    house.judge(NOON + 506 * MINUTE)
    assert standing(house) == []


def test_a_board_that_never_spoke_is_told_as_silent(house: House) -> None:
    house.judge(NOON + 30 * MINUTE)
    assert told(house) == []
    house.judge(NOON + 61 * MINUTE)
    assert told(house) == [("installer", "outfall-7", "silent")]


def test_a_silence_is_told_once_though_the_gateway_is_started_again_and_again(house: House) -> None:
    house.judge(NOON + 61 * MINUTE)
    for n in range(5):
        house.clock.now = NOON + (62 + n) * MINUTE
        house.new_engine()
        house.judge()
    assert len(told(house)) == 1
