"""What a station has read and the gateway has not yet said to be durable: its journal, in one SQLite file."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from headwall.errors import InputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS journal (jid TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS readings (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, time_ms INTEGER NOT NULL, value TEXT, reason TEXT);
"""


class Reading(NamedTuple):
    """One reading: a value as decimal text, or None with a reason."""

    seq: int
    stream: str
    time_ms: int
    value: str | None
    reason: str | None


class Store:
    """For one thread. A file that was deleted begins a new journal."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")  # what is stored outlives a loss of power
            self._db.executescript(_SCHEMA)
            if self._db.execute("SELECT count(*) FROM journal").fetchone()[0] == 0:
                self._db.execute("INSERT INTO journal VALUES (?)", (secrets.token_hex(8),))
            self.jid: str = self._db.execute("SELECT jid FROM journal").fetchone()[0]
        except sqlite3.Error as error:
            raise InputError(f"{path}: {error}; the station keeps its readings there until they are safe") from None

    def append(self, time_ms: int, found: Sequence[tuple[str, str | None, str | None]]) -> None:
        """Keep readings of one instant: (stream, value, reason) each."""
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO readings (stream, time_ms, value, reason) VALUES (?, ?, ?, ?)",
            [(stream, time_ms, value, reason) for stream, value, reason in found],
        )
        self._db.execute("COMMIT")

    @property
    def next(self) -> int:
        """Number of the next reading."""
        found = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'readings'").fetchone()
        return 1 + (found[0] if found else 0)

    @property
    def floor(self) -> int:
        """Number of the oldest reading that is held."""
        found = self._db.execute("SELECT min(seq) FROM readings").fetchone()[0]
        return self.next if found is None else int(found)

    def after(self, seq: int, count: int) -> list[Reading]:
        """Up to `count` readings behind number `seq`."""
        rows = self._db.execute("SELECT * FROM readings WHERE seq > ? ORDER BY seq LIMIT ?", (seq, count))
        return [Reading(*row) for row in rows]

    def forget(self, through: int) -> None:
        """Readings up to this number are durable at the gateway."""
        self._db.execute("DELETE FROM readings WHERE seq <= ?", (through,))

    def close(self) -> None:
        self._db.close()
