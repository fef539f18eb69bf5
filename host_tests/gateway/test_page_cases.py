"""Cases on the page: spills before everything, and whatever somebody has to meet, with its time."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.ledger import schema
from headwall.web.rendering import render
from headwall.web.status import Status, build_status
from support.case_town import NEW_YORK, CaseTown, local


@pytest.fixture
def town(tmp_path: Path) -> CaseTown:
    return CaseTown(tmp_path, "elmsford")


def status(town: CaseTown, when: str) -> Status:
    return build_status(town.ledger, town.registry, {}, local(when), {})


def page(found: Status) -> str:
    return " ".join(render("status.html.j2", status=found, zone=NEW_YORK).split())


def test_a_page_without_cases_has_no_word_of_calls(town: CaseTown) -> None:
    found = status(town, "10-09 18:00")
    assert (found.cases, found.call_first) == ([], [])
    assert "911" not in page(found)


def test_an_open_spill_stands_first_with_whom_to_call(town: CaseTown) -> None:
    town.open("suspected_discharge", "10-09 09:00")
    town.open("spill", "10-09 17:30")
    found = status(town, "10-09 18:00")
    assert [each.kind for each in found.cases] == ["spill", "suspected_discharge"]
    shown = page(found)
    assert shown.index("CALL FIRST: 911") < shown.index('id="duties"')
    assert '<td data-head="Kind">spill</td>' in shown
    assert "a person decides" in shown  # of the other, whose clocks have not begun


def test_what_somebody_has_to_meet_is_overdue_on_the_page_once_its_time_is_over(town: CaseTown) -> None:
    town.open("spill", "10-09 17:30")
    town.call("dispatch", "10-09 17:31")
    before, after = status(town, "10-09 19:29"), status(town, "10-09 19:31")
    assert [each.overdue for each in (*before.cases, *after.cases)] == [False, True]
    assert after.cases[0].next_us == local("10-09 19:30")
    assert "Overdue</span>: case 1, spill at" in page(after)
    town.call("hotline", "10-09 19:32")
    assert [each.overdue for each in status(town, "10-09 19:33").cases] == [False]


def test_a_case_that_has_ended_is_not_on_the_page(town: CaseTown) -> None:
    town.open("spill", "10-09 17:30")
    town.take("dismiss", "10-09 18:00")
    assert "CALL FIRST" not in page(status(town, "10-09 18:30"))


def test_a_case_that_cannot_be_read_is_named_and_the_page_stands(town: CaseTown) -> None:
    town.open("suspected_discharge", "10-09 09:00")
    town.open("spill", "10-09 17:30")
    with town.ledger.begin() as conn:
        conn.execute(sa.update(schema.case_steps).where(schema.case_steps.c.case == 1).values(clocks={"not": "clocks"}))
    found = status(town, "10-09 18:00")
    assert [each.id for each in found.cases] == [2]
    assert "case 1 cannot be read" in found.health["case 1"]
    assert "case 1 cannot be read" in page(found)
