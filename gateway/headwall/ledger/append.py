"""Readings into the ledger: stored once however often they come, and never overwritten."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.resolve import resolve_new

_T = TypeVar("_T")
#: numbers looked up in one query; databases limit the parameters of a statement
_CHUNK = 500
#: rows of one insert; 250 of 15 columns was the fastest on SQLite (50, 250 and 1,000 tried)
_ROWS = 250


class NewReading(msgspec.Struct, frozen=True, gc=False):
    """A reading that is to be stored. Its identity is (node, jid, seq).

    Attributes:
        node: node id of the registry.
        jid: 16 hex digits of the node's journal; an import makes its own from what it reads.
        seq: number in the journal.
        stream: name of the datastream in the node, e.g. "rain.tips".
        time_us: UTC instant in microseconds; None where the node's clock was not known, then boot and uptime_ms stand.
        value: in the SenML unit of the quantity; None with null_reason.
        total: the journal's running count, where the sensor counts.
        quality: QARTOD flag: 1 pass, 2 not evaluated, 3 suspect, 4 fail, 9 missing.
        quarantine: why it must not be judged; None for a good one.
        source: node | import | plain.
        received_us: when the gateway got it.
    """

    node: str
    jid: str
    seq: int
    stream: str
    time_us: int | None
    boot: str | None
    uptime_ms: int | None
    value: float | None
    total: int | None
    null_reason: str | None
    quality: int
    quarantine: str | None
    source: str
    received_us: int


class AppendResult(msgspec.Struct, frozen=True):
    """What became of a list of readings.

    Attributes:
        stored: how many are new.
        duplicates: how many the ledger held already, equal.
        conflicts: indexes of those whose identity the ledger holds with other content; the first stays.
    """

    stored: int
    duplicates: int
    conflicts: list[int]


_COLUMNS = ("pos", *NewReading.__struct_fields__)
#: what a node says of a reading; the rest is the gateway's own judgement and may differ between two arrivals
_CONTENT = ("stream", "time_us", "boot", "uptime_ms", "value", "total", "null_reason")


def append_readings(ledger: Ledger, conn: sa.Connection, new: Sequence[NewReading]) -> AppendResult:
    """Store readings in the transaction of `conn` (of `ledger.begin()`), in the order given.

    Re-sent readings are stored once. Readings without a clock get their time at once where an anchor is known.
    """
    if not new:
        return AppendResult(0, 0, [])
    first = ledger.take_positions(conn, len(new))
    stored = _insert(conn, new, first)
    positions = range(first, first + len(new))
    if stored == len(new):
        result = AppendResult(stored, 0, [])
        fresh: Sequence[int] = positions
    else:
        held = _held(conn, new)
        conflicts = [i for i, r in enumerate(new) if held[r.node, r.jid, r.seq][1:] != _content(r)]
        result = AppendResult(stored, len(new) - stored - len(conflicts), conflicts)
        ours = {row[0] for row in held.values()}
        fresh = [pos for pos in positions if pos in ours]
    _resolve(conn, new, first, fresh)
    return result


def _insert(conn: sa.Connection, new: Sequence[NewReading], first: int) -> int:
    """Write readings under positions from `first` on, but for those whose identity is known; returns how many.

    Many rows a statement: a driver gives the interpreter's lock back and takes it again for each statement, which
    with one statement a row costs more than the insert itself while other threads work.
    """
    stored = 0
    mark = "?" if conn.dialect.paramstyle == "qmark" else "%s"
    for start in range(0, len(new), _ROWS):
        part = new[start : start + _ROWS]
        rows = [(pos, *msgspec.structs.astuple(reading)) for pos, reading in enumerate(part, first + start)]
        stored += conn.exec_driver_sql(_insert_sql(mark, len(part)), tuple(chain.from_iterable(rows))).rowcount
    return stored


@lru_cache(maxsize=2 * _ROWS)
def _insert_sql(mark: str, rows: int) -> str:
    row = f"({', '.join([mark] * len(_COLUMNS))})"
    return (
        f"INSERT INTO readings ({', '.join(_COLUMNS)}) VALUES {', '.join([row] * rows)} "
        "ON CONFLICT (node, jid, seq) DO NOTHING"
    )


def _content(reading: NewReading) -> tuple[Any, ...]:
    return tuple(getattr(reading, name) for name in _CONTENT)


def _held(conn: sa.Connection, new: Sequence[NewReading]) -> dict[tuple[str, str, int], tuple[Any, ...]]:
    """Position and content of what the ledger now holds under the identities of `new`."""
    numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
    for reading in new:
        numbers[reading.node, reading.jid].add(reading.seq)
    table = schema.readings.c
    columns = [table.seq, table.pos, *(table[name] for name in _CONTENT)]
    held = {}
    for (node, jid), wanted in numbers.items():
        for chunk in _chunks(sorted(wanted), _CHUNK):
            query = sa.select(*columns).where(table.node == node, table.jid == jid, table.seq.in_(chunk))
            held.update({(node, jid, seq): tuple(rest) for seq, *rest in conn.execute(query)})
    return held


def _chunks(items: Sequence[_T], size: int) -> Iterator[list[_T]]:
    walk = iter(items)
    while chunk := list(islice(walk, size)):
        yield chunk


def _resolve(conn: sa.Connection, new: Sequence[NewReading], first: int, fresh: Sequence[int]) -> None:
    untimed = [(pos, new[pos - first]) for pos in fresh if new[pos - first].time_us is None]
    if untimed:
        resolve_new(conn, [(pos, r.node, r.stream, r.boot, r.uptime_ms, r.received_us) for pos, r in untimed])
