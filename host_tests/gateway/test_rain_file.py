from __future__ import annotations

import codecs
import random
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from headwall.clock import from_us
from headwall.errors import InputError
from headwall.hydrology.rain_file import RainFile, RainFileOptions, parse_rain, read_rain_file
from headwall.hydrology.timestamps import parse_timestamp
from headwall.law import localtime
from headwall.units import parse_depth
from hypothesis import given, settings
from hypothesis import strategies as st

MINUTE_US = 60_000_000
HOBO = (
    '\ufeff"Plot Title: 10012345"\r\n'
    '"#","Date Time, GMT-05:00","Temp, °F (LGR S/N: 1)","Event, units (LGR S/N: 1)","Logged","End Of File"\r\n'
    "1,07/13/10 01:45:00 PM,70.1,0,,\r\n"
    "2,07/13/10 01:45:10 PM,,,Logged,\r\n"
    "3,07/13/10 01:50:00 PM,,1,,\r\n"
    "4,07/13/10 01:50:00 PM,,2,,\r\n"
    "\r\n"
    "5,07/13/10 02:50:40 PM,,50,,\r\n"
    "6,07/13/10 02:51:40 PM,,,,Logged\r\n"
)


def parse(text: str | bytes, **options: Any) -> RainFile:
    if isinstance(options.get("zone"), str):
        options["zone"] = localtime.zone(options["zone"])
    if isinstance(options.get("tip"), str):
        options["tip"] = parse_depth(options["tip"])
    data = text if isinstance(text, bytes) else text.encode()
    return parse_rain(data, "rain.csv", RainFileOptions(**options))


def rows(file: RainFile) -> list[tuple[str, str]]:
    """Times (UTC) and depths in mm."""
    return [(f"{from_us(r.time_us):%Y-%m-%d %H:%M:%S}", (file.quantum * r.amount).text_mm) for r in file.rain]


# ---- what a file says of itself


def test_hobo_export_says_all_but_the_tip() -> None:
    file = parse(HOBO, tip="0.01 in")
    assert rows(file) == [
        ("2010-07-13 18:45:00", "0"),
        ("2010-07-13 18:50:00", "0.254"),
        ("2010-07-13 18:50:00", "0.254"),
        ("2010-07-13 19:50:40", "12.192"),
    ]
    assert (file.kind, file.interval_us) == ("cumulative", 0)
    assert "2 rows without a value left out" in file.notes


def test_hobo_export_keeps_its_own_zone_where_other_days_are_asked_for() -> None:
    file = parse(HOBO, tip="0.01 in", zone="America/New_York")
    assert rows(file) == rows(parse(HOBO, tip="0.01 in"))
    assert localtime.zone_name(file.zone) == "America/New_York"


def test_offsets_with_the_times_give_zone_and_instants() -> None:
    file = parse("time,rain_mm\n2026-06-10T15:43:00-04:00,0.2\n2026-06-10T15:44:00-04:00,0\n")
    assert rows(file) == [("2026-06-10 19:43:00", "0.2"), ("2026-06-10 19:44:00", "0")]
    assert (file.kind, file.interval_us, file.zone) == ("increments", MINUTE_US, localtime.zone("-04:00"))


def test_file_of_times_alone_has_a_tip_a_row() -> None:
    file = parse("timestamp\n2026-06-10T15:42:01Z\n2026-06-10T15:42:01Z\n2026-06-10T15:42:09Z\n", tip="0.2mm")
    assert [depth for _, depth in rows(file)] == ["0.2", "0.2", "0.2"]
    assert file.kind == "tips"


def test_date_and_time_in_two_columns_are_joined() -> None:
    text = "Date,Time,Precip (in),Battery\n6/10/2026,3:42 PM,0.5,12\n6/10/2026,3:43 PM,0.1,12\n"
    assert rows(parse(text, zone="UTC-5")) == [("2026-06-10 20:42:00", "12.7"), ("2026-06-10 20:43:00", "2.54")]


def test_year_month_day_and_minute_of_the_day_are_a_time() -> None:
    file = parse(
        "site,YEAR,MONTH,DAY,MINUTE,rain\na,2010,7,13,885,0.043\na,2010,7,13,895,0.022\n", zone="UTC-6", unit="in"
    )
    assert [when for when, _ in rows(file)] == ["2010-07-13 20:45:00", "2010-07-13 20:55:00"]


def test_hour_and_minute_columns_are_a_time() -> None:
    file = parse("Year,Month,Day,Hour,Minute,rain mm\n2010,7,13,14,45,2\n2010,7,13,14,50,1\n", zone="UTC")
    assert [when for when, _ in rows(file)] == ["2010-07-13 14:45:00", "2010-07-13 14:50:00"]


