"""The node as a whole, the very files of firmware/ in 128 KB of heap, against a real mosquitto with TLS."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from headwall_board.certs import issue_server, make_ca
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Broker, open_broker
from scripted_gateway import ScriptedGateway, name_of
from sim_node import ACCOUNTS, SimNode

pytestmark = pytest.mark.mosquitto
NOW = datetime.now(UTC)
FIRST = 2  # starts of a new board: it starts anew once its settings are checked


def test_every_tip_of_a_wet_day_arrives_once(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    when = [600 + n * 1.7 for n in range(120)]
    with SimNode(tmp_path, broker, when) as node:
        node.use_clock(gateway)
        node.run_to(1440)
        assert gateway.tips() == 120
        assert gateway.twice == 0
        assert node.board.taken() == len(gateway.held)
        assert node.board.boots == FIRST
        assert "Error" not in node.console()


def test_rain_during_hours_without_network_arrives_afterwards(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    when = [60 + n * 2.6 for n in range(75)]
    with SimNode(tmp_path, broker, when) as node:
        node.use_clock(gateway)
        begin = node.sim.clock.now_us()
        node.sim.outage(node.board, node.proxy, from_us=begin + 90 * 60_000_000, to_us=begin + 300 * 60_000_000)
        node.run_to(330)
        assert gateway.tips() == 75
        assert gateway.twice == 0
        assert node.board.boots == FIRST
        assert "link_down: no Wi-Fi: site:" in node.console()


def test_tips_that_wake_a_sleeping_board_count(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    when = [30 + n * 11.3 for n in range(20)]
    with SimNode(tmp_path, broker, when, mode="battery", uplink_s=1800, report_s=3600) as node:
        node.use_clock(gateway)
        node.run_to(300)
        assert gateway.tips() == 20
        assert gateway.twice == 0
        assert node.board.boots > 20
        assert gateway.online()[-1]["mode"] == "battery" and gateway.online()[-1]["reset"] == "deep_sleep"
        assert {said["status"] for said in gateway.states} == {"online"}, "it says good-bye before it sleeps"


def test_battery_board_without_gateway_sleeps_and_tries_again(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [5, 6], mode="battery", uplink_s=1800, report_s=3600) as node:
        node.use_clock(gateway)
        node.proxy.set_mode("cut")
        node.run_to(20)
        assert node.board.state == "deep_sleep"
        node.proxy.set_mode("open")
        node.run_to(60)
        assert gateway.tips() == 2


@pytest.mark.parametrize("fault", ["wrong_ca", "wrong_name", "expired", "not_yet_valid"])
def test_broker_that_cannot_prove_itself_gets_nothing_until_it_is_mended(
    fault: str, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    """Not yet valid is also what a node without a clock sees, whose time of day begins long ago."""
    ca = make_ca(tmp_path / "other", "ca", NOT_BEFORE, NOT_AFTER) if fault == "wrong_ca" else broker.ca
    names = ["elsewhere.example"] if fault == "wrong_name" else ["localhost", "127.0.0.1"]
    begin = NOW + timedelta(days=9) if fault == "not_yet_valid" else NOT_BEFORE
    end = NOW - timedelta(days=9) if fault == "expired" else NOT_AFTER
    server = issue_server(tmp_path / "bad", ca, names, begin, end)
    unsure: dict[str, Any] = {"ntp_host": ""} if fault == "not_yet_valid" else {}
    with (
        open_broker(tmp_path / "imposter", ACCOUNTS, "mosquitto", ca=ca, server=server) as imposter,
        ScriptedGateway(imposter) if fault == "wrong_ca" else _nothing() as listener,
        SimNode(tmp_path, broker, [n * 0.5 + 1 for n in range(20)], **unsure) as node,
    ):
        node.use_clock(gateway)
        node.proxy.target = ("127.0.0.1", imposter.port_311)
        node.proxy.drop()
        node.run_to(15)
        assert f"warn uplink: {fault}: " in node.console()
        assert "pw1" not in node.console()
        assert node.board.taken() >= 20, "the gauge is read all the same"
        assert not gateway.states and not (listener and listener.states)
        node.proxy.target = ("127.0.0.1", broker.port_311)
        node.run_until(lambda: gateway.tips() == 20, 30)
        assert "uplink: well again" in node.console()
        if fault == "not_yet_valid":
            node.run_until(lambda: gateway.online()[-1]["synced"], 31)


class _nothing:  # noqa: N801 - a context manager, as contextlib's are written
    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


def test_mute_broker_delays_but_loses_nothing(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    with SimNode(tmp_path, broker, [2, 3, 4], backoff_min_s=60) as node:
        node.use_clock(gateway)
        node.proxy.set_mode("black_hole")
        node.run_to(5)
        assert node.board.taken() >= 3
        assert "warn uplink: timeout: " in node.console()
        node.proxy.set_mode("open")
        node.run_until(lambda: gateway.tips() == 3, 30)
        assert node.board.boots == FIRST


def test_power_cuts_lose_no_tip_that_was_in_the_journal(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [n + 1 for n in range(30)]) as node:
        node.use_clock(gateway)
        for minute in (5.5, 12.5, 21.5):
            node.run_to(minute)
            node.board.power_cut(off_us=1_000_000)
        node.run_to(40)
        assert gateway.tips() == 30, "none of the cuts fell within 250 ms of a tip"
        assert gateway.twice == 0


def test_good_configuration_is_applied_and_a_bad_one_refused_with_its_reason(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker) as node:
        node.use_clock(gateway)
        node.run_until(lambda: bool(gateway.states), 5)
        assert gateway.online()[-1]["config"] == name_of(node.config)
        good = json.dumps({**json.loads(node.config), "report_s": 120}).encode()
        gateway.publish("node1", "config", good, retain=True)
        node.run_until(lambda: gateway.online()[-1]["config"] == name_of(good), 10)
        bad = json.dumps({**json.loads(good), "report_s": "soon"}).encode()
        gateway.publish("node1", "config", bad, retain=True)
        node.run_until(lambda: "config_error" in gateway.online()[-1], 15)
        assert "report_s" in gateway.online()[-1]["config_error"]
        assert gateway.online()[-1]["config"] == name_of(good), "the last good one stays in force"
        boots = node.board.boots
        node.run_to(30)
        assert node.board.boots == boots, "it does not start anew for what it has refused"
        gateway.publish("node1", "config", good, retain=True)
        node.run_until(lambda: "config_error" not in gateway.online()[-1], 32)


def test_board_whose_program_fails_starts_anew(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    with SimNode(tmp_path, broker, [1], board={"journal_blocks": 1}) as node:  # too small for a journal
        node.use_clock(gateway)
        node.run_to(1)
        assert "needs at least 2 blocks" in node.console()
        assert node.board.boots >= 4


def test_board_without_settings_says_so_and_tries_again(broker: Broker, tmp_path: Path) -> None:
    node = SimNode(tmp_path, broker)
    node.board.put_files({"config.json": b"{}"})
    with node:
        node.run_to(1)
        assert "error settings: " in node.console() and "node is missing" in node.console()
        assert node.board.boots >= 3


#: on its first run with checked settings the node finds no memory for any connection, as when its heap is in pieces
STARVED = b"""
import os
from headwall_node import app, mqtt

async def connect(*args):
    raise MemoryError("memory allocation failed, allocating 520 bytes")

if "config.run" in os.listdir("/") and "fed" not in os.listdir("/"):
    open("/fed", "w").close()
    mqtt.Client.connect = connect
app.run()
"""


def test_node_that_finds_no_memory_to_connect_starts_anew(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    node = SimNode(tmp_path, broker, [3], board={"heap_kb": 200})
    node.board.put_files({"main.py": STARVED})
    with node:
        node.use_clock(gateway)
        node.run_until(lambda: gateway.tips() == 1, 60)
        assert node.board.boots == FIRST + 1
        assert "starts anew: no memory to connect" in node.console()
