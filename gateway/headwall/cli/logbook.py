"""`headwall logbook`: looking into the log book, verifying, exporting, and attaching photos and documents."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headwall.cli import logbook_keeping
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, print_json, wrapped
from headwall.cli.lists import Limit, most, say_rest
from headwall.cli.logbook_keeping import OfSite, OfTown
from headwall.cli.opened import Opened, minute, named, opened, parse_time, place_of
from headwall.errors import HeadwallError, InputError
from headwall.ledger import attachments, log_book
from headwall.reports.log_book import Choice, Line, as_csv, as_pdf, lines, rows, shown
from headwall.rules import retention

SiteOption = Annotated[str | None, typer.Option("--site", help="only what is about this site")]
TownOption = Annotated[str | None, typer.Option("--municipality", help="only what is about this municipality")]
FromOption = Annotated[str | None, typer.Option("--from", help="only what was entered since then")]
ToOption = Annotated[str | None, typer.Option("--to", help="only what was entered before then")]
_ABOUT_CHARS = 2000


def register(app: typer.Typer) -> None:
    logbook = typer.Typer(
        no_args_is_help=True, help="The log book: looking, verifying, exporting, what is attached and kept."
    )
    logbook.command("show")(show)
    logbook.command("verify")(verify)
    logbook.command("export")(export)
    logbook.command("attach")(attach)
    logbook_keeping.register(logbook)
    app.add_typer(logbook, name="logbook")


def show(
    site: SiteOption = None,
    municipality: TownOption = None,
    start: FromOption = None,
    until: ToOption = None,
    everything: Annotated[bool, typer.Option("--all", help="all there are")] = False,
    limit: Limit = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The rows: who did what when, of all places or of one, the newest at the end."""
    last = most(limit, everything=everything, as_json=as_json)
    with opened(config) as at:
        choice = _choice(at, site, municipality, start, until)
        with at.ledger.read() as conn:
            try:
                chosen = list(rows(conn, at.registry, choice))
                found = list(lines(conn, at.registry, at.zone, chosen if last is None else chosen[-last:]))
            except log_book.UNREADABLE as error:
                raise HeadwallError(
                    f"log book: a row cannot be read ({error}); see `headwall logbook verify`"
                ) from error
    if as_json:
        print_json([dataclasses.asdict(line) for line in found])
        say_rest(len(found), len(chosen), "the newest", as_json=as_json)
        return
    if not found:
        print("The log book has no such row.")
        return
    for line in found:
        where = line.sites or line.municipalities
        said = [line.at[:16].replace("T", " "), line.kind.replace("_", " "), f"by {line.by}", where, shown(line.what)]
        print(wrapped(f"{line.n:>5}  ", "; ".join(filter(None, said))))
    say_rest(len(found), len(chosen), "the newest", as_json=as_json)


