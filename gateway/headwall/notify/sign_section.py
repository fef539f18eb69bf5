"""The part of a mail about what sensors of a site show: a condition that waits for a person, or a sign of a tank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headwall.law.localtime import short
from headwall.law.provisions import FailingSystem
from headwall.notify import gauge_rows, wording
from headwall.notify.content import Block, Row, Section, row
from headwall.notify.lookup import Lookup
from headwall.officer_units import shown
from headwall.rules.facts import SiteSign

_NO_FINDING: Final = "That is what the readings show, and no finding: whether it is so a person has to see on the spot."
_PHOTO: Final = "Photograph the water above and below the site, with the time: the code asks what can be seen."


@dataclass(frozen=True)
class _Words:
    """How a sign is told.

    Attributes:
        head: after the site's name, in the heading.
        shows: a sentence of what the readings show, with "{most}" for how much.
        most: the name of that amount in the evidence, and its unit.
        steps: what to do.
    """

    head: str
    shows: str
    most: tuple[str, str]
    steps: tuple[str, ...]


_WORDS: Final = {
    "liquid_level": _Words(
        "liquid above the outlet invert",
        "The liquid in the septic tank has stood above its outlet invert, by up to {most}.",
        ("peak_m", "m"),
        (
            "Have the tank looked at, and the liquid measured by hand from the lid: the outlet, its baffle and the "
            "absorption field may be blocked or flooded.",
            "Ask whether sewage has come up in the house or on the ground: those are conditions of their own.",
        ),
    ),
    "turbidity": _Words(
        "the water is more turbid below the site",
        "Downstream of the site the water has been more turbid than upstream, by up to {most}.",
        ("added_ntu", "NTU"),
        (_PHOTO, "Look at the controls of the site, and at what else drains into the reach between the sensors."),
    ),
    "design_flow": _Words(
        "flow above the design of the practice",
        "More has left the practice than its design lets out, up to {most}.",
        ("peak_m3_s", "m3/s"),
        ("Look at the outlet while it runs, and at what comes in.", "Check the design value on record."),
    ),
    "tank_leak": _Words(
        "the tank may not hold its liquid",
        "While nothing came in, the liquid sank below the outlet invert, by up to {most}; an intact tank holds it.",
        ("most_m", "m"),
        ("Ask whether the tank was pumped or opened.", "Have tank and outlet looked at for cracks and leaks."),
    ),
    "tank_surges": _Words(
        "the liquid in the tank surges",
        "The liquid has risen fast, by up to {most}: faster than the outlet lets go.",
        ("most_m", "m"),
        ("Ask what is drained into the tank: ground water, a pump, a pool.", "Have outlet and field looked at."),
    ),
    "hand_differs": _Words(
        "sensor and hand measurement differ",
        "What was measured by hand differs from what the sensors read.",
        ("", ""),
        ("Have sensor and zero checked; where the stick was wrong, enter the measurement again with --replaces.",),
    ),
}  # fmt: skip


def site_sign(look: Lookup, fact: SiteSign) -> Section:
    """A proposal, or something to know: the officer decides whether somebody goes there."""
    zone, words = look.zone(fact.municipality), _WORDS[fact.what]
    return Section(
        heading=f"{look.site_name(fact.site)}: {words.head}{_how_sure(fact)}",
        tone="notice",
        lead=(
            *gauge_rows.commissioning_lead(look, fact.datastream),
            f"{shows(fact)} {_when(look, fact)}",
            *_lasted(fact),
            _NO_FINDING,
        ),
        steps=words.steps,
        blocks=(
            Block(
                "What was seen",
                (
                    row("From", wording.full_time(fact.start_us, zone)),
                    row("Last", wording.full_time(fact.end_us, zone)),
                    *evidence_rows(fact),
                    row("Readings", fact.datastream),
                ),
            ),
            *_enter(look, fact),
            *_clause(look, fact),
            Block("Reference", (row("This matter", f"{words.head}, {fact.site}, {short(fact.start_us, zone)}"),)),
        ),
    )


def _how_sure(fact: SiteSign) -> str:
    if not fact.case:
        return ""
    return ", which has lasted" if fact.present else ", suspected"


def _when(look: Lookup, fact: SiteSign) -> str:
    zone = look.zone(fact.municipality)
    since, until = short(fact.start_us, zone), short(fact.end_us, zone)
    if fact.what == "hand_differs":
        return f"It was measured {since}."
    if "times" in fact.evidence:
        times = int(fact.evidence["times"])
        return f"Once, {since}." if times == 1 else f"{times} times, from {since} to {until}."
    lasted = wording.duration(fact.end_us - fact.start_us)
    return f"Since {since}, {lasted} so far." if fact.ongoing else f"From {since} to {until}, for {lasted}."


def _lasted(fact: SiteSign) -> tuple[str, ...]:
    if not fact.case:
        return ()
    dwell = wording.duration(int(fact.evidence.get("dwell_min", 0)) * 60_000_000)
    if fact.present:
        return (f"It has lasted for {dwell} or more, from when on it counts as present here.",)
    return (f"It counts as present once it has lasted for {dwell}; until then it is a suspicion.",)


def shows(fact: SiteSign) -> str:
    """What the readings show, in a sentence."""
    words = _WORDS[fact.what]
    name, unit = words.most
    most = shown(float(fact.evidence[name]), unit) if name in fact.evidence else "an unknown amount"
    return words.shows.format(most=most)


def evidence_rows(fact: SiteSign) -> list[Row]:
    """What is known of the evidence, in the officer's units."""
    return [row(label, told(fact.evidence[name])) for name, label, told in _TOLD if name in fact.evidence]


