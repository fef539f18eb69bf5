"""Reading readings: in append order for followers, in order of time for history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import sqlalchemy as sa

from headwall.ledger import schema


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A reading as the ledger knows it now.

    Attributes:
        pos: append position under which a follower meets it; what its cursor moves to.
        reading_pos: append position of the stored reading; stable, the same whenever it is met again.
        node, jid, seq: its identity.
        time_us: UTC instant; None as long as the node's clock is not known for it. A follower meets such a reading
            once without a time and, when an anchor comes, once more with it: count it only then.
        resolved: the time comes from an anchor, not from the node's own stamp.
        value: in the SenML unit of its quantity; None with null_reason.
        quality: QARTOD flag.
        quarantine: why it must never be judged; None for a good one.
    """

    pos: int
    reading_pos: int
    node: str
    jid: str
    seq: int
    stream: str
    time_us: int | None
    resolved: bool
    boot: str | None
    uptime_ms: int | None
    value: float | None
    total: int | None
    null_reason: str | None
    quality: int
    quarantine: str | None
    source: str
    received_us: int

    @property
    def datastream(self) -> str:
        """NODE/STREAM."""
        return f"{self.node}/{self.stream}"

    @property
    def judgeable(self) -> bool:
        """Whether a rule may look at it: it has a time and is not quarantined (its value may still be null)."""
        return self.time_us is not None and self.quarantine is None


_r, _x = schema.readings.c, schema.resolutions.c
_AFTER_TIME = (_r.boot, _r.uptime_ms, _r.value, _r.total, _r.null_reason, _r.quality, _r.quarantine, _r.source)
_IDENTITY = (_r.pos.label("reading_pos"), _r.node, _r.jid, _r.seq, _r.stream)


def _columns(pos: sa.ColumnElement[int], time_us: sa.ColumnElement[Any], resolved: sa.ColumnElement[Any]) -> list[Any]:
    return [pos.label("pos"), *_IDENTITY, time_us.label("at"), resolved.label("resolved"), *_AFTER_TIME, _r.received_us]


_ON_ARRIVAL = sa.and_(_x.reading_pos == _r.pos, _x.pos == _r.pos)
_APPENDED = (
    sa.select(*_columns(_r.pos, sa.func.coalesce(_r.time_us, _x.time_us), _x.pos.is_not(None)))
    .join_from(schema.readings, schema.resolutions, _ON_ARRIVAL, isouter=True)
    .where(_r.pos > sa.bindparam("after"))
    .order_by(_r.pos)
    .limit(sa.bindparam("limit"))
)
_RESOLVED = (
    sa.select(*_columns(_x.pos, _x.time_us, sa.true()))
    .join_from(schema.resolutions, schema.readings, _x.reading_pos == _r.pos)
    .where(_x.pos > sa.bindparam("after"), _x.pos != _x.reading_pos)
    .order_by(_x.pos)
    .limit(sa.bindparam("limit"))
)


def readings_after(conn: sa.Connection, pos: int, limit: int) -> list[Reading]:
    """The next readings behind an append position, in append order, at most `limit`; [] when there are none.

    Holes between positions are normal (duplicates take a position and leave it empty).
    """
    given = {"after": pos, "limit": limit}
    found = [_reading(row) for row in conn.execute(_APPENDED, given)]
    late = [_reading(row) for row in conn.execute(_RESOLVED, given)]
    if not late:
        return found
    return sorted(found + late, key=lambda reading: reading.pos)[:limit]


def readings_of(conn: sa.Connection, node: str, stream: str, start_us: int, end_us: int) -> list[Reading]:
    """Readings of a datastream with start_us <= time < end_us, in order of time, then of identity."""
    own = (
        sa.select(*_columns(_r.pos, _r.time_us, sa.false()))
        .where(_r.node == node, _r.stream == stream, _r.time_us >= start_us, _r.time_us < end_us)
    )  # fmt: skip
    by_anchor = (
        sa.select(*_columns(_x.pos, _x.time_us, sa.true()))
        .join_from(schema.resolutions, schema.readings, _x.reading_pos == _r.pos)
        .where(_x.node == node, _x.stream == stream, _x.time_us >= start_us, _x.time_us < end_us)
    )
    return _in_order(_reading(row) for query in (own, by_anchor) for row in conn.execute(query))


def newest_before(conn: sa.Connection, node: str, stream: str, before_us: int, count: int) -> list[Reading]:
    """The last `count` readings of a datastream with time < before_us, in the order of `readings_of`."""
    own = (_r.time_us < before_us, _r.time_us.desc(), _r.jid.desc(), _r.seq.desc())
    by_anchor = (_x.time_us < before_us, _x.time_us.desc(), _r.jid.desc(), _r.seq.desc())
    return _some(conn, node, stream, own, by_anchor, count)[-count:]


def oldest_from(conn: sa.Connection, node: str, stream: str, from_us: int, count: int) -> list[Reading]:
    """The first `count` readings of a datastream with time >= from_us, in the order of `readings_of`."""
    own = (_r.time_us >= from_us, _r.time_us, _r.jid, _r.seq)
    by_anchor = (_x.time_us >= from_us, _x.time_us, _r.jid, _r.seq)
    return _some(conn, node, stream, own, by_anchor, count)[:count]


def _some(conn: sa.Connection, node: str, stream: str, own: Any, by_anchor: Any, count: int) -> list[Reading]:
    """Up to `count` readings with a time of their own and as many whose time an anchor gave, in order of time.

    Args:
        own, by_anchor: the condition, then the columns to order by.
    """
    queries = (
        sa.select(*_columns(_r.pos, _r.time_us, sa.false()))
        .where(_r.node == node, _r.stream == stream, own[0])
        .order_by(*own[1:]),
        sa.select(*_columns(_x.pos, _x.time_us, sa.true()))
        .join_from(schema.resolutions, schema.readings, _x.reading_pos == _r.pos)
        .where(_x.node == node, _x.stream == stream, by_anchor[0])
        .order_by(*by_anchor[1:]),
    )
    return _in_order(_reading(row) for query in queries for row in conn.execute(query.limit(count)))


def _in_order(found: Iterable[Reading]) -> list[Reading]:
    return sorted(found, key=lambda reading: (reading.time_us or 0, reading.jid, reading.seq))


def _reading(row: sa.Row[Any]) -> Reading:
    return Reading(*tuple(row))


Windows = list[tuple[int, int]]


def maintenance_windows(conn: sa.Connection, node: str) -> Windows:
    """The maintenance windows of a node: from the first instant up to, not including, the second."""
    table = schema.maintenance.c
    rows = conn.execute(sa.select(table.start_us, table.end_us).where(table.node == node))
    return [(start_us, end_us) for start_us, end_us in rows]