def verify(
    noted: Annotated[
        str | None, typer.Option("--noted", metavar="HEAD", help="a head of an earlier day that was noted elsewhere")
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Follow the whole chain and look at each attachment; names the first row that does not hold."""
    known = None if noted is None else log_book.Head.parse(noted)
    with opened(config) as at, at.ledger.read() as conn:
        head = log_book.head(conn)
        broken = log_book.verify(conn, known)
        files = [] if broken is not None else list(attachments.check(conn, at.settings.ledger.attachments))
        count = 0 if broken is not None else sum(1 for _ in log_book.rows(conn, (attachments.KIND,)))
    faults = [*([broken] if broken else []), *files]
    if as_json:
        body = {"holds": not faults, "rows": head.n, "head": str(head), "attachments": count}
        print_json({**body, "faults": [dataclasses.asdict(each) for each in faults]})
        if faults:
            raise typer.Exit(1)
        return
    if broken is not None:
        before = f"rows 1 to {broken.n - 1} hold" if broken.n > 1 else "no row before it"
        raise HeadwallError(
            f"log book: row {broken.n} {broken.why}; {before}. Compare with a backup, and change nothing"
        )
    if files:
        raise HeadwallError("log book: " + "; ".join(f"row {each.n} {each.why}" for each in files))
    print(f"{head.n} rows, each follows from the one before; attachments as they were: {count}.")
    print(f"Head: {head}")
    if known is None:
        print(
            "Note the head elsewhere, and give it to --noted one day: it shows a book that was written anew as a whole."
        )
    else:
        print(f"Row {known.n} is the one that was noted.")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="ends in .csv or .pdf; - for CSV on the screen")],
    site: SiteOption = None,
    municipality: TownOption = None,
    start: FromOption = None,
    until: ToOption = None,
    without_persons: Annotated[
        bool, typer.Option("--without-persons", help="for a records request: a number stands for each person")
    ] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The rows as CSV or PDF."""
    if str(file) != "-" and file.suffix not in (".csv", ".pdf"):
        raise InputError(f"FILE {file} must end in .csv or .pdf")
    if str(file) == "-" and as_json:
        raise InputError("--json tells of a file that is written; of rows on the screen: headwall logbook show --json")
    with opened(config) as at:
        choice = _choice(at, site, municipality, start, until)
        with at.ledger.read() as conn:
            broken = log_book.verify(conn)
            head = log_book.head(conn)
            chosen = rows(conn, at.registry, choice)
            found = list(lines(conn, at.registry, at.zone, chosen, without_persons=without_persons))
        if broken is not None:
            raise HeadwallError(f"log book: row {broken.n} {broken.why}; see `headwall logbook verify`")
        if str(file) == "-":
            sys.stdout.write(as_csv(found))
            return
        about = _about(at, choice, len(found), without_persons)
        data = as_csv(found).encode() if file.suffix == ".csv" else _pdf(found, about, head)
        try:
            file.write_bytes(data)
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error.strerror}") from None
    if as_json:
        body = {"file": str(file), "rows": len(found), "of": head.n, "head": str(head)}
        print_json({**body, "without_persons": without_persons})
        return
    print(f"{file}: {len(found)} rows of {head.n}.")
    print(f"Head: {head}")
    if without_persons:
        print("Names that somebody typed into a reason and that stand nowhere else are still in it: read it first.")


def attach(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a photo (JPEG, PNG) or a PDF")],
    by: Annotated[str, typer.Option("--by", help="name of the person who attaches it")],
    site: OfSite = None,
    municipality: OfTown = None,
    about: Annotated[str, typer.Option("--about", help="what it shows; may be redacted one day")] = "",
    when: Annotated[str | None, typer.Option("--at", help="when it was taken or written; default: now")] = None,
    under: Annotated[
        str | None, typer.Option("--under", help="the clause whose record it is: says how long it is kept")
    ] = None,
    counts_from: Annotated[
        str | None, typer.Option("--counts-from", help="since when it is to be kept, if later: the closing of the case")
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Keep a photo or a document with the log book: the file in its folder, its SHA-256 in the chain."""
    with opened(config) as at:
        town, place = place_of(at, site, municipality)
        if under is not None:
            retention.clause(at.code_of(town), under)
        if len(about) > _ABOUT_CHARS:
            raise InputError(f"--about has {len(about):,} characters, more than the {_ABOUT_CHARS:,} that are taken")
        who, now_us = named(by), at.clock.now_us()
        of_us = now_us if when is None else parse_time(when, at.zone, "--at")
        from_us = None if counts_from is None else parse_time(counts_from, at.zone, "--counts-from")
        stored = attachments.store(at.settings.ledger.attachments, file)
        body: dict[str, Any] = {"site": place, "municipality": town, "digest": stored.digest, "type": stored.type}
        body |= {"size": stored.size, "of_us": of_us, "under": under or "", "counts_from_us": from_us}
        with at.ledger.begin() as conn:
            personal = {"name": file.name, "about": about}
            n = log_book.append(conn, attachments.KIND, who, body, now_us, personal)
    if as_json:
        print_json({"row": n, **body})
    else:
        print(f"Row {n}: {file.name} of {place or town}, {minute(of_us, at.zone)}, SHA-256 {stored.digest}.")


def _choice(at: Opened, site: str | None, municipality: str | None, start: str | None, until: str | None) -> Choice:
    if site is not None:
        at.registry.require_site(site)
    if municipality is not None:
        place_of(at, None, municipality)
    from_us = None if start is None else parse_time(start, at.zone, "--from")
    to_us = None if until is None else parse_time(until, at.zone, "--to")
    if from_us is not None and to_us is not None and from_us >= to_us:
        raise InputError(f"--from {start!r} is not before --to {until!r}")
    return Choice(site, municipality, from_us, to_us)


def _about(at: Opened, choice: Choice, count: int, without_persons: bool) -> list[str]:
    of = choice.site or choice.municipality or "all places"
    since = "the beginning" if choice.from_us is None else minute(choice.from_us, at.zone)
    until = "now" if choice.to_us is None else minute(choice.to_us, at.zone)
    told = [f"{count} rows, of {of}, entered from {since} to {until}. Made {minute(at.clock.now_us(), at.zone)}."]
    if without_persons:
        told.append("Persons: a number stands for each name, and personal details are left out.")
    return told


def _pdf(found: list[Line], about: list[str], head: log_book.Head) -> bytes:
    return as_pdf(found, title="Log book", about=about, head=head)
