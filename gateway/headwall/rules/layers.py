"""What persons and the registry lay over the readings of a rain gauge: which count, what a tip is, and rain by hand.

Dated layers, none of which alters a reading: maintenance windows, times in which the gauge is off, flags that persons
set, calibrations, water of snow measured by hand. The engine keeps them in a `Layers` and follows their tables: a new
row makes exactly the stretch that it touches be judged again, with the reason.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from headwall.clock import from_us
from headwall.derive.tip_depth import TipDepths, tip_depths
from headwall.hydrology.qartod import FAIL
from headwall.ledger import schema
from headwall.ledger.entries import Entry, SnowWater, Withdrawal, entry, kind_of, standing
from headwall.ledger.ledger import Ledger
from headwall.ledger.newest import Newest
from headwall.ledger.quality_edits import QualityEdit, edits_of
from headwall.registry import Registry
from headwall.units import Depth, convert

FOREVER_US: Final = 2**62


@dataclass(frozen=True)
class Stretch:
    """A stretch of one datastream to judge again, because what counts in it has changed.

    Attributes:
        why: what a person entered that changed it; "" where none did.
    """

    datastream: str
    start_us: int
    end_us: int
    why: str = ""


class Hidden(NamedTuple):
    """A stretch of which no reading is judged, up to, not including, its end."""

    start_us: int
    end_us: int
    reason: str


class GaugeLayers:
    """The layers of one gauge as the ledger and the registry have them now.

    Attributes:
        hidden: by start; they may overlap.
        trusted: stretches in which a person lets readings count that a test has failed, apart and in order.
        snow: water of snow measured by hand, by the instant at which it counts.
    """

    def __init__(
        self,
        datastream: str,
        hidden: Iterable[Hidden],
        edits: Sequence[QualityEdit],
        tips: TipDepths,
        snow: Sequence[Entry[SnowWater]],
    ) -> None:
        self.datastream = datastream
        flags = list(_flags(edits))
        self.hidden = sorted([*hidden, *(each for each in flags if isinstance(each, Hidden))])
        self.trusted = [each for each in flags if not isinstance(each, Hidden)]
        self.tips = tips
        self.snow = sorted((e for e in snow if snow_depth(e).mm > 0), key=lambda each: (each.body.end_us, each.id))
        self._apart = _apart(self.hidden)
        self._starts = [start_us for start_us, _ in self._apart]

    def hides(self, time_us: int) -> bool:
        """Whether no reading of that time is judged."""
        n = bisect_right(self._starts, time_us) - 1
        return n >= 0 and time_us < self._apart[n][1]

    def hides_within(self, after_us: int, until_us: int) -> bool:
        """Whether a hidden stretch has a part in (after, until]."""
        n = bisect_right(self._starts, until_us) - 1
        return n >= 0 and self._apart[n][1] > after_us + 1

    def hidden_around(self, at_us: int) -> tuple[int, int]:
        """All of the hidden time, without a hole, around an instant that is hidden."""
        return self._apart[bisect_right(self._starts, at_us) - 1]

    def trusts(self, time_us: int) -> bool:
        """Whether a reading of that time counts although a test has failed it."""
        return any(start_us <= time_us < end_us for start_us, end_us in self.trusted)

    def counts(self, time_us: int, quality: int) -> bool:
        """Whether a reading that is otherwise good is judged."""
        if self._apart and self.hides(time_us):
            return False
        return quality != FAIL or self.trusts(time_us)

    def snow_within(self, start_us: int, end_us: int) -> list[Entry[SnowWater]]:
        """Water of snow that counts at an instant with start <= instant <= end."""
        first = bisect_left(self.snow, start_us, key=lambda each: each.body.end_us)
        return self.snow[first : bisect_right(self.snow, end_us, key=lambda each: each.body.end_us)]


def snow_depth(entry: Entry[SnowWater]) -> Depth:
    """What was measured, in whatever unit."""
    value, _, unit = entry.body.depth.partition(" ")
    return Depth(convert(Decimal(value), unit, "mm"))


def _flags(edits: Sequence[QualityEdit]) -> Iterator[Hidden | tuple[int, int]]:
    """Where persons say "fail", with the reason, and where they say anything better; newest edits first."""
    cuts = sorted({cut for edit in edits for cut in (edit.start_us, edit.end_us)})
    for start_us, end_us in pairwise(cuts):
        newest = next((edit for edit in reversed(edits) if edit.covers(start_us)), None)
        if newest is None or newest.flag is None:
            continue
        if newest.flag == FAIL:
            yield Hidden(start_us, end_us, f"flagged as failed by {newest.by}: {newest.reason}")
        else:
            yield start_us, end_us


def _apart(hidden: Iterable[Hidden]) -> list[tuple[int, int]]:
    """The same time in stretches with time between them, in order."""
    found: list[tuple[int, int]] = []
    for start_us, end_us, _ in hidden:
        if found and start_us <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end_us))
        else:
            found.append((start_us, end_us))
    return found


def gauge_layers(conn: sa.Connection, registry: Registry, datastream: str) -> GaugeLayers:
    """The layers of one gauge, read anew."""
    node, _, stream = datastream.partition("/")
    hidden = [
        Hidden(span.start_us, FOREVER_US if span.end_us is None else span.end_us, f"off: {span.entry.reason}")
        for span in registry.off_times(datastream)
    ]
    c = schema.maintenance.c
    rows = conn.execute(sa.select(c.start_us, c.end_us, c.by).where(c.node == node).order_by(c.id))
    hidden += [Hidden(start_us, end_us, f"maintenance by {by}") for start_us, end_us, by in rows]
    return GaugeLayers(
        datastream,
        hidden,
        edits_of(conn, node, stream),
        tip_depths(conn, registry, datastream),
        standing(conn, SnowWater, datastream),
    )


class Layers:
    """The layers of every gauge, kept from step to step, and the new rows of their tables."""

    def __init__(self, ledger: Ledger, registry: Registry) -> None:
        self._ledger = ledger
        self._registry = registry
        self._gauges: dict[str, GaugeLayers] = {}
        self._seen: dict[str, int] = {}

    def of(self, conn: sa.Connection, datastream: str) -> GaugeLayers:
        found = self._gauges.get(datastream)
        if found is None:
            found = self._gauges[datastream] = gauge_layers(conn, self._registry, datastream)
        return found

    def forget(self) -> None:
        self._gauges.clear()
        self._seen.clear()

    def follow(self, conn: sa.Connection, rows: Newest, datastreams: Iterable[str]) -> list[Stretch]:
        """Take in the rows that are new since the last call; returns what they make to be judged again."""
        found: list[Stretch] = []
        for table in _TABLES:
            number, newest = table.rows.c.id, getattr(rows, table.rows.name)
            if newest == self._seen.get(table.cursor):
                continue
            judged = self._ledger.cursor(conn, table.cursor)
            if newest != judged:
                for row in conn.execute(sa.select(table.rows).where(number > judged).order_by(number)).all():
                    found += table.touched(conn, row)
                self._ledger.set_cursor(conn, table.cursor, newest)
            self._gauges.clear()
            self._seen[table.cursor] = newest
        return _of_datastreams(found, datastreams)


def _of_datastreams(stretches: Iterable[Stretch], datastreams: Iterable[str]) -> list[Stretch]:
    """A stretch of a node is one of each of its datastreams; those that the registry lacks are left out."""
    known: dict[str, list[str]] = defaultdict(list)
    for name in datastreams:
        known[name] = [name]
        known[name.partition("/")[0]].append(name)
    return [Stretch(name, s.start_us, s.end_us, s.why) for s in stretches for name in known.get(s.datastream, ())]


@dataclass(frozen=True)
class _Table:
    rows: sa.Table
    cursor: str
    touched: Callable[[sa.Connection, Any], Iterable[Stretch]]


def _day(at_us: int) -> str:
    return f"{from_us(at_us):%Y-%m-%d}"


def _of_maintenance(_: sa.Connection, row: Any) -> Iterator[Stretch]:
    yield Stretch(row.node, row.start_us, row.end_us, f"maintenance of {_day(row.start_us)} entered by {row.by}")


def _of_edit(_: sa.Connection, row: Any) -> Iterator[Stretch]:
    why = f"readings of {_day(row.start_us)} {_SAID[row.flag]} by {row.by}: {row.reason}"
    yield Stretch(f"{row.node}/{row.stream}", row.start_us, row.end_us, why)


_SAID: Final = {None: "no longer flagged", 1: "let count", 3: "flagged as suspect", 4: "flagged as failed"}


def _of_calibration(conn: sa.Connection, row: Any) -> Iterator[Stretch]:
    """From when it was done to the next one."""
    c = schema.calibrations.c
    later = sa.select(sa.func.min(c.done_us)).where(
        c.node == row.node, c.stream == row.stream, c.kind == row.kind, c.done_us > row.done_us
    )
    end_us = conn.execute(later).scalar() or FOREVER_US
    why = f"calibration of {row.body['at'][:10]} by {row.by}"
    yield Stretch(f"{row.node}/{row.stream}", row.done_us, end_us, why)


def _of_entry(conn: sa.Connection, row: Any) -> Iterator[Stretch]:
    """From when snow water counts now to when it counted before; of a withdrawal there is the second alone."""
    if row.kind not in (kind_of(SnowWater), kind_of(Withdrawal)):
        return
    found = [entry(conn, number) for number in (row.id, row.replaces) if number is not None]
    snow = [(each.subject, each.body.end_us) for each in found if each is not None and isinstance(each.body, SnowWater)]
    if snow:
        counted = [at_us for _, at_us in snow]
        what = "withdrawn" if row.kind == kind_of(Withdrawal) else "entered"
        why = f"snow water of {_day(snow[0][1])} {what} by {row.by}"
        yield Stretch(snow[0][0], min(counted), max(counted), why)


_TABLES: Final = (
    _Table(schema.maintenance, "rules.maintenance", _of_maintenance),
    _Table(schema.quality_edits, "rules.quality_edits", _of_edit),
    _Table(schema.calibrations, "rules.calibrations", _of_calibration),
    _Table(schema.entries, "rules.entries", _of_entry),
)
