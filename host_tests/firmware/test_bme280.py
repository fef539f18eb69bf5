"""The BME280 through Adafruit's driver of PyPI, unchanged: the example's values, and a chip that is none or gone."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BENCH = """
from driver_bench import *
from devices.bme280 import Bme280
raw = [(519888, 415148, 25000)]
chip = i2c(0, 119, Bme280(lambda us: raw[0], {chip}))
bench = Bench(kind="bme280", scl=22, sda=21)
"""
QUANTITIES = ("temperature", "pressure", "humidity")
GOOD = [["temperature", "25.08", None], ["pressure", "100653.25", None], ["humidity", "20.78", None]]
FAULT = [[quantity, None, "fault"] for quantity in QUANTITIES]


def bench(script: str, chip: str = "") -> list[object]:
    return run(BENCH.format(chip=chip) + script)


def test_registers_of_the_example_give_its_values() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.bme280 import Bme280
        chip = Bme280()
        chip._put((519888, 415148, 25000))
        read = lambda at, count: (chip.written(bytes((at,)), 0), chip.read(count, 0).hex())[1]
        say(read(0x88, 24), read(0xA1, 1), read(0xE1, 7), read(0xF7, 8))
        """
    )
    assert said == [["706b436718fc7d8e43d6d00b270b8c00f9ff8c3cf8c67017", "4b", "6a0100140d001e", "655ac07eed0061a8"]]
    assert bench("say(bench.read())") == [GOOD]


def test_the_other_address_is_a_setting() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.bme280 import Bme280
        i2c(0, 118, Bme280())
        say(Bench(kind="bme280", scl=22, sda=21, address=118).read())
        """
    )
    assert said == [GOOD]


@pytest.mark.parametrize("missing", QUANTITIES)
def test_a_value_that_the_chip_skipped_is_null(missing: str) -> None:
    raw = [
        None if quantity == missing else value
        for quantity, value in zip(QUANTITIES, (519888, 415148, 25000), strict=True)
    ]
    [found] = bench(f"raw[0] = {raw}\nsay(bench.read())")
    assert isinstance(found, list)
    reasons = {quantity: reason for quantity, _, reason in found}
    hit = set(QUANTITIES) if missing == "temperature" else {missing}  # the others are computed with the temperature
    assert reasons == {quantity: "not_ready" if quantity in hit else None for quantity in QUANTITIES}


def test_beyond_the_chips_range_is_no_value() -> None:
    said = bench(
        "raw[0] = (850000, 415148, 25000)\nsay(bench.read())\nraw[0] = (519888, 1000, 25000)\nsay(bench.read())"
    )
    assert [[reason for _, _, reason in found] for found in said] == [  # type: ignore[attr-defined]
        ["out_of_range"] * 3,
        [None, "out_of_range", None],
    ]


def test_a_chip_of_another_kind_is_a_fault_that_names_its_number() -> None:
    said = bench('say(bench.read())\nsay([t for t in log._states.values() if "0x58" in t] != [])', "number=0x58")
    assert said == [FAULT, True]


def test_absent_then_plugged_in_then_gone_then_back() -> None:
    said = bench(
        """
for name in ("unplugged", None, "unplugged", None):
    fault(chip, name)
    chip.lose_power()
    say(bench.read())
"""
    )
    assert said == [FAULT, GOOD, FAULT, GOOD]


def test_an_exchanged_chip_is_read_by_its_own_calibration() -> None:
    said = bench(
        """
say(bench.read())
other = i2c(0, 119, Bme280(lambda us: raw[0]))
import devices.bme280
changed = dict(devices.bme280.CALIBRATION)
changed[0x88] = b"\\x00\\x6c" + changed[0x88][2:]
devices.bme280.CALIBRATION = changed
other.lose_power()
say(bench.read()[0])
"""
    )
    assert said[0] == GOOD
    assert said[1] == ["temperature", "24.36", None]


def test_a_chip_that_never_ends_a_measurement_does_not_hold_the_board() -> None:
    said = bench(
        """
before = time.now_us()
say(bench.read())
say((time.now_us() - before) // 1000 < 5000)
chip.hangs = False
say(bench.read())
""",
        "hangs=True",
    )
    assert said == [FAULT, True, GOOD]


def test_each_bit_that_the_line_bends_is_found_by_the_chips_number() -> None:
    said = bench('say(bench.read())\nfor bit in range(8):\n    fault(chip, "garbled", bit)\n    say(bench.read())')
    assert said == [GOOD] + [FAULT] * 8


def test_the_library_and_a_reading_fit_beside_the_node_and_leave_nothing_behind() -> None:
    """On the test port objects are twice as large as on a board."""
    said = bench(
        """
import gc
from headwall_node import overlay
from headwall_node.rig import Rig
def used(since):
    gc.collect()
    return since - gc.mem_free()
bench.read()
gc.collect()
before = gc.mem_free()
module, came = overlay.load("sensors.bme280")
say(used(before))
driver = module.Driver(bench.settings, bench.rig)
chip = module.Adafruit_BME280_I2C(module.busio.I2C(bench.rig.i2c(bench.settings), 400), 119)
say(used(before))
del module, driver, chip
overlay.forget(came)
del came
for _ in range(3):
    for _ in range(20):
        bench.read()
    say(used(before))
"""
    )
    library, instance, first, second, third = said
    assert isinstance(library, int) and 0 < library < 24000
    assert isinstance(instance, int) and instance - library < 6000
    assert isinstance(first, int) and first < 1000
    assert first == second == third
