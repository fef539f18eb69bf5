"""Septic tanks as their sensors show them: liquid above the outlet invert, layers near the baffle, leaks, surges, and
where a stick found otherwise.

Liquid above the invert is suspected at once, and present once it has lasted; a person confirms either. A clearance by
a sensor is an indication: it makes a duty worded so, and takes the place of no inspection. No number of a code stands
here: clearances are the clause's, tolerance and dwell the tank's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Final

from headwall.derive import septic
from headwall.hydrology.exceeding import Judged, Stretch
from headwall.hydrology.tank_liquid import CLEARS, GAP_US, sinkings, surges
from headwall.law.provisions import FailingSystem, SepticPumpOut
from headwall.registry import Registry
from headwall.registry.measures import Role
from headwall.registry.model import Site
from headwall.rules.facts import SiteSign
from headwall.rules.watch import (
    BESIDE,
    BESIDE_US,
    HOUR_US,
    MINUTE_US,
    Found,
    Known,
    Place,
    StretchWatch,
    Watch,
    condition,
    sign,
)
from headwall.units import parse_quantity

FAILING: Final = "failing_system"
LEVEL: Final = "liquid_level"
#: what a layer's sensor shows
NEAR: Final[dict[septic.Layer, str]] = {"scum": "scum_clearance", "sludge": "sludge_clearance"}
LEAK, SURGES, DIFFERS = "tank_leak", "tank_surges", "hand_differs"
#: leaks and surges are told together for so long
_BLOCK_US: Final = 7 * 24 * HOUR_US
#: a clearance has grown again by so much more than a reading's noise
_CLEARS_M: Final = 0.0127
#: hand and sensor differ by more than a look through scum explains
_DIFFERS_M: Final = 0.05
#: stands for "no layer found": a clearance that no tank has
_NO_LAYER_M: Final = 1000.0
_ROUNDING_M: Final = 1e-9


# ---- liquid above the outlet invert


def _levels(place: Place, start_us: int, end_us: int) -> Iterator[Judged]:
    for time_us, derived in place.heights("liquid", start_us, end_us):
        tank = septic.tank_at(place.registry, place.site.id, time_us)
        if tank is not None:
            yield Judged(time_us, derived.value, tank.tolerance, tank.tolerance * CLEARS)


def _failing(place: Place, run: Stretch, going: bool) -> SiteSign | None:
    clause = place.clause(FailingSystem, run.start_us)
    tank = septic.tank_at(place.registry, place.site.id, run.start_us)
    if clause is None or tank is None or LEVEL not in {each.name for each in clause.conditions}:
        return None
    if not place.registry.is_tributary(place.site.id, run.start_us):
        return None
    evidence: Known = {"peak_m": run.peak, "tolerance_m": run.limit}
    return condition(
        place,
        run,
        going,
        what=LEVEL,
        case=FAILING,
        clause=clause,
        datastream=place.datastream(run.start_us, "liquid"),
        dwell_us=tank.dwell_min * MINUTE_US,
        evidence=evidence,
    )


# ---- layers near the baffle


def _clearances(layer: septic.Layer, place: Place, start_us: int, end_us: int) -> Iterator[Judged]:
    """Clearances as numbers that rise while they shrink; the code's distance is reached by equality."""
    off = place.off(layer)
    for each in septic.clearances(place.conn, place.registry, place.site.id, layer, start_us, end_us):
        limit_m = limit_at(place, layer, each.time_us)
        if limit_m is None or each.derived.value is None or off(each.time_us):
            continue
        value = -each.derived.value if isfinite(each.derived.value) else -_NO_LAYER_M
        yield Judged(each.time_us, value, -limit_m - _ROUNDING_M, -limit_m - _CLEARS_M)


def limit_at(place: Place, layer: septic.Layer, at_us: int) -> float | None:
    """The clearance in m at which a sensor's reading counts: the clause's, and what a reading may be wrong by."""
    clause = place.clause(SepticPumpOut, at_us)
    if clause is None:
        return None
    margin_m = float(parse_quantity(f"{place.choice('septic.margin_in', at_us)} in", "m"))
    return clearance_of(clause, layer) + margin_m


def clearance_of(clause: SepticPumpOut, layer: septic.Layer) -> float:
    """The clause's distance in m, without any margin."""
    return float(parse_quantity(clause.scum_clearance if layer == "scum" else clause.sludge_clearance, "m"))


