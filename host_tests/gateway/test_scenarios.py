"""Scenario files of five municipalities: the outcome is what stands in the file, and each rule they cite is needed."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest
from support.scenario import outcome_text, read_scenario, scenario_files, write_expected
from support.scenario_town import play

UPDATE = os.environ.get("HEADWALL_UPDATE_GOLDEN") == "1"
SCENARIOS = [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in scenario_files()]
CITED = [
    pytest.param(path, row, id=f"{path.parent.name}/{path.stem}-{row}")
    for path in scenario_files()
    for row in read_scenario(path).cites
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


@pytest.mark.parametrize(("path", "row"), CITED)
def test_scenario_fails_without_the_clause_of_a_row_that_it_cites(path: Path, row: str, tmp_path: Path) -> None:
    scenario = read_scenario(path)
    assert play(scenario, tmp_path, without=[row]) != scenario.expected
