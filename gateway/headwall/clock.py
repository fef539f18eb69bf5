"""The one source of "now" for the gateway: the system's clock, or a simulation's.

Nothing in headwall calls time.time() or datetime.now() for an instant that decides anything; it asks
the Clock it was given. That is what lets a day of rain pass in a minute, gateway and mail included.
All instants are integer microseconds since 1970-01-01T00:00:00Z ("_us"), never floats, never local.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(moment: datetime) -> int:
    """Microseconds since the Unix epoch of an aware datetime; ValueError for a naive one."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; give an aware datetime")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_us(instant_us: int) -> datetime:
    """The aware UTC datetime of an instant in microseconds."""
    return _EPOCH + timedelta(microseconds=instant_us)


class Clock(Protocol):
    """What every part of the gateway may ask about time."""

    def now_us(self) -> int:
        """The present instant, microseconds since the Unix epoch."""

    def wait(self, wake: threading.Event, until_us: int | None) -> bool:
        """Block until `wake` is set (True) or `until_us` has come (False); None waits for the event alone.

        A simulated clock may jump ahead to `until_us` while a thread waits here.
        """

    def busy(self, what: str) -> BusyContext:
        """A context during which a simulated clock must run 1:1: work that others wait for is under way."""


class BusyContext(Protocol):
    def __enter__(self) -> None: ...

    def __exit__(self, *exc: Any) -> bool | None: ...


class SystemClock:
    """The machine's own clock; it must be kept by NTP."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def wait(self, wake: threading.Event, until_us: int | None) -> bool:
        if until_us is None:
            wake.wait()
            return True
        return wake.wait(max(0.0, (until_us - self.now_us()) / 1e6))

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:  # noqa: ARG002 - nothing to hold up on a real clock
        yield
