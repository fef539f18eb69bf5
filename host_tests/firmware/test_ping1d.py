"""The Ping sonar: its messages, the speed of sound, confidence, and what it looks at."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BENCH = """
from driver_bench import *
from devices.ping1d import Ping1d
mm = [853]
device = uart(1, Ping1d(lambda us: mm[0]{model}))
bench = Bench(kind="ping1d", tx=17, rx=16{settings})
"""
REPLY = "42520500bb040100d2040000619002"


def bench(script: str, settings: str = "", model: str = "") -> list[object]:
    head = BENCH.format(model=", " + model if model else "", settings=", " + settings if settings else "")
    return run(head + script)


def reading(value: str | None, reason: str | None = None, confidence: str = "0.97") -> list[list[str | None]]:
    return [["distance", value, reason], ["confidence", confidence, None]]


def nulls(reason: str) -> list[list[str | None]]:
    return [["distance", None, reason], ["confidence", None, reason]]


def test_requests_are_those_of_the_protocols_description() -> None:
    said = run(
        """
        from driver_bench import *
        from headwall_node.sensors.ping1d import message
        say(message(6, b"\\x05\\x00").hex())
        say(message(6, b"\\xbb\\x04").hex())
        """
    )
    assert said == ["42520200060000000500a100", "4252020006000000bb045b01"]


def test_a_reply_is_understood_and_no_flip_of_one_bit_is() -> None:
    said = run(
        f"""
        from driver_bench import *
        from headwall_node.sensors.ping1d import find_message
        good = bytes.fromhex("{REPLY}")
        number, payload, end = find_message(good)
        say(number, payload.hex(), end)
        found = []
        for bit in range(8 * len(good)):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            if find_message(bytes(bad))[0] is not None:
                found.append(bit)
        say(found)
        """
    )
    assert said == [[1211, "d204000061", 15], []]


def test_a_message_is_found_behind_noise_and_behind_the_beginning_of_another() -> None:
    said = run(
        f"""
        from driver_bench import *
        from headwall_node.sensors.ping1d import find_message
        good = bytes.fromhex("{REPLY}")
        begun, long = b"BR\\x20\\x00\\xbb\\x04", b"BR\\xff\\xff\\xbb\\x04\\x00\\x00"
        for before in (b"xyz", b"B", b"BB", b"BR", begun, long, good[:14]):
            say(find_message(before + good)[0])
        say(find_message(good[:14])[2], find_message(b"xx" + good[:9])[2], find_message(b"x" * 30)[2])
        """
    )
    assert said == [1211] * 7 + [[0, 2, 21]]


def test_a_distance_and_its_confidence_are_told() -> None:
    assert bench("mm[0] = 1234\nsay(bench.read())") == [reading("1.234")]


def test_speed_of_sound_in_water_is_that_of_marczak() -> None:
    said = run(
        """
        from driver_bench import *
        from headwall_node.sensors.ping1d import sound_in_water
        say([sound_in_water(cel) for cel in (10.0, 15.0, 20.0)])
        """
    )
    assert [round(each / 10) for each in said[0]] == [144729, 146596, 148238]


def test_the_speed_of_sound_is_corrected_exactly_once() -> None:
    """In water of 15 °C a sonar that assumes 1500 m/s tells 1000 mm where 977.3 mm are true."""
    water = 'sound="water", temperature_from="tank.temperature"'
    model = "true_mm_s=1465960"
    note = 'mm[0] = 977.31\nbench.rig.note("tank.temperature", "15.0")\n'
    assert bench(note + "say(bench.read())", "sound_m_s=1500", model) == [reading("1.000")]
    said = bench(note + "say(bench.read())\nsay(bench.read())\nsay(device.sets, device.speed)", water, model)
    assert said[:2] == [reading("0.977")] * 2
    assert said[2][0] == 1 and abs(said[2][1] - 1465960) < 20  # type: ignore[index]


def test_a_sonar_that_has_lost_its_supply_is_told_the_speed_again() -> None:
    said = bench("say(bench.read())\ndevice.off()\nsay(bench.read())\nsay(device.sets)")
    assert said == [reading("0.853"), reading("0.853"), 2]


def test_without_the_waters_temperature_there_is_no_distance() -> None:
    said = bench(
        """
say(bench.read())
for text in ("15.0", "-0.1", "95.1"):
    bench.rig.note("tank.temperature", text)
    say(bench.read()[0][2])
