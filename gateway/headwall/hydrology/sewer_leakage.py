"""The leakage that a code allows a new sewer in its acceptance test, and whether a test passed.

Allowed gallons = allowance x sum of (diameter in inches x length in miles) x days, the allowance in gallons per inch
of diameter per mile per day being the code's (Hillburn § 192-7C: 100, "shall not exceed", so that equality passes).
All of it is exact and in the code's own units. This is a calculator for a test that a licensed engineer certifies; it
judges no sewer that is in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from headwall.errors import InputError

_FT_PER_MILE: Final = 5280
_HOURS_PER_DAY: Final = 24
Number = int | Decimal | Fraction


def _is_number(*values: Number) -> bool:
    """Decimal knows NaN and infinity; they cannot be compared or made exact."""
    return all(value.is_finite() for value in values if isinstance(value, Decimal))


@dataclass(frozen=True)
class Pipe:
    """A run of pipe under test, main or house connection.

    Raises:
        InputError: a diameter or length that is none.
    """

    diameter_in: Number
    length_ft: Number

    def __post_init__(self) -> None:
        if not (_is_number(self.diameter_in, self.length_ft) and self.diameter_in > 0 and self.length_ft > 0):
            raise InputError(
                f"a pipe of {self.diameter_in} in and {self.length_ft} ft: both must be greater than 0; "
                "give the inner diameter in inches and the length in feet"
            )

    @property
    def inch_miles(self) -> Fraction:
        return Fraction(self.diameter_in) * Fraction(self.length_ft) / _FT_PER_MILE


@dataclass(frozen=True)
class LeakageTest:
    """Pipes, duration and result of an infiltration or exfiltration test.

    Attributes:
        allowance: gallons per inch of diameter, mile and day: the code's number.
        hours: how long it lasted.
        leaked_gal: what came in or went out.

    Raises:
        InputError: no pipe, no duration, or a leakage or allowance below 0.
    """

    pipes: Sequence[Pipe]
    hours: Number
    leaked_gal: Number
    allowance: Number

    def __post_init__(self) -> None:
        if not self.pipes:
            raise InputError("a leakage test needs the pipes that were tested, each with diameter and length")
        if not (_is_number(self.hours) and self.hours > 0):
            raise InputError(f"a test of {self.hours} hours did not last; give its duration in hours")
        if not _is_number(self.leaked_gal, self.allowance) or self.leaked_gal < 0 or self.allowance < 0:
            raise InputError(
                f"leakage {self.leaked_gal} gal and allowance {self.allowance} must be numbers and must not be negative"
            )

    @property
    def inch_mile_days(self) -> Fraction:
        return sum((pipe.inch_miles for pipe in self.pipes), Fraction(0)) * Fraction(self.hours) / _HOURS_PER_DAY

    @property
    def allowed_gal(self) -> Fraction:
        return Fraction(self.allowance) * self.inch_mile_days

    @property
    def rate(self) -> Fraction:
        """Gallons per inch of diameter, mile and day that leaked."""
        return Fraction(self.leaked_gal) / self.inch_mile_days

    @property
    def passed(self) -> bool:
        """The allowance is not exceeded."""
        return Fraction(self.leaked_gal) <= self.allowed_gal
