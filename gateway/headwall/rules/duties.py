"""Duties in the ledger: opened and changed by rules, closed by persons alone; every change is in the log book."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from headwall.errors import HeadwallError, UnknownThingError
from headwall.ledger import log_book, schema
from headwall.rules.facts import StormDuty, from_body, to_body

KIND = "storm_report"
_D, _V = schema.duties.c, schema.duty_versions.c


class DutyClosedError(HeadwallError):
    """A person tries to close a duty that is not open."""


@dataclass(frozen=True)
class Duty:
    """A duty and the newest that is known of it."""

    id: int
    state: str  # open | received | not_needed | merged
    version: int
    historical: bool
    merged_into: int | None
    closed_by: str | None
    closed_reason: str | None
    closed_us: int | None
    body: StormDuty


_COLUMNS = (
    _D.id, _D.state, _D.version, _D.historical, _D.merged_into, _D.closed_by, _D.closed_reason, _D.closed_us, _V.body,
)  # fmt: skip
_NEWEST = sa.select(*_COLUMNS).join_from(
    schema.duties, schema.duty_versions, sa.and_(_V.duty == _D.id, _V.version == _D.version)
)


def _duty(row: Any) -> Duty:
    fact = from_body(row.body)
    assert isinstance(fact, StormDuty)
    return Duty(**{**row._mapping, "body": fact})


def known(conn: sa.Connection, site: str, provision: str, datastream: str, start_us: int, end_us: int) -> list[Duty]:
    """Duties whose storm overlaps a stretch at a gauge, without those merged into another; by number."""
    query = _NEWEST.where(
        _D.site == site,
        _D.provision == provision,
        _D.until_us >= start_us,
        _D.from_us <= end_us,
        _D.merged_into.is_(None),
    ).order_by(_D.id)
    return [duty for row in conn.execute(query) if (duty := _duty(row)).body.datastream == datastream]


def listed(conn: sa.Connection, *, everything: bool = False) -> list[Duty]:
    """Open duties by due time; with `everything` the closed and merged ones too."""
    query = _NEWEST.order_by(_D.due_us, _D.id)
    return [_duty(row) for row in conn.execute(query if everything else query.where(_D.state == "open"))]


def get(conn: sa.Connection, duty: int) -> Duty:
    """A duty by number; UnknownThingError, naming the open ones, if there is none."""
    row = conn.execute(_NEWEST.where(_D.id == duty)).first()
    if row is None:
        ids = ", ".join(str(each.id) for each in listed(conn)) or "none"
        raise UnknownThingError(f"no duty {duty}; open are: {ids} (`headwall duty list --all` shows every one)")
    return _duty(row)


def versions(conn: sa.Connection, duty: int) -> list[StormDuty]:
    """All that was known of a duty, newest first."""
    bodies = conn.execute(sa.select(_V.body).where(_V.duty == duty).order_by(_V.version.desc())).scalars()
    return [fact for fact in map(from_body, bodies) if isinstance(fact, StormDuty)]


def open_duty(conn: sa.Connection, fact: StormDuty, now_us: int, *, historical: bool, because: str = "") -> StormDuty:
    """Store a new duty as its version 1; returns the fact with its number.

    Args:
        because: what a person entered that made it due; "" where readings did.
    """
    values = {
        "kind": KIND,
        "site": fact.site,
        "provision": fact.provision,
        "state": "open",
        "version": 1,
        "due_us": fact.due_us,
        "from_us": fact.storm.start_us,
        "until_us": fact.storm.end_us,
        "historical": historical,
        "at_us": now_us,
    }
    number: int = conn.execute(schema.duties.insert().values(**values).returning(_D.id)).scalar_one()
    fact = msgspec.structs.replace(fact, duty=number, version=1)
    _store_version(conn, fact, now_us)
    body = {**_digest(fact), "historical": historical, **_why(because)}
    log_book.append(conn, "duty_opened", log_book.HEADWALL, body, now_us)
    return fact


def add_version(
    conn: sa.Connection, before: StormDuty, after: StormDuty, now_us: int, *, because: str = ""
) -> StormDuty:
    """Store what is now known of a duty as its next version.

    The log book notes a change of what is asked, and every change that what a person entered made (`because`).
    """
    after = msgspec.structs.replace(after, duty=before.duty, version=before.version + 1)
    _store_version(conn, after, now_us)
    changes = {"version": after.version, "due_us": after.due_us, "merged_into": after.merged_into}
    changes |= {"from_us": after.storm.start_us, "until_us": after.storm.end_us}
    conn.execute(schema.duties.update().where(_D.id == after.duty).values(**changes))
    if because or asks_otherwise(before, after):
        previous = {"previous_due_us": before.due_us, "previous_depth_in": before.storm.depth_in}
        body = {**_digest(after), **previous, **_why(because)}
        log_book.append(conn, "duty_changed", log_book.HEADWALL, body, now_us)
    return after


def asks_otherwise(before: StormDuty, after: StormDuty) -> bool:
    """Whether the due time differs, or whether the trigger stands."""
    return (before.due_us, before.trigger_gone) != (after.due_us, after.trigger_gone)


def mark_merged(conn: sa.Connection, duty: int) -> None:
    """An open twin is no longer open; one that a person closed stays as the person left it."""
    conn.execute(schema.duties.update().where(_D.id == duty, _D.state == "open").values(state="merged"))


def close_duty(
    conn: sa.Connection, duty: int, state: str, *, by: str, at_us: int, now_us: int, reason: str | None = None
) -> Duty:
    """A named person closes a duty: "received" (the report came, at `at_us`) or "not_needed" (with a reason)."""
    found = get(conn, duty)
    if found.state == "merged":
        raise DutyClosedError(f"duty {duty} was merged into duty {found.merged_into}: close that one")
    if found.state != "open":
        raise DutyClosedError(f"duty {duty} was already closed as {found.state} by {found.closed_by}")
    values = {"state": state, "closed_by": by, "closed_reason": reason, "closed_us": at_us}
    conn.execute(schema.duties.update().where(_D.id == duty).values(**values))
    body = {**_digest(found.body), "closed_us": at_us, **({"reason": reason} if reason else {})}
    log_book.append(conn, f"duty_{state}", by, body, now_us)
    return get(conn, duty)


def _store_version(conn: sa.Connection, fact: StormDuty, now_us: int) -> None:
    values = {"duty": fact.duty, "version": fact.version, "body": to_body(fact), "at_us": now_us}
    conn.execute(schema.duty_versions.insert().values(**values))


def _why(because: str) -> dict[str, str]:
    return {"because": because} if because else {}


def _digest(fact: StormDuty) -> dict[str, Any]:
    """What the log book keeps of a duty: no floats, see `log_book.append`."""
    return {
        "duty": fact.duty,
        "version": fact.version,
        "site": fact.site,
        "provision": fact.provision,
        "datastream": fact.datastream,
        "crossing_us": fact.crossing_us,
        "fired_by": fact.fired_by,
        "depth_in": fact.storm.depth_in,
        "due_us": fact.due_us,
        "trigger_gone": fact.trigger_gone,
        "merged_into": fact.merged_into,
    }
