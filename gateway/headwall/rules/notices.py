"""Rows of the table of notices: one a key, that is opened, opened again, and closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from headwall.ledger import schema

_N = schema.notices.c
_OPEN = sa.select(_N.key, _N.body).where(_N.kind == sa.bindparam("kind"), _N.closed_us.is_(None)).order_by(_N.id)
_OPEN_OF = _OPEN.where(_N.subject == sa.bindparam("subject"))
_OPEN_OF_SOME = (
    sa.select(_N.subject, _N.key, _N.body)
    .where(_N.kind == sa.bindparam("kind"), _N.closed_us.is_(None))
    .where(_N.subject.in_(sa.bindparam("subjects", expanding=True)))
    .order_by(_N.id)
)


def open_ones(conn: sa.Connection, kind: str, subject: str | None = None) -> list[tuple[str, Any]]:
    """Keys and bodies of the open notices of a kind, of one subject if asked so, oldest first."""
    rows = conn.execute(_OPEN if subject is None else _OPEN_OF, {"kind": kind, "subject": subject})
    return [(key, body) for key, body in rows]


def open_of(conn: sa.Connection, kind: str, subjects: Collection[str]) -> dict[str, list[tuple[str, Any]]]:
    """Keys and bodies of the open notices of a kind by subject, oldest first; subjects without one are left out."""
    found: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for subject, key, body in conn.execute(_OPEN_OF_SOME, {"kind": kind, "subjects": list(subjects)}):
        found[subject].append((key, body))
    return dict(found)


def put(conn: sa.Connection, kind: str, subject: str, key: str, body: dict[str, Any], now_us: int) -> bool:
    """Open a notice, again if it was closed, with what is known now; whether it is new."""
    values = {"body": body, "closed_us": None}
    if conn.execute(schema.notices.update().where(_N.key == key).values(**values)).rowcount:
        return False
    given = {"kind": kind, "subject": subject, "key": key, "opened_us": now_us}
    conn.execute(schema.notices.insert().values(**given, **values))
    return True


def close(conn: sa.Connection, key: str, now_us: int) -> None:
    """What a notice tells is over."""
    conn.execute(schema.notices.update().where(_N.key == key).values(closed_us=now_us))
