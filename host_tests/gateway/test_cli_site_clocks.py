"""`headwall site show` tells of every kind of site what is asked there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.ledger.ledger import Ledger
from headwall.rules import duties
from headwall.rules.facts import ClauseDuty
from support.case_town import local
from support.desk import Desk
from support.outfall_house import SITE, outfall_registry

LOOK = ("site", "show", SITE, "--at", "2026-06-10 12:00")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    outfall_registry(tmp_path)
    yield Desk(tmp_path)


def ask(folder: Path, due: str) -> None:
    due_us = local(due)
    fact = ClauseDuty(
        duty=0,
        version=0,
        municipality="elmsford",
        site=SITE,
        provision="elmsford-288-20a1-illicit-discharge",
        name="",
        occurrence="one",
        starts={},
        asks="Look at the watercourse",
        owed_by="",
        strict_us=due_us,
        lenient_us=due_us,
        due_us=due_us,
        learned_us=local("06-01 09:00"),
        evidence={},
        answer="",
        advice=False,
        done=None,
        trigger_gone="",
    )
    ledger = Ledger.open(f"sqlite:///{folder / 'headwall.db'}")
    with ledger.begin() as conn:
        duties.open_duty(conn, fact, fact.learned_us, historical=False)
    ledger.close()


def test_an_outfall_at_which_nothing_is_asked_has_no_word_of_it(desk: Desk) -> None:
    assert "What is asked" not in desk.run(*LOOK)
    assert json.loads(desk.run(*LOOK, "--json"))["clocks"] == []


@pytest.mark.parametrize(("due", "late"), [("06-10 11:00", True), ("06-10 13:00", False)])
def test_an_outfall_shows_its_open_duties_and_which_are_overdue(
    desk: Desk, tmp_path: Path, due: str, late: bool
) -> None:
    ask(tmp_path, due)
    told = " ".join(desk.run(*LOOK).split())
    assert f"2026-{due} {'overdue: ' if late else ''}Look at the watercourse" in told
    assert [each["overdue"] for each in json.loads(desk.run(*LOOK, "--json"))["clocks"]] == [late]
