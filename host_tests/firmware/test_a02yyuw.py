"""The A02YYUW family: frames of its data sheet, its twins, and the distance as it is told."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BENCH = """
from driver_bench import *
from devices.a02yyuw import A02yyuw
mm = [1953]
device = uart(1, A02yyuw(lambda us: mm[0], {unit_mm}))
bench = Bench(kind="a02yyuw", tx=17, rx=16{settings})
"""


def bench(script: str, settings: str = "", unit_mm: int = 1) -> list[object]:
    return run(BENCH.format(settings=", " + settings if settings else "", unit_mm=unit_mm) + script)


def test_frames_of_the_data_sheets_give_their_values() -> None:
    said = run(
        """
        from driver_bench import *
        from headwall_node.ultrasound import find_frame
        for text in ("ff07a1a7", "ff00e0df", "ff01a1a1", "ff00fffe", "ff07a1a6", "ffff07a1a7", "00ff07a1a7ff", "ff07"):
            say(find_frame(bytes.fromhex(text)))
        """
    )
    assert said == [[1953, 4], [224, 4], [417, 4], [255, 4], [None, 1], [1953, 5], [1953, 5], [None, 0]]


def test_a_level_is_told_in_metres_with_every_millimetre() -> None:
    assert bench("say(bench.read())\nmm[0] = 224\nsay(bench.read())") == [
        [["distance", "1.953", None]],
        [["distance", "0.224", None]],
    ]


def test_the_twin_in_centimetres_is_told_in_metres() -> None:
    assert bench("mm[0] = 4170\nsay(bench.read())", 'unit="cm"', 10) == [[["distance", "4.170", None]]]


@pytest.mark.parametrize(("mm", "reason"), [(29, "blind_zone"), (4501, "out_of_range"), (0, "no_echo")])
def test_what_cannot_be_measured_is_null_with_its_reason(mm: int, reason: str) -> None:
    assert bench(f"mm[0] = {mm}\nsay(bench.read())") == [[["distance", None, reason]]]


@pytest.mark.parametrize("mm", [30, 4500])
def test_ends_of_the_range_are_values(mm: int) -> None:
    assert bench(f"mm[0] = {mm}\nsay(bench.read())") == [[["distance", f"{mm / 1000:.3f}", None]]]


def test_temperature_is_corrected_once_and_only_where_the_sensor_does_not() -> None:
    """2000 mm measured with the sound of 20 °C are 1930.57 mm at 0 °C."""
    said = bench(
        'say(bench.read())\nmm[0] = 2000\nbench.rig.note("air.temperature", "0.0")\nsay(bench.read())',
        'sound="node", temperature_from="air.temperature"',
    )
    assert said == [[["distance", None, "not_ready"]], [["distance", "1.931", None]]]


def test_a_sensor_that_computes_for_20_degrees_is_corrected_once_and_one_that_corrects_itself_never() -> None:
    """The model's frames say what sound of 20 °C would make of 1.931 m of air at 0 °C: 2.000 m."""
    cold = BENCH.replace("{unit_mm})", "{unit_mm}, assumes=20, air_cel=0)").replace("1953", "1931")
    told = 'bench.rig.note("air.temperature", "0.0")\nsay(bench.read())'
    node = cold.format(unit_mm=1, settings=', sound="node", temperature_from="air.temperature"')
    assert run(node + told) == [[["distance", "1.931", None]]]
    assert run(cold.format(unit_mm=1, settings="") + told) == [[["distance", "2.000", None]]]


def test_an_old_temperature_corrects_nothing() -> None:
    said = bench(
        'bench.rig.note("air.temperature", "0.0")\ntime.sleep(901)\nsay(bench.read())',
        'sound="node", temperature_from="air.temperature"',
    )
    assert said == [[["distance", None, "not_ready"]]]


#: what the sensor's frames say in turn (mm, None for no echo), and the reading
SPIKES = [
    ([1953, 1953, 90, 1953, 1953], ["1.953", None]),
    ([1953, 90, 4400, 1953, 1953], ["1.953", None]),
    ([1953, None, 1953, None, 1953], ["1.953", None]),  # some echoes are lost: not 0, not full
    ([1953, None, None, None, 1953], [None, "no_echo"]),
    ([None] * 5, [None, "no_echo"]),
    ([1953, 1200, 600, 3000, 2500], [None, "disagree"]),
    ([1953, 1953, 900, 900, 3000], [None, "disagree"]),
    ([1953, 1953, None, None, 900], [None, "disagree"]),
]


