"""Modbus RTU: frames, every order of words, what goes wrong on a bus, and exact scaling."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BENCH = """
from driver_bench import *
from devices.modbus_slave import ModbusSlave
import struct
device = uart(1, ModbusSlave({slave}))
bench = Bench(kind="modbus", tx=17, rx=16, registers={registers}{settings})
"""
FLOW = '[{"quantity": "flow", "register": 0, "type": "f32"}]'


def bench(script: str, registers: str = FLOW, settings: str = "", slave: str = "lambda us: 0.3456") -> list[object]:
    head = BENCH.format(registers=registers, settings=", " + settings if settings else "", slave=slave)
    return run(head + script)


def test_crc_and_frames_are_those_of_the_standard() -> None:
    said = run(
        """
        from driver_bench import *
        from headwall_node.modbus_rtu import crc16, find_reply, request
        say(crc16(b"123456789"))
        say(request(1, 3, 0, 10).hex())
        say(request(0x11, 3, 0x6B, 3).hex())
        reply = bytes.fromhex("0103043eb0f1aff3d0")
        data, code = find_reply(reply, request(1, 3, 0, 2))
        say(data.hex(), code)
        """
    )
    assert said == [0x4B37, "01030000000ac5cd", "1103006b00037687", ["3eb0f1af", None]]


def test_every_bit_of_a_reply_flipped_is_refused() -> None:
    said = run(
        """
        from driver_bench import *
        from headwall_node.modbus_rtu import find_reply, request
        good, asked, taken = bytes.fromhex("0103043eb0f1aff3d0"), request(1, 3, 0, 2), 0
        for bit in range(8 * len(good)):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            taken += find_reply(bytes(bad), asked) != (None, None)
            taken += find_reply(asked + bytes(bad), asked) != (None, None)
        say(taken)
        """
    )
    assert said == [0]


@pytest.mark.parametrize("order", ["abcd", "cdab", "badc", "dcba"])
@pytest.mark.parametrize(("kind", "code", "value"), [("f32", ">f", 0.3456), ("u32", ">I", 4000000001)])
def test_every_order_of_words_gives_the_value(order: str, kind: str, code: str, value: float) -> None:
    said = bench(
        f"""
raw = struct.pack({code!r}, {value})
came = [raw["abcd".index(letter)] for letter in {order!r}]
device.registers.clear()
device.registers[3, 0] = lambda us: came[0] << 8 | came[1]
device.registers[3, 1] = lambda us: came[2] << 8 | came[3]
say(bench.read())
""",
        f'[{{"quantity": "flow", "register": 0, "type": {kind!r}, "order": {order!r}}}]',
    )
    ((_, text, reason),) = said[0]  # type: ignore[misc]
    assert reason is None
    assert float(text) == pytest.approx(value, rel=1e-7)
    assert kind == "f32" or text == "4000000001"


@pytest.mark.parametrize(
    ("raw", "kind", "scale", "offset", "text"),
    [
        (4294967295, "u32", "0.001", "0", "4294967.295"),
        (65535, "u16", "0.1", "-40", "6513.5"),
        (-400, "s16", "0.1", "0", "-40"),
        (-1, "s32", "0.01", "0", "-0.01"),
        (1234, "u16", "0.00028", "0.5", "0.84552"),
        (0, "u16", "1", "0", "0"),
        (7, "u16", "100", "0.25", "700.25"),
    ],
)
def test_scaling_of_integers_is_exact(raw: int, kind: str, scale: str, offset: str, text: str) -> None:
    entry = f'{{"quantity": "volume", "register": 9, "function": 4, "type": {kind!r}, "scale": "{scale}"'
    entry += f', "offset": "{offset}"}}'
    said = bench(f"device.hold(lambda us: {raw}, 4, 9, {kind!r})\nsay(bench.read())", f"[{entry}]")
    assert said == [[["volume", text, None]]]


def test_a_map_of_several_registers_gives_them_in_order() -> None:
    said = bench(
        'device.hold(lambda us: 812, 4, 20, "s16")\nsay(bench.read())',
        '[{"quantity": "flow", "register": 0, "type": "f32"},'
        ' {"quantity": "velocity", "register": 20, "function": 4, "type": "s16", "scale": "0.001"}]',
        slave="lambda us: 0.5",
    )
    assert said == [[["flow", "0.5", None], ["velocity", "0.812", None]]]


def test_negative_velocity_keeps_its_sign() -> None:
    said = bench(
        'device.hold(lambda us: -120, 3, 0, "s16")\nsay(bench.read())',
        '[{"quantity": "velocity", "register": 0, "type": "s16", "scale": "0.001"}]',
    )
    assert said == [[["velocity", "-0.12", None]]]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('fault(device, "unplugged")', "no_signal"),
        ("device.address = 2", "no_signal"),
        ("device.exception = 4", "fault"),
        ("device.registers.clear()", "fault"),
        ('fault(device, "truncated", 1)', "bad_frame"),
        ('fault(device, "garbled", 30)', "bad_frame"),
        ('fault(device, "late", 600)', "no_signal"),
        ('fault(device, "flooding")', "bad_frame"),
        ("device.baudrate = 19200", "no_signal"),
        ('device.hold(lambda us: float("nan"), 3, 0, "f32")', "fault"),
        ('device.hold(lambda us: float("inf"), 3, 0, "f32")', "fault"),
    ],
)
def test_what_goes_wrong_is_a_null_with_its_reason(script: str, reason: str) -> None:
    assert bench(f"{script}\nsay(bench.read())") == [[["flow", None, reason]]]


def test_a_late_answer_is_never_taken_for_the_next_question() -> None:
    """The first register's answer comes while the second is asked; both have the same length."""
    registers = (
        '[{"quantity": "flow", "register": 0, "type": "u16"}, {"quantity": "velocity", "register": 1, "type": "u16"}]'
    )
    said = bench(
        """
device.registers[3, 0] = lambda us: 111
device.registers[3, 1] = lambda us: 222
for ms in range(0, 1400, 50):
    fault(device, "late", ms, time.now_us(), time.now_us() + 100000)
    found = {q: v for q, v, _ in bench.read()}
    say(found["flow"] in (None, "111") and found["velocity"] in (None, "222"))
""",
        registers,
    )
    assert said == [True] * 28


