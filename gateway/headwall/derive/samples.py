"""Readings of a datastream as samples: its value, or none with the reason why it must not be computed with.

A sample has no value when the reading is a null, is quarantined, failed its quality test on arrival, was taken in a
maintenance window, or when a person flagged it as failed. A person's "pass" lets a failed one count again, never a
quarantined one. The readings themselves stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from headwall.hydrology.qartod import FAIL, MISSING
from headwall.ledger import schema
from headwall.ledger.quality_edits import QualityEdit, edit_at, edits_of
from headwall.ledger.reads import maintenance_windows

_R, _X = schema.readings.c, schema.resolutions.c
_FIELDS: Final = (_R.value, _R.null_reason, _R.quality, _R.quarantine, _R.jid, _R.seq, _R.source)


class Sample(NamedTuple):
    """One reading, ready to be computed with.

    Attributes:
        value: in the unit of the wire contract; None with `why`.
        flag: QARTOD flag: of the reading on arrival, or a person's.
        why: "" for a value that counts.
    """

    time_us: int
    value: float | None
    flag: int
    why: str
    jid: str
    seq: int
    source: str


def samples_of(
    conn: sa.Connection, datastream: str, start_us: int, end_us: int, *, through: int | None = None
) -> list[Sample]:
    """Samples with start_us <= time < end_us, in order of time, then of identity.

    Args:
        through: the append position up to which the ledger is read; None: all of it.
    """
    node, _, stream = datastream.partition("/")
    rows = _rows(conn, node, stream, start_us, end_us, through)
    windows = [window for window in maintenance_windows(conn, node) if window[1] > start_us and window[0] < end_us]
    edits = edits_of(conn, node, stream, start_us=start_us, end_us=end_us)
    if windows or edits:
        return [_sample(row, windows, edits) for row in rows]
    return [
        Sample(t, v, q, "", jid, seq, by)
        if v is not None and bad is None and q != FAIL
        else _sample((t, v, n, q, bad, jid, seq, by), (), ())
        for t, v, n, q, bad, jid, seq, by in rows
    ]


def newest_at(conn: sa.Connection, datastream: str, at_us: int, within_us: int) -> Sample | None:
    """The newest sample at or before an instant, not older than `within_us`; None without one."""
    newest_us = newest_time(conn, datastream, at_us)
    if newest_us is None or at_us - newest_us > within_us:
        return None
    return samples_of(conn, datastream, newest_us, newest_us + 1)[-1]


def newest_time(conn: sa.Connection, datastream: str, at_us: int, *, through: int | None = None) -> int | None:
    """The time of the newest reading at or before an instant, whatever it is worth; `through` as above."""
    node, _, stream = datastream.partition("/")
    times = []
    for c, pos in ((_R, _R.pos), (_X, _X.pos)):
        query = sa.select(c.time_us).where(c.node == node, c.stream == stream, c.time_us <= at_us)
        if through is not None:
            query = query.where(pos <= through)
        times.append(conn.execute(query.order_by(c.time_us.desc()).limit(1)).scalar())
    return max((each for each in times if each is not None), default=None)


def _rows(
    conn: sa.Connection, node: str, stream: str, start_us: int, end_us: int, through: int | None
) -> Sequence[Any]:
    own = sa.select(_R.time_us, *_FIELDS).where(_R.node == node, _R.stream == stream)
    own = own.where(_R.time_us >= start_us, _R.time_us < end_us)
    anchored = sa.select(_X.time_us, *_FIELDS).join_from(schema.resolutions, schema.readings, _X.reading_pos == _R.pos)
    anchored = anchored.where(_X.node == node, _X.stream == stream, _X.time_us >= start_us, _X.time_us < end_us)
    if through is not None:
        own, anchored = own.where(_R.pos <= through), anchored.where(_X.pos <= through)
    found = conn.execute(own.order_by(_R.time_us, _R.jid, _R.seq)).all()
    late = conn.execute(anchored).all()
    return sorted([*found, *late], key=lambda row: (row[0], row[5], row[6])) if late else found


def _sample(row: Sequence[Any], windows: Sequence[tuple[int, int]], edits: Sequence[QualityEdit]) -> Sample:
    time_us, value, null_reason, quality, quarantine, jid, seq, source = row
    edit = edit_at(edits, time_us)
    flag = quality if edit is None or edit.flag is None else edit.flag
    why = ""
    if value is None:
        flag, why = MISSING, f"null: {(null_reason or 'no reason given').replace('_', ' ')}"
    elif quarantine is not None:
        why = f"quarantined: {quarantine.replace('_', ' ')}"
    elif any(start <= time_us < end for start, end in windows):
        why = "taken in a maintenance window"
    elif flag == FAIL:
        why = f"flagged as failed by {edit.by}: {edit.reason}" if edit else "its quantity cannot have it"
    return Sample(time_us, None if why else value, flag, why, jid, seq, source)
