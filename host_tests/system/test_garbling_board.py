"""Serial ports at which something else than a sound board talks: each command ends, and says what is wrong."""

from __future__ import annotations

import os
import pty
import select
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from headwall_board.session import BenchError, Session, open_session


class _Talker(threading.Thread):
    """MicroPython's raw prompt as far as a session needs it; `says` gives what comes back for each piece of code."""

    def __init__(self, says: Callable[[int], bytes], endless: bytes = b"") -> None:
        super().__init__(daemon=True)
        self._mine, theirs = pty.openpty()
        tty.setraw(theirs)
        self.port = os.ttyname(theirs)
        self._theirs = theirs
        self._says, self._endless = says, endless
        self._asked = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        heard, raw = b"", False
        while not self.stopped.is_set():
            if not select.select([self._mine], [], [], 0.05)[0]:
                continue
            heard += os.read(self._mine, 4096)
            if not raw:
                raw = b"\x01" in heard
                os.write(self._mine, b"raw REPL; CTRL-B to exit\r\n>" if raw else b"\r\n>>> ")
                heard = b""
            elif heard.endswith(b"\x05A\x01"):
                os.write(self._mine, b"R\x00")
                heard = b""
            elif heard == b"\x04":
                os.write(self._mine, b"OK\r\nMPY: soft reboot\r\nraw REPL; CTRL-B to exit\r\n>")
                heard = b""
            elif heard.endswith(b"\x04"):
                self._asked += 1
                os.write(self._mine, b"OK" + self._says(self._asked))
                heard = b""
                while self._asked > 2 and self._endless and not self.stopped.is_set():
                    if select.select([], [self._mine], [], 0.05)[1]:
                        os.write(self._mine, self._endless)

    def close(self) -> None:
        self.stopped.set()
        self.join()
        os.close(self._mine)
        os.close(self._theirs)


@contextmanager
def session(answer: bytes, endless: bytes = b"") -> Iterator[Session]:
    """A session that was opened well; `answer` comes to all that is asked then."""
    talker = _Talker(lambda asked: b"\x04\x04>" if asked <= 2 else answer, endless)
    talker.start()
    try:
        with open_session(talker.port) as opened:
            yield opened
            talker.stopped.set()
    finally:
        talker.close()


@pytest.mark.parametrize(
    "ask", [lambda board: board.ask("1"), lambda board: board.files(), lambda board: board.read("/a")]
)
@pytest.mark.parametrize("garbage", [b'{"\xff[[[\r\n', b"(((\r\n", b"\x00\r\n", b"[1, \r\n"])
def test_an_answer_that_makes_no_sense_is_said_to_come_from_the_line(
    garbage: bytes, ask: Callable[[Session], object]
) -> None:
    with session(garbage + b"\x04\x04>") as board, pytest.raises(BenchError, match="the line garbles"):
        ask(board)


def test_a_board_that_does_not_stop_talking_is_left() -> None:
    with session(b"", b"a" * 1000) as board, pytest.raises(BenchError, match="does not stop talking"):
        board.files()


def test_what_a_board_says_cannot_steer_the_terminal() -> None:
    with session(b"\x04Traceback\r\nValueError: \x1b[31mred\x07\x04>") as board, pytest.raises(BenchError) as caught:
        board.ask("1")
    assert "ValueError: ?[31mred?" in str(caught.value)
