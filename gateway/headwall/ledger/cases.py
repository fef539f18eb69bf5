"""Cases in the ledger: what waits for a person, and every step that was taken. Which step may follow which is not known
here: `headwall.cases` holds that, and is the one writer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from headwall.errors import UnknownThingError
from headwall.ledger import schema
from headwall.ledger.unreadable import ERRORS, Unreadable, read_rows


class Clock(msgspec.Struct, frozen=True):
    """When something is due under a clause, by both of its readings.

    Attributes:
        name: of the clause's deadline.
        taken_us: the reading that counts.
    """

    provision: str
    name: str
    strict_us: int | None
    lenient_us: int | None
    taken_us: int | None


@dataclass(frozen=True)
class CaseStep:
    """One step of a case.

    Attributes:
        done_us: when it was done, which may be before it was entered at `at_us`.
        details: whom a call reached, at which number, and the like, by name.
        times: instants that clocks start with, by name.
        clocks: those that are new with this step, or have moved.
    """

    id: int
    case: int
    action: str
    from_state: str
    to_state: str
    by: str
    done_us: int
    means: str
    note: str
    outcome: str
    details: dict[str, str]
    provision: str
    times: dict[str, int]
    clocks: list[Clock]
    at_us: int


@dataclass(frozen=True)
class Case:
    """A case as it stands, with its steps in order."""

    id: int
    kind: str
    provision: str
    municipality: str
    site: str
    notice: str | None
    state: str
    historical: bool
    from_us: int
    until_us: int
    at_us: int
    steps: list[CaseStep]


def case(conn: sa.Connection, number: int, *, lock: bool = False) -> Case:
    """The case of that number.

    Args:
        lock: nobody else may write to it until the transaction ends.

    Raises:
        UnknownThingError: there is none.
    """
    query = sa.select(schema.cases).where(schema.cases.c.id == number)
    found = next(iter(_read(conn, query.with_for_update() if lock else query)), None)
    if found is None:
        raise UnknownThingError(f"there is no case {number}; `headwall case list` shows them")
    return found


def some(conn: sa.Connection, numbers: Collection[int]) -> list[Case]:
    """The cases of some numbers, oldest first; those that there are not are left out."""
    return _read(conn, sa.select(schema.cases).where(_C.id.in_(list(numbers))).order_by(_C.id))


def of_notice(conn: sa.Connection, key: str) -> Case | None:
    """The case that came from a notice."""
    return next(iter(_read(conn, sa.select(schema.cases).where(schema.cases.c.notice == key))), None)


def without_notice(conn: sa.Connection, kind: str, site: str, from_us: int, until_us: int) -> Case | None:
    """The oldest case at a site whose time overlaps another and whose notice, if it had one, stands no more."""
    c, n = schema.cases.c, schema.notices.c
    stands = sa.exists().where(n.key == c.notice, n.closed_us.is_(None))
    query = sa.select(schema.cases).where(c.kind == kind, c.site == site, c.from_us <= until_us, c.until_us >= from_us)
    return next(iter(_read(conn, query.where(~stands).order_by(c.id))), None)


def listed(
    conn: sa.Connection,
    *,
    site: str | None = None,
    kind: str | None = None,
    without: Collection[str] = (),
    unreadable: list[Unreadable] | None = None,
) -> list[Case]:
    """Cases, oldest first.

    Args:
        site, kind: only those of this one.
        without: states that are left out.
        unreadable: takes those that cannot be read; without it they are an UnreadableRowError.
    """
    query = sa.select(schema.cases).where(_C.state.not_in(without)).order_by(_C.id)
    query = query if site is None else query.where(_C.site == site)
    return _read(conn, query if kind is None else query.where(_C.kind == kind), unreadable)


def add(conn: sa.Connection, **columns: Any) -> int:
    """A row of `cases`; returns its number."""
    number: int = conn.execute(schema.cases.insert().values(**columns).returning(schema.cases.c.id)).scalar_one()
    return number


def update(conn: sa.Connection, number: int, **columns: Any) -> None:
    """What follows from a step, or from the notice, in the row of the case."""
    conn.execute(schema.cases.update().where(schema.cases.c.id == number).values(**columns))


def add_step(conn: sa.Connection, *, clocks: list[Clock], **columns: Any) -> int:
    """A row of `case_steps`; returns its number."""
    table = schema.case_steps
    values = {**columns, "clocks": msgspec.to_builtins(clocks)}
    number: int = conn.execute(table.insert().values(**values).returning(table.c.id)).scalar_one()
    return number


_C, _S = schema.cases.c, schema.case_steps.c
_STEPS = sa.select(schema.case_steps).where(_S.case == sa.bindparam("case")).order_by(_S.id)


def _read(conn: sa.Connection, query: sa.Select[Any], unreadable: list[Unreadable] | None = None) -> list[Case]:
    """Cases with their steps: of many the steps are fetched in one query."""
    try:
        rows = conn.execute(query).all()
        steps = _steps_of(conn, query) if len(rows) > 1 else None
        return [Case(**row._mapping, steps=_steps(conn, row.id) if steps is None else steps[row.id]) for row in rows]
    except ERRORS:
        return read_rows(
            conn, query, _C.id, "case", lambda row: Case(**row._mapping, steps=_steps(conn, row.id)), unreadable
        )


def _steps_of(conn: sa.Connection, query: sa.Select[Any]) -> dict[int, list[CaseStep]]:
    found: dict[int, list[CaseStep]] = defaultdict(list)
    of_them = _S.case.in_(query.with_only_columns(_C.id).order_by(None))
    for row in conn.execute(sa.select(schema.case_steps).where(of_them).order_by(_S.id)):
        found[row.case].append(_step(row))
    return found


def _steps(conn: sa.Connection, number: int) -> list[CaseStep]:
    return list(map(_step, conn.execute(_STEPS, {"case": number})))


def _step(row: Any) -> CaseStep:
    return CaseStep(**{**row._mapping, "clocks": msgspec.convert(row._mapping["clocks"], list[Clock])})
