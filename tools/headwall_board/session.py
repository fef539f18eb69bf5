"""One board's prompt over its serial port: stop its program, have it run small pieces of code, move files.

    with open_session("/dev/ttyUSB0") as board:
        board.write("/config.json", data)
        print(board.ask("os.listdir()"))

Everything goes through mpremote's transport (raw prompt, with flow control). Nothing is believed because no error
came: a file counts as written when the board has read it back and its SHA-256 fits. When the session ends the board
starts anew, so that its program runs again; a board that lost the connection does so by itself, after _ABANDONED_S.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import re
import struct
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import serial
from headwall.errors import HeadwallError
from mpremote.transport import TransportError, TransportExecError
from mpremote.transport_serial import SerialTransport

#: told (bytes done, bytes in all)
Progress = Callable[[int, int], None]

_ABANDONED_S: Final = 900
_PIECE: Final = 1536  # bytes of a file in one piece of code
_ANSWER_S: Final = 20
_MOST_HEARD: Final = 300_000  # bytes of an answer: no code of ours has so much to say
_PROMPT: Final = b">>> "
#: Ctrl-C twice (a program may be inside a handler), Ctrl-B: the prompt for people, from whatever state
_STOP: Final = b"\r\x03\x03\x02"
_ROM_START: Final = b"rst:0x"
_FAULT: Final = re.compile(rb"^(\w*(?:Error|Exception)\b.*|.*[Bb]rownout.*|Guru Meditation.*)$", re.MULTILINE)
_OFTEN: Final = 3  # starts heard while a prompt was asked for: not somebody's finger on the button
#: how a port says ENOSPC, with the names of errors and without
_FULL: Final = re.compile(r"OSError: (\[Errno 28\]|28$)")

#: what a session defines on the board before anything else; names begin with "_"
_TOOLS: Final = """
import os, json
from binascii import a2b_base64 as _a, b2a_base64 as _b
def _hash(path):
    from hashlib import sha256
    h = sha256(); buf = bytearray(1024); view = memoryview(buf)
    try:
        with open(path, 'rb') as f:
            while True:
                n = f.readinto(buf)
                if not n: return _b(h.digest())[:-1].decode()
                h.update(view[:n])
    except OSError:
        return None
def _walk(folder):
    for e in os.ilistdir(folder or '/'):
        path = folder + '/' + e[0]
        if not e[1] & 0x4000: yield path, e[3]
        elif path not in ('/rom', '/remote'): yield from _walk(path)
def _folders(path):
    for i in range(1, len(path)):
        if path[i] == '/':
            try: os.mkdir(path[:i])
            except OSError: pass
def _drop(path):
    try: os.remove(path)
    except OSError: pass
try:
    with open('/slots.json') as _f: _s = json.load(_f)
    _s = _s.get('trial') or _s.get('active')
    if _s:
        import sys
        sys.path.insert(0, '/' + _s)
