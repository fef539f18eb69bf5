"""When a deadline of a code falls: New York day counting, both readings, and which of them counts."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import pytest
from headwall.law import clocks, localtime
from headwall.law.deadlines import Deadline, Reading, Unit
from headwall.law.profile import Profile, load_profile, profile_names
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

NEW_YORK = localtime.zone("America/New_York")
CLOSES = time(16, 30)
DAY_US = 24 * localtime.HOUR_US
INSTANTS = st.integers(1_262_304_000_000_000, 2_240_524_800_000_000)  # 2010 to 2040
DAYS = st.dates(min_value=date(2010, 1, 1), max_value=date(2040, 12, 31))
DAY_UNITS: list[Unit] = ["days", "business_days", "weeks", "months", "years"]


def deadline(**values: object) -> Deadline:
    wanted = {"name": "x", "count": 7, "unit": "days", "starts": "issuance", "takes": "earlier", **values}
    return Deadline.model_validate(wanted)


def deadlines() -> st.SearchStrategy[Deadline]:
    return st.builds(
        lambda count, unit, holds, extends: deadline(count=count, unit=unit, holds=holds, extends=extends),
        st.integers(0, 40),
        st.sampled_from(["hours", *DAY_UNITS]),
        st.sampled_from(["by", "before", "on", "after"]),
        st.sampled_from(["no", "open", "yes"]),
    )


def at(text: str) -> int:
    return localtime.from_local(datetime.fromisoformat(text), NEW_YORK)


def told(instant_us: int | None) -> str:
    assert instant_us is not None
    return localtime.iso(instant_us, NEW_YORK)[:16]


def run(asked: Deadline, start: str) -> clocks.Due:
    return clocks.due(asked, {asked.starts: at(start)}, NEW_YORK, CLOSES)


@pytest.mark.parametrize(
    ("start", "days", "last"),
    [
        ("2026-06-26", 7, "2026-07-03"),  # the eve of a Saturday 4 July is a business day
        ("2026-06-27", 7, "2026-07-06"),
        ("2026-05-15", 10, "2026-05-26"),  # over Memorial Day
        ("2025-12-18", 7, "2025-12-26"),
        ("2026-10-27", 7, "2026-11-04"),  # over election day
        ("2026-06-05", 2, "2026-06-09"),  # two days skip the weekend between
        ("2026-11-25", 2, "2026-11-30"),  # and Thanksgiving
    ],
)
def test_lenient_period_of_days_ends_with_the_last_day_that_the_law_gives(start: str, days: int, last: str) -> None:
    found = run(deadline(count=days), f"{start} 10:00")
    end = date.fromisoformat(last) + timedelta(days=1)
    assert found.lenient_us == localtime.midnight_us(end, NEW_YORK)


def test_strict_period_ends_on_the_holiday_when_the_office_closes_and_is_what_a_duty_counts() -> None:
    found = run(deadline(takes="earlier"), "2026-06-27 10:00")
    assert told(found.strict_us) == "2026-07-04T16:30"
    assert found.taken_us == found.strict_us


def test_power_of_a_municipality_counts_the_later_reading() -> None:
    found = run(deadline(takes="later"), "2026-06-27 10:00")
    assert told(found.taken_us) == "2026-07-07T00:00"


def test_frequency_that_the_law_does_not_extend_ends_on_the_sunday_under_both_readings() -> None:
    found = run(deadline(extends="no"), "2026-06-28 10:00")
    assert (told(found.strict_us), told(found.lenient_us)) == ("2026-07-05T16:30", "2026-07-06T00:00")


@pytest.mark.parametrize(
    ("start", "end"),
    [("2026-03-07 20:00", "2026-03-08T21:00"), ("2026-10-31 20:00", "2026-11-01T19:00")],
)
def test_hours_are_elapsed_hours_over_a_change_of_clocks(start: str, end: str) -> None:
    found = run(deadline(count=24, unit="hours"), start)
    assert told(found.strict_us) == told(found.lenient_us) == end


def test_hours_before_are_elapsed_hours_too() -> None:
    found = run(deadline(count=48, unit="hours", holds="before"), "2026-03-09 08:00")
    assert told(found.taken_us) == "2026-03-07T07:00"


def test_next_business_day_skips_a_long_weekend() -> None:
    found = run(deadline(count=1, unit="business_days"), "2026-05-22 23:50")  # the Friday before Memorial Day
    assert (told(found.strict_us), told(found.lenient_us)) == ("2026-05-26T16:30", "2026-05-27T00:00")


def test_six_months_from_the_end_of_august_end_with_february() -> None:
    found = run(deadline(count=6, unit="months", extends="no"), "2025-08-31 09:00")
    assert told(found.strict_us) == "2026-02-28T16:30"


def test_thing_that_may_not_come_before_a_period_is_over_waits_for_the_day_after() -> None:
    found = run(deadline(count=30, holds="after", takes="later", extends="no"), "2026-06-01 09:00")
    assert told(found.taken_us) == "2026-07-02T00:00"


def test_thing_that_begins_on_a_day_begins_with_it_even_if_it_is_a_holiday() -> None:
    found = run(deadline(count=31, holds="on", takes="later"), "2026-06-03 09:00")
    assert told(found.taken_us) == "2026-07-04T00:00"


def test_two_readings_with_starts_of_their_own_wait_for_those() -> None:
    asked = deadline(starts="first_notice", lenient=Reading(starts="telephone_notice"))
    found = clocks.due(asked, {"first_notice": at("2026-06-01 09:00")}, NEW_YORK, CLOSES)
    assert found.lenient_us is None
    assert found.taken_us == found.strict_us is not None


def test_measure_without_a_number_has_no_instant() -> None:
    asked = Deadline.model_validate({"name": "x", "starts": "notification", "takes": "later", "says": "promptly"})
    assert run(asked, "2026-06-01 09:00") == clocks.Due(None, None, None)


@pytest.mark.parametrize("changes", [{"says": ""}, {"count": None}, {"remind": 3}, {"remind": 0}])
def test_reminder_belongs_to_a_proposed_time_and_lies_before_its_end(changes: dict[str, object]) -> None:
    proposed: dict[str, object] = {"name": "x", "starts": "suspension", "takes": "earlier", "says": "soon", "count": 3}
    assert Deadline.model_validate({**proposed, "remind": 2}).remind == 2
    with pytest.raises(ValidationError):
        Deadline.model_validate({**proposed, "remind": 2, **changes})


def test_immediately_is_the_instant_itself() -> None:
    asked = deadline(count=0, unit="hours", says="immediately")
    assert told(run(asked, "2026-06-01 09:00").taken_us) == "2026-06-01T09:00"


def test_midnight_begins_the_day_that_is_left_out() -> None:
    assert told(run(deadline(count=1), "2026-06-02 00:00").strict_us) == "2026-06-03T16:30"
    assert told(run(deadline(count=1), "2026-06-01 23:59").strict_us) == "2026-06-02T16:30"


@given(deadlines(), INSTANTS, st.integers(0, 400 * DAY_US))
def test_later_start_never_ends_earlier(asked: Deadline, start_us: int, later_us: int) -> None:
    first, second = (
        clocks.due(asked, {"issuance": instant}, NEW_YORK, CLOSES) for instant in (start_us, start_us + later_us)
    )
    assert first.strict_us is not None and second.strict_us is not None and first.strict_us <= second.strict_us
    assert first.lenient_us is not None and second.lenient_us is not None and first.lenient_us <= second.lenient_us


@given(deadlines(), INSTANTS)
def test_strict_reading_is_never_later_than_the_lenient_one(asked: Deadline, start_us: int) -> None:
    found = clocks.due(asked, {"issuance": start_us}, NEW_YORK, CLOSES)
    assert found.strict_us is not None and found.lenient_us is not None
    assert found.strict_us <= found.lenient_us
    assert found.taken_us == found.strict_us


@given(st.sampled_from(DAY_UNITS), st.integers(1, 60), DAYS)
def test_extended_period_never_ends_on_an_excluded_day(unit: Unit, count: int, start: date) -> None:
    last = clocks.last_day(start, deadline(count=count, unit=unit), extend=True)
    assert localtime.is_business_day(last)
    assert last > start


@given(DAYS.filter(localtime.is_business_day), st.integers(0, 60))
def test_counting_business_days_back_undoes_counting_them_on(day: date, count: int) -> None:
    assert localtime.after_business_days(localtime.before_business_days(day, count), count) == day
    assert localtime.before_business_days(localtime.after_business_days(day, count), count) == day


@given(DAYS, st.integers(0, 60), st.integers(-30, 30))
def test_months_keep_the_day_or_end_the_month(day: date, count: int, back: int) -> None:
    found = localtime.after_months(day, count + back)
    assert found.day == day.day or (found + timedelta(days=1)).day == 1
    assert (found.year * 12 + found.month) - (day.year * 12 + day.month) == count + back


@pytest.mark.parametrize("name", profile_names())
def test_every_deadline_of_a_code_can_be_reckoned(name: str) -> None:
    profile: Profile = load_profile(name)
    for provision in profile.provisions:
        for each in provision.deadlines:
            starts = {each.read(reading).starts: at("2026-06-10 09:00") for reading in (each.strict, each.lenient)}
            found = clocks.due(each, starts, NEW_YORK, profile.office_closes)
            assert (found.taken_us is None) == (each.count is None), f"{provision.id}: {each.name}"
            assert each.text
