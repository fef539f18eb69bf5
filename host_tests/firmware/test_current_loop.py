"""A 4-20 mA loop: the states of NAMUR NE43, exact scaling, an ADS1115 by its registers, the board's own ADC."""

from __future__ import annotations

from typing import Any

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

CHIP = """
from driver_bench import *
from devices.ads1115 import Ads1115
uv = [{uv}]
chip = i2c(0, 72, Ads1115(lambda us: uv[0]))
bench = Bench(kind="current_loop", scl=22, sda=21, {settings})
"""
METRES = 'low="0", high="5"'
#: microvolts over 150 ohm of one microampere
UA = 150


def chip(ua: float, settings: str = METRES, more: str = "say(bench.read())") -> list[Any]:
    return run(CHIP.format(uv=round(ua * UA), settings=settings) + more)


def test_counts_of_the_chip_are_currents() -> None:
    """14400 counts of 125 microvolts across 150 ohm are 12 mA, half of the range."""
    said = run(
        """
        from driver_bench import *
        from headwall_node.sensors.current_loop import told
        settings = {"shunt_mohm": 150000, "low": "0", "high": "5"}
        for count in (14400, 4560, 24600, 0, -1):
            say(told(count * 125, settings))
        """
    )
    assert said == [["2.5", None], ["-0.0625", None], ["5.15625", None], [None, "fault"], [None, "fault"]]


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (-1, "fault"),  # FFFF: an open loop, not 65 mA
        (0, "fault"),
        (4320, "fault"),  # 3.6 mA
        (4321, "saturated"),
        (4559, "saturated"),
        (4560, None),  # 3.8 mA
        (24600, None),  # 20.5 mA
        (24601, "saturated"),
        (25199, "saturated"),
        (25200, "fault"),  # 21.0 mA
        (32766, "fault"),
        (32767, "saturated"),  # clipped
        (-32768, "saturated"),
    ],
)
def test_each_end_of_each_state_is_told(count: int, reason: str | None) -> None:
    [[[_, value, why]]] = run(CHIP.format(uv=count * 125, settings=METRES) + "say(bench.read())")
    assert why == reason
    assert (value is None) == (reason is not None)


def test_a_level_is_scaled_exactly() -> None:
    assert chip(12000) == [[["level", "2.5", None]]]
    assert chip(3800) == [[["level", "-0.0625", None]]]
    assert chip(20500) == [[["level", "5.15625", None]]]


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ('low="5", high="0"', "1.25"),  # 16 mA of a transmitter that looks down
        ('low="-0.5", high="1.5"', "1"),
        ('low="0", high="160000", quantity="pressure"', "120000"),
        ('low="0.004", high="0.020", quantity="current"', "0.016"),
        ('low="0", high="4000", quantity="turbidity", channel=0', "3000"),
    ],
)
def test_any_quantity_of_the_contract_is_scaled_by_two_points(settings: str, value: str) -> None:
    [[[_, found, reason]]] = chip(16000, settings)
    assert (found, reason) == (value, None)


def test_two_transmitters_on_one_chip_do_not_take_each_others_conversions() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.ads1115 import Ads1115
        from headwall_node import sampler
        class Both(Ads1115):
            def input_uv(self, channel, now_us):
                return (600000, 3000000, 0, 0)[channel]
        chip = i2c(0, 72, Both(None))
        scum = Bench(kind="current_loop", name="scum", scl=22, sda=21, low="0", high="2", channel=0)
        sludge = Bench(kind="current_loop", name="sludge", scl=22, sda=21, low="0", high="2", channel=1)
        sludge.rig = scum.rig
        sludge.sampler._rig = scum.rig
        async def both():
            return await asyncio.gather(scum.sampler.read(), sludge.sampler.read())
        say(asyncio.run(both()))
        """
    )
    assert said == [[[["level", "0", None]], [["level", "2", None]]]]


def test_one_spike_among_the_conversions_is_no_reading() -> None:
    said = run(
        CHIP.format(uv=1800000, settings=METRES).replace("uv[0]", "2900000 if us // 140000 % 5 == 0 else uv[0]")
        + "say(bench.read())"
    )
    assert said == [[["level", "2.5", None]]]


def test_a_chip_that_never_ends_a_conversion_is_null_in_time() -> None:
    said = chip(12000, more='fault(chip, "late", 900)\nsay(bench.read())\nfault(chip, None)\nsay(bench.read())')
    assert said == [[["level", None, "not_ready"]], [["level", "2.5", None]]]


def test_another_chip_at_the_address_is_no_value() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.bme280 import Bme280
        i2c(0, 72, Bme280())
        say(Bench(kind="current_loop", scl=22, sda=21, low="0", high="5").read())
        """
    )
    assert said == [[["level", None, "bad_frame"]]]


