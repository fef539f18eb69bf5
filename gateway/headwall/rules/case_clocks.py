"""Clocks of open cases, read again: a municipality has decided how it reads its code, or its profile is another.

What a step of a case has set stands with the step. Where the code as it is in force now gives other instants, the
gateway takes a step that says so: it moves clocks and nothing else. Looked at when the gateway starts, and when a
person has entered something of a code, since every rule forgets then what it kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from headwall.cases import steps
from headwall.cases.code import Code
from headwall.cases.states import ENDED
from headwall.law.profile import Profile
from headwall.ledger import cases, schema
from headwall.registry import Registry
from headwall.rules.base import Step
from headwall.rules.layers import Stretch

_RETRY_US: Final = 60_000_000
_C = schema.cases.c


class CaseClockRule:
    """Keeps the clocks of open cases as the codes have them.

    Args:
        profiles: by the name that the registry's municipalities give.
    """

    name = "case_clocks"

    def __init__(self, registry: Registry, profiles: Mapping[str, Profile]) -> None:
        self._registry = registry
        self._profiles = profiles
        self._next_us: int | None = 0

    def next_us(self) -> int | None:
        return self._next_us

    def forget(self) -> None:
        self._next_us = 0

    def judge(self, step: Step) -> None:
        if self._next_us is None or self._next_us > step.now_us:
            return
        self._next_us = None
        open_ones = sa.select(_C.id).where(_C.state.not_in(ENDED)).order_by(_C.id)
        for number in step.conn.execute(open_ones).scalars().all():
            subject = f"clocks of case {number}"
            with step.guarded(subject, Stretch("", step.now_us, step.now_us)):
                self._read_again(step, cases.case(step.conn, number))
            if subject in step.failures:
                self._again(step.now_us + _RETRY_US)

    def _read_again(self, step: Step, case: cases.Case) -> None:
        known_us = max((each.at_us for each in case.steps), default=case.at_us)
        if known_us > step.now_us:  # the clock was not set yet: what is known by then has not happened
            self._again(known_us)
            return
        profile = self._profiles[self._registry.municipality(case.municipality).profile]
        steps.read_again(
            step.conn, Code(profile, self._registry.zone(case.municipality), case), case, now_us=step.now_us
        )

    def _again(self, at_us: int) -> None:
        self._next_us = at_us if self._next_us is None else min(self._next_us, at_us)
