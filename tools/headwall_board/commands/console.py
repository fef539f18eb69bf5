"""`headwall board console`: watch what a board prints, and type to it."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Annotated

import serial
import typer

from headwall_board.bench import PortOption, chosen
from headwall_board.session import BenchError, why_closed


def register(app: typer.Typer) -> None:
    app.command("console")(console)


def console(
    port: PortOption = None,
    seconds: Annotated[float | None, typer.Option("--for", min=0.1, help="only watch, for so many seconds")] = None,
) -> None:
    """Watch what a board prints, and type to it: Ctrl-C stops its program, Ctrl-D starts it anew, Ctrl-] leaves.

    Nothing is stopped by watching. Where input is no terminal, or with --for, it only watches.
    """
    device = chosen(port)
    if seconds is not None or not sys.stdin.isatty():
        _watch(device, seconds)
        return
    try:
        serial.Serial(device, exclusive=True).close()
    except serial.SerialException as error:
        raise BenchError(why_closed(device)) from error
    ended = subprocess.run([sys.executable, "-m", "mpremote", "connect", device, "resume", "repl"], check=False)
    if ended.returncode:
        raise BenchError(f"the console of {device} ended with {ended.returncode}: was the board unplugged?")


def _watch(device: str, seconds: float | None) -> None:
    until = None if seconds is None else time.monotonic() + seconds
    try:
        with serial.Serial(device, 115200, timeout=0.1, exclusive=True) as line:
            while until is None or time.monotonic() < until:
                sys.stdout.buffer.write(line.read(max(1, line.in_waiting)).replace(b"\r", b""))
                sys.stdout.buffer.flush()
    except serial.SerialException as error:
        raise BenchError(why_closed(device)) from error
    except KeyboardInterrupt:
        pass
