"""Telling people: who is told of a fact, and the outbox rows that make sure it is told once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
import sqlalchemy as sa
import structlog

from headwall.ledger import schema
from headwall.registry import Registry
from headwall.registry.model import Person, Site
from headwall.rules.facts import DutyFact, Fact, from_body, to_body

log = structlog.get_logger("rules")
_O = schema.outbox.c
_T = schema.acceptances.c
_ACCEPTED = sa.select(_T.id).where(_T.node == sa.bindparam("node"), _T.stream == sa.bindparam("stream"))
_FACTS = _O.fact.in_(sa.bindparam("facts", expanding=True))
_ADD = schema.outbox.insert()
_PERSONS = sa.select(_O.person).where(_O.fact == sa.bindparam("fact"))
_UNSENT = sa.select(_O.id, _O.body).where(_FACTS, _O.mail.is_(None))
_TOLD = sa.select(_O.id, _O.mail, _O.body).where(_FACTS, _O.person == sa.bindparam("person")).order_by(_O.id)


def accepted(conn: sa.Connection, datastream: str) -> bool:
    """Whether a named person has taken the datastream out of commissioning."""
    node, _, stream = datastream.partition("/")
    return conn.execute(_ACCEPTED, {"node": node, "stream": stream}).first() is not None


def to_be_told(conn: sa.Connection, registry: Registry, datastream: str, municipality: str, at_us: int) -> list[Person]:
    """Who is told what a gauge showed: its installer until it is accepted, then the officers in office.

    Where a municipality has no officer, its operators and the installer are told rather than nobody.
    """
    installer = registry.installer_of(datastream.partition("/")[0])
    if not accepted(conn, datastream):
        return [installer] if installer else []
    officers = registry.officers(municipality, at_us)
    if officers:
        return officers
    others = [*officers_or_operators(registry, municipality, at_us), *([installer] if installer else [])]
    return list({person.id: person for person in others}.values())


def officers_or_operators(registry: Registry, municipality: str, at_us: int) -> list[Person]:
    """The officers in office; where a municipality has none its operators, rather than nobody."""
    officers = registry.officers(municipality, at_us)
    if officers:
        return officers
    log.error("no officer in office", municipality=municipality, remedy="add a person with role smo to the registry")
    return registry.operators(municipality, at_us)


def active_by_municipality(registry: Registry, sites: Iterable[Site], at_us: int) -> dict[str, list[str]]:
    """Which of some sites are active at an instant, by their municipalities, in the order of these in the registry."""
    active = [
        site for site in sites if (found := registry.status_of(site.id, at_us)) is not None and found.status == "active"
    ]
    return {
        municipality.id: of_it
        for municipality in registry.municipalities
        if (of_it := [site.id for site in active if site.municipality == municipality.id])
    }


def tell(
    conn: sa.Connection, key: str, fact: Fact, people: Sequence[Person], how: Literal["now", "digest"], now_us: int
) -> None:
    """One outbox row for each person who has none for this key yet."""
    known = set(conn.execute(_PERSONS, {"fact": key}).scalars())
    for person in people:
        if person.id not in known:
            _insert(conn, key, fact, person.id, how, now_us)


def withdraw(conn: sa.Connection, key: str) -> None:
    """Take back what no mail carries yet, since it no longer holds."""
    conn.execute(schema.outbox.delete().where(_O.fact == key, _O.mail.is_(None)))


def tell_duty(
    conn: sa.Connection,
    duty: DutyFact,
    people: Sequence[Person],
    now_us: int,
    *,
    because: str = "",
    how: Literal["now", "digest"] = "now",
) -> None:
    """Tell a duty, or correct what was told of it, `because` of what a person entered.

    A person who has had no mail about the duty gets it as it is now. One who has is told again only if the due
    time, or whether the duty's trigger still stands, differs from the last mail, with what that mail said.
    """
    for person in people:
        rows = _rows_about(conn, duty, person.id)
        for row in rows:
            if row.mail is None:
                conn.execute(schema.outbox.delete().where(_O.id == row.id))
        told = next((row.body for row in reversed(rows) if row.mail is not None), None)
        fact = _first_told(duty) if told is None else _correction(duty, told, because)
        if fact is not None:
            _insert(conn, f"duty/{duty.duty}/{duty.version}", fact, person.id, how, now_us)


def refresh(conn: sa.Connection, duty: DutyFact) -> None:
    """Let what no mail carries yet say what is known now: the rest of a backlog, a gap that has filled."""
    for row in conn.execute(_UNSENT, {"facts": keys_of(duty)}).all():
        body = to_body(msgspec.structs.replace(duty, **_as_told(row.body).correcting))
        conn.execute(schema.outbox.update().where(_O.id == row.id).values(body=body))


def withdraw_duty(conn: sa.Connection, duty: DutyFact) -> None:
    """Take back what no mail carries yet of a duty that is answered."""
    conn.execute(schema.outbox.delete().where(_O.fact.in_(keys_of(duty)), _O.mail.is_(None)))


def keys_of(duty: DutyFact) -> list[str]:
    """The keys of the outbox under which a duty may have been told, one a version."""
    return [f"duty/{duty.duty}/{version}" for version in range(1, duty.version + 1)]


def _rows_about(conn: sa.Connection, duty: DutyFact, person: str) -> Sequence[Any]:
    return conn.execute(_TOLD, {"facts": keys_of(duty), "person": person}).all()


def _first_told(duty: DutyFact) -> DutyFact | None:
    return None if duty.trigger_gone else duty  # nobody has heard of it, so there is nothing to take back


def _correction(duty: DutyFact, told: dict[str, Any], because: str) -> DutyFact | None:
    before = _as_told(told)
    if before.due_us == duty.due_us and before.trigger_gone == duty.trigger_gone:
        return None
    return msgspec.structs.replace(duty, **before.as_previous, because=because)


def _as_told(body: dict[str, Any]) -> DutyFact:
    fact = from_body(body)
    assert isinstance(fact, DutyFact)
    return fact


def _insert(conn: sa.Connection, key: str, fact: Fact, person: str, how: str, now_us: int) -> None:
    row = {"fact": key, "kind": _kind(fact), "person": person, "how": how, "body": to_body(fact), "at_us": now_us}
    conn.execute(_ADD, row)


def _kind(fact: Fact) -> str:
    tag = type(fact).__struct_config__.tag
    assert isinstance(tag, str)
    return tag
