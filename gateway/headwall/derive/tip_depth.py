"""The depth that one tip of a rain gauge stands for, over time: the registry's, as calibrations have set it right.

The newest rain_volume calibration done by an instant counts there, until the next. One that passed leaves the
registry's depth. After one that did not, a tip stands for as much as the sensor was left at: nominal x sum(reference) /
sum(reading) of `as_left`, or of `as_found` where nothing was adjusted; an exact fraction. A calibration says nothing of
another bucket: it ends where the registry gives the gauge another tip.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec
import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import schema
from headwall.ledger.calibrations import Calibration
from headwall.registry import Registry
from headwall.registry.model import Datastream
from headwall.registry.spans import Span
from headwall.units import Depth, parse_depth

#: the kind of calibration that says how much a tip is
RAIN_VOLUME: Final = "rain_volume"
_MOST: Final = 10


class Tip(NamedTuple):
    """The depth of a tip, and the calibration that decided it, passed or not; None where there was none."""

    depth: Depth
    calibration: Calibration | None


class TipDepths:
    """The depth of a tip of one gauge at any instant."""

    def __init__(self, spans: Sequence[Span[Datastream]], calibrations: Sequence[Calibration]) -> None:
        """Set-ups of the gauge, and its calibrations in order of (done_us, number)."""
        self._spans = [span for span in spans if span.entry.tip]
        self._done = [(record.done_us, record) for record in calibrations]
        ends = (span.end_us for span in self._spans if span.end_us is not None)
        changes = {*(span.start_us for span in self._spans), *ends, *(done_us for done_us, _ in self._done)}
        self._changes = sorted(changes)
        self._tips = [self._found(change) for change in self._changes]

    def at(self, at_us: int) -> Tip | None:
        """The tip at an instant; None where the registry has no such gauge then."""
        n = bisect_right(self._changes, at_us) - 1
        return None if n < 0 else self._tips[n]

    def from_(self, start_us: int) -> set[Depth]:
        """Every depth that a tip has from an instant on."""
        first = max(bisect_right(self._changes, start_us) - 1, 0)
        return {tip.depth for tip in self._tips[first:] if tip is not None}

    def until_us(self, at_us: int) -> int | None:
        """When a calibration done at an instant is followed by the next; None: it holds still."""
        return next((done_us for done_us, _ in self._done if done_us > at_us), None)

    def _found(self, at_us: int) -> Tip | None:
        nominal = self._nominal(at_us)
        if nominal is None:
            return None
        record = next((record for done_us, record in reversed(self._done) if done_us <= at_us), None)
        if record is None or self._nominal(record.done_us) != nominal:
            return Tip(nominal, None)
        return Tip(Depth(nominal.mm * tip_factor(record)), record)

    def _nominal(self, at_us: int) -> Depth | None:
        return next((parse_depth(span.entry.tip or "") for span in self._spans if span.holds(at_us)), None)


def tip_factor(record: Calibration) -> Fraction:
    """By how much a tip is more than its nominal depth after a calibration: 1 where it passed, or says nothing."""
    points = record.as_left or record.as_found
    reference = sum((Fraction(point.reference) for point in points), Fraction(0))
    reading = sum((Fraction(point.reading) for point in points), Fraction(0))
    if record.verdict == "pass" or reference <= 0 or reading <= 0:
        return Fraction(1)
    return reference / reading


def check_tip(record: Calibration) -> None:
    """InputError for a rain_volume calibration that says what no gauge does."""
    if record.kind == RAIN_VOLUME and not Fraction(1, _MOST) < tip_factor(record) < _MOST:
        raise InputError(f"a tip would be {float(tip_factor(record)):g} times its nominal depth; look at the points")


def tip_depths(conn: sa.Connection, registry: Registry, datastream: str) -> TipDepths:
    """The depths of a gauge's tip by the registry and the ledger as they are now."""
    node, _, stream = datastream.partition("/")
    c = schema.calibrations.c
    query = sa.select(c.body).where(c.node == node, c.stream == stream, c.kind == RAIN_VOLUME)
    bodies = conn.execute(query.order_by(c.done_us, c.id)).scalars()
    return TipDepths(registry.datastream_spans(datastream), [msgspec.convert(body, Calibration) for body in bodies])


def tip_at(conn: sa.Connection, registry: Registry, datastream: str, at_us: int) -> Tip | None:
    """The depth of a tip at an instant; None where the registry has no such gauge then."""
    return tip_depths(conn, registry, datastream).at(at_us)
