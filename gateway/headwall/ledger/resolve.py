"""Times of readings that were taken before the node knew its clock: a dated layer over the readings.

`readings.time_us` stays null for them. An anchor (boot, uptime, UTC) gives their time, kept in `resolutions`
with an append position of its own, so that followers meet a reading again once its time is known: see
`reads.readings_after`. One known on arrival takes the position of the reading and so is met only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from headwall.ledger import schema
from headwall.ledger.ledger import Ledger

#: a resolved time later than this beyond the arrival is impossible; then the reading stays without a time
TOLERANCE_US = 300_000_000

#: pos, node, stream, boot, uptime_ms, received_us
Untimed = tuple[int, str, str, str | None, int | None, int]


def add_anchor(
    ledger: Ledger, conn: sa.Connection, *, node: str, boot: str, uptime_ms: int, time_us: int, received_us: int
) -> int:
    """Note that `uptime_ms` of a node's boot was `time_us`; returns how many readings got their time by it.

    The first anchor that reaches a reading decides its time; later ones do not move it.
    """
    anchors = schema.anchors
    key = (anchors.c.node == node, anchors.c.boot == boot, anchors.c.uptime_ms == uptime_ms)
    if conn.execute(sa.select(anchors.c.time_us).where(*key)).first() is not None:
        return 0
    ledger.take_positions(conn, 0)  # serialises with other writers: none may add a reading of this boot meanwhile
    conn.execute(
        anchors.insert().values(node=node, boot=boot, uptime_ms=uptime_ms, time_us=time_us, received_us=received_us)
    )
    r, x = schema.readings.c, schema.resolutions.c
    waiting = conn.execute(
        sa.select(r.pos, r.node, r.stream, r.boot, r.uptime_ms, r.received_us)
        .join_from(schema.readings, schema.resolutions, x.reading_pos == r.pos, isouter=True)
        .where(r.node == node, r.boot == boot, r.time_us.is_(None), x.pos.is_(None))
        .order_by(r.pos)
    ).all()
    rows = list(_resolved(conn, [tuple(row) for row in waiting]))
    first = ledger.take_positions(conn, len(rows))
    _insert(conn, [{**row, "pos": pos} for pos, row in enumerate(rows, first)])
    return len(rows)


def resolve_new(conn: sa.Connection, untimed: Sequence[Untimed]) -> None:
    """Give readings that were just appended their time where an anchor of their boot is known."""
    _insert(conn, [{**row, "pos": row["reading_pos"]} for row in _resolved(conn, untimed)])


def _insert(conn: sa.Connection, rows: list[dict[str, object]]) -> None:
    if rows:
        conn.execute(schema.resolutions.insert(), rows)


def _resolved(conn: sa.Connection, untimed: Iterable[Untimed]) -> Iterable[dict[str, object]]:
    known: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for pos, node, stream, boot, uptime_ms, received_us in untimed:
        if boot is None or uptime_ms is None:
            continue
        if (node, boot) not in known:
            known[node, boot] = _anchors(conn, node, boot)
        time_us = time_by_anchors(known[node, boot], uptime_ms)
        if time_us is not None and time_us <= received_us + TOLERANCE_US:
            yield {"reading_pos": pos, "node": node, "stream": stream, "time_us": time_us}


def _anchors(conn: sa.Connection, node: str, boot: str) -> list[tuple[int, int]]:
    c = schema.anchors.c
    query = sa.select(c.uptime_ms, c.time_us).where(c.node == node, c.boot == boot).order_by(c.uptime_ms)
    return [(row.uptime_ms, row.time_us) for row in conn.execute(query)]


def time_by_anchors(anchors: Sequence[tuple[int, int]], uptime_ms: int) -> int | None:
    """The instant of `uptime_ms` by the anchor (uptime_ms, time_us) nearest to it; None without an anchor."""
    if not anchors:
        return None
    anchor_ms, anchor_us = min(anchors, key=lambda anchor: abs(anchor[0] - uptime_ms))
    return anchor_us + (uptime_ms - anchor_ms) * 1000
