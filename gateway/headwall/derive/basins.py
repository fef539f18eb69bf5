"""A sediment basin by its sensor and by surveys: how much of its design capacity is gone, by volume and by depth.

Codes speak of design capacity without saying which of the two: volume first, depth beside it. The share at which
sediment must go is the code's and stands in a profile.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import sqlalchemy as sa

from headwall.derive.heights import heights
from headwall.hydrology.derived import Derived
from headwall.hydrology.sediment import depth_lost_percent, volume_lost_percent
from headwall.ledger.entries import SedimentSurvey, standing
from headwall.registry import Registry
from headwall.registry.measures import Basin
from headwall.registry.spans import in_force
from headwall.units import parse_quantity, share_of

#: per cents computed in floats may miss a share by less than this
_ROUNDING_PERCENT: Final = 1e-9


class Filled(NamedTuple):
    """A basin at an instant.

    Attributes:
        by: who surveyed it; "" for a sensor.
        depth: of the sediment above the floor, in m.
        volume_percent, depth_percent: of the design capacity, lost.
        flag: QARTOD flag of the reading; 1 for a survey.
    """

    time_us: int
    by: str
    depth: Derived
    volume_percent: Derived
    depth_percent: Derived
    flag: int


def filled(conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int) -> list[Filled]:
    """What sensor and surveys say with start_us <= time < end_us, in order of time."""
    found = [
        _filled(registry, site, each.time_us, "", each.derived, each.flag)
        for each in heights(conn, registry, site, "sediment", start_us, end_us)
    ]
    found += (each for each in surveyed(conn, registry, site, end_us - 1) if each.time_us >= start_us)
    return sorted(found, key=lambda each: each.time_us)


def surveyed(conn: sa.Connection, registry: Registry, site: str, at_us: int) -> list[Filled]:
    """What surveys say up to an instant, in order of time."""
    return [
        _filled(registry, site, entry.done_us, entry.by, Derived(float(parse_quantity(entry.body.depth, "m"))), 1)
        for entry in standing(conn, SedimentSurvey, site, until_us=at_us)
    ]


def share_percent(share: str) -> float:
    """A share as a code writes it, "50 %" or "1/3", in per cent."""
    return float(share_of(share) * 100)


def reaches(lost: Derived, share_percent: float) -> bool:
    """Whether a code's share of the capacity is lost, equality included; never where nothing is known.

    What is known to be more than a limit counts by the limit.
    """
    least = lost.limit if lost.flag == "above_range" else lost.value
    return least is not None and least >= share_percent - _ROUNDING_PERCENT


def _filled(registry: Registry, site: str, time_us: int, by: str, depth: Derived, flag: int) -> Filled:
    basin = next(in_force(registry.measures(site).basins, time_us), None)
    volume, share = (depth, depth) if depth.value is None else _lost(basin, depth.value)
    return Filled(time_us, by, depth, volume, share, flag)


def _lost(basin: Basin | None, depth_m: float) -> tuple[Derived, Derived]:
    if basin is None:
        return Derived(None, "not_set_up"), Derived(None, "not_set_up")
    volume = volume_lost_percent(basin.table, depth_m, basin.design_volume)
    return volume, depth_lost_percent(depth_m, basin.design_depth)
