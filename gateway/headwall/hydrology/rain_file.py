"""Any rain file, read into exact rain in order of time.

What the file says of itself is believed (columns by their names, a unit or a zone in a column's name, offsets with the
times, a series that falls cannot be a counter); what it leaves open must be given, and an InputError says so with
file, line and remedy. A row without a value is no reading: neither zero nor an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import gcd
from pathlib import Path
from typing import Final, Literal, NamedTuple

from headwall.errors import InputError
from headwall.hydrology.columns import Columns, choose_columns
from headwall.hydrology.counter import count
from headwall.hydrology.storms import Rain
from headwall.hydrology.table import Row, Table, read_table
from headwall.hydrology.timestamps import DateOrder, Timestamp
from headwall.law import localtime
from headwall.units import Depth, depth

Kind = Literal["increments", "tips", "cumulative"]
Repeated = Literal["error", "drop", "keep"]

_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:[eE][+-]?\d{1,2})?", re.ASCII)
_NO_VALUE: Final = frozenset(("", "na", "n/a", "nan", "null", "none", "m", "-", "--"))
_MINUTE_US: Final = 60_000_000
_HOUR_US: Final = 60 * _MINUTE_US
_LARGEST: Final = Decimal(10) ** 9  # in the file's unit; beyond this a cell is damage
_SMALLEST_STEP: Final = -15  # decimal exponent


@dataclass(frozen=True)
class RainFileOptions:
    """What the user says of the file; None: as the file says.

    `time_column` may be two columns joined by "+", a date and a time. `interval_us` is what an increment is the total
    of. `modulus` is that of a counter of tips.
    """

    time_column: str | None = None
    value_column: str | None = None
    kind: Kind | None = None
    tip: Depth | None = None
    unit: str | None = None
    zone: tzinfo | None = None
    repeated: Repeated | None = (
        None  # None: an error for increments; tips may share a second, counters book nothing twice
    )
    date_order: DateOrder = "mdy"
    interval_us: int | None = None
    modulus: int | None = None


@dataclass(frozen=True)
class RainFile:
    """Rain in order of time, rows of 0 included: they are signs of life. Amounts are whole numbers of `quantum`."""

    source: str
    rain: list[Rain]
    quantum: Depth
    kind: Kind
    zone: tzinfo
    interval_us: int  # 0 where each row is rain at an instant
    notes: list[str]  # how the file was understood, and what was odd in it

    @property
    def total(self) -> Depth:
        return self.quantum * sum(amount for _, amount in self.rain)


class _Reading(NamedTuple):
    time_us: int
    value: Decimal
    line: int


def read_rain_file(path: Path, options: RainFileOptions | None = None) -> RainFile:
    """Read a rain file; InputError if it cannot be read or understood."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    return parse_rain(data, str(path), options)


def parse_rain(data: bytes, source: str, options: RainFileOptions | None = None) -> RainFile:
    """Rain from the bytes of a file; `source` names it in messages."""
    options = options or RainFileOptions()
    table = read_table(data, source, time_column=options.time_column)
    columns = choose_columns(table, options.time_column, options.value_column, options.date_order)
    return _Reader(table, columns, options).read()