ADC = """
from driver_bench import *
from devices.analog import Analog
uv = [{uv}]
pins(Analog(lambda us: uv[0]))
bench = Bench(kind="current_loop", pin=34, shunt_mohm=100000, low="0", high="5")
say(bench.read())
"""


@pytest.mark.parametrize(
    ("millivolts", "value", "reason"),
    [
        (0, None, "fault"),
        (360, None, "fault"),
        (361, None, "saturated"),
        (379, None, "saturated"),
        (380, "-0.0625", None),
        (1200, "2.5", None),
        (2050, "5.15625", None),
        (2051, None, "saturated"),
        (2099, None, "saturated"),
        (2100, None, "fault"),
        (3300, None, "fault"),
    ],
)
def test_the_boards_own_adc_tells_the_same_states(millivolts: int, value: str | None, reason: str | None) -> None:
    assert run(ADC.format(uv=millivolts * 1000)) == [[["level", value, reason]]]


def test_of_the_boards_own_adc_the_middle_reading_counts() -> None:
    said = run(
        ADC.format(uv=1200000)
        .replace("lambda us: uv[0]", "lambda us: next(noise)")
        .replace("uv = ", "noise = iter([900000, 1200000, 2000000, 1200000, 1201000])\nuv = ")
    )
    assert said == [[["level", "2.5", None]]]


FAULTS = """
from driver_bench import *
def check(**settings):
    try:
        Bench(kind="current_loop", **settings)
        say("good")
    except ValueError as error:
        say(str(error))
"""


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ('low="0", high="5"', "either scl and sda"),
        ('pin=34, scl=22, sda=21, low="0", high="5"', "either scl and sda"),
        ('scl=22, low="0", high="5"', "either scl and sda"),
        ('scl=22, sda=21, low="0", high="five"', "high five is no decimal number"),
        ('scl=22, sda=21, low="0", high="1e3"', "high 1e3 is no decimal number"),
        ('scl=22, sda=21, low="-", high="1"', "low - is no decimal number"),
        ('scl=22, sda=21, low="5", high="5.0"', "low and high are equal"),
        ('scl=22, sda=21, low="0", high="5", shunt_mohm=195001', "possible: 10000 to 195000"),
        ('pin=34, low="0", high="5"', "possible: 41667 to 116666"),
        ('scl=22, sda=21, low="0", high="5", quantity="weight"', "no known quantity"),
        ('scl=22, sda=21, low="0", high="5", shunt_mohm=195000', "good"),
        ('scl=22, sda=21, low="0", high="5", timeout_ms=799', "timeout_ms must be 800 or more"),
        ('scl=22, sda=21, low="0", high="5", timeout_ms=800', "good"),
        ('pin=34, low="0", high="5", shunt_mohm=116666', "good"),
        ('pin=34, low="0", high="5", shunt_mohm=41667', "good"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_the_reason(settings: str, part: str) -> None:
    [said] = run(FAULTS + f"check({settings})")
    assert part in said


def test_one_channel_of_a_chip_belongs_to_one_sensor() -> None:
    said = run(
        """
        from driver_bench import *
        from headwall_node.specs import check
        pins, streams = {}, {}
        for name, channel in (("a", 0), ("b", 1), ("c", 0)):
            one = dict(kind="current_loop", name=name, scl=22, sda=21, low="0", high="1", channel=channel)
            say(check.sensor_faults(name + ".", one, pins, streams))
        """
    )
    assert said == [[], [], ["c.channel 0 of the ADS1115 72 on i2c 0 is used already: a"]]
