"""A flow meter's pulses: counted whole, their rate exact, interference left out."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BENCH = """
from driver_bench import *
from devices.pulses import Pulses
base = time.now_us()
count = [0]
meter = pins(Pulses(lambda us: count[0], pin=27))
bench = Bench(kind="pulse_meter", pin=27, most_hz=100)
def after(seconds, pulses):
    time.sleep(seconds)
    count[0] += pulses
    found = bench.read()
    say([value for _, value, _ in found] if found[0][2] is None else [reason for _, _, reason in found])
"""


def test_the_first_reading_has_a_count_and_no_rate() -> None:
    said = run(BENCH + "say(bench.read())")
    assert said == [[["pulses", 0, None], ["frequency", None, "not_ready"]]]


@pytest.mark.parametrize(
    ("seconds", "pulses", "rate"), [(300, 450, "1.5"), (300, 1, "0.003333"), (300, 0, "0"), (7, 23, "3.285714")]
)
def test_the_rate_is_the_mean_since_the_reading_before(seconds: int, pulses: int, rate: str) -> None:
    assert run(BENCH + f"bench.read()\nafter({seconds}, {pulses})") == [[pulses, rate]]


def test_most_hz_is_a_value_and_more_is_a_fault_that_is_not_added() -> None:
    said = run(BENCH + "bench.read()\nafter(10, 1001)\nafter(10, 1002)\nafter(10, 50)\nafter(10, 50)")
    assert said == [[1001, "100.1"], ["fault", "fault"], [1051, "5"], [1101, "5"]]


def test_two_readings_at_once_wait_a_second_between() -> None:
    said = run(BENCH + "bench.read()\ncount[0] = 20\nsay(bench.read())")
    assert said == [[["pulses", 20, None], ["frequency", "20", None]]]


def test_a_counter_that_falls_never_gives_flow_back() -> None:
    said = run(BENCH + "bench.read()\nafter(60, 600)\nafter(60, -600)\nafter(60, 30)\nafter(60, 30)")
    assert said == [[600, "10"], ["fault", "fault"], [630, "0.5"], [660, "0.5"]]


def test_a_turn_of_the_hardwares_counter_that_was_not_added_up_loses_nothing() -> None:
    said = run(BENCH + "bench.read()\nafter(60, 600)\nafter(60, 40 - 32000)\nafter(60, 60)")
    assert said == [[600, "10"], [640, "0.666667"], [700, "1"]]


def test_a_total_of_ten_digits_keeps_every_pulse() -> None:
    said = run(BENCH + "bench.read()\nbench.sampler._driver._total = 4123456789\nafter(60, 1)")
    assert said == [[4123456790, "0.016667"]]


def test_interference_is_a_fault_and_the_meter_counts_on() -> None:
    said = run(
        BENCH
        + 'bench.read()\nafter(10, 10)\nfault(meter, "flooding")\nafter(10, 0)\nafter(10, 0)\nfault(meter, None)\n'
        + "after(10, 5)\nafter(10, 5)"
    )
    assert said[0] == [10, "1"]
    assert said[1:3] == [["fault", "fault"]] * 2
    assert said[4][0] - said[3][0] == 5 and said[4][1] == "0.5"
    assert said[3][0] <= 15
