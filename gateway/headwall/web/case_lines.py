"""Cases on the page: those that wait for somebody, each with the clock that asks for something next."""

from __future__ import annotations

from typing import Final

import msgspec
import sqlalchemy as sa

from headwall.cases import steps
from headwall.cases.kinds import SPILL
from headwall.cases.running import Running, clocks_of, owed_first
from headwall.cases.states import ENDED
from headwall.law.state_spill import state_spill
from headwall.ledger import cases
from headwall.ledger.cases import Case
from headwall.ledger.unreadable import Unreadable
from headwall.registry import Registry

_SHOWN: Final = 200


class CaseLine(msgspec.Struct, frozen=True):
    """A case that has not ended.

    Attributes:
        next: what somebody has to meet next, the longest overdue first; "" if nothing.
        overdue: its time is over.
    """

    id: int
    kind: str
    site: str
    site_name: str
    municipality: str
    state: str
    seen_us: int
    historical: bool
    next: str
    next_us: int | None
    overdue: bool


def case_lines(conn: sa.Connection, registry: Registry, now_us: int, unreadable: list[Unreadable]) -> list[CaseLine]:
    """The newest cases that have not ended, spills first; `unreadable` takes those that cannot be read."""
    found = cases.listed(conn, without=ENDED, unreadable=unreadable)
    found.sort(key=lambda each: (each.kind != SPILL, -each.id))
    return [_line(conn, registry, each, now_us) for each in found[:_SHOWN]]


def call_first(found: list[CaseLine]) -> list[str]:
    """What is said before everything else while a spill is open."""
    return list(state_spill().call_first) if any(each.kind == SPILL for each in found) else []


def _line(conn: sa.Connection, registry: Registry, case: Case, now_us: int) -> CaseLine:
    site = registry.site(case.site)
    owed = None if site is None else _owed(conn, registry, case)  # it may have been taken out of the registry
    taken_us = None if owed is None else owed.clock.taken_us
    return CaseLine(
        id=case.id,
        kind=case.kind,
        site=case.site,
        site_name=site.name if site else case.site,
        municipality=case.municipality,
        state=case.state,
        seen_us=case.from_us,
        historical=case.historical,
        next="" if owed is None else owed.asks,
        next_us=taken_us,
        overdue=taken_us is not None and taken_us < now_us and not case.historical,
    )


def _owed(conn: sa.Connection, registry: Registry, case: Case) -> Running | None:
    """The first clock that somebody has to meet and has not: a right that ends is nobody's debt."""
    return owed_first(clocks_of(steps.code_of(conn, registry, case), case))
