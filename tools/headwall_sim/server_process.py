"""A server program run beside us: started, waited for, stopped and killed by its process id."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HOST = "127.0.0.1"


def free_port() -> int:
    """A loopback TCP port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    """Whether something accepts TCP connections on a loopback port."""
    try:
        with socket.create_connection((HOST, port), timeout=0.5):
            return True
    except OSError:
        return False


class ServerProcess:
    """One server program; may be started again after stop or kill.

    Args:
        name: for messages.
        command: program and arguments.
        log_file: takes what it prints, appended.
        ready: says whether it serves; asked until it does.
        user: the account to run it as, where this process may choose.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_file: Path,
        ready: Callable[[], bool],
        user: str | None = None,
    ) -> None:
        self.name = name
        self.log_file = log_file
        self._command = list(command)
        self._ready = ready
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id, None when it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self, timeout_s: float = 20) -> None:
        """Start and return once it serves. Does nothing when it runs already.

        Raises:
            RuntimeError: it ended at once or does not serve after `timeout_s`; carries the end of its log.
        """
        if self.pid is not None:
            return
        with self.log_file.open("ab") as log:
            # a session of its own: Ctrl-C is for us, and we then stop it in order. The pipe tells a child
            # that watches its stdin that we are gone.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, user=self._user
            )
        deadline = time.monotonic() + timeout_s
        while not self._ready():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                what = "ended at once" if ended else f"does not serve after {timeout_s:g} s"
                self.kill()
                raise RuntimeError(f"{self.name} {what}; {self.log_file} ends with:\n{self._log_end()}")
            time.sleep(0.02)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end and wait; killed after 10 seconds."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        if process.stdin is not None:
            process.stdin.close()

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL)."""
        self.stop(signal.SIGKILL)

    def _log_end(self) -> str:
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-10:])
