"""What the forwarder reads of the ledger: the fields of a line and nothing else, in append order.

Like ledger.reads.readings_after, but it passes over readings as long as their time is not known, and takes rows as
the driver gives them: twice as fast, and reading is most of what forwarding costs.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from headwall.ledger import schema

#: pos, node, jid, seq, stream, time_us (None: not known yet), value, total, null_reason, quarantine
Row = tuple[int, str, str, int, str, int | None, float | None, int | None, str | None, str | None]

_r, _x = schema.readings.c, schema.resolutions.c


def _query(source: Any, pos: sa.ColumnElement[int], time_us: sa.ColumnElement[Any]) -> sa.Select[Any]:
    fields = (pos, _r.node, _r.jid, _r.seq, _r.stream, time_us, _r.value, _r.total, _r.null_reason, _r.quarantine)
    behind = sa.select(*fields).select_from(source).where(pos > sa.bindparam("after"))
    return behind.order_by(pos).limit(sa.bindparam("limit"))


_APPENDED = _query(schema.readings, _r.pos, _r.time_us)
#: readings that an anchor gave a time, on arrival or later; met at the position of their resolution
_RESOLVED = _query(schema.resolutions.join(schema.readings, _x.reading_pos == _r.pos), _x.pos, _x.time_us)


def rows_after(conn: sa.Connection, pos: int, limit: int) -> list[Row]:
    """What stands behind an append position, in append order, at most `limit` rows; [] when there is nothing.

    A reading whose clock was not known comes without a time, and once more, or instead, with the time that an
    anchor gave it.
    """
    given = {"after": pos, "limit": limit}
    appended, resolved = (_fetch(conn.execute(query, given)) for query in (_APPENDED, _RESOLVED))
    if not resolved:
        return appended
    # one known on arrival has both rows at one position: the timed one sorts first and is all that is needed
    return sorted(appended + resolved, key=lambda row: (row[0], row[5] is None))[:limit]


def _fetch(result: sa.CursorResult[Any]) -> list[Row]:
    rows: Any = result.cursor.fetchall()
    result.close()
    return list(rows)
