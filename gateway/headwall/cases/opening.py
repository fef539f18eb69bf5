"""What a person who opens a case tells of it, by its kind: the condition of a failing system, the alarm of a spill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from headwall.cases.code import Code
from headwall.cases.kinds import SPILL
from headwall.errors import InputError
from headwall.law.provisions import FailingSystem
from headwall.ledger import cases, log_book, schema

#: the condition of a failing system that some codes want attributed to it
CONTAMINATION: Final = "groundwater"
#: kind of case → what may be told when it is opened
TELLS: Final[Mapping[str, tuple[str, ...]]] = {
    "failing_system": ("condition",),
    "illicit_connection": ("connection",),
    SPILL: ("alarm",),
}


def check(code: Code, case: cases.Case, details: Mapping[str, str]) -> None:
    """InputError for what cannot be told of a case of its kind, or is missing."""
    allowed = TELLS.get(case.kind, ())
    if unknown := sorted(set(details).difference(allowed)):
        raise InputError(f"a case of kind {case.kind} tells no {', '.join(unknown)} when it is opened")
    clause = code.broken
    if isinstance(clause, FailingSystem):
        known = {each.name: each.text for each in clause.conditions}
        if details.get("condition", "") not in known:
            told = "; ".join(f"{name}: {text}" for name, text in known.items())
            raise InputError(f"{clause.citation} has several conditions; write --condition with one of them: {told}")


def check_confirmed(code: Code, case: cases.Case, details: Mapping[str, str]) -> None:
    """InputError where a code wants contamination put down to the system, and nobody has said why it can be."""
    clause, told = code.broken, case.steps[0].details.get("condition", "") if case.steps else ""
    needed = isinstance(clause, FailingSystem) and clause.attribution_required and told == CONTAMINATION
    if clause is not None and needed and not details.get("attributed", "").strip():
        raise InputError(
            f"{code.profile.municipality}, {clause.citation}, wants the contamination to be put down to the system "
            "with reason; write --attributed with why it can be, such as a dye test or samples of wells"
        )


def times(conn: sa.Connection, details: Mapping[str, str], site: str) -> dict[str, int]:
    """Instants that an alarm gives to the spill which it turned out to be: of the alarm, and when a person knew it."""
    if "alarm" not in details:
        return {}
    alarm = cases.case(conn, _number(details["alarm"]))
    if alarm.site != site:
        raise InputError(f"case {alarm.id} is of {alarm.site}, not of {site}: it is no alarm of this spill")
    seen = [step.done_us for step in alarm.steps if step.by != log_book.HEADWALL]
    c = schema.acknowledgements.c
    seen += conn.execute(sa.select(c.at_us).where(c.matter == f"case/{alarm.id}")).scalars()
    return {"alarm": alarm.at_us} | ({"acknowledged": min(seen)} if seen else {})


def _number(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--alarm takes the number of a case, not {text!r}; `headwall case list` shows them")
    return int(text)
