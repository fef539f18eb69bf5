"""Readings as InfluxDB line protocol.

    tips,node=gauge-a,sensor=rain value=1,total=123,jid="0123456789abcdef",seq=45 1717243200000000045

The measurement is the quantity, so that a measurement has one unit; node and sensor are the only tags, so that a
datastream is one series. Every number is a float field (InfluxDB refuses to mix types in a field). A null has its
`reason` and no value. A quarantined reading has `quarantine` and `quarantined_value` in place of value, so that no
chart takes it for a good one. Time is that of the reading plus a few nanoseconds from its number, so that two
readings of one instant both stand, and a reading sent again overwrites itself.
Syntax: https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from headwall.ledger.reads import Reading

#: readings of one datastream within one microsecond are told apart by number modulo this
_NS_PER_US = 1000
_TAG_ESCAPES = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ "})
_TEXT_ESCAPES = str.maketrans({'"': r"\"", "\\": r"\\"})


def encode(readings: Iterable[Reading]) -> list[str]:
    """One line a reading, in the same order. Every reading must have a time."""
    lines = []
    for r in readings:
        total = "" if r.total is None else f",total={r.total}"
        lines.append(f'{_series(r.node, r.stream)} {_value(r)}{total},jid="{r.jid}",seq={r.seq} {point_time_ns(r)}')
    return lines


def point_time_ns(reading: Reading) -> int:
    """The time under which InfluxDB keeps a reading, nanoseconds since the Unix epoch.

    Raises:
        ValueError: the reading has no time (yet).
    """
    if reading.time_us is None:
        raise ValueError(f"{reading.datastream} number {reading.seq} has no time yet; forward it once it is resolved")
    return reading.time_us * _NS_PER_US + reading.seq % _NS_PER_US


def series_of(stream: str) -> tuple[str, str]:
    """Measurement and sensor of a stream: "rain.tips" → ("tips", "rain")."""
    sensor, _, quantity = stream.partition(".")
    return (quantity, sensor) if quantity else (sensor, sensor)


@lru_cache(maxsize=65536)
def _series(node: str, stream: str) -> str:
    measurement, sensor = (part.translate(_TAG_ESCAPES) for part in series_of(stream))
    return f"{measurement},node={node.translate(_TAG_ESCAPES)},sensor={sensor}"


def _value(reading: Reading) -> str:
    if reading.value is None:
        reason = f'reason="{_text(reading.null_reason or "unknown")}"'
        return reason if reading.quarantine is None else f'{reason},quarantine="{_text(reading.quarantine)}"'
    if reading.quarantine is None:
        return f"value={reading.value!r}"
    return f'quarantined_value={reading.value!r},quarantine="{_text(reading.quarantine)}"'


def _text(text: str) -> str:
    return text.translate(_TEXT_ESCAPES)
