"""A clock chip with a battery: the time before any network, after a loss of power and after each sleep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drivers import run
from headwall_sim.broker import Broker
from headwall_sim.wiring import Wired
from scripted_gateway import ScriptedGateway
from sim_node import MINUTE_US, START_US, SimNode

BENCH = """
from driver_bench import *
from devices.ds3231 import Ds3231, _parts, _seconds
from headwall_node import ds3231
WIRING = {"i2c": 0, "scl": 22, "sda": 21}
SINCE_1970 = 946684800
battery = [1]
chip = i2c(0, 0x68, Ds3231(lambda us: battery[0]))

def set_to(seconds):
    chip._set_us, chip._seconds, chip._stopped = time.now_us(), seconds - SINCE_1970, 0
"""


def test_it_tells_every_day_of_the_century_to_the_second() -> None:
    said = run(
        BENCH
        + """
wrong = 0
for day in range(0, 36525, 7):
    seconds = SINCE_1970 + day * 86400 + day % 86400
    set_to(seconds)
    wrong += ds3231.read(WIRING) != seconds * 1000 + 500
for seconds in (1709164799, 1709164800, 1709251199, 1709251200, 4102444799):  # about 29 February 2024; 2099
    set_to(seconds)
    wrong += ds3231.read(WIRING) != seconds * 1000 + 500
say(wrong)
"""
    )
    assert said == [0]


def test_chip_that_stood_still_does_not_know_the_time() -> None:
    said = run(
        BENCH
        + """
found = [ds3231.read(WIRING)]
set_to(1781000000); found.append(ds3231.read(WIRING))
battery[0] = 0; found.append(ds3231.read(WIRING))
battery[0] = 1; found.append(ds3231.read(WIRING))
say(found)
"""
    )
    assert said == [[None, 1781000000500, None, None]]


@pytest.mark.parametrize(
    ("register", "value"),
    [(0, 0x6A), (1, 0xA0), (2, 0x52), (2, 0x24), (4, 0x00), (4, 0x32), (5, 0x00), (5, 0x13), (6, 0xA1)],
)
def test_registers_that_are_no_time_are_none(register: int, value: int) -> None:
    """0x52 is ten o'clock in 12-hour form, which the node never writes."""
    said = run(
        BENCH
        + f"""
set_to(1781000000)
real = chip._registers
def registers(now_us):
    found = real(now_us)
    found[{register}] = {value}
    return found
chip._registers = registers
say(ds3231.read(WIRING))
"""
    )
    assert said == [None]


CLOCK = """
class Clock:
    synced, source = True, "ntp"
    def __init__(self, ms): self.ms, self.did = ms, []
    def utc_ms(self): return self.ms
    def agree(self, ms): self.did.append(ms - self.ms)
    def set_utc_ms(self, ms, source): self.did.append((ms, source))

def tell(off_ms, synced=True):
    set_to(1781000000)
    clock = Clock(1781000000500 - off_ms)
    clock.synced = synced
    ds3231.tell(WIRING, clock)
    return clock.did
"""


def test_it_corrects_what_a_sleep_can_have_done_and_not_what_somebody_else_has() -> None:
    said = run(BENCH + CLOCK + "say([tell(off) for off in (0, 1500, -1500, 1501, -90000, 7200000, 10**10)])")
    assert said == [[[], [], [], [1501], [-90000], [], []]]


def test_it_sets_a_clock_that_is_not_known_and_a_missing_chip_sets_none() -> None:
    said = run(BENCH + CLOCK + 'say([tell(0, False)]); fault(chip, "unplugged"); say([tell(0, False)])')
    assert said == [[[[1781000000500, "ds3231"]]], [[]]]


def chip(**args: Any) -> Wired:
    return Wired("ds3231", "Ds3231", "i2c", 0, [(START_US, 1)], address=0x68, args=args)


SETTINGS: dict[str, Any] = {"ds3231": [{"scl": 22, "sda": 21}], "report_s": 600}


@pytest.mark.mosquitto
def test_board_without_network_after_a_loss_of_power_dates_its_readings(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    tips = [20, 90, 100.5]
    with SimNode(tmp_path, broker, tips, {"wired": [chip()]}, **SETTINGS) as node:
        node.use_clock(gateway)
        node.run_to(10)
        assert gateway.states[-1]["time_from"] == "ntp"
        node.sim.sntp.answering = False
        node.proxy.set_mode("cut")
        node.run_to(30)
        node.board.power_cut(off_us=50 * MINUTE_US)
        node.run_to(110)
        records = [record for record in node.board.journal().records if record.value == "1"]
        off = [
            record.time_ms - START_US // 1000 - minute * 60_000 for record, minute in zip(records, tips, strict=True)
        ]
        assert max(map(abs, off)) <= 1_000
        node.proxy.set_mode("open")
        node.run_until(lambda: gateway.states[-1].get("time_from") == "ds3231", 130)


@pytest.mark.mosquitto
def test_chip_is_set_by_the_gateways_time_where_there_is_no_ntp(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [60], {"wired": [chip()]}, mode="battery", ntp_host="", **SETTINGS) as node:
        node.use_clock(gateway)
        node.run_to(20)
        node.board.power_cut(off_us=MINUTE_US)
        node.proxy.set_mode("cut")
        node.run_to(70)
        (tip,) = [record for record in node.board.journal().records if record.value == "1"]
        assert tip.time_ms is not None
        assert abs(tip.time_ms - START_US // 1000 - 3_600_000) <= 1_000
