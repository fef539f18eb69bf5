"""Duties in the ledger: opened and changed by rules, closed by persons; every change is in the log book.

A storm's duty is closed by a person alone. What a clause makes due besides is answered by a record that a named person
entered, and follows it: no record, no answer. What a person has closed by its number stays closed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import sqlalchemy as sa

from headwall.errors import HeadwallError, UnknownThingError
from headwall.ledger import log_book, schema
from headwall.ledger.unreadable import ERRORS, Unreadable, UnreadableRowError, read_rows
from headwall.rules.facts import ClauseDuty, DutyFact, StormDuty, from_body, to_body

F = TypeVar("F", StormDuty, ClauseDuty)
_KINDS: dict[type, str] = {StormDuty: "storm_report", ClauseDuty: "clause"}
_D, _V = schema.duties.c, schema.duty_versions.c
#: open duties that an error names at most
_NAMED = 20


class DutyClosedError(HeadwallError):
    """A person tries to close a duty that is not open."""


@dataclass(frozen=True)
class Duty(Generic[F]):
    """A duty and the newest that is known of it."""

    id: int
    state: str  # open | received | not_needed | merged (of storms) | gone (of clauses: asked no longer)
    version: int
    historical: bool
    merged_into: int | None
    closed_by: str | None
    closed_reason: str | None
    closed_us: int | None
    body: F


AnyDuty = Duty[StormDuty] | Duty[ClauseDuty]
_COLUMNS = (
    _D.id, _D.state, _D.version, _D.historical, _D.merged_into, _D.closed_by, _D.closed_reason, _D.closed_us, _V.body,
)  # fmt: skip
_NEWEST = sa.select(*_COLUMNS).join_from(
    schema.duties, schema.duty_versions, sa.and_(_V.duty == _D.id, _V.version == _D.version)
)
_ONE = _NEWEST.where(_D.id == sa.bindparam("duty"))
_KNOWN = _NEWEST.where(
    _D.kind == _KINDS[StormDuty],
    _D.site.in_(sa.bindparam("sites", expanding=True)),
    _D.provision == sa.bindparam("provision"),
    _D.until_us >= sa.bindparam("start_us"),
    _D.from_us <= sa.bindparam("end_us"),
    _D.merged_into.is_(None),
).order_by(_D.id)
_SET = schema.duties.update().where(_D.id == sa.bindparam("duty"))
_MOVE = _SET.values({name: sa.bindparam(name) for name in ("version", "due_us", "merged_into", "from_us", "until_us")})
_STATE = _SET.values({name: sa.bindparam(name) for name in ("state", "closed_by", "closed_reason", "closed_us")})
_ADD = schema.duties.insert().returning(_D.id)
_ADD_VERSION = schema.duty_versions.insert()


def _duty(row: Any) -> AnyDuty:
    fact = from_body(row.body)
    assert isinstance(fact, DutyFact)
    return Duty(**{**row._mapping, "body": fact})


def _as(kind: type[F], row: Any) -> Duty[F]:
    return Duty(**{**row._mapping, "body": msgspec.convert(row.body, kind)})


def known(
    conn: sa.Connection, sites: Collection[str], provision: str, datastream: str, start_us: int, end_us: int
) -> dict[str, list[Duty[StormDuty]]]:
    """Duties whose storm overlaps a stretch at a gauge, without those merged into another; by site and number."""
    given = {"sites": list(sites), "provision": provision, "start_us": start_us, "end_us": end_us}
    found: dict[str, list[Duty[StormDuty]]] = defaultdict(list)
    for row in conn.execute(_KNOWN, given):
        duty = _as(StormDuty, row)
        if duty.body.datastream == datastream:
            found[duty.body.site].append(duty)
    return dict(found)


class Held(NamedTuple):
    """A duty of a clause without what is known of it: enough to see that nothing has changed.

    `known_us` is when the newest of what is known of it was stored.
    """

    id: int
    provision: str
    name: str
    occurrence: str
    state: str
    from_us: int
    closed_us: int | None
    closed_by: str | None
    closed_reason: str | None
    known_us: int


_HELD = (
    sa.select(*(_D[name] for name in Held._fields[:-1]), _V.at_us)
    .join_from(schema.duties, schema.duty_versions, (_V.duty == _D.id) & (_V.version == _D.version))
    .where(_D.kind == _KINDS[ClauseDuty], _D.site == sa.bindparam("site"))
    .order_by(_D.id)
)


def held(conn: sa.Connection, site: str) -> list[Held]:
    """The duties that clauses have made due at a site, whatever their state; by number."""
    return [Held._make(row) for row in conn.execute(_HELD, {"site": site})]


def clause_duty(conn: sa.Connection, duty: int) -> Duty[ClauseDuty]:
    """A duty that a clause has made due, by its number."""
    return _as(ClauseDuty, conn.execute(_ONE, {"duty": duty}).one())


def listed(
    conn: sa.Connection,
    *,
    everything: bool = False,
    site: str | None = None,
    first: int | None = None,
    unreadable: list[Unreadable] | None = None,
) -> list[AnyDuty]:
    """Open duties by due time, those without one last; with `everything` the closed and merged ones too.

    Args:
        first: at most so many.
        unreadable: takes those that cannot be read; without it they are an UnreadableRowError.
    """
    query = _NEWEST.order_by(_D.due_us.nulls_last(), _D.id).limit(first)
    if site is not None:
        query = query.where(_D.site == site)
    if not everything:
        query = query.where(_D.state == "open")
    return read_rows(conn, query, _D.id, "duty", _duty, unreadable)


def closed(conn: sa.Connection, *, first: int, unreadable: list[Unreadable]) -> list[AnyDuty]:
    """Those that are open no longer, latest due first; `unreadable` takes what cannot be read."""
    query = _NEWEST.where(_D.state != "open").order_by(_D.due_us.desc().nulls_first(), _D.id.desc()).limit(first)
    return read_rows(conn, query, _D.id, "duty", _duty, unreadable)


def count(conn: sa.Connection, *, everything: bool = False) -> int:
    """How many are open; with `everything`: how many there are."""
    query = sa.select(sa.func.count()).select_from(schema.duties)
    return int(conn.execute(query if everything else query.where(_D.state == "open")).scalar_one())


def of_storms(conn: sa.Connection) -> list[Duty[StormDuty]]:
    """The open ones that storms have made due, by due time."""
    query = _NEWEST.where(_D.state == "open", _D.kind == _KINDS[StormDuty]).order_by(_D.due_us, _D.id)
    return [_as(StormDuty, row) for row in conn.execute(query)]


def get(conn: sa.Connection, duty: int) -> AnyDuty:
    """A duty by number; UnknownThingError, naming the open ones, if there is none."""
    try:
        row = conn.execute(_ONE, {"duty": duty}).first()
        found = None if row is None else _duty(row)
    except ERRORS as error:
        raise UnreadableRowError(str(Unreadable(f"duty {duty}", str(error)))) from error
    if found is None:
        raise UnknownThingError(f"no duty {duty}; open are: {_open(conn)} (`headwall duty list --all` shows every one)")
    return found


def _open(conn: sa.Connection) -> str:
    """The numbers of those that are open, as far as a line holds them."""
    query = sa.select(_D.id).where(_D.state == "open").order_by(_D.due_us.nulls_last(), _D.id)
    ids = [str(each) for each in conn.execute(query).scalars()]
    return ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "") or "none"


def versions(conn: sa.Connection, duty: int) -> list[DutyFact]:
    """All that was known of a duty, newest first."""
    bodies = conn.execute(sa.select(_V.body).where(_V.duty == duty).order_by(_V.version.desc())).scalars()
    return [fact for fact in map(from_body, bodies) if isinstance(fact, DutyFact)]


def open_duty(conn: sa.Connection, fact: F, now_us: int, *, historical: bool, because: str = "") -> F:
    """Store a new duty as its version 1; returns the fact with its number.

    Args:
        because: what a person entered that made it due; "" where readings did.
    """
    from_us, until_us = fact.span
    values = {
        "kind": _KINDS[type(fact)],
        "site": fact.site,
        "provision": fact.provision,
        "state": "open",
        "version": 1,
        "due_us": fact.due_us,
        "from_us": from_us,
        "until_us": until_us,
        "historical": historical,
        "at_us": now_us,
    }
    clause = fact if isinstance(fact, ClauseDuty) else None
    values |= {"name": clause.name if clause else None, "occurrence": clause.occurrence if clause else None}
    number: int = conn.execute(_ADD, values).scalar_one()
    fact = msgspec.structs.replace(fact, duty=number, version=1)
    _store_version(conn, fact, now_us)
    body = {**fact.recorded, "historical": historical, **_why(because)}
    log_book.append(conn, "duty_opened", log_book.HEADWALL, body, now_us)
    return fact


def add_version(conn: sa.Connection, before: F, after: F, now_us: int, *, because: str = "") -> F:
    """Store what is now known of a duty as its next version.

    The log book notes a change of what is asked, and every change that what a person entered made (`because`).
    """
    after = msgspec.structs.replace(after, duty=before.duty, version=before.version + 1)
    _store_version(conn, after, now_us)
    from_us, until_us = after.span
    changes = {"version": after.version, "due_us": after.due_us, "merged_into": after.merged_into}
    changes |= {"duty": after.duty, "from_us": from_us, "until_us": until_us}
    conn.execute(_MOVE, changes)
    if because or asks_otherwise(before, after):
        body = {**after.recorded, **before.as_previous, **_why(because)}
        log_book.append(conn, "duty_changed", log_book.HEADWALL, body, now_us)
    return after


def asks_otherwise(before: DutyFact, after: DutyFact) -> bool:
    """Whether the due time differs, or whether the trigger stands."""
    return (before.due_us, before.trigger_gone) != (after.due_us, after.trigger_gone)


def mark_merged(conn: sa.Connection, duty: int) -> None:
    """An open twin is no longer open; one that a person closed stays as the person left it."""
    conn.execute(schema.duties.update().where(_D.id == duty, _D.state == "open").values(state="merged"))


def close_duty(
    conn: sa.Connection, duty: int, state: str, *, by: str, at_us: int, now_us: int, reason: str | None = None
) -> AnyDuty:
    """A named person closes a duty: "received" (the report came, at `at_us`) or "not_needed" (with a reason)."""
    by = log_book.person(by)
    found = get(conn, duty)
    if found.state == "merged":
        raise DutyClosedError(f"duty {duty} was merged into duty {found.merged_into}: close that one")
    if found.state == "gone":
        raise DutyClosedError(f"duty {duty} is asked no longer: {found.body.trigger_gone}")
    if found.state != "open":
        raise DutyClosedError(f"duty {duty} was already closed as {found.state} by {found.closed_by}")
    if state == "received" and isinstance(found.body, ClauseDuty) and found.body.answer:
        raise DutyClosedError(f"duty {duty} is answered by a record: {found.body.answer}")
    _close(conn, found.body, state, by=by, at_us=at_us, now_us=now_us, reason=reason)
    return get(conn, duty)


def follow_record(conn: sa.Connection, duty: Duty[ClauseDuty], fact: ClauseDuty, now_us: int) -> None:
    """What a clause made due is answered by a record, open since there is none, or asked no longer.

    One that a person has closed by its number stays as the person left it.
    """
    state = "gone" if fact.trigger_gone else "open" if fact.done is None else "received"
    if by_its_number(duty):
        return
    if state == "received" and fact.done is not None:
        if duty.state != state or duty.body.done != fact.done:
            done = fact.done
            _close(conn, fact, state, by=done.by, at_us=done.at_us, now_us=now_us, reason=done.reference)
    elif duty.state != state:
        none = {"closed_by": None, "closed_reason": None, "closed_us": None}
        conn.execute(_STATE, {"duty": duty.id, "state": state, **none})
        kind = "duty_gone" if state == "gone" else "duty_reopened"
        log_book.append(conn, kind, log_book.HEADWALL, fact.recorded, now_us)


def by_its_number(duty: Duty[ClauseDuty]) -> bool:
    """Whether a person has closed it, and no record did."""
    return duty.state == "not_needed" or (duty.state == "received" and duty.body.done is None)


def _close(
    conn: sa.Connection, fact: DutyFact, state: str, *, by: str, at_us: int, now_us: int, reason: str | None
) -> None:
    values = {"duty": fact.duty, "state": state, "closed_by": by, "closed_reason": reason, "closed_us": at_us}
    conn.execute(_STATE, values)
    body = {**fact.recorded, "closed_us": at_us, **({"reason": reason} if reason else {})}
    log_book.append(conn, f"duty_{state}", by, body, now_us)


def _store_version(conn: sa.Connection, fact: DutyFact, now_us: int) -> None:
    values = {"duty": fact.duty, "version": fact.version, "body": to_body(fact), "at_us": now_us}
    conn.execute(_ADD_VERSION, values)


def _why(because: str) -> dict[str, str]:
    return {"because": because} if because else {}
