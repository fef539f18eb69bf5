"""An outfall in `headwall site show`: what ran in the last day, how it runs in dry weather, turbidity added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from headwall.cli.opened import Opened, minute
from headwall.cli.site_parts import Found, row, value_data
from headwall.derive.derivation import quantities_of
from headwall.derive.outfall import passed, turbidity_added
from headwall.officer_units import shown
from headwall.registry.model import Site
from headwall.rules.episode_notices import open_notices
from headwall.rules.facts import SuspectedDischarge

_DAY_US: Final = 86_400_000_000
_HOUR_US: Final = 3_600_000_000


def gathered(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found:
    there = quantities_of(at.registry.measures(site.id))
    return {
        "last_day": _day(conn, at, site, at_us) if "flow" in there else None,
        "turbidity_added": _turbidity(conn, at, site, at_us) if "upstream_turbidity" in there else None,
        "suspected": [_suspected(each) for _, each in open_notices(conn, SuspectedDischarge, site.id)],
    }


def _day(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found:
    found = passed(conn, at.registry, site.id, at_us - _DAY_US, at_us)
    return {
        "low_m3": found.low_m3,
        "high_m3": found.high_m3,
        "peak": value_data(found.peak, "m3/s"),
        "peak_us": found.peak_us,
        "measured_us": found.measured_us,
    }


def _turbidity(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found | None:
    found = turbidity_added(conn, at.registry, site.id, at_us - _DAY_US, at_us + 1)
    return {"time_us": found[-1][0], **value_data(found[-1][1], "NTU")} if found else None


def _suspected(fact: SuspectedDischarge) -> Found:
    return {
        "start_us": fact.start_us,
        "end_us": fact.end_us,
        "ongoing": fact.ongoing,
        "likeness": fact.likeness,
        "confidence": fact.confidence,
        "evidence": fact.evidence,
    }


def lines(found: Found, at: Opened) -> Iterator[str]:
    day = found["last_day"]
    if day is not None:
        yield "The last 24 hours"
        yield row("passed", _volume(day))
        peak = f", {minute(day['peak_us'], at.zone)}" if day["peak_us"] is not None else ""
        yield row("greatest flow", f"{day['peak']['shown']}{peak}")
    added = found["turbidity_added"]
    if added is not None:
        yield row("turbidity added", f"{added['shown']}, {minute(added['time_us'], at.zone)}")
    yield "Dry weather"
    if not found["suspected"]:
        yield row("suspected", "nothing at present; hours without readings or after rain are not judged")
    for each in found["suspected"]:
        until = "still running" if each["ongoing"] else f"to {minute(each['end_us'], at.zone)}"
        likeness = each["likeness"].replace("_", " ")
        yield row(
            "suspected",
            f"from {minute(each['start_us'], at.zone)} {until}, looks like {likeness} (confidence "
            f"{each['confidence']:.0%}): no finding, a person has to look",
        )


def _volume(day: Found) -> str:
    hours = day["measured_us"] / _HOUR_US
    if not day["measured_us"]:
        return "not known: nothing was measured"
    low, high = shown(day["low_m3"], "m3"), None if day["high_m3"] is None else shown(day["high_m3"], "m3")
    between = low if high == low else f"at least {low}" if high is None else f"{low} to {high}"
    return between if hours > 23.99 else f"{between} in the {hours:.1f} hours that were measured"
