"""The node's memory: its code lies in the heap, as on a board, and it runs for a month without losing any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from headwall_board.power_day import driver_files
from headwall_sim.broker import Broker
from headwall_sim.every_kind import DEVICES, ON_BATTERY, ON_MAINS
from headwall_sim.seeded_journal import reports
from scripted_gateway import ScriptedGateway
from sim_node import MINUTE_US, START_US, SimNode
from support.long import LONG

pytestmark = pytest.mark.mosquitto
DAY = 1440
FULL = 9000  # records: more than the journal holds
GAUGE = [{"kind": "tipping_bucket", "pin": 4}]
STAGE = [*GAUGE, {"kind": "a02yyuw", "tx": 17, "rx": 16, "uart": 0}]

#: tells the free memory and its largest piece every six hours
WATCHED = b"""
import asyncio
import gc
import micropython
from headwall_node import app

async def watch():
    while True:
        await asyncio.sleep(21600)
        gc.collect()
        micropython.mem_info()

def run(main, run=asyncio.run):
    asyncio.create_task(watch())
    return run(main)

asyncio.run = run
app.run()
"""


def node_of(
    folder: Path,
    broker: Broker,
    sensors: Sequence[dict[str, Any]],
    heap_kb: int,
    tips: Sequence[float],
    **settings: Any,
) -> SimNode:
    """A board with its program on its own flash: run from there, the code is in the heap."""
    board = {"heap_kb": heap_kb, "program": "flash", "vfs_blocks": 512, "wired": DEVICES}
    node = SimNode(folder, broker, tips, board, sensors=list(sensors), **settings)
    node.board.put_files(driver_files(sensors))
    return node


@pytest.mark.parametrize(
    ("mode", "sensors", "heap_kb"),
    [
        ("mains", GAUGE, 128),
        ("battery", STAGE, 136),
        ("mains", STAGE, 132),
        ("battery", ON_BATTERY, 148),
        ("mains", ON_MAINS, 164),
    ],
    ids=["gauge", "stage_on_battery", "stage", "every_kind_on_battery", "every_kind"],
)
def test_node_with_tls_and_a_full_journal_reads_all_its_sensors_in_this_heap(
    mode: str, sensors: Sequence[dict[str, Any]], heap_kb: int, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    node = node_of(tmp_path, broker, sensors, heap_kb, [2.5, 11], mode=mode, uplink_s=300)
    node.board.put_files({"boot.py": reports(FULL, first_us=START_US - DAY * MINUTE_US, every_ms=9000)})
    with node:
        node.use_clock(gateway)
        node.run_to(40)
        said = node.console()
        records = node.board.journal().records
    assert "memory" not in said and "Error" not in said
    assert node.board.journal().floor > 1
    fresh = [record for record in records if record.time_ms and record.time_ms >= START_US // 1000]
    assert {record.stream.split(".")[0] for record in fresh if record.value is not None} == {
        sensor.get("name", name) for sensor, name in zip(sensors, names(sensors), strict=True)
    }
    assert sum(record.value == "1" for record in fresh if record.stream == "rain.tips") == 2
    assert len(gateway.held) >= len(fresh) - 2 * len(sensors)


def names(sensors: Sequence[dict[str, Any]]) -> list[str]:
    """Names of the sensors that give none of their own."""
    default = {
        "tipping_bucket": "rain", "tipping_counter": "rain", "bme280": "air", "a02yyuw": "stage", "ping1d": "sludge",
        "modbus": "meter", "jsn_sr04t": "stage", "current_loop": "stage", "adc_voltage": "node", "ladder": "sludge",
        "ds18b20": "water", "pulse_meter": "flow",
    }  # fmt: skip
    return [default[sensor["kind"]] for sensor in sensors]


@pytest.mark.slow
@pytest.mark.skipif(not LONG, reason="takes six minutes; run it with HEADWALL_LONG=1")
@pytest.mark.timeout(1200)
def test_memory_is_as_whole_after_30_days_as_after_3(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    """Sampled sensors alone: contacts and counters are looked at so often that it would take an hour here."""
    every_6_h = [{**sensor, "period_s": 21600} for sensor in ON_BATTERY[1:]]
    quick = {"keepalive_s": 1200, "ntp_every_s": 86400, "watchdog_s": 300}
    node = node_of(tmp_path, broker, every_6_h, 164, [], mode="mains", **quick)
    node.board.put_files({"main.py": WATCHED})
    with node:
        node.use_clock(gateway)
        for day in range(1, 30, 2):  # it connects anew
            start = START_US + (day * DAY + 100) * MINUTE_US
            node.sim.outage(node.board, node.proxy, from_us=start, to_us=start + 30 * MINUTE_US)
        node.run_to(30 * DAY)
        said = node.console()
        boots = node.board.boots
    free = [int(found) for found in re.findall(r"used: \d+, free: (\d+)", said)]
    largest = [int(found) for found in re.findall(r"max free sz: (\d+)", said)]
    assert boots == 2 and "memory" not in said
    assert len(free) == len(largest) >= 118
    early, late = slice(8, 40), slice(80, None)  # from day 3 on, and from day 21 on
    assert min(free[late]) >= min(free[early]) - 512
    assert min(largest[late]) >= min(largest[early]) * 3 // 4
