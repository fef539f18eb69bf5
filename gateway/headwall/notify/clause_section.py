"""The part of a mail about what a clause makes due, whatever it is: what is asked, of whom, by when under both readings
of the code, what is on record, and which command enters what answers it.
"""

from __future__ import annotations

import shlex
from datetime import tzinfo

from headwall.law.deadlines import START_TEXT
from headwall.law.localtime import short
from headwall.law.provision import Provision
from headwall.notify import wording
from headwall.notify.content import Block, Row, Section, Tone, row
from headwall.notify.lookup import Lookup
from headwall.notify.permit_rows import permit_rows
from headwall.registry.model import Person
from headwall.rules.facts import ClauseDuty

#: what makes something due was noticed: whether it is a violation a person says
_SEEN = "First seen"


def clause_duty(look: Lookup, fact: ClauseDuty, reader: Person) -> Section:
    """One duty; as advice where the code has it so."""
    zone, rule = look.zone(fact.municipality), look.provision(fact.municipality, fact.provision)
    return Section(
        heading=f"{look.site_name(fact.site)}: {wording.first_lower(fact.asks)}{_when(look, fact, zone)}",
        tone=_tone(look, fact),
        lead=tuple(_lead(look, fact, zone)),
        steps=tuple(_steps(look, fact, rule)),
        blocks=(
            _clock_block(fact, rule, zone),
            *_evidence_blocks(fact),
            _site_block(look, fact),
            _rule_block(look, fact, rule),
            _entering_block(look, fact, reader),
        ),
    )


def _when(look: Lookup, fact: ClauseDuty, zone: tzinfo) -> str:
    if fact.trigger_gone:
        return ", asked no longer"
    if fact.due_us is None:
        return ", advice" if fact.advice else ""
    if fact.advice:
        return f", advice for {wording.due_time(fact.due_us, zone)}"
    if fact.not_before:
        return f", not before {wording.full_time(fact.due_us, zone)}"
    return f", {'was due' if fact.due_us < look.now_us else 'due'} {wording.due_time(fact.due_us, zone)}"


def _tone(look: Lookup, fact: ClauseDuty) -> Tone:
    if fact.trigger_gone or fact.previous_due_us is not None:
        return "change"
    if fact.advice or fact.not_before:
        return "notice"
    return "late" if fact.due_us is not None and fact.due_us < look.now_us else "due"


def _lead(look: Lookup, fact: ClauseDuty, zone: tzinfo) -> list[str]:
    lines = []
    if fact.trigger_gone:
        lines.append(f"This was asked and is asked no longer: {fact.trigger_gone}.")
    elif fact.previous_due_us is not None:
        why = f" What changed: {fact.because}." if fact.because else ""
        now = "not known" if fact.due_us is None else wording.due_time(fact.due_us, zone)
        was = wording.due_time(fact.previous_due_us, zone)
        lines.append(f"This corrects an earlier mail.{why} Due: was {was}; now {now}.")
    if fact.advice:
        lines.append("Advice, no duty by the code: nothing is overdue by it.")
    closed = look.closed(fact.duty)
    if closed is not None:
        state, name, at_us = closed
        lines.append(f"Now closed as {state.replace('_', ' ')}, by {name} on {short(at_us, zone)}.")
    return [*lines, _standing(look, fact)]


def _standing(look: Lookup, fact: ClauseDuty) -> str:
    """What the heading does not say: whose it is, and how long there is for it."""
    owed = f"For {fact.owed_by} to do"
    if fact.advice or fact.trigger_gone:
        return f"{owed}."
    if fact.due_us is None:
        return f"{owed}; no time is known for it (see The clock)."
    away_us = fact.due_us - look.now_us
    if fact.not_before:
        return f"{owed}, in {wording.duration(away_us)} at the earliest." if away_us > 0 else f"{owed} from now on."
    if away_us < 0:
        return f"{owed}: the time was over {wording.duration(-away_us)} ago, and nothing that answers it is on record."
    return f"{owed}, in {wording.duration(away_us)} at the latest."


