"""Rows about a gauge and a storm that several kinds of mail share."""

from __future__ import annotations

from datetime import tzinfo

from headwall.law.localtime import day_of, short
from headwall.law.profile import StormReport
from headwall.notify import doubt_words, wording
from headwall.notify.content import Block, Row, row
from headwall.notify.lookup import Lookup
from headwall.rules.facts import Gap, InactiveSiteStorm, NearThreshold, StormDuty, StormSummary
from headwall.units import parse_depth

_LIKELY_STILL_RAINING_US = 15 * 60_000_000


def gauge_rows(look: Lookup, datastream: str, at_us: int) -> list[Row]:
    """Where the gauge is, what it is, when it was last checked against a known volume and what that did to a depth."""
    stream, tip = look.registry.datastream(datastream, at_us), look.tip(datastream, at_us)
    kind = f"{datastream}, tipping bucket of {parse_depth(stream.tip)}" if stream and stream.tip else datastream
    calibration = look.last_calibration(datastream, at_us) or "none on record: weigh the depth accordingly"
    lines = [calibration]
    if stream and stream.tip and tip and tip.calibration:
        same = tip.depth == parse_depth(stream.tip)
        lines.append(
            "It changed no depth." if same else f"By it a tip counts as {tip.depth.text_in} in in every depth."
        )
    return [row("Gauge", look.gauge_place(datastream), kind), Row("Last calibration", tuple(lines))]


def gap_row(look: Lookup, fact: StormDuty | NearThreshold | InactiveSiteStorm, until_us: int, zone: tzinfo) -> Row:
    """What is in no depth above: rain while the gauge was not judged, and tips that its board lost."""
    start_us, tip = fact.storm.start_us, look.tip(fact.datastream, fact.storm.start_us)
    lines = [
        f"{_span(gap, zone)}: {gap.reason}" if gap.reason else f"no valid data {_span(gap, zone)}" for gap in fact.gaps
    ]
    for lost in look.lost_tips(fact.datastream, start_us, until_us):
        much = wording.counted(lost.tips, "tip") + (f" ({(tip.depth * lost.tips).text_in} in)" if tip else "")
        why = ", whose memory was full" if lost.overrun else ""
        between = f"between {short(lost.start_us, zone)} and {short(lost.end_us, zone)}"
        lines.append(f"{much} counted and lost at the board{why}, {between}")
    if not lines:
        return row("Gaps", f"none known between {short(start_us, zone)} and {short(until_us, zone)}")
    return Row("Gaps", (*lines, "Rain in a gap is not in these depths."))


def _span(gap: Gap, zone: tzinfo) -> str:
    if gap.end_us is None:
        return f"since {short(gap.start_us, zone)}, still {'so' if gap.reason else 'silent'}"
    length = wording.duration(gap.end_us - gap.start_us)
    return f"{short(gap.start_us, zone)} to {short(gap.end_us, zone)} ({length})"


def storm_rows(
    look: Lookup, datastream: str, storm: StormSummary, provision: StormReport | None, zone: tzinfo
) -> list[Row]:
    """How much, why that may be wrong, from when to when, whether it goes on, how hard."""
    doubts = tuple(doubt_words.line(look, each, zone) for each in look.doubts(datastream, storm))
    return [
        Row("Depth", tuple(_depth_lines(storm))),
        *_by_hand_rows(storm, zone),
        *_part_rows(look, storm, zone),
        *_disagreement_rows(look, storm),
        *([Row("In doubt", doubts)] if doubts else []),
        row("From", f"{wording.full_time(storm.start_us, zone)} (first tip)"),
        row("To", f"{wording.full_time(storm.end_us, zone)} (last tip{'' if storm.ended else ' so far'})"),
        row("Still raining", still_raining(look, storm, provision, zone)),
        row("Peak 15 minutes", _peak(storm)),
    ]


def _depth_lines(storm: StormSummary) -> list[str]:
    """What was counted, which decides, and beside it what the bucket may have missed."""
    counted = wording.depth(storm.depth_in, storm.depth_mm)
    if storm.corrected_in in ("", storm.depth_in):
        return [counted]
    least = " or more" if storm.corrected_at_least else ""
    corrected = wording.depth(storm.corrected_in, storm.corrected_mm)
    return [f"{counted} counted, which decides", f"{corrected}{least} with what a bucket misses while it tips"]


def _by_hand_rows(storm: StormSummary, zone: tzinfo) -> list[Row]:
    lines = [
        f"{wording.depth(each.depth_in, each.depth_mm)} of snow water, {short(each.start_us, zone)} to "
        f"{short(each.end_us, zone)}, entered by {each.by} (entry {each.entry}); counted at its end"
        for each in storm.by_hand
    ]
    return [Row("Of it by hand", tuple(lines))] if lines else []


def _part_rows(look: Lookup, storm: StormSummary, zone: tzinfo) -> list[Row]:
    lines = [
        f"{wording.depth(each.depth_in, each.depth_mm)} {each.role} “{look.gauge_place(each.datastream)}”, "
        f"{short(each.first_us, zone)} to {short(each.last_us, zone)}"
        for each in storm.parts
    ]
    return [Row("Gauge by gauge", (*lines, "The backup counts where the primary did not speak."))] if lines else []


def _disagreement_rows(look: Lookup, storm: StormSummary) -> list[Row]:
    lines = [
        f"{wording.depth(each.primary_in, each.primary_mm)} at “{look.gauge_place(each.primary)}”, "
        f"{wording.depth(each.backup_in, each.backup_mm)} at “{look.gauge_place(each.backup)}”"
        for each in storm.disagreement
    ]
    open_ = "In the time in which both spoke. Which of them is right is your call."
    return [Row("Gauges disagree", (*lines, open_))] if lines else []


def doubt_lead(look: Lookup, datastream: str, storm: StormSummary) -> list[str]:
    """The same in a sentence, for the lead."""
    said = doubt_words.sentence(look.doubts(datastream, storm))
    disagree = "Two gauges disagree about this storm (see What fell)." if storm.disagreement else ""
    return [text for text in (said, disagree) if text]


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
    """Said on top of every matter of a sensor that nobody has accepted yet."""
    if look.accepted(datastream):
        return []
    node, what = datastream.partition("/")[0], "gauge" if datastream.endswith(".tips") else "sensor"
    return [
        f"The {what} {datastream} is in commissioning: it is judged, but its installer alone is told until a named "
        "person accepts it:",
        f"headwall node accept {node} --by NAME",
    ]
