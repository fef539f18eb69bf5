"""The log book: append-only, each row hashed over the one before, so that a later change shows.

The hash is SHA-256 over canonical JSON (sorted keys, no spaces) of everything in the row and the hash of the
row before. The newest number and hash are kept once more in `meta`, so that rows cut off the end show too.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from headwall.ledger import schema

_HEAD = "log_book_head"
_START = "0" * 64
#: the writer of rows that no person decided
HEADWALL = "headwall"


@dataclass(frozen=True)
class Broken:
    """The first row of the log book that does not hold, and why."""

    n: int
    why: str


def append(conn: sa.Connection, kind: str, by: str, body: dict[str, Any], at_us: int) -> int:
    """Add a row in the caller's transaction; returns its number.

    Args:
        kind: what happened, e.g. "duty_received".
        by: the person who decided, or HEADWALL.
        body: JSON data of strings, integers, booleans, lists and objects; no floats, whose text may differ
            between databases.
    """
    previous_n, previous = _lock_head(conn)
    row = {"n": previous_n + 1, "kind": kind, "by": by, "body": body, "at_us": at_us, "previous": previous}
    digest = _digest(row)
    conn.execute(schema.records.insert().values(**row, hash=digest))
    conn.execute(schema.meta.update().where(schema.meta.c.key == _HEAD).values(value=f"{row['n']} {digest}"))
    return previous_n + 1


def verify(conn: sa.Connection) -> Broken | None:
    """Read the whole book; None if every row holds, else the first that does not."""
    n, previous = 0, _START
    for row in conn.execute(sa.select(schema.records).order_by(schema.records.c.n)).mappings():
        if row["n"] != n + 1:
            return Broken(n + 1, f"row {n + 1} is missing: row {row['n']} follows row {n}")
        if row["previous"] != previous:
            return Broken(row["n"], "does not follow from the row before it")
        if row["hash"] != _digest({key: row[key] for key in ("n", "kind", "by", "body", "at_us", "previous")}):
            return Broken(row["n"], "was changed after it was written")
        n, previous = row["n"], row["hash"]
    if _head(conn) != (n, previous):
        return Broken(n + 1, "rows are missing at the end")
    return None


def _digest(row: dict[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _head(conn: sa.Connection) -> tuple[int, str]:
    query = sa.select(schema.meta.c.value).where(schema.meta.c.key == _HEAD)
    value = conn.execute(query).scalar()
    if value is None:
        return 0, _START
    n, _, digest = str(value).partition(" ")
    return int(n), digest


def _lock_head(conn: sa.Connection) -> tuple[int, str]:
    # FOR UPDATE makes appenders queue on PostgreSQL; SQLite's writers queue when they begin
    if conn.execute(sa.select(schema.meta.c.key).where(schema.meta.c.key == _HEAD).with_for_update()).first() is None:
        conn.execute(schema.meta.insert().values(key=_HEAD, value=f"0 {_START}"))
    return _head(conn)
