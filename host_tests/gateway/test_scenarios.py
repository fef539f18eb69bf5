"""Scenario files of five municipalities: the outcome is what stands in the file, and each rule they cite is needed.

A rule is taken out in two ways: no rule is handed the clauses of a row, and the piece of the gateway that acts on a
kind of clauses is taken away while they stay.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Any

import pytest
from headwall.law.profile import load_profile
from headwall.rules.judges import judges
from support.long import LONG
from support.scenario import Scenario, outcome_text, read_scenario, scenario_files, write_expected
from support.scenario_town import play
from support.taken_out import Piece, pieces

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
    assert play(scenario, tmp_path, without=[row], until_otherwise=True) != scenario.expected, scenario.name


def test_whatever_judges_a_kind_of_clauses_is_taken_out() -> None:
    assert {kind for piece in pieces() for kind in piece.kinds} == set(judges()) - {"state_spill"}  # in no profile


@pytest.mark.parametrize("piece", [pytest.param(each, id=each.name.replace(" ", "-")) for each in pieces()])
def test_some_scenario_that_cites_a_row_fails_without_the_piece_that_judges_its_kind(
    piece: Piece, tmp_path: Path
) -> None:
    with piece.out():
        assert any(_ends_otherwise(scenario, tmp_path) for scenario in _citing(piece)), f"{piece.name} decides nothing"


def _ends_otherwise(scenario: Scenario, folder: Path) -> bool:
    own = folder / scenario.name
    own.mkdir(parents=True)
    return play(scenario, own, until_otherwise=True) != scenario.expected


def _citing(piece: Piece) -> list[Scenario]:
    """Scenarios that cite a row of a kind; first those whose end tells of what it is about, the shortest first."""
    judged = re.compile(rf"\| {piece.case} \| \w+ \| (?!suspected|taken_back)")
    found = []
    for scenario in map(read_scenario, scenario_files()):
        provisions = [each for each in load_profile(scenario.profile).provisions if each.kind in piece.kinds]
        clauses = [each.id for each in provisions if set(each.covers) & set(scenario.cites)]
        if clauses:
            end = outcome_text(scenario.expected)
            tells = judged.search(end) if piece.case else any(f" {each} " in end for each in clauses)
            found.append((not tells, len(scenario.happens), scenario))
    return [scenario for _, _, scenario in sorted(found, key=lambda each: each[:2])]
