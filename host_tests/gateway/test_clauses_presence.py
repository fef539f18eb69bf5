"""Who and what has to be at a construction site, and how much of it may be open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from headwall.rules.facts import ClauseDuty
from hypothesis import given, settings
from hypothesis import strategies as st
from support.building_house import INA, TOM, Building, buildings, project

Make = Callable[..., Building]
PRESENCE, PLAN, CEILING = "contractor_presence", "plan_on_site", "disturbance_ceiling"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with buildings(tmp_path) as made:
        yield made


def _states(house: Building, kind: str) -> list[tuple[str, str]]:
    return sorted((each.body.occurrence, each.state) for each in house.all(kind))


def test_a_week_with_days_that_nobody_has_entered_is_asked_for_as_advice_once_it_is_over(make: Make) -> None:
    house = make(project())
    house.was_there("2026-06-02", "Tom")
    house.was_there("2026-06-04", work=False)
    house.report("2026-06-05 15:00", TOM)
    assert house.at("2026-06-07 23:59").all(PRESENCE) == []
    (week,) = house.at("2026-06-08 00:00").all(PRESENCE)
    assert week.body.advice
    assert week.body.due_us is None
    assert week.body.evidence == {"days without a record": "2026-06-01, 2026-06-03"}
    house.was_there("2026-06-01", "Tom")
    house.was_there("2026-06-03", work=False)
    (week,) = house.at("2026-06-08 09:00").all(PRESENCE)
    assert (week.state, week.closed_by) == ("received", "Tom")


def _fill(house: Building, *mondays: str) -> None:
    for monday in mondays:
        for n in range(5):
            house.was_there((date.fromisoformat(monday) + timedelta(days=n)).isoformat(), work=False)


def test_weeks_that_follow_each_other_are_one_advice_that_says_how_many_and_is_told_once(make: Make) -> None:
    house = make(project())
    for when in ("2026-06-08 00:00", "2026-06-15 00:00", "2026-06-22 00:00"):
        (row,) = house.at(when).all(PRESENCE)
    assert (row.body.occurrence, row.body.evidence["weeks"], row.body.evidence["last"]) == (
        "week of 2026-06-01", 3, "week of 2026-06-15",
    )  # fmt: skip
    assert row.body.evidence["days without a record"] == (
        "2026-06-01, 2026-06-02, 2026-06-03, 2026-06-04, 2026-06-05 and more"
    )
    told = [fact for *_, fact in house.outbox() if isinstance(fact, ClauseDuty) and fact.occurrence.startswith("week")]
    assert len(told) == 1
    _fill(house, "2026-06-15", "2026-06-08", "2026-06-01")
    assert _states(house.at("2026-06-22 09:00"), PRESENCE) == [("week of 2026-06-01", "received")]


def test_a_hole_after_a_full_week_is_a_new_advice(make: Make) -> None:
    house = make(project())
    _fill(house, "2026-06-08")
    house.at("2026-06-15 00:00").at("2026-06-22 00:00")
    assert _states(house, PRESENCE) == [("week of 2026-06-01", "open"), ("week of 2026-06-15", "open")]


def test_no_week_is_asked_for_when_no_work_goes_on_any_more(make: Make) -> None:
    house = make(project("final_stabilization = 2026-06-17"))
    assert _states(house.at("2026-06-16 23:00"), PRESENCE) == [("week of 2026-06-01", "open")]
    assert _states(house.at("2026-06-17 00:00").at("2026-06-22 00:00"), PRESENCE) == [("week of 2026-06-01", "gone")]


def test_work_that_begins_again_is_asked_for_anew(make: Make) -> None:
    states = (
        '[{ status = "active", from = 2026-01-01, to = 2026-06-10, by = "Ada" },'
        ' { status = "shut_down", from = 2026-06-10, to = 2026-06-12, by = "Ada" },'
        ' { status = "active", from = 2026-06-12, by = "Ada" }]'
    )
    house = make(project(), status=states)
    for when in ("2026-06-08 09:00", "2026-06-11 09:00", "2026-06-15 09:00"):
        house.at(when)
    assert _states(house, PRESENCE) == [("week of 2026-06-01", "gone"), ("week of 2026-06-08", "open")]
    assert house.all(PRESENCE)[1].body.evidence["days without a record"] == "2026-06-08, 2026-06-09, 2026-06-12"


@settings(max_examples=15)
@given(days=st.permutations([7 * week + n for week in range(3) for n in range(5)]), entered=st.integers(6, 15))
def test_which_weeks_are_asked_for_follows_from_the_days_on_record_in_whatever_order_they_came(
    days: list[int], entered: int
) -> None:
    monday, on_record = date(2026, 6, 1), set(days[:entered])
    asked = [range(7 * week, 7 * week + (4 if week == 2 else 5)) for week in range(6)]  # June 19 is a holiday
    full = [on_record.issuperset(week) for week in asked]
    with TemporaryDirectory() as folder, buildings(Path(folder)) as make:
        house = make(project())
        for n, day in enumerate(days[:entered]):
            house.was_there((monday + timedelta(days=day)).isoformat(), work=False)
            if n % 3 == 0:
                house.at(f"{monday + timedelta(days=21 + n)} 09:00")
        house.at("2026-07-13 00:00")
        found = [name for name, state in _states(house, PRESENCE) if state == "open"]
    first_of_row = [n for n in range(6) if not full[n] and (n == 0 or full[n - 1])]
    assert sorted(found) == [f"week of {monday + timedelta(days=7 * n)}" for n in first_of_row]


def test_a_holiday_is_not_asked_for(make: Make) -> None:
    house = make(project(start="2026-09-07"))  # Labor Day
    for day in ("2026-09-08", "2026-09-09"):
        house.was_there(day, "Tom")
    (week,) = house.at("2026-09-14 09:00").all(PRESENCE)
    assert week.body.evidence == {"days without a record": "2026-09-10, 2026-09-11"}


def test_work_without_a_trained_contractor_is_put_before_the_officer(make: Make) -> None:
    house = make(project())
    number = house.was_there("2026-06-02")
    (day,) = house.at("2026-06-02 18:00").all(PRESENCE)
    assert (day.state, day.body.advice, day.body.occurrence) == ("open", False, "2026-06-02")
    house.withdraw(number)
    house.was_there("2026-06-02", "Tom")
    (day,) = house.at("2026-06-02 19:00").all(PRESENCE)
    assert day.state == "gone"


def test_of_two_entries_about_a_day_the_one_that_names_a_contractor_counts_in_any_order(make: Make) -> None:
    for said in ((), ("Tom",)), (("Tom",), ()):
        house = make(project())
        for contractors in said:
            house.was_there("2026-06-02", *contractors)
        assert house.at("2026-06-02 18:00").all(PRESENCE) == []


def test_an_inspectors_visit_is_no_trained_contractor(make: Make) -> None:
    house = make(project())
    house.was_there("2026-06-02")
    house.report("2026-06-02 15:00", INA)
    assert [each.state for each in house.at("2026-06-02 18:00").all(PRESENCE)] == ["open"]
    house.report("2026-06-02 16:00", TOM)
    assert [each.state for each in house.at("2026-06-02 19:00").all(PRESENCE)] == ["gone"]


@pytest.mark.parametrize("code", ["elmsford", "north_castle"])
def test_the_plan_is_to_be_at_the_site_until_final_stabilisation(make: Make, code: str) -> None:
    house = make(project("final_stabilization = 2026-12-01"), code=code)
    (asked,) = house.at("2026-06-01 09:00").all(PLAN)
    assert (asked.state, asked.body.due_us) == ("open", None)
    house.looked_for_plan("2026-06-03 10:00", there=False)
    house.looked_for_plan("2026-06-04 10:00", there=True)
    house.looked_for_plan("2026-07-01 10:00", there=False)
    house.at("2026-07-01 11:00")
    assert [state for _, state in _states(house, PLAN)] == ["open", "received"]
    house.at("2026-12-01 00:00")
    assert [state for _, state in _states(house, PLAN)] == ["gone", "received"]


def test_a_plan_entered_late_and_in_any_order_is_judged_by_when_it_was_looked_for(make: Make) -> None:
    ends = []
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        house = make(project())
        looks = [("2026-06-03 10:00", True), ("2026-06-10 10:00", False), ("2026-06-12 10:00", True)]
        for n in order:
            house.looked_for_plan(looks[n][0], there=looks[n][1])
            house.at("2026-06-20 09:00")
        ends.append([each for each in _states(house, PLAN) if each[1] != "gone"])
    assert ends[0] == ends[1] == ends[2]
    assert [state for _, state in ends[0]] == ["received", "received"]


@pytest.mark.parametrize(
    ("open_area", "approved", "warned"),
    [("5 acres", "", False), ("5.1 acres", "", True), ("5.1 acres", "8 acres", False), ("8.1 acres", "8 acres", True)],
)
def test_more_open_at_once_than_the_code_or_the_approved_plan_has_it_is_a_warning(
    make: Make, open_area: str, approved: str, warned: bool
) -> None:
    plan = [f'approved_open = "{approved}"'] if approved else []
    area = f'open = [{{ area = "{open_area}", by = "Bella", from = 2026-06-10, to = 2026-06-20 }}]'
    house = make(project(area, *plan, area="9 acres"))
    assert house.at("2026-06-09 09:00").all(CEILING) == []
    house.at("2026-06-10 09:00")
    assert [each.state for each in house.all(CEILING)] == ["open"] * warned
    house.at("2026-06-20 09:00")
    assert [each.state for each in house.all(CEILING)] == ["gone"] * warned


def test_an_area_that_nobody_has_told_breaks_no_ceiling(make: Make) -> None:
    assert make(project(area="9 acres")).at("2026-06-10 09:00").all(CEILING) == []