def test_rows_of_units_below_the_names_are_passed_over() -> None:
    file = parse('"TOA5","CR1000"\n"TIMESTAMP","RECORD","Rain_mm"\n"TS","RN","mm"\n"","","Tot"\n'
                 '"2026-06-10 15:00:00",1,0.2\n"2026-06-10 15:01:00",2,0\n', zone="UTC-5")  # fmt: skip
    assert [depth for _, depth in rows(file)] == ["0.2", "0"]


def test_semicolons_and_decimal_commas_are_read() -> None:
    file = parse("Date Time;Rain (mm)\n2026-06-10 15:00;0,2\n2026-06-10 15:01;0\n", zone="UTC")
    assert [depth for _, depth in rows(file)] == ["0.2", "0"]


@pytest.mark.parametrize(
    "encoded",
    [
        codecs.BOM_UTF8 + b"time,rain_mm\n2026-06-10 15:00,2\n2026-06-10 15:01,1\n",
        codecs.BOM_UTF16_LE + "time,rain_mm\n2026-06-10 15:00,2\n2026-06-10 15:01,1\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "time,rain_mm\n2026-06-10 15:00,2\n2026-06-10 15:01,1\n".encode("utf-16-be"),
        "time,rain_mm,°\n2026-06-10 15:00,2\n2026-06-10 15:01,1\n".encode("cp1252"),
        b"time\train_mm\r\n\r\n2026-06-10 15:00\t2\r\n\t\r\n2026-06-10 15:01\t1",
    ],
)
def test_encodings_delimiters_and_blank_rows_change_nothing(encoded: bytes) -> None:
    assert rows(parse(encoded, zone="UTC")) == [("2026-06-10 15:00:00", "2"), ("2026-06-10 15:01:00", "1")]


@pytest.mark.parametrize(
    ("name", "kind", "unit"),
    [
        ("Rain, in (LGR S/N: 9)", None, "25.4"),
        ("rain_mm", None, "1"),
        ("Precipitation [inches]", None, "25.4"),
        ("Cumulative rain (mm)", "cumulative", "1"),
        ("Rain counter mm", "cumulative", "1"),
    ],
)
def test_name_of_the_column_says_unit_and_kind(name: str, kind: str | None, unit: str) -> None:
    file = parse(f'time,"{name}"\n2026-06-10 15:00,2\n2026-06-10 15:01,1\n2026-06-10 15:02,3\n', zone="UTC")
    assert file.kind == (kind or "increments")
    assert file.quantum.text_mm == unit


def test_amounts_are_exact_however_they_are_written() -> None:
    file = parse(
        "time,rain in\n2026-06-10 15:00,0.008999998\n2026-06-10 15:01,9E-3\n2026-06-10 15:02,.5\n2026-06-10 15:03,0\n",
        zone="UTC",
    )
    assert file.total.inches == Fraction("0.517999998")


# ---- what it leaves open


@pytest.mark.parametrize(
    ("text", "options", "fault"),
    [
        ("time,rain\n2026-06-10 15:00,2\n2026-06-10 15:01,1\n", {"unit": "mm"}, "give --tz"),
        ("time,rain\n2026-06-10 15:00,2\n2026-06-10 15:01,1\n", {"zone": "UTC"}, "'rain' has no unit; give --unit"),
        ("time,rain mm\n2026-06-10 15:00,1\n2026-06-10 15:01,2\n", {"zone": "UTC"}, "give --kind"),
        ("time,tips\n2026-06-10 15:00,1\n2026-06-10 15:01,2\n", {"zone": "UTC"}, "give --tip"),
        ("time,a,b\n2026-06-10 15:00,1,2\n", {"zone": "UTC"}, "give --value-column"),
        (
            "time,rain a,rain b\n2026-06-10 15:00,1,2\n",
            {"zone": "UTC"},
            "several may hold the rain; give --value-column",
        ),
        ("when,rain\nmon,1\n", {"zone": "UTC"}, "none is named as the time; give --time-column"),
        ("start time,end time,rain\n2026-06-10 15:00,2026-06-10 15:01,1\n", {}, "give --time-column"),
        ("time,rain mm/h\n2026-06-10 15:00,1\n2026-06-10 15:01,0\n", {"zone": "UTC"}, "holds a rate"),
        ("2026-06-10 15:00,0.2\n", {"zone": "UTC"}, "no line with names of columns"),
        ("time,rain mm\n2026-06-10T15:00Z,1\n2026-06-10T15:00+02:00,0\n", {}, "several offsets; give --tz"),
        ("time,rain mm\n", {"zone": "UTC"}, "no row of data"),
        ("", {}, "no line with names of columns"),
    ],
)
def test_what_the_file_leaves_open_is_asked_for(text: str, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, **options)
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("13/10/2026 15:00,1", "'13/10/2026 15:00' in column 'time' is no time"),
        ("2026-02-30 15:00,1", "is no time"),
        ("10 June 2026,1", "is no time"),
        ("1760000000,1", "is no time"),
        (",1", "'' in column 'time' is no time"),
        ("2026-06-10 25:00,1", "is no time"),
        ("2026-06-10 15:00,0.2 mm", "'0.2 mm' in column 'rain mm' is no amount"),
        ("2026-06-10 15:00,-0.2", "is negative"),
        ("2026-06-10 15:00,-9999", "is negative; where that means no value, empty the cell"),
        ("2026-06-10 15:00,inf", "is no amount"),
        ("2026-06-10 15:00,1e99", "is no amount"),
        ("2026-06-10 15:00,1e-30", "too fine"),
        ("2026-06-10 15:00,٣", "is no amount"),
        ("2026-11-01 01:30,1", "happens twice in America/New_York"),
        ("2026-03-08 02:30,1", "does not exist in America/New_York"),
        ("2026-06-10 14:00,1", "the same time as line 2"),
    ],
)
def test_row_that_cannot_be_read_is_named_by_its_line(row: str, fault: str) -> None:
    text = f"time,rain mm\n2026-06-10 14:00,0.2\n{row}\n2026-06-10 16:00,0\n"
    with pytest.raises(InputError) as caught:
        parse(text, zone="America/New_York")
    assert str(caught.value).startswith("rain.csv, line 3: ")
    assert fault in str(caught.value)


