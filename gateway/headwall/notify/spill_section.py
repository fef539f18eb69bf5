"""The part of a mail about a spill: who is to be told by a person's call, by when, and how a call is logged."""

from __future__ import annotations

from headwall.law.localtime import short
from headwall.notify import wording
from headwall.notify.content import Block, Row, Section, row
from headwall.notify.discharge_section import place_of
from headwall.notify.lookup import Lookup
from headwall.rules.facts import SpillReported, ToTell


def spill(look: Lookup, fact: SpillReported) -> Section:
    """A person has reported it; nobody has been called by this."""
    zone = look.zone(fact.municipality)
    return Section(
        heading=f"SPILL at {look.site_name(fact.site)}, known since {short(fact.known_us, zone)}",
        tone="late",
        lead=(
            f"{fact.by} has opened a case: {fact.what}",
            "Nobody has been called by that. What is to be told, and by when, stands below as the code and the State "
            "have it; whether it is hazardous a person says, and until then both ways are timed.",
        ),
        steps=(
            "Make the calls, or make sure that who is responsible has made them.",
            "Have it found, contained and cleaned up by those who may.",
            "Log each call: who called whom, when, at which number.",
            "Say whether it is hazardous.",
        ),
        blocks=(
            Block("Who is told, by when", tuple(_row(look, fact, each) for each in fact.to_tell)),
            Block(
                "What to enter",
                (
                    row("A call", f"headwall case call {fact.case} --to WHOM --number NUMBER --by NAME"),
                    row("What it is", f"headwall case classify {fact.case} hazardous --reason TEXT --by NAME"),
                    row("All of it", f"headwall case show {fact.case}"),
                ),
            ),
            Block("The place", (row("Place", place_of(look, fact.site)),)),
            Block("Reference", (row("This matter", f"spill, case {fact.case}, {fact.site}"),)),
        ),
    )


def _row(look: Lookup, fact: SpillReported, each: ToTell) -> Row:
    clause = look.provision(fact.municipality, each.provision)
    cited = [f"{clause.citation} ({clause.confidence_text})"] if clause else []
    due = wording.full_time(each.due_us, look.zone(fact.municipality))
    return row(wording.first_upper(wording.listed(each.who)), f"{due}: {each.rule}", *cited)