def _steps(look: Lookup, fact: ClauseDuty, rule: Provision | None) -> list[str]:
    if fact.trigger_gone:
        return []
    goes = copies = means = ""
    if rule is not None and not fact.advice:
        goes = f" It goes to {rule.owed_to}." if rule.owed_to not in ("", fact.owed_by) else ""
        copies = f" A copy goes to {wording.listed(rule.copied_to)}." if rule.copied_to else ""
        means = f" By what means: {wording.listed(rule.means, 'or')}." if rule.means else ""
    return [
        f"{look.ask(fact.municipality, fact.owed_by)}{goes}{copies}{means}",
        "Enter what was done (below). It stays open until a named person has entered it.",
    ]


def _clock_block(fact: ClauseDuty, rule: Provision | None, zone: tzinfo) -> Block:
    rows = [
        row(_SEEN if name == "discovery" else wording.first_upper(START_TEXT[name]), wording.full_time(at_us, zone))
        for name, at_us in fact.starts.items()
        if name in START_TEXT
    ]
    deadline = next((each for each in rule.deadlines if each.name == fact.name), None) if rule else None
    if deadline is not None:
        rows.append(row("The code's clock", deadline.text))
    rows += _readings(fact, zone)
    if fact.due_us is None:
        rows.append(row("Due", "without a time: the code gives none, or its clock has not begun"))
    if rule is not None and rule.ambiguities:
        rows.append(Row("Left open by the code", tuple(rule.ambiguities)))
    return Block("The clock", tuple(rows))


def _readings(fact: ClauseDuty, zone: tzinfo) -> list[Row]:
    """When it is due under both readings of the code; where they are one, once."""
    said = wording.full_time if fact.not_before else wording.due_time
    if fact.strict_us == fact.lenient_us:
        known = [("By both readings", fact.strict_us)]
    else:
        known = [("Strictly", fact.strict_us), ("At the latest", fact.lenient_us)]
    taken = " (taken here)" if len(known) > 1 else ""
    return [
        row(label, said(at_us, zone) + (taken if at_us == fact.due_us else ""))
        for label, at_us in known
        if at_us is not None
    ]


def _evidence_blocks(fact: ClauseDuty) -> list[Block]:
    rows = [row(wording.first_upper(name.replace("_", " ")), str(value)) for name, value in fact.evidence.items()]
    return [Block("What is on record", tuple(rows))] if rows else []


def _site_block(look: Lookup, fact: ClauseDuty) -> Block:
    site = look.registry.site(fact.site)
    rows = [row("Site", look.site_name(fact.site), site.place if site else "not in the registry")]
    for part, person in look.people_of_site(fact.site, look.now_us):
        rows.append(Row(wording.first_upper(part.replace("_", " ")), wording.contact(person)))
    return Block(f"Who owes it: {look.site_name(fact.site)}", (*rows, row("Owed by", fact.owed_by)))


def _rule_block(look: Lookup, fact: ClauseDuty, rule: Provision | None) -> Block:
    if rule is None:
        return Block("The rule", (row("Provision", f"{fact.provision}, not in the profile any more"),))
    profile = look.profile(fact.municipality)
    cited = profile.cited(rule) if profile else rule.citation
    rows = [row("Citation", cited, f"({rule.confidence_text})"), row("What it asks", rule.requirement)]
    return Block("The rule", (*rows, *permit_rows(look, fact.municipality, fact.site, look.now_us)))


def _entering_block(look: Lookup, fact: ClauseDuty, reader: Person) -> Block:
    by = shlex.quote(reader.name)
    rows = [] if fact.trigger_gone else [
        row("It has been done", fact.answer or f"headwall duty received {fact.duty} --by {by}"),
        row("You decide otherwise", f"headwall duty not-needed {fact.duty} --by {by} --reason TEXT"),
    ]  # fmt: skip
    rows.append(row("Reference", f"duty {fact.duty}, version {fact.version}, ledger {look.ledger.id}"))
    return Block("What to enter", tuple(rows))
