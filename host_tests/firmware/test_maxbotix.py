"""MaxBotix rangers: their three forms, what they say without a target, levels and banner."""

from __future__ import annotations

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BENCH = """
from driver_bench import *
from devices.maxbotix import Maxbotix
mm = [1953]
device = uart(1, Maxbotix(lambda us: {world}{model}))
bench = Bench(kind="maxbotix", tx=17, rx=16{settings})
"""
CM = (
    "unit_um=10000, digits=3, nearest=20, no_target=765",
    'unit="cm", digits=3, no_target=765, blind_mm=200, range_mm=7640',
)
INCH = (
    "unit_um=25400, digits=3, nearest=6, no_target=254",
    'unit="in", digits=3, no_target=254, blind_mm=153, range_mm=6430',
)
TEN_M = ("nearest=500, no_target=9999", "no_target=9999, blind_mm=500, range_mm=9998")


def bench(script: str, model: str = "", settings: str = "", world: str = "mm[0]") -> list[object]:
    head = BENCH.format(world=world, model=", " + model if model else "", settings=", " + settings if settings else "")
    return run(head + script)


def reading(value: str | None, reason: str | None = None) -> list[list[str | None]]:
    return [["distance", value, reason]]


def test_each_form_of_the_text_gives_its_value_and_no_other_form_does() -> None:
    said = run(
        r"""
        from driver_bench import *
        from headwall_node.sensors.maxbotix import find_reading
        for text, digits in (
            (b"R1234\r", 4), (b"R0300\r", 4), (b"R195\r", 3), (b"R077\r", 3),
            (b"1\rR1234\r", 4), (b"RR1234\r", 4), (b"R12R1234\r", 4),
            (b"R1234\r", 3), (b"R195\r", 4), (b"R1234\n", 4), (b"R12 4\r", 4), (b"r1234\r", 4), (b"R1234", 4),
        ):
            say(find_reading(text, 0, digits)[0])
        """
    )
    assert said == [1234, 300, 195, 77, 1234, 1234, 1234] + [None] * 6


def test_millimetres_centimetres_and_inches_are_told_in_metres_exactly() -> None:
    assert bench("say(bench.read())") == [reading("1.953")]
    assert bench("say(bench.read())", *CM) == [reading("1.950")]
    assert bench("say(bench.read())", *INCH) == [reading("1.9304")]  # 76 in


@pytest.mark.parametrize(
    ("model", "mm", "wanted"),
    [
        (("", ""), 300, reading(None, "blind_zone")),  # all that is nearer it tells as 300, too
        (("", ""), 100, reading(None, "blind_zone")),
        (("", ""), 301, reading("0.301")),
        (("", ""), 4999, reading("4.999")),
        (("", ""), 5000, reading(None, "no_echo")),
        (("", ""), None, reading(None, "no_echo")),
        (TEN_M, 500, reading(None, "blind_zone")),
        (TEN_M, 501, reading("0.501")),
        (TEN_M, 5000, reading("5.000")),
        (TEN_M, 9998, reading("9.998")),
        (TEN_M, None, reading(None, "no_echo")),
        (CM, 200, reading(None, "blind_zone")),
        (CM, 210, reading("0.210")),
        (CM, 7640, reading("7.640")),
        (CM, 7650, reading(None, "no_echo")),
        (INCH, 160, reading(None, "blind_zone")),
        (INCH, 178, reading("0.1778")),
        (INCH, 6427, reading("6.4262")),
        (INCH, 6452, reading(None, "no_echo")),
    ],
)
def test_both_sides_of_each_end_of_a_models_range(model: tuple[str, str], mm: int | None, wanted: object) -> None:
    assert bench(f"mm[0] = {mm}\nsay(bench.read())", *model) == [wanted]


def test_a_value_beyond_the_range_that_was_set_is_out_of_range() -> None:
    said = bench("for mm[0] in (3000, 3001):\n    say(bench.read())", "", "range_mm=3000")
    assert said == [reading("3.000"), reading(None, "out_of_range")]


def test_its_banner_at_power_on_is_no_reading_and_disturbs_none() -> None:
    said = bench("device.on_us = time.now_us() + 100000\nsay(bench.read())\nsay(bench.read())")
    assert said == [reading("1.953")] * 2


