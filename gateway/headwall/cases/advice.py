"""What is to be known of a case beside its clocks: who is still to be told, what precedes an entry, what costs bear.

Lines for people. Nothing here decides, and nothing is worked out in money.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headwall.cases.code import Code
from headwall.cases.known import Known, known
from headwall.cases.running import Running, clocks_of
from headwall.law.provisions import Appeal, DeviceCare, IllicitConnection
from headwall.ledger.cases import Case

_AFTER_NOTICE: Final = ("notice_served", "in_correction", "decided")
#: premises whose owner keeps a record of a spill at the place
PREMISES: Final = ("commercial", "industrial", "other")
_KEEP_RECORD: Final = frozenset({"commercial", "industrial"})


def advice(code: Code, case: Case) -> list[str]:
    """Lines of what a person should know before the next step."""
    now, clocks = known(case.steps), clocks_of(code, case)
    return [
        *_spill(code, now, clocks),
        *_matter(code, case),
        *_appeal(code, case),
        *_entry(code, case, now, clocks),
        *_costs(code, now, clocks),
    ]


def _spill(code: Code, now: Known, running: list[Running]) -> Iterator[str]:
    spill = code.spill
    if spill is None:
        return
    if not now.hazard:
        yield ("Nobody has said whether it is hazardous: both ways are timed. A person says so: case classify.")
    for each in running:
        names = ", ".join(f"{party.name} (--to {party.id})" for party in each.to_tell)
        if names:
            yield f"Still to be told ({each.rule}, {each.clause.citation}): {names}."
    asked = {party.id for party in (*spill.hazardous_to, *spill.hazardous_notice_to)}
    untold = [party.name for party in spill.nonhazardous_to if party.id not in now.told and party.id not in asked]
    if now.hazard == "hazardous" and untold and code.choice("spill.advise_local_notice"):
        yield f"Advised, not asked for by the text: tell {', '.join(untold)} too."
    if now.told and not now.by_mouth and any(party.id in now.told for party in spill.local):
        yield f"What was told in writing needs no confirmation by the text; one to {spill.confirmed_to} is advised."
    if now.premises in _KEEP_RECORD and "recorded" not in now.times:
        yield f"The owner or operator keeps a record ({spill.record}): none was entered; case site-record."
    if "recorded" in now.times and spill.retention is not None:
        kept = spill.retention
        yield f"The record at the place is kept at least {kept.count} {kept.unit}."


def _matter(code: Code, case: Case) -> Iterator[str]:
    clause = code.broken
    if isinstance(clause, IllicitConnection):
        yield "It may not be there even if it was once allowed."
        if clause.sewage_line:
            yield f"A line with sewage, or letting one be, is a violation by itself ({clause.citation})."
        for text in clause.never.values():
            yield f"No approval covers {text} ({clause.citation})."
    if isinstance(clause, DeviceCare) and clause.facilities:
        yield f"The clause speaks only of facilities {clause.facilities}: is {case.site} one?"
    if clause is not None and clause.incomplete:
        yield f"Text incomplete in the source: {clause.incomplete}"


def _appeal(code: Code, case: Case) -> Iterator[str]:
    clause = code.clause("appeal")
    if isinstance(clause, Appeal) and case.state == "appealed":
        heard_by = code.choice("appeal.heard_by") or clause.heard_by
        yield f"The appeal is heard by {heard_by} ({clause.citation})."
        yield from clause.ambiguities


def _entry(code: Code, case: Case, now: Known, running: list[Running]) -> Iterator[str]:
    """Legal review comes before any entry, whatever a code lets an agency do."""
    clause = code.clause("corrective_measures")
    if clause is None or case.state not in _AFTER_NOTICE:
        return
    yield f"Legal review before anybody enters ({clause.citation})."
    yield from clause.ambiguities
    yield from _early(now, running, "request_from", ("requested", "entered"), "the time to correct was over")


def _costs(code: Code, now: Known, running: list[Running]) -> Iterator[str]:
    clause = code.costs
    if clause is None or "abated_at_cost" not in now.times:
        return
    cap = f", or {clause.interest_cap} if that is less" if clause.interest_cap else ""
    yield (
        f"Interest {clause.interest_percent} % a year{cap}, {code.choice('interest.method')}, by actual days; at most "
        f"{clause.payments_max} equal payments ({clause.citation}). Dates and rates alone; nothing is reckoned here."
    )
    yield from clause.ambiguities
    yield from _early(now, running, "lien", ("lien",), "the time to object was over")


def _early(now: Known, running: list[Running], clock: str, done: tuple[str, ...], what: str) -> Iterator[str]:
    """What was done before the day from which it may be."""
    for each in running:
        for name in done if each.clock.name == clock else ():
            if now.times.get(name, each.clock.taken_us or 0) < (each.clock.taken_us or 0):
                yield f"Entered as {name} before {what} under the reading that counts: have it looked at."
