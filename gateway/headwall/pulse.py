"""Whether a part's thread gets on: what tells one that hangs from one that waits, or that rides out an outage."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: seconds; far above the longest wait for a network, a lock or a batch
LIMIT_S = 300.0


class Pulse:
    """The progress of one thread, on the machine's own clock.

    The thread calls `beat` whenever it has got on with something and waits for work inside `resting`. A try that
    failed is progress too: while a broker, a server or a full disk is away, restarting us would help nobody.
    """

    def __init__(self) -> None:
        self._last_s: float | None = None  # None: it rests

    def beat(self) -> None:
        self._last_s = time.monotonic()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While the thread waits for work, however long."""
        self._last_s = None
        try:
            yield
        finally:
            self.beat()

    def stuck(self, thread: threading.Thread | None) -> str | None:
        """None for a thread that gets on or was not started, else why nothing but a restart helps."""
        if thread is None or thread.ident is None:
            return None
        if not thread.is_alive():
            return f"the thread {thread.name} has ended"
        last_s = self._last_s
        since_s = 0.0 if last_s is None else time.monotonic() - last_s
        return f"the thread {thread.name} has not got on for {since_s:.0f} s" if since_s > LIMIT_S else None