def test_inverted_levels_are_read_with_that_setting_and_with_no_other() -> None:
    wrong = reading(None, "bad_frame")
    assert bench("say(bench.read())", "inverted=True", 'levels="rs232"') == [reading("1.953")]
    assert bench("say(bench.read())", "inverted=True") == [wrong]
    assert bench("say(bench.read())", "", 'levels="rs232"') == [wrong]


def test_the_wrong_number_of_digits_is_no_reading() -> None:
    assert bench("say(bench.read())", *CM[:1], 'unit="cm", digits=4') == [reading(None, "bad_frame")]


def test_a_text_that_has_lost_a_digit_is_no_reading() -> None:
    script = (
        "text = device._text\n"
        "device._text = lambda at_us: text(at_us).replace(b'95', b'9') if at_us // 148000 % 2 else text(at_us)\n"
        "say(bench.read())"
    )
    assert bench(script) == [reading("1.953")]


def test_a_wrong_digit_in_a_minority_of_its_texts_changes_nothing() -> None:
    """The text has no checksum: any digit can become another one by one bit."""
    said = bench(
        """
for bit in range(8, 40):
    while time.now_us() % 148000 > 10000:
        time.sleep_ms(5)
    now = time.now_us()
    fault(device, "garbled", bit, now, now + 290000)
    if bench.read() != [("distance", "1.953", None)]:
        say(bit)
say("end")
"""
    )
    assert said == ["end"]


@pytest.mark.parametrize(
    ("mm", "wanted"),
    [
        ("(1953, 1953, 4000, 1953, 1953)", reading("1.953")),
        ("(1953, None, 1953, None, 1953)", reading("1.953")),
        ("(1953, None, None, None, 1953)", reading(None, "no_echo")),
        ("(1953, 600, 4100, 2900, 1200)", reading(None, "disagree")),
    ],
)
def test_a_reading_is_what_most_of_its_texts_agree_on(mm: str, wanted: object) -> None:
    assert bench("say(bench.read())", world=f"{mm}[us // 148000 % 5]") == [wanted]


def test_a_model_without_a_thermometer_is_corrected_once() -> None:
    """2000 mm at an assumed 20 °C are 1931 mm at 0 °C; one that corrects itself is left alone."""
    script = 'mm[0] = 2000\nbench.rig.note("air.temperature", "0.0")\nsay(bench.read())'
    node = 'sound="node", temperature_from="air.temperature", assumed_cel=20'
    assert bench(script, "", node) == [reading("1.931")]
    assert bench(script) == [reading("2.000")]
    assert bench("say(bench.read())", "", node) == [reading(None, "not_ready")]


def test_a_line_full_of_noise_ends_the_reading_early_and_gives_no_value() -> None:
    said = bench(
        'fault(device, "flooding")\nbegun = time.now_us()\nsay(bench.read())\nsay(time.now_us() - begun < 1000000)'
    )
    assert said == [reading(None, "bad_frame"), True]


def test_a_dead_sensor_is_null_within_its_timeout_and_reads_again_when_it_is_back() -> None:
    said = bench('fault(device, "unplugged")\nsay(bench.read())\nfault(device, None)\nsay(bench.read())')
    assert said == [reading(None, "no_signal"), reading("1.953")]


def test_no_target_must_fit_the_digits() -> None:
    script = "from driver_bench import *\nfrom headwall_node.specs import check\n"
    given = {"kind": "maxbotix", "tx": 17, "rx": 16, "unit": "cm", "digits": 3}
    said = run(script + f"say(check.sensor_faults('', {given}, {{}}, {{}}))")
    assert said == [["no_target has more digits than digits says"]]


@pytest.mark.parametrize(
    ("stream", "fits"), [("air.temperature", True), ("air.humidity", False), ("tank.temperature", False)]
)
def test_the_temperature_must_come_from_a_sensor_of_the_same_board(stream: str, fits: bool) -> None:
    ranger = {"kind": "maxbotix", "tx": 17, "rx": 16, "sound": "node", "temperature_from": stream}
    air = {"kind": "bme280", "name": "air", "sda": 21, "scl": 22}
    given = {"node": "n", "broker_host": "b", "sensors": [ranger, air]}
    script = f"from headwall_node import config\nfrom driver_bench import say\nsay(config.validate({given}))"
    wanted = [] if fits else [f"sensors[0].temperature_from: no sensor here has a stream {stream}"]
    assert run(script) == [wanted]
