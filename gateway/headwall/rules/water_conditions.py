"""Turbidity that a site adds, flow above a practice's design, sediment that fills a basin, water that stands behind an
outfall: what sensors show of them. The numbers are the clause's, the officer's, or the approved plan's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from headwall.derive import basins, outfall
from headwall.derive.derivation import quantities_of
from headwall.hydrology.derived import Derived
from headwall.hydrology.exceeding import Judged, Stretch
from headwall.law.provisions import Plain, SedimentRemoval
from headwall.registry import Registry
from headwall.registry.measures import Role
from headwall.registry.model import Site, SiteKind
from headwall.registry.spans import in_force
from headwall.rules.facts import SiteSign
from headwall.rules.watch import HOUR_US, MINUTE_US, Known, Place, StretchWatch, Watch, condition, least, sign

TURBIDITY, DESIGN_FLOW, SEDIMENT, BACKWATER = "turbidity", "design_flow", "sediment", "backwater"
#: the part of a limit at which a value is back within it; these and what follows are Headwall's own numbers
_CLEARS: Final = 0.9
_TURBID_US: Final = 15 * MINUTE_US
#: water so far above an outfall's control from behind, and for so long, may be held up by something
_HELD_UP_M: Final = 0.05
_HELD_UP_US: Final = 72 * HOUR_US
_SHORT_GAP_US: Final = 3 * HOUR_US
_ROUNDING: Final = 1e-9
_FLOW_ROLES: Final[tuple[Role, ...]] = ("stage", "flow", "meter")


# ---- turbidity


def _added(place: Place, start_us: int, end_us: int) -> Iterator[Judged]:
    """Nothing is judged before the officer has set how much is too much."""
    off = place.off("turbidity", "upstream_turbidity")
    for time_us, derived in outfall.turbidity_added(place.conn, place.registry, place.site.id, start_us, end_us):
        most = float(place.choice("turbidity.delta_ntu", time_us))
        if most > 0 and not off(time_us):
            yield Judged(time_us, least(derived, most * _CLEARS), most, most * _CLEARS)


def _turbid(place: Place, run: Stretch, going: bool) -> SiteSign | None:
    clause = place.clause(Plain, run.start_us, "turbidity")
    if clause is None:
        return None
    return condition(
        place,
        run,
        going,
        what=TURBIDITY,
        case=TURBIDITY,
        clause=clause,
        datastream=place.datastream(run.start_us, "turbidity"),
        dwell_us=_TURBID_US,
        evidence={"added_ntu": run.peak, "officers_limit_ntu": run.limit},
    )


# ---- flow above the design


def _flows(place: Place, start_us: int, end_us: int) -> Iterator[Judged]:
    """Flow where a design of the practice is on record."""
    designs, off = place.registry.measures(place.site.id).design_flows, place.off(*_FLOW_ROLES)
    if not designs:
        return
    for time_us, derived in outfall.flows(place.conn, place.registry, place.site.id, start_us, end_us):
        design = next(in_force(designs, time_us), None)
        if design is not None and not off(time_us):
            yield Judged(time_us, least(derived, design.flow * _CLEARS), design.flow, design.flow * _CLEARS)


def _above_design(place: Place, run: Stretch, going: bool) -> SiteSign | None:
    clause = place.clause(Plain, run.start_us, "design_flow")
    design = next(in_force(place.registry.measures(place.site.id).design_flows, run.start_us), None)
    if clause is None or design is None:
        return None
    return condition(
        place,
        run,
        going,
        what=DESIGN_FLOW,
        case=DESIGN_FLOW,
        clause=clause,
        datastream=place.datastream(run.start_us, *_FLOW_ROLES),
        dwell_us=design.dwell_min * MINUTE_US,
        evidence={"peak_m3_s": run.peak, "design_m3_s": run.limit, "design_by": design.reference},
    )


@dataclass(frozen=True)
class _FlowWatch(StretchWatch):
    """Flow may be computed from any of several sensors."""

    def at(self, registry: Registry, site: Site) -> bool:
        return bool(site.design_flows) and "flow" in quantities_of(registry.measures(site.id))


# ---- sediment in a basin


def _lost(place: Place, start_us: int, end_us: int) -> Iterator[Judged]:
    """Capacity that the sensor shows lost, in per cent; surveys are for whoever plans the duty."""
    off = place.off("sediment")
    for each in basins.filled(place.conn, place.registry, place.site.id, start_us, end_us):
        clause = place.clause(SedimentRemoval, each.time_us)
        if clause is None or each.by or off(each.time_us):
            continue
        lost = lost_of(each, place.choice("sediment.basis", each.time_us))
        share = basins.share_percent(clause.share)
        yield Judged(each.time_us, least(lost, share * _CLEARS), share - _ROUNDING, share * _CLEARS)


def lost_of(filled: basins.Filled, basis: str) -> Derived:
    """What is lost of the capacity, by volume or by depth as the municipality reads its code."""
    return filled.depth_percent if basis == "depth" else filled.volume_percent


def _full(place: Place, run: Stretch, going: bool) -> SiteSign | None:
    """One reading alone may be a fish."""
    if run.end_us == run.start_us:
        return None
    evidence: Known = {"lost_percent": run.peak}
    datastream = place.datastream(run.start_us, "sediment")
    return sign(place, SEDIMENT, datastream, (run.start_us, run.end_us), evidence, going=going)


# ---- water behind an outfall


def _behind(place: Place, start_us: int, end_us: int) -> Iterator[Judged]:
    for time_us, derived in place.heights("second_stage", start_us, end_us):
        yield Judged(time_us, derived.value, _HELD_UP_M, _HELD_UP_M * _CLEARS)


def _held_up(place: Place, run: Stretch, going: bool) -> SiteSign | None:
    if run.end_us - run.start_us < _HELD_UP_US or place.clause(Plain, run.start_us, "watercourse") is None:
        return None
    evidence: Known = {"most_m": run.peak}
    datastream = place.datastream(run.start_us, "second_stage")
    return sign(place, BACKWATER, datastream, (run.start_us, run.end_us), evidence, going=going)


_ANYWHERE: Final[tuple[SiteKind, ...]] = ("construction", "outfall", "basin")
WATCHES: Final[tuple[Watch, ...]] = (
    StretchWatch(
        TURBIDITY,
        _ANYWHERE,
        ("turbidity", "upstream_turbidity"),
        _added,
        _turbid,
        _SHORT_GAP_US,
    ),
    _FlowWatch(DESIGN_FLOW, _ANYWHERE, (), _flows, _above_design, _SHORT_GAP_US),
    StretchWatch(SEDIMENT, ("basin",), ("sediment",), _lost, _full),
    StretchWatch(BACKWATER, ("outfall",), ("second_stage",), _behind, _held_up),
)
