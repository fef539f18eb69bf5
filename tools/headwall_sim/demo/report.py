"""The demo's numbers: what the boards took, what the ledger holds, what came of it; and whether that is right.

Taken is read from each board's flash, stored from the ledger, driven from the timeline of the bucket: three
sources that know nothing of each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger

from headwall_sim.demo.scenario import DemoBoard
from headwall_sim.mailbox import Mail


class BoardNumbers(msgspec.Struct):
    """One board's part of the report; counts of readings, tips, storms, duties and notices."""

    taken: int
    stored: int
    stored_twice: int
    lost: int
    reported_lost: int
    tips_driven: int
    tips_stored: int
    tips_at_risk: int
    storms: int
    duties: int
    notices: dict[str, int]


class DemoReport(BoardNumbers):
    """The boards' numbers added up, and by board; `faults` is empty when everything came out as it must."""

    mails: list[dict[str, str]]
    boards: dict[str, BoardNumbers]
    faults: list[str]


class Driven(msgspec.Struct, frozen=True):
    """What the simulation knows of a board: appends that are whole on flash, tips while powered, power cuts."""

    taken: int
    tips: int
    cuts: int


def board_numbers(ledger: Ledger, name: str, driven: Driven, gauge: Mapping[str, Any]) -> BoardNumbers:
    """Count one board's rows in the ledger and hold them against what the simulation knows."""
    readings, gaps = schema.readings, schema.gaps
    with ledger.read() as conn:
        rows = conn.execute(
            sa.select(readings.c.jid, readings.c.seq, readings.c.value, readings.c.total, readings.c.time_us).where(
                readings.c.node == name
            )
        ).all()
        span = sa.func.coalesce(sa.func.sum(gaps.c.last_seq - gaps.c.first_seq + 1), 0)
        reported: int = conn.execute(sa.select(span).where(gaps.c.node == name)).scalar_one()
        duties, notices = _told(conn, name)
        at_risk = _tips_at_risk(conn, name)
    tips = Counter((row.jid, row.total) for row in rows if row.value == 1)
    identities = len({(row.jid, row.seq) for row in rows})
    twice = len(rows) - identities + sum(count - 1 for count in tips.values())
    return BoardNumbers(
        taken=driven.taken,
        stored=len(rows),
        stored_twice=twice,
        lost=driven.taken - identities - reported,
        reported_lost=reported,
        tips_driven=driven.tips,
        tips_stored=len(tips),
        tips_at_risk=driven.cuts * at_risk,
        storms=1 if gauge["storm_in"] is not None else 0,
        duties=duties,
        notices=notices,
    )


def _told(conn: sa.Connection, name: str) -> tuple[int, dict[str, int]]:
    """How many duties a board's gauge opened, and how many notices of each kind were told of it, each fact once."""
    rows = conn.execute(sa.select(schema.outbox.c.fact, schema.outbox.c.kind, schema.outbox.c.body)).all()
    told = {row.fact: row.kind for row in rows if row.body.get("datastream", row.body.get("node", "")).startswith(name)}
    notices = Counter(kind for kind in told.values() if kind != "storm_duty")
    bodies = conn.execute(sa.select(schema.duty_versions.c.duty, schema.duty_versions.c.body)).all()
    return len({row.duty for row in bodies if row.body["datastream"].startswith(name)}), dict(notices)


def _tips_at_risk(conn: sa.Connection, name: str) -> int:
    """How many tips one power cut can cost, as the node itself states it."""
    query = sa.select(schema.node_states.c.body).where(schema.node_states.c.node == name)
    return int(conn.execute(query).scalar_one()["tips_at_risk"])


def total(boards: Mapping[str, BoardNumbers], mails: Sequence[Mail], faults: list[str]) -> DemoReport:
    """The boards' numbers added up."""

    def added(field: str) -> int:
        return sum(getattr(board, field) for board in boards.values())

    notices: Counter[str] = Counter()
    for board in boards.values():
        notices.update(board.notices)
    counted = {field: added(field) for field in BoardNumbers.__struct_fields__ if field != "notices"}
    return DemoReport(
        **counted,
        notices=dict(notices),
        mails=[{"to": str(mail.message["To"]), "subject": str(mail.message["Subject"])} for mail in mails],
        boards=dict(boards),
        faults=faults,
    )


def faults_of(board: DemoBoard, found: BoardNumbers) -> list[str]:
    """What is not as the scenario wants it, in words."""
    faults = []
    for what, wanted in (("lost", 0), ("stored_twice", 0), ("duties", board.duty)):
        if getattr(found, what) != wanted:
            faults.append(f"{board.name}: {what} is {getattr(found, what)}, must be {wanted}")
    for kind, wanted in (("near_threshold", board.near), ("gauge_silent", board.silent)):
        if found.notices.get(kind, 0) != wanted:
            faults.append(f"{board.name}: {found.notices.get(kind, 0)} notices {kind}, must be {wanted}")
    missing = found.tips_driven - found.tips_stored
    if not 0 <= missing <= found.tips_at_risk:
        faults.append(f"{board.name}: {missing} tips missing, at most {found.tips_at_risk} may be")
    return faults


def mail_faults(mails: Sequence[Mail]) -> list[str]:
    """A Message-ID that came more than once is a fault here, since nothing was killed while mailing."""
    seen = Counter(str(mail.message["Message-ID"]) for mail in mails)
    return [f"mail {identity} came {count} times" for identity, count in seen.items() if count > 1]
