"""`headwall board logs`: what a board last told of troubles, and why it last started."""

from __future__ import annotations

import json
from typing import Any

import typer

from headwall_board.bench import DEFAULT_WAIT, JsonOption, PortOption, WaitOption, session
from headwall_board.session import Session

_LOOK = """
import sys, machine
_l = sys.modules.get('headwall_node.log')
"""
_CAUSES = {"PWRON_RESET": "power_on", "HARD_RESET": "hard", "WDT_RESET": "watchdog"}
_CAUSES |= {"DEEPSLEEP_RESET": "deep_sleep", "SOFT_RESET": "soft"}


def register(app: typer.Typer) -> None:
    app.command("logs")(logs)


def logs(port: PortOption = None, wait: WaitOption = DEFAULT_WAIT, as_json: JsonOption = False) -> None:
    """What a board last told of troubles, and why it last started.

    The last lines stand in memory and are lost with each start, deep sleep included; then watch them as they come:
    headwall board console.
    """
    with session(port, wait, memory=True) as board:
        told = _look(board)
    if as_json:
        print(json.dumps({"port": board.port, **told}))
        return
    print(f"last start: {told['reset'].replace('_', ' ')}")
    if told["lines"] is None:
        print("The program was not running: there are no lines. What it says as it starts: headwall board console")
    elif not told["lines"]:
        print("The program has said nothing since.")
    for line in told["lines"] or []:
        print(line)


def _look(board: Session) -> dict[str, Any]:
    board.run(_LOOK)
    number = board.ask("machine.reset_cause()")
    by_number = board.ask(f"[(getattr(machine, n, None), w) for n, w in {list(_CAUSES.items())!r}]")
    lines = board.ask("_l.ring if _l else None")
    return {"reset": next((word for value, word in by_number if value == number), str(number)), "lines": lines}
