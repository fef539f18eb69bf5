from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from headwall.clock import to_us
from headwall.errors import InputError
from headwall.law import localtime
from headwall.law.holidays import holiday_faults
from hypothesis import given
from hypothesis import strategies as st

NEW_YORK = localtime.zone("America/New_York")
DAYS = st.dates(min_value=date(2000, 1, 1), max_value=date(2099, 12, 31))
INSTANTS = st.integers(946_684_800_000_000, 4_102_444_800_000_000)  # 2000 to 2100
ZONES = st.sampled_from(
    ["America/New_York", "Europe/London", "Asia/Kolkata", "Australia/Lord_Howe", "America/Havana", "-06:00"]
)


def local(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return localtime.from_local(datetime(year, month, day, hour, minute), NEW_YORK)


@pytest.mark.parametrize(
    ("start", "days", "last"),
    [
        (date(2026, 6, 26), 7, date(2026, 7, 3)),  # the eve of a Saturday 4 July is a business day
        (date(2026, 6, 27), 7, date(2026, 7, 6)),
        (date(2026, 5, 15), 10, date(2026, 5, 26)),  # over Memorial Day
        (date(2025, 12, 18), 7, date(2025, 12, 26)),
        (date(2026, 10, 27), 7, date(2026, 11, 4)),  # over election day
        (date(2026, 6, 5), 2, date(2026, 6, 9)),  # two days skip the weekend between
        (date(2026, 11, 25), 2, date(2026, 11, 30)),  # and Thanksgiving
    ],
)
def test_period_of_days_ends_as_general_construction_law_says(start: date, days: int, last: date) -> None:
    assert localtime.after_days(start, days) == last


def test_period_that_is_not_extended_ends_on_the_holiday() -> None:
    assert localtime.after_days(date(2026, 6, 27), 7, extend=False) == date(2026, 7, 4)


@given(DAYS, st.integers(1, 400).filter(lambda days: days != 2))
def test_period_ends_on_the_first_business_day_not_before_its_length(start: date, days: int) -> None:
    last = localtime.after_days(start, days)
    assert localtime.is_business_day(last)
    between = [start + timedelta(days=n) for n in range(days, (last - start).days)]
    assert last >= start + timedelta(days=days)
    assert not any(localtime.is_business_day(day) for day in between)


@given(DAYS)
def test_two_days_hold_exactly_two_business_days(start: date) -> None:
    last = localtime.after_days(start, 2)
    counted = [start + timedelta(days=n) for n in range(1, (last - start).days + 1)]
    assert sum(localtime.is_business_day(day) for day in counted) == 2
    assert localtime.is_business_day(last)


def test_holidays_of_2026_are_those_of_section_24() -> None:
    assert [f"{day:%m-%d}" for day in localtime.holidays(2026)] == [
        "01-01", "01-19", "02-12", "02-16", "05-25", "06-19", "07-04",
        "09-07", "10-12", "11-03", "11-11", "11-26", "12-25",
    ]  # fmt: skip


def test_holiday_on_a_sunday_moves_to_monday() -> None:
    assert localtime.holiday(date(2027, 7, 4)) is None
    assert localtime.holiday(date(2027, 7, 5)) == "Independence Day"


def test_holiday_on_a_saturday_does_not_move() -> None:
    assert localtime.holiday(date(2026, 7, 4)) == "Independence Day"
    assert localtime.is_business_day(date(2026, 7, 3))


@pytest.mark.parametrize(("year", "day"), [(2025, 4), (2026, 3), (2027, 2), (2028, 7), (2022, 8)])
def test_election_day_is_the_tuesday_after_the_first_monday_of_november(year: int, day: int) -> None:
    assert localtime.holiday(date(year, 11, day)) == "General election day"


@given(st.integers(1950, 2200))
def test_year_has_every_holiday_once_and_none_on_a_sunday(year: int) -> None:
    found = localtime.holidays(year)
    assert len(set(found.values())) == 13
    assert all(day.weekday() != 6 for day in found)


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"month": 1, "day": 1}, "name is missing"),
        ({"name": "x", "day": 1}, "month is missing"),
        ({"name": "x", "month": 13, "day": 1}, "month is 13"),
        ({"name": "x", "month": 2, "day": 30}, "has no day 30"),
        ({"name": "x", "month": 5, "weekday": "monday"}, "exactly one of"),
        ({"name": "x", "month": 5, "weekday": "moonday", "nth": 1}, "weekday must be"),
        ({"name": "x", "month": 5, "day": 1, "colour": "red"}, "unknown key 'colour'"),
    ],
)
def test_wrong_entry_of_an_edited_holiday_list_is_named(entry: dict[str, object], fault: str) -> None:
    assert any(fault in each and "holiday 1" in each for each in holiday_faults({"holiday": [entry]}))


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ((2026, 3, 7, 20), (2026, 3, 8, 21)),  # the night an hour is skipped
        ((2026, 10, 31, 20), (2026, 11, 1, 19)),  # the night an hour comes twice
        ((2026, 6, 10, 15), (2026, 6, 11, 15)),
    ],
)
def test_24_hours_are_elapsed_hours(start: tuple[int, ...], end: tuple[int, ...]) -> None:
    assert localtime.after_hours(local(*start), 24) == local(*end)


