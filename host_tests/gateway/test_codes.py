"""What persons enter of a code reaches the rules: choices for what it leaves open, and permits of the State."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall import codes
from headwall.errors import ConfigurationError, InputError
from headwall.law.choices import Choice
from headwall.law.profile import load_profile
from headwall.ledger import log_book
from headwall.notify.lookup import Lookup
from headwall.notify.storm_section import StormSection
from headwall.registry.model import Person
from headwall.rules.facts import StormDuty
from support.rules_house import HOUR, NOON, House, houses

CHECKOUT = Path(__file__).parents[2]
PERMIT = (CHECKOUT / "docs/templates/state-permit.toml").read_text("utf-8")
ELMSFORD = load_profile("elmsford")
Make = Callable[..., House]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with houses(tmp_path) as made:
        yield made


def choose(house: House, key: str, value: Any, since: str, by: str = "A. Counsel") -> None:
    choice = Choice.model_validate({"key": key, "value": value, "from": since, "by": by, "reason": "the text"})
    with house.ledger.begin() as conn:
        codes.choose(conn, ELMSFORD, choice, house.clock.now)


def enter(house: House, text: str = PERMIT, by: str = "Olive Officer") -> None:
    with house.ledger.begin() as conn:
        codes.enter_permit(conn, ELMSFORD, text, "permit.toml", by, house.clock.now)


def storm_duties(house: House) -> list[StormDuty]:
    return [each.body for each in house.duties() if isinstance(each.body, StormDuty) and not each.body.trigger_gone]


# --- choices ---


def test_choice_counts_although_the_step_that_read_it_could_not_commit(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 60)
    house.judge()
    (before,) = storm_duties(house)
    choose(house, "storm.clock_start", "end", "2026-01-01")
    with house.full_disk(), pytest.raises(sa.exc.OperationalError):
        house.engine.step()
    house.judge()
    (after,) = storm_duties(house)
    assert after.due_us > before.due_us


def test_choice_moves_the_clock_of_a_storm_that_was_judged_and_says_who_chose(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 60)
    house.judge()
    (before,) = storm_duties(house)
    choose(house, "storm.clock_start", "end", "2026-01-01")
    house.judge()
    (after,) = storm_duties(house)
    assert (after.duty, after.version) == (before.duty, before.version + 1)
    assert before.due_us == before.crossing_us + 24 * HOUR
    assert after.due_us == after.storm.end_us + 24 * HOUR
    because = [why for kind, why in house.told_why() if kind == "duty_changed"]
    assert because == ["A. Counsel has chosen end for storm.clock_start from 2026-01-01 on"]


def test_choice_holds_from_its_day_on_and_not_before(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 60)
    house.judge()
    before = storm_duties(house)
    choose(house, "storm.clock_start", "end", "2026-06-11")
    house.judge()
    assert storm_duties(house) == before


def test_choice_ends_where_it_would_have_whenever_it_is_entered(make: Make) -> None:
    ends = []
    for order in itertools.permutations(("rain", "choice", "later choice")):
        house = make(NOON + 20 * HOUR)
        for what in order:
            if what == "rain":
                house.rain(NOON, 45)
            else:
                percent = {"choice": "0.4", "later choice": "0.44"}[what]
                choose(house, "storm.threshold_in", percent, "2026-06-10" if what == "choice" else "2026-06-11")
            house.judge()
        ends.append([(each.crossing_us, each.due_us, each.fired_by) for each in storm_duties(house)])
        house.new_engine()
        house.judge()
        assert [(each.crossing_us, each.due_us, each.fired_by) for each in storm_duties(house)] == ends[-1]
    assert ends == [ends[0]] * 6
    assert ends[0]


def test_choice_taken_back_by_another_of_its_day_leaves_what_was_before(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 45)
    choose(house, "storm.threshold_in", "0.4", "2026-06-01")
    house.judge()
    assert len(storm_duties(house)) == 1
    choose(house, "storm.threshold_in", "", "2026-06-01")
    house.judge()
    assert storm_duties(house) == []  # the duty stays and says that its reason is gone: only a person closes it
    assert len(house.duties()) == 1


def test_choice_is_a_row_of_the_log_book_and_mails_read_the_code_by_it(make: Make) -> None:
    house = make()
    choose(house, "appeal.heard_by", "the Village Justice", "2026-06-01")
    with house.ledger.read() as conn:
        (row,) = log_book.rows(conn, (codes.CHOICE,))
        assert log_book.verify(conn) is None
    assert (row.by, row.body["key"], row.body["reason"]) == ("A. Counsel", "appeal.heard_by", "the text")
    look = Lookup(house.registry, {"elmsford": ELMSFORD}, house.ledger, NOON)
    profile = look.profile("elmsford")
    assert profile is not None
    assert profile.choice("appeal.heard_by", date(2026, 5, 31)) == ""
    assert profile.choice("appeal.heard_by", date(2026, 6, 1)) == "the Village Justice"


def test_row_whose_key_there_is_no_more_stops_nothing(make: Make) -> None:
    house = make()
    body = {"municipality": ELMSFORD.municipality, "key": "old.key", "value": "x", "from": "2026-01-01", "reason": ""}
    with house.ledger.begin() as conn:
        log_book.append(conn, codes.CHOICE, "A. Counsel", body, NOON)
    house.judge()
    assert house.engine.healthy() is None


def test_choice_of_another_municipality_changes_nothing_here(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 45)
    choice = Choice.model_validate({"key": "storm.threshold_in", "value": "0.1", "from": "2026-01-01", "by": "B"})
    with house.ledger.begin() as conn:
        codes.choose(conn, load_profile("hillburn"), choice, NOON)
    house.judge()
    assert storm_duties(house) == []


# --- permits of the State ---


def test_absent_permit_is_said_until_its_day_comes(make: Make) -> None:
    house = make()
    enter(house)
    with house.ledger.read() as conn:
        profile = codes.code_of(conn, house.registry, "elmsford")
    assert str(profile.state_permit_notice(date(2025, 12, 31))).startswith("State-permit schedule not entered")
    assert profile.state_permit_notice(date(2026, 1, 1)) is None


def test_numbers_of_a_permit_are_judged_beside_those_of_the_code_and_cited_as_its_own(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 200)
    house.judge()
    assert [each.provision for each in storm_duties(house)] == ["elmsford-288-8a2-storm"]
    enter(house)
    house.judge()
    by_provision = {each.provision: each for each in storm_duties(house)}
    state = by_provision["state-2-storm"]
    assert set(by_provision) == {"elmsford-288-8a2-storm", "state-2-storm"}
    assert state.due_us == state.crossing_us + 36 * HOUR
    with house.ledger.read() as conn:
        profile = codes.code_of(conn, house.registry, "elmsford")
    assert profile.cited(profile.provision("state-2-storm")) == "NUMBER AND TITLE AS PRINTED, Part 2"
    assert profile.cited(profile.provision("elmsford-288-8a2-storm")).startswith("Village of Elmsford, Village Code")


def test_permit_counts_until_the_next_of_its_program_begins(make: Make) -> None:
    house = make(NOON + 200 * HOUR)
    renewed = PERMIT.replace("from = 2026-01-01", "from = 2026-06-12").replace('id = "state-', 'id = "renewed-')
    enter(house, renewed.replace('depth = "2 in"', 'depth = "1 in"'))
    enter(house)  # the older one later
    house.rain(NOON, 200)
    house.rain(NOON + 72 * HOUR, 150)
    house.judge()
    asked = [(each.provision, each.storm.start_us) for each in storm_duties(house) if "elmsford" not in each.provision]
    assert asked == [("state-2-storm", NOON), ("renewed-2-storm", NOON + 72 * HOUR)]


def test_permit_entered_again_with_its_date_takes_the_place_of_the_wrong_one(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 150)
    enter(house, PERMIT.replace('depth = "2 in"', 'depth = "1.5 in"'))
    house.judge()
    assert len(storm_duties(house)) == 2
    enter(house)
    house.judge()
    assert [each.provision for each in storm_duties(house)] == ["elmsford-288-8a2-storm"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('program = "construction"', 'program = "sewer"', "program"),
        ('depth = "2 in"', 'depth = "two"', "depth"),
        ('citation = "Part 1"', 'citation = "Part 1"\ncovers = ["ELM-10"]', "covers and article"),
        ("from = 2026-01-01", "", "from: Field required"),
    ],
)
def test_permit_that_does_not_hold_together_is_refused_and_leaves_no_row(
    make: Make, old: str, new: str, told: str
) -> None:
    house = make()
    with pytest.raises(ConfigurationError, match=told):
        enter(house, PERMIT.replace(old, new))
    assert codes.PERMIT not in house.records()


def test_permit_with_the_id_of_a_clause_of_the_code_is_refused(make: Make) -> None:
    house = make()
    with pytest.raises(InputError, match="written twice: elmsford-288-8a2-storm"):
        enter(house, PERMIT.replace('id = "state-2-storm"', 'id = "elmsford-288-8a2-storm"'))


def test_mail_about_a_construction_site_says_that_no_permit_is_entered_until_one_is(make: Make) -> None:
    house = make(NOON + 20 * HOUR)
    house.rain(NOON, 60)
    house.judge()
    (duty,) = storm_duties(house)
    reader = Person(id="officer", name="Olive Officer", email="officer@village.example")

    def told() -> str:
        look = Lookup(house.registry, {"elmsford": ELMSFORD}, house.ledger, NOON + 20 * HOUR)
        return str(StormSection(look, [duty], reader, "", HOUR).build(None))

    assert "State-permit schedule not entered" in told()
    enter(house)
    assert "State-permit schedule not entered" not in told()


def test_a_redaction_reaches_the_codes_that_are_kept(make: Make) -> None:
    house = make()
    kept = codes.Codes({"elmsford": ELMSFORD})
    choose(house, "storm.clock_start", "end", "2026-01-01", by="Ann Counsel")
    look = Lookup(house.registry, kept, house.ledger, NOON)
    assert "Ann Counsel" in [each.by for each in (look.profile("elmsford") or ELMSFORD).choices]
    with house.ledger.begin() as conn:
        (row,) = log_book.rows(conn, (codes.CHOICE,))
        log_book.redact(conn, row.n, by="Olive Officer", reason="asked", now_us=NOON)
    look = Lookup(house.registry, kept, house.ledger, NOON)
    assert "Ann Counsel" not in [each.by for each in (look.profile("elmsford") or ELMSFORD).choices]
