"""`headwall board list`: serial ports, and what answers at them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from headwall.errors import HeadwallError
from rich.console import Console
from rich.table import Table

from headwall_board.bench import JsonOption, bar, usb_ports
from headwall_board.session import Session, open_session

_LOOK = """
try: from headwall_node import VERSION as _v
except ImportError: _v = ''
try: _n = json.load(open('/config.json')).get('node', '')
except (OSError, ValueError, AttributeError): _n = ''
"""


def register(app: typer.Typer) -> None:
    app.command("list")(list_ports)


@dataclass(frozen=True)
class Found:
    """What stands at one port; the fields behind `port` and `usb` are empty where nothing was asked or answers."""

    port: str
    usb: str
    answers: str = ""
    id: str = ""
    node: str = ""
    version: str = ""


def list_ports(
    port: Annotated[
        list[str] | None, typer.Option("--port", "-p", help="a port that is not on USB; repeatable")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", help="no: leave the boards alone, tell the ports only")] = True,
    as_json: JsonOption = False,
) -> None:
    """Serial ports, and what answers at them. A board that is asked starts its program anew."""
    ports = [(found.device, found.description or "") for found in usb_ports()] + [(each, "") for each in port or ()]
    found = []
    with bar(hidden=as_json) as shown:
        for device, usb in shown.track(ports, description="ask"):
            found.append(_asked(device, usb) if ask else Found(device, usb))
    if as_json:
        print(json.dumps([asdict(one) for one in found]))
        return
    if not found:
        print("No serial port on USB; is a board plugged in? A port that is not on USB: --port PATH")
        return
    table = Table("Port", "USB", "Answers", "Id", "Node", "Headwall")
    for one in found:
        table.add_row(one.port, one.usb, one.answers, one.id, one.node, one.version)
    Console().print(table)


def _asked(device: str, usb: str) -> Found:
    try:
        with open_session(device, patience_s=4) as board:
            return Found(device, usb, *_who(board))
    except HeadwallError as error:
        return Found(device, usb, str(error))


def _who(board: Session) -> tuple[str, str, str, str]:
    """(MicroPython and board, id, node of its configuration, version of its program)."""
    board.run("import sys, machine")
    version, machine = board.ask("[list(sys.implementation[1][:3]), getattr(sys.implementation, '_machine', '')]")
    board.run(_LOOK)
    identity, node, ours = board.ask("[machine.unique_id().hex(), _n, _v]")
    return f"MicroPython {'.'.join(map(str, version))} {machine}".strip(), identity, node, ours
