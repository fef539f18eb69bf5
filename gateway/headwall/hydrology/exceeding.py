"""Stretches in which a value stays above its limit: liquid above an invert, turbidity, a flow above its design.

A stretch begins with a value above the limit and ends with one at or below the level at which it clears, so that a
value which wavers at the limit makes one stretch and not many. What is found is an indication and no finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headwall.hydrology.derived import is_number


class Judged(NamedTuple):
    """A value with the limit that holds for it.

    Attributes:
        value: None where there is none; at least so much where the sensor is at the end of its range.
        limit: a stretch begins above it.
        clear: a stretch ends at or below it; never above `limit`.
    """

    time_us: int
    value: float | None
    limit: float
    clear: float


class Stretch(NamedTuple):
    """Attributes:
    start_us, end_us: times of its first and of its last value.
    peak, limit: the highest value, and the limit at its beginning.
    ended: a value that clears followed; else it may go on.
    """

    start_us: int
    end_us: int
    peak: float
    limit: float
    ended: bool


def stretches(values: Iterable[Judged], *, gap_us: int, going: Stretch | None = None) -> list[Stretch]:
    """Every stretch, in order of time.

    A missing value ends none; a gap longer than `gap_us` does, since nobody knows what was in it.

    Args:
        going: the last one of the values before these, if it had not ended; it comes first.
    """
    found: list[Stretch] = []
    for each in values:
        if each.value is None or not is_number(each.value):
            continue
        if going is not None and each.time_us - going.end_us > gap_us:
            found.append(going)
            going = None
        if going is None:
            if each.value > each.limit:
                going = Stretch(each.time_us, each.time_us, each.value, each.limit, ended=False)
        elif each.value > each.clear:
            going = going._replace(end_us=each.time_us, peak=max(going.peak, each.value))
        else:
            found.append(going._replace(ended=True))
            going = None
    return found if going is None else [*found, going]
