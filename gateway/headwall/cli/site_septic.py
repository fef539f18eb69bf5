"""A septic tank in `headwall site show`: clearances, liquid, forecast, what was pumped and measured by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any, Final

import sqlalchemy as sa

from headwall.cli.common import wrapped
from headwall.cli.entry_text import as_data, said
from headwall.cli.opened import Opened, minute
from headwall.cli.site_parts import (
    WITHIN_DAYS,
    WITHIN_US,
    Found,
    cited,
    clause_lines,
    clause_of,
    day_text,
    entered_text,
    length,
    metres,
    read_text,
    row,
    value_data,
)
from headwall.derive import septic
from headwall.law.provisions import SepticPumpOut
from headwall.ledger import approvals
from headwall.officer_units import shown
from headwall.registry.model import Site
from headwall.rules.clauses.septic import DECLARED

_HAND: Final = {"scum_clearance": "scum clearance", "sludge": "sludge", "liquid": "liquid above the invert"}


def gathered(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found:
    registry, since_us = at.registry, at_us - WITHIN_US
    tank = septic.tank_at(registry, site.id, at_us)
    clause = clause_of(at, site, SepticPumpOut, at_us)
    limits = None if clause is None else septic.Limits(metres(clause.scum_clearance), metres(clause.sludge_clearance))
    pumped = septic.last_pump_out(conn, site.id, at_us)
    liquid = septic.liquid(conn, registry, site.id, since_us, at_us + 1)
    return {
        "indication": septic.INDICATION,
        "tank": None if tank is None else {"floor_m": tank.floor, "baffle_m": tank.baffle},
        "provision": None
        if clause is None
        else {**cited(clause), "only_if": clause.only_if, "declared": _declared(conn, site, clause, at_us)},
        "layers": {layer: _layer(conn, at, site, layer, limits, at_us) for layer in septic.LAYERS},
        "liquid": None if liquid is None else _liquid(liquid),
        "last_pump_out": None if pumped is None else as_data(pumped) | {"said": said(pumped.body)},
        "by_hand": [_by_hand(each, tank, limits) for each in septic.compared(conn, registry, site.id, at_us)],
    }


def _declared(conn: sa.Connection, site: Site, clause: SepticPumpOut, at_us: int) -> str | None:
    """The document with which the officer has declared what the clause asks for; None: it asks for nothing, or none."""
    if not clause.only_if:
        return None
    standing = approvals.approvals_at(conn, site.municipality, site.id, at_us)
    return next((each.body.reference for each in standing if each.kind == DECLARED), None)


def _layer(
    conn: sa.Connection, at: Opened, site: Site, layer: septic.Layer, limits: septic.Limits | None, at_us: int
) -> Found:
    since_us = at_us - WITHIN_US
    newest = next(reversed(septic.clearances(conn, at.registry, site.id, layer, since_us, at_us + 1)), None)
    limit_m = None if limits is None else limits.of(layer)
    dated = None if limit_m is None else septic.forecast(conn, at.registry, site.id, layer, limit_m, at_us)
    return {
        "clearance": None
        if newest is None
        else {"time_us": newest.time_us, **value_data(newest.derived, "m"), "flag": newest.flag},
        "limit_m": limit_m,
        "reached": None
        if newest is None or limit_m is None or newest.derived.value is None
        else newest.reaches(limit_m),
        "forecast": None if dated is None else asdict(dated),
    }


def _liquid(found: septic.Liquid) -> Found:
    newest = found.newest
    return {
        "tolerance_m": found.tolerance_m,
        "dwell_us": found.dwell_us,
        "newest": None
        if newest is None
        else {"time_us": newest.time_us, **value_data(newest.derived, "m"), "flag": newest.flag},
        "above": [each._asdict() for each in found.above],
        "surges": [each._asdict() for each in found.surges],
        "sinkings": [each._asdict() for each in found.sinkings],
    }


def _by_hand(each: septic.Compared, tank: Any, limits: septic.Limits | None) -> Found:
    clearance = None if tank is None else septic.hand_clearance(each.what, each.hand_m, tank.depths)
    layer: septic.Layer = "scum" if each.what == "scum_clearance" else "sludge"
    reached = None if clearance is None or limits is None else septic.within(clearance, limits.of(layer))
    return {
        "entry": each.entry,
        "done_us": each.done_us,
        "by": each.by,
        "what": each.what,
        "hand_m": _finite(each.hand_m),
        "clearance_m": _finite(clearance),
        "reached": reached,
        "sensor_m": _finite(each.sensor_m),
        "difference_m": each.difference_m,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def lines(found: Found, at: Opened) -> Iterator[str]:
    tank = found["tank"]
    if tank is None:
        yield "Septic tank: not in the registry; its depths go under `tanks` of the site"
    else:
        depths = f"floor {shown(tank['floor_m'], 'm')}, end of the outlet baffle {shown(tank['baffle_m'], 'm')}"
        yield f"Septic tank: {depths} below the outlet invert"
    for layer, each in found["layers"].items():
        yield row(f"{layer} clearance", _clearance_text(each, at))
    yield from _liquid_lines(found["liquid"], at)
    for layer, each in found["layers"].items():
        if each["forecast"] is not None:
            yield row("pump-out", _forecast_text(layer, each["forecast"], at))
    pumped = found["last_pump_out"]
    yield row("last pump-out", "none on record" if pumped is None else entered_text(pumped, at))
    yield from _hand_lines(found["by_hand"], at)
    yield from clause_lines(found["provision"], "no clause of this code says at which clearance a tank is pumped")
    yield wrapped("  ", found["indication"])


def _clearance_text(found: Found, at: Opened) -> str:
    newest, limit_m = found["clearance"], found["limit_m"]
    if newest is None:
        return f"no reading in {WITHIN_DAYS} days"
    text = f"{newest['shown']}, {read_text(newest, at)}"
    if limit_m is None or found["reached"] is None:
        return text
    said_of_limit = "within the {} of the code" if found["reached"] else "the code names {}"
    return f"{text}; {said_of_limit.format(shown(limit_m, 'm'))}"


def _liquid_lines(found: Found | None, at: Opened) -> Iterator[str]:
    if found is None:
        return
    newest = found["newest"]
    above = "" if newest is None or newest["value"] is None else " above the outlet invert"
    yield row(
        "liquid",
        f"no reading in {WITHIN_DAYS} days" if newest is None else f"{newest['shown']}{above}, {read_text(newest, at)}",
    )
    tolerance, dwell_min = shown(found["tolerance_m"], "m"), found["dwell_us"] // 60_000_000
    for each in [each for each in found["above"] if each["dwelt"] or not each["ended"]][-3:]:
        until = f"until {minute(each['end_us'], at.zone)}" if each["ended"] else "and may go on"
        short = "" if each["dwelt"] else f", not yet for {dwell_min} min"
        start = minute(each["start_us"], at.zone)
        yield row("", f"more than {tolerance} above it from {start} {until}, at most {length(each['peak_m'])}{short}")
    yield from _counted(found["surges"], "surge", lambda each: f"rose {length(each['rise_m'])}", at)
    yield from _counted(
        found["sinkings"], "sank below the invert without inflow", lambda each: f"by {length(each['drop_m'])}", at
    )


def _counted(found: list[Found], what: str, told: Callable[[Found], str], at: Opened) -> Iterator[str]:
    if found:
        newest = found[-1]
        times = "once" if len(found) == 1 else f"{len(found)} times"
        yield row("", f"{what}: {times} in {WITHIN_DAYS} days, {minute(newest['start_us'], at.zone)} {told(newest)}")


def _forecast_text(layer: str, found: Found, at: Opened) -> str:
    since = f"the pump-out of {day_text(found['since_us'], at)}" if found["pumped"] else day_text(found["since_us"], at)
    if found["why"]:
        return f"{layer}: no date, since {found['why']} (since {since})"
    latest = "no end" if found["latest_us"] is None else day_text(found["latest_us"], at)
    span = f"{day_text(found['earliest_us'], at)} to {latest}"
    expected = f"{shown(found['limit_m'], 'm')} about {day_text(found['expected_us'], at)}"
    return f"{layer} at {expected} ({span}), by {found['values']} days since {since}"


def _hand_lines(found: list[Found], at: Opened) -> Iterator[str]:
    if not found:
        yield row("by hand", "nothing on record")
        return
    newest = max(each["done_us"] for each in found)
    for each in (each for each in found if each["done_us"] == newest):
        hand = "none found" if each["hand_m"] is None else length(each["hand_m"])
        text = f"{minute(each['done_us'], at.zone)}, by {each['by']}: {_HAND[each['what']]} {hand}"
        if each["what"] == "sludge" and each["clearance_m"] is not None:
            text += f", clearance {length(each['clearance_m'])}"
        if each["reached"]:
            text += ", within the code's distance"
        yield row("by hand", f"{text}; {_beside(each)}")
    earlier = [each for each in found if each["done_us"] < newest and each["difference_m"] is not None]
    for each in earlier[-3:]:
        what = _HAND[each["what"]]
        yield row("  earlier", f"{minute(each['done_us'], at.zone)}, by {each['by']}: {what}, {_beside(each)}")


def _beside(each: Found) -> str:
    difference = each["difference_m"]
    if difference is None:
        return "no sensor value within a day to compare"
    more = "more" if difference >= 0 else "less"
    return f"{length(abs(difference))} {more} by hand than by the sensor"
