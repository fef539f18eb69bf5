"""The JSN-SR04T at its pins and in its serial modes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import mp
import pytest
from drivers import run
from headwall.clock import to_us
from headwall_sim.supervisor import Supervisor
from headwall_sim.wiring import Wired

pytestmark = pytest.mark.usefixtures("form")

ECHO = """
from driver_bench import *
from devices.jsn_sr04t import JsnSr04t
mm = [1953]
device = pins(JsnSr04t(lambda us: mm[0], air_cel={air_cel}))
bench = Bench(kind="jsn_sr04t", trig=12, echo=13{settings})
"""
SERIAL = """
from driver_bench import *
from devices.a02yyuw import A02yyuw
device = uart(1, A02yyuw(lambda us: 1953, ask={ask}, answer_ms=60))
bench = Bench(kind="jsn_sr04t", mode="{mode}", trig=12, echo=13)
say(bench.read())
"""


def echo(script: str, settings: str = "", air_cel: int = 15) -> list[object]:
    return run(ECHO.format(air_cel=air_cel, settings=", " + settings if settings else "") + script)


def reading(value: str | None, reason: str | None = None) -> list[list[str | None]]:
    return [["distance", value, reason]]


def test_a_pulse_is_told_in_metres() -> None:
    said = echo("for mm[0] in (1953, 2000, 300, 4000):\n    say(bench.read())")
    assert said == [reading("1.953"), reading("2.000"), reading("0.300"), reading("4.000")]


@pytest.mark.parametrize(
    ("mm", "wanted"),
    [
        (249, reading(None, "blind_zone")),
        (250, reading("0.250")),
        (4500, reading("4.500")),
        (4501, reading(None, "out_of_range")),
    ],
)
def test_both_sides_of_each_end_of_the_range(mm: int, wanted: object) -> None:
    assert echo(f"mm[0] = {mm}\nsay(bench.read())") == [wanted]


def test_no_echo_is_null_and_not_the_end_of_the_range() -> None:
    assert echo("mm[0] = None\nsay(bench.read())\nmm[0] = 1000\nsay(bench.read())") == [
        reading(None, "no_echo"),
        reading("1.000"),
    ]


def test_a_module_that_answers_no_trigger_is_silent() -> None:
    assert echo('fault(device, "unplugged")\nsay(bench.read())') == [reading(None, "no_signal")]


def test_a_line_that_is_high_before_the_trigger_is_no_pulse() -> None:
    said = echo("device.level = lambda number, now_us: number == 13\nsay(bench.read())")
    assert said == [reading(None, "bad_frame")]


def test_a_trigger_shorter_than_ten_microseconds_starts_nothing_in_the_model() -> None:
    said = echo("time.sleep_us = lambda us: time.advance_us(us if us > 20 else 5)\nsay(bench.read())")
    assert said == [reading(None, "no_signal")]


@pytest.mark.parametrize(
    ("mm", "wanted"),
    [
        ("[1953, 1953, 400, 1953, 1953]", reading("1.953")),
        ("[1953, None, 1953, None, 1953]", reading("1.953")),
        ("[1953, None, None, None, 1953]", reading(None, "no_echo")),
        ("[500, 4100, 1953, 2900, 1200]", reading(None, "disagree")),
    ],
)
def test_a_reading_is_what_most_of_its_pulses_agree_on(mm: str, wanted: object) -> None:
    assert echo(f"turns = {mm}\ndevice._world = lambda us: turns.pop(0)\nsay(bench.read())") == [wanted]


def test_pulses_of_any_length_from_a_disturbed_line_give_hardly_a_value() -> None:
    """Lengths with no pattern from 2 to 25 ms: three of five that agree within 100 mm are chance, about one in 40."""
    said = echo(
        """
last = [1]
def disturbed(us):
    last[0] = last[0] * 1103515245 + 12345 & 0x7FFFFFFF
    return 300 + (last[0] >> 8) % 4000
device._world = disturbed
reasons = [bench.read()[0][2] for _ in range(100)]
say(reasons.count(None))
say(reasons.count("disagree"))
"""
    )
    assert said[0] <= 5 and said[0] + said[1] == 100  # type: ignore[operator]


def test_the_airs_temperature_corrects_a_pulse_once() -> None:
    """At 0 °C sound needs 12.07 ms for 2 m and back; at the 15 °C that are assumed this is 2.054 m."""
    node = 'sound="node", temperature_from="air.temperature"'
    script = 'mm[0] = 2000\nbench.rig.note("air.temperature", "0.0")\nsay(bench.read())'
    assert echo(script, node, air_cel=0) == [reading("2.000")]
    assert echo(script, air_cel=0) == [reading("2.054")]
    assert echo("say(bench.read())", node) == [reading(None, "not_ready")]


def test_nothing_stands_still_longer_than_two_echoes_from_the_end_of_the_range() -> None:
    """In virtual time: the longest gap between two turns of another task, with no echo and with a dead module."""
    said = echo(
        """
