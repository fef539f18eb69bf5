"""Some weeks of sites in five municipalities, or a year of 1,000 with HEADWALL_LONG=1: every fact reaches whom it must,
on the day on which it must, once, as an oracle has worked it out apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.ledger import schema
from headwall_sim.law_year import World, make
from headwall_sim.law_year_play import Play
from support.law_year_oracle import Oracle, by_day, local_day
from support.long import LONG

#: seed, sites, days
PLAYED = [(1, 1000, 365)] if LONG else [(1, 20, 45), (2, 12, 60)]


@pytest.fixture(scope="module", params=PLAYED, ids=str)
def year(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Counter[Any], Counter[Any]]:
    """What each person got on which day: as it must be, and as it was."""
    world = make(*request.param)
    oracle = Oracle(world)
    oracle.run()
    return by_day(oracle.posts, world.ends_us), _told(world, tmp_path_factory.mktemp("year"))


def test_no_fact_is_missing_on_the_day_on_which_it_must_come(year: tuple[Counter[Any], Counter[Any]]) -> None:
    wanted, given = year
    assert not wanted - given


def test_no_fact_comes_twice_or_uncalled(year: tuple[Counter[Any], Counter[Any]]) -> None:
    wanted, given = year
    assert not given - wanted


def test_the_time_has_what_an_officer_is_written_about(year: tuple[Counter[Any], Counter[Any]]) -> None:
    kinds = {fact[:2] if fact[0] == "reminder" else fact[0] for _, _, _, fact in year[0]}
    assert kinds >= {
        "storm",
        "clause",
        "list",
        ("reminder", "before"),
        ("reminder", "overdue"),
        ("reminder", "escalated"),
    }


def _told(world: World, folder: Path) -> Counter[Any]:
    played = Play(world, folder)
    try:
        played.run()
        o, m = schema.outbox.c, schema.mails.c
        query = sa.select(o.person, m.at_us, o.how, o.body).join_from(schema.outbox, schema.mails, m.id == o.mail)
        with played.ledger.read() as conn:
            rows = conn.execute(query).all()
    finally:
        played.close()
    return Counter((row.person, local_day(row.at_us).isoformat(), row.how, _fact(row.body)) for row in rows)


def _fact(body: dict[str, Any]) -> tuple[Any, ...]:
    """A fact in the oracle's words."""
    match body["type"]:
        case "storm_duty":
            return "storm", body["site"], body["due_us"], body.get("previous_due_us")
        case "clause_duty":
            return "gone" if body.get("trigger_gone") else "clause", body["site"], body["provision"], body["due_us"]
        case "reminder":
            duty = ("duty", body["site"], body["provision"])
            about = duty if body.get("duty") else ("case", body["site"], body["owed_by"])
            return "reminder", body["stage"], *about, body["due_us"]
        case "open_matters":
            counts = (body[f"{name}_count"] for name in ("overdue", "soon", "case", "later"))
            return "list", body["municipality"], *counts
        case "near_threshold":
            return "near", body["site"]
        case "inactive_site_storm":
            return "inactive", body["site"]
    return "another", body["type"]