def test_its_own_echo_is_no_answer_and_does_no_harm() -> None:
    said = bench(
        'say(bench.read())\nfault(device, "unplugged")\nsay(bench.read())', slave="lambda us: 0.5, echoes=True"
    )
    assert said == [[["flow", "0.5", None]], [["flow", None, "no_signal"]]]


def test_the_makers_error_value_and_the_limits_are_null() -> None:
    entry = '[{"quantity": "turbidity", "register": 0, "type": "u16", "error": "65535", "low": "1", "high": "4000"}]'
    said = bench(
        """
for raw in (65535, 0, 1, 4000, 4001):
    device.hold(lambda us: raw, 3, 0, "u16")
    say(bench.read()[0][1:])
""",
        entry,
    )
    assert said == [[None, "fault"], [None, "out_of_range"], ["1", None], ["4000", None], [None, "out_of_range"]]


def test_a_transceiver_is_switched_to_send_only_while_the_board_sends() -> None:
    said = bench(
        """
from machine import Pin
import _buses
levels, write = [], _buses.UART.write
def watched(self, data):
    levels.append(Pin(21).value())
    return write(self, data)
_buses.UART.write = watched
bench.read()
say(levels, Pin(21).value())
""",
        settings="de=21",
    )
    assert said == [[[1], 0]]


def test_two_instruments_share_a_bus() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.modbus_slave import ModbusSlave
        import _buses
        class Both:
            baudrate = None
            faults = []
            def __init__(self, *all):
                self.all = all
            def written(self, data, us):
                for each in self.all:
                    each.written(data, us)
            def bursts(self, a, b):
                return sorted(sum((each.bursts(a, b) for each in self.all), []))
        uart(1, Both(ModbusSlave(lambda us: 1.5, 1), ModbusSlave(lambda us: 2.5, 2)))
        entry = [{"quantity": "flow", "register": 0, "type": "f32"}]
        one = Bench(kind="modbus", name="one", tx=17, rx=16, slave=1, registers=entry)
        two = Bench(kind="modbus", name="two", tx=17, rx=16, slave=2, registers=entry)
        two.rig = two.sampler._rig = one.rig
        async def both():
            return await asyncio.gather(one.sampler.read(), two.sampler.read())
        say(asyncio.run(both()))
        """
    )
    assert said == [[[["flow", "1.5", None]], [["flow", "2.5", None]]]]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('{"quantity": "flow", "register": 0, "scale": "1e3"}', "scale 1e3 is no decimal number"),
        ('{"quantity": "flow", "register": 0, "order": "dcba"}', "a 16-bit value knows abcd and badc"),
        ('{"quantity": "inches", "register": 0}', "of no known quantity"),
        ('{"quantity": "flow", "register": 70000}', "possible: 0 to 65535"),
    ],
)
def test_a_bad_map_is_refused_with_its_place(entry: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        bench("", f"[{entry}]")
