"""A board on a battery: when it wakes, when it connects, how often it reads, and what of it outlives a sleep."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from headwall_sim.broker import Broker
from headwall_sim.timeline import Edge, Timeline
from headwall_sim.wiring import Wired
from scripted_gateway import ScriptedGateway
from sim_node import MINUTE_US, PIN, START_US, SimNode

pytestmark = pytest.mark.mosquitto
STAGE = {"kind": "a02yyuw", "tx": 17, "rx": 16, "period_s": 3600, "fast_s": 300}
GAUGE = {"kind": "tipping_bucket", "pin": PIN}
BATTERY: dict[str, Any] = {"mode": "battery", "uplink_s": 7200, "report_s": 86400, "fast_minutes": 30}


def stage(*points: tuple[float, int]) -> Wired:
    """The distance to the water at some minutes, in mm, linear between."""
    return Wired("a02yyuw", "A02yyuw", "uart", 1, [(START_US + int(at * MINUTE_US), mm) for at, mm in points])


def minutes(node: SimNode, stream: str) -> list[float]:
    """When a stream was read, in minutes after the start."""
    records = [each for each in node.board.journal().records if each.stream == stream and each.time_ms is not None]
    return [(each.time_ms or 0) / 60_000 - START_US / MINUTE_US for each in records]


def connections(gateway: ScriptedGateway) -> list[int]:
    return sorted({round(said["uptime_s"] / 60) for said in gateway.states if said["status"] == "online"})


def test_stage_is_read_faster_while_rain_falls_and_for_a_while_after(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    board = {"wired": [stage((0, 2000))]}
    with SimNode(tmp_path, broker, [130, 140], board, sensors=[GAUGE, STAGE], **BATTERY) as node:
        node.use_clock(gateway)
        node.run_to(300)
        read = minutes(node, "stage.distance")
    in_rain = [at for at in read if 130 <= at <= 172]
    assert in_rain[0] < 131, "the tip that woke the board has it read at once"
    assert 8 <= len(in_rain) <= 10
    rest = [at for at in read if at < 130 or at > 172]
    assert len(rest) <= 5


def test_stage_that_rises_is_read_faster_and_goes_back_when_it_stands(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    board = {"wired": [stage((0, 2000), (100, 2000), (160, 1700))]}
    settings = {**BATTERY, "rise_of": "stage.distance"}
    with SimNode(tmp_path, broker, [], board, sensors=[GAUGE, {**STAGE, "period_s": 1200}], **settings) as node:
        node.use_clock(gateway)
        node.run_to(300)
        read = minutes(node, "stage.distance")
    gaps = [(at, then - at) for at, then in pairwise(read)]
    assert all(gap > 15 for at, gap in gaps if at < 99 or at > 205)
    assert all(gap < 6 for at, gap in gaps if 121 < at < 175)


@pytest.mark.parametrize("sooner_s", [0, 600])
def test_fresh_rain_is_told_sooner_where_that_is_set(
    sooner_s: int, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [20, 21, 25], sensors=[GAUGE], rain_uplink_s=sooner_s, **BATTERY) as node:
        node.use_clock(gateway)
        node.run_to(110)
        assert connections(gateway) == ([0, 30] if sooner_s else [0])
        assert sum(value == 1 for value in gateway.held.values()) == (3 if sooner_s else 0)
        node.run_to(160)
        assert sum(value == 1 for value in gateway.held.values()) == 3


def test_contact_stuck_closed_is_told_at_once_and_makes_no_wake_loop(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    closed = Timeline([Edge(START_US + 20 * MINUTE_US, PIN, 0)], {PIN: 1})
    board = {"timeline": closed, "tips": [START_US + 20 * MINUTE_US]}
    with SimNode(tmp_path, broker, [], board, sensors=[GAUGE], **{**BATTERY, "report_s": 3600}) as node:
        node.use_clock(gateway)
        node.run_to(22)
        assert connections(gateway) == [0, 20]
        assert gateway.states[-1]["faults"] == ["contact_stuck"]
        boots = node.board.boots
        node.run_to(400)
        assert node.board.boots - boots <= 11, "it wakes to report and to connect, and else sleeps"
        assert connections(gateway) == [0, 20, 120, 240, 360], "a fault that stands is told once"
        tips = [each for each in node.board.journal().records if each.value == "1"]
        assert len(tips) == 1


def test_contact_that_chatters_for_ever_does_not_keep_the_board_awake(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    edges = [Edge(START_US + 20 * MINUTE_US + n * 20_000, PIN, n % 2) for n in range(100_000)]  # for 33 minutes
    board = {"timeline": Timeline(edges, {PIN: 1})}
    with SimNode(tmp_path, broker, [], board, sensors=[GAUGE], awake_max_s=20, **BATTERY) as node:
        node.use_clock(gateway)
        node.run_to(26)
        assert any("contact_chatter" in said["faults"] for said in gateway.states if said["status"] == "online")
        boots = node.board.boots
        node.run_to(50)
        assert node.board.boots - boots <= 4, "it looks at the contact every ten minutes"
        node.run_to(62)
        node.run_until(lambda: gateway.states[-1].get("faults") == [], 150)


def test_clock_that_was_set_lately_is_not_asked_for_after_each_sleep(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    settings = {**BATTERY, "uplink_s": 1800}
    with SimNode(tmp_path, broker, [], sensors=[GAUGE], **settings) as node:
        node.use_clock(gateway)
        node.run_to(800)
        assert len(connections(gateway)) >= 26
        assert node.sim.sntp.asked == 3, "every six hours"
        assert gateway.states[-1]["time_age_s"] > 1000


def test_due_times_outlive_a_sleep_and_a_reset_has_all_read_at_once(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    board = {"wired": [stage((0, 2000))]}
    with SimNode(tmp_path, broker, [30, 50.5], board, sensors=[GAUGE, {**STAGE, "fast_s": 0}], **BATTERY) as node:
        node.use_clock(gateway)
        node.run_to(70)
        assert [round(at) for at in minutes(node, "stage.distance")] in ([60], [0, 60])
        node.board.press_reset()
        node.run_to(72)
        assert round(minutes(node, "stage.distance")[-1]) == 70


def test_configuration_older_than_the_one_in_force_is_refused_with_the_reason(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [], version=7) as node:
        node.use_clock(gateway)

        def push(**change: Any) -> dict[str, Any]:
            states = len(gateway.states)
            gateway.publish("node1", "config", json.dumps({**json.loads(node.config), **change}), retain=True)
            now = (node.sim.clock.now_us() - START_US) / MINUTE_US
            node.run_until(lambda: any("reset" in each for each in gateway.states[states:]), now + 5)
            node.run_to(now + 6)
            return [each for each in gateway.states if each["status"] == "online"][-1]

        node.run_until(lambda: bool(gateway.states), 5)
        assert gateway.states[-1]["config_version"] == 7
        older = push(version=6, report_s=60)
        assert older["config_error"] == "version 6 is older than 7, which is in force"
        assert older["config_version"] == 7
        newer = push(version=8, report_s=60)
        assert newer["config_version"] == 8 and "config_error" not in newer
        assert "version 7 is older than 8" in push(version=7, report_s=70)["config_error"]


def test_a_dry_gauges_report_goes_out_with_the_uplink_of_the_same_wake(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [], mode="battery", uplink_s=1800, report_s=1800) as node:
        node.use_clock(gateway)
        node.run_to(245)
        assert node.board.taken() >= 8
        assert node.board.taken() == len(gateway.held)
