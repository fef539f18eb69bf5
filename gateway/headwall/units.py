"""Units, durations and exact depths: the one table of conversion factors, and depths that never become floats.

Factors are exact by definition (NIST Special Publication 811, appendix B: 1 in = 25.4 mm, 1 gal (US) = 231 in³).
A depth is kept as a fraction of a millimetre; "0.5 in" and "12.7 mm" are the same depth, and 64 tips of
0.2 mm reach it where 63 do not.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from headwall.errors import InputError

#: how much of the SI unit beside it one unit is: length in m, volume in m³, flow in m³/s, rate in m/s
FACTORS: Final[dict[str, tuple[Fraction, str]]] = {
    "m": (Fraction(1), "m"),
    "mm": (Fraction(1, 1000), "m"),
    "cm": (Fraction(1, 100), "m"),
    "in": (Fraction(254, 10000), "m"),
    "ft": (Fraction(3048, 10000), "m"),
    "m3": (Fraction(1), "m3"),
    "L": (Fraction(1, 1000), "m3"),
    "gal": (Fraction(231) * Fraction(254, 10000) ** 3, "m3"),
    "ft3": (Fraction(3048, 10000) ** 3, "m3"),
    "m3/s": (Fraction(1), "m3/s"),
    "L/s": (Fraction(1, 1000), "m3/s"),
    "gpm": (Fraction(231) * Fraction(254, 10000) ** 3 / 60, "m3/s"),
    "cfs": (Fraction(3048, 10000) ** 3, "m3/s"),
    "m/s": (Fraction(1), "m/s"),
    "ft/s": (Fraction(3048, 10000), "m/s"),
    "mm/h": (Fraction(1, 1000) / 3600, "m/s"),
    "in/h": (Fraction(254, 10000) / 3600, "m/s"),
}

_ALIASES: Final[dict[str, str]] = {
    "inch": "in",
    "inches": "in",
    "in.": "in",
    '"': "in",
    "millimeter": "mm",
    "millimeters": "mm",
    "millimetre": "mm",
    "millimetres": "mm",
}
_DEPTH = re.compile(r"\s*(\d{1,9}(?:\.\d{1,12})?|\.\d{1,12})\s*([a-zA-Z.\"]+)\s*", re.ASCII)
_AREA = re.compile(r"\s*(\d{1,7}(?:\.\d{1,3})?) (acres?|sq ft)\s*", re.ASCII)
_SQ_FT_PER_ACRE: Final = 43_560
_MM_PER_IN: Final = Fraction(254, 10)
_QUANTITY = re.compile(r"\s*(-?\d{1,9}(?:\.\d{1,12})?)\s*([a-zA-Z][a-zA-Z0-9/]*)\s*", re.ASCII)
_DURATION = re.compile(r"\s*(\d{1,5}) ?(m|min|h|d)\s*", re.ASCII)
_DURATION_UNIT_US: Final = {"m": 60_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


def convert(value: Fraction | int | Decimal, unit: str, to: str) -> Fraction:
    """The exact value in another unit of the same kind; InputError for unknown or unlike units."""
    for name in (unit, to):
        if name not in FACTORS:
            raise InputError(f"unknown unit {name!r}; known are {', '.join(FACTORS)}")
    (factor, base), (to_factor, to_base) = FACTORS[unit], FACTORS[to]
    if base != to_base:
        raise InputError(f"{unit} cannot be turned into {to}: one is measured in {base}, the other in {to_base}")
    return Fraction(value) * factor / to_factor


@dataclass(frozen=True, order=True)
class Depth:
    """A depth of rain, exact: compare, add and multiply it freely; it is rounded only when shown."""

    mm: Fraction

    @property
    def inches(self) -> Fraction:
        return self.mm / _MM_PER_IN

    @property
    def text_mm(self) -> str:
        """Millimetres as a decimal, e.g. "12.7"."""
        return decimal_text(self.mm)

    @property
    def text_in(self) -> str:
        """Inches as a decimal, e.g. "0.5"; never rounded up, so that it cannot read as a depth not reached."""
        return decimal_text(self.inches)

    def __add__(self, other: Depth) -> Depth:
        return Depth(self.mm + other.mm)

    def __mul__(self, count: int) -> Depth:
        return Depth(self.mm * count)

    __rmul__ = __mul__

    def __str__(self) -> str:
        return f"{self.text_in} in ({self.text_mm} mm)"


def depth(value: Fraction | int | Decimal, unit: str) -> Depth:
    """A depth from a number and its unit ("in" or "mm")."""
    return Depth(convert(value, depth_unit(unit), "mm"))


def depth_unit(text: str) -> str:
    """ "in" or "mm" from any usual spelling; InputError for anything else."""
    found = _ALIASES.get(text.strip().lower(), text.strip().lower())
    if found not in ("in", "mm"):
        raise InputError(f"{text!r} is not a unit of rain depth; write in or mm")
    return found


def parse_depth(text: str) -> Depth:
    """The depth in a text such as "0.01 in", "0.2mm" or "12.7 mm"; InputError for anything else."""
    match = _DEPTH.fullmatch(text)
    if match is None:
        raise InputError(f'{text!r} is not a depth; write a number and a unit, such as "0.5 in" or "12.7 mm"')
    return depth(Decimal(match[1]), match[2])


def parse_duration_us(text: str) -> int:
    """The microseconds in a text such as "6 h", "30m", "30 min" or "7d"; InputError for anything else."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InputError(f'{text!r} is no duration; write a number and min, h or d, such as "30 min" or "6h"')
    return int(match[1]) * _DURATION_UNIT_US[match[2]]


