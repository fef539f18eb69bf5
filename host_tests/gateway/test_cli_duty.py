"""`headwall duty`, `maintenance` and `node` as a person types them, on a ledger in a file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.clock import SystemClock
from headwall.errors import InputError, UnknownThingError
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.rules.duties import DutyClosedError
from support import desk as desks
from support.rules_house import GAUGE, HOUR, MINUTE, House, make_registry


class Desk(desks.Desk):
    """With the village of `rules_house`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.registry = make_registry(folder)

    def storm(self, *, accepted: bool = True) -> None:
        """A storm of 50 tips, two hours ago."""
        now_us = SystemClock().now_us()
        house = House(self.registry, now_us, accepted=accepted, url=self.url)
        house.rain(now_us - 2 * HOUR, 50)
        house.judge()
        house.close()

    def records(self) -> list[tuple[str, str]]:
        ledger = Ledger.open(self.url)
        with ledger.read() as conn:
            assert log_book.verify(conn) is None
            table = schema.records.c
            found = [(row.kind, row.by) for row in conn.execute(sa.select(table.kind, table.by).order_by(table.n))]
        ledger.close()
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)


def test_an_empty_list_does_not_say_that_all_is_dry(desk: Desk) -> None:
    said = desk.run("duty", "list")
    assert "No duty is open" in said
    assert "silent are not dry" in said


def test_a_received_report_closes_the_duty_under_a_name(desk: Desk) -> None:
    desk.storm()
    assert "0.5 in" in desk.run("duty", "list")
    assert "report received, by Ann Example" in desk.run("duty", "received", "1", "--by", "Ann Example")
    assert "No duty is open" in desk.run("duty", "list")
    (closed,) = json.loads(desk.run("duty", "list", "--all", "--json"))
    assert (closed["state"], closed["closed_by"], closed["site"]) == ("received", "Ann Example", "yard")
    assert desk.records()[-1] == ("duty_received", "Ann Example")


def test_the_time_of_a_report_is_local_and_never_in_the_future(desk: Desk) -> None:
    desk.storm()
    with pytest.raises(InputError, match="in the future"):
        desk.run("duty", "received", "1", "--by", "Ann", "--at", "2099-01-01 12:00")
    with pytest.raises(InputError, match="is no time"):
        desk.run("duty", "received", "1", "--by", "Ann", "--at", "yesterday")
    desk.run("duty", "received", "1", "--by", "Ann", "--at", "2026-06-10 08:00")
    (closed,) = json.loads(desk.run("duty", "list", "--all", "--json"))
    assert closed["closed_us"] == 1_781_092_800_000_000  # 12:00 UTC


def test_not_needed_is_a_named_persons_decision_with_a_reason(desk: Desk) -> None:
    desk.storm()
    desk.run("duty", "not-needed", "1", "--by", "Ann Example", "--reason", "snow on a heated gauge")
    (closed,) = json.loads(desk.run("duty", "list", "--all", "--json"))
    assert (closed["state"], closed["closed_reason"]) == ("not_needed", "snow on a heated gauge")
    assert desk.records()[-1] == ("duty_not_needed", "Ann Example")


@pytest.mark.parametrize("arguments", [["--by", " "], ["--by", "Ann", "--reason", " "]])
def test_a_decision_without_name_or_reason_is_refused(desk: Desk, arguments: list[str]) -> None:
    desk.storm()
    given = arguments if "--reason" in arguments else [*arguments, "--reason", "because"]
    with pytest.raises(InputError):
        desk.run("duty", "not-needed", "1", *given)
    assert "0.5 in" in desk.run("duty", "list")


def test_a_duty_is_closed_once_and_unknown_ones_are_answered_with_the_open(desk: Desk) -> None:
    desk.storm()
    with pytest.raises(UnknownThingError, match="open are: 1"):
        desk.run("duty", "received", "7", "--by", "Ann")
    desk.run("duty", "received", "1", "--by", "Ann")
    with pytest.raises(DutyClosedError, match="already closed as received by Ann"):
        desk.run("duty", "received", "1", "--by", "Ben")


def test_a_number_that_no_duty_can_have_is_a_wrong_argument(desk: Desk) -> None:
    with pytest.raises(AssertionError, match="ID"):
        desk.run("duty", "received", str(2**63), "--by", "Ann")


def test_duties_of_a_municipality_that_was_renamed_are_listed_all_the_same(desk: Desk) -> None:
    desk.storm()
    registry = desk.folder / "registry.toml"
    registry.write_text(
        registry.read_text().replace('"elmsford"', '"elms"').replace('= "elms"\ntime', '= "elmsford"\ntime')
    )
    assert "0.5 in" in desk.run("duty", "list")