def test_time_is_written_with_its_zone_of_that_day() -> None:
    assert localtime.short(to_us(datetime(2026, 6, 10, 19, 42, tzinfo=UTC)), NEW_YORK) == "Jun 10 15:42 EDT"
    assert localtime.short(to_us(datetime(2026, 12, 1, 5, 0, tzinfo=UTC)), NEW_YORK) == "Dec 1 00:00 EST"
    assert localtime.iso(to_us(datetime(2026, 6, 10, 19, 42, tzinfo=UTC)), NEW_YORK) == "2026-06-10T15:42:00-04:00"


def test_last_second_of_a_day_and_midnight_belong_to_different_days() -> None:
    midnight = local(2026, 6, 11)
    assert localtime.day_of(midnight - 1_000_000, NEW_YORK) == date(2026, 6, 10)
    assert localtime.day_of(midnight, NEW_YORK) == date(2026, 6, 11)


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 8), 23), (date(2026, 11, 1), 25), (date(2026, 6, 1), 24)])
def test_day_is_as_long_as_the_clocks_make_it(day: date, hours: int) -> None:
    start, end = localtime.day_bounds(localtime.midnight_us(day, NEW_YORK) + 12 * localtime.HOUR_US, NEW_YORK)
    assert end - start == hours * localtime.HOUR_US


def test_day_that_begins_at_one_o_clock_begins_there() -> None:
    sao_paulo = localtime.zone("America/Sao_Paulo")
    start = localtime.midnight_us(date(2018, 11, 4), sao_paulo)
    assert localtime.to_local(start, sao_paulo).hour == 1
    assert localtime.day_of(start - 1, sao_paulo) == date(2018, 11, 3)


@given(INSTANTS, ZONES)
def test_instant_lies_in_the_bounds_of_its_day(instant_us: int, name: str) -> None:
    where = localtime.zone(name)
    start, end = localtime.day_bounds(instant_us, where)
    assert start <= instant_us < end
    assert localtime.day_bounds(start, where) == localtime.day_bounds(end - 1, where) == (start, end)


@pytest.mark.parametrize("name", ["America/New_York", "Europe/London", "Asia/Kolkata", "Australia/Lord_Howe"])
def test_days_over_both_clock_changes_hold_every_instant_once(name: str) -> None:
    where = localtime.zone(name)
    rain = [(localtime.midnight_us(date(2026, 1, 1), where) + n * 7 * 60_000_000, n % 5) for n in range(75_000)]
    by_day: dict[date, int] = {}
    for instant_us, tips in rain:
        by_day[localtime.day_of(instant_us, where)] = by_day.get(localtime.day_of(instant_us, where), 0) + tips
    assert sum(by_day.values()) == sum(tips for _, tips in rain)
    assert len(by_day) == 365


@given(INSTANTS)
def test_unambiguous_local_time_leads_back_to_its_instant(instant_us: int) -> None:
    wall = localtime.to_local(instant_us, NEW_YORK).replace(tzinfo=None, fold=0)
    try:
        assert localtime.from_local(wall, NEW_YORK) == instant_us
    except InputError as error:
        assert "happens twice" in str(error)


def test_local_time_in_the_skipped_or_repeated_hour_is_refused() -> None:
    with pytest.raises(InputError, match="02:30:00 does not exist in America/New_York"):
        local(2026, 3, 8, 2, 30)
    with pytest.raises(InputError, match="01:30:00 happens twice in America/New_York"):
        local(2026, 11, 1, 1, 30)


def test_fixed_offset_knows_no_skipped_hour() -> None:
    standard = localtime.zone("-05:00")
    assert localtime.from_local(datetime(2026, 3, 8, 2, 30), standard) == local(2026, 3, 8, 3, 30)


@pytest.mark.parametrize("name", ["-06:00", "UTC-6", "GMT-06:00", "utc-06", "-0600"])
def test_spellings_of_a_fixed_offset_are_one_zone(name: str) -> None:
    assert localtime.zone(name).utcoffset(None) == timedelta(hours=-6)


@pytest.mark.parametrize(
    "name", ["", "New York", "America/Elmsford", "+25:00", "-05:75", "../etc/passwd", "\0", "America"]
)
def test_name_that_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"time zone|far from UTC"):
        localtime.zone(name)
