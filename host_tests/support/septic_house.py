"""A registry with a septic system, a sediment basin and a rain gauge, and readings put in by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headwall.ledger.append import NewReading, append_readings
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry

from support.rules_house import make_registry

TANK = "septic-12"
SITE = "brook-lane-12"
#: depths below the outlet invert in inches: floor 48, baffle 16
_MORE = """
[[municipalities]]
id = "hillburn"
name = "Village of Hillburn"
profile = "hillburn"

[[nodes]]
id = "septic-12"
mac = "240ac400001c"
place = "pole beside the drive"
legal_basis = "municipal_land"
legal_reference = "map 9"
installer = "installer"
from = 2020-01-01
datastreams = [
  { name = "sludge.level", quantity = "level", from = 2020-01-01 },
  { name = "scum.level", quantity = "level", from = 2020-01-01 },
  { name = "liquid.level", quantity = "level", from = 2020-01-01 },
]

[[nodes]]
id = "basin-3"
mac = "240ac400001d"
place = "dam"
legal_basis = "municipal_land"
legal_reference = "map 4"
installer = "installer"
from = 2020-01-01
datastreams = [
  { name = "bed.distance", quantity = "distance", from = 2020-01-01 },
  { name = "pool.level", quantity = "level", from = 2020-01-01 },
  { name = "gate.level", quantity = "level", from = 2020-01-01 },
]

[[sites]]
id = "brook-lane-12"
kind = "septic"
name = "12 Brook Lane"
place = "12 Brook Lane"
municipality = "hillburn"
status = [{ status = "active", from = 2020-01-01, by = "Olive Officer" }]
sensors = [
  { datastream = "septic-12/sludge.level", of = "sludge", from = 2020-01-01 },
  { datastream = "septic-12/scum.level", of = "scum", from = 2020-01-01 },
  { datastream = "septic-12/liquid.level", of = "liquid", from = 2020-01-01 },
]
levels = [
  { of = "sludge", method = "level", from = 2020-01-01 },
  { of = "scum", method = "level", from = 2020-01-01 },
  { of = "liquid", method = "level", from = 2020-01-01 },
]
tanks = [{ floor = "48 in", baffle = "16 in", tolerance = "0.5 in", dwell_min = 60, from = 2020-01-01 }]

[[sites]]
id = "basin-3"
kind = "basin"
name = "Basin 3"
place = "behind the yard"
municipality = "hillburn"
status = [{ status = "active", from = 2020-01-01, by = "Olive Officer" }]
sensors = [{ datastream = "basin-3/bed.distance", of = "sediment", from = 2020-01-01 }]
levels = [{ of = "sediment", method = "range_down", zero = "3 m", from = 2020-01-01 }]

[[sites.basins]]
stage_volume = [["0 m", "0 m3"], ["1 m", "100 m3"], ["2 m", "300 m3"]]
design_volume = "200 m3"
design_depth = "2 m"
from = 2020-01-01
"""
IN = 0.0254


def septic_registry(folder: Path, *changes: tuple[str, str]) -> Registry:
    """Written to `folder / "registry.toml"`, with texts in it replaced."""
    make_registry(folder)
    path = folder / "registry.toml"
    text = path.read_text("utf-8") + _MORE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return load_registry(path)


class Probe:
    """Puts readings of one board into a ledger."""

    def __init__(self, ledger: Ledger, node: str = TANK) -> None:
        self._ledger = ledger
        self._node = node
        self._seq = 0

    def put(self, stream: str, readings: Iterable[tuple[int, float | None]], **fields: Any) -> None:
        """Readings (time in µs, value in the stream's unit)."""
        rows = []
        for time_us, value in readings:
            self._seq += 1
            given: dict[str, Any] = {
                "node": self._node,
                "jid": "00000000000000bb",
                "seq": self._seq,
                "stream": stream,
                "time_us": time_us,
                "boot": None,
                "uptime_ms": None,
                "value": value,
                "total": None,
                "null_reason": "no_layer" if value is None else None,
                "quality": 2,
                "quarantine": None,
                "source": "node",
                "received_us": time_us,
            }
            rows.append(NewReading(**{**given, **fields}))
        with self._ledger.begin() as conn:
            append_readings(self._ledger, conn, rows)
