"""The durable store: opening, transactions, the append position, followers' cursors.

SQLite (WAL, synchronous FULL) is the embedded default; PostgreSQL serves where several gateways share one.
Nothing here knows of rules or mail.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from headwall.errors import HeadwallError
from headwall.ledger import schema
from headwall.ledger.upgrade import upgrade


class LedgerUnavailableError(HeadwallError):
    """The ledger cannot be opened: absent, not ours, damaged, or not allowed to us."""

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        self.reason = reason
        super().__init__(
            f"ledger {where} cannot be opened: {reason}; check ledger.url, and that the account of headwall may read "
            "and write there"
        )


_CURSOR = sa.select(schema.cursors.c.pos).where(schema.cursors.c.name == sa.bindparam("cursor"))


class Ledger:
    """One open ledger. Safe to use from several threads; each takes connections of its own.

    Other packages read and write the tables of `schema` through `begin()` and `read()`.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self._listeners: list[threading.Event] = []
        self._newest_row = 0
        self._one_writer = threading.RLock()
        with self.read() as conn:
            self.id: str = conn.execute(
                sa.select(schema.meta.c.value).where(schema.meta.c.key == "ledger_id")
            ).scalar_one()

    @classmethod
    def open(cls, url: str) -> Ledger:
        """Open the ledger at a SQLAlchemy URL, making or upgrading its tables first.

        Raises:
            LedgerTooNewError: a newer program has upgraded it.
            LedgerUnavailableError: there is no database that we can use.
        """
        try:
            engine = sa.create_engine(url, connect_args={"timeout": 30} if url.startswith("sqlite") else {})
            if engine.dialect.name == "sqlite":
                _keep_private(engine.url.database)
                _prepare_sqlite(engine)
            upgrade(engine)
            return cls(engine)
        except (sa.exc.SQLAlchemyError, ImportError) as error:
            raise LedgerUnavailableError(_shown(url), why(error)) from error

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """A write transaction, durable when the block ends; rolled back by an exception."""
        # SQLite has a second writer look again after sleeps of up to 100 ms; a lock hands over at once
        with self._one_writer if self.engine.dialect.name == "sqlite" else nullcontext(), self.engine.begin() as conn:
            yield conn

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection that sees one committed state."""
        with self.engine.connect().execution_options(reading=True) as conn:
            yield conn

    def take_positions(self, conn: sa.Connection, count: int) -> int:
        """Reserve `count` append positions inside the transaction of `conn`; returns the first.

        The row stays locked until the transaction ends, so positions become visible in order.
        """
        table = schema.append_position
        last: int = conn.execute(
            sa.update(table).where(table.c.id == 1).values(pos=table.c.pos + count).returning(table.c.pos)
        ).scalar_one()
        return last - count + 1

    def cursor(self, conn: sa.Connection, name: str) -> int:
        """The append position up to which a follower has read; 0 for a new one."""
        found = conn.execute(_CURSOR, {"cursor": name}).scalar()
        return int(found) if found is not None else 0

    def set_cursor(self, conn: sa.Connection, name: str, pos: int) -> None:
        """Move a follower's cursor, in the transaction that does the follower's work."""
        done = conn.execute(schema.cursors.update().where(schema.cursors.c.name == name).values(pos=pos))
        if done.rowcount == 0:
            conn.execute(schema.cursors.insert().values(name=name, pos=pos))

    def listen(self) -> threading.Event:
        """An event that `announce` sets; a follower clears it, reads, and waits for it again."""
        event = threading.Event()
        self._listeners.append(event)
        return event

    def announce(self) -> None:
        """Tell the followers in this process that something was committed."""
        for event in self._listeners:
            event.set()

    def announce_rows(self) -> None:
        """Announce if the log book has grown since the last look: a person may have entered something by a command,
        which is another process. Every entry, step and decision has a row there.
        """
        with self.read() as conn:
            newest = int(conn.execute(sa.select(sa.func.max(schema.records.c.n))).scalar() or 0)
        if newest != self._newest_row:
            self._newest_row = newest
            self.announce()


def why(error: Exception) -> str:
    """What the database said, in a line: without the statement, which may be long."""
    said = str(getattr(error, "orig", None) or error).strip().splitlines()
    return said[0] if said else type(error).__name__


def _shown(url: str) -> str:
    """A URL without its password; one that is none is not shown, since it may hold one."""
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "of ledger.url"


def _keep_private(database: str | None) -> None:
    """See that only the account of headwall reads a ledger in a file: names, addresses and configurations stand in it.

    SQLite gives the files beside it (-wal, -shm) the mode of the database. A file of another account stays as it is.
    """
    if not database or database == ":memory:" or database.startswith("file:"):
        return
    try:
        Path(database).touch(mode=0o600)
        for each in (Path(f"{database}{end}") for end in ("", "-wal", "-shm")):
            if each.exists() and each.stat().st_uid == os.geteuid() and each.stat().st_mode & 0o077:
                each.chmod(0o600)
    except OSError:
        pass  # a place where no file can be: SQLite says so in the same words as ever


def _prepare_sqlite(engine: sa.Engine) -> None:
    """WAL and FULL on every connection, and transactions that take the write lock when they begin."""

    @sa.event.listens_for(engine, "connect")
    def _on_connect(dbapi_connection: Any, _record: object) -> None:
        dbapi_connection.isolation_level = None  # we say BEGIN ourselves
        cursor = dbapi_connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _on_begin(conn: sa.Connection) -> None:
        conn.exec_driver_sql("BEGIN IMMEDIATE" if not conn.get_execution_options().get("reading") else "BEGIN")
