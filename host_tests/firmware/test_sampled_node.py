"""A whole node that samples: wired devices, the journal, the gateway, mains and battery."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall_sim.broker import Broker
from headwall_sim.wiring import Fault, Wired
from scripted_gateway import ScriptedGateway
from sim_node import MINUTE_US, START_US, SimNode

pytestmark = pytest.mark.mosquitto
SENSORS = [
    {"kind": "tipping_bucket", "pin": 4},
    {"kind": "a02yyuw", "tx": 17, "rx": 16, "period_s": 300},
]


@pytest.mark.parametrize("mode", ["mains", "battery"])
def test_a_rising_stage_is_told_every_five_minutes_and_its_gap_as_null(
    mode: str, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    unplugged = Fault(START_US + 60 * MINUTE_US, START_US + 90 * MINUTE_US, "unplugged")
    stage = Wired(
        "a02yyuw", "A02yyuw", "uart", 1, [(START_US, 2000), (START_US + 120 * MINUTE_US, 1000)], faults=[unplugged]
    )
    with SimNode(tmp_path, broker, [30.5], {"wired": [stage]}, mode=mode, sensors=SENSORS) as node:
        node.use_clock(gateway)
        node.run_to(123)
        node.sim.clock.run_until(node.sim.clock.now_us() + 1)
        records = [record for record in node.board.journal().records if record.stream == "stage.distance"]
    assert 23 <= len(records) <= 26
    assert {record.reason for record in records} == {None, "no_signal"}
    values = [float(record.value) for record in records if record.value is not None]
    assert values == sorted(values, reverse=True) and len(values) >= 17
    assert 1.99 <= values[0] <= 2.0 and 1.0 <= values[-1] <= 1.05
