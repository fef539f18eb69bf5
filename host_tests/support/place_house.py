"""An outfall with every kind of sensor, and a station beside it, for the tests of derived values."""

from __future__ import annotations

from pathlib import Path

from headwall.hydrology.qartod import PASS
from headwall.ledger import schema
from headwall.ledger.calibrations import add_calibration, parse_calibrations
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry

from support.readings import Board
from support.registry_text import SINCE, node, sensors, site

_HEAD = """
[[municipalities]]
id = "elmsford"
name = "Village of Elmsford"
profile = "CODE"

[[people]]
id = "sam"
name = "Sam Okafor"
email = "sam@gauges.example"
"""
#: how the stage is told, and a rating
LEVEL = '[[sites.levels]]\nof = "stage"\nmethod = "level"\nfrom = 2025-01-01\n'
NOTCH = '[[sites.ratings]]\nmethod = "v_notch"\nangle_deg = 90\nfrom = 2025-01-01\n'
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


def place(folder: Path, streams: str, more: str, code: str = "elmsford") -> Registry:
    """A registry of one outfall under a code: the named datastreams in their roles, and more TOML below the site."""
    roles = sensors({f"node-7/{name}": STREAMS[name] for name in streams.split()})
    head = _HEAD.replace("CODE", code)
    text = head + node("node-7", "240ac400001b", *STREAMS, installer="sam") + site("outfall-7", "outfall", roles)
    path = folder / "registry.toml"
    path.write_text(text.replace(SINCE, "2025-01-01") + more, "utf-8")
    return load_registry(path)


class Readings(Board):
    """A ledger that the test fills."""

    def __init__(self, url: str = "sqlite://") -> None:
        super().__init__(Ledger.open(url), "node-7", null_reason="no_echo", jid="00000000000000aa", quality=PASS)

    def calibrate(self, record: str, now_us: int = 0) -> None:
        (parsed,) = parse_calibrations(record.encode(), "test")
        with self.ledger.begin() as conn:
            add_calibration(conn, parsed, now_us)

    def maintenance(self, start_us: int, end_us: int) -> None:
        window = {"node": "node-7", "start_us": start_us, "end_us": end_us, "by": "Sam", "at_us": 0}
        with self.ledger.begin() as conn:
            conn.execute(schema.maintenance.insert().values(**window))
