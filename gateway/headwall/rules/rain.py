"""The valid readings of a rain gauge: what of the ledger may be judged.

Left out: quarantined readings, QARTOD "fail", nulls, values that are no whole number of tips, readings that a layer
hides (maintenance, gauge off, flagged by a person), and readings whose time is not known (they come again once it is).
A report of 0 is valid: it tells dry from silent. Runs of tips faster than any bucket are a fault of the sensor and left
out too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from headwall.hydrology.qartod import FAIL
from headwall.ledger import schema
from headwall.ledger.reads import Reading
from headwall.rules.layers import GaugeLayers

#: an append position behind all there are
EVERYTHING: Final = 2**62
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


def valid(reading: Reading, layers: GaugeLayers) -> RainReading | None:
    """The reading, if it may be judged: see the head of this module."""
    time_us, value = reading.time_us, reading.value
    if time_us is None or value is None or reading.quarantine is not None:
        return None
    if value < 0 or value != int(value) or not layers.counts(time_us, reading.quality):
        return None
    return RainReading(time_us, reading.pos, int(value), reading.source == "import")


def valid_between(
    conn: sa.Connection, layers: GaugeLayers, start_us: int, end_us: int, through: int
) -> list[RainReading]:
    """Valid readings with start <= time <= end and append position up to `through`, in order of time."""
    return plausible(each_valid(conn, layers, start_us, end_us, through))


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


_r, _x = schema.readings.c, schema.resolutions.c
_GOOD = sa.and_(_r.value.is_not(None), _r.value >= 0, _r.quarantine.is_(None))


def each_valid(conn: sa.Connection, layers: GaugeLayers, start_us: int, end_us: int, through: int) -> list[RainReading]:
    """As `valid_between`, with the tips that come too fast."""
    node, _, stream = layers.datastream.partition("/")
    own = sa.select(_r.time_us, _r.pos, _r.value, _r.source, _r.quality).where(
        _r.node == node, _r.stream == stream, _r.time_us.between(start_us, end_us), _GOOD, _r.pos <= through
    )
    by_anchor = (
        sa.select(_x.time_us, _x.pos, _r.value, _r.source, _r.quality)
        .join_from(schema.resolutions, schema.readings, _x.reading_pos == _r.pos)
        .where(_x.node == node, _x.stream == stream, _x.time_us.between(start_us, end_us), _GOOD, _x.pos <= through)
    )
    return sorted(
        RainReading(time_us, pos, int(value), source == "import")
        for query in (own, by_anchor)
        for time_us, pos, value, source, quality in conn.execute(query)
        if value == int(value) and layers.counts(time_us, quality)
    )


def neighbour_us(conn: sa.Connection, layers: GaugeLayers, at_us: int, through: int, *, before: bool) -> int | None:
    """The time of the nearest valid reading before, or after, an instant (not at it); None if there is none."""
    while True:
        found = [t for t in _nearest(conn, layers, at_us, through, before=before) if t is not None]
        if not found:
            return None
        at_us = max(found) if before else min(found)
        if not layers.hides(at_us):
            return at_us
        start_us, end_us = layers.hidden_around(at_us)
        at_us = start_us if before else end_us - 1


def _nearest(
    conn: sa.Connection, layers: GaugeLayers, at_us: int, through: int, *, before: bool
) -> tuple[int | None, int | None]:
    """The nearest candidate among readings with their own time, and among those timed by an anchor."""
    node, _, stream = layers.datastream.partition("/")
    own, anchored = _r.time_us, _x.time_us
    own_side, side = (own < at_us, anchored < at_us) if before else (own > at_us, anchored > at_us)
    by_own = sa.select(own).where(_r.node == node, _r.stream == stream, own_side, _r.pos <= through, _GOOD)
    by_own = by_own.where(_passed(layers, own)).order_by(own.desc() if before else own).limit(1)
    by_anchor = (
        sa.select((sa.func.max if before else sa.func.min)(anchored))
        .join_from(schema.resolutions, schema.readings, _x.reading_pos == _r.pos)
        .where(_x.node == node, _x.stream == stream, side, _x.pos <= through, _GOOD, _passed(layers, anchored))
    )
    return conn.execute(by_own).scalar(), conn.execute(by_anchor).scalar()


def _passed(layers: GaugeLayers, time_us: Any) -> sa.ColumnElement[bool]:
    """The quality test let the reading pass, or a person does."""
    trusted = (sa.and_(time_us >= start_us, time_us < end_us) for start_us, end_us in layers.trusted)
    return sa.or_(_r.quality != FAIL, *trusted)
