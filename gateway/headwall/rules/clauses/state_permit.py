"""A code that leaves its numbers to a permit of the State: while nobody has entered one, that is asked for as advice.

What a permit then asks are provisions of its own, which the other planners judge.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwall.law import localtime
from headwall.law.provision import Provision
from headwall.rules.clauses.construction import Work, work
from headwall.rules.clauses.expected import Done, Expected
from headwall.rules.clauses.look import Look


def entered(look: Look, clause: Provision) -> Iterator[Expected]:
    """Once for each stretch of work that the code applies to."""
    for part in work(look, clause):
        yield Expected(
            clause,
            name="",
            occurrence=f"work from {look.iso(part.start_us)}",
            starts={},
            asks="Enter the numbers of the State's construction permit in force; until then they are not judged",
            owed_by=look.profile.officer,
            evidence={"absent": look.profile.state_permit.absence},
            answer="headwall law permit enter CODE FILE --by NAME",
            advice=True,
            done=_done(look, part),
        )


def _done(look: Look, part: Work) -> Done | None:
    """Entered, and in force at some time of the work until now."""
    for permit in look.profile.permits:
        if permit.program != "construction":
            continue
        since_us = localtime.midnight_us(permit.valid_from, look.where)
        look.wake(since_us)
        ended = permit.valid_to is not None and localtime.midnight_us(permit.valid_to, look.where) <= part.start_us
        if since_us <= look.now_us and since_us < part.end_us and not ended:
            return Done(permit.entered_us, permit.entered_by, permit.permit)
    return None
