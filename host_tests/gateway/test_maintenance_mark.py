"""Readings that a board took in maintenance mode (`mnt`): kept, in custody, shown apart, and never judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.ingest.batch import Intake
from headwall.ingest.sorting import Message
from headwall.ledger import schema
from headwall.settings import IngestSettings
from headwall.wire.contract import topic
from headwall.wire.errors import PackError
from headwall.wire.senml import Record, decode, encode_record
from support.rules_house import HOUR, JID, MINUTE, House, at, make_registry

NOON = at("2026-06-10 12:00")
MAC = "240ac400000a"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(make_registry(tmp_path), NOON + HOUR)
    yield made
    made.close()


def tips(mark: dict[str, Any], count: int = 50) -> bytes:
    """A pack of a tip a minute from noon, enough for a duty."""
    head = {"bn": f"urn:dev:mac:{MAC}:rain.tips", "bu": "count", "bt": NOON // 1_000_000, "jid": JID, "seq": 1}
    rows: list[dict[str, Any]] = [{"t": 60 * n, "v": 1, "s": n + 1, **mark} for n in range(count)]
    rows[0] = {**head, **rows[0]}
    return json.dumps(rows).encode()


def store(house: House, payload: bytes) -> Any:
    intake = Intake(house.ledger, house.registry, IngestSettings(), house.clock)
    return intake.store([Message(topic("board-a", "tele"), payload, house.clock.now)])


def quarantines(house: House) -> set[str | None]:
    with house.ledger.read() as conn:
        return set(conn.execute(sa.select(schema.readings.c.quarantine)).scalars())


@pytest.mark.parametrize(
    ("mark", "duties", "quarantine"), [({}, 1, None), ({"mnt": 0}, 1, None), ({"mnt": 1}, 0, "maintenance")]
)
def test_rain_in_maintenance_mode_is_kept_and_makes_no_duty(
    house: House, mark: dict[str, int], duties: int, quarantine: str | None
) -> None:
    outcome = store(house, tips(mark))
    house.judge()
    assert (outcome.stored, outcome.letters, outcome.faults) == (50, [], {})
    assert quarantines(house) == {quarantine}
    assert len(house.duties()) == duties


def test_the_pour_after_maintenance_mode_ended_counts_alone(house: House) -> None:
    rows = json.loads(tips({"mnt": 1}, 40))
    rows += [{"t": 60 * n, "v": 1, "s": n + 1} for n in range(40, 50)]
    store(house, json.dumps(rows).encode())
    house.judge()
    assert house.duties() == []
    rain = [(NOON + 49 * MINUTE + n * MINUTE, 1) for n in range(1, 41)]
    house.put(*((time_us, 1) for time_us, _ in rain), jid="00000000000000bb")
    house.judge(NOON + 3 * HOUR)
    (duty,) = house.duties()
    assert duty.body.storm.start_us == NOON + 40 * MINUTE


def test_an_impossible_value_in_maintenance_mode_is_nobodys_fault(house: House) -> None:
    rows = json.loads(tips({"mnt": 1}, 1))
    rows[0]["v"] = 7
    assert store(house, json.dumps(rows).encode()).faults == {}
    rows = json.loads(tips({}, 1))
    rows[0] |= {"v": 7, "seq": 2}
    assert ("board-a", "impossible_value") in store(house, json.dumps(rows).encode()).faults


def test_a_mark_that_is_no_mark_is_refused() -> None:
    with pytest.raises(PackError) as caught:
        decode(tips({"mnt": 2}))
    assert caught.value.reason == "bad_maintenance"


@pytest.mark.parametrize("maintenance", [False, True])
@pytest.mark.parametrize(("value", "reason"), [(1.5, None), (None, "no_echo")])
def test_a_record_refused_alone_keeps_its_mark(maintenance: bool, value: float | None, reason: str | None) -> None:
    record = Record("tank.level", NOON, None, None, value, None, reason, None, maintenance)
    assert decode(encode_record(MAC, JID, 5, record)).records == [record]
