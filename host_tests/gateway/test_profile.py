from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from headwall.errors import ConfigurationError
from headwall.law import profile
from headwall.law.profile import StormReport, load_profile, parse_profile
from headwall.units import parse_depth
from support.profile_text import profile_text

ELMSFORD = profile_text("elmsford")
HOUR_US = 3_600_000_000


def with_choice(*choices: str) -> StormReport:
    made = "".join(f"[[choice]]\n{each}\n" for each in choices)
    return parse_profile(f"{ELMSFORD}\n{made}", "x").of(StormReport)[0]


def storm_report() -> StormReport:
    return load_profile("elmsford").of(StormReport)[0]


def test_elmsford_asks_for_a_report_within_24_hours_of_half_an_inch() -> None:
    (provision,) = load_profile("elmsford").in_force(StormReport, date(2026, 6, 10))
    numbers = provision.storm_on(date(2026, 6, 10))
    assert provision.citation == "§ 288-8A(2)"
    assert parse_depth(numbers.depth) == parse_depth("12.7 mm")
    assert parse_depth(numbers.near) == parse_depth("0.45 in")
    assert (numbers.mit_us, numbers.due_us) == (6 * HOUR_US, 24 * HOUR_US)
    assert (numbers.window, numbers.clock) == ("cautious", "crossing")


def test_elmsfords_requirement_tells_what_by_when_and_to_whom_with_the_numbers_that_are_judged() -> None:
    provision = storm_report()
    depth, due_h = parse_depth(provision.storm.depth), provision.storm.due_us // HOUR_US
    for told in (f"{depth.inches.numerator / depth.inches.denominator} inches", f"within {due_h} hours"):
        assert told in provision.requirement
    assert "Stormwater Management Officer" in provision.requirement
    assert "log book" in provision.requirement


def test_elmsfords_section_number_says_that_it_was_counted() -> None:
    provision = storm_report()
    assert provision.confidence == "S"
    assert "inferred by counting" in provision.confidence_text


def test_elmsford_names_the_seven_day_report_beside() -> None:
    provision = storm_report()
    assert any("seven days" in companion.text for companion in provision.companions)


def test_elmsfords_provision_holds_from_its_amendment_on() -> None:
    elmsford = load_profile("elmsford")
    assert elmsford.in_force(StormReport, date(2011, 2, 14)) == []
    assert len(elmsford.in_force(StormReport, date(2011, 2, 15))) == 1


def test_absent_state_permit_is_said() -> None:
    told = load_profile("elmsford").state_permit_notice(date(2026, 6, 10))
    assert told is not None
    assert told.startswith("State-permit schedule not entered. ")
    assert "not judged" in told


@pytest.mark.parametrize("name", profile.profile_names())
def test_no_profile_says_that_no_inspection_is_needed(name: str) -> None:
    assert not re.search(r"no\s+inspection", profile_text(name), re.IGNORECASE)


def test_municipalitys_choice_holds_from_its_date_and_keeps_the_rest() -> None:
    provision = with_choice('key = "storm.clock_start"\nvalue = "end"\nfrom = 2026-07-01\nby = "A. Counsel, Attorney"')
    assert provision.storm_on(date(2026, 6, 30)) == storm_report().storm_on(date(2026, 6, 30))
    after = provision.storm_on(date(2026, 7, 1))
    assert (after.clock, after.window, after.depth) == ("end", "cautious", "0.5 in")
    assert provision.choices_on(date(2026, 6, 30)) == []
    (choice,) = provision.choices_on(date(2026, 7, 1))
    assert choice.by == "A. Counsel, Attorney"


def test_later_choice_of_a_key_takes_the_place_of_an_earlier_one_and_of_no_other_key() -> None:
    provision = with_choice(
        'key = "storm.clock_start"\nvalue = "first"\nfrom = 2026-02-01\nby = "B"',
        'key = "storm.clock_start"\nvalue = "end"\nfrom = 2026-01-01\nby = "A"',
        'key = "storm.dry_gap_h"\nvalue = "12"\nfrom = 2026-01-01\nby = "A"',
    )
    numbers = provision.storm_on(date(2026, 3, 1))
    assert (numbers.clock, numbers.mit_us) == ("first", 12 * HOUR_US)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("storm.clock", '"end"', "there is no key 'storm.clock'"),
        ("storm.clock_start", '"noon"', "write crossing or first or end"),
        ("storm.dry_gap_h", '"6 h"', "write a number as text"),
        ("storm.dry_gap_h", '"0"', "from 0.25 to 72"),
        ("storm.near_percent", "true", "write a whole number from 1 to 99"),
        ("storm.near_percent", "100", "write a whole number from 1 to 99"),
        ("immediate.escalation_min", "[15, 5]", "each more than the one before"),
        ("common_plan.sum_areas", '"yes"', "write true or false"),
    ],
)
def test_choice_that_cannot_be_taken_is_refused_with_what_to_write(key: str, value: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        with_choice(f'key = "{key}"\nvalue = {value}\nfrom = 2026-07-01\nby = "A"')


def test_every_fault_of_every_choice_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        with_choice(
            'key = "storm.clock_start"\nvalue = "end"\nfrom = 2026-07-01',
            'key = "septic.perio"\nvalue = "x"\nfrom = 2026-07-01\nby = "A"',
            'key = "septic.period"\nvalue = "x"\nfrom = 2026-07-01\nby = " "',
        )
    for place in ("choice.0.by: Field required", "choice.1: ", "septic.perio'", "choice.2.by"):
        assert place in str(caught.value)


def test_two_choices_of_a_key_for_one_date_are_refused() -> None:
    one = 'key = "storm.clock_start"\nvalue = "end"\nfrom = 2026-07-01\nby = "A"'
    with pytest.raises(ConfigurationError, match="one choice a date"):
        with_choice(one, one)


def test_every_fault_of_a_profile_is_told_at_once() -> None:
    text = ELMSFORD.replace('depth = "0.5 in"', 'depth = "half an inch"').replace('due = "24 h"', 'due = "24"')
    text = text.replace('confidence = "S"\nsubject', 'confidence = "Q"\nsubject').replace("officer = ", "official = ")
    with pytest.raises(ConfigurationError) as caught:
        parse_profile(text, "elmsford.toml")
    told = str(caught.value)
    assert caught.value.source == "elmsford.toml"
    for place in ("storm.depth", "storm.due", "confidence", "officer: Field required", "official"):
        assert place in told


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("from = 2011-02-15", "from = 2011-02-15\nto = 2011-02-15", "is not after from"),
        ("[state_permit]", "[state_permit", "not TOML"),
    ],
)
def test_profile_that_does_not_hold_together_is_refused(old: str, new: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(fault)):
        parse_profile(ELMSFORD.replace(old, new), "x")


def test_two_provisions_of_one_id_are_refused() -> None:
    body = ELMSFORD.split("[[provision]]")[1].split("[state_permit]")[0]
    twice = ELMSFORD.replace("[state_permit]", "[[provision]]" + body + "[state_permit]")
    with pytest.raises(ConfigurationError, match="written twice: elmsford-288-8a2-storm"):
        parse_profile(twice, "x")


@pytest.mark.parametrize("name", ["bronxville", "../elmsford", "", "Elmsford"])
def test_unknown_profile_is_named_with_those_there_are(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"known are .*elmsford"):
        load_profile(name)


def test_profile_of_ones_own_is_read_by_its_path(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(ELMSFORD, encoding="utf-8")
    assert load_profile(str(own)) == load_profile("elmsford")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_profile(str(tmp_path / "none.toml"))
