"""`headwall board flash`: MicroPython on an ESP32, with the journal's partition."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from headwall.errors import InputError
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from headwall_board import flash
from headwall_board.bench import JsonOption, PortOption, chosen
from headwall_board.image import Image, read_image
from headwall_board.partitions import JOURNAL, JOURNAL_BYTES, files_of


def register(app: typer.Typer) -> None:
    app.command("flash")(flash_board)


def flash_board(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="MicroPython's .bin for this kind of board")],
    port: PortOption = None,
    journal_kib: Annotated[int, typer.Option("--journal-kib", min=8, help="size of the journal")] = JOURNAL_BYTES
    // 1024,
    erase: Annotated[bool, typer.Option("--erase", help="keep nothing that is on the board")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before something on the board is lost")] = False,
    baud: Annotated[int, typer.Option("--baud", help="speed of the line")] = 460800,
    reset: Annotated[
        bool, typer.Option("--reset/--no-reset", help="no: you have put the board into its loader by its buttons")
    ] = True,
    stub: Annotated[
        bool, typer.Option("--stub/--no-stub", help="no: talk to the chip's own loader alone; slower")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Put MicroPython on an ESP32, with the journal's partition. Checked before, verified after.

    A board that already has this layout keeps its files and its journal.
    """
    found = read_image(image)
    tool = flash.Esptool(chosen(port), baud, reset, stub)
    console = Console(stderr=True)
    hidden = as_json or not console.is_terminal
    with Progress(console=console, transient=True, disable=hidden) as bar:
        told = _Told(bar)
        board = flash.look(tool)
        plan = flash.plan(found, board, tool, journal_bytes=journal_kib * 1024, erase=erase, tell=told)
    if plan.lost and not yes:
        _ask(plan.lost, tool.port)
    with Progress(console=console, transient=True, disable=hidden) as bar:
        flash.write(plan, tool, _Told(bar))
    if as_json:
        print(json.dumps(_report(found, board, plan)))
    else:
        _say(found, board, plan, reset)


class _Told:
    """Shows each step as a bar of its own."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, percent: float) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=100)
        self._bar.update(self._tasks[what], completed=percent)


def _ask(lost: list[str], port: str) -> None:
    print(f"Flashing the board at {port} loses:", file=sys.stderr)
    for one in lost:
        print(f"  {one}", file=sys.stderr)
    if not sys.stdin.isatty():
        raise InputError("nothing was written; give --yes if that may be lost")
    typer.confirm("Go on?", abort=True, err=True)


def _report(image: Image, board: flash.Board, plan: flash.Plan) -> dict[str, object]:
    return {
        "chip": board.chip,
        "flash_bytes": board.flash_bytes,
        "program": image.program,
        "partitions": [
            {"label": row.label, "type": row.kind, "subtype": row.subtype, "offset": row.offset, "size": row.size}
            for row in plan.table
        ],
        "written": [{"offset": offset, "size": len(data)} for offset, data in plan.parts],
        "kept": {"files": plan.keeps_files, "journal": plan.keeps_journal},
        "lost": plan.lost,
    }


def _say(image: Image, board: flash.Board, plan: flash.Plan, reset: bool) -> None:
    table = Table("Partition", "Offset", "KiB", "")
    for row in plan.table:
        note = ""
        if row.label == JOURNAL:
            note = "kept" if plan.keeps_journal else "new"
        elif row == files_of(plan.table):
            note = "files kept" if plan.keeps_files else "new"
        table.add_row(row.label, hex(row.offset), str(row.size // 1024), note)
    Console().print(table)
    print(f"{image.program or image.path.name} is on the {board.chip} ({board.flash_bytes >> 20} MiB), verified.")
    if not reset:
        print("Press RESET (EN) to start it.")
    if not plan.keeps_files:
        print("Next: headwall board deploy, headwall board provision")
