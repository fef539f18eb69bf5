"""Readings for a ledger: with values of their own, or made by the thousand."""

from __future__ import annotations

from typing import Any

from headwall.ledger.append import NewReading, append_readings
from headwall.ledger.ledger import Ledger

#: 2024-06-01T12:00:00Z
START_US = 1_717_243_200_000_000
JID = "0123456789abcdef"


def reading(seq: int, time_us: int | None, value: float | None, /, **fields: Any) -> NewReading:
    """One reading, received as it was taken unless told otherwise; `fields` name at least its node and stream."""
    given: dict[str, Any] = {
        "jid": JID, "seq": seq, "time_us": time_us, "boot": None, "uptime_ms": None, "value": value, "total": None,
        "null_reason": "fault" if value is None else None, "quality": 1, "quarantine": None, "source": "node",
        "received_us": time_us,
    }  # fmt: skip
    return NewReading(**{**given, **fields})


def tip(seq: int, **changes: Any) -> NewReading:
    """Tip number `seq` of a gauge, a second after the one before it."""
    time_us = START_US + seq * 1_000_000
    gauge = {"node": "gauge-a", "stream": "rain.tips", "total": seq, "received_us": time_us + 500_000}
    return reading(seq, time_us, 1.0, **{**gauge, **changes})


def append(ledger: Ledger, readings: list[NewReading]) -> None:
    """Commit readings and tell the ledger's followers."""
    with ledger.begin() as conn:
        append_readings(ledger, conn, readings)
    ledger.announce()


class Board:
    """Puts readings of one board into a ledger, numbered as they come."""

    def __init__(self, ledger: Ledger, node: str, *, null_reason: str = "fault", **usual: Any) -> None:
        self.ledger = ledger
        self._null_reason = null_reason
        self._usual = {"node": node, **usual}
        self._seq = 0

    def reading(self, stream: str, time_us: int | None, value: float | None, /, **fields: Any) -> NewReading:
        self._seq += 1
        why = self._null_reason if value is None else None
        return reading(self._seq, time_us, value, **{"stream": stream, "null_reason": why, **self._usual, **fields})

    def put(self, stream: str, /, *readings: tuple[int, float | None], **fields: Any) -> None:
        """Readings (time in µs, value in the stream's unit)."""
        append(self.ledger, [self.reading(stream, time_us, value, **fields) for time_us, value in readings])
