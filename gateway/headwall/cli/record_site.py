"""`headwall record report|inspection|presence|plan`: what happened at a construction site."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import sqlalchemy as sa
import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note
from headwall.cli.entering import By, Replaces, SiteArgument, When, enter, past, site_of
from headwall.cli.opened import Opened, named, opened, parse_time
from headwall.errors import InputError
from headwall.law import localtime
from headwall.ledger import attachments, entries, log_book
from headwall.rules import duties
from headwall.rules.facts import StormDuty

Role = Literal["trained_contractor", "qualified_inspector"]
Visited = Annotated[str | None, typer.Option("--visited", help="when the site was looked at; default: --at")]
Delivered = Annotated[str | None, typer.Option("--delivered", help="when the officer got it; default: --at")]
DeliveredTo = Annotated[str, typer.Option("--delivered-to", help="who got it; without it it is not delivered yet")]
Means = Annotated[str, typer.Option("--means", help="by email, by hand, …")]
Found = Annotated[str, typer.Option("--found", help="how effective the controls are")]
InLogBook = Annotated[bool, typer.Option("--in-log-book", help="a copy is in the log book at the site")]
Files = Annotated[list[Path] | None, typer.Option("--attach", help="the report: PDF, JPEG or PNG; may be repeated")]
Storms = Annotated[
    list[int] | None,
    typer.Option("--storm", metavar="DUTY", min=1, max=2**63 - 1, help="it is the report that this duty waits for"),
]


def register(record: typer.Typer) -> None:
    record.command("report")(report)
    record.command("inspection")(inspection)
    record.command("presence")(presence)
    record.command("plan")(plan)


def report(
    site: SiteArgument,
    by: By,
    when: When = None,
    visited: Visited = None,
    inspector: Annotated[
        str, typer.Option("--inspector", help="the qualified inspector who made the visit too and signed")
    ] = "",
    delivered_to: DeliveredTo = "",
    delivered: Delivered = None,
    means: Means = "",
    in_log_book: InLogBook = False,
    found: Found = "",
    storm: Storms = None,
    attach: Files = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The report of a trained contractor on a site's controls, completed at --at: it answers what it was due for."""
    signed = _signed(("trained_contractor", by), ("qualified_inspector", inspector))
    delivery = (delivered_to, delivered, means)
    _report(
        config, site, by, when, visited, signed, delivery, in_log_book, found, storm, attach, note, replaces, as_json
    )


