"""A boot.py that fills a simulated board's journal with the firmware's own code before the node's program starts.

It stands for a long time without network, or for readings that no sensor of today gives. The board runs it once: it
takes itself off the flash, writes, and resets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

_HEAD = """
import os

os.remove("/boot.py")
import esp32
import machine
from headwall_node.journal import Journal

partition = esp32.Partition.find(esp32.Partition.TYPE_DATA, label="journal")[0]
journal = Journal(partition, esp32.NVS("headwall"), machine.unique_id())
"""
_TAIL = """
print("seeded up to", journal.next - 1)
machine.reset()
"""


def reports(count: int, *, first_us: int, every_ms: int, stream: str = "rain.tips") -> bytes:
    """boot.py that writes `count` reports of no rain, the first at `first_us`."""
    return _program(
        f"for n in range({count}):\n"
        f'    journal.append("{stream}", 0, {first_us // 1000} + n * {every_ms}, total=journal.total)'
    )


def values(numbers: Sequence[str], *, first_us: int, every_ms: int, stream: str = "rain.tips") -> bytes:
    """boot.py that writes readings with these decimal numbers, whatever the gateway may think of them."""
    return _program(
        f"for n, value in enumerate({json.dumps(list(numbers))}):\n"
        f'    journal.append("{stream}", value, {first_us // 1000} + n * {every_ms}, total=journal.total)'
    )


def _program(body: str) -> bytes:
    return f"{_HEAD}{body}{_TAIL}".encode()
