"""How far the rules go is not said by hand: what counts as implemented is judged, and what decides itself is shown."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module

import pytest
from headwall.law.coverage import analysis_rows, coverage
from headwall.law.profile import load_profile, profile_names
from headwall.rules.clauses import PLANNERS
from headwall.rules.judges import judges
from support.scenario import read_scenario, scenario_files

ROWS = {each.row: each for each in coverage(map(load_profile, profile_names()), judges())}


def cited() -> dict[str, set[str]]:
    """Row → the scenarios that cite it; `test_scenarios` takes its clause from each, which must fail then."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in scenario_files():
        scenario = read_scenario(path)
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
def test_every_municipality_has_eight_scenarios_and_more(profile: str) -> None:
    here = [path for path in scenario_files() if path.parent.name == profile]
    assert len(here) >= 8


def test_what_is_said_to_judge_a_kind_is_in_use() -> None:
    kinds = {each.kind for name in profile_names() for each in load_profile(name).provisions}
    assert set(PLANNERS) - kinds == set(), "a planner of a kind that no code has"
    for planner in PLANNERS.values():
        assert getattr(import_module(planner.__module__), planner.__name__) is planner
