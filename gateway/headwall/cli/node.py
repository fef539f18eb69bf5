"""`headwall node`: the boards of the registry, taking one out of commissioning, and what is sent down to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa
import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, print_json
from headwall.cli.node_command import node_command, node_update
from headwall.cli.node_config import node_config
from headwall.cli.node_show import node_show
from headwall.cli.opened import Opened, named, opened
from headwall.law import localtime
from headwall.ledger import log_book, schema
from headwall.registry.model import Node
from headwall.rules import duties
from headwall.web import status


def register(app: typer.Typer) -> None:
    node = typer.Typer(no_args_is_help=True, help="Boards: how they are, accepting them, and what goes down to them.")
    node.command("list")(list_nodes)
    node.command("show")(node_show)
    node.command("accept")(accept)
    node.command("config")(node_config)
    node.command("command")(node_command)
    node.command("update")(node_update)
    app.add_typer(node, name="node")


def list_nodes(config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Every node of the registry, judged by the age of its data, and nodes that nobody has claimed."""
    with opened(config) as at, at.ledger.read() as conn:
        profiles = at.codes
        now_us = at.clock.now_us()
        boards = status.boards(conn, at.registry, status.gauges_at(conn, at.registry, profiles, now_us), now_us)
        accepted = {(row.node, row.stream): row for row in conn.execute(sa.select(schema.acceptances))}
        strangers = status.unclaimed(conn)
    if as_json:
        print_json([*(_as_json(board, accepted) for board in boards), *map(_stranger, strangers)])
        return
    table = Table("Node", "Place", "Datastream", "Status", "Last data", "Accepted")
    for node, board in zip(at.registry.nodes, boards, strict=True):
        for stream in node.datastreams:
            row = accepted.get((node.id, stream.name))
            taken = f"{row.by}, {localtime.short(row.at_us, at.zone)}" if row else "no: in commissioning"
            table.add_row(node.id, node.place, stream.name, board.state, _last_data(board, at), taken)
    for unclaimed in strangers:
        table.add_row(unclaimed.node, "not in the registry", "", "unclaimed", "", "")
    Console().print(table)


def _as_json(board: status.Board, accepted: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    """A node for scripts, with the datastreams that were accepted, and by whom."""
    taken = [
        {"stream": stream, "by": row.by, "at_us": row.at_us}
        for (node, stream), row in accepted.items()
        if node == board.node
    ]
    return {**msgspec.to_builtins(board), "accepted": taken}


def _stranger(found: status.Unclaimed) -> dict[str, Any]:
    return {"node": found.node, "state": "unclaimed", "last_heard_us": found.last_heard_us}


def accept(
    node: Annotated[str, typer.Argument(metavar="NODE", help="node id of the registry")],
    by: Annotated[str, typer.Option("--by", help="name of the person who accepts it")],
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Take a node's datastreams out of commissioning: from now on the officer is told what they show."""
    with opened(config) as at:
        found, who = at.registry.require_node(node), named(by)
        with at.ledger.begin() as conn:
            new = _accept(conn, found, who, at.clock.now_us())
            waiting = [duty for duty in duties.of_storms(conn) if duty.body.datastream.startswith(f"{node}/")]
        if as_json:
            print_json({"node": node, "accepted": new, "by": who, "waiting": [duty.id for duty in waiting]})
            return
        print(f"{node}: accepted {', '.join(new)} (by {who})." if new else f"{node}: was accepted before.")
        if new and waiting:
            print("Open duties that only the installer was told of, now yours to judge:")
            for duty in waiting:
                due = localtime.short(duty.body.due_us, at.registry.zone(duty.body.municipality))
                print(f"  duty {duty.id}: {duty.body.site}, {duty.body.storm.depth_in} in, due {due}")


def _accept(conn: sa.Connection, node: Node, by: str, now_us: int) -> list[str]:
    table = schema.acceptances
    known = set(conn.execute(sa.select(table.c.stream).where(table.c.node == node.id)).scalars())
    new = sorted({stream.name for stream in node.datastreams} - known)
    for stream in new:
        conn.execute(table.insert().values(node=node.id, stream=stream, by=by, at_us=now_us))
        log_book.append(conn, "accepted", by, {"node": node.id, "stream": stream}, now_us)
    return new


def _last_data(board: status.Board, at: Opened) -> str:
    return "none" if board.last_data_us is None else localtime.short(board.last_data_us, at.zone)
