"""An outfall with every kind of sensor, and a station beside it, for the tests of derived values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwall.hydrology.qartod import PASS
from headwall.ledger import schema
from headwall.ledger.append import NewReading, append_readings
from headwall.ledger.calibrations import add_calibration, parse_calibrations
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry

_HEAD = """
[[municipalities]]
id = "elmsford"
name = "Village of Elmsford"
profile = "elmsford"

[[people]]
id = "sam"
name = "Sam Okafor"
email = "sam@gauges.example"

[[nodes]]
id = "node-7"
mac = "240ac400001b"
place = "outfall 7"
legal_basis = "municipal_land"
legal_reference = "map 12"
installer = "sam"
from = 2025-01-01
"""
_STREAM = """
[[nodes.datastreams]]
name = "{name}"
quantity = "{quantity}"
from = 2025-01-01
"""
#: datastream → role that it can have
STREAMS = {
    "stage.distance": "stage",
    "stage.level": "stage",
    "stage.pressure": "stage",
    "tail.level": "second_stage",
    "water.velocity": "velocity",
    "water.temperature": "water_temperature",
    "air.temperature": "air_temperature",
    "air.pressure": "air_pressure",
    "meter.pulses": "meter",
    "meter.flow": "flow",
    "down.turbidity": "turbidity",
    "up.turbidity": "upstream_turbidity",
}
_SITE = """
[[sites]]
id = "outfall-7"
kind = "outfall"
name = "Outfall 7"
place = "below the bridge"
municipality = "elmsford"
status = [{{ status = "active", from = 2025-01-01, by = "Ruth" }}]
sensors = [{sensors}]
"""


def place(folder: Path, streams: str, more: str) -> Registry:
    """A registry of one outfall with the named datastreams in their roles, and more TOML below the site."""
    text = _HEAD + "".join(_STREAM.format(name=name, quantity=name.partition(".")[2]) for name in STREAMS)
    sensors = ", ".join(
        f'{{ datastream = "node-7/{name}", of = "{STREAMS[name]}", from = 2025-01-01 }}' for name in streams.split()
    )
    path = folder / "registry.toml"
    path.write_text(text + _SITE.format(sensors=sensors) + more, "utf-8")
    return load_registry(path)


class Readings:
    """A ledger that the test fills."""

    def __init__(self, url: str = "sqlite://") -> None:
        self.ledger = Ledger.open(url)
        self._seq = 0

    def put(self, stream: str, *readings: tuple[int, float | None], **fields: Any) -> None:
        rows = []
        for time_us, value in readings:
            self._seq += 1
            given: dict[str, Any] = {
                "node": "node-7",
                "jid": "00000000000000aa",
                "seq": self._seq,
                "stream": stream,
                "time_us": time_us,
                "boot": None,
                "uptime_ms": None,
                "value": value,
                "total": None,
                "null_reason": "no_echo" if value is None else None,
                "quality": PASS,
                "quarantine": None,
                "source": "node",
                "received_us": time_us,
            }
            rows.append(NewReading(**{**given, **fields}))
        with self.ledger.begin() as conn:
            append_readings(self.ledger, conn, rows)

    def calibrate(self, record: str, now_us: int = 0) -> None:
        (parsed,) = parse_calibrations(record.encode(), "test")
        with self.ledger.begin() as conn:
            add_calibration(conn, parsed, now_us)

    def maintenance(self, start_us: int, end_us: int) -> None:
        window = {"node": "node-7", "start_us": start_us, "end_us": end_us, "by": "Sam", "at_us": 0}
        with self.ledger.begin() as conn:
            conn.execute(schema.maintenance.insert().values(**window))
