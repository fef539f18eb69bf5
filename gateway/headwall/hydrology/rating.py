"""An owner's rating table: flow by stage, interpolated on logarithms as stage-discharge relations are.

Between two points Q = c (stage - offset)^b, as USGS does (Techniques and Methods 3-A8, 2010): a straight line of log Q
over log(stage - offset), `offset` the stage of zero flow. Outside the table nothing is computed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isnan, log

from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived, is_number, is_size


@dataclass(frozen=True)
class RatingTable:
    """Points (stage in m, flow in m³/s), both rising; `offset_m` the stage of zero flow, below the first point.

    Raises:
        InputError: fewer than two points, points that do not rise or are none, or an offset at or above the first.
    """

    points: Sequence[tuple[float, float]]
    offset_m: float = 0.0

    def __post_init__(self) -> None:
        if len(self.points) < 2:
            raise InputError("a rating table needs two points or more, each a stage in m and a flow in m³/s")
        if not all(is_number(each) for each in (self.offset_m, *self.points[0], *self.points[-1])):
            raise InputError(f"a rating from {self.points[0]} to {self.points[-1]}: stages and flows must be numbers")
        for (stage, flow), (next_stage, next_flow) in zip(self.points, self.points[1:], strict=False):
            if not (next_stage - self.offset_m > stage - self.offset_m and next_flow > flow):
                raise InputError(
                    f"a rating must rise: after {stage:g} m, {flow:g} m³/s comes {next_stage:g} m, {next_flow:g} m³/s"
                )
        if self.points[0][0] <= self.offset_m or not is_size(self.points[0][1]):
            raise InputError(f"the first point must lie above the stage of zero flow, {self.offset_m:g} m, with a flow")

    def flow_m3_s(self, stage_m: float) -> Derived:
        """Flow at a stage; censored below the first point and above the last."""
        if isnan(stage_m):
            return MISSING
        stages = [stage for stage, _ in self.points]
        if stage_m < stages[0]:
            return Derived(None, "below_range", self.points[0][1])
        if stage_m > stages[-1]:
            return Derived(None, "above_range", self.points[-1][1])
        at = min(bisect_right(stages, stage_m), len(stages) - 1)
        (low, low_flow), (high, high_flow) = self.points[at - 1], self.points[at]
        share = log((stage_m - self.offset_m) / (low - self.offset_m)) / log(
            (high - self.offset_m) / (low - self.offset_m)
        )
        flow = exp(log(low_flow) + share * (log(high_flow) - log(low_flow)))
        return Derived(min(max(flow, low_flow), high_flow))  # rounding must not leave the segment
