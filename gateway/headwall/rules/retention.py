"""How long what is attached to the log book must be kept, what holds it longer, and who disposed of it.

The longest of the code's period, the permit's and the records officer's own counts, from the latest instant that is
known or as the municipality has chosen; a legal hold stands above all. Where nobody has named a period it is kept as
long as the municipality has chosen for that, and else for good. Nothing here deletes: a named person does,
and a row says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from headwall.codes import at_gateway
from headwall.errors import InputError
from headwall.law import localtime
from headwall.law.deadlines import START_TEXT
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.ledger import attachments, log_book
from headwall.registry import Registry
from headwall.rules.record_places import Places, RecordPlaces

HOLD = "legal_hold"
RELEASE = "legal_hold_released"
PERIOD = "retention_period"


@dataclass(frozen=True)
class Kept:
    """An attachment and how long it is kept.

    Attributes:
        until: the last day; None: nobody has named a period.
        why: which periods there are.
        asks: the code counts from the latest of several instants, and only the record's own is known.
        holds: rows of the legal holds that stand on it.
        disposed: row by which it was disposed of.
    """

    row: log_book.Row
    until: date | None
    why: str
    asks: bool
    holds: tuple[int, ...]
    disposed: int | None


def kept(conn: sa.Connection, registry: Registry, told_us: dict[int, int] | None = None) -> Iterator[Kept]:
    """Every attachment, in order.

    Args:
        told_us: row → the latest instant from which its time counts, for those where the row does not say it.
    """
    places, holds = RecordPlaces(registry), standing_holds(conn)
    disposed = {row.body["row"]: row.n for row in log_book.rows(conn, (attachments.DISPOSAL,))}
    periods, codes = [row.body for row in log_book.rows(conn, (PERIOD,))], at_gateway(conn, registry)
    for row in log_book.rows(conn, (attachments.KIND,)):
        where = places.of(row)
        counts_from_us = (told_us or {}).get(row.n, row.body["counts_from_us"])
        town = next(iter(where.municipalities), "")
        code = codes[registry.municipality(town).profile] if town else None
        until, why, several = _until(row, registry, town, code, periods, counts_from_us)
        yield Kept(row, until, why, several and counts_from_us is None, _on(where, holds), disposed.get(row.n))


def standing_holds(conn: sa.Connection) -> list[log_book.Row]:
    """The legal holds that nobody has released."""
    released = {row.body["hold"] for row in log_book.rows(conn, (RELEASE,))}
    return [row for row in log_book.rows(conn, (HOLD,)) if row.n not in released]


def check_no_hold(conn: sa.Connection, registry: Registry, n: int) -> None:
    """InputError where a legal hold stands on a row."""
    places, where = RecordPlaces(registry), None
    for row in log_book.rows(conn):
        where = places.of(row)
        if row.n == n:
            break
    if where is not None and (holds := _on(where, standing_holds(conn))):
        raise InputError(f"row {n} is under legal hold (row {holds[0]}); it stays as it is until the hold is released")


def dispose(
    conn: sa.Connection,
    registry: Registry,
    n: int,
    *,
    by: str,
    reason: str,
    now_us: int,
    counts_from_us: int | None = None,
) -> Kept:
    """A named person disposes of the file of an attachment whose time has passed; the person deletes it, not this.

    Args:
        counts_from_us: the latest instant from which its time counts, where the row does not say it.

    Raises:
        InputError: there is no such attachment, or it must still be kept.
    """
    told_us = {} if counts_from_us is None else {n: counts_from_us}
    found = next((each for each in kept(conn, registry, told_us) if each.row.n == n), None)
    if found is None:
        raise InputError(f"row {n} of the log book is no attachment; `headwall logbook due` lists them")
    if found.disposed is not None:
        raise InputError(f"row {n} was disposed of by row {found.disposed}")
    if found.holds:
        raise InputError(f"row {n} is under legal hold (row {found.holds[0]})")
    if found.until is None:
        raise InputError(f"row {n} is kept for good: {found.why}; a records officer may name a period")
    if found.asks:
        raise InputError(f"row {n}: {found.why}; say in --counts-from which instant was the latest")
    town = next(iter(RecordPlaces(registry).of(found.row).municipalities), registry.municipalities[0].id)
    if localtime.day_of(now_us, registry.zone(town)) <= found.until:
        raise InputError(f"row {n} must be kept until {found.until.isoformat()}: {found.why}")
    body = {"row": n, "reason": reason, "counts_from_us": counts_from_us}
    log_book.append(conn, attachments.DISPOSAL, by, body, now_us)
    return found


def clause(code: Profile, provision: str) -> Provision:
    """A clause of a municipality's code that says how long a record is kept; InputError where it does not."""
    with_period = {each.id: each for each in code.provisions if each.retention is not None}
    if provision not in with_period:
        raise InputError(
            f"{provision!r} is no clause of {code.municipality} that says how long something is kept; it has "
            f"{', '.join(with_period) or 'none'}"
        )
    return with_period[provision]


def _until(
    row: log_book.Row,
    registry: Registry,
    municipality: str,
    code: Profile | None,
    periods: list[dict[str, Any]],
    counts_from_us: int | None,
) -> tuple[date | None, str, bool]:
    """The last day, which periods there are, and whether the code's counts from one of several instants."""
    if code is None:
        return None, "its municipality is not in the registry", False
    zone = registry.zone(municipality)
    under, found, several = row.body["under"], [], False
    begins = code.choice("retention.start", localtime.day_of(row.body["of_us"], zone))
    if under:
        provision = next((each for each in code.provisions if each.id == under), None)
        if provision is None or provision.retention is None:
            return None, f"the code has no clause {under} any more", False
        starts = [START_TEXT[each] for each in provision.retention.starts]
        several = len(starts) > 1
        since = f"the {begins} of {', '.join(starts)}" if several else starts[0]
        years = provision.retention.count
        found.append((years, f"{years} years under {provision.citation}, from {since}"))
    own = {(each["under"], each["of"]): each for each in periods if each["municipality"] == municipality}
    found += [
        (each["years"], f"{each['years']} years under {each['reference']}")
        for (of_clause, _), each in own.items()
        if of_clause in ("", under)
    ]
    if not found and (years := code.choice("retention.default_y", localtime.day_of(row.body["of_us"], zone))):
        found.append((years, f"{years} years by the municipality's own choice"))
    if not found:
        return None, "no period is named", False
    instants_us = [row.body["of_us"], *([] if counts_from_us is None else [counts_from_us])]
    start = localtime.day_of(min(instants_us) if begins == "earliest" else max(instants_us), zone)
    last = max(localtime.after_months(start, 12 * years) for years, _ in found)
    return last, "; ".join(why for _, why in sorted(found, reverse=True)), several and begins != "earliest"


def _on(where: Places, holds: list[log_book.Row]) -> tuple[int, ...]:
    return tuple(
        row.n
        for row in holds
        if (row.body["site"] in where.sites if row.body["site"] else row.body["municipality"] in where.municipalities)
    )