def test_duties_are_listed_while_another_writes_for_long(desk: Desk) -> None:
    desk.storm()
    with closing(sqlite3.connect(desk.folder / "headwall.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "0.5 in" in desk.run("duty", "list")


def test_maintenance_is_recorded_and_says_that_the_gauge_is_blind(desk: Desk) -> None:
    said = desk.run("maintenance", "board-a", "--for", "30m", "--by", "Ivan Installer")
    assert "kept but not judged (by Ivan Installer)" in said
    ledger = Ledger.open(desk.url)
    with ledger.read() as conn:
        row = conn.execute(sa.select(schema.maintenance)).one()
    ledger.close()
    assert row.end_us - row.start_us == 30 * MINUTE
    assert desk.records() == [("maintenance", "Ivan Installer")]


def test_maintenance_without_a_name_takes_the_login_name(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ivan")
    desk.run("maintenance", "board-a", "--for", "2h", "--start", "2026-06-10 08:00")
    assert desk.records() == [("maintenance", "ivan")]


@pytest.mark.parametrize("length", ["0m", "soon", "30", "-5m"])
def test_a_length_of_maintenance_that_is_none_is_refused(desk: Desk, length: str) -> None:
    with pytest.raises(InputError, match=r"^--for .*(is no duration|must be more than 0)"):
        desk.run("maintenance", "board-a", f"--for={length}", "--by", "Ivan")


def test_maintenance_for_ever_is_refused(desk: Desk) -> None:
    desk.run("maintenance", "board-a", "--for", "14d", "--by", "Ivan")
    with pytest.raises(InputError, match=r"longer than 14 days.*write `off` into the registry"):
        desk.run("maintenance", "board-a", "--for", "15d", "--by", "Ivan")


def test_unknown_nodes_are_answered_with_those_there_are(desk: Desk) -> None:
    for arguments in (["maintenance", "board-x", "--for", "30m"], ["node", "accept", "board-x", "--by", "Ann"]):
        with pytest.raises(UnknownThingError, match=r"'board-x'.*board-a"):
            desk.run(*arguments)


def test_accepting_a_node_ends_commissioning_and_names_what_waited(desk: Desk) -> None:
    desk.storm(accepted=False)
    assert "commissioning" in desk.run("node", "list")
    said = desk.run("node", "accept", "board-a", "--by", "Ann Example")
    assert "accepted rain.tips" in said
    assert "duty 1: yard, 0.5 in" in said
    assert "was accepted before" in desk.run("node", "accept", "board-a", "--by", "Ben")
    assert [record for record in desk.records() if record[0] == "accepted"] == [("accepted", "Ann Example")]


def test_the_list_of_nodes_judges_a_board_by_its_data_not_by_a_retained_online(desk: Desk) -> None:
    assert "never heard" in desk.run("node", "list")
    desk.storm()  # two hours ago
    ledger = Ledger.open(desk.url)
    with ledger.begin() as conn:
        row = {"node": "board-a", "status": "online", "body": {}, "received_us": SystemClock().now_us()}
        conn.execute(schema.node_states.insert().values(**row))
    ledger.close()
    said = desk.run("node", "list")
    assert "silent" in said
    assert "online" not in said


def test_the_list_of_nodes_names_unclaimed_ones(desk: Desk) -> None:
    ledger = Ledger.open(desk.url)
    with ledger.begin() as conn:
        row = {"node": "stranger", "status": "unclaimed", "body": {}, "received_us": SystemClock().now_us()}
        conn.execute(schema.node_states.insert().values(**row))
    ledger.close()
    assert "stranger" in desk.run("node", "list")
    assert GAUGE.partition("/")[0] in desk.run("node", "list")


def test_a_duty_is_shown_whole_and_its_list_fits_a_narrow_terminal(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.storm()
    said = desk.run("duty", "show", "1")
    assert max(len(line) for line in said.splitlines()) <= 80
    for wanted in ("Duty 1: open.", "Bella Builder", "What fell", "0.50 in", "What was known when", "Version 1"):
        assert wanted in said, wanted
    found = json.loads(desk.run("duty", "show", "1", "--json"))
    assert (found["id"], len(found["versions"])) == (1, 1)
    assert {each["kind"] for each in found["doubts"]} <= {"no_temperature"}  # in the months that have frost
    monkeypatch.setenv("COLUMNS", "80")
    (line,) = [line for line in desk.run("duty", "list").splitlines() if "yard" in line]
    assert "0.5 in" in line
    assert "open" in line


def test_a_duty_that_is_not_there_names_those_that_are(desk: Desk) -> None:
    desk.storm()
    with pytest.raises(UnknownThingError, match="open are: 1"):
        desk.run("duty", "show", "2")