@pytest.mark.parametrize(("mm", "reading"), SPIKES)
def test_a_reading_is_what_most_of_its_frames_agree_on(mm: list[int | None], reading: list[str | None]) -> None:
    said = run(BENCH.format(settings="", unit_mm=1).replace("mm[0],", f"{mm}[us // 100000 % 5],") + "say(bench.read())")
    assert said == [[["distance", *reading]]]


def test_frames_that_agree_within_the_spread_are_one_reading() -> None:
    waves = BENCH.format(settings=", spread_mm=100", unit_mm=1)
    for high, reading in ((1900, ["1.850", None]), (1901, [None, "disagree"])):
        script = waves.replace("mm[0],", f"[1800, {high}, 1850, 2300, 900][us // 100000 % 5],")
        assert run(script + "say(bench.read())") == [[["distance", *reading]]]


def test_a_wrong_bit_makes_no_other_frame_at_any_distance() -> None:
    said = run(
        """
        from driver_bench import *
        from devices.a02yyuw import frame
        from headwall_node.ultrasound import find_frame
        found = []
        for mm in list(range(30, 4501, 29)) + [255, 256, 510, 511, 512, 513, 1023]:
            good = frame(mm)
            for start in range(4):
                if find_frame((good * 3)[start:])[0] != mm:
                    found.append((mm, start))
            for bit in range(32):
                bad = bytearray(good)
                bad[bit // 8] ^= 1 << bit % 8
                if find_frame(bytes(bad))[0] is not None:
                    found.append((mm, bit))
        say(found)
        """
    )
    assert said == [[]]


@pytest.mark.parametrize("mm", [511, 1023])
def test_the_same_wrong_bit_in_every_frame_gives_no_value(mm: int) -> None:
    """511 mm is FF 01 FF FF, 1023 mm FF 03 FF 01: the end of one and the beginning of the next can look like one."""
    said = bench(
        f"""
mm[0] = {mm}
say(bench.read())
for bit in range(32):
    fault(device, "garbled", bit)
    if bench.read() != [("distance", None, "bad_frame")]:
        say(bit)
say("end")
"""
    )
    assert said == [[["distance", f"{mm / 1000:.3f}", None]], "end"]


def test_one_frame_with_a_wrong_bit_is_left_out() -> None:
    said = bench(
        """
for bit in range(32):
    now = time.now_us()
    fault(device, "garbled", bit, now, now + 110000)
    if bench.read() != [("distance", "1.953", None)]:
        say(bit)
say("end")
"""
    )
    assert said == ["end"]


def test_a_line_full_of_noise_ends_the_reading_early_and_gives_no_value() -> None:
    said = bench(
        'fault(device, "flooding")\nbegun = time.now_us()\nsay(bench.read())\nsay(time.now_us() - begun < 1000000)'
    )
    assert said == [[["distance", None, "bad_frame"]], True]


def test_noise_takes_no_more_memory_the_longer_it_lasts() -> None:
    said = bench(
        """
import gc
fault(device, "flooding")
left = []
for _ in range(40):
    bench.read()
    gc.collect()
    left.append(gc.mem_alloc())
say(left[-1] - left[5])
"""
    )
    assert said[0] <= 512  # type: ignore[operator]


def test_a_twin_that_waits_for_an_edge_is_asked_for_each_frame() -> None:
    """The SEN0627 sends nothing by itself, and needs up to 2.5 s for a frame."""
    asked = BENCH.replace("{unit_mm})", 'unit_mm={unit_mm}, ask=b"\\xff", answer_ms=2500)')
    settings = ', unit="cm", median=3, timeout_ms=9000, blind_mm=300, range_mm=5000'
    for ask, reading in (("edge", ["1.950", None]), ("no", [None, "no_signal"])):
        script = asked.format(unit_mm=10, settings=settings + f', ask="{ask}"') + "say(bench.read())"
        assert run(script) == [[["distance", *reading]]]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ("blind_mm=500, range_mm=500", "blind_mm must be less than range_mm"),
        ('sound="node"', "temperature_from names the air's temperature exactly if sound is node"),
        ('temperature_from="air.temperature"', "temperature_from names the air's temperature exactly if sound is node"),
        ('ask="edge"', "timeout_ms must be 13200 or more for these median and cycle_ms"),
    ],
)
def test_settings_that_contradict_are_refused(settings: str, part: str) -> None:
    script = f'from driver_bench import *\ntry:\n    Bench(kind="a02yyuw", tx=17, rx=16, {settings})\n'
    assert run(script + "except ValueError as error:\n    say(str(error))") == ["sensor." + part]
