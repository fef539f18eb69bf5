"""Clocks of cases beyond the notice: the article that binds them, correction, entry, costs, lien and payments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from headwall.errors import InputError
from support.case_town import CaseTown, local, shown

Make = Callable[..., CaseTown]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(code: str, kind: str = "suspected_discharge", **choices: Any) -> CaseTown:
        town = CaseTown(tmp_path, code)
        for key, value in choices.items():
            town.choose(key.replace("__", "."), value)
        town.open(kind, "06-08 09:00")
        town.take("confirm", "06-08 12:00")
        return town

    return made


def serve(town: CaseTown, **more: int) -> None:
    day = local("06-10 11:00")
    times = {"dated": day, "issued": day, **more}
    town.take("serve", "06-10 11:00", means="mail", times=times)


# --- the article that binds (A23) ---


@pytest.mark.parametrize("code", ["elmsford", "north_castle"])
def test_what_breaks_the_article_on_development_is_appealed_under_that_article(make: Make, code: str) -> None:
    town = make(code, "turbidity")
    serve(town)
    (clock,) = town.running().values()
    assert (clock.clause.article, clock.clause.deadline("file").starts) == ("development", "service")
    assert town.due() == {"file": "06-26 00:00"}  # 15 days from service; the other article has other times


def test_what_breaks_the_article_on_discharges_is_appealed_under_that_one(make: Make) -> None:
    town = make("elmsford")
    serve(town)
    assert town.due() == {"file": "06-23 00:00"}  # 10 days from the date; June 20 is a Saturday
    assert town.running()["file"].clause.article == "illicit"


def test_a_code_without_the_clause_lets_nobody_confirm_its_breach(tmp_path: Path) -> None:
    town = CaseTown(tmp_path, "horseheads")
    town.open("turbidity", "06-08 09:00")
    with pytest.raises(InputError, match="no clause in force then that case 1 could break"):
        town.take("confirm", "06-08 12:00")


# --- correction and entry ---


def upheld(town: CaseTown) -> None:
    serve(town)
    town.take("appeal", "06-12 10:00", times={"received": local("06-12 10:00")})
    town.take("decide", "06-17 15:00", outcome="upheld")


@pytest.mark.parametrize(
    ("code", "correct", "ask"),
    [
        # five business days: June 19 is a holiday
        ("hillburn", "06-26 00:00", "06-26 00:00"),
        ("bayville", "06-26 00:00", "06-26 00:00"),
        ("north_castle", "06-26 00:00", "06-26 00:00"),
        ("horseheads", "06-26 00:00", "06-26 00:00"),
        # ten days, of which the last is a Saturday
        ("elmsford", "06-30 00:00", "06-30 00:00"),
    ],
)
def test_the_request_to_enter_waits_until_the_time_to_correct_is_over(
    make: Make, code: str, correct: str, ask: str
) -> None:
    town = make(code)
    upheld(town)
    due = town.due()
    assert (due["correct"], due["request_from"]) == (correct, ask)
    assert town.running()["correct"].owed_by == "person"
    town.take("request", "06-25 10:00")
    assert "Entered as requested before the time to correct was over" in town.advice()
    town.take("request", ask)
    assert "Entered as requested" not in town.advice()


def test_the_municipality_may_read_the_five_days_as_its_own_time_to_ask(make: Make) -> None:
    town = make("hillburn", corrective__reading="request")
    upheld(town)
    assert "request_from" not in town.due()
    assert town.running()["correct"].owed_by == "municipality"
    town.take("request", "06-24 10:00")
    assert shown(town.running()["correct"].met_us) == "06-24 10:00"


def test_without_an_appeal_the_notice_says_until_when_it_is_corrected(make: Make) -> None:
    town = make("north_castle")
    serve(town, correct_by=local("06-30 12:00"))
    assert (town.due()["correct_by"], town.due()["request_from"]) == ("06-30 12:00", "07-01 00:00")


@pytest.mark.parametrize("code", ["hillburn", "bayville", "elmsford", "north_castle", "horseheads"])
def test_legal_review_is_asked_for_before_any_entry(make: Make, code: str) -> None:
    town = make(code)
    upheld(town)
    assert "Legal review before anybody enters" in town.advice()
    assert ("Neither permission nor a warrant is spoken of here" in town.advice()) is (code == "elmsford")
    for action, outcome in (("request", ""), ("answer", "refused"), ("warrant", "sought"), ("warrant", "issued")):
        town.take(action, "07-01 10:00", outcome=outcome)
    assert town.take("enter", "07-02 10:00").state == "decided"


# --- costs ---


def abated(town: CaseTown, cost: str = "06-26 10:00", received: str = "06-29 12:00") -> None:
    serve(town)
    town.take("abate", "06-25 12:00", outcome="municipality")
    town.take("cost", cost, times={"cost_received": local(received)})


def test_elmsford_bills_protests_and_charges_by_its_own_days(make: Make) -> None:
    town = make("elmsford")
    abated(town)
    due = town.due()
    assert {name: due[name] for name in ("tell", "protest", "lien", "interest")} == {
        "tell": "07-05 16:30",
        "protest": "07-10 00:00",  # from receipt, the later of two readings
        "lien": "07-10 00:00",
        "interest": "07-09 00:00",  # from the discovery it were June 18
    }
    assert "Interest 12 % a year, or the highest rate that law permits if that is less, simple" in town.advice()


def test_horseheads_bills_protests_and_charges_by_its_own_days(make: Make) -> None:
    town = make("horseheads")
    abated(town)
    due = town.due()
    assert {name: due[name] for name in ("tell", "protest", "lien", "interest")} == {
        "tell": "07-25 16:30",
        "protest": "07-30 00:00",
        "lien": "07-30 00:00",
        "interest": "07-26 00:00",  # the 31st day after June 25
    }
    assert "Interest 9 % a year, simple" in town.advice()


@pytest.mark.parametrize(("reading", "due"), [("later", "07-09 00:00"), ("earlier", "06-18 00:00")])
def test_the_municipality_says_from_which_of_two_days_interest_is_charged(make: Make, reading: str, due: str) -> None:
    town = make("elmsford", abatement__interest=reading)
    abated(town)
    assert town.due()["interest"] == due


@pytest.mark.parametrize("method", ["simple", "compound"])
def test_how_interest_is_reckoned_is_said_and_nothing_is_reckoned(make: Make, method: str) -> None:
    town = make("horseheads", interest__method=method)
    abated(town)
    assert f"{method}, by actual days" in town.advice()
    assert "nothing is reckoned here" in town.advice()


def test_bayvilles_charge_becomes_a_lien_after_thirty_days(make: Make) -> None:
    town = make("bayville")
    abated(town)
    assert town.due()["lien"] == "07-28 00:00"  # the 30th day is a Sunday
    town.take("lien", "07-28 09:00")
    assert shown(town.running()["lien"].met_us) == "07-28 09:00"


@pytest.mark.parametrize("code", ["hillburn", "north_castle"])
def test_codes_without_a_clause_of_costs_time_none(make: Make, code: str) -> None:
    town = make(code)
    abated(town)
    assert not {"tell", "protest", "lien", "interest"} & set(town.due())
    with pytest.raises(InputError, match="speaks of no payments in parts"):
        town.take(
            "instalments", "07-01 10:00", details={"payments": "3"}, times={"first_payment": local("08-03 09:00")}
        )


def test_no_lien_while_a_protest_waits_for_its_decision(make: Make) -> None:
    town = make("horseheads")
    abated(town)
    town.take("protest", "07-06 10:00")
    assert "lien" not in town.due()
    town.take("settle", "08-10 10:00", times={"pay_by": local("09-10 16:30")})
    assert town.due()["lien"] == "09-10 16:30"
    town.take("lien", "09-01 10:00")
    assert "Entered as lien before the time to object was over" in town.advice()


def test_a_late_bill_moves_what_is_counted_from_it(make: Make) -> None:
    town = make("horseheads")
    abated(town)
    town.take("cost", "07-28 10:00", times={"cost_received": local("07-30 12:00")})
    assert (town.due()["protest"], town.due()["lien"]) == ("09-01 00:00", "09-01 00:00")
    running = town.running()["tell"]
    assert running.met_us is not None and running.met_us > (running.clock.taken_us or 0)


@pytest.mark.parametrize(
    ("months", "days"),
    [(1, ["07-31 16:30", "08-31 16:30", "09-30 16:30"]), (2, ["07-31 16:30", "09-30 16:30", "11-30 16:30"])],
)
def test_payments_fall_on_the_day_of_the_first_as_far_apart_as_chosen(make: Make, months: int, days: list[str]) -> None:
    town = make("elmsford", abatement__instalment_months=months)
    abated(town)
    town.take("instalments", "07-10 10:00", details={"payments": "3"}, times={"first_payment": local("07-31 09:00")})
    assert [town.due()[f"payment_{n}"] for n in (1, 2, 3)] == days
    town.take("pay", "07-30 10:00", outcome="part")
    met = [town.running()[f"payment_{n}"].met_us for n in (1, 2, 3)]
    assert [each is not None for each in met] == [True, False, False]
    town.take("pay", "08-20 10:00", outcome="full")
    assert all(town.running()[f"payment_{n}"].met_us for n in (1, 2, 3))
    assert town.running()["lien"].met_us is not None


@pytest.mark.parametrize("count", ["13", "0", "some"])
def test_more_payments_than_the_code_allows_are_refused(make: Make, count: str) -> None:
    town = make("elmsford")
    abated(town)
    with pytest.raises(InputError, match="at most 12 equal payments"):
        town.take(
            "instalments", "07-10 10:00", details={"payments": count}, times={"first_payment": local("08-03 09:00")}
        )


# --- other matters ---


@pytest.mark.parametrize(
    ("code", "due"),
    [("bayville", {"correct": "06-09 10:00"}), ("hillburn", {}), ("north_castle", {}), ("horseheads", {})],
)
def test_who_is_told_that_he_contaminates_corrects_it_at_once_where_the_code_says_so(
    make: Make, code: str, due: dict[str, str]
) -> None:
    town = make(code, "contaminating_activity")
    assert town.take("notify", "06-09 10:00", means="mail").state == "in_correction"
    assert town.due() == due
    assert town.take("abate", "06-09 16:00", outcome="owner").state == "abated"
    assert all(each.met_us == local("06-09 16:00") for each in town.running().values())


def test_nobody_appeals_what_was_never_served(make: Make) -> None:
    town = make("hillburn", "contaminating_activity")
    town.take("notify", "06-09 10:00", means="mail")
    with pytest.raises(InputError, match="no notice of violation was served"):
        town.take("appeal", "06-12 10:00")


def test_a_person_names_the_condition_of_a_failing_system_where_the_code_has_several(tmp_path: Path) -> None:
    town = CaseTown(tmp_path, "bayville")
    with pytest.raises(InputError, match="write --condition with one of them: backup"):
        town.open("failing_system", "06-08 09:00")
    case = town.open("failing_system", "06-08 09:00", condition="surface")
    assert case.steps[0].details == {"condition": "surface"}
    with pytest.raises(InputError, match="tells no condition"):
        town.open("turbidity", "06-08 09:00", condition="surface")


@pytest.mark.parametrize(
    ("code", "said"),
    [("elmsford", True), ("north_castle", True), ("horseheads", True), ("hillburn", False), ("bayville", False)],
)
def test_a_line_with_sewage_is_named_where_the_code_names_it(make: Make, code: str, said: bool) -> None:
    town = make(code, "illicit_connection")
    assert ("A line with sewage, or letting one be, is a violation by itself" in town.advice()) is said
    assert ("No approval covers an interior floor drain" in town.advice()) is (code == "bayville")
    assert "even if it was once allowed" in town.advice()


def test_devices_are_those_of_the_facilities_that_the_code_names(make: Make) -> None:
    assert "stormwater from industrial activity" in make("elmsford", "device").advice()


def test_who_hears_the_appeal_is_said_with_what_is_doubtful_about_it(make: Make) -> None:
    town = make("bayville", appeal__heard_by="the Village Engineer, as designated")
    serve(town)
    town.take("appeal", "06-12 10:00")
    assert "heard by the Village Engineer, as designated (§ 63A-16)" in town.advice()


def test_an_appeal_takes_the_notices_day_away_and_its_withdrawal_brings_it_back(make: Make) -> None:
    town = make("horseheads")
    serve(town, correct_by=local("06-30 12:00"))
    town.take("appeal", "06-12 10:00")
    assert "correct_by" not in town.due()
    town.take("decide", "06-16 10:00", outcome="withdrawn")
    assert town.due()["correct_by"] == "06-30 12:00"
    town.take("decide", "06-16 10:00", outcome="upheld")
    assert (town.due().get("correct_by"), town.due()["correct"]) == (None, "06-25 00:00")
