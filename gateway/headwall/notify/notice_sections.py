"""The parts of a mail that are not about a duty: near the threshold, an inactive site, a silent gauge, a fault of a
board, what an import would have asked for. They say what was seen and leave the judgement to the reader.
"""

from __future__ import annotations

from headwall.law.localtime import day_of, short
from headwall.notify import doubt_words, gauge_rows, wording
from headwall.notify.content import Block, Row, Section, row
from headwall.notify.lookup import Lookup
from headwall.notify.permit_rows import permit_rows
from headwall.rules.facts import (
    GaugeSilent,
    HistoricalSummary,
    InactiveSiteStorm,
    NearThreshold,
    NodeFault,
    RainMissing,
    StormSummary,
)

_ROLES = (("trained_contractor", "Trained contractor"), ("developer", "Developer"))


def near_threshold(look: Lookup, fact: NearThreshold) -> Section:
    """A storm that ended just below the depth, or reached it by its corrected depth alone: the officer's call."""
    zone, storm = look.zone(fact.municipality), fact.storm
    measured, asked = wording.inches(storm.depth_in), wording.inches(fact.threshold_in)
    counted = f"A storm ended at {measured} at the gauge; the code asks about {asked}."
    if fact.by_correction:
        corrected = wording.inches(storm.corrected_in)
        counted += f" With what the bucket misses while it tips, it comes to {corrected}."
    else:
        counted += " Tipping buckets miss some rain."
    return Section(
        heading=f"{look.site_name(fact.site)}: {measured}, near threshold, your call",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            f"{counted} Wind takes more, and the gauge is not the site. Whether this was a qualifying storm is your "
            "call.",
            *gauge_rows.doubt_lead(look, fact.datastream, storm),
        ),
        steps=(
            f"If you count it as {asked} or more, ask for the inspection report as after any other qualifying storm.",
            "Compare with a neighbouring gauge or a manual one where you have one.",
        ),
        blocks=(
            _storm_block(look, fact, storm, storm.end_us),
            _site_block(look, fact.site, storm.end_us),
            _rule_block(look, fact.municipality, fact.provision, fact.site, storm.end_us),
            gauge_rows.doubt_block(look, fact.datastream, fact.municipality),
            _reference(look, f"storm of {short(storm.start_us, zone)} at {fact.datastream}"),
        ),
    )


def inactive_site(look: Lookup, fact: InactiveSiteStorm) -> Section:
    """A storm at a site that the registry had as not active: no duty was opened, the officer should know why."""
    zone, depth = look.zone(fact.municipality), wording.inches(fact.storm.depth_in)
    status = "without a status" if fact.status == "none" else fact.status.replace("_", " ")
    return Section(
        heading=f"{look.site_name(fact.site)}: {depth} while the site was {status}",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            f"A qualifying depth was reached on {short(fact.crossing_us, zone)}, but the registry has the site as "
            f"{status} at that time, so no duty was opened. If work was going on there, the registry is wrong and "
            "a report may be owed: your call.",
            *gauge_rows.doubt_lead(look, fact.datastream, fact.storm),
        ),
        steps=(
            f"Check the site's status for {short(fact.crossing_us, zone)}.",
            "If the site was active, have its dated status corrected in the registry.",
        ),
        blocks=(
            _storm_block(look, fact, fact.storm, fact.crossing_us),
            _site_block(look, fact.site, fact.crossing_us),
            _rule_block(look, fact.municipality, fact.provision, fact.site, fact.crossing_us),
            gauge_rows.doubt_block(look, fact.datastream, fact.municipality),
            _reference(look, f"storm of {short(fact.storm.start_us, zone)} at {fact.datastream}"),
        ),
    )


def gauge_silent(look: Lookup, fact: GaugeSilent) -> Section:
    """No valid data: a qualifying storm cannot be ruled out."""
    zone = look.zone(fact.municipality)
    if fact.last_valid_us is None:
        since = "never yet"
    else:
        ago = wording.duration(fact.noticed_us - fact.last_valid_us)
        since = f"{wording.full_time(fact.last_valid_us, zone)} ({ago} before this was noticed)"
    sites = wording.listed([look.site_name(site) for site in fact.sites]) or "no site at present"
    return Section(
        heading=f"Rain gauge silent: {look.gauge_place(fact.datastream)}",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            f"No valid data for {fact.limit_min} minutes or more. Headwall cannot rule out a qualifying storm, check "
            f"by hand. Sites that rely on this gauge: {sites}.",
        ),
        steps=(
            "Read a neighbouring or manual gauge, or ask at the sites whether it rained and how much.",
            "If the depth may have been reached, ask for the inspection report. Whatever the board has kept "
            "is judged when it comes, and late data is said to be late.",
            "See that the gauge is looked at (its installer is named below).",
        ),
        blocks=(
            Block(
                "The gauge",
                (
                    row("Last valid data", since),
                    row("Noticed", wording.full_time(fact.noticed_us, zone)),
                    *gauge_rows.gauge_rows(look, fact.datastream, fact.noticed_us),
                ),
            ),
            *(_site_block(look, site, fact.noticed_us) for site in fact.sites),
            gauge_rows.doubt_block(look, fact.datastream, fact.municipality),
            _reference(look, f"gauge silent, {fact.datastream}, {short(fact.noticed_us, zone)}"),
        ),
    )


