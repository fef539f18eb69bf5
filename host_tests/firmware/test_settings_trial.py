"""A configuration that passes every check may leave a board unreachable: then the one before comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from headwall_sim.broker import Broker
from scripted_gateway import ScriptedGateway, name_of
from sim_node import SimNode

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]


def changed(config: bytes, **change: Any) -> bytes:
    return json.dumps({**json.loads(config), **change}).encode()


@pytest.mark.parametrize(
    ("wrong", "mode"), [({"broker_host": "127.0.0.99"}, "mains"), ({"ca_file": "other.der"}, "battery")]
)
def test_configuration_under_which_no_gateway_is_reached_is_taken_back(
    wrong: dict[str, Any], mode: str, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    when = [10 + n * 30.3 for n in range(20)]
    with SimNode(tmp_path, broker, when, mode=mode, uplink_s=900, report_s=3600, backoff_min_s=60) as node:
        node.use_clock(gateway)
        good = changed(node.config, report_s=1800, version=1)
        gateway.publish("node1", "config", good, retain=True)
        node.run_until(lambda: bool(gateway.states) and gateway.online()[-1]["config"] == name_of(good), 40)
        bad = changed(good, version=2, **wrong)
        gateway.publish("node1", "config", bad, retain=True)
        node.run_to(300)
        assert gateway.tips() < 5, "it is away"
        node.run_until(lambda: gateway.online()[-1].get("config_refused") == name_of(bad), 500)
        assert gateway.online()[-1]["config"] == name_of(good), "the last good one, not the first"
        assert gateway.online()[-1]["config_error"] == "no custody in 6 hours"
        boots = node.board.boots
        node.run_until(lambda: gateway.tips() == len(when), 700)
        assert node.board.taken() >= len(when) and gateway.twice == 0
        assert mode == "battery" or node.board.boots == boots, "what the broker retains is not tried again"


#: a program that the settings with led_pin 5 stop
FRAIL = b"""
import sys
import time
import machine
from headwall_node import app, node, overlay

main = node.Node.main

async def frail(self):
    if self.given["led_pin"] == 5:
        raise ValueError("no such pin")
    await main(self)

node.Node.main = frail
try:
    app.run()
except Exception as error:
    sys.print_exception(error)
    time.sleep(10)
    machine.reset()
"""


def test_configuration_that_stops_the_program_is_taken_back(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    node = SimNode(tmp_path, broker, [1, 20, 40], board={"heap_kb": 200})
    node.board.put_files({"main.py": FRAIL})
    with node:
        node.use_clock(gateway)
        node.run_until(lambda: bool(gateway.states), 5)
        bad = changed(node.config, led_pin=5)
        gateway.publish("node1", "config", bad, retain=True)
        node.run_until(lambda: gateway.online()[-1].get("config_refused") == name_of(bad), 15)
        assert gateway.online()[-1]["config_error"] == "no custody in 6 starts"
        node.run_until(lambda: gateway.tips() == 3, 60)


def test_configuration_that_had_custody_stays_through_resets_and_long_silence(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [1], backoff_min_s=60) as node:
        node.use_clock(gateway)
        good = changed(node.config, report_s=1800)
        gateway.publish("node1", "config", good, retain=True)
        node.run_until(lambda: bool(gateway.states) and gateway.online()[-1]["config"] == name_of(good), 10)
        node.proxy.set_mode("cut")
        for n in range(8):
            node.board.power_cut(off_us=1_000_000)
            node.run_to(12 + n)
        node.run_to(600)
        node.proxy.set_mode("open")
        seen = len(gateway.states)
        node.run_until(lambda: any(said["status"] == "online" for said in gateway.states[seen:]), 620)
        assert gateway.online()[-1]["config"] == name_of(good) and "config_refused" not in gateway.online()[-1]
