"""The rain gauge on the hardware's counter: each tip once, and no rain out of noise, glitches and new beginnings."""

from __future__ import annotations

import json
import textwrap
from decimal import Decimal

import mp
import pytest

pytestmark = pytest.mark.usefixtures("form")

BOARD = mp.ROOT / "tools" / "headwall_sim" / "board"
BENCH = f"""
import sys
sys.path.append({str(mp.SCRIPTS)!r})
from gauge import *
sys.path += {[str(folder) for folder in (mp.STUBS.parent / "vtime", BOARD)]}
import _buses
from devices.pulses import Pulses
from headwall_node.sensors.tipping_counter import TippingCounter
_buses.now_us = lambda: Time.now * 1000
machine.Counter = _buses.Counter
tips, shift = [], [0]
_buses.pins[4] = Pulses(lambda us: sum([1 for t in tips if t * 1000 <= us]) + shift[0], pin=4)
Board.kind = TippingCounter
Board.settings = {{"kind": "tipping_counter", "name": "rain", "unit": 0, "pin": 4, "pull": "up", "edge": "falling",
                  "filter_ns": 12787, "most_hz": 2}}
def fall(*after):
    tips.extend([Time.now + ms for ms in after])
"""


def run(script: str) -> list[str]:
    return mp.run(BENCH + textwrap.dedent(script), heap="1M").splitlines()


@pytest.mark.parametrize(("depth", "tips"), [("0.254", 50), ("0.2", 64), ("0.1", 127), ("0.2794", 46)])
def test_half_an_inch_in_any_buckets_tips_is_counted_to_the_tip(depth: str, tips: int) -> None:
    """The board counts; the depth of a tip is the registry's."""
    [said] = run(
        f"""
        b = Board()
        fall(*[1000 + 700 * n for n in range({tips})])
        b.serve(1000 + 700 * {tips} + 3000)
        import json
        print(json.dumps([r[6] for r in b.journal.read(0, 9999) if r[5] == 1]))
        """
    )
    totals = json.loads(said)
    assert totals == list(range(1, tips + 1))
    assert Decimal(depth) * len(totals) >= Decimal("12.7") > Decimal(depth) * (len(totals) - 1)


def test_a_tips_time_is_right_to_the_second_and_in_order() -> None:
    [said] = run(
        """
        b = Board()
        fall(5300, 9100, 9650, 20000)
        b.serve(25000)
        import json
        print(json.dumps([[r[2] - T - 1000 for r in b.journal.read(0, 99) if r[5] == 1], tips]))
        """
    )
    told, true = json.loads(said)
    assert told == sorted(told)
    assert all(0 <= at - (tip - 1000) <= 1000 for at, tip in zip(told, true, strict=True))


def test_more_than_256_tips_of_a_storm_are_counted() -> None:
    assert run("b = Board()\nfall(*[600 * n for n in range(300)])\nb.serve(184000)\nprint(b.count())") == ["(300, 300)"]


def test_200_pulses_in_one_second_are_a_fault_and_no_rain_wherever_they_begin() -> None:
    for begin in (3000, 3450, 3995):
        said = run(
            f"""
            b = Board()
            fall(*[{begin} + 5 * n for n in range(200)])
            said = []
            for _ in range(20):
                b.serve(500)
                said += b.bucket.faults
            print(set(said))
            print(b.values(), b.count(), b.bucket.faults)
            fall(1000)
            b.serve(5000)
            print(b.values(), b.count())
            """
        )
        assert said == ["{'contact_chatter'}", "[0, 'fault'] (0, 0) []", "[0, 'fault', 1] (1, 1)"]


def test_bounce_that_the_hardware_counts_is_a_fault_and_no_rain() -> None:
    said = run("b = Board()\nfall(3100, 3103, 3107, 3112)\nb.serve(9000)\nprint(b.values(), b.count())")
    assert said == ["[0, 'fault'] (0, 0)"]


def test_noise_for_an_hour_is_told_as_fault_and_never_as_no_rain() -> None:
    said = run(
        """
        b = Board(report_s=600)
        b.serve(1500)
        for _ in range(3600):
            shift[0] += 50
            b.serve(1000)
        print(b.values()[1:4], 0 in b.values()[1:], 1 in b.values(), len(b.values()))
        """
    )
    assert said == ["['fault', 'fault', 'fault'] False False 8"]


