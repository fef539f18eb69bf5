"""Calibrations: what a person measured of a sensor, on which day and against what. A dated layer over the readings.

A record is a JSON object, as `headwall board calibrate` writes it. Numbers are decimal text, so that they stay as they
were read:

    {"v": 1, "datastream": "gauge-a/rain.tips", "kind": "rain_volume", "at": "2026-06-10T14:05:00-04:00",
     "by": "Sam Okafor", "unit": "mm", "method": "500 mL through a needle, 20 mm/h", "device": "burette B2",
     "certificate": "2026-114", "as_found": [{"reference": "24.66", "reading": "24.38"}], "as_left": [],
     "result": {"error_percent": "-1.1"}, "tolerance": "2 %", "verdict": "pass", "note": ""}

`as_found` is the sensor before anything was adjusted, `as_left` after; a sensor that was left alone has no `as_left`.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import schema

#: fits the columns; the registry says which datastreams there are
_DATASTREAM = r"^[a-z0-9][a-z0-9-]{0,31}/[a-z0-9][a-z0-9_]*\.[a-z0-9_]{1,30}$"
_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Text = Annotated[str, msgspec.Meta(max_length=2000)]
_Datastream = Annotated[str, msgspec.Meta(pattern=_DATASTREAM)]
_Points = Annotated[list["Point"], msgspec.Meta(max_length=100)]
_PLACES = 40
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _check_number(value: Decimal) -> None:
    """What no instrument shows would stop every judgement that computes with it: "NaN", "1e999999"."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or value.adjusted() > 9 or exponent < -_PLACES:
        raise ValueError(
            f"{str(value)[:40]} is no reading; write at most 10 digits before the point and {_PLACES} after"
        )


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the reference says and what the sensor says of the same thing, in the record's unit."""

    reference: Decimal
    reading: Decimal

    def __post_init__(self) -> None:
        _check_number(self.reference)
        _check_number(self.reading)


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A calibration record; see the head of this module.

    Attributes:
        kind: rain_volume, level_two_point, current_two_point, or another word for how it was done.
        at: when, with offset from UTC.
        result: names and decimals that follow from the points, such as offset, slope, error_percent.
    """

    v: Literal[1]
    datastream: _Datastream
    kind: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    by: _Line
    unit: _Line
    method: _Line
    as_found: _Points
    as_left: _Points = []
    device: _Text = ""
    certificate: _Text = ""
    result: dict[str, Decimal] = {}
    tolerance: _Text = ""
    verdict: Literal["pass", "fail", ""] = ""
    note: _Text = ""

    def __post_init__(self) -> None:
        for value in self.result.values():
            _check_number(value)

    @property
    def done_us(self) -> int:
        """`at` as an instant in µs UTC."""
        return (self.at - _EPOCH) // timedelta(microseconds=1)

    @property
    def summary(self) -> str:
        """Who, how, and how far off the sensor was found, in a line."""
        points = self.as_found or self.as_left
        off = ", ".join(f"{point.reading} for {point.reference} {self.unit}" for point in points[:3])
        verdict = f", {self.verdict}" if self.verdict else ""
        return f"by {self.by}: {self.kind.replace('_', ' ')}, {off} as {'found' if self.as_found else 'left'}{verdict}"


class Recorded(msgspec.Struct, frozen=True):
    """A calibration in the ledger and when it came there."""

    id: int
    at_us: int
    calibration: Calibration


def parse_calibrations(data: bytes, source: str) -> list[Calibration]:
    """The record, or the list of records, in a JSON file.

    Raises:
        InputError: names the file, the key and what it must be.
    """
    try:
        body = msgspec.json.decode(data)
        records = body if isinstance(body, list) else [body]
        found = [msgspec.convert(record, Calibration) for record in records]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{source} holds no calibration record: {error}; docs/operator.md shows one") from None
    if not found:
        raise InputError(f"{source} holds no calibration record: its list is empty")
    for record in found:
        if not record.as_found and not record.as_left:
            raise InputError(f"{source}: a calibration needs at least one point, in as_found or as_left")
    return found


def add_calibration(conn: sa.Connection, record: Calibration, now_us: int) -> str | None:
    """Put a record into the ledger; returns its digest, or None where the ledger has the same already."""
    body = msgspec.to_builtins(record)
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    table = schema.calibrations
    if conn.execute(sa.select(table.c.id).where(table.c.digest == digest)).first() is not None:
        return None
    node, _, stream = record.datastream.partition("/")
    row = {"digest": digest, "node": node, "stream": stream, "kind": record.kind, "done_us": record.done_us}
    conn.execute(table.insert().values(**row, by=record.by, body=body, at_us=now_us))
    return digest


def last_calibration(conn: sa.Connection, datastream: str, at_us: int) -> Calibration | None:
    """The newest calibration of a datastream up to an instant."""
    node, _, stream = datastream.partition("/")
    c = schema.calibrations.c
    query = sa.select(c.body).where(c.node == node, c.stream == stream, c.done_us <= at_us)
    body = conn.execute(query.order_by(c.done_us.desc(), c.id.desc()).limit(1)).scalar()
    return None if body is None else msgspec.convert(body, Calibration)


def listed_calibrations(conn: sa.Connection, node: str | None = None) -> list[Recorded]:
    """Every calibration, of one node if asked so, oldest first."""
    c = schema.calibrations.c
    query = sa.select(c.id, c.at_us, c.body).order_by(c.done_us, c.id)
    if node is not None:
        query = query.where(c.node == node)
    return [Recorded(row.id, row.at_us, msgspec.convert(row.body, Calibration)) for row in conn.execute(query)]
