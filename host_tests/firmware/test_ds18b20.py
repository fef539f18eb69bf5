"""The DS18B20 on 1-Wire: values of its data sheet, probes by number, and what a probe without a value is told as."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

ONE = """
from driver_bench import *
from devices.ds18b20 import Ds18b20
raw = [{raw}]
probe = onewire(4, Ds18b20(lambda us: raw[0], {probe}))
bench = Bench(kind="ds18b20", pin=4, {settings})
say(bench.read())
"""
ROM = "28ff4b6d9116041c"


def one(raw: int, *, probe: str = "", settings: str = "", more: str = "") -> list[object]:
    return run(ONE.format(raw=raw, probe=probe, settings=settings) + more)


def reading(value: str | None, reason: str | None = None) -> list[list[str | None]]:
    return [["temperature", value, reason]]


@pytest.mark.parametrize(
    ("raw", "value"),
    [  # the table of the data sheet
        (0x07D0, "125"),
        (0x0191, "25.0625"),
        (0x00A2, "10.125"),
        (0x0008, "0.5"),
        (0x0000, "0"),
        (0xFFF8 - 0x10000, "-0.5"),
        (0xFF5E - 0x10000, "-10.125"),
        (0xFE6F - 0x10000, "-25.0625"),
        (0xFC90 - 0x10000, "-55"),
    ],
)
def test_values_of_the_data_sheet_are_told(raw: int, value: str) -> None:
    assert one(raw) == [reading(value)]


@pytest.mark.parametrize("raw", [125 * 16 + 1, -55 * 16 - 1])
def test_beyond_the_probes_range_is_no_value(raw: int) -> None:
    assert one(raw) == [reading(None, "out_of_range")]


def test_85_degrees_of_a_probe_that_has_not_converted_is_not_ready() -> None:
    """Power is lost in the middle of the conversion."""
    said = one(
        0x0191,
        more="""
import _buses
cut = lambda self, value, now_us: (Ds18b20.written(self, value, now_us), value == 0x44 and self.lose_power())
class Weak(Ds18b20):
    written = cut
_buses.wires[4] = [Weak(lambda us: raw[0])]
say(bench.read())
_buses.wires[4] = [probe]
say(bench.read())
""",
    )
    assert said == [reading("25.0625"), reading(None, "not_ready"), reading("25.0625")]


@pytest.mark.parametrize(("raw", "value"), [(0x054F, "84.9375"), (0x0551, "85.0625")])
def test_close_to_85_degrees_is_a_value(raw: int, value: str) -> None:
    assert one(raw) == [reading(value)]


def test_a_probe_set_to_nine_bits_tells_halves() -> None:
    assert one(0x0191, probe="bits=9") == [reading("25")]


def test_probes_on_one_pin_are_told_apart_by_number() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.ds18b20 import Ds18b20
        roms = ("28ff4b6d9116041c", "28aa00000000019b")
        probes = [onewire(4, Ds18b20(lambda us, n=n: 160 * (n + 1), roms[n])) for n in range(2)]
        benches = [Bench(kind="ds18b20", name="water%d" % n, pin=4, rom=roms[n].upper()) for n in range(2)]
        async def both():
            return await asyncio.gather(*[bench.sampler.read() for bench in benches])
        say(asyncio.run(both()))
        fault(probes[0], "unplugged")
        say(asyncio.run(both()))
        fault(probes[0], None)
        say(asyncio.run(both()))
        """
    )
    both = [reading("10"), reading("20")]
    assert said == [both, [reading(None, "no_signal"), reading("20")], both]


def test_several_probes_without_a_number_in_the_settings_are_a_fault_that_lists_them() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.ds18b20 import Ds18b20
        for rom in ("28ff4b6d9116041c", "28aa00000000019b"):
            onewire(4, Ds18b20(lambda us: 160, rom))
        say(Bench(kind="ds18b20", pin=4).read())
        say([line for line in log._states.values() if "28aa00000000019b" in line and "28ff4b6d9116041c" in line] != [])
        """
    )
    assert said == [reading(None, "fault"), True]


def test_other_devices_on_the_wire_are_no_probes() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.ds18b20 import Ds18b20
        onewire(4, Ds18b20(lambda us: 160, "01aabbccddeeff00"))
        bench = Bench(kind="ds18b20", pin=4)
        say(bench.read())
        onewire(4, Ds18b20(lambda us: 160))
        say(bench.read())
        """
    )
    assert said == [reading(None, "no_signal"), reading("10")]


def test_a_data_line_at_ground_is_no_zero_degrees() -> None:
    """Nine zeros have a right CRC."""
    said = run(
        """
        from driver_bench import *
        from headwall_node.sensors.ds18b20 import told
        say(told(bytes(9)))
        say(told(bytes.fromhex("00004b467fff0c10") + b"x"))
        """
    )
    assert said == [[None, "bad_frame"], ["0", None]]


def test_each_flipped_bit_of_the_probes_bytes_is_found() -> None:
    said = one(0x0191, more='for bit in range(72):\n    fault(probe, "garbled", bit)\n    say(bench.read())')
    assert said[1:] == [reading(None, "bad_frame")] * 72


def test_a_wire_without_a_probe_is_null_and_a_probe_that_comes_back_is_read() -> None:
    said = one(0x0191, more='fault(probe, "unplugged")\nsay(bench.read())\nfault(probe, None)\nsay(bench.read())')
    assert said == [reading("25.0625"), reading(None, "no_signal"), reading("25.0625")]


@pytest.mark.parametrize("rom", ["28ff", "10ff4b6d9116041c", "28ff4b6d9116041g"])
def test_a_number_that_is_no_probes_is_refused(rom: str) -> None:
    with pytest.raises(AssertionError, match="must be 16 hex digits that begin with 28"):
        one(0, settings=f'rom="{rom}"')


def test_a_reading_has_time_for_a_conversion() -> None:
    with pytest.raises(AssertionError, match="timeout_ms must be 1000 or more"):
        one(0, settings="timeout_ms=999")


def test_one_probe_belongs_to_one_sensor() -> None:
    said = run(
        f"""
        from driver_bench import *
        from headwall_node.specs import check
        pins, streams = {{}}, {{}}
        for name in ("a", "b"):
            one = dict(kind="ds18b20", name=name, pin=4, rom="{ROM}")
            say(check.sensor_faults(name + ".", one, pins, streams))
        """
    )
    assert said[0] == [] and "is used already" in said[1][0]
