"""Clocks of open cases follow what the municipality decides later of its code, as duties do."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from headwall.cases import clocks, steps
from headwall.cases.suspicion import is_taken_back
from headwall.ledger import cases, log_book, schema
from headwall.rules.facts import Reminder, from_body
from hypothesis import given, settings
from hypothesis import strategies as st
from support.case_town import CaseTown, local, shown
from support.outfall_house import SITE, OutfallHouse


class Town(CaseTown):
    """A case town whose rules run, with a case that waits for the copy of its decision."""

    def __init__(self, folder: Path, code: str = "hillburn") -> None:
        super().__init__(folder, code)
        self.house = OutfallHouse(self.registry)
        self.ledger = self.house.ledger
        self.now = local("06-16 16:00")
        self.open("suspected_discharge", "06-09 12:00")

    def decided(self) -> Town:
        self.take("confirm", "06-09 14:00")
        dates = {"dated": local("06-10 09:00"), "issued": local("06-10 09:00")}
        self.take("serve", "06-10 11:00", means="certified mail", times=dates)
        self.take("appeal", "06-12 10:00", times={"received": local("06-12 10:00")})
        self.take("hear", "06-16 10:00")
        self.take("decide", "06-16 15:00", outcome="upheld")
        return self

    def at(self, when: str) -> Town:
        """Let the rules judge then."""
        self.now = local(when)
        self.house.judge(self.now)
        return self

    def told(self) -> list[Reminder]:
        with self.ledger.read() as conn:
            bodies = conn.execute(sa.select(schema.outbox.c.body).order_by(schema.outbox.c.id)).scalars()
            return [fact for fact in map(from_body, bodies) if isinstance(fact, Reminder)]

    def read_again(self) -> list[str]:
        """When the gateway has moved clocks by itself."""
        return [shown(row.at_us) for row in self.records() if row.kind == "case_read_again"]


@pytest.fixture
def town(tmp_path: Path) -> Town:
    made = Town(tmp_path)
    return made.decided().at("06-16 16:00")


def test_choice_that_is_entered_later_moves_the_clocks_of_an_open_case(town: Town) -> None:
    assert town.due()["serve"] == "06-21 16:30"
    town.choose("days.unit", "business")
    assert town.at("06-17 09:00").due()["serve"] == "06-24 16:30"
    step = town.case().steps[-1]
    assert (step.action, step.by, step.from_state, step.to_state) == ("read_again", "headwall", "decided", "decided")
    assert town.at("06-17 10:00").read_again() == ["06-17 09:00"]


def test_what_a_mail_said_of_it_is_corrected_once_with_old_and_new(town: Town) -> None:
    town.at("06-20 09:00")
    assert ("before", "06-21 16:30") in [(each.stage, shown(each.due_us)) for each in town.told()]
    town.choose("days.unit", "business")
    for when in ("06-20 10:00", "06-20 10:05", "06-20 12:00"):
        town.at(when)
    moved = [each for each in town.told() if each.stage == "moved"]
    copies = [
        (shown(each.previous_due_us), shown(each.due_us)) for each in moved if shown(each.due_us) == "06-24 16:30"
    ]
    assert copies == [("06-21 16:30", "06-24 16:30")]


def test_time_that_is_over_by_the_new_reading_is_told_at_once(town: Town) -> None:
    town.choose("days.unit", "business")
    town.at("06-22 09:00")
    before = len(town.told())
    town.choose("days.unit", "calendar", date(2026, 6, 1))
    new = [each for each in town.at("06-22 10:00").told()[before:] if shown(each.due_us) == "06-21 16:30"]
    assert [each.stage for each in new] == ["moved"]


def test_choice_from_a_day_after_the_case_moves_nothing(town: Town) -> None:
    town.choose("days.unit", "business", date(2026, 6, 10))
    assert town.at("06-17 09:00").due()["serve"] == "06-21 16:30"
    assert town.read_again() == []


def test_case_that_has_ended_stays_as_it_was(town: Town) -> None:
    town.now = local("06-17 08:00")
    town.take("decide", "06-16 15:00", outcome="set_aside", times={"copied": local("06-16 15:30")})
    town.take("close", "06-17 08:00")
    town.choose("days.unit", "business")
    assert town.at("06-17 09:00").read_again() == []


def test_gateway_whose_clock_was_not_set_moves_nothing_until_it_is(town: Town) -> None:
    town.choose("days.unit", "business")
    town.house.new_engine()
    town.at("01-01 00:00")
    assert town.read_again() == []
    assert town.at("06-17 09:00").due()["serve"] == "06-24 16:30"


def test_suspicion_that_was_taken_back_stays_so_when_clocks_move(tmp_path: Path) -> None:
    made = Town(tmp_path)
    with made.ledger.begin() as conn:
        case = cases.case(conn, 1)
        steps.by_gateway(conn, case, "say_taken_back", note="late rain", now_us=made.now)
        case = cases.case(conn, 1)
        given_: dict[str, Any] = {"clocks": [], "provision": "", "details": {}, "times": {}, "means": "", "outcome": ""}
        columns = {"case": 1, "action": "read_again", "from_state": "suspected", "to_state": "suspected"}
        cases.add_step(conn, **columns, **given_, by=log_book.HEADWALL, note="", done_us=made.now, at_us=made.now)
        assert is_taken_back(cases.case(conn, 1))


@given(
    choices=st.lists(st.tuples(st.sampled_from(["business", "calendar"]), st.booleans()), max_size=4),
)
@settings(max_examples=4)
def test_clocks_end_as_if_the_last_choice_had_been_made_first(
    tmp_path_factory: pytest.TempPathFactory, choices: list[tuple[str, bool]]
) -> None:
    made = Town(tmp_path_factory.mktemp("late"))
    made.decided().at("06-16 16:00")
    for n, (unit, restarts) in enumerate(choices):
        made.choose("days.unit", unit, date(2020, 1, 1 + n))
        if restarts:
            made.house.new_engine()
        made.at(f"06-17 09:0{n}")
    with made.ledger.read() as conn:
        case = cases.case(conn, 1)
        expected = clocks.after(steps.code_of(conn, made.registry, case), case.steps)
    assert sorted(map(msgspec.to_builtins, clocks.standing(case.steps)), key=str) == sorted(
        map(msgspec.to_builtins, expected), key=str
    )


def test_what_a_person_sets_at_any_part_of_a_second_is_no_other_time_than_was_mailed(tmp_path: Path) -> None:
    town, seen_us = Town(tmp_path, "elmsford"), local("06-16 16:00") + 123_456
    town.house.judge(seen_us)
    with town.ledger.begin() as conn:
        at = {"seen_us": seen_us, "now_us": seen_us}
        steps.open_by_person(conn, town.registry, SITE, kind="spill", by="Olive", note="paint", **at)
    for minutes in (1, 20, 60, 200):
        town.house.judge(seen_us + minutes * 60_000_000)
    assert "moved" not in {each.stage for each in town.told()}
    assert town.told()
