"""One life of a board's process: its pipes, its place with the clock, its console."""

from __future__ import annotations

import contextlib
import logging
import os
import pty
import termios
from collections.abc import Callable
from pathlib import Path

from headwall.clock import from_us

from headwall_sim import frames
from headwall_sim.board_process import BoardStarter
from headwall_sim.frames import FRAME, Frame
from headwall_sim.timekeeper import Participant, Timekeeper, Timer

_log = logging.getLogger("headwall_sim.board")


class Console:
    """What a board prints, in a file, each line with the simulated instant at which it began."""

    def __init__(self, path: Path, keeper: Timekeeper) -> None:
        self.path = path
        self._keeper = keeper
        self._line = b""

    def take(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        self._write(lines)

    def note(self, text: str) -> None:
        """A line of the supervisor's own."""
        if self._line:
            self._write([self._line])
            self._line = b""
        self._write([f"--- {text}".encode()])

    def _write(self, lines: list[bytes]) -> None:
        if not lines:
            return
        stamp = from_us(self._keeper.now_us()).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z "
        with self.path.open("ab") as file:
            file.writelines(stamp.encode() + line.rstrip(b"\r") + b"\n" for line in lines)


class BoardRun:
    """Lives in the clock's thread.

    Args:
        on_frame: gets the frames that are about the board and not about waiting.
        on_hang: called when the board was awake for its watchdog's timeout without feeding it.
        terminal: the console is a terminal, for type().
    """

    def __init__(
        self,
        name: str,
        keeper: Timekeeper,
        starter: BoardStarter,
        console: Console,
        on_frame: Callable[[Frame], None],
        on_hang: Callable[[], None],
        *,
        terminal: bool = False,
    ) -> None:
        self._name = name
        self._keeper = keeper
        self._starter = starter
        self._console = console
        self._on_frame = on_frame
        self._on_hang = on_hang
        self._watchdog_us = 0
        self._hang: Timer | None = None
        self._buffer = bytearray()
        self._participant = Participant(name, self._go, None, self._ask)
        self._ending = False
        self._terminal = terminal
        self.pid = 0

    def start(self, argv: list[str], folder: Path, environment: dict[str, str]) -> None:
        """Fork MicroPython; the board is awake from now on."""
        in_read, self._to_board = os.pipe()
        self._from_board, out_write = os.pipe()
        self._console_out, console_in = _open_terminal() if self._terminal else os.pipe()
        os.set_blocking(self._console_out, False)
        files = (in_read, out_write, console_in)
        try:
            self.pid = self._starter.start(argv, folder, environment, files, terminal=self._terminal)
        finally:
            for file in (in_read, out_write, console_in):
                os.close(file)
        self._keeper.join(self._participant)
        self._keeper.watch(self._from_board, self._hear)
        self._keeper.watch(self._console_out, self._hear_console)

    def kill(self) -> None:
        """SIGKILL; the starter tells when it has ended. Until then the board counts as awake, and is not heard."""
        self._ending = True
        self._disarm()
        self._participant.awake = True
        self._starter.kill(self.pid)

    def type(self, data: bytes) -> None:
        """Key strokes on its terminal; what it has no room for is lost, as on a serial line."""
        with contextlib.suppress(OSError):
            os.write(self._console_out, data)

    def tell(self, frame: Frame) -> None:
        """Send the board a frame that needs no answer."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._to_board, frame.pack())

    def close(self) -> None:
        """After the process has ended: read the rest of its console and let the clock go on without it."""
        self._disarm()
        while self._hear_console():
            pass
        for file in (self._from_board, self._console_out):
            self._keeper.unwatch(file)
        for file in (self._to_board, self._from_board, self._console_out):
            os.close(file)
        self._keeper.leave(self._participant)

    def _go(self, offset_us: int, episode: int) -> None:
        os.write(self._to_board, Frame(frames.GO, offset_us, episode).pack())
        self._arm()

    def _ask(self) -> None:
        self.tell(Frame(frames.ASK))

    def _hear(self) -> None:
        data = os.read(self._from_board, 4096)
        if not data:
            self._keeper.unwatch(self._from_board)  # its exit is told by the starter
            return
        self._buffer += data
        while len(self._buffer) >= FRAME.size:
            frame = frames.unpack(bytes(self._buffer[: FRAME.size]))
            size = FRAME.size + (frame.a if frame.op == frames.WHY else 0)
            if len(self._buffer) < size:
                return
            payload = bytes(self._buffer[FRAME.size : size])
            del self._buffer[:size]
            if not self._ending:
                self._take(frame, payload)

    def _take(self, frame: Frame, payload: bytes) -> None:
        if frame.op == frames.IDLE:
            self._disarm()
            self._keeper.idle(self._participant, frame.a, frame.b)
            return
        if frame.op == frames.AWAKE:
            self._keeper.awake(self._participant, frame.b)
        elif frame.op == frames.WATCH:
            self._watchdog_us = frame.a
        elif frame.op == frames.WHY:
            _log.warning("%s is awake: %s", self._name, payload.decode(errors="replace"))
        else:
            self._on_frame(frame)
        self._arm()

    def _hear_console(self) -> bool:
        """Take what the board has printed; False when there is nothing (more)."""
        try:
            data = os.read(self._console_out, 65536)
        except BlockingIOError:
            return False
        except OSError:  # how a terminal says that nobody has its other end any more
            data = b""
        if not data:
            self._keeper.unwatch(self._console_out)
            return False
        self._console.take(data)
        return True

    def _arm(self) -> None:
        """The board is awake: unless it is heard of in time, its watchdog resets it."""
        self._disarm()
        if self._watchdog_us and self._participant.awake and not self._ending:
            self._hang = self._keeper.at(self._keeper.now_us() + self._watchdog_us * 5 // 4, self._on_hang)

    def _disarm(self) -> None:
        if self._hang is not None:
            self._hang.cancel()
            self._hang = None


def _open_terminal() -> tuple[int, int]:
    """A terminal that changes nothing but makes an interrupt of Ctrl-C: (our end, the board's)."""
    ours, theirs = pty.openpty()
    mode = termios.tcgetattr(theirs)
    mode[0] &= ~(termios.ICRNL | termios.IXON | termios.ISTRIP | termios.BRKINT)
    mode[1] = 0
    mode[3] = termios.ISIG | termios.NOFLSH
    mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    return ours, theirs
