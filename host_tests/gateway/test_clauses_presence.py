"""Who and what has to be at a construction site, and how much of it may be open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
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