def inspection(
    site: SiteArgument,
    by: By,
    when: When = None,
    visited: Visited = None,
    contractor: Annotated[
        str, typer.Option("--contractor", help="the trained contractor who made the visit too and signed")
    ] = "",
    delivered_to: DeliveredTo = "",
    delivered: Delivered = None,
    means: Means = "",
    in_log_book: InLogBook = False,
    found: Found = "",
    storm: Storms = None,
    attach: Files = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The report of a qualified inspector on a site's controls, completed at --at."""
    signed = _signed(("qualified_inspector", by), ("trained_contractor", contractor))
    delivery = (delivered_to, delivered, means)
    _report(
        config, site, by, when, visited, signed, delivery, in_log_book, found, storm, attach, note, replaces, as_json
    )


def presence(
    site: SiteArgument,
    by: By,
    day: Annotated[str | None, typer.Option("--day", help="2026-06-10; default: today")] = None,
    contractor: Annotated[
        list[str] | None, typer.Option("--contractor", help="a trained contractor who was there; may be repeated")
    ] = None,
    no_work: Annotated[bool, typer.Option("--no-work", help="nobody worked")] = False,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Who of the trained contractors was at a construction site on a day, or that nobody worked."""
    if no_work and contractor:
        raise InputError("--no-work says that nobody worked: leave --contractor out, or --no-work")
    with opened(config) as at:
        place = site_of(at, site, "construction")
        where, now_us = at.registry.zone(place.municipality), at.clock.now_us()
        on = localtime.day_of(now_us, where) if day is None else _day(day)
        start_us, end_us = localtime.day_bounds(localtime.midnight_us(on, where), where)
        if start_us > now_us:
            raise InputError(f"--day {on} is in the future; enter who has been there")
        names = [named(each, "--contractor") for each in contractor or []]
        body = entries.checked(entries.Presence, day=on.isoformat(), work=not no_work, contractors=names, note=note)
        enter(at, body, place.id, min((start_us + end_us) // 2, now_us), by, replaces, as_json=as_json)


def plan(
    site: SiteArgument,
    by: By,
    when: When = None,
    missing: Annotated[bool, typer.Option("--missing", help="it was looked for and not found")] = False,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Whether a copy of the SWPPP was found at a construction site."""
    with opened(config) as at:
        place = site_of(at, site, "construction")
        body = entries.checked(entries.PlanSeen, there=not missing, note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)


# ---- a report


def _signed(*people: tuple[Role, str]) -> list[dict[str, str]]:
    return [{"name": named(name), "role": role} for role, name in people if name]


def _report(
    config: Path,
    site: str,
    by: str,
    times: tuple[str | None, str | None],
    signed: list[dict[str, str]],
    delivery: tuple[str, str | None, str],
    in_log_book: bool,
    found: str,
    storms: list[int] | None,
    files: list[Path] | None,
    note: str,
    replaces: int | None,
    as_json: bool,
) -> None:
    when, visited = times
    with opened(config) as at:
        place, done_us = site_of(at, site, "construction"), past(at, when, "--at")
        visited_us = done_us if visited is None else parse_time(visited, at.zone, "--visited")
        if visited_us > done_us:
            raise InputError("--visited is after --at: a report is completed after the visit")
        who = named(by)
        fields: dict[str, Any] = {"visited_us": visited_us, "signed": signed, "found": found, "note": note}
        fields |= _delivery(at, delivery, done_us) | {"in_log_book": in_log_book}
        stored = [attachments.store(at.settings.ledger.attachments, file) for file in files or []]
        body = entries.checked(entries.SiteReport, **fields, attachments=[each.digest for each in stored])
        with at.ledger.read() as conn:
            waiting = [_waiting(conn, number, place.id) for number in storms or []]
        enter(at, body, place.id, done_us, who, replaces, as_json=as_json)
        now_us = at.clock.now_us()
        with at.ledger.begin() as conn:
            for file, kept in zip(files or [], stored, strict=True):
                what: dict[str, Any] = {"site": place.id, "municipality": place.municipality, "digest": kept.digest}
                what |= {"type": kept.type, "size": kept.size, "of_us": done_us, "under": "", "counts_from_us": None}
                personal = {"name": file.name, "about": "inspection report"}
                log_book.append(conn, attachments.KIND, who, what, now_us, personal)
            for number in waiting:
                duties.close_duty(conn, number, "received", by=who, at_us=done_us, now_us=now_us)
        if not as_json:
            for number in waiting:
                print(f"Duty {number}: report received, by {who}.")


def _delivery(at: Opened, delivery: tuple[str, str | None, str], done_us: int) -> dict[str, Any]:
    to, when, means = delivery
    if not to:
        if when is not None or means:
            raise InputError("--delivered and --means say how it was delivered: say to whom, --delivered-to")
        return {}
    delivered_us = done_us if when is None else parse_time(when, at.zone, "--delivered")
    if not done_us <= delivered_us <= at.clock.now_us():
        raise InputError("--delivered must lie between --at, when the report was completed, and now")
    return {"delivered_us": delivered_us, "delivered_to": named(to, "--delivered-to"), "means": means}


def _waiting(conn: sa.Connection, number: int, site: str) -> int:
    """The number of an open duty of a storm at the site; InputError for another."""
    found = duties.get(conn, number)
    if found.body.site != site:
        raise InputError(f"duty {number} is of {found.body.site}, not of {site}")
    if found.state != "open" or not isinstance(found.body, StormDuty):
        raise InputError(f"duty {number} is no open duty of a storm; see `headwall duty show {number}`")
    return number


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--day {text!r} is no day; write 2026-06-10") from None