async def longest():
    gap, last = 0, time.now_us()
    task = asyncio.create_task(bench.sampler.read())
    while not task.done():
        await asyncio.sleep_ms(0)
        gap, last = max(gap, time.now_us() - last), time.now_us()
        time.advance_us(100)
    return gap
for mm[0], name in ((None, None), (4500, None), (1953, "unplugged")):
    fault(device, name)
    say(asyncio.run(longest()) <= 60100)
"""
    )
    assert said == [True, True, True]


@pytest.mark.parametrize(
    ("mode", "ask", "wanted"),
    [
        ("serial", None, reading("1.953")),
        ("asked", b"\x55", reading("1.953")),
        ("asked", None, reading("1.953")),  # a module that sends anyway
        ("serial", b"\x55", reading(None, "no_signal")),  # one that waits to be asked
    ],
)
def test_serial_modes_tell_the_frames_distance(mode: str, ask: bytes | None, wanted: object) -> None:
    assert run(SERIAL.format(mode=mode, ask=ask)) == [wanted]


def test_a_serial_frame_of_zero_is_no_echo() -> None:
    said = run(SERIAL.format(mode="serial", ask=None).replace("1953", "None"))
    assert said == [reading(None, "no_echo")]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"trig": 12, "echo": 12}, "echo and trig must be two pins"),
        ({"range_mm": 6001}, "range_mm must be 6000 or less: the board stands still while it waits for an echo"),
        ({"median": 15, "cycle_ms": 1000}, "timeout_ms must be 15200 or more for these median and cycle_ms"),
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, int], fault: str) -> None:
    given = {"kind": "jsn_sr04t", "trig": 12, "echo": 13, **settings}
    script = "from headwall_node.specs import check\nfrom driver_bench import say\n"
    assert fault in run(script + f"say(check.sensor_faults('', {given}, {{}}, {{}}))")[0]


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        ({"mode": "echo", "trig": 12, "echo": 13}, {"mode": "echo", "trig": 14, "echo": 15}, True),
        ({"mode": "serial", "trig": 12, "echo": 13}, {"mode": "echo", "trig": 14, "echo": 15}, True),
        ({"mode": "serial", "trig": 12, "echo": 13}, {"mode": "serial", "trig": 14, "echo": 15}, False),
        ({"mode": "serial", "trig": 12, "echo": 13}, {"mode": "serial", "trig": 14, "echo": 15, "uart": 2}, True),
        ({"mode": "echo", "trig": 12, "echo": 13}, {"mode": "echo", "trig": 12, "echo": 15}, False),
    ],
)
def test_pins_and_uart_are_claimed_as_the_mode_needs_them(
    first: dict[str, object], second: dict[str, object], fits: bool
) -> None:
    script = f"""
from headwall_node.specs import check
from driver_bench import say
held, streams, found = {{}}, {{}}, []
for name, settings in (("a", {first}), ("b", {second})):
    settings.update(kind="jsn_sr04t", name=name)
    found += check.sensor_faults(name + ".", settings, held, streams)
say(found)
"""
    assert (run(script) == [[]]) is fits


def test_a_whole_board_measures_by_a_pulse_at_its_pins(tmp_path: Path) -> None:
    start = to_us(datetime(2026, 6, 9, tzinfo=UTC))
    config = {
        "node": "outfall",
        "broker_host": "127.0.0.1",
        "broker_port": 1,
        "sensors": [{"kind": "jsn_sr04t", "trig": 12, "echo": 13, "period_s": 600}],
    }
    with Supervisor(tmp_path, start_us=start, firmware=mp.FIRMWARE.parent) as sim:
        config.update(ntp_host=sim.sntp.host, ntp_port=sim.sntp.port)
        board = sim.board(
            "outfall",
            files={"config.json": json.dumps(config).encode(), "ca.der": b""},
            wired=[Wired("jsn_sr04t", "JsnSr04t", "pins", 0, [(start, 1953)], args={"trig": 12, "echo": 13})],
        )
        board.power_on()
        sim.clock.run_until(start + 3600 * 1_000_000)
        records = [record for record in board.journal().records if record.stream == "stage.distance"]
    assert len(records) >= 5
    assert {record.value for record in records} == {"1.953"}
