"""The battery's voltage behind a divider at the board's own ADC."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BENCH = """
from driver_bench import *
from devices.analog import Analog
mv = [{mv}]
pins(Analog(lambda us: mv[0] * 1000, pin=35))
bench = Bench(kind="adc_voltage", pin=35, {settings})
say(bench.read())
"""


@pytest.mark.parametrize(
    ("millivolts", "settings", "value"),
    [
        (1850, "", "3.7"),
        (2095, "", "4.19"),
        (2200, 'ratio="5.7"', "12.54"),
        (2201, 'ratio="5.7"', "12.546"),  # 12.5457
        (1651, 'ratio="1"', "1.651"),
    ],
)
def test_a_voltage_is_that_of_the_pin_times_the_ratio(millivolts: int, settings: str, value: str) -> None:
    assert run(BENCH.format(mv=millivolts, settings=settings)) == [[["voltage", value, None]]]


@pytest.mark.parametrize(
    ("millivolts", "value", "reason"),
    [
        (149, None, "no_signal"),
        (150, "0.3", None),
        (2450, "4.9", None),
        (2451, None, "saturated"),
        (0, None, "no_signal"),
    ],
)
def test_ends_of_the_adcs_straight_range_are_values_and_beyond_them_is_none(
    millivolts: int, value: str | None, reason: str | None
) -> None:
    assert run(BENCH.format(mv=millivolts, settings="")) == [[["voltage", value, reason]]]


def test_a_chip_with_a_wider_range_is_told_by_settings() -> None:
    assert run(BENCH.format(mv=3000, settings="low_mv=0, high_mv=3100")) == [[["voltage", "6", None]]]


@pytest.mark.parametrize("settings", ['ratio="0.5"', 'ratio="two"', "low_mv=2450"])
def test_settings_that_cannot_work_are_refused(settings: str) -> None:
    with pytest.raises(AssertionError, match=r"ValueError: sensor.(ratio|low_mv)"):
        run(BENCH.format(mv=1000, settings=settings))
