"""The part of a mail that tells again: due soon, was due and is not in, or left to itself by those told first."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo

from headwall.cases.kinds import SPILL
from headwall.law import localtime
from headwall.law.localtime import short
from headwall.notify import wording
from headwall.notify.content import Block, Row, Section, Tone, row
from headwall.notify.lookup import Lookup
from headwall.registry.model import Person
from headwall.rules.facts import Reminder

_MINUTE_US = 60_000_000
_ORDER = ("escalated", "overdue", "moved", "before", "open")
_SAID = {
    "before": "Due soon",
    "overdue": "Overdue",
    "escalated": "Overdue, left to you",
    "open": "From now on",
    "moved": "Another time",
}
_WHEN = {"before": "by", "open": "from", "moved": "now"}
_TONES: Mapping[str, Tone] = {"before": "due", "open": "notice", "moved": "change"}


def reminders(look: Lookup, facts: Iterable[Reminder], reader: Person) -> list[Section]:
    """One section for all of a municipality that are told for the same reason, soonest due first."""
    groups: dict[tuple[int, str], list[Reminder]] = defaultdict(list)
    for fact in sorted(facts, key=lambda each: (each.due_us, each.site)):
        groups[_ORDER.index(fact.stage), fact.municipality].append(fact)
    return [_section(look, group, reader) for _, group in sorted(groups.items(), key=lambda each: each[0])]


def _section(look: Lookup, facts: Sequence[Reminder], reader: Person) -> Section:
    stage = facts[0].stage
    return Section(
        heading=_heading(look, facts),
        tone=_TONES.get(stage, "late"),
        lead=tuple(_lead(look, facts)),
        steps=tuple(_steps(look, facts)),
        blocks=tuple(_block(look, fact, reader) for fact in facts),
    )


def _heading(look: Lookup, facts: Sequence[Reminder]) -> str:
    one = facts[0]
    said_time = short if one.stage == "open" else localtime.until
    due = said_time(one.due_us, look.zone(one.municipality))
    said, when = _SAID[one.stage], _WHEN.get(one.stage, "since")
    if len(facts) == 1:
        return f"{said}: {look.site_name(one.site)}, {wording.first_lower(one.asks)}, {when} {due}"
    return f"{said}: {len(facts)} matters in {look.municipality_name(one.municipality)}, the first {when} {due}"


def _lead(look: Lookup, facts: Sequence[Reminder]) -> list[str]:
    still = [fact for fact in facts if fact.duty is None or look.closed(fact.duty) is None]
    if not still:
        return ["Closed in the meantime, see below."]
    one, many = still[0], len(still) > 1
    it, was, them = ("they", "were", "them") if many else ("it", "was", "it")
    unanswered = f"Nothing that answers {them} is on record"
    if one.stage == "before":
        return [
            f"{'The first is' if many else 'It is'} due in {wording.duration(one.due_us - look.now_us)}. {unanswered}."
        ]
    if one.stage == "open":
        return [f"Before this time it would have been too early; nobody is late after it. {unanswered}."]
    if one.stage == "moved":
        return [
            "The municipality has said how it reads its code, or the code was entered anew: the time is another one. "
            f"{unanswered}."
        ]
    over = f"{unanswered}, and the time is over. Whether that breaks the code, and what follows, a person decides."
    if one.stage == "overdue":
        return [over]
    names = list(dict.fromkeys(name for fact in still for name in fact.told))
    told = f"{wording.listed(names)} {'were' if len(names) > 1 else 'was'} told"
    ago = wording.duration(look.now_us - one.due_us)
    return [
        f"{told}, and nobody has said that {it} {was} seen. You are the next to be told, {ago} after "
        f"{'the first' if many else 'it'} was due.",
        over,
    ]


def _steps(look: Lookup, facts: Sequence[Reminder]) -> list[str]:
    one = facts[0]
    if len(facts) > 1:
        asked = ["Ask those named below for what they owe, or see that it is done."]
    else:
        asked = [look.ask(one.municipality, one.owed_by or "those named below")]
    if facts[0].stage == "escalated":
        asked.insert(0, f"Ask {wording.listed(facts[0].told)} who takes care of it." if facts[0].told else "See to it.")
    otherwise = "" if all(fact.duty is None for fact in facts) else ", or that you decide otherwise"
    return [
        *asked,
        f"Enter what was done{otherwise} (below). It stays open until a named person does.",
        "If you look after it, say so with the link at the end of this mail: then it goes to nobody else. That closes "
        "nothing.",
    ]


def _block(look: Lookup, fact: Reminder, reader: Person) -> Block:
    zone = look.zone(fact.municipality)
    site = look.registry.site(fact.site)
    rows = [
        row("Site", look.site_name(fact.site), site.place if site else "not in the registry"),
        row("What", wording.first_upper(fact.asks)),
        row("From" if fact.stage == "open" else "Due", _time(fact, zone), _distance(look, fact)),
    ]
    if fact.previous_due_us is not None:
        rows.append(row("An earlier mail said", wording.due_time(fact.previous_due_us, zone)))
    if fact.owed_by:
        rows.append(row("Owed by", fact.owed_by))
    for part, person in look.people_of_site(fact.site, fact.due_us):
        rows.append(Row(wording.first_upper(part.replace("_", " ")), wording.contact(person)))
    rule = look.provision(fact.municipality, fact.provision)
    rows.append(
        row("The rule", rule.citation if rule else fact.provision, *([f"({rule.confidence_text})"] if rule else []))
    )
    return Block(f"{_SAID[fact.stage]}: {_name(fact)}", (*rows, *_entering(look, fact, reader)))


def _time(fact: Reminder, zone: tzinfo) -> str:
    said = wording.full_time if fact.stage == "open" else wording.due_time
    return said(fact.due_us, zone)


def _distance(look: Lookup, fact: Reminder) -> str:
    away_us = fact.due_us - look.now_us
    return (
        f"in {wording.duration(away_us)}"
        if away_us > 0
        else f"{wording.duration(-away_us)} ago"
        if away_us < -_MINUTE_US
        else "now"
    )


def _name(fact: Reminder) -> str:
    return f"duty {fact.duty}" if fact.duty is not None else f"case {fact.case}"


def _entering(look: Lookup, fact: Reminder, reader: Person) -> list[Row]:
    by = shlex.quote(reader.name)
    if fact.duty is None:
        call = f"headwall case call {fact.case} --to WHOM --number NUMBER --by {by}"
        return [
            *([row("A call was made", call)] if fact.case_kind == SPILL else []),
            row(
                "What to enter",
                f"headwall case show {fact.case}",
                "It lists the steps that may follow, each a command of headwall case.",
            ),
            row("Reference", f"{_name(fact)}, ledger {look.ledger.id}"),
        ]
    closed = look.closed(fact.duty)
    rows = []
    if closed is not None:
        state, name, at_us = closed
        told = wording.full_time(at_us, look.zone(fact.municipality))
        rows.append(row("Now", f"closed as {state.replace('_', ' ')} by {name} on {told}"))
    return [
        *rows,
        row("It has been done", fact.answer or f"headwall duty received {fact.duty} --by {by}"),
        row("You decide otherwise", f"headwall duty not-needed {fact.duty} --by {by} --reason TEXT"),
        row("Reference", f"{_name(fact)}, ledger {look.ledger.id}"),
    ]
