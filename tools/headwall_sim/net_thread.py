"""An asyncio loop in a thread of its own, in which the simulation's proxies and its time server live."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class NetThread:
    """Starts with its first use, ends with stop()."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="sim-net", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def call(self, work: Callable[[], object]) -> None:
        """Run a short call there; returns when it has."""

        async def once() -> None:
            work()

        self.run(once())

    def stop(self) -> None:
        """Cancel everything there and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.wait(tasks)) if tasks else None
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
