"""Periods of registry entries as instants, and what is in force at one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

from headwall.clock import to_us
from headwall.law import localtime
from headwall.registry.dated import Dated

E = TypeVar("E", bound=Dated)


@dataclass(frozen=True)
class Span(Generic[E]):
    """A dated entry with its period resolved: from `start_us` up to, not including, `end_us` (None: open)."""

    start_us: int
    end_us: int | None
    entry: E

    def holds(self, at_us: int) -> bool:
        return self.start_us <= at_us and (self.end_us is None or at_us < self.end_us)

    def overlaps(self, other: Span[E]) -> bool:
        return (self.end_us is None or other.start_us < self.end_us) and (
            other.end_us is None or self.start_us < other.end_us
        )


def span_of(entry: E, zone: ZoneInfo) -> Span[E]:
    """The period of an entry; a date without a time means local midnight in `zone`."""
    end = entry.valid_to
    return Span(instant_us(entry.valid_from, zone), None if end is None else instant_us(end, zone), entry)


def instant_us(moment: datetime | date, zone: ZoneInfo) -> int:
    """A date as the instant of its local midnight; a time without an offset is local time in `zone`.

    InputError for a local time that the clocks skip or show twice.
    """
    if not isinstance(moment, datetime):
        return localtime.midnight_us(moment, zone)
    return to_us(moment) if moment.tzinfo is not None else localtime.from_local(moment, zone)


def in_force(spans: Iterable[Span[E]], at_us: int) -> Iterator[E]:
    """The entries whose period holds the instant, in the order of the file."""
    return (span.entry for span in spans if span.holds(at_us))
