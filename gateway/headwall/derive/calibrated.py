"""What a calibration does to readings: a line, from the day it was done until the next calibration.

The last state counts: as left, or as found where nothing was adjusted. A sensor that passed is left as it reads; one
that did not, and was left so, is set right by the line through its points (one point: a shift). What a later
calibration finds is not spread back over the time before it: it is said as a remark.
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
from headwall.units import convert

#: kinds whose points are true values and readings of the stream itself
LINES: Final = ("level_two_point", "current_two_point", "two_point", "one_point")
#: slopes of lines lie between
_LEAST, _MOST = Fraction(1, 100), Fraction(100)


class Line(NamedTuple):
    """true = slope x reading + offset, in the stream's unit."""

    slope: float
    offset: float


def line_of(record: Calibration, unit: str) -> Line | None:
    """The line that sets readings right after a calibration; None where they stand as they are.

    With three points and more the line is that of least squares. Points of one reading make a shift.

    Args:
        unit: of the datastream; a record in another unit of the same kind (mm for m) is converted.

    Raises:
        InputError: a record in a unit of another kind, or points of which no line can be made.
    """
    if record.kind not in LINES or record.verdict == "pass":
        return None
    factor = Fraction(1) if record.unit == unit else convert(1, record.unit, unit)
    points = [(Fraction(p.reading) * factor, Fraction(p.reference) * factor) for p in record.as_left or record.as_found]
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else Fraction(1)
    if not _LEAST < slope < _MOST:
        raise InputError(f"its points give {float(slope):g} of the truth for 1 of the reading, which no sensor does")
    return Line(float(slope), float(mean_y - slope * mean_x))


class CalibrationsOf:
    """The calibrations of one datastream, by time."""

    def __init__(self, records: Sequence[Calibration]) -> None:
        """`records` in order of done_us, then of entry."""
        self._records = list(records)
        self._done = [record.done_us for record in records]

    @classmethod
    def read(cls, conn: sa.Connection, datastream: str) -> CalibrationsOf:
        node, _, stream = datastream.partition("/")
        c = schema.calibrations.c
        query = sa.select(c.body).where(c.node == node, c.stream == stream).order_by(c.done_us, c.id)
        return cls([msgspec.convert(body, Calibration) for (body,) in conn.execute(query)])

    @property
    def changes_us(self) -> list[int]:
        """When one calibration takes over from another."""
        return self._done

    def at(self, at_us: int) -> Calibration | None:
        """The calibration in force at an instant."""
        n = bisect_right(self._done, at_us)
        return self._records[n - 1] if n else None

    def next_after(self, at_us: int) -> Calibration | None:
        """The calibration that came next."""
        n = bisect_right(self._done, at_us)
        return self._records[n] if n < len(self._records) else None
