"""Sediment in a trap or basin: how much of its design capacity is gone.

Codes ask that sediment be removed whenever the design capacity has been reduced by a share. They do not say whether
that is of volume or depth: volume is the reading that this module is made for, depth stands beside it. The share is
the code's, not this module's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived, is_number, is_size


@dataclass(frozen=True)
class StageVolume:
    """A basin's table: points (level above its floor in m, volume below that level in m³), both rising.

    Between two points the volume is interpolated straight. Where the walls slope out that is a little too much, by at
    most an eighth of the points' distance squared times the change of area per metre: give points close together.

    Raises:
        InputError: fewer than two points, points that do not rise or are no numbers, or a volume below 0.
    """

    points: Sequence[tuple[float, float]]

    def __post_init__(self) -> None:
        if len(self.points) < 2:
            raise InputError("a stage-volume table needs two points or more, each a level in m and a volume in m³")
        (low, low_m3), (high, high_m3) = self.points[0], self.points[-1]
        if not (is_number(low) and is_number(high) and is_number(high_m3) and low_m3 >= 0):
            raise InputError(
                f"a stage-volume table from {low:g} m, {low_m3:g} m³ to {high:g} m, {high_m3:g} m³: "
                "levels and volumes must be numbers, volumes 0 or more"
            )
        for (level, volume), (next_level, next_volume) in zip(self.points, self.points[1:], strict=False):
            if not (next_level > level and next_volume > volume):
                raise InputError(
                    f"a stage-volume table must rise: after {level:g} m, {volume:g} m³ comes "
                    f"{next_level:g} m, {next_volume:g} m³"
                )

    def volume_m3(self, level_m: float) -> Derived:
        """Volume below a level; censored outside the table."""
        if isnan(level_m):
            return MISSING
        levels = [level for level, _ in self.points]
        if level_m < levels[0]:
            return Derived(None, "below_range", self.points[0][1])
        if level_m > levels[-1]:
            return Derived(None, "above_range", self.points[-1][1])
        at = min(bisect_right(levels, level_m), len(levels) - 1)
        (low, low_m3), (high, high_m3) = self.points[at - 1], self.points[at]
        volume = low_m3 + (level_m - low) / (high - low) * (high_m3 - low_m3)
        return Derived(min(max(volume, low_m3), high_m3))  # rounding must not leave the segment


def volume_lost_percent(table: StageVolume, sediment_m: float, design_m3: float) -> Derived:
    """How much of the design capacity sediment up to a level takes, in per cent of it.

    Args:
        sediment_m: level of the sediment above the basin's floor, a mean over its area where it is uneven.
        design_m3: the capacity by the approved plan.

    Raises:
        InputError: a design capacity that is none.
    """
    if not is_size(design_m3):
        raise InputError(f"a design capacity of {design_m3:g} m³; enter the one of the approved plan")
    volume = table.volume_m3(sediment_m)
    if volume.value is not None:
        return _percent(volume.value, design_m3)
    limit = None if volume.limit is None else min(100 * volume.limit / design_m3, 100.0)
    return Derived(None, volume.flag, limit)


def depth_lost_percent(sediment_m: float, design_depth_m: float) -> Derived:
    """The other reading of such a clause: the sediment's depth in per cent of the design depth.

    Raises:
        InputError: a design depth that is none.
    """
    if not is_size(design_depth_m):
        raise InputError(f"a design depth of {design_depth_m:g} m; enter the one of the approved plan")
    if isnan(sediment_m):
        return MISSING
    if sediment_m < 0:
        return Derived(None, "below_range", 0.0)
    return _percent(sediment_m, design_depth_m)


def _percent(lost: float, of: float) -> Derived:
    return Derived(100 * lost / of) if lost <= of else Derived(None, "above_range", 100.0)
