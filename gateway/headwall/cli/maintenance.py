"""`headwall maintenance`: a time in which a node's readings are kept, flagged and not judged."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, parse_duration_us, print_json
from headwall.cli.opened import named, opened, parse_time
from headwall.errors import InputError
from headwall.law import localtime
from headwall.ledger import log_book, schema

#: longer than any work at a gauge: what is off for a season has `off` in the registry, and what is gone an end
_MOST_US = 14 * 86_400_000_000


def register(app: typer.Typer) -> None:
    app.command("maintenance")(maintenance)


def maintenance(
    node: Annotated[str, typer.Argument(metavar="NODE", help="node id of the registry")],
    length: Annotated[str, typer.Option("--for", help="how long: 30m, 2h")],
    by: Annotated[str | None, typer.Option("--by", help="name of the person; default: the login name")] = None,
    start: Annotated[str | None, typer.Option("--start", help="when it began; default: now")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Keep a node's readings out of every judgement for a while: bucket tests, cleaning, moving.

    With --start a window can be entered for the past; what was judged in it is judged again.
    """
    with opened(config) as at:
        at.registry.require_node(node)
        who, now_us = named(by if by is not None else getpass.getuser()), at.clock.now_us()
        start_us = now_us if start is None else parse_time(start, at.zone, "--start")
        end_us = start_us + _length_us(length)
        with at.ledger.begin() as conn:
            window = {"node": node, "start_us": start_us, "end_us": end_us, "by": who}
            conn.execute(schema.maintenance.insert().values(**window, at_us=now_us))
            log_book.append(conn, "maintenance", who, {"node": node, "start_us": start_us, "end_us": end_us}, now_us)
        if as_json:
            print_json(window)
            return
        span = f"{localtime.short(start_us, at.zone)} to {localtime.short(end_us, at.zone)}"
        print(f"{node}: readings from {span} are kept but not judged (by {who}).")
        print("The gauge is blind in that time: a storm in it must be checked by hand.")


def _length_us(text: str) -> int:
    length_us = parse_duration_us(text, "--for")
    if length_us > _MOST_US:
        raise InputError(
            f"--for {text!r} is longer than 14 days, in which no storm would be judged; write `off` into the registry "
            "for a sensor that is out of use for so long"
        )
    return length_us
