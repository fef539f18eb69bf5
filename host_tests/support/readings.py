"""Readings for a ledger, made by the thousand."""

from __future__ import annotations

from typing import Any

from headwall.ledger.append import NewReading, append_readings
from headwall.ledger.ledger import Ledger

#: 2024-06-01T12:00:00Z
START_US = 1_717_243_200_000_000
JID = "0123456789abcdef"


def tip(seq: int, **changes: Any) -> NewReading:
    """Tip number `seq` of a gauge, a second after the one before it."""
    fields: dict[str, Any] = {
        "node": "gauge-a", "jid": JID, "seq": seq, "stream": "rain.tips", "time_us": START_US + seq * 1_000_000,
        "boot": None, "uptime_ms": None, "value": 1.0, "total": seq, "null_reason": None, "quality": 1,
        "quarantine": None, "source": "node", "received_us": START_US + seq * 1_000_000 + 500_000,
    }  # fmt: skip
    return NewReading(**{**fields, **changes})


def append(ledger: Ledger, readings: list[NewReading]) -> None:
    """Commit readings and tell the ledger's followers."""
    with ledger.begin() as conn:
        append_readings(ledger, conn, readings)
    ledger.announce()
