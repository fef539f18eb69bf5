"""Some weeks of sites in five municipalities, or a year of 1,000 with HEADWALL_LONG=1: every fact reaches whom it must,
on the day on which it must, once, as an oracle has worked it out apart."""

from __future__ import annotations

import ast
import inspect
import os

import pytest
from headwall_sim import law_year
from headwall_sim.law_year import make
from support import law_year_oracle
from support.law_year_oracle import Oracle
from support.law_year_told import Told, must_be_told, was_told
from support.long import LONG

#: seed, sites, days
PROCESSES = (os.cpu_count() or 1) if LONG else 1
PLAYED = [(1, 1000, 365)] if LONG else [(1133, 20, 45), (1418, 20, 45)]


@pytest.fixture(scope="module", params=PLAYED, ids=str)
def year(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Told]:
    """What each person got on which day: as it must be, and as it was."""
    world = make(*request.param)
    return must_be_told(world), was_told(world, tmp_path_factory.mktemp("year"), PROCESSES)


def test_no_fact_is_missing_on_the_day_on_which_it_must_come(year: tuple[Told, Told]) -> None:
    wanted, given = year
    assert not wanted - given


def test_no_fact_comes_twice_or_uncalled(year: tuple[Told, Told]) -> None:
    wanted, given = year
    assert not given - wanted


def test_the_time_has_what_an_officer_is_written_about(year: tuple[Told, Told]) -> None:
    kinds = {fact[:2] if fact[0] == "reminder" else fact[0] for _, _, _, fact in year[0]}
    assert kinds >= {
        "storm",
        "spill",
        "clause",
        "list",
        ("reminder", "before"),
        ("reminder", "overdue"),
        ("reminder", "escalated"),
    }


def test_all_happens_that_the_oracle_knows() -> None:
    happened = {each.what for played in PLAYED for each in make(*played).happenings}
    assert happened == {name.removeprefix("_on_") for name in vars(Oracle) if name.startswith("_on_")}


def test_the_oracle_takes_nothing_of_headwall() -> None:
    for module in (law_year, law_year_oracle):
        tree = ast.parse(inspect.getsource(module))
        taken = [each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
        taken += [name.name for each in ast.walk(tree) if isinstance(each, ast.Import) for name in each.names]
        assert [name for name in taken if name.startswith("headwall")] in ([], ["headwall_sim.law_year"])
