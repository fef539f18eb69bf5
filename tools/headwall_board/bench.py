"""What the subcommands share: how a board is named, and how long steps show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from headwall_sim.rom import find_firmware
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from serial.tools import list_ports

from headwall_board.release import Release, build_release
from headwall_board.session import BenchError, Session, open_session

PortOption = Annotated[
    str | None,
    typer.Option("--port", "-p", envvar="HEADWALL_PORT", help="serial port of the board; needed if there are several"),
]
WaitOption = Annotated[
    float, typer.Option("--wait", min=1, help="seconds to ask a silent board; press its reset button meanwhile")
]
JsonOption = Annotated[bool, typer.Option("--json", help="for scripts: one JSON object, no progress")]
FirmwareOption = Annotated[Path | None, typer.Option("--firmware", help="another folder with main.py and lib/")]
DEFAULT_WAIT: Final = 10.0


def usb_ports() -> list[list_ports.ListPortInfo]:
    """Serial ports on USB, where boards are."""
    return [port for port in sorted(list_ports.comports()) if port.vid is not None]


def chosen(port: str | None) -> str:
    """The port that was given, or the only one there is.

    Raises:
        BenchError: none was given, and there is none or there are several.
    """
    if port is not None:
        return port
    found = [str(each.device) for each in usb_ports()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise BenchError("no serial port on USB: is the board plugged in? Else name its port: --port /dev/ttyUSB0")
    raise BenchError(f"there are several boards; name one: --port {' or --port '.join(found)}")


def session(port: str | None, wait: float, *, memory: bool = False) -> Session:
    """The prompt of the board that was named; see open_session()."""
    return open_session(chosen(port), patience_s=wait, memory=memory)


def bar(*, hidden: bool) -> Progress:
    """A progress bar on stderr that is gone when the step is over."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=hidden or not console.is_terminal)


def compiled_release(firmware: Path | None, shown: Progress) -> Release:
    """The program of a folder, or of this checkout, compiled; each file moves a bar."""
    task = shown.add_task("compile", total=None)
    return build_release(firmware or find_firmware(), lambda done, of: shown.update(task, completed=done, total=of))
