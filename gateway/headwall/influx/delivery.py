"""A batch of points into InfluxDB: halved where it is too large, searched where a point in it is bad."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwall.influx.writer import Answer, Meaning


@dataclass(frozen=True)
class Rejected:
    """A point that InfluxDB will not take, by its index in the batch, and why."""

    index: int
    detail: str

    @property
    def is_too_old(self) -> bool:
        """Whether it lies before what the bucket keeps, which says nothing against the reading."""
        return "retention" in self.detail


class NotNowError(Exception):
    """The batch cannot be delivered now; nothing about its points is known. Carries the answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.detail)
        self.answer = answer


def deliver(write: Callable[[list[str]], Answer], lines: list[str]) -> list[Rejected]:
    """Get every line in that InfluxDB takes; returns those that it does not. Sending a line twice is harmless.

    Args:
        write: sends lines in one request, e.g. InfluxWriter.write.

    Raises:
        NotNowError: the server is away, busy or refuses us; deliver the whole batch again later.
    """
    rejected: list[Rejected] = []
    waiting = [(0, lines)] if lines else []
    while waiting:
        first, part = waiting.pop()
        answer = write(part)
        if answer.meaning in (Meaning.BUSY, Meaning.REFUSED):
            raise NotNowError(answer)
        if answer.meaning is Meaning.DONE:
            continue
        if len(part) == 1 or answer.dropped >= len(part):
            rejected += [Rejected(first + offset, answer.detail) for offset in range(len(part))]
        else:
            half = len(part) // 2
            waiting += [(first + half, part[half:]), (first, part[:half])]
    return rejected
