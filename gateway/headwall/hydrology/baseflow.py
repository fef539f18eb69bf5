"""Base flow out of a flow series, by the digital filter of Lyne and Hollick.

Quick flow f(k) = a f(k-1) + (1 + a) / 2 (q(k) - q(k-1)), base flow b(k) = q(k) - f(k) where f(k) > 0, else q(k)
(V. Lyne and M. Hollick, Stochastic time-variable rainfall-runoff modelling, Hydrology and Water Resources Symposium,
Perth 1979). Three passes, forward, backward and forward, each over the base flow of the one before, with a = 0.925 for
daily flows (R. J. Nathan and T. A. McMahon, Water Resources Research 26(7), 1990); 30 values reflected at each end, and
each pass begun with no quick flow, so that what is steady is base flow throughout (after A. R. Ladson and others,
Australian Journal of Water Resources 17(1), 2013).

The filter knows no water, only how fast a flow changes: its result is an index to compare one place with itself, and a
constant discharge of sewage counts as base flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from headwall.errors import InputError
from headwall.hydrology.derived import is_number

DAILY_ALPHA: Final = 0.925
PASSES: Final = 3
REFLECTED: Final = 30


def base_flow(
    flows: Sequence[float | None],
    *,
    alpha: float = DAILY_ALPHA,
    passes: int = PASSES,
    reflected: int = REFLECTED,
) -> list[float | None]:
    """Base flow of equidistant flows, from 0 to the flow itself; None where the flow is.

    Args:
        flows: m³/s, 0 or more, of equal steps; a None parts the series, each part is filtered by itself.
        alpha: the filter's constant for the step of the series, above 0 and below 1.
        passes: an odd number, so that the last one goes forward.
        reflected: how many values are mirrored at each end, fewer in a shorter part.

    Raises:
        InputError: a constant, number of passes or flow that cannot be.
    """
    if not 0 < alpha < 1 or passes < 1 or passes % 2 == 0 or reflected < 0:
        raise InputError(
            f"alpha {alpha:g} must lie between 0 and 1, {passes} passes must be odd, {reflected} not negative"
        )
    if any(flow is not None and not (is_number(flow) and flow >= 0) for flow in flows):
        raise InputError("a negative flow, or one that is no number, has no base flow; leave backflow out as None")
    found: list[float | None] = []
    part: list[float] = []
    for flow in [*flows, None]:
        if flow is not None:
            part.append(flow)
            continue
        found += [*_of_part(part, alpha, passes, reflected), None]
        part = []
    return found[:-1]


def _of_part(flows: list[float], alpha: float, passes: int, reflected: int) -> list[float]:
    around = min(reflected, max(len(flows) - 1, 0))
    base = [*flows[around:0:-1], *flows, *flows[-2 : -around - 2 : -1]]
    for _ in range(passes):
        base = _pass(base, alpha)[::-1]
    base.reverse()
    return base[around : around + len(flows)]


def _pass(flows: Sequence[float], alpha: float) -> list[float]:
    quick, base = 0.0, list(flows[:1])
    for before, flow in pairwise(flows):
        quick = alpha * quick + (1 + alpha) / 2 * (flow - before)
        base.append(min(max(flow - max(quick, 0.0), 0.0), flow))  # rounding must not leave 0 to the flow
    return base