def test_repeated_hour_is_read_where_the_zone_is_fixed() -> None:
    file = parse("time,rain mm\n2026-11-01 01:30,1\n2026-11-01 02:30,0\n", zone="-05:00")
    assert rows(file)[0] == ("2026-11-01 06:30:00", "1")


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "--", "M", "null"])
def test_row_without_a_value_is_neither_zero_nor_an_error(cell: str) -> None:
    file = parse(f"time,rain mm\n2026-06-10 14:00,0.2\n2026-06-10 15:00,{cell}\n2026-06-10 16:00,0\n", zone="UTC")
    assert len(file.rain) == 2
    assert "1 rows without a value left out" in file.notes


def test_day_before_month_is_read_when_asked() -> None:
    file = parse("time,rain mm\n13/10/2026 15:00,1\n14.10.2026 15:00,0\n", zone="UTC", date_order="dmy")
    assert [when for when, _ in rows(file)] == ["2026-10-13 15:00:00", "2026-10-14 15:00:00"]


def test_chosen_columns_are_taken_and_unknown_ones_named() -> None:
    text = "obs,checked,a mm,b mm\n2026-06-10 15:00,2026-06-11,1,5\n2026-06-10 15:01,2026-06-11,0,6\n"
    file = parse(text, zone="UTC", time_column="obs", value_column="A mm")
    assert [depth for _, depth in rows(file)] == ["1", "0"]
    with pytest.raises(
        InputError, match="no column 'c' for --value-column; the file has 'obs', 'checked', 'a mm', 'b mm'"
    ):
        parse(text, zone="UTC", time_column="obs", value_column="c")


# ---- repeated and shuffled rows

REPEATED = "time,rain mm\n2026-06-10 15:00,2\n2026-06-10 15:00,{}\n2026-06-10 15:01,1\n"


@pytest.mark.parametrize(("how", "total"), [("drop", "3"), ("keep", "5")])
def test_repeated_row_is_settled_as_asked(how: str, total: str) -> None:
    assert parse(REPEATED.format(2), zone="UTC", repeated=how).total.text_mm == total


def test_repeated_time_with_another_value_is_not_dropped() -> None:
    with pytest.raises(InputError, match="line 3: the same time with another value as line 2"):
        parse(REPEATED.format(3), zone="UTC", repeated="drop")
    assert parse(REPEATED.format(3), zone="UTC", repeated="keep").total.text_mm == "6"


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 40)), min_size=2, max_size=40, unique_by=lambda r: r[0]),
       st.randoms(use_true_random=False))  # fmt: skip
def test_shuffled_rows_give_the_same_rain(made: list[tuple[int, int]], order: random.Random) -> None:
    lines = [f"{from_us(minute * MINUTE_US):%Y-%m-%d %H:%M},0.{tips:03}" for minute, tips in made]
    shuffled = list(lines)
    order.shuffle(shuffled)
    options = RainFileOptions(kind="increments", unit="in", zone=UTC)
    one, other = (parse_rain("\n".join(["time,rain", *each]).encode(), "x", options) for each in (lines, shuffled))
    assert (one.rain, one.quantum, one.interval_us) == (other.rain, other.quantum, other.interval_us)
    assert one.total.inches == sum(Fraction(tips, 1000) for _, tips in made)


# ---- what increments are totals of


