"""`headwall board config`: check a configuration, show what it changes, put it on a board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from headwall.cli.common import DEFAULT_CONFIG, read_json_object
from headwall.cli.node_config import LIKE_CONFIG
from headwall.cli.node_config import node_config as send
from headwall.errors import ConfigurationError, InputError
from rich.console import Console
from rich.table import Table

from headwall_board import node_config
from headwall_board.bench import DEFAULT_WAIT, JsonOption, PortOption, WaitOption, session
from headwall_board.node_config import CONFIG
from headwall_board.session import Session

#: keys that provision puts there
_PROVISIONED = ("node", "cert_file")
_CANDIDATE = "/config.json.bench"


def register(app: typer.Typer) -> None:
    app.command("config")(config)


def config(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="config.json for the board")],
    port: PortOption = None,
    wait: WaitOption = DEFAULT_WAIT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only check and show the differences")] = False,
    mqtt: Annotated[
        str | None,
        typer.Option("--mqtt", metavar="NODE", help="send it through the gateway instead, as node config does"),
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="with --mqtt: name of the person who sends it")] = None,
    gateway: Annotated[
        Path, typer.Option("--config", "-c", envvar="HEADWALL_CONFIG", help="with --mqtt: the gateway's settings file")
    ] = DEFAULT_CONFIG,
    check: Annotated[bool, typer.Option("--check", help="only check the file; no board is needed")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a configuration by the board's own rules, show what it changes, put it on the board by cable.

    What the board was provisioned with stays if FILE does not name it, so that one file can serve several. What the
    gateway has sent takes the place of what came by cable as soon as the board connects: then use --mqtt.
    """
    if mqtt is not None:
        send(mqtt, file, by, dry_run=dry_run, as_json=as_json, config=gateway)
        return
    given = read_json_object(file, LIKE_CONFIG)
    if check:
        node_config.require_valid({"node": "any", **given}, str(file))
        print(json.dumps({"file": str(file), "faults": []}) if as_json else f"{file}: no faults.")
        return
    with session(port, wait) as board:
        there = node_config.on_board(board)
        wanted = _for_board(given, there or {}, file)
        node_config.require_valid(wanted, str(file))
        changes = node_config.changes(there or {}, wanted)
        if not dry_run and changes:
            _put(board, wanted, file)
    if as_json:
        told = [{"key": key, "old": old, "new": new} for key, old, new in changes]
        print(json.dumps({"port": board.port, "node": wanted["node"], "dry_run": dry_run, "changes": told}))
        return
    if not changes:
        print(f"{wanted['node']}: the board has this configuration already.")
        return
    table = Table("Key", "On the board", "Now")
    for row in changes:
        table.add_row(*row)
    Console().print(table)
    print(f"{wanted['node']}: {'nothing was written' if dry_run else 'written; the board starts anew with it'}.")


def _for_board(given: dict[str, Any], there: dict[str, Any], file: Path) -> dict[str, Any]:
    """The configuration for this very board."""
    if "node" in given or "node" in there:
        return {**{key: there[key] for key in _PROVISIONED if key in there}, **given}
    raise InputError(f'{file} names no node and neither does the board: add "node", or run headwall board provision')


def _put(board: Session, wanted: dict[str, Any], file: Path) -> None:
    """Write it once the board itself has found it good together with its secrets."""
    data = json.dumps(wanted, indent=1, ensure_ascii=False).encode()
    board.write(_CANDIDATE, data)
    faults = node_config.faults_on_board(board, _CANDIDATE)
    if faults:
        board.remove(_CANDIDATE)
        raise ConfigurationError(f"{file} with the board's secrets.json", faults)
    board.run(f"os.rename({_CANDIDATE!r}, {CONFIG!r})")
