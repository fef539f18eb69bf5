"""What the steps of a case tell its clocks: instants by name, who was told of a spill, and what was paid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headwall.cases.states import BY_MOUTH
from headwall.law.provisions import DISPATCH
from headwall.law.state_spill import HOTLINE
from headwall.ledger import log_book
from headwall.ledger.cases import CaseStep

#: short name of whom no code names
OTHER: Final = "other"
#: whose telephone is no notice to a municipality
_NOT_LOCAL: Final = frozenset({DISPATCH, HOTLINE, OTHER})


@dataclass(frozen=True)
class Known:
    """What is known of a case.

    Attributes:
        times: instants by the names that steps give them; of a step entered again those of the last entry alone.
        told: who was called or told, by short name, and when first.
        by_mouth: when one of the municipality's was first told so, by the means.
        hazard: "hazardous", "nonhazardous"; "": nobody has said, and it is treated as both.
        premises: where a spill happened, "commercial" and "industrial" among it; "" where nobody has said.
        payments: how many there are to be; 0: nobody has said.
        paid_us: when each was paid.
    """

    times: Mapping[str, int]
    told: Mapping[str, int]
    by_mouth: Mapping[str, int]
    hazard: str
    premises: str
    payments: int
    paid_us: tuple[int, ...]


def known(steps: Sequence[CaseStep]) -> Known:
    """What steps tell; one that was struck tells nothing."""
    standing = unstruck(steps)
    calls = [step for step in standing if step.action == "call"]
    local = [step for step in calls if step.details["to"] not in _NOT_LOCAL]
    said = [step for step in standing if step.action == "classify"]
    plans = [step for step in standing if step.action == "instalments"]
    return Known(
        times=_times(standing),
        told=_first(calls, lambda step: step.details["to"]),
        by_mouth=_first([step for step in local if step.means in BY_MOUTH], lambda step: step.means),
        hazard=said[-1].outcome if said else "",
        premises=next((step.details["premises"] for step in reversed(said) if "premises" in step.details), ""),
        payments=int(plans[-1].details["payments"]) if plans else 0,
        paid_us=tuple(sorted(step.done_us for step in standing if step.action == "pay")),
    )


def unstruck(steps: Sequence[CaseStep]) -> list[CaseStep]:
    """Those that nobody has struck."""
    struck = {step.details["step"] for step in steps if step.action == "strike"}
    return [step for step in steps if str(step.id) not in struck]


def _times(steps: Sequence[CaseStep]) -> dict[str, int]:
    last: dict[str, Mapping[str, int]] = {}
    for step in steps:
        if step.times:
            last[step.action] = step.times
    found = {name: instant for times in last.values() for name, instant in times.items()}
    by_persons = [step.done_us for step in steps if step.by != log_book.HEADWALL]
    if by_persons:  # a person who enters anything of it knows of it
        found["acknowledged"] = min(*by_persons, found.get("acknowledged", by_persons[0]))
    return found


def _first(steps: Sequence[CaseStep], name_of: Callable[[CaseStep], str]) -> dict[str, int]:
    """When each thing that steps name was done first."""
    found: dict[str, int] = {}
    for step in sorted(steps, key=lambda step: step.done_us):
        found.setdefault(name_of(step), step.done_us)
    return found
