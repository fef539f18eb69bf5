"""Simulated boards on the bench: their serial ports for the real mpremote and for `headwall board …`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headwall.clock import SystemClock
from headwall_sim.simulated_board import Board
from headwall_sim.supervisor import Supervisor

CHECKOUT = Path(__file__).parents[2]
FIRMWARE = CHECKOUT / "firmware"
HEADWALL = Path(sys.executable).with_name("headwall")
_TIMEOUT_S = 120
_AGAIN_S = 10


class Bench:
    """Boards with serial ports, in real time. Use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        start_us = SystemClock().now_us()
        self.sim = Supervisor(folder, start_us=start_us, firmware=FIRMWARE, jumps=False, stall_s=1e9)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *exc: object) -> None:
        self.sim.stop()

    def board(
        self, name: str = "board", *, files: Mapping[str, bytes] | None = None, like: Path | None = None, **options: Any
    ) -> Board:
        """A board that is on.

        Args:
            files: on its flash beside what it has.
            like: the folder of a board that is off; this one begins with its flash.
        """
        if like is not None:
            (self.sim.folder / name).mkdir()
            for kept in ("flash.bin", "flash.counts", "nvs.json"):
                if (like / kept).exists():
                    shutil.copy(like / kept, self.sim.folder / name / kept)
        options = {"vfs_blocks": 256, **options}
        made = self.sim.board(name, files=files or {}, program="none", serial=True, **options)
        made.power_on()
        return made


def headwall_board(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run `headwall board …` to its end, with `given` as stdin."""
    command = [str(HEADWALL), "board", *words]
    return subprocess.run(command, input=given or "", capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)


def told(*words: str, given: str | None = None, code: int = 0) -> Any:
    """What `headwall board … --json` told, having ended with `code`."""
    done = headwall_board(*words, "--json", given=given)
    assert done.returncode == code, f"ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def refused(*words: str, given: str | None = None) -> str:
    """The error of a command that must end with 1 and without a traceback."""
    done = headwall_board(*words, given=given)
    assert done.returncode == 1, f"ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    assert done.stderr.startswith("headwall: ") and "Traceback" not in done.stderr, done.stderr
    return done.stderr


def mpremote(device: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The real mpremote, to its end.

    It asks for the prompt once, and on a pseudo-terminal waits for ever: a board that is just starting anew does not
    hear it, so it is then asked again.
    """
    command = [sys.executable, "-m", "mpremote", "connect", device, *words]
    for _ in range(2):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=_AGAIN_S, check=False)
        except subprocess.TimeoutExpired:
            pass
    return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)


def mpremote_says(device: str, *words: str) -> str:
    """What mpremote printed, having ended well."""
    done = mpremote(device, *words)
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Give something that happens in real time half a minute."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.05)


def says(board: Board, text: str, times: int = 1) -> None:
    """Wait until the board has printed a text so often."""
    wait_for(lambda: board.console.read_text(errors="replace").count(text) >= times, f"{text!r} on the console")
