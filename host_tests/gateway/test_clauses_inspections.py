"""Reports and inspectors' visits of construction sites: each starts the period of the next, whenever it was entered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from headwall.rules import clause_duties, duties
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.building_house import INA, TOM, Building, building_registry, buildings, choice, local, project, shown
from support.registry_text import ACTIVE

Make = Callable[..., Building]
WEEKLY, VISITS = "seven_day_report", "qualified_inspector"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with buildings(tmp_path) as made:
        yield made


def test_a_site_without_a_project_has_no_clock_of_inspections(make: Make) -> None:
    house = make("").at("2026-07-01 09:00")
    assert house.all(WEEKLY) == house.all(VISITS) == []


def test_the_first_report_is_due_seven_days_after_the_start_of_work(make: Make) -> None:
    house = make(project())
    assert house.at("2026-05-31 09:00").open(WEEKLY) == []
    assert house.at("2026-06-01 09:00").open(WEEKLY) == ["2026-06-08 16:30"]
    (duty,) = house.all(WEEKLY)
    assert shown(duty.body.lenient_us) == "2026-06-09 00:00"


def test_a_report_answers_its_duty_and_starts_the_next(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    house.report("2026-06-05 15:00")
    house.at("2026-06-05 15:01")
    first, second = house.all(WEEKLY)
    assert (first.state, first.closed_by, shown(first.closed_us)) == ("received", "Tom", "2026-06-05 15:00")
    assert (second.state, shown(second.body.due_us)) == ("open", "2026-06-12 16:30")


def test_neither_weekend_nor_clock_change_puts_a_report_off(make: Make) -> None:
    house = make(project(start="2026-10-20")).at("2026-10-26 09:00")
    house.report("2026-10-25 10:00")  # a Sunday; the clocks change on the next
    assert house.at("2026-10-27 09:00").open(WEEKLY) == ["2026-11-01 16:30"]
    (duty,) = (each for each in house.all(WEEKLY) if each.state == "open")
    assert duty.body.lenient_us is not None
    assert duty.body.due_us is not None
    assert duty.body.lenient_us - local("2026-10-25 00:00") == (8 * 24 + 1) * 3_600_000_000


def test_a_report_that_comes_late_takes_its_place_in_the_chain(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    house.report("2026-06-11 15:00")
    house.at("2026-06-11 16:00")
    house.report("2026-06-05 15:00")
    house.at("2026-06-11 17:00")
    states = [(each.state, shown(each.closed_us)) for each in house.all(WEEKLY)]
    assert states == [("received", "2026-06-05 15:00"), ("received", "2026-06-11 15:00"), ("open", None)]


def test_a_report_taken_back_opens_its_duty_again_and_the_next_is_asked_no_longer(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    number = house.report("2026-06-05 15:00")
    house.at("2026-06-05 16:00").withdraw(number)
    house.at("2026-06-05 17:00")
    first, second = house.all(WEEKLY)
    assert (first.state, first.closed_by) == ("open", None)
    assert second.state == "gone"
    assert ("duty_reopened", "headwall") in house.records()


def test_what_a_person_says_is_not_needed_stays_so_and_the_next_counts_from_when_it_was_due(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    (duty,) = house.all(WEEKLY)
    now_us = house.clock.now
    with house.ledger.begin() as conn:
        duties.close_duty(conn, duty.id, "not_needed", by="Olive", at_us=now_us, now_us=now_us, reason="flood")
    assert house.at("2026-06-03 09:00").open(WEEKLY) == []
    assert house.at("2026-06-08 17:00").open(WEEKLY) == ["2026-06-15 16:30"]
    house.report("2026-06-10 15:00")
    assert house.at("2026-06-10 16:00").open(WEEKLY) == ["2026-06-17 16:30"]
    assert house.all(WEEKLY)[0].state == "not_needed"


def test_a_duty_that_a_record_answers_is_not_closed_by_its_number(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    (duty,) = house.all(WEEKLY)
    with house.ledger.begin() as conn, pytest.raises(duties.DutyClosedError, match="headwall record report yard"):
        duties.close_duty(conn, duty.id, "received", by="Olive", at_us=0, now_us=0)


def test_while_a_site_is_shut_down_nothing_is_asked_and_the_clock_starts_anew(make: Make) -> None:
    rests = (
        '[{ status = "active", from = 2020-01-01, to = 2026-06-04, by = "O" },'
        ' { status = "shut_down", from = 2026-06-04, to = 2026-07-01, by = "O" },'
        ' { status = "active", from = 2026-07-01, by = "O" }]'
    )
    house = make(project(), status=rests).at("2026-06-02 09:00")
    house.at("2026-06-04 09:00")
    (duty,) = house.all(WEEKLY)
    assert (duty.state, duty.body.trigger_gone) == ("gone", "no work under this clause since 2026-06-04")
    assert house.at("2026-07-01 09:00").open(WEEKLY) == ["2026-07-08 16:30"]


def test_what_was_overdue_before_the_work_ended_stays_owed(make: Make) -> None:
    house = make(project("final_stabilization = 2026-06-20"))
    assert house.at("2026-07-01 09:00").open(WEEKLY) == ["2026-06-08 16:30"]


@pytest.mark.parametrize(
    ("lines", "area", "owed"),
    [
        ((), "0.9 acres", False),
        ((), "1 acre", True),
        (('common_plan = "Riverside"', 'common_area = "0.95 acres"'), "0.9 acres", True),
        (('exempt = "cemetery graves"', 'exempt_by = "Olive"'), "3 acres", False),
    ],
)
def test_elmsfords_article_applies_by_area_plan_and_exemption(
    make: Make, lines: tuple[str, ...], area: str, owed: bool
) -> None:
    house = make(project(*lines, area=area)).at("2026-06-02 09:00")
    assert bool(house.open(WEEKLY)) == owed


# --- who has signed ---


def test_a_report_signed_by_the_contractor_alone_leaves_the_inspectors_visit_due(make: Make) -> None:
    house = make(project(_conditions("B"))).at("2026-06-02 09:00")
    house.report("2026-06-05 15:00", TOM)
    house.at("2026-06-05 16:00")
    assert house.open(WEEKLY) == ["2026-06-12 16:30"]
    assert house.open(VISITS) == ["2026-06-08 16:30"] * 2  # weekly, and the first of two: five acres may be open


def test_one_visit_answers_both_only_if_both_have_signed(make: Make) -> None:
    house = make(project(_conditions("C"), area="3 acres")).at("2026-06-02 09:00")
    house.report("2026-06-05 15:00", TOM, INA)
    house.at("2026-06-05 16:00")
    assert house.open(WEEKLY) == house.open(VISITS) == ["2026-06-12 16:30"]


def test_a_municipality_may_say_that_one_visit_never_answers_both(make: Make) -> None:
    never = choice("inspections.merge", '"never"')
    house = make(project(_conditions("C"), area="3 acres"), choices=never).at("2026-06-02 09:00")
    house.report("2026-06-05 15:00", TOM, INA)
    house.at("2026-06-05 16:00")
    assert house.open(WEEKLY) == ["2026-06-12 16:30"]
    assert house.open(VISITS) == ["2026-06-08 16:30"]


def test_the_inspector_is_owed_only_where_a_condition_is_declared_and_asked_about_where_none_is(make: Make) -> None:
    house = make(project(area="3 acres")).at("2026-06-02 09:00")
    (asked,) = house.all(VISITS)
    assert asked.body.advice
    assert "Conditions A, B, C, D" in asked.body.asks
    house = make(project('conditions = [{ met = [], by = "O", from = 2026-01-01 }]', area="3 acres"))
    assert house.at("2026-06-02 09:00").all(VISITS) == []


# --- twice in a period ---


def test_at_five_acres_open_two_visits_fall_into_any_seven_days(make: Make) -> None:
    none = 'conditions = [{ met = [], by = "O", from = 2026-01-01 }]'
    house = make(project(none, 'open = [{ area = "5 acres", by = "B", from = 2026-06-01 }]'))
    house.at("2026-06-02 09:00")
    for day in ("2026-06-03", "2026-06-06", "2026-06-09"):
        house.report(f"{day} 10:00", INA)
    house.at("2026-06-09 11:00")
    dues = [(each.state, shown(each.body.due_us)) for each in house.all(VISITS)]
    assert dues == [
        ("received", "2026-06-08 16:30"),
        ("received", "2026-06-08 16:30"),
        ("received", "2026-06-10 16:30"),
        ("open", "2026-06-13 16:30"),
    ]


@pytest.mark.parametrize(("gap_days", "least", "warned"), [(1, 2, True), (2, 2, False), (2, 3, True), (1, 0, False)])
def test_two_visits_too_near_to_each_other_are_warned_of(make: Make, gap_days: int, least: int, warned: bool) -> None:
    none = 'conditions = [{ met = [], by = "O", from = 2026-01-01 }]'
    house = make(project(none), choices=choice("twice.min_gap_d", str(least)))
    house.report("2026-06-03 10:00", INA)
    house.report(f"2026-06-0{3 + gap_days} 10:00", INA)
    house.at("2026-06-08 09:00")
    (duty,) = (each for each in house.all(VISITS) if each.state == "open")
    assert ("warning" in duty.body.evidence) == warned


def test_below_five_acres_open_nobody_has_to_come_twice(make: Make) -> None:
    house = make(
        project(_conditions("B"), 'open = [{ area = "4.9 acres", by = "B", from = 2026-06-01, to = 2026-07-01 }]')
    ).at("2026-06-30 09:00")
    assert len(house.open(VISITS)) == 1
    assert len(house.at("2026-07-01 09:00").open(VISITS)) == 2  # nobody has said what is open: all of it may be


# --- North Castle ---


def test_north_castles_inspector_comes_from_an_acre_on_and_counts_from_visit_to_visit(make: Make) -> None:
    house = make(project(area="1 acre"), code="north_castle").at("2026-06-02 09:00")
    house.report("2026-06-06 15:00", INA, visited="2026-06-04 10:00")
    assert house.at("2026-06-06 16:00").open(VISITS) == ["2026-06-11 16:30"]
    assert house.all(WEEKLY) == []


@pytest.mark.parametrize(("who", "owed"), [("contractor", False), ("qualified_inspector", True)])
def test_who_inspects_a_smaller_site_of_north_castle_is_a_choice(make: Make, who: str, owed: bool) -> None:
    house = make(project(area="0.5 acres"), code="north_castle", choices=choice("small_site.inspector", f'"{who}"')).at(
        "2026-06-02 09:00"
    )
    assert bool(house.open(VISITS)) == owed


@pytest.mark.parametrize(("sums", "owed"), [("false", False), ("true", True)])
def test_whether_the_areas_of_a_common_plan_are_added_is_north_castles_choice(
    make: Make, sums: str, owed: bool
) -> None:
    plan = ('common_plan = "Riverside"', 'common_area = "2 acres"')
    choices = choice("common_plan.sum_areas", sums) + choice("small_site.inspector", '"qualified_inspector"')
    house = make(project(*plan, area="4999 sq ft"), code="north_castle", choices=choices).at("2026-06-02 09:00")
    assert bool(house.open(VISITS)) == owed


@pytest.mark.parametrize(
    ("code", "basis", "due"),
    [
        ("elmsford", "code", "2026-06-13 16:30"),
        ("elmsford", "visit", "2026-06-11 16:30"),
        ("north_castle", "code", "2026-06-11 16:30"),
        ("north_castle", "report", "2026-06-13 16:30"),
    ],
)
def test_from_what_seven_days_run_is_a_choice(make: Make, code: str, basis: str, due: str) -> None:
    house = make(
        project(_conditions("C") if code == "elmsford" else "", area="3 acres"),
        code=code,
        choices=choice("seven_day.basis", f'"{basis}"'),
    ).at("2026-06-02 09:00")
    house.report("2026-06-06 15:00", TOM, INA, visited="2026-06-04 10:00")
    house.at("2026-06-06 16:00")
    assert house.open(WEEKLY if code == "elmsford" else VISITS) == [due]


# --- delivery ---


def test_a_report_that_went_to_nobody_waits_for_its_delivery(make: Make) -> None:
    from headwall.ledger.entries import Signature, SiteReport

    house = make(project()).at("2026-06-02 09:00")
    body = SiteReport(visited_us=local("2026-06-05 15:00"), signed=[Signature("Tom", "trained_contractor")])
    number = house.enter(body, "2026-06-05 15:00", "Tom")
    house.at("2026-06-05 16:00")
    (waiting,) = (each for each in house.all(WEEKLY) if each.body.name == "")
    assert (waiting.state, waiting.body.due_us) == ("open", None)
    house.report("2026-06-05 15:00", replaces=number)
    house.at("2026-06-05 17:00")
    (waiting,) = (each for each in house.all(WEEKLY) if each.body.name == "")
    assert (waiting.state, waiting.closed_by) == ("received", "Tom")


# --- mails ---


def test_a_duty_answered_before_any_mail_went_is_not_mailed(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    duty = house.all(WEEKLY)[0].id
    assert (f"duty/{duty}/1", "digest") in house.told()
    house.report("2026-06-05 15:00")
    house.at("2026-06-05 16:00")
    assert not [fact for fact, _ in house.told() if fact.startswith(f"duty/{duty}/")]


def test_a_restart_opens_and_tells_nothing_anew(make: Make) -> None:
    house = make(project(_conditions("B"))).at("2026-06-02 09:00")
    house.report("2026-06-05 15:00", TOM, INA)
    before = (house.at("2026-06-05 16:00").all(WEEKLY), house.all(VISITS), house.told(), house.records())
    house.new_engine()
    house.at("2026-06-05 16:00")
    assert (house.all(WEEKLY), house.all(VISITS), house.told(), house.records()) == before


@settings(
    max_examples=5, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_reports_in_any_order_with_corrections_and_restarts_end_the_same(tmp_path: Path, data: st.DataObject) -> None:
    """And nothing is closed without a name."""
    hours = data.draw(st.lists(st.integers(0, 30 * 24), min_size=1, max_size=4, unique=True))
    signers = [data.draw(st.sampled_from([(TOM,), (INA,), (TOM, INA)])) for _ in hours]
    shuffled = data.draw(st.permutations(list(zip(hours, signers, strict=True))))
    slip = data.draw(st.booleans())
    registry = building_registry(tmp_path, project(_conditions("B")), code="elmsford", choices="", status=ACTIVE)
    ends = []
    for order in (sorted(shuffled), shuffled):
        house = Building(registry, local("2026-06-01 00:00"))
        for hour, who in order:
            house.report(shown(local("2026-06-01 01:00") + hour * 3_600_000_000) or "", *who)
            if order is shuffled:
                house.at("2026-07-05 12:00")
        if slip and order is shuffled:
            number = house.report("2026-06-20 00:30", TOM)
            house.at("2026-07-05 12:00").withdraw(number)
            house.new_engine()
        house.at("2026-07-05 12:00")
        ends.append(sorted(_end(each) for kind in (WEEKLY, VISITS) for each in house.all(kind) if each.state != "gone"))
        assert all(each.closed_by for kind in (WEEKLY, VISITS) for each in house.all(kind) if each.state == "received")
        house.close()
    assert ends[0] == ends[1]


def _end(duty: duties.Duty[duties.ClauseDuty]) -> str:
    body = duty.body
    return repr((body.provision, body.name, body.occurrence, duty.state, body.due_us, duty.closed_by, duty.closed_us))


def _conditions(*letters: str) -> str:
    met = ", ".join(f'"{each}"' for each in letters)
    return f'conditions = [{{ met = [{met}], by = "Olive", from = 2026-01-01 }}]'


def test_a_planner_that_fails_stops_no_other_and_is_tried_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {**clause_duties.PLANNERS, VISITS: _fails}
    house = make(project(_conditions("C")))
    with monkeypatch.context() as patched:
        patched.setattr(clause_duties, "PLANNERS", broken)
        assert house.at("2026-06-02 09:00").open(WEEKLY) == ["2026-06-08 16:30"]
        assert "no such day" in (house.engine.healthy() or "")
    house.at("2026-06-02 09:02")
    assert len(house.open(VISITS)) == 2
    assert house.engine.healthy() is None


def _fails(_look: object, _provision: object) -> list[object]:
    raise LookupError("no such day")


def test_a_report_that_was_entered_twice_is_one_report_whose_delivery_waits_until_both_went(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    first = house.report("2026-06-05 15:00", delivered=False)
    house.report("2026-06-05 15:00")
    house.at("2026-06-05 16:00")
    states = {(each.body.occurrence, each.state) for each in house.all(WEEKLY)}
    assert states == {
        ("after 2026-06-01T00:00:00-04:00", "received"),
        ("after 2026-06-05T15:00:00-04:00", "open"),
        ("delivery of 2026-06-05T15:00:00-04:00", "open"),
    }
    house.withdraw(first)
    house.at("2026-06-05 17:00")
    assert {each.state for each in house.all(WEEKLY) if each.body.occurrence.startswith("delivery")} == {"gone"}


def test_a_report_at_the_very_start_of_work_starts_nothing_anew(make: Make) -> None:
    house = make(project()).at("2026-06-02 09:00")
    house.report("2026-06-01 00:00")
    assert house.at("2026-06-02 10:00").open(WEEKLY) == ["2026-06-08 16:30"]
