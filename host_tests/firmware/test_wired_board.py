"""A whole board with a device on every bus: I2C, ADC, 1-Wire, and the hardware's pulse counters over its pins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from drivers import libraries
from headwall_board.release import compiled
from headwall_sim.broker import Broker
from headwall_sim.timeline import Edge, Timeline
from headwall_sim.wiring import Fault, Wired
from scripted_gateway import ScriptedGateway
from sim_node import MINUTE_US, START_US, SimNode

pytestmark = pytest.mark.mosquitto

BANDS = [{"medium": "liquid", "from_mv": 300, "to_mv": 800}, {"medium": "sludge", "from_mv": 1000, "to_mv": 1600}]
I2C = {"scl": 22, "sda": 21}
MUX = {"pin": 34, "s0": 25, "s1": 26, "s2": 33, "s3": 14}
SENSORS: list[dict[str, Any]] = [
    {"kind": "tipping_counter", "pin": 4},
    {"kind": "pulse_meter", "pin": 27, "unit": 1, "most_hz": 50},
    {"kind": "current_loop", "low": "0", "high": "5", **I2C},
    {"kind": "bme280", **I2C},
    {"kind": "ds18b20", "pin": 5},
    {"kind": "adc_voltage", "pin": 35},
    {"kind": "ladder", "count": 16, "bands": BANDS, **MUX},
]
#: what each stream reads when all is well
VALUES = {
    "stage.level": "2.5",
    "air.temperature": "25.08",
    "air.pressure": "100653.25",
    "air.humidity": "20.78",
    "water.temperature": "10.125",
    "node.voltage": "3.7",
    "sludge.level": "0.325",
    "sludge.uncertainty": "0.025",
}
UNPLUGGED = Fault(START_US + 20 * MINUTE_US, START_US + 30 * MINUTE_US, "unplugged")


def wired() -> list[Wired]:
    def steady(value: float) -> list[tuple[int, float | None]]:
        return [(START_US, value)]

    gone = [UNPLUGGED]
    return [
        Wired("ads1115", "Ads1115", "i2c", 0, steady(1800000), address=72, faults=gone),
        Wired("bme280", "Bme280", "i2c", 0, [(START_US, None)], address=119, faults=gone),
        Wired("ds18b20", "Ds18b20", "onewire", 5, steady(0xA2), faults=gone),
        Wired("analog", "Analog", "pins", 0, steady(1850), args={"pin": 35, "uv": 1000}, faults=gone),
        Wired("ladder", "MuxLadder", "pins", 0, steady(300), args={"pin": 34, "select": [25, 26, 33, 14]}),
    ]


def edges(tips: Sequence[int], pulses: Sequence[int]) -> Timeline:
    found = [Edge(t, 4, 0) for t in tips] + [Edge(t + 100_000, 4, 1) for t in tips]
    found += [Edge(t, 27, 0) for t in pulses] + [Edge(t + 5_000, 27, 1) for t in pulses]
    return Timeline(found, {4: 1, 27: 1})


def test_every_bus_of_a_board_gives_its_sensors_values_and_nulls_while_unplugged(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    """40 tips and 1,500 pulses over the pins, counted by hardware; ten minutes without four of the devices."""
    tips = [START_US + 2 * MINUTE_US + 40_000_000 * n for n in range(40)]
    pulses = [START_US + 5 * MINUTE_US + 1_000_000 * n for n in range(1500)]
    board = {"wired": wired(), "timeline": edges(tips, pulses), "heap_kb": 256}
    sensors = [{**sensor, "period_s": 60} if sensor["kind"] != "tipping_counter" else sensor for sensor in SENSORS]
    with_driver = {
        f"lib/{path.relative_to(libraries()).with_suffix('.mpy')}": compiled(path, path.name)
        for path in libraries().rglob("*.py")
    }
    node = SimNode(tmp_path, broker, (), board, sensors=sensors)
    node.board.put_files(with_driver)
    with node:
        node.use_clock(gateway)
        node.run_to(40)
        records = node.board.journal().records
    told: dict[str, list[tuple[str | None, str | None]]] = {}
    for record in records:
        told.setdefault(record.stream or "", []).append((record.value, record.reason))
    assert [value for value, _ in told["rain.tips"]].count("1") == 40
    assert [record.total for record in records if record.stream == "rain.tips" and record.value == "1"] == [
        *range(1, 41)
    ]
    counted = [int(value) for value, _ in told["flow.pulses"] if value is not None]
    assert counted == sorted(counted) and counted[-1] == 1500
    rates = [float(value) for value, _ in told["flow.frequency"] if value is not None]
    assert min(rates) == 0 and 0.95 < max(rates) < 1.05
    for stream, value in VALUES.items():
        read = [str(found) for found, _ in told[stream] if found is not None]
        assert len(read) >= 25 and set(read) == {value}, stream
    reasons = {stream: {reason for _, reason in found} - {None} for stream, found in told.items()}
    assert reasons["stage.level"] == reasons["air.pressure"] == {"fault"}
    assert reasons["water.temperature"] == reasons["node.voltage"] == {"no_signal"}
    assert not reasons["sludge.level"] and not reasons["rain.tips"]
