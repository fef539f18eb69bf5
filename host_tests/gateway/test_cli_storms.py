from __future__ import annotations

import csv
import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from headwall.errors import InputError
from support.storms_command import events_of, run, run_json

TIPS = "time,tips\n" + "".join(f"2026-06-10T{9 + n // 60:02}:{n % 60:02}:30-04:00,1\n" for n in range(0, 120, 2))


@pytest.fixture
def tips(tmp_path: Path) -> Path:
    """60 tips in two hours, one every two minutes."""
    path = tmp_path / "tips.csv"
    path.write_text(TIPS)
    return path


def test_json_has_exact_depths_and_times_with_offset(tips: Path) -> None:
    found = run_json(tips, "--tip", "0.01in")
    (event,) = events_of(found)
    assert found["events"][0]["start"] == "2026-06-10T09:00:30-04:00"
    assert (event.depth_in, event.depth_mm, event.duration_s) == (Decimal("0.6"), Decimal("15.24"), 118 * 60)
    assert event.peak_mm_h == {minutes: Decimal("7.62") for minutes in ("5", "10", "15", "30", "60")}
    assert event.triggered
    assert found["triggers"] == [{"time": "2026-06-10T10:38:30-04:00", "reading": "event"}]


@pytest.mark.parametrize(("tip", "time"), [("0.2mm", None), ("0.2794 mm", "10:30:30"), ("0.254mm", "10:38:30")])
def test_trigger_stands_at_the_tip_that_reaches_the_depth(tips: Path, tip: str, time: str | None) -> None:
    found = run_json(tips, "--tip", tip)
    assert [each["time"][11:19] for each in found["triggers"]] == ([] if time is None else [time])
    assert found["events"][0]["triggered"] is (time is not None)


@pytest.mark.parametrize(("clock", "time"), [("crossing", "10:38:30"), ("first", "09:00:30"), ("end", "10:58:30")])
def test_clock_says_where_the_triggers_time_is_taken(tips: Path, clock: str, time: str) -> None:
    assert run_json(tips, "--tip", "0.01in", "--clock", clock)["triggers"][0]["time"][11:19] == time


def test_depth_below_the_threshold_is_not_written_as_the_threshold(tmp_path: Path) -> None:
    path = tmp_path / "rain.csv"
    path.write_text("time,rain_mm\n2026-06-10 09:01,12.6999999999\n2026-06-10 09:02,0\n")
    found = run_json(path, "--tz", "America/New_York")
    assert found["events"][0]["depth_in"] < Decimal("0.5")
    assert found["triggers"] == []


def test_gap_of_six_elapsed_hours_splits_though_the_wall_shows_five(tmp_path: Path) -> None:
    path = tmp_path / "rain.csv"
    path.write_text("time,tips\n2026-10-31T20:00:30-04:00,1\n2026-11-01T01:00:30-05:00,1\n")
    found = run_json(path, "--tip", "0.01in", "--tz", "America/New_York")
    assert [event["start"] for event in found["events"]] == ["2026-10-31T20:00:30-04:00", "2026-11-01T01:00:30-05:00"]


def test_csv_has_a_line_an_event(tips: Path) -> None:
    result = run(tips, "--tip", "0.01in", "--csv")
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert (row["depth_in"], row["peak_60min_mm_h"], row["triggered"]) == ("0.6", "7.62", "true")


def test_table_names_storm_trigger_and_reading_and_keeps_its_figures_whole(tips: Path) -> None:
    result = run(tips, "--tip", "0.01in")
    assert result.exit_code == 0
    for text in ("2026-06-10 09:00", "2026-06-10 10:38", "storm", "0.6", "1 reach 0.5 in", "a person decides"):
        assert text in result.stdout
    assert "…" not in result.stdout


def test_how_the_file_was_understood_is_said_beside_the_result(tips: Path) -> None:
    result = run(tips, "--tip", "0.01in", "--json")
    assert "rain from 'tips'" in result.stderr
    assert "rain from" not in result.stdout


def test_file_of_zeros_has_no_storm(tmp_path: Path) -> None:
    path = tmp_path / "dry.csv"
    path.write_text("time,rain_mm\n2026-06-10 09:01,0\n2026-06-10 09:02,0\n")
    assert run_json(path, "--tz", "UTC", "--kind", "increments") == {"events": [], "triggers": []}


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--mit", "6"], "--mit '6' is no duration"),
        (["--mit", "0h"], "--mit '0h' must be more than 0"),
        (["--depth", "0in"], "--depth must be more than 0"),
        (["--depth", "half"], "'half' is not a depth"),
        (["--depth", "0in"], "must be more than 0"),
        (["--tip", "0mm"], "--tip must be more than 0"),
        (["--unit", "ft"], "'ft' is not a unit of rain depth"),
        (["--tz", "Elmsford"], "'Elmsford' is not a time zone"),
        (["--csv", "--json"], "not both"),
        ([], 'give --tip, such as --tip "0.01 in"'),
    ],
)
def test_option_that_cannot_be_is_named(tips: Path, options: list[str], fault: str) -> None:
    result = run(tips, *options)
    assert isinstance(result.exception, InputError)
    assert fault in str(result.exception)


def test_command_ends_1_and_prints_the_error_alone(tips: Path) -> None:
    tips.write_text(TIPS + "yesterday,1\n")
    program = "import sys; from headwall.cli.main import app; sys.argv[0] = 'headwall'; app()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "storms", str(tips), "--tip", "0.01in"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"headwall: {tips}, line 62: 'yesterday' in column 'time' is no time")