@pytest.mark.parametrize(
    ("times", "minutes"),
    [
        (["15:00", "15:07"], 1),
        (["15:00", "15:10", "15:25"], 5),
        (["15:15", "15:30"], 15),
        (["15:00", "18:00"], 60),
        (["15:00:00", "15:07:13"], 0),
    ],
)
def test_times_show_what_the_increments_are_totals_of(times: list[str], minutes: int) -> None:
    text = "time,rain mm\n" + "".join(f"2026-06-10 {time},1\n" for time in times) + "2026-06-10 15:01:30,0\n"
    assert parse(text, zone="UTC", kind="increments").interval_us == minutes * MINUTE_US
    assert parse(text, zone="UTC", kind="increments", interval_us=0).interval_us == 0


# ---- counters


def test_counter_that_falls_is_told_with_its_line() -> None:
    values = ("193.6", "52.5", "193.6", "193.8")
    text = "time,counter mm\n" + "".join(f"2026-06-10 15:0{n},{value}\n" for n, value in enumerate(values))
    file = parse(text, zone="UTC")
    assert file.total.text_mm == "0.2"
    assert "line 3: counter glitch" in file.notes


def test_counter_of_tips_wraps_at_its_modulus() -> None:
    text = "time,counter\n2026-06-10 15:00,65534\n2026-06-10 15:01,3\n"
    assert parse(text, zone="UTC", tip="0.01 in", modulus=65536).total == parse_depth("0.05 in")
    with pytest.raises(InputError, match="line 2: the counter shows 65534, beyond its modulus of 256"):
        parse(text, zone="UTC", tip="0.01 in", modulus=256)


def test_part_of_a_tip_is_refused() -> None:
    with pytest.raises(InputError, match=r"line 2: 0\.5 is not a whole number of tips"):
        parse("time,tips\n2026-06-10 15:00,0.5\n", zone="UTC", tip="0.01 in")


# ---- times


@pytest.mark.parametrize(
    ("text", "wall", "offset"),
    [
        ("2026-06-10T15:42:07.25Z", datetime(2026, 6, 10, 15, 42, 7, 250_000), "Z"),
        ("2026-06-10 15:42 -0400", datetime(2026, 6, 10, 15, 42), "-0400"),
        ("2026/6/10", datetime(2026, 6, 10), None),
        ("06/10/26 12:05:00 AM", datetime(2026, 6, 10, 0, 5), None),
        ("06/10/26 12:05 p.m.", datetime(2026, 6, 10, 12, 5), None),
        ("6-10-2026 24:00", datetime(2026, 6, 11), None),
        ("12/31/2199 24:00", datetime(2200, 1, 1), None),
    ],
)
def test_time_is_read_as_written(text: str, wall: datetime, offset: str | None) -> None:
    assert parse_timestamp(text) == (wall, offset)


@pytest.mark.parametrize(
    "text",
    ["", "15:42", "2026-06-10T", "6/10/26 13:05 PM", "6/10/26 0:05 AM", "2026-06-10 24:01", "0001-01-01", "2026-6/10"],
)
def test_text_that_is_no_time_is_none(text: str) -> None:
    assert parse_timestamp(text) is None


# ---- whatever comes


def test_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: No such file"):
        read_rain_file(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_rain_file(tmp_path)


def test_nul_byte_is_named_by_its_line() -> None:
    with pytest.raises(InputError, match="line 3: a NUL byte"):
        parse(b"time,rain mm\n2026-06-10 15:00,1\n\0\0\0\n", zone="UTC")


_TEXTS = [
    *("time", "rain mm", "tips", ",", ";", "\t", "\n", "\r", '"', "2026-06-10 15:00", "11/1/2026 1:30 AM"),
    *("Z", "-05:00", "0.2", "-1", "1e9", "9" * 12, "YEAR,MONTH,DAY", "NaN"),
]
_PIECES = st.sampled_from([*(text.encode() for text in _TEXTS), b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"\x81"])


@settings(max_examples=400)
@given(
    st.one_of(st.binary(max_size=300), st.lists(_PIECES, max_size=40).map(b"".join),
              st.lists(_PIECES, max_size=30).map(lambda p: b"time,rain mm\n2026-06-10 14:00,1\n" + b"".join(p))),
    st.sampled_from([None, "increments", "tips", "cumulative"]),
    st.sampled_from([None, "keep", "drop"]),
    st.booleans(),
)  # fmt: skip
def test_any_bytes_give_rain_or_an_input_error(data: bytes, kind: Any, repeated: Any, zoned: bool) -> None:
    options = RainFileOptions(
        kind=kind,
        repeated=repeated,
        tip=parse_depth("0.2 mm"),
        zone=localtime.zone("America/New_York") if zoned else None,
    )
    try:
        file = parse_rain(data, "x", options)
    except InputError as error:
        assert str(error)
    else:
        assert file.rain == sorted(file.rain)
        assert all(each.amount >= 0 for each in file.rain)
