"""A gateway that starts with its clock not set yet takes back nothing that it knew before."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.ledger import schema
from support.building_house import Building, buildings, project

WEEKLY = "seven_day_report"


def facts(house: Building) -> list[str]:
    with house.ledger.read() as conn:
        return list(conn.execute(sa.select(schema.outbox.c.fact).order_by(schema.outbox.c.id)).scalars())


def restarted(house: Building, when: str) -> Building:
    """A gateway that starts at what its clock takes for a local time."""
    house.engine = house.new_engine()
    return house.at(when)


@pytest.mark.parametrize("wrong", ["2026-06-07 09:00", "2026-06-01 12:00", "1970-01-02 00:00", "2000-02-29 00:00"])
def test_a_clock_that_was_not_set_takes_no_duty_back_and_mails_nothing_again(tmp_path: Path, wrong: str) -> None:
    with buildings(tmp_path) as make:
        house = make(project()).at("2026-06-02 09:00")
        house.report("2026-06-05 15:00")
        restarted(house, "2026-06-08 09:00")
        before, told = house.all(WEEKLY), facts(house)
        assert [each.state for each in before] == ["received", "open"]
        assert restarted(house, wrong).all(WEEKLY) == before
        assert restarted(house, "2026-06-08 09:01").all(WEEKLY) == before
        assert not [
            fact for fact in facts(house) if fact not in told and fact.startswith("duty/") and not fact.endswith("/1")
        ]


def test_a_record_answers_a_duty_that_was_opened_while_the_clock_was_ahead(tmp_path: Path) -> None:
    with buildings(tmp_path) as make:
        house = make(project()).at("2026-06-12 09:00")
        house.at("2026-06-03 09:00")
        house.report("2026-06-03 08:00")
        house.at("2026-06-03 09:01")
        assert house.all(WEEKLY)[0].state == "received"
