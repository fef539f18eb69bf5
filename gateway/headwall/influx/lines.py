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

from headwall.influx.feed import Row

#: readings of one datastream within one microsecond are told apart by number modulo this
_NS_PER_US = 1000
_TAG_ESCAPES = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ "})
_TEXT_ESCAPES = str.maketrans({'"': r"\"", "\\": r"\\"})


def encode(rows: Iterable[Row]) -> list[str]:
    """One line a reading, in the same order. Every row must have a time."""
    lines = []
    for _pos, node, jid, seq, stream, time_us, value, total, null_reason, quarantine in rows:
        if time_us is None:
            raise ValueError(f"{node}/{stream} number {seq} has no time yet; forward it once it is resolved")
        fields = (
            f"value={value!r}" if quarantine is None and value is not None else _odd(value, null_reason, quarantine)
        )
        if total is not None:
            fields = f"{fields},total={total}"
        lines.append(f'{_series(node, stream)} {fields},jid="{jid}",seq={seq} {point_time_ns(time_us, seq)}')
    return lines


def point_time_ns(time_us: int, seq: int) -> int:
    """The time under which InfluxDB keeps a reading, nanoseconds since the Unix epoch."""
    return time_us * _NS_PER_US + seq % _NS_PER_US


def series_of(stream: str) -> tuple[str, str]:
    """Measurement and sensor of a stream: "rain.tips" → ("tips", "rain")."""
    sensor, _, quantity = stream.partition(".")
    return (quantity, sensor) if quantity else (sensor, sensor)


@lru_cache(maxsize=65536)
def _series(node: str, stream: str) -> str:
    measurement, sensor = (part.translate(_TAG_ESCAPES) for part in series_of(stream))
    return f"{measurement},node={node.translate(_TAG_ESCAPES)},sensor={sensor}"


def _odd(value: float | None, null_reason: str | None, quarantine: str | None) -> str:
    """The fields of a null or quarantined reading."""
    fields = [f'reason="{_text(null_reason or "unknown")}"' if value is None else f"quarantined_value={value!r}"]
    if quarantine is not None:
        fields.append(f'quarantine="{_text(quarantine)}"')
    return ",".join(fields)


def _text(text: str) -> str:
    return text.translate(_TEXT_ESCAPES)
