"""A duty without a time is asked no longer once its reason ends: that it was never answered until then stays said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from headwall.ledger.entries import Certification, Training
from support.building_house import Building, buildings, local, project

Make = Callable[..., Building]
OVER = "final_stabilization = 2026-06-20"
NEVER = "never answered while it was owed; "


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with buildings(tmp_path) as made:
        yield made


def _why(house: Building, kind: str, when: str = "2026-07-01 09:00") -> list[tuple[str, str]]:
    house.at("2026-06-02 09:00").at(when)
    return [(each.state, each.body.trigger_gone) for each in house.all(kind)]


@pytest.mark.parametrize("code", ["elmsford", "north_castle"])
def test_plan_that_nobody_saw_at_the_site_stays_said_after_construction(make: Make, code: str) -> None:
    house = make(project(OVER), code=code)
    told = [("gone", f"{NEVER}construction is over since 2026-06-20")]
    assert _why(house, "plan_on_site") == told
    house.looked_for_plan("2026-06-03 09:00", there=True)  # entered late: it was seen, while it was owed
    assert _why(house, "plan_on_site", "2026-07-02 09:00") == [("received", "")]


def test_training_that_nobody_entered_stays_said_after_construction(make: Make) -> None:
    house = make(project(OVER), contractor=True)
    told = [("gone", f"{NEVER}Bella Builder has no part there since 2026-06-20")]
    assert _why(house, "trained_contractor") == told
    house.entered("builder", Training(hours="4", credential="", reference="card"), local("2026-05-01 09:00"))
    assert _why(house, "trained_contractor", "2026-07-02 09:00") == [("received", "")]


def test_certification_was_owed_only_where_work_began(make: Make) -> None:
    (worked,) = _why(make(project(OVER), contractor=True), "contractor_certification")
    assert worked == ("gone", f"{NEVER}Bella Builder has no part there since 2026-06-20")
    house = make(project("to = 2026-06-20", start="2026-07-15"), contractor=True)
    (rested,) = _why(house, "contractor_certification")
    assert rested == ("gone", "Bella Builder has no part there since 2026-06-20")
    house.enter(Certification(person="builder", title="foreman", firm="Works"), "2026-06-03 09:00", "Olive")
    assert _why(house, "contractor_certification", "2026-07-02 09:00") == [("received", "")]


def test_report_that_was_not_yet_due_was_never_owed(make: Make) -> None:
    gone = [why for _, why in _why(make(project("final_stabilization = 2026-06-04")), "seven_day_report") if why]
    assert gone == ["no work under this clause since 2026-06-04"]
