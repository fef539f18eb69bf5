"""The log book: append-only, each row hashed over the one before, so that a later change shows.

The hash is SHA-256 over canonical JSON (sorted keys, no spaces) of everything in the row and the hash of the row
before. Names and personal details stand in it by a digest of their own, salted so that nobody finds a name by trying:
a lawful redaction takes them out, a further row says so, and the chain holds. The newest number and hash, the head, are
kept once more in `meta`, so that rows cut off the end show too. Whoever can write the whole database can write the head
as well: what finds him is a head that was noted elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import schema

_HEAD = "log_book_head"
_START = "0" * 64
_ADD: Final = schema.records.insert()
_READ_HEAD: Final = sa.select(schema.meta.c.value).where(schema.meta.c.key == _HEAD)
_LOCKED_HEAD: Final = _READ_HEAD.with_for_update()
_MOVE_HEAD: Final = schema.meta.update().where(schema.meta.c.key == _HEAD).values(value=sa.bindparam("head"))
#: the writer of rows that no person decided
HEADWALL = "headwall"
_NAME_CHARS: Final = 100
#: what stands for the name of a redacted row
REDACTED = "(redacted)"
REDACTION = "redaction"


@dataclass(frozen=True)
class Head:
    """The last row of the book at some time; noted elsewhere, it shows whether the book up to it is still the same."""

    n: int
    hash: str

    def __str__(self) -> str:
        return f"{self.n}:{self.hash}"

    @staticmethod
    def parse(text: str) -> Head:
        """From "12:9f2c…", as it is printed."""
        if not re.fullmatch(r"\d{1,15}:[0-9a-f]{64}", text.strip()):
            raise InputError(f"{text!r} is no head of a log book; write it as it was printed: number:hash")
        n, _, digest = text.strip().partition(":")
        return Head(int(n), digest)


@dataclass(frozen=True)
class Broken:
    """The first row of the log book that does not hold, and why; every row before it holds."""

    n: int
    why: str


@dataclass(frozen=True)
class Row:
    """A row of the book.

    Attributes:
        personal: details of persons beside the name; None: there are none, or they were redacted.
    """

    n: int
    kind: str
    by: str
    body: dict[str, Any]
    personal: dict[str, Any] | None
    at_us: int
    hash: str


def person(by: str) -> str:
    """The name of who decides, in one line with single spaces.

    Raises:
        InputError: it is none that a person could be found by: empty, of marks alone, not to be seen, too long, or the
            program's own.
    """
    name = by.strip()
    if not any(each.isalpha() for each in name) or name.casefold() == HEADWALL:
        raise InputError(
            f"{by!r} is not the name of a person; what is decided needs the name of the person who does it"
        )
    if len(name) > _NAME_CHARS or not name.isprintable():
        raise InputError(f"the name of a person has at most {_NAME_CHARS} characters, all printable, in one line")
    return " ".join(name.split())


def append(
    conn: sa.Connection, kind: str, by: str, body: dict[str, Any], at_us: int, personal: dict[str, Any] | None = None
) -> int:
    """Add a row in the caller's transaction; returns its number.

    Args:
        kind: what happened, e.g. "duty_received".
        by: the person who decided, or HEADWALL.
        body: JSON data of strings, integers, booleans, lists and objects; no floats, whose text may differ
            between databases.
        personal: the same of what may have to be redacted one day.
    """
    before = _lock_head(conn)
    salt = "" if by == HEADWALL and personal is None else secrets.token_hex(16)
    row = {
        "n": before.n + 1,
        "kind": kind,
        "personal_digest": _digest({"by": by, "personal": personal, "salt": salt}),
        "body": body,
        "at_us": at_us,
        "previous": before.hash,
    }
    new = Head(before.n + 1, _digest(row))
    conn.execute(_ADD, {**row, "by": by, "personal": personal, "salt": salt, "hash": new.hash})
    conn.execute(_MOVE_HEAD, {"head": str(new)})
    return new.n


def redact(conn: sa.Connection, n: int, *, by: str, reason: str, now_us: int) -> None:
    """A named person takes the name and the personal details out of a row; a further row says who, when and why.

    Raises:
        InputError: there is no such row, it names nobody, or it was redacted before.
    """
    c = schema.records.c
    row = conn.execute(sa.select(c.by, c.personal, c.salt).where(c.n == n)).first()
    if row is None:
        raise InputError(f"the log book has no row {n}; `headwall logbook show` lists them")
    if row.salt is None:
        raise InputError(f"row {n} was redacted before")
    if row.by == HEADWALL and row.personal is None:
        raise InputError(f"row {n} names no person")
    conn.execute(schema.records.update().where(c.n == n).values(by=REDACTED, personal=None, salt=None))
    append(conn, REDACTION, by, {"row": n, "reason": reason}, now_us)


def rows(conn: sa.Connection, kinds: tuple[str, ...] = ()) -> Iterator[Row]:
    """The rows in order, of some kinds alone if any are given."""
    c = schema.records.c
    query = sa.select(c.n, c.kind, c.by, c.body, c.personal, c.at_us, c.hash).order_by(c.n)
    for row in conn.execute(query.where(c.kind.in_(kinds)) if kinds else query):
        yield Row(**row._mapping)


def verify(conn: sa.Connection, noted: Head | None = None) -> Broken | None:
    """Read the whole book; None if every row holds, else the first that does not.

    Args:
        noted: a head of an earlier day that was kept elsewhere: row and hash must be in the book as they were.
    """
    try:
        redacted = {row.body.get("row") for row in rows(conn, (REDACTION,))}
        query = sa.select(schema.records).order_by(schema.records.c.n)
        return _verify(conn, conn.execute(query).mappings(), redacted, noted)
    except UNREADABLE:
        return _unreadable(conn)


def _verify(conn: sa.Connection, found: Iterable[Any], redacted: set[Any], noted: Head | None) -> Broken | None:
    before = Head(0, _START)
    for row in found:
        why = _fault(row, before, redacted)
        if why is None and noted is not None and row["n"] == noted.n and row["hash"] != noted.hash:
            why = "is not the row that was noted: the book was written anew, here or before"
        if why is not None:
            return Broken(before.n + 1, why)
        before = Head(row["n"], row["hash"])
    told = head(conn)
    if told != before:
        return Broken(before.n + 1, f"is missing at the end: the book once went to row {told.n}")
    if noted is not None and noted.n > before.n:
        return Broken(before.n + 1, f"is missing at the end: row {noted.n} was noted")
    return None


def _unreadable(conn: sa.Connection) -> Broken:
    """The first row that holds what was never written: no JSON, or no text."""
    for n in conn.execute(sa.select(schema.records.c.n).order_by(schema.records.c.n)).scalars().all():
        try:
            row = conn.execute(sa.select(schema.records).where(schema.records.c.n == n)).mappings().one()
            if row["hash"] == _digest({key: row[key] for key in _CHAINED}):
                _digest({key: row[key] for key in ("by", "personal", "salt")})
                continue
        except UNREADABLE:
            pass
        return Broken(n, "was changed after it was written")
    return Broken(0, "cannot be read")


def head(conn: sa.Connection) -> Head:
    """The last row as the book itself notes it; 0 for an empty book."""
    value = conn.execute(_READ_HEAD).scalar()
    return Head(0, _START) if value is None else Head.parse(value)


def _fault(row: Any, before: Head, redacted: set[Any]) -> str | None:
    if row["n"] != before.n + 1:
        return f"is missing: row {row['n']} follows row {before.n}"
    if row["previous"] != before.hash:
        return "does not follow from the row before it: removed, moved or written anew"
    if row["hash"] != _digest({key: row[key] for key in _CHAINED}):
        return "was changed after it was written"
    if row["salt"] is None:
        if row["n"] not in redacted:
            return "has lost its name, and no row says that it was redacted"
        if row["by"] != REDACTED or row["personal"] is not None:
            return "was redacted, and names somebody again: changed after it was written"
        return None
    if row["personal_digest"] != _digest({key: row[key] for key in ("by", "personal", "salt")}):
        return "was changed after it was written: its name or personal details"
    return None


#: what reading a row raises that somebody changed into what the book never writes
UNREADABLE = (TypeError, ValueError, AttributeError, RecursionError)
_CHAINED = ("n", "kind", "personal_digest", "body", "at_us", "previous")


def _digest(row: dict[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _lock_head(conn: sa.Connection) -> Head:
    # FOR UPDATE makes appenders queue on PostgreSQL; SQLite's writers queue when they begin
    value = conn.execute(_LOCKED_HEAD).scalar()
    if value is not None:
        return Head.parse(value)
    conn.execute(schema.meta.insert().values(key=_HEAD, value=str(Head(0, _START))))
    return Head(0, _START)
