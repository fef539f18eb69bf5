"""A fault that a person must mend is told once, to whoever mends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.ledger import schema
from headwall.rules.facts import NodeFault
from support.rules_house import HOUR, MINUTE, House, at, make_registry

NOON = at("2026-06-10 12:00")
_OPERATOR = """
[[people]]
id = "operator"
name = "Otto Operator"
email = "otto@village.example"
roles = [{ role = "operator", municipality = "elmsford", from = 2020-01-01 }]
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(make_registry(tmp_path, more=_OPERATOR), NOON)
    made.put((NOON, 0))
    yield made
    made.close()


def _faults(house: House) -> list[tuple[str, str]]:
    return [(person, fact.fault) for _, person, _, fact in house.outbox() if isinstance(fact, NodeFault)]


def _dead_letter(house: House, digest: str, reason: str) -> None:
    row = {"digest": digest, "node": "board-a", "topic": "t", "payload": b"", "reason": reason, "detail": "seq 5"}
    with house.ledger.begin() as conn:
        conn.execute(schema.dead_letters.insert().values(**row, count=1, state="open", at_us=NOON))


def _state(house: House, received_us: int, faults: Any) -> None:
    _says(house, received_us, {"faults": faults})


def _says(house: House, received_us: int, said: dict[str, Any]) -> None:
    body: Any = {"v": 1, "status": "online", **said}
    with house.ledger.begin() as conn:
        conn.execute(schema.node_states.delete())
        row = {"node": "board-a", "status": "online", "body": body, "received_us": received_us}
        conn.execute(schema.node_states.insert().values(**row))


def test_an_identity_conflict_is_told_to_the_installer_once(house: House) -> None:
    _dead_letter(house, "one", "identity_conflict")
    _dead_letter(house, "two", "identity_conflict")
    house.judge()
    _dead_letter(house, "three", "identity_conflict")
    house.new_engine()
    house.judge()
    assert _faults(house) == [("installer", "identity_conflict")]


def test_a_bad_payload_alone_is_no_fault_of_the_node(house: House) -> None:
    _dead_letter(house, "one", "not_json")
    house.judge()
    assert _faults(house) == []


def test_a_fault_that_the_node_names_is_told_once_until_it_is_over(house: House) -> None:
    for n in range(3):
        _state(house, NOON + n, ["stuck_contact"])
        house.judge()
    _state(house, NOON + 4, [])
    house.judge()
    _state(house, NOON + 5, ["stuck_contact"])
    house.judge(NOON + MINUTE)
    assert _faults(house) == [("installer", "stuck_contact")] * 2
    assert [notice.closed_us is None for notice in house.notices("node_fault")] == [False, True]


@pytest.mark.parametrize("faults", [["a/b"], ["x" * 400], [{"no": "name"}, None], ["a/b", "Ärger", 7]])
def test_what_a_node_says_in_place_of_a_name_is_one_unnamed_fault_told_once(house: House, faults: Any) -> None:
    for n in range(3):
        _state(house, NOON + n, faults)
        house.judge()
    assert _faults(house) == [("installer", "unnamed_fault")]
    assert house.engine.healthy() is None


@pytest.mark.parametrize("faults", [5, "contact_stuck", {"contact_stuck": 1}, None])
def test_faults_that_are_no_list_stop_no_rule(house: House, faults: Any) -> None:
    _state(house, NOON, faults)
    house.judge()
    assert _faults(house) == []
    assert house.engine.healthy() is None


def test_a_reported_fault_is_told_once_and_again_after_a_day(house: House) -> None:
    house.engine.report_fault("board-a", "custody_missing", "no custody for 20 min")
    house.judge()
    house.engine.report_fault("board-a", "custody_missing", "no custody for 30 min")
    house.judge(NOON + HOUR)
    assert _faults(house) == [("installer", "custody_missing")]
    house.engine.report_fault("board-a", "custody_missing", "still")
    house.judge(NOON + 25 * HOUR)
    assert _faults(house) == [("installer", "custody_missing")] * 2


def test_a_fault_of_the_gateway_goes_to_the_operator(house: House) -> None:
    house.engine.report_fault("gateway", "influx_refused", "401")
    house.judge()
    assert _faults(house) == [("operator", "influx_refused")]


def test_a_fault_of_the_gateway_is_over_when_nobody_has_reported_it_for_a_day(house: House) -> None:
    for hour in range(0, 40, 4):
        house.engine.report_fault("gateway", "influx_away", "no answer")
        house.judge(NOON + hour * HOUR)
    house.judge(NOON + 59 * HOUR)
    assert [notice.closed_us is None for notice in house.notices("node_fault")] == [False, True]
    house.judge(NOON + 61 * HOUR)
    assert [notice.closed_us is None for notice in house.notices("node_fault")] == [False, False]
    assert _faults(house) == [("operator", "influx_away")] * 2  # told again after a day, not at its end


def test_a_fault_of_the_gateway_stands_for_a_day_after_a_start(house: House) -> None:
    house.engine.report_fault("gateway", "influx_away", "no answer")
    house.judge()
    house.clock.now = NOON + 100 * HOUR
    house.new_engine()
    house.judge()
    house.judge(NOON + 123 * HOUR)
    assert [notice.closed_us is None for notice in house.notices("node_fault")] == [True]
    house.judge(NOON + 125 * HOUR)
    assert [notice.closed_us is None for notice in house.notices("node_fault")] == [False]


@pytest.mark.parametrize(
    ("said", "fault", "words"),
    [
        ({"config_error": "report_s is 5", "config_refused": "0" * 16}, "config_refused", "report_s is 5"),
        ({"update": {"state": "refused", "version": "0.2", "why": "bad signature"}}, "update_refused", "bad signature"),
        (
            {"update": {"state": "rolled_back", "version": "0.2", "why": "crash"}},
            "update_rolled_back",
            "0.2: crash",
        ),
    ],
)
def test_what_a_board_refused_or_took_back_is_told_with_the_reason_until_it_is_over(
    house: House, said: dict[str, Any], fault: str, words: str
) -> None:
    for n, body in enumerate([said, said, {"update": {"state": "loading"}}]):
        _says(house, NOON + n, body)
        house.judge()
    assert _faults(house) == [("installer", fault)]
    (notice,) = house.notices("node_fault")
    assert words in notice.body["detail"]
    assert notice.closed_us is not None


def test_two_boards_under_one_name_are_named_by_them_and_by_the_gateway(house: House) -> None:
    _state(house, NOON + 1, ["client_id_clash"])
    house.engine.report_fault("board-a", "mac_mismatch", "the pack is of board 240ac4000002")
    house.judge()
    assert sorted(_faults(house)) == [("installer", "client_id_clash"), ("installer", "mac_mismatch")]


@pytest.mark.parametrize("update", [5, "x", [], {"state": 5}, {"state": ["refused"]}, {"state": "refused", "why": {}}])
def test_nonsense_about_an_update_stops_no_rule(house: House, update: Any) -> None:
    _says(house, NOON, {"update": update, "config_error": {"a": 1}})
    house.judge()
    assert house.engine.healthy() is None


def test_a_report_is_told_although_the_step_that_took_it_could_not_commit(house: House) -> None:
    house.judge()
    house.put((NOON + MINUTE, 0))
    house.engine.report_fault("board-a", "mac_mismatch", "the pack is of board 240ac4000002")
    with house.full_disk(), pytest.raises(sa.exc.OperationalError):
        house.engine.step()
    house.judge()
    assert _faults(house) == [("installer", "mac_mismatch")]
