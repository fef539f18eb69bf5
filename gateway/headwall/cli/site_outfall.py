"""An outfall in `headwall site show`: the last day's flow, dry weather, turbidity added, the newest sample by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from headwall.cli import site_dry_weather
from headwall.cli.common import wrapped
from headwall.cli.entry_text import as_data, said, sample_name
from headwall.cli.opened import Opened, minute
from headwall.cli.site_parts import Found, entered_text, row, value_data
from headwall.derive.derivation import quantities_of
from headwall.derive.outfall import passed, turbidity_added
from headwall.hydrology.derived import Derived
from headwall.hydrology.field_sample import (
    INDUSTRIAL_SOURCE,
    RESIDENTIAL,
    UNITS,
    Judged,
    Step,
    action_levels,
    propose,
    result,
)
from headwall.ledger.entries import FieldSample, standing
from headwall.officer_units import shown
from headwall.registry.model import Site
from headwall.rules.approval_spans import WHY
from headwall.rules.episode_notices import open_notices
from headwall.rules.facts import OutsideApproval, SuspectedDischarge

_DAY_US: Final = 86_400_000_000
_HOUR_US: Final = 3_600_000_000


def gathered(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found:
    there = quantities_of(at.registry.measures(site.id))
    return {
        "last_day": _day(conn, at, site, at_us) if "flow" in there else None,
        "dry_weather": site_dry_weather.gathered(conn, at, site, at_us, there),
        "turbidity_added": _turbidity(conn, at, site, at_us) if "upstream_turbidity" in there else None,
        "suspected": [
            _suspected(each) for _, each in open_notices(conn, SuspectedDischarge, site.id) if each.start_us <= at_us
        ],
        "outside_approval": [
            {**_suspected(each), "why": each.why, "provision": each.provision, "reference": each.reference}
            for _, each in open_notices(conn, OutsideApproval, site.id)
            if each.start_us <= at_us
        ],
        "sample": _sample(conn, site, at_us),
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


def _suspected(fact: SuspectedDischarge | OutsideApproval) -> Found:
    return {
        "start_us": fact.start_us,
        "end_us": fact.end_us,
        "ongoing": fact.ongoing,
        "likeness": fact.likeness,
        "confidence": fact.confidence,
        "evidence": fact.evidence,
    }


def _sample(conn: sa.Connection, site: Site, at_us: int) -> Found | None:
    """The newest sample that stands, of whatever age."""
    taken = standing(conn, FieldSample, site.id, until_us=at_us)
    if not taken:
        return None
    body = taken[-1].body
    results = {of: result(of, text) for of in UNITS if (text := getattr(body, of)) is not None}
    proposal = propose(results)
    return {
        **as_data(taken[-1]),
        "said": said(body),
        "action_levels": [_judged(each) for each in action_levels(results)],
        "action_levels_source": INDUSTRIAL_SOURCE,
        "likeness": proposal.likeness,
        "steps": [_step(each) for each in proposal.steps],
        "flow_chart_source": RESIDENTIAL.source,
        "flow_chart_confirmed": RESIDENTIAL.confirmed,
    }


def _judged(found: Judged) -> Found:
    level = found.level
    return {"of": level.of, "sense": level.sense, "level": level.value, "reached": found.reached}


def _step(found: Step) -> Found:
    return {
        "of": found.of,
        "value": found.value.value,
        "why_none": found.value.flag,
        "value_limit": found.value.limit,
        "shown": _figure(found.value),
        "level": found.limit,
        "over": found.over,
    }


def _figure(value: Derived) -> str | None:
    number = value.limit if value.value is None else value.value
    return None if number is None else f"{value.censored}{number:.3g}"


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
    yield from site_dry_weather.lines(found["dry_weather"], at)
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
    for each in found["outside_approval"]:
        until = "still running" if each["ongoing"] else f"to {minute(each['end_us'], at.zone)}"
        told = f"from {minute(each['start_us'], at.zone)} {until}, a flow {WHY[each['why']]} ({each['reference']})"
        yield row("outside", f"{told}: no finding, a person has to look")
    if found["sample"] is not None:
        yield from _sample_lines(found["sample"], at)


def _sample_lines(found: Found, at: Opened) -> Iterator[str]:
    yield "Newest sample by hand"
    yield row("sample", entered_text(found, at))
    levels = found["action_levels"]
    if levels:
        yield row("action levels", f"{_levels_text(levels)} ({found['action_levels_source']})")
    steps = "; ".join(_step_text(each) for each in found["steps"])
    told = found["likeness"] != "not_told"
    yield row(
        "flow chart", f"looks like {found['likeness'].replace('_', ' ')}: {steps}" if told else f"not told: {steps}"
    )
    unsure = "" if found["flow_chart_confirmed"] else ", whose numbers were not confirmed against the book,"
    yield wrapped("  ", f"A chart for residential areas{unsure} proposes this; no finding, a person has to look.")


def _levels_text(levels: list[Found]) -> str:
    reached = [_level_text(each) for each in levels if each["reached"]]
    open_ = [_level_text(each) for each in levels if each["reached"] is None]
    tested = dict.fromkeys(sample_name(each["of"]) for each in levels if each["reached"] is False)
    parts = [
        "reached: " + ", ".join(reached) if reached else "",
        "cannot be told: " + ", ".join(open_) if open_ else "",
        "" if reached or open_ else f"none reached by {', '.join(tested)}",
    ]
    return "; ".join(part for part in parts if part)


def _level_text(level: Found) -> str:
    sense = "at least" if level["sense"] == "at_least" else "at most"
    return f"{sample_name(level['of'])} {sense} {level['level']:g} {UNITS[level['of']]}".strip()


def _step_text(step: Found) -> str:
    name = step["of"].replace("_", " ")
    if step["shown"] is None:
        return "no ratio of ammonia to potassium" if step["of"] == "ammonia_to_potassium" else f"{name} not tested"
    if step["over"] is None:
        return f"{name} {step['shown']} may be more than {step['level']:g} or not"
    return f"{name} {step['shown']}, {'more' if step['over'] else 'not more'} than {step['level']:g}"


def _volume(day: Found) -> str:
    hours = day["measured_us"] / _HOUR_US
    if not day["measured_us"]:
        return "not known: nothing was measured"
    low, high = shown(day["low_m3"], "m3"), None if day["high_m3"] is None else shown(day["high_m3"], "m3")
    between = low if high == low else f"at least {low}" if high is None else f"{low} to {high}"
    return between if hours > 23.99 else f"{between} in the {hours:.1f} hours that were measured"
