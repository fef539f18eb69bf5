"""A septic tank by its depths: clearances in the sense of the codes, and when they will be used up.

All depths are in m from the outlet invert downward, thicknesses in m. A code asks for a pump-out when the bottom of the
scum is within so much above the bottom of the outlet baffle, or the top of the sludge within so much below it; both
numbers are the code's, not this module's. What a sensor measures is an indication: it never takes the place of the
annual inspection, nor does it establish a failing system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, sqrt
from statistics import NormalDist, median
from typing import Final

from headwall.errors import InputError
from headwall.hydrology.derived import is_number

#: two-sided confidence of a forecast's interval
CONFIDENCE: Final = 0.9


@dataclass(frozen=True)
class Tank:
    """What of a tank does not change.

    Attributes:
        floor_m: depth of its floor below the outlet invert.
        baffle_m: depth of the lower end of the outlet baffle (or tee).

    Raises:
        InputError: a baffle that does not end between invert and floor.
    """

    floor_m: float
    baffle_m: float

    def __post_init__(self) -> None:
        if not (0 < self.baffle_m < self.floor_m and is_number(self.floor_m)):
            raise InputError(
                f"the baffle ends {self.baffle_m:g} m below the invert and the floor lies {self.floor_m:g} m below it; "
                "the baffle must end between the two"
            )


def scum_clearance_m(tank: Tank, scum_bottom_m: float | None) -> float:
    """From the bottom of the scum down to the end of the baffle: negative where scum can pass under it.

    Args:
        scum_bottom_m: depth of the scum's lower side; None where a look found no scum, and then nothing can pass:
            infinite. A reading that is missing is not None but no call at all.

    Raises:
        InputError: a depth below the tank's floor, or one that is no number.
    """
    if scum_bottom_m is None:
        return float("inf")
    if not (is_number(scum_bottom_m) and scum_bottom_m <= tank.floor_m):
        raise InputError(f"scum down to {scum_bottom_m:g} m does not fit a tank {tank.floor_m:g} m deep")
    return tank.baffle_m - scum_bottom_m


def sludge_clearance_m(tank: Tank, sludge_m: float) -> float:
    """From the end of the baffle down to the top of the sludge, `sludge_m` thick: negative where sludge reaches it.

    Raises:
        InputError: a thickness below 0 or of more than the tank's depth.
    """
    if not 0 <= sludge_m <= tank.floor_m:
        raise InputError(f"sludge {sludge_m:g} m thick does not fit a tank {tank.floor_m:g} m deep")
    return tank.floor_m - sludge_m - tank.baffle_m


@dataclass(frozen=True)
class Trend:
    """A robust line through measurements: `slope_m_day`, with its interval, and where it stood on day 0."""

    slope_m_day: float
    low_m_day: float
    high_m_day: float
    intercept_m: float

    def day_of(self, value_m: float) -> tuple[float, float, float | None] | None:
        """(expected, earliest, latest) day on which the line reaches a value; latest None: perhaps never.

        None where it does not rise, or hardly does: then no date can be given.
        """
        expected, earliest, latest = (
            (value_m - self.intercept_m) / slope if slope > 0 else inf
            for slope in (self.slope_m_day, self.high_m_day, self.low_m_day)
        )
        if not is_number(expected):
            return None
        return expected, earliest, latest if is_number(latest) else None


def trend(days: Sequence[float], values_m: Sequence[float]) -> Trend | None:
    """Theil-Sen's line (Sen, J. Am. Stat. Assoc. 63, 1968) through one pump-out's measurements; None for fewer than 3.

    The slope is the median of those of all pairs, the intercept the median of value - slope x day. The interval takes
    the pairs' slopes at the ranks that Kendall's S has at the confidence stated (normal approximation without ties).

    Raises:
        InputError: days and values of different count, two values of one day, or what is no number.
    """
    if len(days) != len(values_m):
        raise InputError(f"{len(days)} days and {len(values_m)} values; each value needs its day")
    if len(set(days)) != len(days):
        raise InputError("two values of one day; give one value a day")
    if not all(is_number(each) for each in (*days, *values_m)):
        raise InputError("a day or a value that is no number; leave it out")
    if len(days) < 3:
        return None
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(zip(days, values_m, strict=True), 2))
    n = len(days)
    spread = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sqrt(n * (n - 1) * (2 * n + 5) / 18)
    rank = max(0, int((len(slopes) - spread) / 2))
    slope = median(slopes)
    intercept = median(value - slope * day for day, value in zip(days, values_m, strict=True))
    return Trend(slope, slopes[rank], slopes[len(slopes) - 1 - rank], intercept)
