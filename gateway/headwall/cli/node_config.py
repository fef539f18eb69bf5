"""`headwall node config`: what a board is to be set to; checked here as the board will, then sent by the service."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import sqlalchemy as sa
import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, read_json_object
from headwall.cli.opened import Opened, minute, named, opened
from headwall.downlink import board_rules, configs
from headwall.errors import ConfigurationError, InputError
from headwall.ledger import log_book, schema
from headwall.registry.model import Node

#: in place of a value that is not there
ABSENT = "absent"
#: what a board's configuration looks like, for who gives another file
LIKE_CONFIG = "docs/examples/config.json is one, docs/installer.md has all keys"
Change = dict[str, Any]


def node_config(
    node: Annotated[str, typer.Argument(metavar="NODE", help="node id of the registry")],
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="the board's config.json")] = None,
    by: Annotated[str | None, typer.Option("--by", help="name of the person who sends it")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="check and compare, send nothing")] = False,
    show: Annotated[bool, typer.Option("--show", help="print the newest configuration sent from here")] = False,
    as_json: AsJson = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Send a board a configuration: checked by the board's own rules, compared, kept until the board has it.

    A board that refuses it keeps its last good one; `headwall node show NODE` and the page say why.
    """
    with opened(config) as at:
        known = at.registry.require_node(node)
        if show:
            _show(at, node)
            return
        if file is None:
            raise InputError("give the FILE to send, or --show")
        settings = read_json_object(file, LIKE_CONFIG)
        with at.ledger.read() as conn:
            before, in_force, state = _before(conn, node)
        version = max(_version(settings), before.version if before else 0) + 1
        payload = _payload(file, {**settings, "version": version})
        _check(at, known, file, settings, payload)
        changes = list(differences(_but_version(in_force), _but_version(settings)))
        known_already = before is not None and state != "refused" and _but_version(before) == _but_version(settings)
        if not dry_run and not known_already:
            _send(at, node, version, payload, named(by or ""), changes)
        said = {"node": node, "version": version, "sent": not dry_run and not known_already}
        if known_already and before is not None:
            said |= {"version": before.version, "state": state}
        said |= {"compared_with": None if in_force is None else in_force.version, "changes": changes}
        print(json.dumps(said, indent=2) if as_json else "\n".join(_lines(said)))


def _before(conn: sa.Connection, node: str) -> tuple[configs.NodeConfig | None, configs.NodeConfig | None, str]:
    """The newest configuration sent from here, the one in force by the board's word (None: not from here), the
    newest one's state."""
    body = _body(conn, node)
    view = configs.config_views(conn, {node: body}).get(node)
    in_force = configs.by_hash(conn, node, body.get("config") if isinstance(body, dict) else None)
    return configs.newest(conn, node), in_force, view.state if view else ""


def _body(conn: sa.Connection, node: str) -> Any:
    """What the board last said of itself."""
    return conn.execute(sa.select(schema.node_states.c.body).where(schema.node_states.c.node == node)).scalar()


def _but_version(config: configs.NodeConfig | dict[str, Any] | None) -> dict[str, Any]:
    settings = config.settings if isinstance(config, configs.NodeConfig) else config or {}
    return {key: value for key, value in settings.items() if key != "version"}


def _version(settings: dict[str, Any]) -> int:
    version = settings.get("version", 0)
    return version if isinstance(version, int) and not isinstance(version, bool) and version >= 0 else 0


def _payload(file: Path, settings: dict[str, Any]) -> bytes:
    """As small as JSON can be: it must fit into the board's buffer."""
    try:
        return json.dumps(settings, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):x}"
        raise InputError(f"{file} holds half a character, {half}: write the whole one") from None


def _check(at: Opened, node: Node, file: Path, settings: dict[str, Any], payload: bytes) -> None:
    """ConfigurationError with every fault: the board's own, and what only the gateway can know."""
    faults = [
        f"{key} has no place here: it stands in secrets.json on the board, since what is sent lies readable in the "
        "broker and the ledger"
        for key in board_rules.SECRETS
        if key in settings
    ]
    verdict = board_rules.board_verdict(json.loads(payload))  # with the version that it goes under
    faults += verdict.faults
    if settings.get("node") != node.id:
        faults.append(f'node is {json.dumps(settings.get("node"))}, and it is to go to {node.id}: write "{node.id}"')
    size = board_rules.message_bytes(node.id, payload)
    if size > board_rules.MESSAGE_BYTES:
        faults.append(
            f"the message has {size} bytes; a board can receive {board_rules.MESSAGE_BYTES}: leave out keys that have "
            "their default"
        )
    now_us = at.clock.now_us()
    faults += [
        f"the registry has no datastream {node.id}/{stream} in force: its readings would be dead letters; add it first"
        for stream in verdict.streams
        if at.registry.datastream(f"{node.id}/{stream}", now_us) is None
    ]
    if faults:
        raise ConfigurationError(str(file), faults)


def differences(old: Any, new: Any, key: str = "") -> Iterator[Change]:
    """Every leaf that differs, with its key such as sensors[0].pin."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from differences(old.get(name, ABSENT), new.get(name, ABSENT), f"{key}.{name}" if key else name)
    elif isinstance(old, list) and isinstance(new, list):
        for n in range(max(len(old), len(new))):
            was, will = (each[n] if n < len(each) else ABSENT for each in (old, new))
            yield from differences(was, will, f"{key}[{n}]")
    elif old != new:
        yield {"key": key, "old": old, "new": new}


def _send(at: Opened, node: str, version: int, payload: bytes, by: str, changes: list[Change]) -> None:
    now_us = at.clock.now_us()
    with at.ledger.begin() as conn:
        configs.add(conn, node, version, payload, by, now_us)
        keys = [change["key"] for change in changes]
        body = {"node": node, "version": version, "hash": configs.config_hash(payload), "changed": keys}
        log_book.append(conn, "node_config", by, body, now_us)


def _lines(said: dict[str, Any]) -> Iterator[str]:
    node, version = said["node"], said["version"]
    if said["compared_with"] is None:
        yield f"{node}: what is in force there did not come from here, so everything counts as new:"
    for change in said["changes"]:
        yield f"  {change['key']}: {_shown(change['old'])} -> {_shown(change['new'])}"
    if said["sent"]:
        yield f"{node}: version {version} is kept and goes to the board when it can hear it."
    elif "state" in said:
        yield f"{node}: this is version {version} already, which is {said['state']}; nothing was sent."
    else:
        yield f"{node}: the board would take it, as version {version}; nothing was sent."


def _shown(value: Any) -> str:
    return ABSENT if value == ABSENT else json.dumps(value)


def _show(at: Opened, node: str) -> None:
    with at.ledger.read() as conn:
        found = configs.newest(conn, node)
        view = configs.config_views(conn, {node: _body(conn, node)}).get(node)
    if found is None or view is None:
        raise InputError(f"{node} got no configuration from here; send one: headwall node config {node} FILE --by NAME")
    print(json.dumps(found.settings, indent=2, ensure_ascii=False))
    why = f": {view.why}" if view.why else ""
    said = f"version {view.version}, by {view.by}, {minute(view.at_us, at.zone)}: {view.state}{why}"
    print(said, file=sys.stderr)
