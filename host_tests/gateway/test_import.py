"""`headwall import`: idempotent, exact in tips, and its duties historical."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.clock import SystemClock
from headwall.errors import InputError, UnknownThingError
from headwall.ledger import schema
from headwall.rules.facts import HistoricalSummary, from_body
from support import desk as desks
from support.rules_house import GAUGE, House, at, make_registry

_HEAD = "time,rain (in)\n"


class Desk(desks.Desk):
    """With the village of `rules_house`, and rain files."""

    def __init__(self, folder: Path, **registry: str) -> None:
        super().__init__(folder)
        self.registry = make_registry(folder, **registry)

    def load(self, text: str, *options: str, datastream: str = GAUGE) -> str:
        """Import a file with this text; its output."""
        path = self.folder / "rain.csv"
        path.write_text(text, "utf-8")
        given = ["--kind", "increments", "--tz", "UTC-5", *options]
        return self.run("import", str(path), "--datastream", datastream, *given)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)


def _storm(rows: int = 10, amount: str = "0.05") -> str:
    return _HEAD + "".join(f"2024-06-10 08:{minute:02d},{amount}\n" for minute in range(rows))


def test_a_file_becomes_readings_in_tips_and_a_historical_duty_without_mail(desk: Desk) -> None:
    said = desk.load(_storm())
    assert "10 readings stored, 0 known before, 0.5 in" in said
    assert "1 historical duties learned, not mailed" in said
    readings = desk.rows(schema.readings)
    assert [row.value for row in readings] == [5.0] * 10
    assert {(row.source, row.node, row.stream) for row in readings} == {("import", "board-a", "rain.tips")}
    assert readings[0].time_us == at("2024-06-10 13:00")
    (duty,) = desk.rows(schema.duties)
    assert (duty.historical, duty.state) == (True, "open")
    assert [row for row in desk.rows(schema.outbox) if row.kind != "gauge_silent"] == []


def test_imported_twice_is_stored_once(desk: Desk) -> None:
    desk.load(_storm())
    said = desk.load(_storm())
    assert "0 readings stored, 10 known before" in said
    assert "No duty was learned" in said
    assert len(desk.rows(schema.readings)) == 10
    assert len(desk.rows(schema.duties)) == 1


def test_a_longer_export_of_the_same_gauge_adds_only_what_is_new(desk: Desk) -> None:
    desk.load(_storm(6))
    assert desk.rows(schema.duties) == []
    assert "4 readings stored, 6 known before" in desk.load(_storm(10))
    assert len(desk.rows(schema.duties)) == 1


def test_rows_in_another_order_are_the_same_readings(desk: Desk) -> None:
    desk.load(_storm())
    head, *rows = _storm().splitlines()
    assert "0 readings stored" in desk.load("\n".join([head, *reversed(rows)]) + "\n")


def test_equal_rows_that_are_kept_are_readings_of_their_own(desk: Desk) -> None:
    text = _HEAD + "2024-06-10 08:00,0.05\n" * 2 + "2024-06-10 08:01,0.05\n"
    assert "3 readings stored" in desk.load(text, "--repeated", "keep")
    assert "0 readings stored" in desk.load(text, "--repeated", "keep")


def test_an_amount_that_is_no_whole_number_of_tips_stores_nothing(desk: Desk) -> None:
    with pytest.raises(InputError, match=r"0\.055 in .* no whole number of tips of 0\.01 in"):
        desk.load(_storm() + "2024-06-10 09:00,0.055\n")
    assert desk.rows(schema.readings) == []


def test_an_unknown_datastream_is_answered_with_those_there_are(desk: Desk) -> None:
    with pytest.raises(UnknownThingError, match=r"'board-z/rain\.tips'.*board-a/rain\.tips"):
        desk.load(_storm(), datastream="board-z/rain.tips")


def test_rain_from_before_the_gauge_stood_there_is_refused(desk: Desk) -> None:
    with pytest.raises(InputError, match="is no gauge of the registry at 2019"):
        desk.load(_HEAD + "2019-06-10 08:00,0.05\n2019-06-10 08:01,0.05\n")


def test_notify_makes_one_digest_line_for_the_officer(desk: Desk) -> None:
    house = House(desk.registry, SystemClock().now_us(), url=desk.url)
    house.close()
    said = desk.load(_storm() + "2024-07-10 08:00,0.30\n2024-07-10 08:01,0.30\n", "--notify")
    assert "2 historical duties learned, told in the next digest" in said
    told = [row for row in desk.rows(schema.outbox) if row.kind == "historical_summary"]
    assert [(row.person, row.how) for row in told] == [("officer", "digest")]
    fact = from_body(told[0].body)
    assert isinstance(fact, HistoricalSummary)
    assert [duty.storm.depth_in for duty in fact.duties] == ["0.5", "0.6"]


def test_the_same_rain_from_the_node_is_not_counted_twice(desk: Desk) -> None:
    house = House(desk.registry, at("2024-06-10 14:00"), url=desk.url)
    house.rain(at("2024-06-10 13:00"), 10)
    house.close()
    with pytest.raises(InputError, match="the node itself reported 10 readings"):
        desk.load(_storm())
    assert "10 readings stored" in desk.load(_storm(), "--overlap")


def test_an_import_is_in_the_log_book(desk: Desk) -> None:
    desk.load(_storm())
    assert [row.kind for row in desk.rows(schema.records)] == ["imported", "duty_opened"]


_SHARED = Path(os.environ.get("HEADWALL_SHARED", str(Path(__file__).parents[3] / "shared")))
_YEAR = _SHARED / "data/rainmaker/rain.test.csv"


@pytest.mark.skipif(not _YEAR.exists(), reason=f"the year of Rainmaker rain is not at {_YEAR}; set HEADWALL_SHARED")
def test_a_year_of_one_minute_rain_gives_the_nineteen_duties_of_the_cautious_reading(tmp_path: Path) -> None:
    """USGS Rainmaker's test year (2,445 increments, 27.071 in), at 6 h and 0.5 in."""
    desk = Desk(tmp_path, tip="0.001 in", since="2012-01-01")
    options = ["--unit", "in", "--repeated", "keep"]
    text = _YEAR.read_text("utf-8")
    said = desk.load(text, "--tz", "UTC-6", *options)
    assert "2445 readings stored, 0 known before, 27.071 in" in said
    assert "19 historical duties learned" in said
    fired = {row.body["crossing_us"]: row.body["fired_by"] for row in desk.rows(schema.duty_versions)}
    assert fired[at("2013-10-05 08:20")] == "rolling24h"
    assert fired[at("2014-05-12 11:21")] == "rolling24h"
    assert len(fired) == 19
    assert "0 readings stored, 2445 known before" in desk.load(text, "--tz", "UTC-6", *options)
