"""Connections to the storm sewer that nothing approves, and care of monitoring equipment, under the five codes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from headwall.clock import from_us
from headwall.ledger import entries
from headwall.ledger.calibrations import Calibration, Point, add_calibration
from headwall.ledger.entries import Connection, Obstruction, add_entry
from headwall.rules.clauses import PLANNERS
from headwall.rules.clauses.expected import Expected
from headwall.rules.clauses.look import Look
from support.case_town import CaseTown, local
from support.outfall_house import SITE

Make = Callable[[str], "Premises"]
FLOW = "node-7/meter.flow"


class Premises(CaseTown):
    """A town in which entries are made, and whose planners are asked."""

    def enter(self, body: entries.Body, when: str, subject: str = SITE, replaces: int | None = None) -> int:
        with self.ledger.begin() as conn:
            what = {"subject": subject, "done_us": local(when), "by": "Olive", "now_us": self.now}
            made = add_entry(conn, body, **what, replaces=replaces)
            assert made is not None
            return made.id

    def calibrated(self, when: str) -> None:
        with self.ledger.begin() as conn:
            points = [Point(reference=Decimal(1), reading=Decimal(1))]
            said = {"kind": "flow", "by": "Ivan", "unit": "m3/s", "method": "bucket", "as_found": points}
            add_calibration(conn, Calibration(v=1, datastream=FLOW, at=from_us(local(when)), **said), self.now)

    def asked(self, kind: str, when: str = "12-30 09:00") -> list[Expected]:
        with self.ledger.read() as conn:
            profile = self.profile(conn)
            look = Look(conn, self.registry, profile, self.registry.require_site(SITE), local(when))
            clauses = [each for each in profile.provisions if each.kind == kind]
            return [each for clause in clauses for each in PLANNERS[kind](look, clause)]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda code: Premises(tmp_path, code)


def open_(found: list[Expected]) -> list[str]:
    return [each.asks for each in found if each.done is None and not each.gone]


@pytest.mark.parametrize("code", ["hillburn", "bayville", "elmsford", "north_castle", "horseheads"])
def test_a_connection_on_no_plan_is_looked_into_however_old_it_is(make: Make, code: str) -> None:
    town = make(code)
    town.enter(Connection(name="drain 3", what="other", approved="permit 12", since="about 1950"), "06-01 09:00")
    (found,) = town.asked("illicit_connection")
    assert found.asks == "Look into the connection drain 3: it is on no approved plan"
    assert (found.done, found.gone, found.evidence["since"]) == (None, "", "about 1950")
    assert found.answer == "headwall case open --kind illicit_connection --site outfall-7 --connection 1 --by NAME"


def test_what_is_documented_and_approved_is_asked_for_no_more(make: Make) -> None:
    town = make("elmsford")
    town.enter(Connection(name="drain 3", what="other"), "06-01 09:00")
    town.enter(Connection(name="drain 3", what="other", documented=True), "06-02 09:00")
    assert open_(town.asked("illicit_connection")) == [
        "Look into the connection drain 3: nothing on record approves it"
    ]
    town.enter(Connection(name="drain 3", what="other", documented=True, approved="permit 12"), "06-03 09:00")
    (found,) = town.asked("illicit_connection")
    assert found.gone == "it is documented and approved: permit 12"
    assert town.asked("illicit_connection", "06-02 10:00")[0].gone == ""


@pytest.mark.parametrize(
    ("code", "named"),
    [("elmsford", True), ("north_castle", True), ("horseheads", True), ("hillburn", False), ("bayville", False)],
)
def test_no_approval_makes_a_line_with_sewage_lawful(make: Make, code: str, named: bool) -> None:
    town = make(code)
    town.enter(Connection(name="line 1", what="sewage", documented=True, approved="permit 12"), "06-01 09:00")
    (asks,) = open_(town.asked("illicit_connection"))
    assert ("the code names it as a violation by itself" in asks) is named


@pytest.mark.parametrize("what", ["interior_floor_drain", "trench_drain"])
def test_bayville_approves_no_drain_inside_or_at_the_door(make: Make, what: str) -> None:
    town = make("bayville")
    town.enter(Connection(name="drain", what=what, documented=True, approved="permit 12"), "06-01 09:00")
    (asks,) = open_(town.asked("illicit_connection"))
    assert "which no approval covers" in asks


def test_a_case_that_a_person_opens_for_it_answers_it(make: Make) -> None:
    town = make("north_castle")
    number = town.enter(Connection(name="drain 3", what="commercial_drain"), "06-01 09:00")
    town.open("illicit_connection", "06-02 10:00", connection=str(number))
    (found,) = town.asked("illicit_connection")
    assert found.done is not None
    assert (found.done.by, found.done.reference) == ("Olive", "case 1")


def test_connections_entered_in_any_order_end_alike(make: Make) -> None:
    said = [
        (Connection(name="a", what="other"), "06-01 09:00"),
        (Connection(name="a", what="other", documented=True, approved="permit 1"), "06-05 09:00"),
        (Connection(name="b", what="sewage"), "06-03 09:00"),
    ]
    ends = []
    for order in (said, said[::-1]):
        town = make("elmsford")
        for body, when in order:
            town.enter(body, when)
        ends.append(sorted((each.occurrence, each.asks, each.gone) for each in town.asked("illicit_connection")))
    assert ends[0] == ends[1]


# --- devices ---


def test_without_an_interval_no_calibration_is_due(make: Make) -> None:
    assert make("hillburn").asked("device_care") == []


@pytest.mark.parametrize("code", ["hillburn", "bayville", "elmsford", "north_castle", "horseheads"])
def test_the_municipalitys_own_interval_makes_calibrations_due(make: Make, code: str) -> None:
    town = make(code)
    town.choose("calibration.interval_d", 180)
    town.calibrated("01-10 09:00")
    town.calibrated("08-20 09:00")  # July 9 was the day
    found = [each for each in town.asked("device_care", "12-30 09:00") if FLOW in each.asks]
    of_2026 = [each for each in found if str(each.evidence["due"]).startswith("2026")]
    assert [(each.evidence["last"], each.evidence["due"]) for each in of_2026] == [("2026-01-10", "2026-07-09")]
    assert of_2026[0].done is not None
    assert of_2026[0].done.by == "Ivan"
    assert open_([each for each in town.asked("device_care", "07-09 12:00") if FLOW in each.asks]) == [
        f"Calibrate {FLOW}: 180 days have passed since the last time"
    ]
    assert open_([each for each in town.asked("device_care", "07-09 08:00") if FLOW in each.asks]) == []


def test_an_interval_chosen_later_leaves_what_was_counted_before_it(make: Make) -> None:
    town = make("hillburn")
    town.choose("calibration.interval_d", 180)
    town.calibrated("01-10 09:00")
    town.calibrated("08-20 09:00")
    before = [each.occurrence for each in town.asked("device_care", "08-30 09:00") if FLOW in each.asks]
    town.choose("calibration.interval_d", 365, date(2026, 9, 1))
    after = [each.occurrence for each in town.asked("device_care", "09-30 09:00") if FLOW in each.asks]
    assert before == after
    assert before


def test_an_obstruction_is_removed_on_request_where_the_code_has_it(make: Make) -> None:
    for code, count in (("hillburn", 0), ("elmsford", 1)):
        town = make(code)
        town.enter(Obstruction(what="the fence", step="asked", means="by word of mouth"), "06-01 09:00")
        asked = town.asked("device_care")
        assert len(asked) == count
    assert open_(asked) == ["Have the fence removed, as was asked"]
    assert asked[0].name == "obstruction"
    town.enter(Obstruction(what="a gate", step="removed"), "06-02 09:00")
    assert open_(town.asked("device_care")) == ["Have the fence removed, as was asked"]
    town.enter(Obstruction(what="the fence", step="removed"), "06-03 09:00")
    assert open_(town.asked("device_care")) == []
