"""When each of many things is to be looked at again: the earliest at once, without going through all of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator


class Wakes:
    """One instant a name, or none. A name that is set again counts with its last instant alone."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []  # some hold no longer: left out when they come up

    def set(self, name: str, at_us: int | None) -> None:
        """Wake it at an instant; None: not at all."""
        if at_us is None:
            self._at.pop(name, None)
        elif self._at.get(name) != at_us:
            self._at[name] = at_us
            heapq.heappush(self._heap, (at_us, name))

    def at_us(self, name: str) -> int | None:
        """When a name is woken; None: not at all."""
        return self._at.get(name)

    def next_us(self) -> int | None:
        """The earliest instant of all; None where nothing is to be woken."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now_us: int) -> Iterator[str]:
        """The names whose instant has come, earliest first; each that is taken is woken no more."""
        while (next_us := self.next_us()) is not None and next_us <= now_us:
            _, name = heapq.heappop(self._heap)
            del self._at[name]
            yield name

    def clear(self) -> None:
        self._at.clear()
        self._heap.clear()
