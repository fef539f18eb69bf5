"""`headwall dead-letters`: payloads that could not be taken, and running them again once the cause is mended."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections import Counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, print_json
from headwall.cli.opened import Opened, opened
from headwall.errors import InputError
from headwall.ingest.batch import Intake
from headwall.ingest.dead_letters import DeadLetter, dead_letter, dead_letters
from headwall.law import localtime

Number = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="number of the dead letter")]
Reason = Annotated[str | None, typer.Option("--reason", help="only those with this reason, e.g. unknown_node")]


def register(app: typer.Typer) -> None:
    letters = typer.Typer(no_args_is_help=True, help="Payloads that could not be taken.")
    letters.command("list")(list_letters)
    letters.command("show")(show)
    letters.command("rerun")(rerun)
    app.add_typer(letters, name="dead-letters")


def list_letters(
    config: ConfigOption = DEFAULT_CONFIG,
    reason: Reason = None,
    everything: Annotated[bool, typer.Option("--all", help="those taken by a later run too")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="at most so many")] = 100,
    as_json: AsJson = False,
) -> None:
    """Dead letters in the order they came."""
    with opened(config) as at, at.ledger.read() as conn:
        found = dead_letters(conn, state=None if everything else "open", reason=reason, limit=limit + 1)
        more, found = len(found) > limit, found[:limit]
        if as_json:
            print_json([_as_json(letter) for letter in found])
        else:
            Console().print(_table(found, at))
        if more:
            print(f"There are more than these {limit}: see --limit and --reason.", file=sys.stderr)


def show(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """One dead letter with its payload as it came."""
    with opened(config) as at, at.ledger.read() as conn:
        letter = dead_letter(conn, number)
        if as_json:
            print_json({**_as_json(letter), "payload_base64": b64encode(letter.payload).decode("ascii")})
            return
        print(f"dead letter {letter.id}: {letter.reason}, {letter.state}, came {letter.count} times")
        print(f"first came: {_local(letter, at)}")
        print(f"topic: {letter.topic}")
        if letter.seq is not None:
            print(f"number: {letter.seq} of journal {letter.jid}")
        print(f"why: {letter.detail}")
        print(f"payload, {len(letter.payload)} bytes:")
        print(_payload(letter.payload))


def rerun(
    number: Annotated[
        int | None, typer.Argument(metavar="[ID]", min=1, max=2**63 - 1, help="number of the dead letter")
    ] = None,
    reason: Reason = None,
    everything: Annotated[bool, typer.Option("--all", help="all that are open")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Try again to take dead letters, say after mending the registry. Any number of times: nothing is stored twice."""
    if sum((number is not None, reason is not None, everything)) != 1:
        raise InputError("say which to run again: a number, --reason REASON or --all")
    with opened(config) as at:
        with at.ledger.read() as conn:
            chosen = dead_letters(conn, reason=reason) if number is None else [dead_letter(conn, number)]
        intake = Intake(at.ledger, at.registry, at.settings.ingest, at.clock)
        results = Counter(_rerun_one(intake, letter, len(chosen) == 1 and not as_json) for letter in chosen)
    if as_json:
        print_json({"taken": results.pop("taken", 0), "left_open": dict(results)})
        return
    print(f"{results.pop('taken', 0)} taken, {results.total()} left open" + _reasons(results))


def _rerun_one(intake: Intake, letter: DeadLetter, alone: bool) -> str:
    result = intake.rerun(letter)
    if alone and result != "taken":
        print(f"dead letter {letter.id} stays open: {result}")
    return result


def _reasons(results: Counter[str]) -> str:
    listed = ", ".join(f"{count} {reason}" for reason, count in results.most_common())
    return f" ({listed})" if listed else ""


def _table(found: list[DeadLetter], at: Opened) -> Table | str:
    if not found:
        return "There is no such dead letter."
    table = Table(box=None)
    for heading in ("ID", "came", "node", "reason", "number", "times", "state"):
        table.add_column(heading, no_wrap=True)
    table.add_column("why", overflow="fold")
    for letter in found:
        seq = "" if letter.seq is None else str(letter.seq)
        cells = (str(letter.id), _local(letter, at), letter.node or letter.topic[:40], letter.reason, seq)
        table.add_row(*cells, str(letter.count), letter.state, letter.detail)
    return table


def _as_json(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": letter.id,
        "at_us": letter.at_us,
        "node": letter.node,
        "topic": letter.topic,
        "reason": letter.reason,
        "detail": letter.detail,
        "jid": letter.jid,
        "seq": letter.seq,
        "count": letter.count,
        "state": letter.state,
        "bytes": len(letter.payload),
    }


def _local(letter: DeadLetter, at: Opened) -> str:
    return localtime.short(letter.at_us, at.zone)


def _payload(payload: bytes) -> str:
    """The payload as text where it is text, else its bytes escaped."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return repr(payload)
    return text if text.isprintable() else repr(payload)
