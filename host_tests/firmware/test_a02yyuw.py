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
        from headwall_node.sensors.a02yyuw import find_frame
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


def test_one_spike_among_the_frames_is_no_reading() -> None:
    said = run(
        BENCH.format(settings="", unit_mm=1).replace("mm[0],", "9 if us // 100000 % 5 == 0 else mm[0],")
        + "say(bench.read())"
    )
    assert said == [[["distance", "1.953", None]]]
