"""The serial port of a simulated board: a pseudo-terminal that tools open as they open a real board's port.

What the board prints goes there and into the console's file. What is typed while the board sleeps or is off is lost,
as on a serial line. The port outlives resets.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import tty
from collections.abc import Callable
from pathlib import Path

from headwall_sim.board_run import Console
from headwall_sim.timekeeper import Timekeeper, Timer

_LONE_NEWLINE = re.compile(rb"(?<!\r)\n")
#: what waits for a reader at most; what nobody reads is lost in the end, as on a serial line
_LINE = 65536
_SOON_US = 10_000
_RAW, _FRIENDLY = b"raw REPL; CTRL-B to exit", b">>> "


class SerialPort(Console):
    """Lives in the clock's thread.

    Attributes:
        device: the path to open.
        raw: whether the board's prompt is the one for programs (after Ctrl-A) and not the one for people.
    """

    def __init__(self, path: Path, keeper: Timekeeper) -> None:
        super().__init__(path, keeper)
        self.raw = False
        self._ours, self._theirs = pty.openpty()
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.device = os.ttyname(self._theirs)
        self._tail = b""
        self._unsent = b""
        self._soon: Timer | None = None

    def listen(self, typed: Callable[[bytes], None]) -> None:
        """Hand over what is typed from now on."""

        def hear() -> None:
            with contextlib.suppress(BlockingIOError):
                typed(os.read(self._ours, 4096))

        self._keeper.run(lambda: self._keeper.watch(self._ours, hear))

    def take(self, data: bytes) -> None:
        super().take(data)
        before = b"\r" if self._tail.endswith(b"\r") else b"."
        self._follow_prompt(data)
        self._tail = (self._tail + data)[-64:]
        self.send(_LONE_NEWLINE.sub(b"\r\n", before + data)[1:])

    def send(self, data: bytes) -> None:
        """Put something on the line that is no output of the program."""
        self._unsent = (self._unsent + data)[-_LINE:]
        self._flush()

    def _flush(self) -> None:
        """Hand on what the reader has room for; the rest soon."""
        with contextlib.suppress(BlockingIOError):
            self._unsent = self._unsent[os.write(self._ours, self._unsent) :]
        if self._unsent and self._soon is None:
            self._soon = self._keeper.at(self._keeper.now_us() + _SOON_US, self._again)

    def _again(self) -> None:
        self._soon = None
        self._flush()

    def close(self) -> None:
        def end() -> None:
            self._keeper.unwatch(self._ours)
            if self._soon is not None:
                self._soon.cancel()

        self._keeper.run(end)
        os.close(self._ours)
        os.close(self._theirs)

    def _follow_prompt(self, data: bytes) -> None:
        seen = self._tail + data
        self.raw = seen.rfind(_RAW) > seen.rfind(_FRIENDLY) if _RAW in seen or _FRIENDLY in seen else self.raw
