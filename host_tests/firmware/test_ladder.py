"""A ladder of electrodes: where sludge ends, where scum begins, where the surface is, and how surely."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drivers import run

pytestmark = pytest.mark.usefixtures("form")

BANDS = [
    {"medium": "liquid", "from_mv": 300, "to_mv": 800},
    {"medium": "sludge", "from_mv": 1000, "to_mv": 1600},
    {"medium": "scum", "from_mv": 1800, "to_mv": 2200},
    {"medium": "air", "from_mv": 2300, "to_mv": 3300},
]
#: before an optical gate sludge and scum look alike
OPTICAL = [
    {"medium": "liquid", "from_mv": 300, "to_mv": 800},
    {"medium": "sludge", "from_mv": 1000, "to_mv": 2200},
    {"medium": "scum", "from_mv": 1000, "to_mv": 2200},
    {"medium": "air", "from_mv": 2300, "to_mv": 3300},
]
MUX = """
from driver_bench import *
from devices.ladder import MuxLadder
sludge = [{sludge}]
ladder = pins(MuxLadder(lambda us: sludge[0], **{tank}))
bench = Bench(kind="ladder", pin=34, s0=25, s1=26, s2=27, s3=14, bands={bands}, **{settings})
say(bench.read())
"""


def mux(
    sludge: int | None = 300,
    *,
    bands: list[dict[str, Any]] = BANDS,
    tank: dict[str, Any] | None = None,
    **settings: Any,
) -> list[list[Any]]:
    given = {"count": 16, "pitch_mm": 50, "lowest_mm": 50, **settings}
    [found] = run(MUX.format(sludge=sludge, tank=tank or {}, bands=json.dumps(bands), settings=given))
    reading: list[list[Any]] = found
    return reading


def level(value: str, uncertainty: str) -> list[list[Any]]:
    return [["level", value, None], ["uncertainty", uncertainty, None]]


def null(reason: str) -> list[list[Any]]:
    return [["level", None, reason], ["uncertainty", None, reason]]


@pytest.mark.parametrize("sludge", [300, 320, 349])
def test_the_top_of_the_sludge_is_between_two_electrodes(sludge: int) -> None:
    """Electrodes at 50, 100, … 300 are in it, 350 is not."""
    assert mux(sludge) == level("0.325", "0.025")


def test_sludge_from_the_lowest_electrode_to_the_highest_but_one_is_told() -> None:
    assert mux(50) == level("0.075", "0.025")
    assert mux(799) == level("0.775", "0.025")


def test_no_sludge_is_no_layer_and_sludge_over_the_ladder_is_out_of_range() -> None:
    assert mux(None) == null("no_layer")
    assert mux(49) == null("no_layer")
    assert mux(800) == null("out_of_range")


def test_the_bottom_of_the_scum_is_told_from_the_same_ladder() -> None:
    tank = {"scum_mm": 640, "surface_mm": 740}
    assert mux(300, tank=tank, interface="scum") == level("0.625", "0.025")
    assert mux(300, tank=tank) == level("0.325", "0.025")
    assert mux(300, tank=tank, interface="surface") == level("0.725", "0.025")


def test_a_tank_without_scum_has_no_layer_of_it() -> None:
    assert mux(300, interface="scum") == null("no_layer")
    assert mux(300, tank={"surface_mm": 600}, interface="scum") == null("no_layer")


def test_scum_down_to_the_lowest_electrode_is_out_of_range() -> None:
    assert mux(None, tank={"scum_mm": 0}, interface="scum") == null("out_of_range")


@pytest.mark.parametrize("surface", [40, 1000])
def test_a_surface_below_or_above_the_ladder_is_out_of_range(surface: int) -> None:
    assert mux(None, tank={"surface_mm": surface}, interface="surface") == null("out_of_range")


def test_levels_are_counted_from_the_zero_that_lowest_mm_says() -> None:
    """Depths under the outlet invert are negative: the bottom of the scum 13 in under it."""
    tank = {"lowest_mm": -1000, "surface_mm": 0, "scum_mm": -330}
    assert mux(None, tank=tank, lowest_mm=-1000, pitch_mm=50, count=16, interface="scum") == level("-0.325", "0.025")


def test_an_odd_pitch_keeps_its_half_millimetres() -> None:
    assert mux(100, tank={"pitch_mm": 25, "lowest_mm": 0}, pitch_mm=25, lowest_mm=0) == level("0.1125", "0.0125")


def test_voltages_that_no_order_of_media_gives_disagree() -> None:
    assert mux(300, tank={"broken": {2: 500}}) == null("disagree")  # liquid within sludge
    assert mux(300, tank={"broken": {10: 2500}}) == null("disagree")  # an open electrode looks like air
    assert mux(300, tank={"broken": {12: 1300}}) == null("disagree")  # sludge on the liquid


def test_an_unclear_electrode_at_the_interface_widens_the_uncertainty() -> None:
    assert mux(300, tank={"broken": {6: 900}}) == level("0.35", "0.05")
    assert mux(300, tank={"broken": {6: 900}}, doubt=0) == null("low_confidence")
    assert mux(300, tank={"broken": {6: 900, 7: 900}}) == null("low_confidence")
    assert mux(300, tank={"broken": {6: 900, 7: 900}}, doubt=2) == level("0.375", "0.075")


def test_an_unclear_electrode_elsewhere_changes_nothing() -> None:
    assert mux(300, tank={"broken": {2: 900, 9: 900}}) == level("0.325", "0.025")


def test_an_unclear_electrode_that_may_be_the_whole_layer_is_no_proof_of_it() -> None:
    assert mux(None, tank={"broken": {0: 900}}) == null("low_confidence")
    assert mux(None, tank={"surface_mm": 700, "broken": {14: 900}}, interface="scum") == null("low_confidence")


@pytest.mark.parametrize(("millivolts", "known"), [(999, False), (1000, True), (1600, True), (1601, False)])
def test_ends_of_a_band_belong_to_it(millivolts: int, known: bool) -> None:
    found = mux(300, tank={"broken": {5: millivolts}})
    assert found == (level("0.325", "0.025") if known else level("0.3", "0.05"))


def test_before_an_optical_gate_the_order_tells_sludge_from_scum() -> None:
    tank = {"scum_mm": 640, "surface_mm": 740, "millivolts": {"sludge": 1500, "scum": 1500, "liquid": 500, "air": 2400}}
    assert mux(300, bands=OPTICAL, tank=tank) == level("0.325", "0.025")
    assert mux(300, bands=OPTICAL, tank=tank, interface="scum") == level("0.625", "0.025")


def test_a_fouled_optical_ladder_that_sees_one_thing_alone_tells_nothing() -> None:
    same = {"millivolts": {"sludge": 1500, "scum": 1500, "liquid": 1500, "air": 1500}}
    assert mux(300, bands=OPTICAL, tank=same) == null("low_confidence")


def test_electrodes_at_adc_chips_read_as_those_at_a_multiplexer() -> None:
    said = run(
        f"""
        from driver_bench import *
        from devices.ladder import ChipLadder
        for n in range(3):
            i2c(0, 72 + n, ChipLadder(lambda us: 300, first=4 * n))
        bench = Bench(kind="ladder", scl=22, sda=21, count=10, bands={BANDS})
        say(bench.read())
        fault(i2c(0, 73, ChipLadder(lambda us: 300, first=4)), "unplugged")
        say(bench.read())
        """
    )
    assert said == [level("0.325", "0.025"), null("fault")]


def test_sensors_of_one_ladder_share_its_pins_and_others_do_not() -> None:
    said = run(
        f"""
        from driver_bench import *
        from headwall_node.specs import check
        pins, streams = {{}}, {{}}
        one = dict(kind="ladder", pin=34, s0=25, s1=26, s2=27, bands={BANDS})
        say(check.sensor_faults("a.", dict(one, name="sludge"), pins, streams))
        say(check.sensor_faults("b.", dict(one, name="scum", interface="scum"), pins, streams))
        say(check.sensor_faults("c.", dict(kind="adc_voltage", pin=34), pins, streams))
        """
    )
    assert said == [[], [], ["c.pin 34 is used already: pin of mux 0"]]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ("pin=34, s0=25, s1=26, count=8, bands=bands", "s0 to s2 are needed for 8"),
        ("pin=34, s0=25, s1=26, s2=27, count=9, bands=bands", "s0 to s3 are needed for 9"),
        ("scl=22, sda=21, address=74, count=9, bands=bands", "the last address is 75"),
        ("count=8, bands=bands", "either scl and sda"),
        ("scl=22, sda=21, bands=bands[:1] * 2", "one for sludge is needed"),
        ('scl=22, sda=21, interface="scum", bands=bands[:2]', "one for scum is needed"),
        ('scl=22, sda=21, interface="surface", bands=bands[:2]', "one for air is needed"),
        ('scl=22, sda=21, bands=[dict(medium="sludge", from_mv=900, to_mv=900), bands[0]]', "must be less than to_mv"),
        ("pin=34, s0=25, s1=26, s2=27, count=8, bands=bands", "good"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_the_reason(settings: str, part: str) -> None:
    [said] = run(
        f"""
        from driver_bench import *
        bands = {BANDS}
        try:
            Bench(kind="ladder", {settings})
            say("good")
        except ValueError as error:
            say(str(error))
        """
    )
    assert part in said


def test_no_way_to_fill_the_ladder_is_forgotten() -> None:
    """Against every order of media that the voltages allow, for 3,000 ladders of 5 points drawn at random."""
    said = run(
        """
        from driver_bench import *
        from headwall_node.sensors.ladder import interface
        import random
        random.seed(7)

        def orders(media, last=0):
            if not media:
                return [[]]
            found = []
            for medium in range(last, 4):
                if media[0] >> medium & 1:
                    found += [[medium] + rest for rest in orders(media[1:], medium)]
            return found

        told = {}
        for _ in range(3000):
            media = [random.choice((1, 1, 2, 2, 4, 8, 5, 15)) for _ in range(5)]
            media = sorted(media) if random.randint(0, 3) else media
            ways = orders(media)
            for which, under in (("sludge", 0), ("scum", 1), ("surface", 2)):
                least, most, reason = interface(media, which, 5)
                heights = [sum([1 for medium in way if medium <= under]) for way in ways]
                if not ways:
                    assert reason == "disagree", media
                elif reason is None:
                    assert (least, most) == (min(heights), max(heights)), (media, which)
                    assert 0 < least and most < 5
                    assert which != "scum" or all([2 in way for way in ways])
                elif reason == "no_layer":
                    assert not any([(2 if which == "scum" else 0) in way for way in ways]), (media, which)
                elif reason == "out_of_range":
                    assert max(heights) == 0 or min(heights) == 5, (media, which)
                told[reason] = told.get(reason, 0) + 1
        say(sorted([str(reason) for reason in told]))
        say(min(told.values()) > 20)
        """
    )
    assert said == [["None", "disagree", "low_confidence", "no_layer", "out_of_range"], True]
