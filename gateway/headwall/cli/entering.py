"""What the commands of `headwall record` share: their options, and how an entry comes into the ledger."""

from __future__ import annotations

from typing import Annotated

import typer

from headwall.cli.common import print_json
from headwall.cli.entry_text import as_data, said
from headwall.cli.opened import Opened, named, parse_time
from headwall.errors import InputError
from headwall.law import localtime
from headwall.law.provision import Provision
from headwall.ledger import entries, log_book
from headwall.registry.model import Site

By = Annotated[str, typer.Option("--by", help="name of the person who measured or did it")]
When = Annotated[str | None, typer.Option("--at", help="when: 2026-06-10 15:42, local time; default: now")]
Replaces = Annotated[
    int | None,
    typer.Option("--replaces", metavar="ID", min=1, max=2**63 - 1, help="the entry in whose stead this one stands"),
]
SiteArgument = Annotated[str, typer.Argument(metavar="SITE", help="site id of the registry")]


def enter(
    at: Opened,
    body: entries.Body,
    subject: str,
    done_us: int,
    by: str,
    replaces: int | None,
    *,
    as_json: bool = False,
    entered_by: str | None = None,
) -> None:
    """Put an entry into the ledger and the log book, and say so.

    Args:
        by: who measured or did it, and entered it unless somebody else did.
    """
    who, now_us = named(by), at.clock.now_us()
    writes = who if entered_by is None else named(entered_by)
    with at.ledger.begin() as conn:
        made = entries.add_entry(conn, body, subject=subject, done_us=done_us, by=who, now_us=now_us, replaces=replaces)
        if made is not None:
            what = {"entry": made.id, "kind": made.kind, "subject": subject, "done_us": done_us}
            log_book.append(conn, "entry", writes, {**what, "replaces": replaces, "digest": made.digest}, now_us)
    if as_json:
        print_json(None if made is None else as_data(made))
    elif made is None:
        print("The ledger has this entry already; nothing was added.")
    else:
        stead = "" if replaces is None else f", in the stead of {replaces}"
        print(f"Entry {made.id}{stead}: {subject}, {localtime.short(done_us, at.zone)}, by {who}: {said(body)}.")


def site_of(at: Opened, identifier: str, kind: str) -> Site:
    site = at.registry.require_site(identifier)
    if site.kind != kind:
        raise InputError(f"{identifier} is a {site.kind} site; this is entered of {kind} sites")
    return site


def clause_at(at: Opened, site: Site, kind: str, at_us: int) -> Provision:
    """The clause of a kind in the code of the site's municipality; InputError where it has none in force then."""
    code, day = at.code_of(site.municipality), localtime.day_of(at_us, at.zone)
    found = next((each for each in code.provisions if each.kind == kind and each.in_force(day)), None)
    if found is None:
        raise InputError(
            f"{code.code} of {code.municipality} asks for no {kind.replace('_', ' ')}; see headwall law list"
        )
    return found


def past(at: Opened, text: str | None, option: str) -> int:
    now_us = at.clock.now_us()
    found_us = now_us if text is None else parse_time(text, at.zone, option)
    if found_us > now_us:
        raise InputError(f"{option} {text!r} is in the future; enter what has been measured or done")
    return found_us
