"""The plain rule to compare with: after 72 h of dry weather, a flow above one threshold is suspect.

It is what a fixed alarm on a flow meter does, made as fair as it can be: the threshold comes from the outfall's own
first fortnight of dry weather, and what the municipality approved is not suspected.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice
from statistics import median

from headwall_sim.outfall.steps import HOUR, STEP_US
from headwall_sim.outfall.truth import Inputs, Span

_FORTNIGHT = 14 * 24 * HOUR
_DRY_US = 72 * HOUR * STEP_US
_DRY_MM = 2.54


def fixed_threshold(inputs: Inputs, *, factor: float = 1.5, floor_m3_s: float = 0.0002) -> list[Span]:
    """Spans of suspicion, of consecutive steps; gaps of less than an hour are the score's to close.

    Args:
        factor: on the median flow of the first dry fortnight (14 days' worth of steps after 72 dry hours).
        floor_m3_s: the least threshold, for pipes that are dry.
    """
    below = {at for first, last in inputs.below_range for at in range(first, last + 1, STEP_US)}
    dry = [
        (at, 0.0 if flow is None else flow)
        for at, flow in inputs.flow_m3_s
        if (flow is not None or at in below) and _is_dry(inputs, at)
    ]
    threshold = max(factor * median([flow for _, flow in islice(dry, _FORTNIGHT)] or [0.0]), floor_m3_s)
    found: list[Span] = []
    for at, flow in dry:
        if flow <= threshold or any(start <= at <= end for start, end in _approved(inputs)):
            continue
        if found and at - found[-1][1] <= STEP_US:
            found[-1] = (found[-1][0], at)
        else:
            found.append((at, at))
    return found


def _is_dry(inputs: Inputs, at: int) -> bool:
    """Whether less than 0.1 in fell in the 72 h before; not known in the first three days."""
    tips = bisect_right(inputs.tips, at) - bisect_left(inputs.tips, at - _DRY_US)
    return at - inputs.flow_m3_s[0][0] >= _DRY_US and tips * inputs.tip_mm < _DRY_MM


def _approved(inputs: Inputs) -> list[Span]:
    return [(approval.start_us, approval.end_us) for approval in inputs.approvals]
