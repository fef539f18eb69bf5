"""Which columns of a table hold time and rain, and what their names say of unit, kind and zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from headwall.errors import InputError
from headwall.hydrology.table import Row, Table, looks_like_time_name
from headwall.hydrology.timestamps import DateOrder, Timestamp, parse_timestamp
from headwall.units import depth_unit

KindHint = Literal["tips", "cumulative"]

_RAIN: Final = re.compile(r"rain|precip|\bppt\b", re.IGNORECASE)
_COUNT: Final = re.compile(r"tips?\b|event|counter|pulse", re.IGNORECASE)
_UNIT: Final = re.compile(r"(?:[,(\[_\s])\s*(in\.?|inch(?:es)?|mm|millimet(?:er|re)s?)\s*(?:$|[)\],(;])", re.IGNORECASE)
_RATE: Final = re.compile(r"\b(?:in|inch|inches|mm)\s*(?:/|per)\s*h", re.IGNORECASE)
_ZONE: Final = re.compile(r"(?:GMT|UTC)(?:\s*[+-]\d{1,2}(?::?\d{2})?)?", re.IGNORECASE)
_CALENDAR: Final = ("year", "month", "day")


@dataclass(frozen=True)
class Columns:
    """The chosen columns. `value` None: the file has only times, each row a tip."""

    times: tuple[int, ...]
    value: int | None
    calendar: bool  # times are year, month, day (, hour) (, minute) as numbers
    names: tuple[str, ...]
    order: DateOrder

    @property
    def time_name(self) -> str:
        return "+".join(repr(self.names[n]) for n in self.times)

    @property
    def value_name(self) -> str:
        return "each row" if self.value is None else repr(self.names[self.value])

    def time_text(self, row: Row) -> str:
        return " ".join(row.cell(n) for n in self.times).strip()

    def value_text(self, row: Row) -> str:
        return "" if self.value is None else row.cell(self.value)

    def timestamp(self, row: Row) -> Timestamp | None:
        """The time of a row, or None if it holds none."""
        return self._from_calendar(row) if self.calendar else parse_timestamp(self.time_text(row), self.order)

    def _from_calendar(self, row: Row) -> Timestamp | None:
        """From numbers; a minute without an hour is counted from midnight, as some USGS tables have it."""
        parts = [row.cell(n) for n in self.times]
        if not all(part.isdecimal() and part.isascii() and len(part) <= 4 for part in parts):
            return None
        year, month, day, *clock = map(int, parts)
        stamp = parse_timestamp(f"{year:04}-{month}-{day}")
        if stamp is None or clock[-1:] > [60 if len(clock) == 2 else 1440] or clock[:-1] > [24]:
            return None
        minutes = 60 * clock[0] + clock[1] if len(clock) == 2 else sum(clock) * self._minutes_of_last
        return Timestamp(stamp.wall + timedelta(minutes=minutes), None)

    @property
    def _minutes_of_last(self) -> int:
        return 60 if self.names[self.times[-1]].lower().startswith("hour") else 1

    @property
    def kind_hint(self) -> KindHint | None:
        if self.value is None:
            return "tips"
        name = self.names[self.value].lower()
        if re.search(r"cumul|accum|counter|event", name):
            return "cumulative"
        return "tips" if re.search(r"tips?\b|pulses?\b", name) else None

    @property
    def unit_hint(self) -> str | None:
        """in or mm, if the name of the value's column says so; InputError if it names a rate."""
        if self.value is None:
            return None
        name = self.names[self.value]
        if _RATE.search(name):
            raise InputError(f"column {name!r} holds a rate; give --value-column for one that holds a depth per row")
        match = _UNIT.search(name)
        return depth_unit(match[1].rstrip(".")) if match else None

    @property
    def zone_text(self) -> str | None:
        """ "GMT-05:00" and the like, if a time column's name says so."""
        for n in self.times:
            if match := _ZONE.search(self.names[n]):
                return re.sub(r"\s", "", match[0])
        return None


def choose_columns(table: Table, time: str | None, value: str | None, order: DateOrder) -> Columns:
    """The columns asked for, or those that their names give away; InputError where neither is clear."""
    times, calendar = _time_columns(table, time)
    return Columns(times, _value_column(table, value, times), calendar, tuple(table.header), order)


def _time_columns(table: Table, asked: str | None) -> tuple[tuple[int, ...], bool]:
    if asked is not None:
        return tuple(_named(table, part, "--time-column") for part in asked.split("+")), False
    lower = [name.lower() for name in table.header]
    named = [n for n, name in enumerate(lower) if looks_like_time_name(name) and name != "year"]
    whole = [n for n in named if re.search(r"date.*time|time.?stamp", lower[n])]
    if len(named) == 1 or len(whole) == 1:
        return ((whole or named)[0],), False
    dates = [n for n in named if "date" in lower[n]]
    clocks = [n for n in named if re.match(r"time(?![a-z])", lower[n])]
    if not whole and len(dates) == len(clocks) == 1:
        return (dates[0], clocks[0]), False
    if not named and all(part in lower for part in _CALENDAR):
        parts = [*_CALENDAR, *(part for part in ("hour", "minute") if part in lower)]
        return tuple(lower.index(part) for part in parts), True
    raise _unclear(table, "time", "--time-column", named)


def _value_column(table: Table, asked: str | None, times: tuple[int, ...]) -> int | None:
    if asked is not None:
        return _named(table, asked, "--value-column")
    others = [n for n, name in enumerate(table.header) if n not in times and name]
    if not others:
        return None
    for pattern in (_RAIN, _COUNT):
        fitting = [n for n in others if pattern.search(table.header[n])]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise _unclear(table, "rain", "--value-column", fitting)
    if len(others) == 1:
        return others[0]
    raise _unclear(table, "rain", "--value-column", others)


def _named(table: Table, name: str, option: str) -> int:
    found = [n for n, each in enumerate(table.header) if each.lower() == name.strip().lower()]
    if len(found) != 1:
        fault = "no column" if not found else f"{len(found)} columns"
        raise InputError(f"{table.source}: {fault} {name.strip()!r} for {option}; the file has {_list(table)}")
    return found[0]


def _unclear(table: Table, what: str, option: str, candidates: list[int]) -> InputError:
    which = f"several may hold the {what}" if candidates else f"none is named as the {what}"
    return InputError(f"{table.source}: of the columns {_list(table)} {which}; give {option}")


def _list(table: Table) -> str:
    return ", ".join(repr(name) for name in table.header if name)
