"""`headwall board power`: the arithmetic by hand, the data behind it, and a simulated day with the real program."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from headwall.clock import to_us
from headwall.downlink.board_rules import board_verdict
from headwall.errors import InputError
from headwall_board.power import DAY_S, Day, Parts, budget, load_parts
from headwall_board.power_day import driver_files
from headwall_sim.fitting import fitted
from headwall_sim.supervisor import Supervisor
from support.bench import FIRMWARE, HEADWALL

#: figures that are easy to reckon with
ROUND = """
[chip]
deep_sleep_ma = 0.01
awake_ma = 50
receive_ma = 100
transmit_ma = 200
[radio]
transmit_share = 0.5
join_s = 3
tls_s = 2
[start]
boot_s = 1
[board]
sleep_ma = 0.09
awake_ma = 10
[battery]
usable_share = 0.5
self_discharge_percent_month = 3.04375
[sensors.a02yyuw]
active_ma = 8
standby_ma = 4
read_s = 3
source = "a test"
"""
DAY = Day(
    wakes=100,
    awake_s=260,
    online_s=40,
    connections=60,
    readings={"stage": 90, "rain": 3},
    records=200,
    programs=210,
    erases=2,
    journal_sectors=64,
)
RAIN = {"kind": "tipping_bucket", "name": "rain"}
STAGE = {"kind": "a02yyuw", "name": "stage", "warmup_ms": 1000, "power_pin": 25}


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    file = tmp_path / "parts.toml"
    file.write_text(ROUND)
    return load_parts(file)


def test_charge_of_a_day_is_that_reckoned_by_hand(parts: Parts) -> None:
    found = budget([RAIN, STAGE], DAY, parts, 1000)
    # Wi-Fi 40 + 60 x 5 = 340 s at 150 + 10 mA; awake 260 + 100 x 1 = 360 s at 60 mA; asleep 85,700 s at 0.1 mA
    assert found.uses == pytest.approx(
        {
            "deep sleep": 85_700 * 0.1 / 3600,
            "awake": 6.0,
            "Wi-Fi": 340 * 160 / 3600,
            "sensor rain": 0.0,
            "sensor stage": 90 * 4 * 8 / 3600,  # switched: nothing in between
        }
    )
    # 1 mAh a day goes by itself: 1000 mAh x 3.04375 % in 30.4375 days
    assert found.days == pytest.approx(500 / (found.mah_a_day + 1))
    # 200 records at 84 in a sector are 2.38 erases a day, over 64 sectors
    assert found.flash_years == pytest.approx(64 * 100_000 / (200 / 84) / 365.25)


def test_sensor_that_is_always_supplied_draws_all_day(parts: Parts) -> None:
    found = budget([{**STAGE, "power_pin": -1}], DAY, parts, None)
    assert found.uses["sensor stage"] == pytest.approx((360 * 8 + (DAY_S - 360) * 4) / 3600)
    assert found.days is None


def test_flash_ages_by_its_erases_and_not_at_all_without_a_record(parts: Parts) -> None:
    aging = budget([RAIN], replace(DAY, erases=4), parts, None)
    assert aging.flash_years == pytest.approx(64 * 100_000 / 4 / 365.25)
    assert budget([RAIN], replace(DAY, erases=0, records=0), parts, None).flash_years is None


def test_figures_that_are_only_a_start_are_named() -> None:
    found = budget([RAIN, STAGE, {"kind": "modbus", "name": "flow"}], DAY, load_parts(), None)
    assert found.yours == ["radio", "start", "board", "battery", "sensors.modbus"]


def test_kind_without_currents_is_refused_with_what_to_write(parts: Parts) -> None:
    with pytest.raises(InputError, match=r"\[sensors\.lidar\]"):
        budget([{"kind": "lidar", "name": "x"}], DAY, parts, None)


def test_every_kind_of_sensor_has_its_currents() -> None:
    text = (FIRMWARE / "lib/headwall_node/specs/__init__.py").read_text()
    block = re.search(r"KINDS = \((.*?)\)", text, re.DOTALL)
    assert block is not None
    kinds = re.findall(r'"(\w+)"', block[1])
    assert len(kinds) > 2
    assert [kind for kind in kinds if kind not in load_parts().sensors] == []


def test_currents_of_the_chip_are_those_of_its_datasheet() -> None:
    chip = load_parts().chip
    assert "Datasheet" in chip.source
    assert chip.deep_sleep_ma == 0.010
    assert 30 <= chip.awake_ma <= 68
    assert 95 <= chip.receive_ma <= 100
    assert chip.transmit_ma == 240


@pytest.mark.parametrize("text", ["[chip]\nwarp_ma = 1\n", "chip = 3\n", "[radio\n", '[board]\nsleep_ma = "much"\n'])
def test_file_of_own_figures_with_a_fault_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "parts.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"parts\.toml"):
        load_parts(file)


# --- the command ---

CONFIG: dict[str, Any] = {
    "node": "basin-1",
    "mode": "battery",
    "broker_host": "broker.example",
    "uplink_s": 7200,
    "report_s": 3600,
    "sensors": [{"kind": "tipping_bucket", "pin": 4}],
}


def power(tmp_path: Path, config: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    command = [str(HEADWALL), "board", "power", str(file), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)


@pytest.mark.slow
def test_a_simulated_day_gives_its_duty_cycle(tmp_path: Path) -> None:
    done = power(tmp_path, CONFIG, "--battery-mah", "10000", "--tips", "7", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    day = found["day"]
    assert 12 <= day["connections"] <= 12 + 7  # every two hours, and rain may bring one forward
    assert day["readings"] == {"rain": day["records"]}
    assert 7 + 20 <= day["records"] <= 7 + 26  # tips, and a report an hour
    assert day["wakes"] >= 7 + 12
    assert 0 < day["awake_s"] + day["online_s"] < DAY_S / 10
    assert found["days"] > 30
    assert sum(found["uses"].values()) == pytest.approx(found["mah_a_day"])


EVERY_SENSOR = [
    {"kind": "a02yyuw", "name": "a", "uart": 1, "tx": 17, "rx": 16},
    {"kind": "jsn_sr04t", "name": "b", "trig": 12, "echo": 13},
    {"kind": "maxbotix", "name": "c", "uart": 2, "tx": 19, "rx": 18},
    {"kind": "current_loop", "name": "d", "scl": 22, "sda": 21, "low": "0", "high": "5"},
    {"kind": "adc_voltage", "name": "e", "pin": 34},
    {"kind": "bme280", "name": "f", "scl": 22, "sda": 21},
    {"kind": "ds18b20", "name": "g", "pin": 14},
    {"kind": "current_loop", "name": "h", "pin": 35, "low": "0", "high": "5", "shunt_mohm": 100_000},
]
SONAR = [{"kind": "ping1d", "name": "i", "uart": 1, "tx": 17, "rx": 16, "timeout_ms": 6000}]


@pytest.mark.parametrize("sensors", [EVERY_SENSOR, SONAR], ids=["eight", "sonar"])
def test_devices_of_the_simulated_day_give_values(tmp_path: Path, sensors: list[dict[str, Any]]) -> None:
    alone = {"mode": "mains", "broker_port": 1, "broker_host": "127.0.0.1", "ntp_host": ""}
    config = {**CONFIG, **alone, "sensors": sensors}
    verdict = board_verdict(config)
    assert verdict.faults == []
    start_us = to_us(datetime(2026, 6, 9, tzinfo=UTC))
    with Supervisor(tmp_path / "sim", start_us=start_us, firmware=FIRMWARE) as sim:
        files = {"config.json": json.dumps(config).encode(), "ca.der": b"", **driver_files(sensors)}
        board = sim.board("board", files=files, wired=fitted(verdict.sensors), heap_kb=1024)
        board.power_on()
        sim.clock.run_until(start_us + 400 * 1_000_000)
        records = board.journal().records
    assert {record.stream for record in records} == set(verdict.streams)
    assert [(record.stream, record.reason) for record in records if record.value is None] == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mode": "mains"}, "never sleeps"),
        ({"sensors": []}, "sensors has 0 entries"),
    ],
)
def test_configuration_without_a_budget_is_refused(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    done = power(tmp_path, {**CONFIG, **change})
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr
