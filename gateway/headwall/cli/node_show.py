"""`headwall node show`: one board, as it says it is and as its data says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa
import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption
from headwall.cli.node_command import as_data
from headwall.cli.opened import Opened, minute, opened
from headwall.downlink import commands
from headwall.ledger import schema
from headwall.web import status

_COMMANDS = 10
#: fields of a state that say how a board is, in the order in which they are printed, with their unit
_HEALTH = {
    "mode": "",
    "chip": "",
    "battery_v": "V",
    "rssi_dbm": "dBm",
    "heap_free": "bytes",
    "flash_free": "bytes",
    "reset": "",
    "uptime_s": "s",
    "loop_lag_ms": "ms",
    "synced": "",
    "time_age_s": "s",
    "time_from": "",
    "tips_at_risk": "",
    "counts": "",
}


def node_show(
    node: Annotated[str, typer.Argument(metavar="NODE", help="node id of the registry")],
    as_json: AsJson = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """A board's state by its data and by its own word, its configuration, update, notices and newest commands."""
    with opened(config) as at:
        found = _gather(at, node)
        print(json.dumps(found, indent=2) if as_json else "\n".join(_lines(found, at)))


def _gather(at: Opened, node: str) -> dict[str, Any]:
    at.registry.require_node(node)
    profiles = at.codes
    now_us = at.clock.now_us()
    with at.ledger.read() as conn:
        gauges = status.gauges_at(conn, at.registry, profiles, now_us)
        board = next(each for each in status.boards(conn, at.registry, gauges, now_us) if each.node == node)
        s, n = schema.node_states.c, schema.notices.c
        body = conn.execute(sa.select(s.body).where(s.node == node)).scalar()
        open_notices = sa.select(n.kind, n.subject, n.body, n.opened_us).where(
            n.closed_us.is_(None), sa.or_(n.subject == node, n.subject.startswith(f"{node}/", autoescape=True))
        )
        notices = [
            {"kind": row.kind, "about": row.subject, "text": status.notice_text(row.body), "opened_us": row.opened_us}
            for row in conn.execute(open_notices.order_by(n.opened_us))
        ]
        newest = commands.listed(conn, node, _COMMANDS)
    said = body if isinstance(body, dict) else {}
    return {
        **msgspec.to_builtins(board),
        "health": {name: said[name] for name in _HEALTH if name in said},
        "notices": notices,
        "commands": [as_data(command) for command in newest],
    }


def _lines(found: dict[str, Any], at: Opened) -> Iterator[str]:
    yield f"{found['node']}: {found['place']}"
    last = "no data yet" if found["last_data_us"] is None else f"last data {minute(found['last_data_us'], at.zone)}"
    yield f"  by its data: {found['state']}, {last}"
    heard = "" if found["heard_us"] is None else f", {minute(found['heard_us'], at.zone)}"
    yield f"  by its word: {found['said'] or 'nothing yet'}{heard}"
    if found["in_maintenance"]:
        yield "  in maintenance: nothing is judged by its readings"
    for fault in found["faults"]:
        yield f"  fault: {fault.replace('_', ' ')}"
    if found["firmware"]:
        yield f"  program: {found['firmware']}"
    for name, value in found["health"].items():
        shown = value if isinstance(value, str) else json.dumps(value)
        yield f"  {name.replace('_', ' ')}: {shown} {_HEALTH[name]}".rstrip()
    yield from _sent(found)
    for notice in found["notices"]:
        yield f"  notice since {minute(notice['opened_us'], at.zone)}: {notice['about']}: {notice['text']}"
    for command in found["commands"]:
        why = f": {command['why']}" if command["why"] else ""
        when = minute(command["at_us"], at.zone)
        yield f"  command {command['command']}, {when}, by {command['by']}: {command['do']}, {command['state']}{why}"


def _sent(found: dict[str, Any]) -> Iterator[str]:
    """What was sent to it and what became of that."""
    for name in ("config", "update"):
        view = found[name]
        if view is None:
            continue
        what = "configuration" if name == "config" else "update to"
        loaded = (
            f", {view['loaded']} of {view['size']} bytes" if view.get("size") and view["state"] == "loading" else ""
        )
        why = f": {view['why']}" if view["why"] else ""
        yield f"  {what} {view['version']}: {view['state'].replace('_', ' ')}{loaded}{why}"
