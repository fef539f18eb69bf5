"""Runs a piece of MicroPython with the node's library, compiled as a release is, while a test talks to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import mp

REPO = Path(__file__).parents[2]
MICROPYTHON = Path(sys.executable).parent / "micropython"
LIBRARY = REPO / "firmware" / "lib"


class Node:
    """A running MicroPython process; its standard output is what the node says."""

    def __init__(
        self, program: str, *args: str, folder: Path, path: list[Path] | None = None, heap: str = "128K"
    ) -> None:
        script = folder / "program.py"
        script.write_text(textwrap.dedent(program))
        places = [*(path or []), mp.compiled(), ".frozen"]
        self._process = subprocess.Popen(
            [MICROPYTHON, "-X", f"heapsize={heap}", script, *args],
            cwd=folder,
            env={**os.environ, "MICROPYPATH": ":".join(str(place) for place in places)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._grown = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._grown:
                self.lines.append(line.rstrip("\n"))
                self._grown.notify_all()
        with self._grown:
            self._ended = True
            self._grown.notify_all()

    def wait_for_line(self, part: str, timeout_s: float = 30, after: int = 0) -> str:
        """The first line, from number `after`, that contains `part`; fails with all that was said."""
        return self._wait(lambda: next((line for line in self.lines[after:] if part in line), None), part, timeout_s)

    def finish(self, timeout_s: float = 60) -> list[str]:
        """Wait for the end of the process; all it said."""
        self._wait(lambda: "ended" if self._ended else None, "its end", timeout_s)
        return self.lines

    def _wait(self, found: Callable[[], str | None], what: str, timeout_s: float) -> str:
        with self._grown:
            result = None

            def arrived() -> bool:
                nonlocal result
                result = found()
                return result is not None or self._ended

            self._grown.wait_for(arrived, timeout_s)
            result = found()
            said = "\n".join(self.lines)
            assert result is not None, f"no {what!r} from the node; it said:\n{said}"
            return result

    def kill(self) -> None:
        """Power off. Safe to call again."""
        self._process.kill()
        self._process.wait(10)

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        if exc[0] is not None:
            print("the node said:", *self.lines, sep="\n")  # pytest shows it with the failure


class FakeBroker:
    """A TCP server that runs `script(connection)` for each connection in turn; for exact bytes and for bad manners."""

    def __init__(self, script: Callable[[socket.socket], None]) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.faults: list[BaseException] = []
        self.connections = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.settimeout(20)
            with connection:
                try:
                    self._script(connection)
                except BaseException as fault:
                    self.faults.append(fault)

    def __enter__(self) -> FakeBroker:
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # close() alone leaves accept() waiting
        self._listener.close()
        self._thread.join(30)
        if exc[0] is None and self.faults:
            raise self.faults[0]


def expect(connection: socket.socket, wanted: bytes) -> None:
    """Read exactly as many bytes as wanted and compare."""
    got = read_exactly(connection, len(wanted))
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def read_exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        part = connection.recv(count - len(got))
        assert part, f"the node closed after {got!r}"
        got += part
    return got


def hold_open(connection: socket.socket) -> None:
    """Say nothing until the node closes."""
    try:
        while connection.recv(1000):
            pass
    except ConnectionResetError:
        pass


def expect_end(connection: socket.socket) -> None:
    """The node must close now; a reset counts as closed."""
    try:
        rest = connection.recv(100)
    except ConnectionResetError:
        return
    assert rest == b"", f"the node still sent {rest!r}"
