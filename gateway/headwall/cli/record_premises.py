"""`headwall record connection|maintenance|obstruction`: connections to the sewer, and care of monitoring equipment."""

from __future__ import annotations

from typing import Annotated

import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note
from headwall.cli.entering import By, Replaces, SiteArgument, When, enter, past
from headwall.cli.opened import opened
from headwall.ledger import entries


def register(record: typer.Typer) -> None:
    """Adds them to the commands of entries."""
    record.command("connection")(connection)
    record.command("maintenance")(maintenance)
    record.command("obstruction")(obstruction)


def connection(
    site: SiteArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="which one; the same in each entry about it")],
    what: Annotated[
        str,
        typer.Option(
            "--what", help="sewage, indoor-drain, interior-floor-drain, trench-drain, commercial-drain, other"
        ),
    ],
    by: By,
    documented: Annotated[bool, typer.Option("--documented", help="on an approved plan, map or like record")] = False,
    approved: Annotated[str, typer.Option("--approved", help="by which permit or plan; leave out: not")] = "",
    since: Annotated[str, typer.Option("--since", help="when it was made, as far as known")] = "",
    removed: Annotated[bool, typer.Option("--removed", help="it is there no longer")] = False,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A connection to the storm sewer as it was found, also one of long ago."""
    with opened(config) as at:
        place = at.registry.require_site(site)
        fields = {"name": name, "what": what.replace("-", "_"), "documented": documented, "approved": approved}
        body = entries.checked(entries.Connection, **fields, since=since, removed=removed, note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)


def maintenance(
    datastream: Annotated[str, typer.Argument(metavar="NODE/STREAM", help="the sensor, as the registry has it")],
    work: Annotated[str, typer.Argument(metavar="WORK", help="what was done")],
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Monitoring equipment was maintained."""
    with opened(config) as at:
        at.registry.require_datastream(datastream)
        body = entries.checked(entries.Maintenance, work=work, note=note)
        enter(at, body, datastream, past(at, when, "--at"), by, replaces, as_json=as_json)


def obstruction(
    site: SiteArgument,
    step: Annotated[str, typer.Argument(metavar="STEP", help="asked: to be removed; removed")],
    what: Annotated[str, typer.Option("--what", help="what is in the way; the same in each entry about it")],
    by: By,
    means: Annotated[str, typer.Option("--means", help="how it was asked: in writing, by word of mouth")] = "",
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Something is in the way of whoever inspects or samples: its removal was asked for, or done."""
    with opened(config) as at:
        place = at.registry.require_site(site)
        body = entries.checked(entries.Obstruction, what=what, step=step, means=means, note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)
