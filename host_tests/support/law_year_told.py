"""What a year that was played has told, in the words of its oracle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall_sim.law_year import World
from headwall_sim.law_year_play import play

from support.law_year_oracle import Oracle, by_day, local_day

_O, _M = schema.outbox.c, schema.mails.c
_MAILED = sa.select(_O.person, _M.at_us, _O.how, _O.body).join_from(schema.outbox, schema.mails, _M.id == _O.mail)
Told = Counter[tuple[Any, ...]]


def must_be_told(world: World) -> Told:
    """(person, local day, how, fact) → how often, as the oracle has it."""
    oracle = Oracle(world)
    oracle.run()
    return by_day(oracle.posts, world.ends_us)


def was_told(world: World, folder: Path, processes: int = 1) -> Told:
    """The same as Headwall has it."""
    found: Told = Counter()
    for played in play(world, folder, processes):
        ledger = Ledger.open(played.ledger_url)
        with ledger.read() as conn:
            rows = conn.execute(_MAILED).all()
        ledger.close()
        found.update((row.person, local_day(row.at_us).isoformat(), row.how, _fact(row.body)) for row in rows)
    return found


def _fact(body: dict[str, Any]) -> tuple[Any, ...]:
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
        case "spill_reported":
            return "spill", body["site"]
        case "inactive_site_storm":
            return "inactive", body["site"]
    return "another", body["type"]
