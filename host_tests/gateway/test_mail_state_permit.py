"""Mails of construction sites say that no numbers of the State's permit are entered, where the code applies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from headwall.law.profile import load_profile
from headwall.notify.clause_section import clause_duty
from headwall.notify.lookup import Lookup
from headwall.registry.model import Person
from support.building_house import Building, buildings, local, project

Make = Callable[..., Building]
READER = Person(id="officer", name="Olive Officer", email="officer@village.example")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with buildings(tmp_path) as made:
        yield made


def _mails(house: Building) -> list[str]:
    """What mails of the duties at the site say."""
    when = "2026-06-09 09:00"
    profile = house.registry.municipalities[0].profile
    look = Lookup(house.registry, {profile: load_profile(profile)}, house.ledger, local(when))
    duties = [each for kind in {p.kind for p in load_profile(profile).provisions} for each in house.at(when).all(kind)]
    return [str(clause_duty(look, each.body, READER)) for each in duties]


@pytest.mark.parametrize(
    ("code", "area"),
    [("elmsford", "1 acre"), ("elmsford", "6 acres"), ("north_castle", "5000 sq ft"), ("north_castle", "6 acres")],
)
def test_each_mail_about_a_duty_of_a_site_says_it(make: Make, code: str, area: str) -> None:
    told = _mails(make(project(area=area), code=code))
    assert told
    assert all("State-permit schedule not entered" in each for each in told)


@pytest.mark.parametrize(("code", "area"), [("elmsford", "8700 sq ft"), ("north_castle", "4999 sq ft")])
def test_code_that_does_not_reach_a_site_asks_nothing_there(make: Make, code: str, area: str) -> None:
    assert _mails(make(project(area=area), code=code)) == []