def _in(unit: str) -> Callable[[float | int | str], str]:
    return lambda value: shown(float(value), unit)


def _differs(value: float | int | str) -> str:
    metres = float(value)
    return f"{shown(abs(metres), 'm')} {'more' if metres >= 0 else 'less'} by hand than by the sensor"


#: rows in their order
_TOLD: Final[tuple[tuple[str, str, Callable[[float | int | str], str]], ...]] = (
    ("peak_m", "Highest", _in("m")),
    ("tolerance_m", "Normal up to", _in("m")),
    ("added_ntu", "Most added", _in("NTU")),
    ("officers_limit_ntu", "Set by the officer", _in("NTU")),
    ("peak_m3_s", "Greatest flow", _in("m3/s")),
    ("design_m3_s", "Design", _in("m3/s")),
    ("design_by", "Design by", str),
    ("times", "Times", str),
    ("most_m", "Most", _in("m")),
    ("entry", "Entry", str),
    ("scum_clearance_difference_m", "Scum clearance", _differs),
    ("sludge_difference_m", "Sludge", _differs),
    ("liquid_difference_m", "Liquid", _differs),
)


def _enter(look: Lookup, fact: SiteSign) -> tuple[Block, ...]:
    site = look.registry.site(fact.site)
    rows = [row("You decide", f"headwall case list --site {fact.site}")] if fact.case else []
    if site is not None and site.kind == "septic":
        rows.insert(0, row("Measured by hand", f"headwall record septic {fact.site} --by NAME"))
    return (Block("What to enter", tuple(rows)),) if rows else ()


def _clause(look: Lookup, fact: SiteSign) -> tuple[Block, ...]:
    found = look.provision(fact.municipality, fact.provision) if fact.provision else None
    if found is None:
        return ()
    rows = [row("Clause", f"{found.citation} ({found.confidence_text})"), row("It says", found.requirement)]
    if isinstance(found, FailingSystem):
        rows.append(row("Conditions", *(each.text for each in found.conditions)))
    rows += [row("Open", text) for text in found.ambiguities]
    return (Block("The code", tuple(rows)),)
