"""A spill that a person has opened a case for is told at once, with whom the code and the State want told by when.

Told once, when the gateway first sees the case; what follows comes as reminders of its clocks. Nothing here calls
anybody.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from headwall.cases.kinds import SPILL, kind_of
from headwall.cases.running import clocks_of
from headwall.cases.states import ENDED
from headwall.cases.steps import code_of
from headwall.ledger import cases, schema
from headwall.ledger.cases import Case
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry
from headwall.rules.base import Step
from headwall.rules.facts import SpillReported, ToTell
from headwall.rules.layers import Stretch
from headwall.rules.tell import tell

_CURSOR: Final = "rules.spills"
_C = schema.cases.c


class SpillRule:
    """Follows the cases that are new in the ledger."""

    name = "spills"

    def __init__(self, ledger: Ledger, registry: Registry) -> None:
        self._ledger = ledger
        self._registry = registry
        self._seen: int | None = None

    def next_us(self) -> int | None:
        return None

    def forget(self) -> None:
        self._seen = None

    def judge(self, step: Step) -> None:
        newest = step.newest.cases
        if newest == self._seen:
            return
        after = self._ledger.cursor(step.conn, _CURSOR)
        query = sa.select(_C.id).where(_C.id > after, _C.kind == SPILL).order_by(_C.id)
        through = newest
        for number in step.conn.execute(query).scalars().all():
            subject = f"spill, case {number}"
            with step.guarded(subject, Stretch("", step.now_us, step.now_us)):
                self._tell(step, cases.case(step.conn, number))
            if subject in step.failures:  # it is tried again; those after it are not told twice
                through = min(through, number - 1)
        if through != after:
            self._ledger.set_cursor(step.conn, _CURSOR, through)
        self._seen = through

    def _tell(self, step: Step, case: Case) -> None:
        if case.state in ENDED:
            return
        clocks = clocks_of(code_of(step.conn, self._registry, case), case)
        opened = case.steps[0]
        fact = SpillReported(
            case=case.id,
            municipality=case.municipality,
            site=case.site,
            known_us=case.from_us,
            by=opened.by,
            what=opened.note,
            to_tell=[
                ToTell([party.name for party in each.to_tell], each.rule, each.clock.taken_us, each.clause.id)
                for each in clocks
                if each.to_tell and each.clock.taken_us is not None
            ],
        )
        told = self._registry.in_roles(case.municipality, kind_of(case.kind).told, step.now_us)
        tell(step.conn, f"spill/{case.id}", fact, told, "now", step.now_us)
