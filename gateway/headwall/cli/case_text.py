"""A case as text and as data: what was seen, the steps, and the clocks under both readings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Any

import msgspec
import sqlalchemy as sa

from headwall.cases import steps, suspicion
from headwall.cases.advice import advice
from headwall.cases.code import Code
from headwall.cases.kinds import SPILL, kind_of
from headwall.cases.running import Running, clocks_of
from headwall.cases.states import ENDED, STATES
from headwall.cli.common import wrapped
from headwall.cli.opened import Opened, minute
from headwall.law.provision import Provision
from headwall.law.state_spill import state_spill
from headwall.ledger import schema
from headwall.ledger.cases import Case, CaseStep
from headwall.notify import sign_section
from headwall.notify.discharge_section import evidence_rows, likeness
from headwall.reports import letter_book
from headwall.rules import citations
from headwall.rules.approval_spans import WHY
from headwall.rules.facts import OutsideApproval, SiteSign, SuspectedDischarge, from_body

#: what a notice says of what was seen
Seen = SuspectedDischarge | OutsideApproval | SiteSign
_COLUMNS = (
    "id",
    "kind",
    "provision",
    "municipality",
    "site",
    "notice",
    "state",
    "historical",
    "from_us",
    "until_us",
    "at_us",
)


def print_case(at: Opened, case: Case, fact: Seen | None) -> None:
    """All that an officer needs to decide on the next step."""
    zone, code = zone_of(at, case), code_of(at, case)
    call_first([case])
    print(f"Case {case.id}: {kind_of(case.kind).words} at {case.site}, {code.profile.municipality}")
    print(wrapped("State      ", f"{STATES[case.state]}{', historical' if case.historical else ''}"))
    print(wrapped("Seen       ", f"{minute(case.from_us, zone)} to {minute(case.until_us, zone)}"))
    if isinstance(fact, OutsideApproval):
        print(wrapped("Outside    ", f"a flow {WHY[fact.why]} ({fact.reference})"))
    if isinstance(fact, SiteSign):
        lasted = "It has lasted as long as it must." if fact.present else "It has not lasted as long as it must."
        print(wrapped("Readings   ", f"{sign_section.shows(fact)} {lasted}"))
    elif fact is not None and fact.likeness:
        print(wrapped("Looks like ", f"{likeness(fact.likeness)}; confidence {fact.confidence:.0%}: a proposal"))
    if fact is not None:
        rows = sign_section.evidence_rows(fact) if isinstance(fact, SiteSign) else evidence_rows(fact.evidence)
        for seen in rows:
            print(wrapped("           ", f"{seen.label}: {'; '.join(seen.lines)}"))
    if suspicion.is_taken_back(case):
        print(wrapped("Note       ", "readings or approvals that came later explain what was seen; a person decides"))
    for clause in (code.broken, code.clause("notice_of_violation"), code.clause("appeal")):
        if clause is not None:
            print(wrapped("Clause     ", f"{cited(at, case, clause)}: {clause.requirement}"))
    for line in advice_of(at, case):
        print(wrapped("Know       ", line))
    may = ", ".join(name.replace("_", "-") for name in steps.may_follow(case))
    print(wrapped("May follow ", may))
    print("Steps")
    for step in case.steps:
        print(wrapped("  - ", _step_text(step, zone)))
    with at.ledger.read() as conn:
        letters = list(letter_book.kept(conn, case, zone))
    if letters:
        print("Letters")
    for letter in letters:
        print(wrapped("  - ", letter.told(zone)))
    found = running(at, case)
    print("Clocks" if found else "Clocks: none runs yet")
    for each in found:
        print(wrapped("  - ", clock_text(at, case, each)))
    print(wrapped("", f"{code.profile.disclaimer} A person decides."))


def _step_text(step: CaseStep, zone: tzinfo) -> str:
    """A step in a line, with its number where it can be struck."""
    parts = [f"{minute(step.done_us, zone)} {in_words(step.action)} by {step.by}"]
    parts += [in_words(step.outcome)] if step.outcome else []
    parts += [f"{name} {text}" for name, text in step.details.items()]
    parts += [each for each in (in_words(step.means), step.note) if each]
    parts += [f"step {step.id}"] if step.from_state == step.to_state else []
    return "; ".join(parts)


def call_first(found: Iterable[Case]) -> None:
    """What comes before everything else where a spill is among some cases: the calls that a person makes."""
    if any(case.kind == SPILL for case in found):
        for line in state_spill().call_first:
            print(wrapped("", line))


def code_of(at: Opened, case: Case) -> Code:
    """What the code of its municipality has for a case."""
    return Code(at.code_of(case.municipality), zone_of(at, case), case)


def advice_of(at: Opened, case: Case) -> list[str]:
    """What is to be known of it before the next step."""
    return advice(code_of(at, case), case)


def clock_text(at: Opened, case: Case, each: Running) -> str:
    """One clock: both readings, which counts, under which clause, and when it was met."""
    zone, clock = zone_of(at, case), each.clock
    strict, lenient = (
        "not known yet" if instant is None else minute(instant, zone) for instant in (clock.strict_us, clock.lenient_us)
    )
    told = f"{each.what}: {minute(clock.taken_us or 0, zone)}"
    if strict != lenient:
        told += f" (strict {strict}, lenient {lenient}; the {each.takes} counts)"
    if each.owed_by:
        told += f"; owed by the {each.owed_by}"
    told += f"; {each.rule}; {cited(at, case, each.clause)}"
    if each.met_us is not None:
        late = each.met_us > (clock.taken_us or 0)
        told += f"; done {minute(each.met_us, zone)}, {'after' if late else 'in'} its time"
    return told


def cited(at: Opened, case: Case, clause: Provision) -> str:
    """The section, and how sure its number is."""
    profile = code_of(at, case).profile
    with at.ledger.read() as conn:
        sure = citations.with_confirmation(conn, profile, clause, zone_of(at, case))
    return f"{sure.citation} ({sure.confidence_text})"


def running(at: Opened, case: Case) -> list[Running]:
    """The clocks of a case, soonest first."""
    return clocks_of(code_of(at, case), case)


def pressing(at: Opened, case: Case) -> list[Running]:
    """Its clocks for a list, soonest first: those of what is owed whose time has passed, and the next that ends.

    Where there is neither: the last that has passed.
    """
    waiting = [each for each in running(at, case) if each.met_us is None and case.state not in ENDED]
    now_us = at.clock.now_us()
    late = [each for each in waiting if each.owed_by and _ends_us(each) < now_us]
    ahead = [each for each in waiting if _ends_us(each) >= now_us]
    return [*late, *ahead[:1]] or waiting[-1:]


def soonest_first(case: Case, clocks: Sequence[Running]) -> tuple[bool, int, int]:
    """Orders cases by their first pressing clock; those without one come last, the newest first."""
    return not clocks, _ends_us(clocks[0]) if clocks else 0, -case.id


def pressing_text(at: Opened, case: Case, clocks: Sequence[Running]) -> str:
    """A line a clock."""
    now_us, zone = at.clock.now_us(), zone_of(at, case)
    return "\n".join(
        f"{minute(_ends_us(each), zone)}{' (passed)' if _ends_us(each) < now_us else ''} {each.what}" for each in clocks
    )


def _ends_us(each: Running) -> int:
    return each.clock.taken_us or 0


def in_words(name: str) -> str:
    """A name of the program's as people write it."""
    return name.replace("_", " ")