except (OSError, ValueError, AttributeError): pass
"""


class BenchError(HeadwallError):
    """A board does not do what is asked of it. The message says why, and what to do."""


@dataclass(frozen=True)
class BoardFile:
    """A file on a board: absolute path, size in bytes, SHA-256 as 64 hex digits."""

    path: str
    size: int
    sha256: str


class Session:
    """The prompt of a board; made by open_session().

    Attributes:
        port: the path of its serial port.
    """

    def __init__(self, transport: Any, port: str, *, restart: bool = True) -> None:
        self.port = port
        self._transport = transport
        self._restart = restart

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def run(self, code: str, *, timeout_s: float = _ANSWER_S, line: Callable[[str], None] | None = None) -> str:
        """Have the board run code; what it printed.

        Args:
            timeout_s: the longest silence.
            line: given each line as it comes.

        Raises:
            BenchError: the code raised, the file system is full, or the board stopped answering.
        """
        heard = bytearray()
        begun = 0

        def take(data: bytes) -> None:
            nonlocal begun
            heard.extend(data.replace(b"\x04", b""))
            if len(heard) > _MOST_HEARD:
                raise BenchError(
                    f"the board at {self.port} does not stop talking: unplug it, plug it in again, and look at what it "
                    "says with 'headwall board console'"
                )
            while line is not None and (end := heard.find(b"\n", begun)) >= 0:
                line(heard[begun:end].decode(errors="replace").rstrip())
                begun = end + 1

        with self._talking():
            _, error = self._transport.exec_raw(code, timeout=timeout_s, data_consumer=take)
            if error:
                raise TransportExecError(1, error.decode(errors="replace"))
        return heard.decode(errors="replace")

    def ask(self, expression: str) -> Any:
        """The value of an expression of numbers, text, lists and dicts."""
        with self._sense():
            return json.loads(self.run(f"print(json.dumps({expression}))"))

    def free_bytes(self) -> int:
        """Room on its file system."""
        block, _, _, free = self.ask("list(os.statvfs('/')[:4])")
        return int(block) * int(free)

    def files(self, tell: Callable[[], None] | None = None) -> list[BoardFile]:
        """Every file on its flash, hashed there; `tell` is called for each."""
        found: list[BoardFile] = []

        def take(text: str) -> None:
            path, size, digest = ast.literal_eval(text)
            found.append(BoardFile(path, size, b64decode(digest).hex()))
            if tell is not None:
                tell()

        with self._sense():
            self.run("for _p, _s in _walk(''): print(repr((_p, _s, _hash(_p))))", line=take)
        return sorted(found, key=lambda file: file.path)

    def read(self, path: str, progress: Progress | None = None) -> bytes | None:
        """A file's content, verified by its hash; None where there is none.

        Raises:
            BenchError: what came is not what is on the board.
        """
        wanted = self.ask(f"_hash({path!r})")
        if wanted is None:
            return None
        size = int(self.ask(f"os.stat({path!r})[6]"))
        self.run(f"_f = open({path!r}, 'rb')")
        data = bytearray()
        with self._sense():
            while piece := b64decode(self.run(f"print(_b(_f.read({_PIECE})).decode())")):
                data += piece
                if progress is not None:
                    progress(len(data), size)
        self.run("_f.close()")
        if hashlib.sha256(data).digest() != b64decode(wanted):
            raise BenchError(f"{path} did not come whole from the board at {self.port}: check the cable, try again")
        return bytes(data)

    def write(self, path: str, data: bytes, progress: Progress | None = None) -> None:
        """Put a file on the board: written beside, read back, compared, then renamed over the one that was there.

        Raises:
            BenchError: the file system is full, or does not keep what is written to it. The old file is still there.
        """
        part = path + ".part"
        try:
            self.run(f"_folders({path!r})\n_f = open({part!r}, 'wb')\n_w = _f.write")
            for at in range(0, len(data), _PIECE):
                self.run(f"_w(_a({b64encode(data[at : at + _PIECE]).decode()!r})) and None")
                if progress is not None:
                    progress(min(at + _PIECE, len(data)), len(data))
            self.run("_f.close()")
        except _FullError:
            self.run(f"try: _f.close()\nexcept OSError: pass\n_drop({part!r})")
            raise BenchError(
                f"the flash of the board at {self.port} is full: {path} of {len(data)} bytes did not fit, "
                f"{self.free_bytes()} are free. See what is there with 'headwall board verify', and remove what is "
                f"not Headwall's: mpremote connect {self.port} fs rm :FILE"
            ) from None
        if (found := self.ask(f"_hash({part!r})")) is None or b64decode(found) != hashlib.sha256(data).digest():
            self.run(f"_drop({part!r})")
            raise BenchError(
                f"{path}: the board at {self.port} read back something else than was written; the old file stands. "
                "Try again; if it happens again the flash is worn or the cable garbles"
            )
        self.run(f"os.rename({part!r}, {path!r})")

    def remove(self, path: str) -> None:
        """Remove a file; none there is none needed."""
        self.run(f"_drop({path!r})")

    def close(self) -> None:
        """Start the board anew, unless the session was to leave it alone, and free its port."""
        with contextlib.suppress(OSError, TransportError):
            if self._restart:
                self._transport.serial.write(_STOP)
                time.sleep(0.1)
                self._transport.serial.write(b"import machine\rmachine.reset()\r")
                self._transport.serial.flush()
            else:
                self._transport.exit_raw_repl()
        with contextlib.suppress(OSError):
            self._transport.close()

    @contextlib.contextmanager
    def _sense(self) -> Iterator[None]:
        """Say it in words where an answer makes none: nothing on a serial line notices a bit that was bent."""
        try:
            yield
        except (ValueError, SyntaxError, TypeError) as error:
            raise BenchError(
                f"what came from the board at {self.port} makes no sense ({type(error).__name__}): the line garbles. "
                "Try again, with another cable or port"
            ) from error

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        """Say in words of ours what goes wrong in mpremote."""
        try:
            yield
        except TransportExecError as error:
            last = (str(error.error_output).strip().splitlines() or ["no reason given"])[-1]
            if _FULL.search(last):
                raise _FullError(last) from error
            last = "".join(c if c.isprintable() else "?" for c in last)
            raise BenchError(f"the board at {self.port} could not do that: {last}") from error
        except (TransportError, OSError, struct.error) as error:
            raise BenchError(
                f"the board at {self.port} stopped answering ({error}): it was unplugged, or it started anew. "
                "Run the command again; what was done stays done"
            ) from error


class _FullError(BenchError):
    """The board said ENOSPC."""


def open_session(port: str, *, baud: int = 115200, patience_s: float = 10, memory: bool = False) -> Session:
    """Stop the board's program and take its prompt.

    Args:
        patience_s: how long to ask a silent board: one in deep sleep hears nothing until its reset button is pressed.
        memory: keep what its program has in memory, to look at it; there may be little room for anything else.

    Raises:
        BenchError: no such port, in use, nothing answers, starts over and over, or it is not MicroPython.
    """
    try:
        transport = SerialTransport(port, baudrate=baud, timeout=5)
    except (TransportError, OSError) as error:
        raise BenchError(why_closed(port)) from error
    try:
        _stop(transport.serial, port, patience_s)
        with contextlib.redirect_stdout(io.StringIO()):  # mpremote prints what it did not expect
            transport.enter_raw_repl(soft_reset=not memory)
        session = Session(transport, port)
        session.run(f"import machine\nmachine.WDT(timeout={_ABANDONED_S * 1000})")
        session.run(_TOOLS)
    except BaseException as error:
        with contextlib.suppress(OSError):
            transport.close()
        if isinstance(error, (TransportError, OSError, struct.error)):
            raise BenchError(
                f"the board at {port} answered, and then no more: it starts anew while it is asked. Try again; if it "
                "goes on: headwall board console"
            ) from error
        raise
    return session


def _stop(line: serial.Serial, port: str, patience_s: float) -> None:
    """Bring the board to its prompt, from whatever it does."""
    heard = b""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        line.write(_STOP)
        quiet_at = time.monotonic() + 0.4
        while time.monotonic() < quiet_at:
            if line.in_waiting:
                heard = (heard + line.read(line.in_waiting))[-20000:]
            elif heard.endswith(_PROMPT):
                return
            time.sleep(0.02)
    raise BenchError(_why_no_prompt(heard, port, patience_s))


def why_closed(port: str) -> str:
    """Why a port cannot be opened, and what to do."""
    if not Path(port).exists():
        return f"there is no port {port}. 'headwall board list' shows those that are; is the board plugged in?"
    try:
        serial.Serial(port, exclusive=True).close()
    except serial.SerialException as error:
        text = str(error)
        if "exclusively lock" in text or "busy" in text.lower():
            return f"{port} is in use by another program (a console, mpremote, esptool): end it and try again"
        if "ermission" in text:
            return (
                f"{port} may not be opened by you: add yourself to its group (Debian: sudo usermod -aG dialout $USER), "
                "then log in anew"
            )
        return f"{port} cannot be opened: {text}"
    return f"{port} could not be opened, and now it can: try again"


def _why_no_prompt(heard: bytes, port: str, patience_s: float) -> str:
    starts = heard.count(_ROM_START)
    faults = [fault.decode(errors="replace").strip() for fault in _FAULT.findall(heard)]
    if starts >= _OFTEN:
        why = f"; it says: {faults[-1]}" if faults else ""
        return (
            f"the board at {port} starts over and over ({starts} times in {patience_s:.0f} s){why}. If its supply is "
            "weak, use another cable or port; else put MicroPython on it anew: headwall board flash IMAGE --erase"
        )
    if not heard.strip():
        return (
            f"nothing answers at {port}. A board in deep sleep does so after its reset button: press it while this "
            "command waits (--wait 30). Else: another port, a cable without data lines, or no MicroPython on it "
            "(headwall board flash)"
        )
    last = heard.decode(errors="replace").strip().splitlines()[-1][-80:]
    return f"the board at {port} does not come to its prompt; it last said {last!r}. Press its reset button, try again"
