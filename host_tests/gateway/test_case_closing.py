"""Closing a case ends its reminders: it is refused while something is owed under the code, unless a person names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall.errors import InputError
from support.case_town import CaseTown, local


def town(folder: Path, code: str) -> CaseTown:
    """A case with a notice that was served."""
    made = CaseTown(folder, code)
    made.open("suspected_discharge", "06-09 12:00")
    made.take("confirm", "06-09 14:00")
    dates = {"dated": local("06-10 09:00"), "issued": local("06-10 09:00")}
    made.take("serve", "06-10 11:00", means="certified mail", times=dates)
    return made


def decided(folder: Path, code: str, outcome: str = "upheld", **more: int) -> CaseTown:
    made = town(folder, code)
    made.take("appeal", "06-12 10:00", times={"received": local("06-12 10:00")})
    made.take("hear", "06-16 10:00")
    made.take("decide", "06-16 15:00", outcome=outcome, times=more)
    return made


def refused(made: CaseTown, leaves: str = "", when: str = "12-29 09:00") -> str:
    state = made.case().state
    with pytest.raises(InputError) as raised:
        made.take("close", when, details={"leaves": leaves})
    assert made.case().state == state
    return str(raised.value)


def test_copy_of_a_decision_that_is_owed_keeps_the_case_open_where_the_code_has_it(tmp_path: Path) -> None:
    hillburn = decided(tmp_path, "hillburn", "set_aside")
    told = refused(hillburn)
    assert "serve: " in told and "§ 192-21" in told and "by Jun 21 16:30 EDT" in told and "--leaves serve" in told
    hillburn.take("decide", "06-16 15:00", outcome="set_aside", times={"copied": local("06-18 09:00")})
    assert hillburn.take("close", "07-20 09:00").state == "closed"
    assert decided(tmp_path, "elmsford", "set_aside").take("close", "07-20 09:00").state == "closed"


def test_what_stays_undone_is_named_and_stands_in_the_log_book(tmp_path: Path) -> None:
    made = decided(tmp_path, "hillburn", "set_aside")
    made.take("close", "07-20 09:00", note="the owner was there and waived a copy", details={"leaves": "serve"})
    row = made.records()[-1]
    assert (row.kind, row.by, row.body["leaves"]) == ("case_close", "Olive", "serve")


def test_nothing_can_be_left_that_is_not_owed(tmp_path: Path) -> None:
    assert "nothing named tell is still owed; owed are serve" in refused(
        decided(tmp_path, "hillburn", "set_aside"), "tell"
    )


def test_hearing_is_owed_after_the_decision_until_it_is_entered(tmp_path: Path) -> None:
    made = town(tmp_path, "elmsford")
    made.take("appeal", "06-12 10:00", times={"received": local("06-12 10:00")})
    made.take("decide", "06-16 15:00", outcome="set_aside")
    assert "hear: " in refused(made)
    made.take("hear", "06-16 10:00")
    assert made.take("close", "07-20 09:00").state == "closed"


def test_appeal_that_was_withdrawn_is_heard_no_more_and_one_filed_after_it_is(tmp_path: Path) -> None:
    made = town(tmp_path, "elmsford")
    made.take("appeal", "06-12 10:00", times={"received": local("06-12 10:00")})
    assert "hear" in made.due()
    made.take("decide", "06-15 15:00", outcome="withdrawn")
    assert "hear" not in made.due()
    made.take("correct", "06-15 16:00")
    made.take("appeal", "06-16 10:00", times={"received": local("06-16 10:00")})
    assert "hear" in made.due()


def test_bill_protest_and_payments_keep_a_case_open(tmp_path: Path) -> None:
    made = decided(tmp_path, "horseheads", "upheld", copied=local("06-17 09:00"))
    made.take("abate", "06-25 12:00", outcome="municipality")
    assert "within 30 days" in refused(made) and "--leaves tell" in refused(made)
    made.take("cost", "06-26 10:00", times={"cost_received": local("06-29 12:00")})
    made.take("protest", "07-02 09:00")
    assert "settle: decide the protest against the cost (§ 216-16)" in refused(made)
    made.take("settle", "07-06 09:00")
    first = {"first_payment": local("08-03 09:00")}
    made.take("instalments", "07-06 10:00", details={"payments": "2"}, times=first)
    assert "payment_1: " in refused(made) and "payment_2: " in refused(made, "payment_1")
    made.take("pay", "07-08 10:00", outcome="full")
    assert made.take("close", "07-20 09:00").state == "closed"


def test_correction_that_never_came_is_named_when_a_case_is_closed(tmp_path: Path) -> None:
    made = town(tmp_path, "elmsford")
    dates = {"dated": local("06-10 09:00"), "correct_by": local("06-30 16:30")}
    made.take("serve", "06-10 11:00", means="certified mail", times=dates)
    assert "as the notice sets it" in refused(made) and "--leaves correct_by" in refused(made)
    assert made.take("close", "07-20 09:00", details={"leaves": "correct_by"}).state == "closed"


def test_calls_of_a_spill_keep_it_open_until_they_are_entered(tmp_path: Path) -> None:
    made = CaseTown(tmp_path, "elmsford")
    made.open("spill", "10-09 17:30")
    made.take("confirm", "10-09 18:00")
    made.take("classify", "10-09 18:00", outcome="nonhazardous")
    assert "--leaves hotline,notice and why" in refused(made)
    made.call("hotline", "10-09 18:10")
    made.call("agency", "10-10 09:00")
    assert "confirmation: " in refused(made)
    made.take("confirm_written", "10-13 09:00")
    assert made.take("close", "10-14 09:00").state == "closed"
