"""`headwall record report|inspection|delivery|presence|plan`: what happened at a construction site."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
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
    record.command("delivery")(delivery)
    record.command("presence")(presence)
    record.command("plan")(plan)


class _Told(NamedTuple):
    """What a person has typed of a report, but for who signed it."""

    site: str
    when: str | None
    visited: str | None
    delivered_to: str
    delivered: str | None
    means: str
    in_log_book: bool
    found: str
    storms: list[int] | None
    files: list[Path] | None
    note: str
    replaces: int | None


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
    told = _Told(site, when, visited, delivered_to, delivered, means, in_log_book, found, storm, attach, note, replaces)
    _enter_report(config, by, signed, told, as_json=as_json)


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
    told = _Told(site, when, visited, delivered_to, delivered, means, in_log_book, found, storm, attach, note, replaces)
    _enter_report(config, by, signed, told, as_json=as_json)


def delivery(
    number: Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="number of the report's entry")],
    by: Annotated[str, typer.Option("--by", help="name of the person who enters it")],
    to: Annotated[str, typer.Option("--to", help="who got it")],
    when: When = None,
    means: Means = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A report that was entered before has been delivered to the officer."""
    with opened(config) as at:
        when = when or localtime.iso(at.clock.now_us(), at.zone)
        with at.ledger.read() as conn:
            found = entries.entry(conn, number)
        if found is None or not isinstance(found.body, entries.SiteReport):
            raise InputError(f"entry {number} is no report of a site; `headwall record list` shows them")
        if found.body.delivered_us is not None:
            raise InputError(f"the report of entry {number} was delivered to {found.body.delivered_to} already")
        fields = _delivery(at, to, when, means, by, found.done_us)
        body = msgspec.structs.replace(found.body, **fields)
        enter(at, body, found.subject, found.done_us, found.by, number, as_json=as_json, entered_by=by)


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


def _enter_report(config: Path, by: str, signed: list[dict[str, str]], told: _Told, *, as_json: bool) -> None:
    with opened(config) as at:
        place, done_us = site_of(at, told.site, "construction"), past(at, told.when, "--at")
        visited_us = done_us if told.visited is None else parse_time(told.visited, at.zone, "--visited")
        if visited_us > done_us:
            raise InputError("--visited is after --at: a report is completed after the visit")
        stored = [attachments.store(at.settings.ledger.attachments, file) for file in told.files or []]
        fields: dict[str, Any] = {"visited_us": visited_us, "signed": signed, "found": told.found, "note": told.note}
        fields |= {"in_log_book": told.in_log_book, "attachments": [each.digest for each in stored]}
        if told.delivered_to:
            fields |= _delivery(at, told.delivered_to, told.delivered, told.means, by, done_us)
        elif told.delivered is not None or told.means:
            raise InputError("--delivered and --means say how it was delivered: say to whom, --delivered-to")
        body = entries.checked(entries.SiteReport, **fields)
        with at.ledger.read() as conn:
            waiting = [_waiting(conn, number, place.id) for number in told.storms or []]
        enter(at, body, place.id, done_us, by, told.replaces, as_json=as_json)
        who, now_us = named(by), at.clock.now_us()
        with at.ledger.begin() as conn:
            for file, kept in zip(told.files or [], stored, strict=True):
                what: dict[str, Any] = {"site": place.id, "municipality": place.municipality, "digest": kept.digest}
                what |= {"type": kept.type, "size": kept.size, "of_us": done_us, "under": "", "counts_from_us": None}
                personal = {"name": file.name, "about": "inspection report"}
                log_book.append(conn, attachments.KIND, who, what, now_us, personal)
            for number in waiting:
                duties.close_duty(conn, number, "received", by=who, at_us=done_us, now_us=now_us)
        if not as_json:
            for number in waiting:
                print(f"Duty {number}: report received, by {who}.")


def _delivery(at: Opened, to: str, when: str | None, means: str, by: str, done_us: int) -> dict[str, Any]:
    delivered_us = done_us if when is None else parse_time(when, at.zone, "the time of the delivery")
    if not done_us <= delivered_us <= at.clock.now_us():
        raise InputError("a report is delivered after it was completed, and not in the future")
    got = {"delivered_us": delivered_us, "delivered_to": named(to, "the name of who got it")}
    return {**got, "means": means, "delivery_by": named(by)}


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
