"""The daily list of each municipality: what was due, what is due soon, and which cases are open, for the digest.

It is written a little before the digest goes, so that it goes with it. A day on which nothing is overdue, due soon or
open as a case has no list; one that passed while the gateway was down gets none afterwards, since the next says more.
"""

from __future__ import annotations

from datetime import time
from typing import Any, Final

import sqlalchemy as sa

from headwall import codes
from headwall.cases.code import Code
from headwall.cases.running import clocks_of, owed_first
from headwall.cases.states import ENDED
from headwall.law import localtime
from headwall.law.localtime import HOUR_US
from headwall.ledger import acknowledgements, cases, schema
from headwall.registry import Registry
from headwall.rules.base import Step
from headwall.rules.duty_words import asked
from headwall.rules.facts import DutyFact, OpenCase, OpenDuty, OpenMatters, StormDuty, from_body
from headwall.rules.layers import Stretch
from headwall.rules.tell import officers_or_operators, tell
from headwall.settings import NotifySettings

_BEFORE_US: Final = 60_000_000
_RETRY_US: Final = 60_000_000
_MOST: Final = 40  # lines of each kind in a mail; the rest is counted
_D, _V, _C = schema.duties.c, schema.duty_versions.c, schema.cases.c
_NEWEST = (schema.duties, schema.duty_versions, sa.and_(_V.duty == _D.id, _V.version == _D.version))
_ADVICE = sa.func.coalesce(_V.body["advice"].as_boolean(), sa.false())
_NOT_BEFORE = sa.func.coalesce(_V.body["not_before"].as_boolean(), sa.false())  # nobody is late after its time


class DailyListRule:
    """Writes one list a municipality and day."""

    name = "daily_list"

    def __init__(self, registry: Registry, settings: NotifySettings) -> None:
        self._registry = registry
        self._wanted = settings.daily_list
        self._digest_at = time.fromisoformat(settings.digest_at)
        self._soon_us = round(settings.due_soon_h * HOUR_US)
        self._next: dict[str, int] = {}

    def next_us(self) -> int | None:
        return min(self._next.values(), default=None)

    def forget(self) -> None:
        self._next.clear()

    def judge(self, step: Step) -> None:
        for municipality in self._registry.municipalities if self._wanted else ():
            if self._next.get(municipality.id, 0) > step.now_us:
                continue
            self._next[municipality.id] = step.now_us + _RETRY_US
            with step.guarded(f"daily list of {municipality.id}", Stretch("", step.now_us, step.now_us)):
                self._next[municipality.id] = self._list(step, municipality.id)

    def _list(self, step: Step, municipality: str) -> int:
        """Write the newest list whose instant has come; returns the instant of the next."""
        zone = self._registry.zone(municipality)
        next_us = localtime.next_time_us(step.now_us + _BEFORE_US, self._digest_at, zone) - _BEFORE_US
        digest_us = localtime.last_time_us(step.now_us + _BEFORE_US, self._digest_at, zone)
        key = f"open/{municipality}/{localtime.day_of(digest_us, zone).isoformat()}"
        known = sa.select(schema.outbox.c.id).where(schema.outbox.c.fact == key)
        if step.conn.execute(known).first() is None:
            at_us = digest_us - _BEFORE_US
            found = open_matters(step.conn, self._registry, municipality, at_us, self._soon_us)
            if found is not None:
                people = officers_or_operators(self._registry, municipality, at_us)
                tell(step.conn, key, found, people, "digest", at_us)
        return next_us


def open_matters(
    conn: sa.Connection, registry: Registry, municipality: str, at_us: int, soon_us: int
) -> OpenMatters | None:
    """What is open in a municipality at an instant; None where nothing is overdue, due soon, or open as a case."""
    sites = [site.id for site in registry.sites if site.municipality == municipality]
    mine = (_D.state == "open", _D.historical.is_(False), _D.at_us <= at_us, _D.site.in_(sites), ~_ADVICE)
    until_us = at_us + soon_us
    overdue, overdue_count = _duties(conn, registry, *mine, ~_NOT_BEFORE, _D.due_us <= at_us)
    soon, soon_count = _duties(conn, registry, *mine, ~_NOT_BEFORE, _D.due_us > at_us, _D.due_us <= until_us)
    waiting, case_count = _cases(conn, registry, municipality, at_us)
    if not overdue_count + soon_count + case_count:
        return None
    return OpenMatters(
        municipality=municipality,
        at_us=at_us,
        soon_us=until_us,
        overdue=overdue,
        soon=soon,
        cases=waiting,
        overdue_count=overdue_count,
        soon_count=soon_count,
        case_count=case_count,
        later_count=_count(conn, *mine, sa.or_(_NOT_BEFORE, _D.due_us.is_(None), _D.due_us > until_us)),
    )


def _duties(conn: sa.Connection, registry: Registry, *where: sa.ColumnElement[bool]) -> tuple[list[OpenDuty], int]:
    """The first duties by due time, and how many there are."""
    query = sa.select(_D.id, _V.body).join_from(*_NEWEST).where(*where).order_by(_D.due_us, _D.id).limit(_MOST)
    rows = conn.execute(query).all()
    seen = acknowledgements.of(conn, [acknowledgements.matter("duty", row.id) for row in rows])
    return [_line(registry, row.id, row.body, _names(seen, "duty", row.id)) for row in rows], _count(conn, *where)


def _count(conn: sa.Connection, *where: sa.ColumnElement[bool]) -> int:
    return conn.execute(sa.select(sa.func.count()).select_from(sa.join(*_NEWEST)).where(*where)).scalar_one()


def _line(registry: Registry, number: int, body: dict[str, Any], seen_by: list[str]) -> OpenDuty:
    fact = from_body(body)
    assert isinstance(fact, DutyFact)
    asks = asked(fact, registry.zone(fact.municipality))
    owed_by = "" if isinstance(fact, StormDuty) else fact.owed_by
    return OpenDuty(number, fact.site, fact.provision, asks, owed_by, fact.due_us, seen_by)


def _cases(conn: sa.Connection, registry: Registry, municipality: str, at_us: int) -> tuple[list[OpenCase], int]:
    """The oldest open cases with what is owed in each first, and how many there are."""
    where = (_C.municipality == municipality, _C.state.not_in(ENDED), _C.historical.is_(False), _C.at_us <= at_us)
    numbers = conn.execute(sa.select(_C.id).where(*where).order_by(_C.id)).scalars().all()
    if not numbers:
        return [], 0
    seen = acknowledgements.of(conn, [acknowledgements.matter("case", number) for number in numbers[:_MOST]])
    profile, zone = codes.code_of(conn, registry, municipality), registry.zone(municipality)
    lines = []
    for case in cases.some(conn, numbers[:_MOST]):
        first = owed_first(clocks_of(Code(profile, zone, case), case))
        clock, due_us = ("", None) if first is None else (first.what, first.clock.taken_us)
        since_us, names = case.from_us, _names(seen, "case", case.id)
        lines.append(OpenCase(case.id, case.kind, case.site, case.state, since_us, clock, due_us, names))
    return lines, len(numbers)


def _names(seen: dict[str, list[acknowledgements.Acknowledgement]], kind: str, number: int) -> list[str]:
    return [each.by for each in seen.get(acknowledgements.matter(kind, number), ())]