def state(case: Case) -> str:
    """Its state for lists."""
    told = in_words(case.state)
    if case.state != "taken_back" and suspicion.is_taken_back(case):
        told += ", suspicion taken back"
    return told + (", historical" if case.historical else "")


def data(at: Opened, case: Case) -> dict[str, Any]:
    """A case for scripts."""
    clocks = [
        {
            **msgspec.to_builtins(each.clock),
            "section": cited(at, case, each.clause),
            "rule": each.rule,
            "takes": each.takes,
            "met_us": each.met_us,
            "owed_by": each.owed_by,
            "to_tell": [party.id for party in each.to_tell],
        }
        for each in running(at, case)
    ]
    body = {name: getattr(case, name) for name in _COLUMNS}
    said = [msgspec.to_builtins(each) for each in case.steps]
    first = {"call_first": state_spill().call_first} if case.kind == SPILL else {}
    known = {"suspicion_taken_back": suspicion.is_taken_back(case), "advice": advice_of(at, case)}
    return {**first, **body, **known, "clocks": clocks, "steps": said}


def fact_of(conn: sa.Connection, case: Case) -> Seen | None:
    """What the notice says of it."""
    c = schema.notices.c
    body = conn.execute(sa.select(c.body).where(c.key == case.notice)).scalar() if case.notice else None
    found = None if body is None else from_body(body)
    return found if isinstance(found, SuspectedDischarge | OutsideApproval | SiteSign) else None


def zone_of(at: Opened, case: Case) -> tzinfo:
    """Times of a case are its municipality's."""
    return at.registry.zone(case.municipality)
