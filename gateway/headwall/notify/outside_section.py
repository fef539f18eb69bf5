"""The part of a mail about flow outside an approval: what ran, what it is outside of, and that a person decides."""

from __future__ import annotations

from headwall.law.localtime import short
from headwall.notify import gauge_rows, wording
from headwall.notify.content import Block, Row, Section, row
from headwall.notify.discharge_section import evidence_rows, likeness, place_of
from headwall.notify.lookup import Lookup
from headwall.rules.approval_spans import BARRED, WHY
from headwall.rules.facts import OutsideApproval


def outside_approval(look: Lookup, fact: OutsideApproval) -> Section:
    """A proposal: who let the water run, and whether the register is up to date, a person finds out."""
    zone = look.zone(fact.municipality)
    since = short(fact.start_us, zone)
    ran = f"since {since} it has run" if fact.ongoing else f"it ran from {since} to {short(fact.end_us, zone)}"
    rain = (
        " Access itself is barred, so flow is told in rain too."
        if fact.why in BARRED
        else " Rain does not explain it: what rain drives is stormwater and is not told here."
    )
    looks = () if not fact.likeness else (row("Looks like", likeness(fact.likeness)),)
    return Section(
        heading=f"{look.site_name(fact.site)}: flow outside an approval is suspected",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            f"Flow {WHY[fact.why]} ({fact.reference}): {ran}.{rain}",
            "That is what readings and register say, and no finding: whose water it is, a person has to find out.",
        ),
        steps=(
            "Have the place looked at while it runs, and take a sample where there is anything to see.",
            "Look whether the register is complete: an approval, a filing or a reinstatement may not have been "
            "entered. What is entered late counts from its own date.",
            "A spill is reported by telephone at once, whatever this mail says: 911 where there is danger.",
        ),
        blocks=(
            Block(
                "What was seen",
                (
                    row(
                        "First and last",
                        wording.full_time(fact.start_us, zone),
                        wording.full_time(fact.end_us, zone),
                    ),
                    *looks,
                    *evidence_rows(fact.evidence),
                ),
            ),
            Block(
                "What to enter",
                (
                    row("The register", f"headwall approval list --site {fact.site} --all"),
                    row("A step of it", "headwall approval step ID STEP --by NAME"),
                    row("You decide", f"headwall case list --site {fact.site}"),
                ),
            ),
            Block("The place", (row("Place", place_of(look, fact.site)), row("Readings", fact.datastream))),
            Block(
                "Reference", (*_clause(look, fact), row("This matter", f"outside an approval, {fact.site}, {since}"))
            ),
        ),
    )


def _clause(look: Lookup, fact: OutsideApproval) -> tuple[Row, ...]:
    clause = look.provision(fact.municipality, fact.provision)
    if clause is None:
        return ()
    return (row("Clause", f"{clause.citation} ({clause.confidence_text})", clause.subject),)
