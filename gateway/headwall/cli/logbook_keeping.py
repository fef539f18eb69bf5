"""`headwall logbook`, second part: redaction, how long attachments are kept, legal holds, disposal."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Decider, print_json
from headwall.cli.opened import Opened, named, opened, parse_time, place_of
from headwall.errors import InputError
from headwall.law import localtime
from headwall.ledger import acknowledgements, attachments, log_book
from headwall.rules import retention

RowNumber = Annotated[int, typer.Argument(metavar="ROW", min=1, max=2**63 - 1, help="see headwall logbook show")]
Reason = Annotated[str, typer.Option("--reason", help="why, with the reference of the order or request")]
OfSite = Annotated[str | None, typer.Option("--site", help="of this site")]
OfTown = Annotated[str | None, typer.Option("--municipality", help="or: of the whole municipality")]


def register(logbook: typer.Typer) -> None:
    logbook.command("redact")(redact)
    logbook.command("keep")(keep)
    logbook.command("hold")(hold)
    logbook.command("release")(release)
    logbook.command("due")(due)
    logbook.command("dispose")(dispose)


def redact(
    row: RowNumber, by: Decider, reason: Reason, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Take the name and the personal details out of a row for good; a further row says who, when and why."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        with at.ledger.begin() as conn:
            retention.check_no_hold(conn, at.registry, row)
            found = next((each for each in log_book.rows(conn) if each.n == row), None)
            log_book.redact(conn, row, by=who, reason=named(reason, "--reason"), now_us=now_us)
            if found is not None:
                acknowledgements.redact(conn, found)
        file = None if found is None or found.kind != attachments.KIND else _file(at, found)
        if as_json:
            print_json({"row": row, "file": file})
            return
        print(f"Row {row} names nobody any more; the chain holds.")
        if file is not None:
            print(f"Its file is yours to delete: {file}. Attach the redacted one as a new row.")
        print(
            "Backups, and the other tables of the ledger (duties, entries, approvals, cases, calibrations and more), "
            "are not changed by this, but for who has seen what."
        )


def keep(
    years: Annotated[int, typer.Argument(metavar="YEARS", min=1, max=200, help="how long at least")],
    municipality: Annotated[str, typer.Option("--municipality", help="whose attachments")],
    reference: Annotated[str, typer.Option("--reference", help="the schedule and its item")],
    by: Decider,
    under: Annotated[str | None, typer.Option("--under", help="only records of this clause; default: all")] = None,
    permit: Annotated[
        bool, typer.Option("--permit", help="a permit's period, which stands beside the records officer's")
    ] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The records officer's own period, or a permit's; the longest of all and the code's counts."""
    with opened(config) as at:
        town, _ = place_of(at, None, municipality)
        if under is not None:
            retention.clause(at.code_of(town), under)
        who, said = named(by), named(reference, "--reference")
        body = {"municipality": town, "under": under or "", "years": years, "reference": said}
        body["of"] = "permit" if permit else "records officer"
        with at.ledger.begin() as conn:
            n = log_book.append(conn, retention.PERIOD, who, body, at.clock.now_us())
        if as_json:
            print_json({"row": n, **body})
            return
        print(f"Attachments of {under or town} are kept {years} years at least, under {said}.")


def hold(
    by: Decider,
    reason: Reason,
    site: OfSite = None,
    municipality: OfTown = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A legal hold: nothing of that place is disposed of or redacted until it is released."""
    with opened(config) as at:
        town, place = place_of(at, site, municipality)
        who = named(by)
        with at.ledger.begin() as conn:
            body = {"site": place, "municipality": town, "reason": named(reason, "--reason")}
            n = log_book.append(conn, retention.HOLD, who, body, at.clock.now_us())
        if as_json:
            print_json({"row": n, **body})
            return
        print(f"Legal hold, row {n}: nothing of {place or town} is disposed of or redacted until it is released.")


def release(
    row: RowNumber, by: Decider, reason: Reason, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """End a legal hold, by the row that began it."""
    with opened(config) as at:
        who = named(by)
        with at.ledger.begin() as conn:
            if row not in {each.n for each in retention.standing_holds(conn)}:
                raise InputError(f"row {row} is no legal hold that stands")
            body = {"hold": row, "reason": named(reason, "--reason")}
            n = log_book.append(conn, retention.RELEASE, who, body, at.clock.now_us())
        if as_json:
            print_json({"row": n, **body})
            return
        print(f"The legal hold of row {row} is released.")


def due(config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Each attachment, until when it must be kept, and which may be disposed of now. Nothing is deleted by this."""
    with opened(config) as at:
        today = localtime.day_of(at.clock.now_us(), at.zone)
        with at.ledger.read() as conn:
            found = list(retention.kept(conn, at.registry))
        rows = []
        for each in found:
            until = each.until.isoformat() if each.until else None
            state = "keep"
            if each.until is not None and each.until < today:
                state = "may go once --counts-from is told" if each.asks else "may go"
            if each.holds:
                state = "legal hold"
            if each.disposed is not None:
                state = f"disposed of, row {each.disposed}"
            rows.append({"row": each.row.n, "until": until, "state": state, "why": each.why})
    if as_json:
        print_json(rows)
    elif not rows:
        print("Nothing is attached to the log book.")
    else:
        table = Table("Row", "Keep until", "Now", "Why")
        for row in rows:
            table.add_row(str(row["row"]), str(row["until"] or "for good"), str(row["state"]), str(row["why"]))
        Console(markup=False, highlight=False).print(table)


def dispose(
    row: RowNumber,
    by: Decider,
    reason: Reason,
    counts_from: Annotated[
        str | None, typer.Option("--counts-from", help="since when it was to be kept: the closing of the case")
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Say that you dispose of an attachment whose time has passed; you delete the file, the row stays."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        from_us = None if counts_from is None else parse_time(counts_from, at.zone, "--counts-from")
        with at.ledger.begin() as conn:
            said = named(reason, "--reason")
            found = retention.dispose(
                conn, at.registry, row, by=who, reason=said, now_us=now_us, counts_from_us=from_us
            )
        file = _file(at, found.row)
        if as_json:
            print_json({"row": row, "file": file})
            return
        print(f"The log book says that you dispose of the attachment of row {row}. The file is yours to delete:")
        print(file)


def _file(at: Opened, row: log_book.Row) -> str:
    """Where the file of an attachment is."""
    return str(attachments.place(at.settings.ledger.attachments, row.body["digest"], row.body["type"]))
