"""The part of the digest that lists what is open in a municipality: overdue, due soon, cases, and what comes later."""

from __future__ import annotations

from collections.abc import Sequence

from headwall.cases.kinds import KINDS
from headwall.cases.states import STATES
from headwall.law import localtime
from headwall.law.localtime import short
from headwall.notify import wording
from headwall.notify.content import Block, Row, Section, row
from headwall.notify.lookup import Lookup
from headwall.rules.facts import OpenCase, OpenDuty, OpenMatters


def open_matters(look: Lookup, fact: OpenMatters) -> Section:
    """The list as it was when the digest was made up."""
    zone = look.zone(fact.municipality)
    blocks = [
        _duties(look, fact, "Overdue", fact.overdue, fact.overdue_count),
        _duties(look, fact, f"Due by {short(fact.soon_us, zone)}", fact.soon, fact.soon_count),
        _cases(look, fact),
        _later(fact),
    ]
    return Section(
        heading=f"{look.municipality_name(fact.municipality)}: {_counts(fact)}",
        tone="late" if fact.overdue_count else "notice",
        lead=(
            f"As of {wording.full_time(fact.at_us, zone)}. What no sensor sees and nobody has entered is not in it.",
        ),
        blocks=tuple(block for block in blocks if block is not None),
    )


def _counts(fact: OpenMatters) -> str:
    counted = [
        (fact.overdue_count, f"{fact.overdue_count} overdue"),
        (fact.soon_count, f"{fact.soon_count} due soon"),
        (fact.case_count, wording.counted(fact.case_count, "open case")),
    ]
    return ", ".join(text for count, text in counted if count)


def _later(fact: OpenMatters) -> Block | None:
    if not fact.later_count:
        return None
    return Block(f"Due later or without a time: {fact.later_count}", (row("All that is open", "headwall duty list"),))


def _duties(look: Lookup, fact: OpenMatters, title: str, lines: Sequence[OpenDuty], count: int) -> Block | None:
    if not count:
        return None
    zone = look.zone(fact.municipality)
    rows = [
        Row(
            look.site_name(each.site),
            (
                wording.first_upper(each.asks),
                f"{localtime.until(each.due_us, zone) if each.due_us is not None else 'no time'}, duty {each.duty}"
                + (f", owed by {each.owed_by}" if each.owed_by else "")
                + _seen(each.seen_by),
            ),
        )
        for each in lines
    ]
    return Block(f"{title}: {count}", (*rows, *_rest(count - len(lines), "headwall duty list")))


def _cases(look: Lookup, fact: OpenMatters) -> Block | None:
    if not fact.case_count:
        return None
    rows = [row(look.site_name(each.site), *_case(look, fact, each)) for each in fact.cases]
    rest = _rest(fact.case_count - len(fact.cases), "headwall case list")
    return Block(f"Open cases: {fact.case_count}", (*rows, *rest))


def _case(look: Lookup, fact: OpenMatters, case: OpenCase) -> tuple[str, ...]:
    zone = look.zone(fact.municipality)
    words = KINDS[case.kind].words if case.kind in KINDS else case.kind.replace("_", " ")
    lines = [
        f"{wording.first_upper(words)}: {STATES.get(case.state, case.state)}",
        f"since {short(case.since_us, zone)}, case {case.case}{_seen(case.seen_by)}",
    ]
    if case.due_us is not None:
        was = "was due" if case.due_us <= fact.at_us else "due"
        lines.append(f"{wording.first_upper(case.clock)}: {was} {localtime.until(case.due_us, zone)}")
    return tuple(lines)


def _seen(names: Sequence[str]) -> str:
    return f", seen by {wording.listed(names)}" if names else ""


def _rest(count: int, command: str) -> list[Row]:
    return [row(f"{count} more", command)] if count > 0 else []
