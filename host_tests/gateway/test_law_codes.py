"""The five codes as data: their numbers, clause by clause, and what a sixth municipality needs."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from headwall.errors import ConfigurationError
from headwall.law.compare import differences
from headwall.law.profile import Profile, load_profile, parse_profile, profile_names
from headwall.law.provisions import (
    Appeal,
    Area,
    CostRecovery,
    Escrow,
    Exemptions,
    FailingSystem,
    IllicitConnection,
    Notice,
    Penalty,
    Periodic,
    SedimentRemoval,
    SepticPumpOut,
    SewerTest,
    Spill,
    StageNotice,
)
from headwall.law.state_spill import state_spill
from headwall.law.storm_report import StormReport
from support.profile_text import profile_text

CODES = ["bayville", "elmsford", "hillburn", "horseheads", "north_castle"]
TODAY = date(2026, 6, 10)

#: (code, article, deadline) → number, unit, start, of the provisions for appeals
APPEALS = {
    ("bayville", "illicit", "file"): (10, "days", "issuance"),
    ("bayville", "illicit", "hear"): (30, "days", "filing"),
    ("bayville", "illicit", "serve"): (5, "days", "decision"),
    ("elmsford", "development", "file"): (15, "days", "service"),
    ("elmsford", "illicit", "file"): (10, "days", "notice_date"),
    ("elmsford", "illicit", "hear"): (15, "days", "receipt"),
    ("hillburn", "illicit", "file"): (15, "days", "issuance"),
    ("hillburn", "illicit", "hear"): (30, "days", "filing"),
    ("hillburn", "illicit", "serve"): (5, "days", "decision"),
    ("horseheads", "illicit", "file"): (15, "days", "issuance"),
    ("horseheads", "illicit", "hear"): (30, "days", "filing"),
    ("horseheads", "illicit", "serve"): (5, "days", "decision"),
    ("north_castle", "development", "file"): (15, "days", "service"),
    ("north_castle", "illicit", "file"): (15, "days", "issuance"),
    ("north_castle", "illicit", "hear"): (30, "days", "filing"),
    ("north_castle", "illicit", "serve"): (5, "days", "decision"),
}

#: (code, article) → fines by tier, jail, years of the window, unit of a continuing violation
PENALTIES = {
    ("bayville", "illicit"): ([(0, 2000), (0, 5000), (0, 10000)], ["15 days"] * 3, 5, "week"),
    ("elmsford", "development"): ([(0, 350), (350, 700), (700, 1000)], ["6 months"] * 3, 5, "week"),
    ("elmsford", "illicit"): ([(250, 250)], ["60 days"], None, "day"),
    ("hillburn", "illicit"): ([(0, 1000), (1000, 2500), (2500, 5000)], ["15 days"] * 3, 5, "week"),
    ("horseheads", "illicit"): ([(50, 350), (350, 700), (700, 1000)], ["", "15 days", "15 days"], 5, "week"),
    ("north_castle", "development"): ([(0, 350), (350, 700), (700, 1000)], ["6 months"] * 3, 5, "week"),
    ("north_castle", "illicit"): ([(0, 1000)], ["15 days"], None, "day"),
}

SIXTH = (Path(__file__).parents[2] / "docs/templates/municipality.toml").read_text(encoding="utf-8")


def codes() -> list[tuple[str, Profile]]:
    return [(name, load_profile(name)) for name in CODES]


def test_the_five_codes_are_there() -> None:
    assert profile_names() == CODES


def test_appeals_run_as_each_code_has_them() -> None:
    found = {
        (name, each.article, clock.name): (clock.count, clock.unit, clock.starts)
        for name, code in codes()
        for each in code.of(Appeal)
        for clock in each.deadlines
    }
    assert found == APPEALS


def test_penalties_are_those_of_the_article_that_was_violated() -> None:
    found = {
        (name, each.article): (
            [(tier.fine_min, tier.fine_max) for tier in each.tiers],
            [tier.jail_max for tier in each.tiers],
            each.window_years,
            each.continues_by,
        )
        for name, code in codes()
        for each in code.of(Penalty)
    }
    assert found == PENALTIES


def test_spills_are_told_by_the_next_business_day_and_confirmed_within_three() -> None:
    for name, code in codes():
        (spill,) = code.of(Spill)
        assert (spill.deadline("notice").count, spill.deadline("notice").unit) == (1, "business_days"), name
        assert (spill.deadline("confirmation").count, spill.deadline("confirmation").unit) == (3, "business_days"), name
        assert spill.deadline("hazardous_call").says == "immediately", name
        assert spill.hazardous_to[0].id == "dispatch", name
        assert spill.retention is not None and spill.retention.count == 3, name


def test_hazardous_release_is_told_to_whom_each_code_names() -> None:
    spills = {name: code.of(Spill)[0] for name, code in codes()}
    told = {name: [each.id for each in spill.hazardous_to] for name, spill in spills.items()}
    assert told == {
        "hillburn": ["dispatch", "municipality", "ms4"],
        "bayville": ["dispatch", "smo", "police", "clerk"],
        "elmsford": ["dispatch"],
        "north_castle": ["dispatch"],
        "horseheads": ["dispatch"],
    }
    later = {name: [each.id for each in spill.hazardous_notice_to] for name, spill in spills.items()}
    assert {name: parties for name, parties in later.items() if parties} == {"horseheads": ["village"]}


def test_a_sewage_line_is_a_violation_by_itself_where_the_code_says_so() -> None:
    said = {name: code.of(IllicitConnection)[0].sewage_line for name, code in codes()}
    assert said == {
        "hillburn": False,
        "bayville": False,
        "elmsford": True,
        "north_castle": True,
        "horseheads": True,
    }


def test_every_spill_begins_with_dispatch_and_the_hotline_of_the_state() -> None:
    lines = state_spill().call_first
    assert lines[0].startswith("CALL FIRST: 911")
    assert "1-800-457-7362: within 2 hours" in lines[1]
    assert "State law and not of the municipality's code; the attorney confirms it" in lines[1]
    assert "never stands in for a call" in lines[2]


def test_bayville_counts_the_confirmation_from_either_notice_and_the_others_may_from_the_telephone() -> None:
    lenient = {name: code.of(Spill)[0].deadline("confirmation").lenient.starts for name, code in codes()}
    assert lenient.pop("bayville") is None
    assert set(lenient.values()) == {"telephone_notice"}


def test_septic_numbers_are_in_two_codes_and_only_under_special_conditions() -> None:
    found = {
        name: (each.scum_clearance, each.sludge_clearance) for name, code in codes() for each in code.of(SepticPumpOut)
    }
    assert found == {"bayville": ("3 in", "10 in"), "hillburn": ("3 in", "10 in")}
    assert all(each.only_if for _, code in codes() for each in code.of(SepticPumpOut))


def test_hillburn_alone_wants_contamination_to_be_attributable() -> None:
    found = {name: each for name, code in codes() for each in code.of(FailingSystem)}
    assert {name: each.attribution_required for name, each in found.items()} == {"hillburn": True, "bayville": False}
    assert all(len({condition.name for condition in each.conditions}) == 6 for each in found.values())


@pytest.mark.parametrize(
    ("provision", "times", "count", "starts", "at_least"),
    [
        ("elmsford-288-8a2-seven-days", 1, 7, "last_report", None),
        ("elmsford-288-8a3-qualified-inspector", 1, 7, "last_inspection", None),
        ("elmsford-288-8a4-five-acres", 2, 7, "last_inspection", "5 acres"),
        ("north-castle-267-7a5-qualified-inspector", 1, 7, "last_inspection", "1 acre"),
    ],
)
def test_inspections_of_construction_come_every_seven_days(
    provision: str, times: int, count: int, starts: str, at_least: str | None
) -> None:
    found = next(each for _, code in codes() for each in code.of(Periodic) if each.id == provision)
    clock = found.deadline("next")
    assert (found.times, clock.count, clock.unit, clock.starts) == (times, count, "days", starts)
    assert found.at_least == at_least
    assert clock.extends == "no"


def test_north_castle_has_no_storm_report_of_its_own() -> None:
    assert [name for name, code in codes() if code.in_force(StormReport, TODAY)] == ["elmsford"]
    assert load_profile("north_castle").state_permit_notice(TODAY)


def test_construction_numbers_of_elmsford_and_north_castle() -> None:
    for name, area in (("elmsford", "1 acre"), ("north_castle", "5000 sq ft")):
        code = load_profile(name)
        assert {each.kind: each.area for each in code.of(Area)} == {
            "applicability": area,
            "disturbance_ceiling": "5 acres",
        }
        assert [each.share for each in code.of(SedimentRemoval)] == ["50 %"]
        (stages,) = code.of(StageNotice)
        assert len(stages.stages) == 8
        assert (stages.deadline("notice").count, stages.deadline("notice").holds) == (48, "before")
    assert [each.share for each in load_profile("elmsford").of(Escrow)] == ["1/3"]


def test_costs_of_an_abatement_are_charged_as_elmsford_and_horseheads_have_it() -> None:
    found = {name: each for name, code in codes() for each in code.of(CostRecovery)}
    assert {name: (each.payments_max, each.interest_percent) for name, each in found.items()} == {
        "elmsford": (12, "12"),
        "horseheads": (12, "9"),
    }
    assert {name: each.deadline("interest").count for name, each in found.items()} == {"elmsford": 10, "horseheads": 31}
    assert {name: each.deadline("interest").starts for name, each in found.items()} == {
        "elmsford": "discovery",
        "horseheads": "abatement",
    }


def test_notices_for_a_development_must_have_six_contents() -> None:
    found = [(name, each.article) for name, code in codes() for each in code.of(Notice) if each.mandatory]
    assert found == [("elmsford", "development"), ("north_castle", "development")]
    assert all(len(each.contents) == 6 for _, code in codes() for each in code.of(Notice) if each.mandatory)


def test_bayvilles_notice_is_served_in_three_ways() -> None:
    assert len(load_profile("bayville").of(Notice)[0].served_by) == 3


def test_plan_for_exempt_discharges_is_asked_for_as_each_code_has_it() -> None:
    assert {name: each.plan for name, code in codes() for each in code.of(Exemptions)} == {
        "bayville": "if_asked",
        "elmsford": "none",
        "hillburn": "none",
        "horseheads": "always",
        "north_castle": "always",
    }
    sources = {name: code.of(Exemptions)[0].sources for name, code in codes()}
    assert "spa and pond discharges" in {each.name for each in sources["hillburn"]}
    assert {name: {each.name for each in listed if each.ruling} for name, listed in sources.items()} == {
        "bayville": {"foundation or footing drains"},
        "elmsford": {"basement sump pumps", "irrigation water", "street wash water"},
        "hillburn": set(),
        "horseheads": set(),
        "north_castle": set(),
    }


def test_sewer_test_is_hillburns_alone() -> None:
    assert [(name, each.gallons_per_inch_mile_day) for name, code in codes() for each in code.of(SewerTest)] == [
        ("hillburn", 100)
    ]


def test_missing_parts_of_the_source_texts_are_said() -> None:
    assert {each.citation for _, code in codes() for each in code.provisions if each.incomplete} == {
        "§ 192-5A and C",
        "§ 192-6A, F and G",
        "§ 192-12A",
        "§ 192-14B and C",
        "§ 192-15B(2)",
        "§ 192-24",
        "§ 288-5",
        "§ 63A-5A",
        "§ 63A-9B(1)(a)",
    }


@pytest.mark.parametrize("name", CODES)
def test_provision_has_the_date_of_its_article_unless_it_has_its_own(name: str) -> None:
    code = load_profile(name)
    for each in code.provisions:
        assert each.enacted_by, each.id
        assert each.valid_from is not None or name == "bayville", each.id
        article = code.articles[each.article]
        own = f'id = "{each.id}"\n(?:(?!\n\\[\\[).)*?\nfrom = '
        assert each.valid_from == article.valid_from or re.search(own, profile_text(name), re.DOTALL), each.id


@pytest.mark.parametrize("name", CODES)
def test_provision_is_named_after_its_municipality_and_answers_its_own_rows(name: str) -> None:
    prefix = {"hillburn": "HIL", "bayville": "BAY", "elmsford": "ELM", "north_castle": "NCA", "horseheads": "HOR"}[name]
    for each in load_profile(name).provisions:
        assert each.id.startswith(name.replace("_", "-") + "-")
        assert each.covers and all(row.startswith(prefix) for row in each.covers)


# --- a sixth municipality ---


def test_sixth_municipality_needs_a_file_alone(tmp_path: Path) -> None:
    own = tmp_path / "nowhere.toml"
    own.write_text(SIXTH, encoding="utf-8")
    code = load_profile(str(own))
    (storm,) = code.in_force(StormReport, TODAY)
    assert (storm.storm_on(TODAY).depth, storm.storm_on(TODAY).clock) == ("1 in", "end")
    assert storm.valid_from == date(2020, 1, 1)
    assert code.in_force(StormReport, date(2019, 12, 31)) == []
    assert [each.sludge_clearance for each in code.of(SepticPumpOut)] == ["8 in"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('kind = "septic_pump_out"', 'kind = "septic_pumping"', ["nowhere-1-2-pump-out", "septic_pumping"]),
        ('scum_clearance = "2 in"\n', "", ["provision nowhere-1-2-pump-out: scum_clearance: Field required"]),
        ('scum_clearance = "2 in"', 'scum_clearence = "2 in"', ["scum_clearance: Field", "scum_clearence: Extra"]),
        (
            'article = "stormwater"\ncitation = "§ 1-2"',
            'article = "snow"\ncitation = "§ 1-2"',
            ["no such article", "'snow'"],
        ),
        ('value = "end"', 'value = "start"', ["choice.2: ", "write crossing or first or end"]),
        ("from = 2020-01-01", "from = 2020-13-01", ["not TOML"]),
    ],
)
def test_fault_of_a_profile_names_file_provision_and_key(old: str, new: str, told: list[str]) -> None:
    assert old in SIXTH
    with pytest.raises(ConfigurationError) as caught:
        parse_profile(SIXTH.replace(old, new), "nowhere.toml")
    assert caught.value.source == "nowhere.toml"
    for each in told:
        assert each in str(caught.value)


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ('kind = "appeal"\nheard_by = "x"', "appeal needs one named file"),
        ('kind = "bmp_log"', "bmp_log needs one"),
        ('kind = "guarantee"', "guarantee needs at least one"),
        (
            'kind = "seven_day_report"\ndeadlines = [{ name = "next", starts = "last_report", takes = "earlier" }]',
            "write count",
        ),
        (
            'kind = "penalty"\ncontinues_by = "day"\nlabel = "x"\n'
            "tiers = [{ offence = 1, fine_max = 5 }, { offence = 3, fine_max = 9 }]",
            "from 1 on, in order",
        ),
        (
            'kind = "penalty"\ncontinues_by = "day"\nlabel = "x"\n'
            "tiers = [{ offence = 1, fine_min = 9, fine_max = 5 }]",
            "fine_min is more than fine_max",
        ),
        (
            'kind = "penalty"\ncontinues_by = "day"\nlabel = "x"\n'
            "tiers = [{ offence = 1, fine_max = 5 }, { offence = 2, fine_max = 9 }]",
            "window_years: needed",
        ),
    ],
)
def test_provision_without_what_its_kind_needs_is_refused(extra: str, told: str) -> None:
    common = 'id = "x"\ncitation = "§ 1"\nconfidence = "P"\nsubject = "s"\nrequirement = "r"\nowed_by = "o"\n'
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        parse_profile(SIXTH.replace("[state_permit]", f"[[provision]]\n{common}{extra}\n[state_permit]"), "x")


# --- differences ---


def test_code_differs_from_itself_in_nothing() -> None:
    for _, code in codes():
        assert differences(code, code) == []


@pytest.mark.parametrize(
    ("first", "second", "kind", "what", "sides"),
    [
        ("hillburn", "bayville", "dye_test", "By what means", ("in writing", "by word of mouth")),
        ("hillburn", "bayville", "failing_system", "Attribution required", ("yes", "no")),
        ("elmsford", "north_castle", "as_built", "the whole", None),
        ("elmsford", "north_castle", "applicability", "Area", ("1 acre", "5000 sq ft")),
        ("north_castle", "horseheads", "penalty", "Continues by", ("day", "week")),
    ],
)
def test_difference_of_two_codes_is_told(
    first: str, second: str, kind: str, what: str, sides: tuple[str, str] | None
) -> None:
    found = [
        (each.first, each.second)
        for each in differences(load_profile(first), load_profile(second))
        if (each.kind, each.what) == (kind, what)
    ]
    assert found == ([sides] if sides else [])


def test_kind_that_one_code_lacks_is_told_whole() -> None:
    found = differences(load_profile("hillburn"), load_profile("horseheads"))
    (septic,) = (each for each in found if each.kind == "septic_pump_out")
    assert (septic.what, septic.second) == ("the whole", "")
    assert "§ 192-15B(1)(a)" in septic.first
