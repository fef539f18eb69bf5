"""Rows about a gauge and a storm that several kinds of mail share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from headwall.law.localtime import day_of, short
from headwall.law.profile import StormReport
from headwall.notify import wording
from headwall.notify.content import Block, Row, row
from headwall.notify.lookup import Lookup
from headwall.rules.facts import Gap, StormSummary

_LIKELY_STILL_RAINING_US = 15 * 60_000_000


def gauge_rows(look: Lookup, datastream: str, at_us: int) -> list[Row]:
    """Where the gauge is, what it is, when it was last checked against a known volume."""
    tip = look.tip(datastream, at_us)
    kind = f"{datastream}, tipping bucket of {tip}" if tip else datastream
    calibration = look.last_calibration(datastream, at_us) or "none on record: weigh the depth accordingly"
    return [row("Gauge", look.gauge_place(datastream), kind), row("Last calibration", calibration)]


def gap_row(gaps: Sequence[Gap], start_us: int, end_us: int, zone: tzinfo) -> Row:
    """What the gauge did not see: rain in a gap is missing from every depth above."""
    if not gaps:
        return row("Gaps", f"none known between {short(start_us, zone)} and {short(end_us, zone)}")
    lines = [f"no valid data {_span(gap, zone)}" for gap in gaps]
    return Row("Gaps", (*lines, "Rain in a gap is not in these depths."))


def _span(gap: Gap, zone: tzinfo) -> str:
    if gap.end_us is None:
        return f"since {short(gap.start_us, zone)}, still silent"
    length = wording.duration(gap.end_us - gap.start_us)
    return f"{short(gap.start_us, zone)} to {short(gap.end_us, zone)} ({length})"


def storm_rows(look: Lookup, storm: StormSummary, provision: StormReport | None, zone: tzinfo) -> list[Row]:
    """How much, from when to when, whether it goes on, how hard."""
    return [
        row("Depth", wording.depth(storm.depth_in, storm.depth_mm)),
        row("From", f"{wording.full_time(storm.start_us, zone)} (first tip)"),
        row("To", f"{wording.full_time(storm.end_us, zone)} (last tip{'' if storm.ended else ' so far'})"),
        row("Still raining", still_raining(look, storm, provision, zone)),
        row("Peak 15 minutes", _peak(storm)),
    ]


def still_raining(look: Lookup, storm: StormSummary, provision: StormReport | None, zone: tzinfo) -> str:
    """What is known of whether the storm goes on. A gauge cannot say that it has stopped, only what it saw last."""
    if storm.ended:
        return "no: the storm is over"
    numbers = provision.storm_on(day_of(storm.start_us, zone)) if provision else None
    over = f"over after {wording.duration(numbers.mit_us)} without rain" if numbers else "not over yet"
    since_us = look.now_us - storm.end_us
    if since_us <= _LIKELY_STILL_RAINING_US:
        return f"yes: last tip {wording.duration(since_us)} before this was written; {over}"
    return f"not known: no tip for {wording.duration(since_us)} before this was written; {over}"


def _peak(storm: StormSummary) -> str:
    if storm.peak_15min_mm_h is None:
        return "none: the rain lasted less than 15 minutes so far"
    return wording.rate(storm.peak_15min_mm_h)


def doubt_block(look: Lookup, datastream: str, municipality: str) -> Block:
    """Whom to ask when the gauge is wrong or what the registry says of the site is."""
    installer = look.registry.installer_of(datastream.partition("/")[0])
    operators = look.registry.operators(municipality, look.now_us)
    gauge = wording.contact(installer) if installer else ("no installer in the registry",)
    site = [line for person in operators for line in wording.contact(person)]
    return Block(
        "If something looks wrong",
        (
            Row("The gauge", gauge),
            Row("Site closed, people changed", tuple(site) or ("no operator in the registry",)),
        ),
    )


def commissioning_lead(look: Lookup, datastream: str) -> list[str]:
    """Said on top of every matter of a gauge that nobody has accepted yet."""
    if look.accepted(datastream):
        return []
    node = datastream.partition("/")[0]
    return [
        f"The gauge {datastream} is in commissioning: it is judged, but its installer alone is told until a named "
        "person accepts it:",
        f"headwall node accept {node} --by NAME",
    ]