def rain_missing(look: Lookup, fact: RainMissing) -> Section:
    """A gauge without rain where others saw some, or where a stage rose."""
    zone = look.zone(fact.municipality)
    seen = [doubt_words.line(look, each, zone) for each in fact.doubts]
    sites = wording.listed([look.site_name(site) for site in fact.sites])
    return Section(
        heading=f"Rain gauge shows no rain: {look.gauge_place(fact.datastream)}",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            *seen,
            "The gauge may be blocked, or off level. Headwall cannot rule out a qualifying storm, check by hand. Sites "
            f"that rely on this gauge: {sites}.",
        ),
        steps=(
            "Ask at the sites whether it rained and how much, or read another gauge.",
            "If the depth may have been reached, ask for the inspection report.",
            "See that funnel and bucket are looked at (the gauge's installer is named below).",
        ),
        blocks=(
            Block(
                "The gauge",
                (
                    row("Noticed", wording.full_time(fact.noticed_us, zone)),
                    *gauge_rows.gauge_rows(look, fact.datastream, fact.noticed_us),
                ),
            ),
            *(_site_block(look, site, fact.noticed_us) for site in fact.sites),
            gauge_rows.doubt_block(look, fact.datastream, fact.municipality),
            _reference(look, f"rain missing, {fact.datastream}, {short(fact.noticed_us, zone)}"),
        ),
    )


def node_fault(look: Lookup, fact: NodeFault) -> Section:
    """Something that the installer or the operator must mend."""
    zone, node = look.zone_of_node(fact.node), look.registry.node(fact.node)
    what = fact.fault.replace("_", " ")
    return Section(
        heading=f"Board {fact.node}: {what}",
        tone="notice",
        lead=(fact.detail,),
        blocks=(
            Block(
                "The board",
                (
                    row("Board", fact.node),
                    row("Place", node.place if node else "not in the registry"),
                    row("Noticed", wording.full_time(fact.noticed_us, zone)),
                ),
            ),
            _reference(look, f"{what}, {fact.node}, {short(fact.noticed_us, zone)}"),
        ),
    )


def historical(look: Lookup, fact: HistoricalSummary) -> Section:
    """What an import of old data would have asked for, one line a duty."""
    zone = look.zone_of(fact)
    duties = sorted(fact.duties, key=lambda duty: (duty.crossing_us, duty.site))
    rows = tuple(
        row(
            f"Due {short(duty.due_us, zone)} {day_of(duty.due_us, zone).year}",
            f"{look.site_name(duty.site)}: {wording.depth(duty.storm.depth_in, duty.storm.depth_mm)}",
            f"duty {duty.duty}, depth reached {short(duty.crossing_us, zone)}",
        )
        for duty in duties
    )
    count = wording.counted(len(duties), "inspection report")
    return Section(
        heading=f"Imported rain: {count} would have been due",
        tone="notice",
        lead=(
            f"Old data of {fact.datastream} was imported from {fact.source}. By it {count} would have become due. "
            "They are kept as historical: nobody was told at the time, and what follows from that is your decision.",
        ),
        blocks=(
            Block("What would have been due", rows or (row("Nothing found", "gaps in the data say nothing"),)),
            _reference(look, f"import of {fact.source}"),
        ),
    )


def _storm_block(look: Lookup, fact: NearThreshold | InactiveSiteStorm, storm: StormSummary, at_us: int) -> Block:
    zone = look.zone(fact.municipality)
    provision = look.storm_report(fact.municipality, fact.provision)
    return Block(
        "What fell",
        (
            *gauge_rows.storm_rows(look, fact.datastream, storm, provision, zone),
            *gauge_rows.gauge_rows(look, fact.datastream, at_us),
            gauge_rows.gap_row(look, fact, storm.end_us, zone),
        ),
    )


def _site_block(look: Lookup, site_id: str, at_us: int) -> Block:
    site = look.registry.site(site_id)
    rows = [row("Site", look.site_name(site_id), site.place if site else "not in the registry")]
    for role, label in _ROLES:
        lines = [line for person in look.people(site_id, role, at_us) for line in wording.contact(person)]
        rows.append(Row(label, tuple(lines) or ("none in the registry for that day",)))
    return Block(f"The site: {look.site_name(site_id)}", tuple(rows))


def _rule_block(look: Lookup, municipality: str, provision: str, site: str, at_us: int) -> Block:
    rule = look.provision(municipality, provision)
    if rule is None:
        return Block("The rule", (row("Provision", provision),))
    citation = f"{look.municipality_name(municipality)}, {rule.citation}"
    rows = (row("Citation", citation, f"({rule.confidence_text})"), row("Subject", rule.subject))
    return Block("The rule", (*rows, *permit_rows(look, municipality, site, at_us)))


def _reference(look: Lookup, what: str) -> Block:
    return Block("Reference", (row("Matter", what), row("Ledger", look.ledger.id)))
