"""How far the rules go is not said by hand: what counts as implemented is judged, and what decides itself is shown."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest
from headwall.law import localtime
from headwall.law.coverage import analysis_rows, coverage
from headwall.law.profile import load_profile, profile_names
from headwall.rules.clauses import PLANNERS
from headwall.rules.judges import judges
from support.scenario import (
    FOLDER,
    NEW_YORK,
    Command,
    Put,
    Scenario,
    outcome_text,
    read_scenario,
    scenario_files,
)

SCENARIOS = [read_scenario(path) for path in scenario_files()]
_DAY_US = 24 * localtime.HOUR_US
ROWS = {each.row: each for each in coverage(map(load_profile, profile_names()), judges())}


def cited() -> dict[str, set[str]]:
    """Row → the scenarios that cite it; `test_scenarios` takes its clause from each, which must fail then."""
    found: dict[str, set[str]] = defaultdict(set)
    for scenario in SCENARIOS:
        for row in scenario.cites:
            found[row].add(scenario.name)
    return found


def test_row_that_a_sensor_or_a_clock_decides_is_implemented_only_if_a_scenario_cites_it() -> None:
    proven = cited()
    decides_itself = [row for row, by in analysis_rows().items() if {"sensor", "clock"} & set(by)]
    assert [row for row in decides_itself if ROWS[row].state == "implemented" and row not in proven] == []


def test_scenarios_cite_rows_of_the_analysis_that_a_rule_judges() -> None:
    assert {row: names for row, names in cited().items() if row not in ROWS or ROWS[row].state != "implemented"} == {}


@pytest.mark.parametrize("profile", profile_names())
def test_every_municipality_has_eight_scenarios_and_more_with_each_difficulty_of_time(profile: str) -> None:
    here = [each for each in SCENARIOS if each.path.parent.name == profile]
    assert len(here) >= 8
    short = [each for each in here if _end(each) - each.begins_us < 30 * _DAY_US]
    assert any(_changes_clocks(each) for each in short), "a clock change"
    assert any(_over_a_holiday(each) for each in short), "a holiday"
    assert any('count = 2, unit = "days"' in (each.file or "") for one in here for each in _commands(one)), "two days"
    assert any(_has_late_data(each) for each in here), "late data"


def test_same_events_under_each_code_end_as_that_code_has_it() -> None:
    """Scenarios of the same events differ in nothing else that goes in; what comes out does, in each direction."""
    for events in sorted((FOLDER / "shared").glob("*.events.toml")):
        ours = [each for each in SCENARIOS if _uses(each.path) == events.name.removesuffix(".events.toml")]
        goes_in = {(each.begins_us, each.places, each.registry, each.happens) for each in ours if not _adds(each.path)}
        assert len(goes_in) <= 1, events.name
        ends = {each.profile: outcome_text(each.expected) for each in ours}
        assert len(ends) >= 2, f"{events.name} is played under one code alone"
        told = {name: frozenset(each.id for each in load_profile(name).provisions) for name in ends}
        foreign = [
            (name, other)
            for name, end in ends.items()
            for other, ids in told.items()
            if other != name and any(f" {each} " in end for each in ids - told[name])
        ]
        assert not foreign, f"{events.name}: an outcome cites the clause of another code"


def test_codes_differ_in_what_the_same_events_end_with() -> None:
    """Beyond the names of the clauses: as many ends as are told apart by instants and states."""
    kinds = {
        name: len({_without_ids(each) for each in SCENARIOS if _uses(each.path) == name})
        for name in ("saturday-storm", "appeal-over-the-holidays", "spill-on-a-long-weekend", "suspension-on-a-friday")
    }
    assert min(kinds.values()) >= 2, kinds


def _without_ids(scenario: Scenario) -> str:
    end = outcome_text({part: scenario.expected[part] for part in ("duties", "cases")})
    for each in load_profile(scenario.profile).provisions:
        end = end.replace(f" {each.id} ", f" {each.kind} ")
    return end


def _uses(path: Path) -> str:
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("uses", ""))


def _adds(path: Path) -> bool:
    """Whether a municipality's file has more going in than what the shared one has."""
    return bool({"event", "registry", "places"} & set(tomllib.loads(path.read_text(encoding="utf-8"))))


def _commands(scenario: Scenario) -> list[Command]:
    return [each for each in scenario.happens if isinstance(each, Command)]


def _end(scenario: Scenario) -> int:
    return scenario.happens[-1].at_us


def _changes_clocks(scenario: Scenario) -> bool:
    first, last = (localtime.to_local(each, NEW_YORK) for each in (scenario.begins_us, _end(scenario)))
    return first.utcoffset() != last.utcoffset()


def _over_a_holiday(scenario: Scenario) -> bool:
    first, last = (localtime.day_of(each, NEW_YORK) for each in (scenario.begins_us, _end(scenario)))
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return any(localtime.holiday(day) is not None for day in days)


def _has_late_data(scenario: Scenario) -> bool:
    """Readings that come hours after they were measured, once others have been judged."""
    puts = [each for each in scenario.happens if isinstance(each, Put)]
    return any(
        put.at_us > scenario.begins_us and put.at_us - time_us > 2 * localtime.HOUR_US
        for put in puts
        for time_us, _ in put.readings
    )


def test_what_is_said_to_judge_a_kind_is_in_use() -> None:
    kinds = {each.kind for name in profile_names() for each in load_profile(name).provisions}
    assert set(PLANNERS) - kinds == set(), "a planner of a kind that no code has"
    for planner in PLANNERS.values():
        assert getattr(import_module(planner.__module__), planner.__name__) is planner
