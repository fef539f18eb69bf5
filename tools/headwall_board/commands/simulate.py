"""`headwall board simulate`: a simulated board on a serial port of its own, for practice and tests."""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer
from headwall.clock import SystemClock
from headwall.errors import InputError
from headwall_sim.rom import find_firmware
from headwall_sim.simulated_board import Board, BoardError
from headwall_sim.supervisor import Supervisor
from headwall_sim.timeline import Edge, Timeline
from headwall_sim.wiring import Wired

_DAY_S = 86_400
#: objects are twice as large here: as much as 96 KB are on an ESP32, which has a little more
_HEAP_KB = 192
_CLOSED_US = 100_000  # a reed contact closes for 50 to 150 ms


def register(app: typer.Typer) -> None:
    app.command("simulate")(simulate)


def simulate(
    folder: Annotated[Path, typer.Option("--dir", help="where its flash is kept; DIR/port leads to its serial port")],
    mac: Annotated[str, typer.Option("--mac", help="its id, 12 hex digits")] = "240ac4000001",
    flash_kib: Annotated[int, typer.Option("--flash-kib", min=64, help="room for files")] = 1792,
    tip_pin: Annotated[int, typer.Option("--tip-pin", help="GPIO of a rain gauge's contact to ground")] = 4,
    tip_every: Annotated[float, typer.Option("--tip-every", help="seconds between tips; 0: no rain")] = 0,
    wired: Annotated[
        Path | None, typer.Option("--wired", help="devices on its buses, JSON: see docs/contributor.md")
    ] = None,
) -> None:
    """A simulated board: real MicroPython, its flash in a file, on a port that tools open like a real board's.

    Its clock is this machine's, its Wi-Fi always joins, its network is this machine's. Type "reset", "off" or "on"
    and Enter for its button and its supply; Ctrl-C ends it. What is on its flash is there the next time.
    """
    try:
        _simulate(folder, mac, flash_kib, _devices(wired), tip_pin, tip_every)
    except BoardError as error:
        raise InputError(str(error)) from error


def _simulate(
    folder: Path,
    mac: str,
    flash_kib: int,
    devices: list[Wired],
    tip_pin: int,
    tip_every: float,
) -> None:
    start_us = SystemClock().now_us()
    tips = _tips(start_us, tip_every)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Supervisor(folder, start_us=start_us, firmware=find_firmware(), jumps=False, stall_s=1e9) as sim:
        board = sim.board(
            "board",
            files={},
            program="none",
            serial=True,
            mac=mac,
            heap_kb=_HEAP_KB,
            vfs_blocks=flash_kib // 4,
            timeline=Timeline([edge for tip in tips for edge in _edges(tip, tip_pin)], {tip_pin: 1}),
            tips=tips,
            wired=devices,
        )
        link = folder / "port"
        link.unlink(missing_ok=True)
        link.symlink_to(board.device)
        board.power_on()
        print(board.device, flush=True)
        print(f"A simulated board is at this port, also as {link}. Ctrl-C ends it.", flush=True)
        threading.Thread(target=_obey, args=(board,), daemon=True).start()
        try:
            ended.wait()
        except KeyboardInterrupt:
            pass
        link.unlink(missing_ok=True)


def _devices(file: Path | None) -> list[Wired]:
    """Devices as `Wired` describes them, with one constant `value` for `world`."""
    if file is None:
        return []
    try:
        given = json.loads(file.read_text())
        return [Wired(**{"world": [(0, each.pop("value", None))], **each}) for each in given]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: no list of devices ({error})") from error


def _tips(start_us: int, every_s: float) -> list[int]:
    """A day of tips at an even pace."""
    if every_s <= 0:
        return []
    return [start_us + int(n * every_s * 1e6) for n in range(1, int(_DAY_S / every_s))]


def _edges(tip_us: int, pin: int) -> tuple[Edge, Edge]:
    return Edge(tip_us, pin, 0), Edge(tip_us + _CLOSED_US, pin, 1)


def _obey(board: Board) -> None:
    """What is typed here."""
    for line in sys.stdin:
        word = line.strip()
        if word == "reset":
            board.press_reset()
        elif word == "off":
            board.power_cut()
        elif word == "on":
            board.power_on()
        elif word:
            print('type "reset", "off" or "on"', flush=True)