class _Reader:
    """One file being read."""

    def __init__(self, table: Table, columns: Columns, options: RainFileOptions) -> None:
        self.table = table
        self.columns = columns
        self.options = options
        self.notes = [f"time from {columns.time_name}", f"rain from {columns.value_name}"]

    def read(self) -> RainFile:
        stamped, without = self._cells()
        of_file = self._zone_of_file()
        zone = self._zone_of_days([stamp for stamp, _, _ in stamped], of_file)
        readings = [self._reading(stamp, value, row, of_file or zone) for stamp, value, row in stamped]
        readings.sort(key=lambda reading: (reading.time_us, reading.value))
        kind = self._kind(readings)
        readings = self._settle_repeated(readings, kind)
        quantum, amounts = self._amounts(readings, kind)
        rain = [Rain(reading.time_us, amount) for reading, amount in zip(readings, amounts, strict=True)]
        interval_us = self._interval(rain, kind, zone)
        if without:
            self.notes.append(f"{without} rows without a value left out")
        return RainFile(self.table.source, rain, quantum, kind, zone, interval_us, self.notes)

    # ---- cells

    def _cells(self) -> tuple[list[tuple[Timestamp, Decimal, Row]], int]:
        rows = self.table.rows[self._rows_of_units() :]
        found, without = [], 0
        for row in rows:
            value = self._value(row)
            if value is None:
                without += 1
                continue
            stamp = self.columns.timestamp(row)
            if stamp is None:
                raise self._error(row.line, self._time_fault(row))
            found.append((stamp, value, row))
        if not found:
            raise InputError(f"{self.table.source}: no row of data in column {self.columns.value_name}")
        return found, without

    def _rows_of_units(self) -> int:
        """Rows right below the names that hold no digit where time and value stand: units and the like."""
        for n, row in enumerate(self.table.rows[:3]):
            cells = self.columns.time_text(row) + self.columns.value_text(row)
            if not cells or any(mark.isdigit() for mark in cells):
                return n
        return min(3, len(self.table.rows))

    def _time_fault(self, row: Row) -> str:
        text = self.columns.time_text(row)
        order = "month/day/year" if self.options.date_order == "mdy" else "day/month/year"
        return (
            f"{text!r} in column {self.columns.time_name} is no time; write 2026-06-10 15:42 or {order} 15:42 "
            f"(the order is set by --date-order)"
        )

    def _value(self, row: Row) -> Decimal | None:
        if self.columns.value is None:  # a row is a tip
            return Decimal(1) if self.columns.time_text(row) else None
        text = self.columns.value_text(row)
        if text.lower() in _NO_VALUE:
            return None
        if self.table.delimiter != "," and "." not in text:
            text = text.replace(",", ".")  # a decimal comma
        if _NUMBER.fullmatch(text) is None or abs(value := Decimal(text)) > _LARGEST:
            raise self._error(row.line, f"{text!r} in column {self.columns.value_name} is no amount; mend or empty it")
        if value.normalize().as_tuple().exponent < _SMALLEST_STEP:  # type: ignore[operator] # finite: matched above
            raise self._error(row.line, f"{text!r} in column {self.columns.value_name} is too fine for any gauge")
        if value < 0 or text.startswith("-"):
            raise self._error(
                row.line,
                f"{text} in column {self.columns.value_name} is negative; where that means no value, empty the cell",
            )
        return value

    def _reading(self, stamp: Timestamp, value: Decimal, row: Row, zone: tzinfo) -> _Reading:
        where = localtime.zone(stamp.offset) if stamp.offset else zone
        try:
            return _Reading(localtime.from_local(stamp.wall, where), value, row.line)
        except InputError as error:
            raise self._error(row.line, str(error)) from None

    def _error(self, line: int, fault: str) -> InputError:
        return InputError(f"{self.table.source}, line {line}: {fault}")

    # ---- what the file is

    def _zone_of_file(self) -> tzinfo | None:
        """The zone of times without offset, if the file names it; it holds also where --tz asks for other days."""
        named = self.columns.zone_text
        if named is None:
            return None
        self.notes.append(f"times in {named}, as the name of their column says")
        return localtime.zone(named)

    def _zone_of_days(self, stamps: list[Timestamp], of_file: tzinfo | None) -> tzinfo:
        zone = self.options.zone or of_file
        if zone is not None:
            return zone
        offsets = {stamp.offset for stamp in stamps}
        if None in offsets:
            raise InputError(
                f"{self.table.source}: the file does not say in which zone its times are; give --tz, such as "
                f"--tz America/New_York, or --tz UTC-5 for a logger that stays on standard time"
            )
        zones = {localtime.zone(offset) for offset in offsets if offset}
        if len(zones) > 1:
            raise InputError(f"{self.table.source}: times with several offsets; give --tz for the local days")
        return zones.pop()

    def _kind(self, readings: list[_Reading]) -> Kind:
        if self.options.kind is not None:
            return self.options.kind
        hinted: Kind | None = self.columns.kind_hint
        if hinted is None and _falls_often(readings):
            hinted = "increments"
        if hinted is None:
            raise InputError(
                f"{self.table.source}: column {self.columns.value_name} may be rain per row or a counter; "
                f"give --kind increments, tips or cumulative"
            )
        self.notes.append(f"read as {hinted}")
        return hinted

    def _settle_repeated(self, readings: list[_Reading], kind: Kind) -> list[_Reading]:
        how = self.options.repeated or ("error" if kind == "increments" else "keep")
        if how == "keep":
            return readings
        kept = readings[:1]
        for before, reading in pairwise(readings):
            if reading.time_us != before.time_us:
                kept.append(reading)
            elif how == "error" or reading.value != before.value:
                first, second = sorted((before.line, reading.line))
                same = "time" if how == "error" else "time with another value"
                raise self._error(
                    second, f"the same {same} as line {first}; mend it, or give --repeated drop (of equal rows) or keep"
                )
        if len(kept) < len(readings):
            self.notes.append(f"{len(readings) - len(kept)} repeated rows dropped")
        return kept

    # ---- amounts

    def _amounts(self, readings: list[_Reading], kind: Kind) -> tuple[Depth, list[int]]:
        in_tips = kind == "tips" or (kind == "cumulative" and self._unit() is None)
        quantum, amounts = self._tips(readings) if in_tips else self._depths(readings)
        if kind == "cumulative":
            amounts = self._counted(readings, amounts, self.options.modulus if in_tips else None)
        return quantum, amounts

    def _unit(self) -> str | None:
        return self.options.unit or self.columns.unit_hint

    def _tips(self, readings: list[_Reading]) -> tuple[Depth, list[int]]:
        if self.options.tip is None:
            raise InputError(
                f"{self.table.source}: column {self.columns.value_name} has no unit; "
                f'give --tip, such as --tip "0.01 in", if it counts tips, else --unit in or --unit mm'
            )
        for reading in readings:
            if reading.value % 1:
                raise self._error(
                    reading.line, f"{reading.value} is not a whole number of tips; give --unit for a depth, not --tip"
                )
        return self.options.tip, [int(reading.value) for reading in readings]

    def _depths(self, readings: list[_Reading]) -> tuple[Depth, list[int]]:
        unit = self._unit()
        if unit is None:
            raise InputError(
                f"{self.table.source}: column {self.columns.value_name} has no unit; give --unit in or --unit mm"
            )
        if self.options.unit is None:
            self.notes.append(f"unit {unit} from the name of the column")
        step = min(_exponent(reading.value) for reading in readings)
        return depth(Fraction(10) ** step, unit), [int(reading.value.scaleb(-step)) for reading in readings]

    def _counted(self, readings: list[_Reading], values: list[int], modulus: int | None) -> list[int]:
        if modulus is not None and max(values) >= modulus:
            at = readings[values.index(max(values))]
            raise self._error(at.line, f"the counter shows {at.value}, beyond its modulus of {modulus}")
        counted = count(values, modulus=modulus)
        self.notes.append(
            f"the counter stood at {readings[0].value} at its first reading; what fell before is not known"
        )
        self.notes += [f"line {readings[flag.at].line}: counter {flag.kind}" for flag in counted.flags]
        return counted.amounts

    def _interval(self, rain: list[Rain], kind: Kind, zone: tzinfo) -> int:
        if kind != "increments":
            return 0
        if self.options.interval_us is not None:
            return self.options.interval_us
        interval_us = _time_step(rain, zone)
        minutes = interval_us // _MINUTE_US
        self.notes.append(f"each row the total of the {minutes} min before its time" if minutes else "rain at its time")
        return interval_us


def _falls_often(readings: list[_Reading]) -> bool:
    """Whether a quarter of the changes and more go down: then the values are no counter."""
    changes = [(a.value, b.value) for a, b in pairwise(readings) if a.value != b.value]
    falls = sum(b < a for a, b in changes)
    return falls > 0 and 4 * falls >= len(changes)


def _exponent(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return min(0, exponent) if isinstance(exponent, int) else 0


def _time_step(rain: list[Rain], zone: tzinfo) -> int:
    """The step of the clock that all times of rain fit, at most an hour; 0 if they are finer than whole minutes.

    Rows of 0 are left out, so that a file gives the same storms with and without them.
    """
    wet = [time_us for time_us, amount in rain if amount]
    step = _HOUR_US
    for time_us in wet:
        step = gcd(step, time_us - localtime.day_bounds(time_us, zone)[0])
    return step if wet and step % _MINUTE_US == 0 else 0
