"""Scenario files of five municipalities: the outcome is what stands in the file, and each rule they cite is needed."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

import pytest
from support.long import LONG
from support.scenario import Scenario, outcome_text, read_scenario, scenario_files, write_expected
from support.scenario_town import play

UPDATE = os.environ.get("HEADWALL_UPDATE_GOLDEN") == "1"
SCENARIOS = [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in scenario_files()]


def cited() -> list[Any]:
    """Each row with the shortest scenario that cites it; with all of them in the long run."""
    found: dict[str, list[Scenario]] = {}
    for scenario in map(read_scenario, scenario_files()):
        for row in scenario.cites:
            found.setdefault(row, []).append(scenario)
    return [
        pytest.param(scenario.path, row, id=f"{scenario.name}-{row}")
        for row, citing in sorted(found.items())
        for scenario in sorted(citing, key=lambda each: len(each.happens))[: None if LONG else 1]
    ]


@pytest.mark.parametrize("path", SCENARIOS)
def test_scenario_ends_as_its_file_says(path: Path, tmp_path: Path) -> None:
    scenario = read_scenario(path)
    found = play(scenario, tmp_path)
    if UPDATE:
        write_expected(scenario, found)
        return
    wanted, given = outcome_text(scenario.expected), outcome_text(found)
    diff = difflib.unified_diff(wanted.splitlines(), given.splitlines(), str(path), "what came of it", lineterm="", n=1)
    assert wanted == given, "\n".join(["", *diff, "", f"HEADWALL_UPDATE_GOLDEN=1 writes it: {path}; then read it"])


@pytest.mark.parametrize(("path", "row"), cited())
def test_scenario_fails_without_the_clause_of_a_row_that_it_cites(path: Path, row: str, tmp_path: Path) -> None:
    scenario = read_scenario(path)
    assert play(scenario, tmp_path, without=[row]) != scenario.expected, scenario.name
