"""Who owes what a clause makes due: who has the part while it is due, and later who had it when it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from headwall.ledger.entries import Milestone, StageTold
from headwall.registry import load_registry
from support.building_house import Building, building_registry, local, project
from support.registry_text import ACTIVE

_PART = '{ person = "builder", role = "developer", from = 2020-01-01'
_NEXT = '[[people]]\nid = "next"\nname = "Nora Next"\nemail = "nora@site.example"\n\n'
STAGE = 'stages = [{ stage = "site clearing complete", planned = 2026-07-15 }]'
Make = Callable[..., Building]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A site of a project whose developer hands over to Nora Next on a day."""
    with ExitStack() as made:

        def house(projects: str, day: str, code: str = "elmsford") -> Building:
            building_registry(tmp_path, projects, code=code, choices="", status=ACTIVE)
            path = tmp_path / "registry.toml"
            text = path.read_text("utf-8")
            both = f'{_PART}, to = {day} }}, {{ person = "next", role = "developer", from = {day}'
            assert _PART in text
            first = "[[people]]"
            path.write_text(text.replace(_PART, both).replace(first, _NEXT + first, 1), "utf-8")
            found = Building(load_registry(path), local("2026-06-01 09:00"))
            made.callback(found.close)
            return found

        yield house


def _owed(house: Building, kind: str) -> list[str]:
    return [each.body.owed_by for each in house.all(kind) if each.state != "gone"]


def test_notice_of_a_stage_is_owed_by_who_has_the_project_when_it_is_due(make: Make) -> None:
    house = make(project(STAGE), "2026-07-10")
    assert _owed(house.at("2026-07-09 09:00"), "stage_notice") == ["Bella Builder"]
    assert _owed(house.at("2026-07-10 09:00"), "stage_notice") == ["Nora Next"]


def test_who_came_later_does_not_owe_what_was_due_before(make: Make) -> None:
    house = make(project(STAGE), "2026-07-20")
    assert _owed(house.at("2026-07-21 09:00"), "stage_notice") == ["Bella Builder"]
    house.enter(StageTold(stage="site clearing complete", told_to="Olive"), "2026-07-22 09:00", "Nora")
    assert _owed(house.at("2026-07-22 10:00"), "stage_notice") == ["Bella Builder"]


def test_what_was_answered_in_time_stays_with_who_answered_it(make: Make) -> None:
    house = make(project(STAGE), "2026-07-10")
    house.enter(StageTold(stage="site clearing complete", told_to="Olive"), "2026-07-08 09:00", "Bella")
    before = [(each.version, each.body.owed_by) for each in house.at("2026-07-08 10:00").all("stage_notice")]
    house.engine._forget()  # as at the start of the gateway: every duty is worked out anew
    after = [(each.version, each.body.owed_by) for each in house.at("2026-08-01 10:00").all("stage_notice")]
    assert before == after == [(1, "Bella Builder")]


def test_project_that_rested_too_long_is_owed_by_who_had_it_when_its_time_ended(make: Make) -> None:
    house = make(project(start="2024-06-01"), "2026-07-20", "north_castle")
    house.enter(Milestone(step="activity", reference="file 1"), "2025-06-20 09:00", "Bella")
    assert _owed(house.at("2026-08-01 09:00"), "project_lapse") == ["Bella Builder"]