def test_a_count_that_falls_and_comes_back_is_one_glitch_and_no_rain() -> None:
    said = run(
        """
        b = Board()
        fall(*[1000 * n for n in range(1, 61)])
        b.serve(65000)
        shift[0] = -40
        b.serve(1000)
        print(b.bucket.faults)
        shift[0] = 0
        b.serve(2000)
        fall(1000)
        b.serve(5000)
        print(b.count(), [v for v in b.values() if v not in (0, 1)])
        """
    )
    assert said == ["['contact_chatter']", "(61, 61) ['fault']"]


def test_a_counter_that_begins_at_zero_again_counts_on_from_there() -> None:
    said = run(
        """
        b = Board()
        fall(*[600 * n for n in range(1, 101)])
        b.serve(65000)
        shift[0] = -100
        b.serve(1000)
        fall(1000, 3000)
        b.serve(6000)
        print(b.count())
        """
    )
    assert said == ["(102, 102)"]


def test_a_turn_of_the_hardwares_counter_that_was_not_added_up_loses_no_tip() -> None:
    said = run(
        """
        b = Board()
        shift[0] = 1000000
        b = Board()
        fall(3000, 3600)
        b.serve(2000)
        shift[0] -= 32000
        b.serve(4000)
        print(b.count(), b.values())
        """
    )
    assert said == ["(2, 2) [0, 1, 1]"]


def test_reset_at_tip_1234_resumes_without_loss_or_repeat() -> None:
    said = run(
        """
        b = Board()
        b.journal.append_tip("rain.tips", T, None, None, 1233)
        fall(2500)
        b.serve(3100)                                       # seen, and not yet in the journal
        print(b.journal.total, b.retained.pending[0][1])
        b = Board(machine.WDT_RESET)
        print(b.journal.total, b.retained.pending)
        fall(2500)
        b.serve(5000)
        b = Board(machine.WDT_RESET)
        print([r[6] for r in b.journal.read(0, 99) if r[5] == 1])
        """
    )
    assert said == ["1233 1234", "1234 []", "[1233, 1234, 1235]"]


def test_a_dry_gauge_says_so_every_report_s() -> None:
    said = run("b = Board(report_s=900)\nb.serve(3600000)\nprint(b.values(), b.count())")
    assert said == ["[0, 0, 0, 0, 0] (0, 0)"]


def test_flash_that_refuses_keeps_the_tips_until_it_works() -> None:
    said = run(
        """
        b = Board(); b.serve(1000)
        real = flash.writeblocks
        def refuse(block, buf, offset=None): raise OSError(5)
        flash.writeblocks = refuse
        fall(1000, 2000)
        b.serve(6000)
        print(len(power.Retained().pending), b.count())
        flash.writeblocks = real
        b.serve(3000)
        print(len(power.Retained().pending), b.count())
        """
    )
    assert said == ["2 (0, 0)", "0 (2, 2)"]


def test_a_port_without_a_counter_is_a_fault_of_this_gauge_and_the_board_goes_on() -> None:
    said = run(
        """
        del machine.Counter
        b = Board()
        b.serve(3000)
        print(b.values(), b.bucket.faults)
        """
    )
    assert said[-1] == "['fault'] ['counter_missing']"


@pytest.mark.parametrize(
    ("mode", "sensors", "part"),
    [
        ("battery", [{"kind": "tipping_counter", "pin": 4}], "counts nothing in deep sleep"),
        ("battery", [{"kind": "pulse_meter", "pin": 4}], "counts nothing in deep sleep"),
        (
            "mains",
            [{"kind": "tipping_counter", "pin": 4}, {"kind": "pulse_meter", "pin": 5}],
            "counter 0 is used",
        ),
        ("mains", [{"kind": "tipping_counter", "pin": 4, "filter_ns": 12788}], "possible: 0 to 12787 ns"),
        (
            "mains",
            [{"kind": "tipping_bucket", "pin": n, "name": f"a{n}"} for n in range(12, 16)]
            + [{"kind": "tipping_counter", "pin": 4}],
            "5 rain gauges; mode mains can serve 4",
        ),
        ("mains", [{"kind": "tipping_counter", "pin": 4}, {"kind": "pulse_meter", "pin": 5, "unit": 1}], "[]"),
    ],
)
def test_settings_that_cannot_work_are_refused(mode: str, sensors: list[dict[str, object]], part: str) -> None:
    given = {"node": "n", "broker_host": "b", "mode": mode, "sensors": sensors}
    said = mp.run(f"from headwall_node import config\nprint(config.validate({given!r}))")
    assert part in said