def parse_quantity(text: object, base: str) -> Fraction:
    """The value, in the SI unit `base` ("m", "m3", "m3/s"), of a text such as "48 in" or "-4 mm".

    Raises:
        InputError: no number with a unit, or one of another kind.
    """
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    fitting = ", ".join(unit for unit, (_, its_base) in FACTORS.items() if its_base == base)
    if match is None:
        raise InputError(f"{text!r} is no number with a unit; write it as a text with one of {fitting}")
    if match[2] not in FACTORS or FACTORS[match[2]][1] != base:
        raise InputError(f"{text!r}: the unit must be one of {fitting}")
    return convert(Decimal(match[1]), match[2], base)


@lru_cache(256)
def parse_area(text: str) -> Fraction:
    """The square feet in a text such as "6.2 acres" or "5000 sq ft"; InputError for anything else."""
    match = _AREA.fullmatch(text)
    if match is None:
        raise InputError(f'{text!r} is no area; write a number and a unit, such as "6.2 acres" or "5000 sq ft"')
    return Fraction(Decimal(match[1])) * (1 if match[2] == "sq ft" else _SQ_FT_PER_ACRE)


def share_of(text: str) -> Fraction:
    """A part of a whole as a code writes it, "1/3" or "50 %"."""
    return Fraction(text.removesuffix(" %")) / (100 if text.endswith("%") else 1)


def quanta_to_reach(threshold: Depth, quantum: Depth) -> int:
    """The smallest count of `quantum` (one tip, say) whose sum is at least `threshold`: 50 for 0.5 in of 0.01 in."""
    return math.ceil(threshold.mm / quantum.mm)


def to_decimal(value: Fraction, places: int = 6) -> Decimal:
    """The value as a Decimal: exact where it ends, else cut (towards zero) after `places` decimals."""
    rest, digits = value.denominator, 0
    while rest % 10 == 0:
        rest, digits = rest // 10, digits + 1
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    digits = digits + max(twos, fives) if rest == 1 else places
    scaled = value * 10**digits
    whole = abs(scaled.numerator) // scaled.denominator * (1 if scaled >= 0 else -1)
    return Decimal(whole).scaleb(-digits, Context(prec=max(28, len(str(whole)) + 1), rounding=ROUND_DOWN))


def decimal_text(value: Fraction, places: int = 6) -> str:
    """`to_decimal` written plainly, without exponent or trailing zeros."""
    text = format(to_decimal(value, places), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
