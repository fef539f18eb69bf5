"""A value computed from readings: a number, or none with the reason; never a number outside its formula's range."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

#: why there is no value: below or above the range of the formula (then `limit` is the value at its end), tailwater
#: that reaches the crest, a pipe that runs full, an input that is itself missing, one that was found wrong, no reading
#: near in time of what it must be compensated by, or no formula in force
Flag = Literal[
    "below_range", "above_range", "submerged", "surcharged", "missing", "rejected", "uncompensated", "not_set_up"
]


class Derived(NamedTuple):
    """What a formula gives.

    Attributes:
        value: in the SI unit of the function that made it; None with a flag.
        flag: why there is none.
        limit: the value at the end of the range that was passed: "< limit" below, "> limit" above.
    """

    value: float | None
    flag: Flag | None = None
    limit: float | None = None

    @property
    def censored(self) -> str:
        """ "<" or ">" where the value is known to lie beyond `limit`, else ""."""
        return {"below_range": "<", "above_range": ">"}.get(self.flag or "", "") if self.limit is not None else ""


#: an input that is missing or no number
MISSING: Final = Derived(None, "missing")
#: far beyond anything at a site, in any unit, and far within what floats can be multiplied to
_GREATEST: Final = 1e9


def is_number(value: float) -> bool:
    """Whether something can be computed with: neither NaN nor infinite nor so great that a product would be."""
    return -_GREATEST <= value <= _GREATEST


def is_size(value: float) -> bool:
    """Whether it is a number greater than 0 that something can be divided by."""
    return 1 / _GREATEST <= value <= _GREATEST