bench.rig.note("tank.temperature", "15.0")
time.sleep(901)
say(bench.read()[0][2])
""",
        'sound="water", temperature_from="tank.temperature"',
    )
    assert said == [nulls("not_ready"), None, "not_ready", "not_ready", "not_ready"]


@pytest.mark.parametrize(
    ("confidence", "wanted"),
    [
        (60, reading("0.853", None, "0.60")),
        (59, reading(None, "low_confidence", "0.59")),
        (0, reading(None, "low_confidence", "0.00")),
        (100, reading("0.853", None, "1.00")),
    ],
)
def test_a_measurement_of_little_confidence_is_no_value(confidence: int, wanted: object) -> None:
    assert bench("say(bench.read())", model=f"confidence={confidence}") == [wanted]


def test_a_confidence_above_a_hundred_per_cent_is_no_measurement() -> None:
    assert bench("say(bench.read())", model="confidence=101") == [nulls("bad_frame")]


def test_no_echo_is_low_confidence_and_not_the_transducers_face() -> None:
    assert bench("mm[0] = None\nsay(bench.read())") == [reading(None, "low_confidence", "0.00")]


@pytest.mark.parametrize(
    ("mm", "wanted"),
    [
        (499, reading(None, "blind_zone")),
        (500, reading("0.500")),
        (10000, reading("10.000")),
        (10001, reading(None, "out_of_range")),
    ],
)
def test_both_sides_of_each_end_of_the_range(mm: int, wanted: object) -> None:
    assert bench(f"mm[0] = {mm}\nsay(bench.read())", 'sound="fixed", sound_m_s=1482') == [wanted]


@pytest.mark.parametrize(
    ("looks", "mm", "wanted"),
    [
        ("down", 1149, reading("1.149")),
        ("down", 1200, reading("1.200")),  # the floor: no sludge, and a value
        ("down", 1250, reading("1.250")),
        ("down", 1251, reading(None, "out_of_range")),  # an echo that went the way twice
        ("up", 1149, reading("1.149")),
        ("up", 1150, reading(None, "no_layer")),  # the liquid's surface: no scum
        ("up", 1250, reading(None, "no_layer")),
        ("up", 1251, reading(None, "out_of_range")),
    ],
)
def test_an_echo_from_the_end_of_the_water_is_the_floor_or_no_scum(looks: str, mm: int, wanted: object) -> None:
    assert bench(f"mm[0] = {mm}\nsay(bench.read())", f'looks="{looks}", end_mm=1200') == [wanted]


def test_without_the_end_of_the_water_an_echo_from_there_is_a_value() -> None:
    assert bench("mm[0] = 1200\nsay(bench.read())", 'looks="up"') == [reading("1.200")]


@pytest.mark.parametrize(
    ("mm", "wanted"),
    [
        ("[853, 853, 2400, 853, 853]", reading("0.853")),
        ("[853, 2400, 1200, 853, 1700]", reading(None, "disagree")),
    ],
)
def test_a_reading_is_what_most_of_its_measurements_agree_on(mm: str, wanted: object) -> None:
    script = f"turns = {mm}\ndevice._world = lambda us: turns.pop(0)\nsay(bench.read())"
    assert bench(script) == [wanted]


def log_of(script: str, model: str = "") -> list[object]:
    """What a reading gives, and the console's words about it."""
    return bench("log.trouble = lambda name, why: why and say(why)\n" + script + "say(bench.read())", model=model)


def test_a_refusal_is_a_fault_with_the_sonars_own_words() -> None:
    said = log_of("device.refuses = 1211\n")
    assert said == ["OSError: it refuses message 1211: b'not now'", nulls("fault")]


def test_a_refused_speed_of_sound_is_a_fault() -> None:
    assert log_of("device.refuses = 1002\n") == ["OSError: it refuses message 1002: b'not now'", nulls("fault")]


def test_a_speed_of_sound_that_is_not_kept_is_a_fault() -> None:
    script = "written = device.written\n"
    script += "def forget(data, now_us):\n    written(data, now_us)\n    device.off()\ndevice.written = forget\n"
    said = log_of(script)
    assert said == ["OSError: it does not take the speed of sound: 1482000 mm/s", nulls("fault")]


def test_another_version_of_the_protocol_is_told_and_not_trusted() -> None:
    said = log_of("", "version=(2, 0, 1)")
    assert said == ["OSError: it speaks version 2.0.1 of the Ping protocol, not 1", nulls("fault")]


def test_another_device_is_told_and_not_trusted() -> None:
    assert log_of("", "device_type=2") == ["OSError: it is device type 2, no Ping echosounder", nulls("fault")]


def test_a_line_full_of_noise_gives_no_value_and_takes_no_more_memory() -> None:
    said = bench(
        """
import gc
fault(device, "flooding")
left = []
for _ in range(20):
    found = bench.read()
    gc.collect()
    left.append(gc.mem_alloc())
say(left[-1] - left[5])
"""
    )
    assert said[0] <= 512  # type: ignore[operator]


def test_a_dead_sonar_is_null_and_reads_again_when_it_is_back() -> None:
    said = bench('fault(device, "unplugged")\nsay(bench.read())\nfault(device, None)\nsay(bench.read())')
    assert said == [nulls("no_signal"), reading("0.853")]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"blind_mm": 500, "range_mm": 500}, "blind_mm must be less than range_mm"),
        ({"end_mm": 500}, "end_mm must be between blind_mm and range_mm, or 0 if it is not known"),
        ({"sound": "water"}, "temperature_from names the water's temperature exactly if sound is water"),
        ({"median": 15}, "timeout_ms must be 8500 or more for these median and cycle_ms"),
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, object], fault: str) -> None:
    given = {"kind": "ping1d", "tx": 17, "rx": 16, **settings}
    script = "from headwall_node.specs import check\nfrom driver_bench import say\n"
    assert run(script + f"say(check.sensor_faults('', {given}, {{}}, {{}}))") == [[fault]]
