"""The valid readings of a rain gauge: what of the ledger may be judged.

Left out: quarantined readings, QARTOD "fail", nulls, values that are no whole number of tips, readings inside a
maintenance window, and readings whose time is not known (they come again once it is). A report of 0 is valid: it
tells dry from silent. Runs of tips faster than any bucket are a fault of the sensor and left out too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from headwall.ledger import schema
from headwall.ledger.reads import Reading, Windows, maintenance_windows, readings_of

_QARTOD_FAIL = 4
#: a bucket needs 0.524 s to complete a tip (JTECH 31(6)): two within half of that are a contact that bounces, and so
#: many in a row, each so close on the one before, no rain at all
_TOO_CLOSE_US = 250_000
_RUN = 10


class RainReading(NamedTuple):
    """One valid reading: `tips` 0 is a sign of life. Sorts by time, then by append position."""

    time_us: int
    pos: int
    tips: int
    imported: bool


def valid(reading: Reading, windows: Windows) -> RainReading | None:
    """The reading, if it may be judged: see the head of this module."""
    time_us, value = reading.time_us, reading.value
    if time_us is None or value is None or reading.quarantine is not None or reading.quality == _QARTOD_FAIL:
        return None
    if value < 0 or value != int(value):
        return None
    if any(start_us <= time_us < end_us for start_us, end_us in windows):
        return None
    return RainReading(time_us, reading.pos, int(value), reading.source == "import")


def valid_between(conn: sa.Connection, datastream: str, start_us: int, end_us: int, through: int) -> list[RainReading]:
    """Valid readings with start <= time <= end and append position up to `through`, in order of time."""
    return plausible(_each_valid(conn, datastream, start_us, end_us, through))


def plausible(readings: list[RainReading]) -> list[RainReading]:
    """Readings in order of time without the tips that come faster than a bucket can give them.

    Imports stay as they are: many loggers write times to the second.
    """
    if not too_close(readings):
        return readings
    tips = [n for n, reading in enumerate(readings) if reading.tips and not reading.imported]
    dropped: set[int] = set()
    run = tips[:1]
    for n in [*tips[1:], -1]:
        if n >= 0 and readings[n].time_us - readings[run[-1]].time_us < _TOO_CLOSE_US:
            run.append(n)
            continue
        if len(run) >= _RUN:
            dropped.update(run)
        run = [n]
    return [reading for n, reading in enumerate(readings) if n not in dropped]


def too_close(readings: Iterable[RainReading], after_us: int | None = None) -> bool:
    """Whether any tip, in order of time, comes too close on the one before it; `after_us`: the one before the first."""
    for reading in readings:
        if reading.tips and not reading.imported:
            if after_us is not None and reading.time_us - after_us < _TOO_CLOSE_US:
                return True
            after_us = reading.time_us
    return False


def _each_valid(conn: sa.Connection, datastream: str, start_us: int, end_us: int, through: int) -> list[RainReading]:
    node, _, stream = datastream.partition("/")
    windows = maintenance_windows(conn, node)
    found = readings_of(conn, node, stream, start_us, end_us + 1)
    return sorted(_valid_of(found, windows, through))


def _valid_of(readings: Iterable[Reading], windows: Windows, through: int) -> Iterable[RainReading]:
    judged = (valid(reading, windows) for reading in readings if reading.pos <= through)
    return (reading for reading in judged if reading is not None)


class Spell(NamedTuple):
    """Readings that can be folded by themselves: no rain within the dry time outside `first_us` to `last_us`.

    `dropped` tips of it came faster than a bucket can give them.
    """

    first_us: int
    last_us: int
    readings: list[RainReading]
    dropped: int


def spell_around(conn: sa.Connection, datastream: str, start_us: int, end_us: int, through: int, dry_us: int) -> Spell:
    """The readings from `start_us` to `end_us`, and on both sides until no rain has fallen for `dry_us`.

    If `dry_us` is at least the minimum inter-event time and every window over which rain is added up, what fell
    outside cannot bear on the storms inside. The readings reach `dry_us` beyond on either side, one more valid
    reading (as a sign of life) included, so that gaps beside the rain are seen.
    """
    found = _each_valid(conn, datastream, start_us - dry_us, end_us + dry_us, through)
    first_us, last_us = start_us, end_us
    while (earliest := min((r.time_us for r in found if r.tips), default=first_us)) < first_us:
        found = _each_valid(conn, datastream, earliest - dry_us, first_us - dry_us - 1, through) + found
        first_us = earliest
    while (latest := max((r.time_us for r in found if r.tips), default=last_us)) > last_us:
        found += _each_valid(conn, datastream, last_us + dry_us + 1, latest + dry_us, through)
        last_us = latest
    judged = plausible(sorted(found))
    dropped = len(found) - len(judged)
    edges = (
        neighbour_us(conn, datastream, first_us - dry_us, through, before=True),
        neighbour_us(conn, datastream, last_us + dry_us, through, before=False),
    )
    judged = judged + [RainReading(edge_us, 0, 0, False) for edge_us in edges if edge_us is not None]
    return Spell(first_us, last_us, sorted(judged), dropped)


def neighbour_us(conn: sa.Connection, datastream: str, at_us: int, through: int, *, before: bool) -> int | None:
    """The time of the nearest valid reading before, or after, an instant (not at it); None if there is none."""
    node, _, stream = datastream.partition("/")
    windows = maintenance_windows(conn, node)
    while True:
        found = [t for t in _nearest(conn, node, stream, at_us, through, before=before) if t is not None]
        if not found:
            return None
        at_us = max(found) if before else min(found)
        hidden = next((window for window in windows if window[0] <= at_us < window[1]), None)
        if hidden is None:
            return at_us
        at_us = hidden[0] if before else hidden[1] - 1


_r, _x = schema.readings.c, schema.resolutions.c


def _nearest(
    conn: sa.Connection, node: str, stream: str, at_us: int, through: int, *, before: bool
) -> tuple[int | None, int | None]:
    """The nearest candidate among readings with their own time, and among those timed by an anchor."""
    good = sa.and_(
        _r.value.is_not(None), _r.value >= 0, _r.quarantine.is_(None), _r.quality != _QARTOD_FAIL, _r.pos <= through
    )
    own, anchored = _r.time_us, _x.time_us
    pick = sa.func.max if before else sa.func.min
    own_side = own < at_us if before else own > at_us
    by_own = sa.select(own).where(_r.node == node, _r.stream == stream, own_side, good)
    by_own = by_own.order_by(own.desc() if before else own).limit(1)
    side = anchored < at_us if before else anchored > at_us
    by_anchor = (
        sa.select(pick(anchored))
        .join_from(schema.resolutions, schema.readings, _x.reading_pos == _r.pos)
        .where(_x.node == node, _x.stream == stream, side, good, _x.pos <= through)
    )
    return conn.execute(by_own).scalar(), conn.execute(by_anchor).scalar()
