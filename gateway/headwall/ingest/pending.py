"""Holding a simulated clock to 1:1 while messages are on their way into the ledger."""

from __future__ import annotations

import threading

from headwall.clock import BusyContext, Clock


class Pending:
    """Counts messages under way; the clock is busy from the first of them until none is left."""

    def __init__(self, clock: Clock, what: str) -> None:
        self._clock = clock
        self._what = what
        self._lock = threading.Lock()
        self._count = 0
        self._busy: BusyContext | None = None

    def add(self) -> None:
        with self._lock:
            self._count += 1
            if self._busy is None:
                self._busy = self._clock.busy(self._what)
                self._busy.__enter__()

    def done(self, count: int) -> None:
        with self._lock:
            self._count -= count
            if self._count == 0 and self._busy is not None:
                self._busy.__exit__(None, None, None)
                self._busy = None
