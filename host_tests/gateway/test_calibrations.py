"""`headwall calibration`: records of what was measured, each kept once, dated, under a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from headwall.derive.calibrated import line_of
from headwall.errors import InputError, UnknownThingError
from headwall.ledger import schema
from headwall.ledger.calibrations import add_calibration, parse_calibrations
from headwall.ledger.ledger import Ledger
from headwall.notify.lookup import Lookup
from headwall.registry import load_registry
from support.desk import Desk
from support.rules_house import at, make_registry

RECORD: dict[str, Any] = {
    "v": 1,
    "datastream": "board-a/rain.tips",
    "kind": "rain_volume",
    "at": "2026-06-10T14:05:00-04:00",
    "by": "Sam Okafor",
    "unit": "mm",
    "method": "500 mL through a needle",
    "device": "burette B2",
    "certificate": "2026-114",
    "as_found": [{"reference": "24.66", "reading": "24.38"}],
    "result": {"error_percent": "-1.10"},
    "tolerance": "2 %",
    "verdict": "pass",
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    make_registry(tmp_path)
    return Desk(tmp_path)


def write(desk: Desk, record: Any, name: str = "calibration.json") -> str:
    path = desk.folder / name
    path.write_text(json.dumps(record))
    return str(path)


def test_a_record_is_kept_once_with_its_numbers_as_they_were_written(desk: Desk) -> None:
    path = write(desk, RECORD)
    assert "added" in desk.run("calibration", "add", path)
    assert "in the ledger already" in desk.run("calibration", "add", path)
    (row,) = desk.rows(schema.calibrations)
    assert (row.node, row.stream, row.kind, row.by) == ("board-a", "rain.tips", "rain_volume", "Sam Okafor")
    assert row.done_us == 1_781_114_700_000_000
    (listed,) = json.loads(desk.run("calibration", "list", "--json"))
    assert {key: listed[key] for key in RECORD} == RECORD
    assert [(record.kind, record.by) for record in desk.rows(schema.records)] == [("calibration", "Sam Okafor")]


def test_records_are_listed_by_day_whatever_order_they_come_in(desk: Desk) -> None:
    later = {**RECORD, "at": "2026-07-10T14:05:00-04:00", "as_left": [{"reference": "1", "reading": "1"}]}
    desk.run("calibration", "add", write(desk, [later, RECORD]))
    listed = json.loads(desk.run("calibration", "list", "board-a", "--json"))
    assert [record["at"][:7] for record in listed] == ["2026-06", "2026-07"]
    assert "24.38 for 24.66 mm" in " ".join(desk.run("calibration", "list").split())
    with pytest.raises(UnknownThingError, match="no node 'board-b'"):
        desk.run("calibration", "list", "board-b", "--json")


#: decimals of which one would stop each judgement that computes with it
NO_NUMBERS = ("NaN", "sNaN", "Infinity", "-Infinity", "1e400", "1e999999", "1e-999999", "1" * 5000)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"by": ""}, "by"),
        ({"at": "2026-06-10T14:05:00"}, "at"),
        ({"at": "2026-06-10"}, "at"),
        ({"datastream": "rain.tips"}, "datastream"),
        ({"kind": "Rain gauge"}, "kind"),
        ({"v": 2}, "v"),
        ({"verdict": "maybe"}, "verdict"),
        ({"as_found": []}, "at least one point"),
        ({"as_found": [{"reference": "a", "reading": "1"}]}, "reference"),
        ({"as_found": [{"reference": "1"}]}, "reading"),
        *(({"as_found": [{"reference": n, "reading": "1"}]}, "is no reading") for n in NO_NUMBERS),
        *(({"result": {"error_percent": n}}, "is no reading") for n in NO_NUMBERS),
        ({"verdict": "fail", "as_found": [{"reference": "1000", "reading": "1"}]}, "1000 times its nominal depth"),
        ({"by": "Sam\nOkafor"}, "by"),
        ({"colour": "blue"}, "colour"),
        ({"at": "2100-06-10T14:05:00Z"}, "in the future"),
        ({"at": "2019-06-10T14:05:00Z"}, "not in force"),
    ],
)
def test_a_record_that_does_not_hold_together_is_refused_and_with_it_the_whole_file(
    desk: Desk, change: dict[str, Any], says: str
) -> None:
    path = write(desk, [RECORD, {**RECORD, **change}])
    with pytest.raises(InputError, match=says):
        desk.run("calibration", "add", path)
    assert desk.rows(schema.calibrations) == []


def test_a_record_of_an_unknown_datastream_is_refused(desk: Desk) -> None:
    with pytest.raises(UnknownThingError, match=r"board-a/tank\.level"):
        desk.run("calibration", "add", write(desk, {**RECORD, "datastream": "board-a/tank.level"}))


@pytest.mark.parametrize("data", [b"", b"{", b"5", b"\xff", b"[" * 5000, b"null"])
def test_what_is_no_record_is_named_with_its_file(data: bytes) -> None:
    with pytest.raises(InputError, match=r"one\.json"):
        parse_calibrations(data, "one.json")


@pytest.mark.parametrize(
    ("registered", "recorded", "shown"),
    [
        (None, None, None),
        ("2026-05-01", None, "2026-05-01 by Ines: set"),
        (None, "2026-06-10", "2026-06-10 by Sam Okafor: rain volume, 24.38 for 24.66 mm as found, pass"),
        ("2026-05-01", "2026-06-10", "2026-06-10 by Sam Okafor: rain volume, 24.38 for 24.66 mm as found, pass"),
        ("2026-06-20", "2026-06-10", "2026-06-20 by Ines: set"),
        ("2026-05-01", "2026-07-10", "2026-05-01 by Ines: set"),
    ],
)
def test_mails_tell_the_newest_calibration_before_the_storm_wherever_it_is_on_record(
    tmp_path: Path, registered: str | None, recorded: str | None, shown: str | None
) -> None:
    registry = make_registry(tmp_path)
    if registered:
        path = tmp_path / "registry.toml"
        calibration = f'calibrations = [{{ on = {registered}, by = "Ines", note = "set" }}]'
        path.write_text(path.read_text().replace('quantity = "tips"', f'quantity = "tips"\n{calibration}'))
        registry = load_registry(path)
    ledger = Ledger.open("sqlite://")
    if recorded:
        (record,) = parse_calibrations(json.dumps({**RECORD, "at": f"{recorded}T12:00:00-04:00"}).encode(), "x")
        with ledger.begin() as conn:
            add_calibration(conn, record, 0)
    storm_us = at("2026-06-30 12:00")
    assert Lookup(registry, {}, ledger, storm_us).last_calibration("board-a/rain.tips", storm_us) == shown
    ledger.close()


def _every(desk: Desk, days: int) -> None:
    path = desk.folder / "registry.toml"
    path.write_text(
        path.read_text("utf-8").replace('tip = "0.01 in"', f'tip = "0.01 in"\ncalibrate_every_days = {days}')
    )


def test_sensors_with_an_interval_are_told_when_due(desk: Desk) -> None:
    assert "No sensor has calibrate_every_days" in desk.run("calibration", "due")
    _every(desk, 3650)
    assert "board-a/rain.tips: overdue since 2020-01-01; last never" in desk.run("calibration", "due")
    desk.run("calibration", "add", write(desk, RECORD))
    said = desk.run("calibration", "due")
    assert "board-a/rain.tips: due 2036-06-07; last 2026-06-10, every 3650 days" in said
    (found,) = json.loads(desk.run("calibration", "due", "--json"))
    assert found["overdue"] is False


def test_a_certificate_is_kept_with_the_log_book(desk: Desk) -> None:
    paper = desk.folder / "certificate.pdf"
    paper.write_bytes(b"%PDF-1.7\nburette B2\n")
    desk.run("calibration", "add", write(desk, RECORD), "--certificate", str(paper))
    assert "attachments as they were: 1" in desk.run("logbook", "verify")
    rows = desk.rows(schema.records)
    assert [row.kind for row in rows] == ["calibration", "attachment"]
    assert "board-a/rain.tips" in rows[1].personal["about"]
    with pytest.raises(InputError, match="nothing"):
        desk.run("calibration", "add", write(desk, RECORD), "--certificate", str(desk.folder / "nothing.pdf"))


@pytest.mark.parametrize("references", [("1", "1"), ("1", "-1"), ("0", "1000")])
def test_points_that_no_sensor_gives_make_no_line(references: tuple[str, str]) -> None:
    """A slope of 0 would turn every reading into the same value."""
    points = [{"reference": told, "reading": str(n)} for n, told in enumerate(references)]
    record = {**RECORD, "kind": "two_point", "unit": "m", "verdict": "fail", "as_found": points}
    (parsed,) = parse_calibrations(json.dumps(record).encode(), "test")
    with pytest.raises(InputError, match="which no sensor does"):
        line_of(parsed, "m")
