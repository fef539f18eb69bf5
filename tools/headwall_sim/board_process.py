"""Starts MicroPython for the simulated boards, quickly: a process that has loaded it forks for each start.

Loading the interpreter through Python takes about 30 ms a start, forking about 1 ms (measured on two cores). The
process is single-threaded, talks JSON lines with the supervisor over a Unix socket, and gets each board's three files
(control in, control out, console) along with the order to start it. It dies with its boards when the supervisor does.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: where a started board finds its link; 0 to 2 are the console's
CONTROL_IN, CONTROL_OUT = 3, 4
_BUFFER = 65536
_mapped: list[mmap.mmap] = []  # what a child must not let go of


class BoardStarter:
    """The supervisor's end; used from the clock's thread alone.

    Args:
        soon: runs a call in the clock's thread, soon.
        on_exit: called with (process id, wait status) of each board's process that has ended.
    """

    def __init__(self, soon: Callable[[Callable[[], None]], None], on_exit: Callable[[int, int], None]) -> None:
        self._soon = soon
        self._on_exit = on_exit
        self._started: list[int] = []
        self._exits: list[tuple[int, int]] = []
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headwall_sim.board_process", str(there.fileno())],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the supervisor, which ends the boards in order
            )
        self._socket = here

    def fileno(self) -> int:
        return self._socket.fileno()

    def start(
        self,
        argv: list[str],
        folder: Path,
        environment: dict[str, str],
        files: tuple[int, int, int],
        *,
        terminal: bool = False,
    ) -> int:
        """Start MicroPython in `folder` with control in, control out and console; returns its process id.

        Args:
            terminal: the console is a terminal: it is read from too, and Ctrl-C on it interrupts the program.
        """
        order = json.dumps({"argv": argv, "folder": str(folder), "env": environment, "terminal": terminal}).encode()
        socket.send_fds(self._socket, [order], list(files))
        while not self._started:
            self._take()
        if self._exits:
            self._soon(self._tell_exits)
        return self._started.pop(0)

    def kill(self, pid: int) -> None:
        """SIGKILL, unless it has ended already; on_exit follows in any case."""
        self._socket.send(json.dumps({"kill": pid}).encode())

    def hear(self) -> None:
        """Take what has come; call when readable."""
        self._take()
        self._tell_exits()

    def stop(self) -> None:
        """End every board and the process."""
        self._socket.close()
        self._process.wait()

    def _tell_exits(self) -> None:
        while self._exits:
            self._on_exit(*self._exits.pop(0))

    def _take(self) -> None:
        data = self._socket.recv(_BUFFER)
        if not data:
            raise RuntimeError(f"the process that starts boards has died with status {self._process.wait()}")
        told = json.loads(data)
        if "started" in told:
            self._started.append(told["started"])
        else:
            self._exits.append((told["exit"], told["status"]))


def main(link: socket.socket) -> None:
    """Serve until the supervisor hangs up."""
    # loaded once, before the forks; each child runs it from its untouched state
    from micropython_run import run_main

    bell_out, bell_in = os.pipe()
    os.set_blocking(bell_in, False)
    signal.set_wakeup_fd(bell_in)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: set[int] = set()
    while True:
        ready, _, _ = select.select([link.fileno(), bell_out], [], [])
        if bell_out in ready:
            os.read(bell_out, 4096)
            _reap(link, children)
        if link.fileno() in ready and not _obey(link, children, run_main):
            break
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _obey(link: socket.socket, children: set[int], run_main: Callable[[list[str]], int]) -> bool:
    """Carry out one order; False when the supervisor has hung up."""
    data, files, _, _ = socket.recv_fds(link, _BUFFER, 3)
    if not data:
        return False
    order = json.loads(data)
    if "kill" in order:
        if order["kill"] in children:
            os.kill(order["kill"], signal.SIGKILL)
        return True
    pid = os.fork()
    if pid == 0:
        _become_board(order, files, run_main)
    for file in files:
        os.close(file)
    children.add(pid)
    link.send(json.dumps({"started": pid}).encode())
    return True


def _become_board(order: dict[str, Any], files: list[int], run_main: Callable[[list[str]], int]) -> None:
    """The rest of the child's life."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        high = [fcntl.fcntl(file, fcntl.F_DUPFD, 64) for file in files]
        os.dup2(high[2] if order["terminal"] else os.open(os.devnull, os.O_RDONLY), 0)
        for number, file in zip((CONTROL_IN, CONTROL_OUT, 1), high, strict=True):
            os.dup2(file, number)
        os.dup2(1, 2)
        if order["terminal"]:
            os.setsid()
            fcntl.ioctl(1, termios.TIOCSCTTY, 0)
        os.closerange(5, 256)
        os.chdir(order["folder"])
        os.environ.update(order["env"])
        _map_rom()
        code = run_main(order["argv"])
    finally:
        os._exit(code)


def _map_rom() -> None:
    """Map the program's ROM image, if there is one, for good, and tell MicroPython where: "address length"."""
    path = os.environ.get("SIM_ROM_IMAGE")
    if not path:
        return
    with open(path, "rb") as file:  # noqa: PTH123 - a child of a fork does as little as it can
        mapped = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    _mapped.append(mapped)
    os.environ["SIM_ROM_AT"] = f"{ctypes.addressof(ctypes.c_char.from_buffer(mapped))} {len(mapped)}"


def _reap(link: socket.socket, children: set[int]) -> None:
    for pid in list(children):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            children.discard(pid)
            with contextlib.suppress(OSError):
                link.send(json.dumps({"exit": pid, "status": status}).encode())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