def _near(layer: septic.Layer, place: Place, run: Stretch, going: bool) -> SiteSign | None:
    """One reading alone may be a splash."""
    if run.end_us == run.start_us:
        return None
    evidence: Known = {"least_clearance_m": -run.peak}
    datastream = place.datastream(run.start_us, layer)
    return sign(place, NEAR[layer], datastream, (run.start_us, run.end_us), evidence, going=going)


def _near_watch(layer: septic.Layer) -> StretchWatch:
    values, tell = partial(_clearances, layer), partial(_near, layer)
    return StretchWatch(NEAR[layer], ("septic",), (layer,), values, tell)


# ---- leaks and surges


@dataclass(frozen=True)
class LiquidWatch:
    """Leaks, or surges: those of a week are told together."""

    what: str

    def at(self, registry: Registry, site: Site) -> bool:
        return site.kind == "septic" and registry.measures(site.id).has("liquid")

    def reads(self, role: Role) -> bool:
        return role in ("liquid", *BESIDE)

    def found(self, place: Place, since_us: int) -> Found | None:
        """A week is judged by its own readings, and an hour once it is over: the same whenever it is asked."""
        first_us = max(since_us, place.begins_us) // _BLOCK_US * _BLOCK_US
        newest_us = place.newest_us("liquid")
        end_us = newest_us // HOUR_US * HOUR_US
        judged_us, before_us = place.kept.watches.get(self.what, (0, 0))
        place.kept.watches[self.what] = end_us, newest_us
        if end_us == judged_us and since_us + BESIDE_US > before_us and not _set_right(place):
            return None
        blocks = range(first_us, end_us, _BLOCK_US)
        told = [self._week(place, block_us, min(block_us + _BLOCK_US, end_us)) for block_us in blocks]
        return Found(first_us, [each for each in told if each is not None])

    def _week(self, place: Place, start_us: int, end_us: int) -> SiteSign | None:
        tank = septic.tank_at(place.registry, place.site.id, start_us)
        if tank is None:
            return None
        levels = [(time_us, derived.value) for time_us, derived in place.heights("liquid", start_us, end_us)]
        if self.what == LEAK:
            spans = [(each.start_us, each.end_us, each.drop_m) for each in sinkings(levels, tolerance_m=tank.tolerance)]
        else:
            spans = [(each.start_us, each.peak_us, each.rise_m) for each in surges(levels)]
        if not spans:
            return None
        evidence: Known = {"times": len(spans), "most_m": max(amount for *_, amount in spans)}
        datastream = place.datastream(spans[0][0], "liquid")
        return sign(place, self.what, datastream, (spans[0][0], spans[-1][1]), evidence)


def _set_right(place: Place) -> bool:
    """Whether readings of other sensors may change levels of before."""
    return any(place.registry.measures(place.site.id).has(role) for role in BESIDE)


# ---- what a stick found


@dataclass(frozen=True)
class HandWatch:
    """Hand measurements from which the sensors differ."""

    what: str = DIFFERS

    def at(self, registry: Registry, site: Site) -> bool:
        measures = registry.measures(site.id)
        return site.kind == "septic" and any(measures.has(role) for role in _ROLE_OF.values())

    def reads(self, role: Role) -> bool:
        return role in (*_ROLE_OF.values(), *BESIDE)

    def found(self, place: Place, since_us: int) -> Found:
        from_us = since_us - septic.BESIDE_US
        found: dict[int, SiteSign] = {}
        for each in septic.compared(place.conn, place.registry, place.site.id, place.now_us, from_us=from_us):
            if each.difference_m is None or abs(each.difference_m) < _DIFFERS_M:
                continue
            before = found.get(each.entry)
            evidence: Known = {"entry": each.entry} if before is None else before.evidence
            datastream = place.datastream(each.done_us, _ROLE_OF[each.what]) if before is None else before.datastream
            evidence = {**evidence, f"{each.what}_difference_m": each.difference_m}
            found[each.entry] = sign(place, DIFFERS, datastream, (each.done_us, each.done_us), evidence)
        return Found(from_us, list(found.values()))


_ROLE_OF: Final[dict[str, Role]] = {"scum_clearance": "scum", "sludge": "sludge", "liquid": "liquid"}


WATCHES: Final[tuple[Watch, ...]] = (
    StretchWatch(LEVEL, ("septic",), ("liquid",), _levels, _failing, GAP_US),
    _near_watch("scum"),
    _near_watch("sludge"),
    LiquidWatch(LEAK),
    LiquidWatch(SURGES),
    HandWatch(),
)
