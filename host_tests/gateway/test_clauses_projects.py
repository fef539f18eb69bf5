"""The other clocks of projects: training, stages, gates, guarantees, older projects, escrow, costs, monitoring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import permutations
from pathlib import Path

import pytest
from headwall.ledger.entries import (
    Certification,
    CostPayment,
    CostStatement,
    Escrow,
    Milestone,
    MonitoringOrder,
    MonitoringReport,
    StageTold,
    Training,
)
from headwall.rules.clauses.money import shares
from hypothesis import given
from hypothesis import strategies as st
from support.building_house import Building, buildings, local, project, shown

Make = Callable[..., Building]
ESCROW = 'escrow = "9000"'


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with buildings(tmp_path) as made:
        yield made


def _ends(house: Building, kind: str) -> list[tuple[str, str, str, str | None]]:
    """Those that were not taken back: name, occurrence, state, due."""
    found = [(d.body.name, d.body.occurrence, d.state, shown(d.body.due_us)) for d in house.all(kind)]
    return [each for each in found if each[2] != "gone"]


def _step(house: Building, when: str, step: str) -> int:
    return house.enter(Milestone(step=step, reference="file 1"), when, "Olive")


def _train(house: Building, person: str, when: str, hours: str = "4", credential: str = "") -> None:
    body = Training(hours=hours, credential=credential, reference="card")
    house.entered(person, body, local(when))


# --- training and certification ---


def test_training_is_asked_for_again_sixty_days_before_three_years_are_over(make: Make) -> None:
    house = make(project(), contractor=True)
    _train(house, "builder", "2023-09-15 09:00")
    house.at("2026-07-16 00:00")
    assert house.open("trained_contractor") == []
    house.at("2026-07-18 00:00")
    assert house.open("trained_contractor") == ["2026-09-15 16:30"]
    _train(house, "builder", "2026-08-01 09:00")
    house.at("2026-08-02 09:00")
    assert house.open("trained_contractor") == []


def test_training_that_is_too_short_does_not_count_and_a_credential_needs_none_again(make: Make) -> None:
    house = make(project(), contractor=True)
    _train(house, "builder", "2026-05-01 09:00", hours="3.5")
    house.at("2026-06-02 09:00")
    (asked,) = house.all("trained_contractor")
    assert (asked.state, asked.body.evidence) == ("open", {"too short": "3.5 h, entry 1"})
    _train(house, "builder", "2026-05-02 09:00", hours="0", credential="license 12345")
    house.at("2030-06-02 09:00")
    assert [each.state for each in house.all("trained_contractor")] == ["received"]


def test_certification_after_work_began_says_so(make: Make) -> None:
    house = make(project(), contractor=True)
    body = Certification(person="builder", title="foreman", firm="Works")
    house.at("2026-06-02 09:00")
    house.enter(body, "2026-06-03 09:00", "Olive")
    (asked,) = house.at("2026-06-03 10:00").all("contractor_certification")
    assert asked.state == "received"
    assert asked.body.evidence == {"work began": "2026-06-01, before it was signed"}


# --- stages ---


@pytest.mark.parametrize("code", ["elmsford", "north_castle"])
def test_notice_of_a_stage_is_due_48_elapsed_hours_before_its_day_also_over_the_end_of_summer_time(
    make: Make, code: str
) -> None:
    stages = 'stages = [{ stage = "final grading complete", planned = 2026-11-02 }]'
    house = make(project(stages), code=code)
    house.at("2026-10-01 09:00")
    assert house.open("stage_notice", "notice") == ["2026-10-31 01:00"]
    house.enter(StageTold(stage="site clearing complete", told_to="Olive"), "2026-10-01 09:00", "Bella")
    assert [each.state for each in house.at("2026-10-01 10:00").all("stage_notice")] == ["open"]
    house.enter(StageTold(stage="final grading complete", told_to="Olive"), "2026-10-02 09:00", "Bella")
    assert [each.state for each in house.at("2026-10-02 10:00").all("stage_notice")] == ["received"]


# --- gates, guarantees, older projects ---


@pytest.mark.parametrize("code", ["elmsford", "north_castle"])
def test_gate_that_stood_before_is_found_though_it_was_entered_later_in_any_order(make: Make, code: str) -> None:
    told = [("2026-06-03 10:00", "easement_recorded"), ("2026-06-04 10:00", "approved")]
    ends = []
    for order in permutations(told):
        house = make(project(), code=code)
        house.at("2026-06-05 09:00")
        for when, step in order:
            _step(house, when, step)
            house.at("2026-06-05 10:00")
        ends.append(_ends(house, "easement"))
    assert ends[0] == ends[1]
    assert [state for _, _, state, _ in ends[0]] == ["received"]


def test_what_comes_after_needs_a_record_after_it(make: Make) -> None:
    house = make(project())
    _step(house, "2026-05-01 10:00", "as_built")
    _step(house, "2026-06-03 10:00", "built")
    assert [each.state for each in house.at("2026-06-04 09:00").all("as_built")] == ["open"]


def test_guarantee_is_not_released_before_a_year_and_an_inspection(make: Make) -> None:
    house = make(project())
    _step(house, "2026-06-02 10:00", "accepted")
    house.at("2026-06-02 11:00")
    assert house.open("guarantee", "release") == ["2027-06-03 00:00"]
    early = _step(house, "2026-12-01 10:00", "guarantee_released")
    house.at("2026-12-01 11:00")
    assert [(name, state) for name, _, state, _ in _ends(house, "guarantee")] == [("", "open"), ("release", "open")]
    house.withdraw(early)
    _step(house, "2027-06-04 10:00", "found_acceptable")
    _step(house, "2027-06-05 10:00", "guarantee_released")
    house.at("2027-06-05 11:00")
    assert [(name, state) for name, _, state, _ in _ends(house, "guarantee")] == [("release", "received")]


def test_guarantee_that_ends_before_it_may_is_asked_for_anew_unless_another_follows(make: Make) -> None:
    bond = '{ kind = "bond", amount = "5000", reference = "B-1", from = 2026-01-01, to = 2026-12-01 }'
    more = '{ kind = "bond", amount = "5000", reference = "B-2", from = 2026-11-01 }'
    found = []
    for held in (bond, f"{bond}, {more}"):
        house = make(project(f"guarantees = [{held}]"))
        _step(house, "2026-06-02 10:00", "accepted")
        found.append([each.body.name for each in house.at("2026-06-03 09:00").all("guarantee")])
    assert found == [["", "release"], ["release"]]


def test_older_project_lapses_after_twelve_months_of_rest_alone(make: Make) -> None:
    house = make(project(), code="north_castle")
    _step(house, "2026-06-02 10:00", "activity")
    house.at("2026-06-02 11:00")
    assert house.open("project_lapse", "lapse") == ["2027-06-03 00:00"]
    _step(house, "2027-06-01 10:00", "activity")
    house.at("2027-06-01 11:00")
    assert house.open("project_lapse", "lapse") == ["2028-06-02 00:00"]
    _step(house, "2028-06-20 10:00", "activity")  # resumed too late: the rest still waits for conformity
    house.at("2028-06-20 11:00")
    assert len(house.open("project_lapse", "lapse")) == 2
    _step(house, "2028-07-01 10:00", "conforms")
    house.at("2028-07-01 11:00")
    assert house.open("project_lapse", "lapse") == []


# --- money ---


def test_escrow_at_a_third_is_restored_within_thirty_days_of_the_written_notice_in_any_order(make: Make) -> None:
    told = (
        (Escrow(move="withdrawal", amount="5999.99", reference="1"), "2026-06-02 10:00"),
        (Escrow(move="withdrawal", amount="0.01", reference="2"), "2026-06-03 10:00"),
        (Milestone(step="escrow_told", reference="3"), "2026-06-04 10:00"),
        (Escrow(move="deposit", amount="6000", reference="4"), "2026-06-05 10:00"),
    )
    ends = []
    for order in (told, told[::-1], (told[2], told[0], told[3], told[1])):
        house = make(project(ESCROW))
        house.at("2026-06-06 09:00")
        for body, when in order:
            house.enter(body, when, "Olive")
            house.at("2026-06-06 09:00")
        ends.append(_ends(house, "escrow"))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0] == [("restore", "project of 2026-01-01, time 1", "received", "2026-07-07 00:00")]


def test_escrow_waits_for_the_notice_and_a_cent_more_than_a_third_asks_nothing(make: Make) -> None:
    house = make(project(ESCROW))
    house.enter(Escrow(move="withdrawal", amount="5999.99", reference="1"), "2026-06-02 10:00", "Olive")
    assert house.at("2026-06-02 11:00").all("escrow") == []
    house.enter(Escrow(move="withdrawal", amount="1", reference="2"), "2026-06-03 10:00", "Olive")
    (asked,) = house.at("2026-06-03 11:00").all("escrow")
    assert (asked.body.due_us, asked.body.asks[:18]) == (None, "Tell the applicant")
    house.enter(Escrow(move="refund", amount="2999.01", reference="3"), "2026-06-09 10:00", "Olive")
    (asked,) = house.at("2026-06-09 11:00").all("escrow")
    assert asked.state == "received"


@given(st.integers(0, 10**8), st.integers(1, 60))
def test_equal_shares_make_the_whole_and_differ_by_a_cent_at_most(cents: int, lots: int) -> None:
    total = Decimal(cents) / 100
    found = shares(CostStatement(amount=f"{total:.2f}", lots=[f"lot {n}" for n in range(lots)], reference="b"))
    assert sum(found.values()) == total
    assert max(found.values()) - min(found.values()) <= Decimal("0.01")


def test_share_that_is_not_paid_in_full_stays(make: Make) -> None:
    house = make(project())
    statement = CostStatement(amount="100", lots=["a", "b", "c"], reference="bill")
    house.enter(statement, "2026-06-02 10:00", "Olive")
    for amount in ("33.33", "0.01"):
        house.enter(CostPayment(statement="bill", lot="a", amount=amount), "2026-06-03 10:00", "Olive")
    house.enter(CostPayment(statement="bill", lot="b", amount="33.32"), "2026-06-03 10:00", "Olive")
    house.at("2026-06-03 11:00")
    assert [(each, state) for _, each, state, _ in _ends(house, "unpaid_costs")] == [
        ("a, bill", "received"),
        ("b, bill", "open"),
        ("c, bill", "open"),
    ]


# --- monitoring ---


def test_each_report_of_monitoring_starts_the_next_until_the_order_ends(make: Make) -> None:
    house = make(project())
    order = MonitoringOrder(what="turbidity", order="4", every_days=10, until_us=local("2026-07-01 00:00"))
    house.enter(order, "2026-06-02 10:00", "Olive")
    house.at("2026-06-02 11:00")
    assert house.open("monitoring_reports", "report") == ["2026-06-12 16:30"]
    house.enter(MonitoringReport(order="4", reference="r"), "2026-06-11 10:00", "Bella")
    house.at("2026-06-11 11:00")
    assert house.open("monitoring_reports", "report") == ["2026-06-21 16:30"]


def test_report_that_was_due_before_its_order_ended_stays_owed_and_one_after_it_is_asked_no_longer(make: Make) -> None:
    for until, left in (("2026-06-11 00:00", []), ("2026-07-01 00:00", ["2026-06-12 16:30"])):
        house = make(project())
        order = MonitoringOrder(what="turbidity", order="4", every_days=10, until_us=local(until))
        house.enter(order, "2026-06-02 10:00", "Olive")
        house.at("2026-06-02 11:00")
        assert house.open("monitoring_reports", "report") == ["2026-06-12 16:30"]
        house.at(until)
        assert house.open("monitoring_reports", "report") == left


def test_contractor_whom_only_records_name_is_asked_for_as_advice_until_the_registry_has_him(make: Make) -> None:
    house = make(project())
    house.report("2026-06-03 10:00", ("Bella Builder", "trained_contractor"))
    house.was_there("2026-06-04", "Tom")
    house.was_there("2026-06-05", "Tom")
    asked = house.at("2026-06-08 09:00").all("trained_contractor")
    assert [(each.state, each.body.advice, each.body.due_us) for each in asked] == [("open", True, None)] * 2
    assert sorted(each.body.asks.split()[2] for each in asked) == ["Bella", "Tom"]
    assert not any("Tom" in each.body.occurrence for each in asked)  # a name does not stand in the log book's chain
    registered = make(project(), contractor=True)
    registered.report("2026-06-03 10:00", ("bella builder", "trained_contractor"))
    assert [each.body.advice for each in registered.at("2026-06-08 09:00").all("trained_contractor")] == [False]


def test_who_is_named_before_work_or_only_as_a_developer_needs_no_training(make: Make) -> None:
    house = make(project(start="2026-06-10"))
    house.was_there("2026-06-04", "Tom")
    house.report("2026-06-12 10:00", ("Bella Builder", "developer"))
    assert house.at("2026-06-15 09:00").all("trained_contractor") == []
