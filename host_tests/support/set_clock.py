"""A clock that stands where a test puts it."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext

from headwall.clock import BusyContext

#: no wait lasts longer, so that a test that never moves its clock ends all the same
_LONGEST_S = 30.0
_LOOK_S = 0.01


class SetClock:
    """Stands at `now` until a test sets it; who waits for an instant goes on once `now` has reached it."""

    def __init__(self, now_us: int) -> None:
        self.now = now_us

    def now_us(self) -> int:
        return self.now

    def wait(self, wake: threading.Event, until_us: int | None) -> bool:
        end_s = time.monotonic() + _LONGEST_S
        while not wake.wait(_LOOK_S):
            if (until_us is not None and until_us <= self.now) or time.monotonic() > end_s:
                return False
        return True

    def busy(self, what: str) -> BusyContext:  # noqa: ARG002 - nothing to hold up
        return nullcontext()
