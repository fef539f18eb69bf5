"""What a clause makes due at a site: what planners give, and `rules.clause_duties` keeps as duties.

A planner is a function of ledger, registry and profile in event time. It gives everything that its clause has made due
at a site up to now, what was answered long ago too; the same records in any order give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwall.law.deadlines import Start
from headwall.law.provision import Provision
from headwall.ledger.entries import Entry
from headwall.rules.clauses.look import Look


@dataclass(frozen=True)
class Done:
    """A record that answers it, as a named person entered it."""

    at_us: int
    by: str
    reference: str  # "entry 12"


@dataclass(frozen=True)
class Expected:
    """One thing that a clause makes due at a site, as ledger and registry are known now.

    Attributes:
        name: of the clause's deadline; "" where the code has no clock: due when its condition holds.
        occurrence: text from event time that tells it from the others of clause, name and site, and stays the same
            while it is the same thing. At most 96 characters.
        starts: the instants with which its clock starts; of those known.
        asks: one line: what is to be done.
        owed_by: person or firm where the registry knows, else the clause's `owed_by` is told.
        evidence: what was seen or is on record, by names that a person can read.
        answer: the command that enters what answers it; "" for `headwall duty received`.
        advice: told as advice in the digest; never overdue, never a violation.
        gone: why it is asked no longer although it once was; see `unanswered`.
    """

    provision: Provision
    name: str
    occurrence: str
    starts: Mapping[Start, int]
    asks: str
    owed_by: str = ""
    evidence: Mapping[str, str | int | float] = field(default_factory=dict)
    answer: str = ""
    advice: bool = False
    done: Done | None = None
    gone: str = ""


def recorded(entry: Entry[Any] | None) -> Done | None:
    """An entry as what answers a duty; None for none."""
    return None if entry is None else Done(entry.done_us, entry.by, f"entry {entry.id}")


def unanswered(why: str) -> str:
    """Why a duty without a time is asked no longer, where it was owed until then: that nobody answered it is said."""
    return f"never answered while it was owed; {why}" if why else ""


Planner = Callable[[Look, Provision], Iterable[Expected]]
