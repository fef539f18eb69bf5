"""`headwall record offence`: the register of offences and convictions, by which the tier of a penalty is read."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from headwall import codes
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, print_json
from headwall.cli.opened import named, opened, parse_time, place_of
from headwall.errors import InputError
from headwall.ledger import entries, log_book


def register(record: typer.Typer) -> None:
    """Adds it to the commands of records."""
    record.command("offence")(offence)


def offence(
    municipality: Annotated[str, typer.Argument(metavar="MUNICIPALITY", help="id of the registry")],
    violator: Annotated[str, typer.Option("--violator", help="who committed it")],
    under: Annotated[str, typer.Option("--under", help="the provision that was broken")],
    committed: Annotated[str, typer.Option("--committed", help="when it was committed")],
    reference: Annotated[str, typer.Option("--reference", help="docket, case or file number")],
    by: Annotated[str, typer.Option("--by", help="who enters it")],
    convicted: Annotated[str | None, typer.Option("--convicted", help="when a court convicted of it")] = None,
    replaces: Annotated[
        int | None, typer.Option("--replaces", metavar="ID", min=1, help="the entry it replaces")
    ] = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """An offence of before, with its conviction where there was one; names nobody in the log book."""
    with opened(config) as at:
        town, _ = place_of(at, None, municipality)
        zone, now_us, who = at.registry.zone(town), at.clock.now_us(), named(by)
        committed_us = parse_time(committed, zone, "--committed")
        convicted_us = None if convicted is None else parse_time(convicted, zone, "--convicted")
        if not committed_us <= (committed_us if convicted_us is None else convicted_us) <= now_us:
            raise InputError("an offence is committed, then somebody is convicted of it, and neither in the future")
        body = entries.checked(
            entries.Offence,
            violator=named(violator, "--violator"),
            provision=under,
            reference=reference.strip(),
            convicted_us=convicted_us,
            note=note,
        )
        with at.ledger.begin() as conn:
            known = [each.id for each in codes.code_of(conn, at.registry, town).provisions]
            if under not in known:
                raise InputError(f"--under {under!r} is no provision of {town}; `headwall law list` shows them")
            made = entries.add_entry(
                conn, body, subject=town, done_us=committed_us, by=who, now_us=now_us, replaces=replaces
            )
            if made is None:
                raise InputError("the register has this already; nothing was added")
            what = {"entry": made.id, "kind": made.kind, "municipality": town, "done_us": committed_us}
            what |= {"convicted_us": convicted_us, "replaces": replaces, "digest": made.digest}
            log_book.append(conn, "entry", who, what, now_us)
        if as_json:
            print_json({"entry": made.id, "done_us": committed_us, **msgspec.to_builtins(body)})
            return
        told = "nobody was convicted of it" if convicted is None else f"convicted {convicted}"
        print(f"Entry {made.id}: offence of {body.violator} against {under}, committed {committed}; {told}.")
