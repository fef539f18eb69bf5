"""What a calibration comes to: from what was poured or applied and what the sensor said, to a dated record.

All arithmetic is exact (fractions); numbers are decimal text in the record, which `headwall calibration add` takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

from headwall.errors import InputError
from headwall.units import Depth, decimal_text

#: a bucket loses about 0.45 s of flow a tip (JTECH 31(6)): slower than this that is under 10 %
SLOW_S_A_TIP: Final = 5
_PLACES: Final = 6


@dataclass(frozen=True)
class Point:
    """One point: what the reference says and what the sensor says, in the same unit."""

    reference: Fraction
    reading: Fraction

    @property
    def error(self) -> Fraction:
        """How much the sensor says too much."""
        return self.reading - self.reference


@dataclass(frozen=True)
class Outcome:
    """Result of a set of points: names and numbers for the record, and whether they are within the tolerance."""

    result: dict[str, Fraction]
    passes: bool


def number(text: object, what: str) -> Fraction:
    """A decimal number that a person gave; InputError that names what it is of."""
    try:
        return Fraction(Decimal(str(text).strip().replace(",", ".")))
    except (InvalidOperation, ValueError, OverflowError):
        raise InputError(f"{what}: {text!r} is no number") from None


def positive(text: object, what: str) -> Fraction:
    """The same, more than 0."""
    found = number(text, what)
    if found <= 0:
        raise InputError(f"{what} must be more than 0, not {text}")
    return found


def poured_depth(volume_ml: Fraction, funnel_cm2: Fraction) -> Depth:
    """The rain that a volume is in a funnel: 1 mL on 1 cm² is 10 mm."""
    return Depth(volume_ml / funnel_cm2 * 10)


def check_volume(poured: Depth, tip: Depth, tolerance_percent: Fraction, funnel_cm2: Fraction) -> None:
    """Refuse a volume of which one tip is more than the tolerance.

    Raises:
        InputError: says how much to pour.
    """
    if tip.mm / poured.mm * 100 > tolerance_percent:
        least = tip.mm * 100 / tolerance_percent * funnel_cm2 / 10
        raise InputError(
            f"with this volume one tip is {float(tip.mm / poured.mm * 100):.1f} %, more than the tolerance of "
            f"{decimal_text(tolerance_percent, 2)} %: pour at least {math.ceil(least)} mL"
        )


def rain(points: Sequence[Point], tolerance_percent: Fraction) -> Outcome:
    """A gauge: how much it counts too much, in percent of what was poured."""
    errors = [point.error / point.reference * 100 for point in points]
    return Outcome({"error_percent": errors[-1]}, all(abs(error) <= tolerance_percent for error in errors))


def two_points(points: Sequence[Point], tolerance: Fraction) -> Outcome:
    """A straight line through two points: true = slope x reading + offset.

    Raises:
        InputError: the points do not make a line.
    """
    low, high = points
    if low.reference == high.reference:
        raise InputError("both points have the same reference: take two that are far apart")
    if low.reading == high.reading:
        raise InputError(
            f"the sensor says {decimal_text(low.reading)} at both points: it is stuck, or it was not moved between them"
        )
    slope = (high.reference - low.reference) / (high.reading - low.reading)
    worst = max((point.error for point in points), key=abs)
    result = {"offset": low.reference - slope * low.reading, "slope": slope, "largest_error": worst}
    return Outcome(result, abs(worst) <= tolerance)


def at_current(current_ma: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """What a loop that is `low` at 4 mA and `high` at 20 mA means at a current."""
    return low + (current_ma - 4) * (high - low) / 16


def as_text(value: Fraction) -> str:
    """A number of the record: exact where it ends within six places, else rounded to them."""
    scaled = round(value * 10**_PLACES)
    return decimal_text(Fraction(scaled, 10**_PLACES), _PLACES)


def points_json(points: Sequence[Point]) -> list[dict[str, str]]:
    """Points as they stand in a record."""
    return [{"reference": as_text(point.reference), "reading": as_text(point.reading)} for point in points]


def result_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as it stands in a record."""
    return {name: as_text(value) for name, value in outcome.result.items()}
