"""The rain gauge's driver: each tip once, whatever the contact, the interrupts and the power do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("form")


def run(script: str) -> list[str]:
    path = f"import sys\nsys.path.append({str(mp.SCRIPTS)!r})\n"
    return mp.run(path + "from gauge import *\n" + textwrap.dedent(script), heap="512K").splitlines()


def test_bounce_at_0_3_7_12_ms_and_a_tip_5_s_later_are_two_tips() -> None:
    said = run(
        """
        b = Board()
        b.edges([(1000, 0), (3, 1), (4, 0), (5, 1), (5000, 0), (100, 1)])
        b.serve(1000)
        print(b.values(), b.count())
        """,
    )
    assert said == ["[0, 1, 1] (2, 2)"]


def test_contact_closed_1200_ms_that_bounces_on_opening_is_one_tip() -> None:
    said = run(
        """
        b = Board()
        b.edges([(1000, 0), (1200, 1), (3, 0), (4, 1), (2, 0), (1, 1)])
        b.serve(2000)
        print(b.count())
        """,
    )
    assert said == ["(1, 1)"]


def test_falling_interrupt_fired_on_release_is_no_tip() -> None:
    said = run(
        """
        b = Board()
        b.serve(1000)
        for _ in range(5):
            b.serve(3000); pin.drive(0)
            b.serve(100); pin.level = 1; pin.ghost(); Time.now += 1; pin.ghost()
        b.serve(2000)
        print(b.count())
        """,
    )
    assert said == ["(5, 5)"]


def test_single_interference_edges_are_no_tips() -> None:
    said = run(
        """
        b = Board()
        for _ in range(20):
            b.serve(700); pin.ghost()
        b.serve(2000)
        print(b.count())
        """
    )
    assert said == ["(0, 0)"]


def test_two_closings_within_the_lockout_are_one_tip() -> None:
    said = run(
        """
        b = Board()
        b.edges([(1000, 0), (100, 1), (390, 0), (100, 1)])
        b.serve(2000)
        print(b.count())
        b.edges([(1000, 0), (100, 1), (400, 0), (100, 1)])
        b.serve(2000)
        print(b.count())
        """
    )
    assert said == ["(1, 1)", "(3, 3)"]


def test_tip_whose_interrupts_run_after_the_contact_opened_counts() -> None:
    said = run(
        """
        b = Board()
        b.serve(1000)
        pin.ghost(); Time.now += 1; pin.ghost()      # both edges of one closing, handled late
        b.serve(2000)
        print(b.count())
        """
    )
    assert said == ["(1, 1)"]


def test_tip_during_a_flash_erase_counts_though_one_late_interrupt_is_all_that_shows() -> None:
    said = run(
        """
        b = Board()
        b.serve(1000)
        real = flash.ioctl
        def erase(op, arg=0):
            result = real(op, arg)
            if op == 6:
                Time.now += 200
                pin.ghost()
            return result
        flash.ioctl = erase
        while flash.erases == 1:
            b.tips.report(0, None)
        flash.ioctl = real
        b.serve(2000)
        print(b.count())
        """
    )
    assert said == ["(1, 1)"]


def test_200_pulses_in_one_second_are_a_fault_and_no_rain() -> None:
    said = run(
        """
        b = Board()
        b.serve(1000)
        b.edges([(3, 0), (2, 1)] * 200)
        print(b.bucket.faults)
        b.serve(3000)
        print(b.values(), b.count(), b.bucket.faults)
        b.tip(); b.serve(1000)
        print(b.values())
        """,
    )
    assert said == ["['contact_chatter']", "[0, 'fault'] (0, 0) []", "[0, 'fault', 1]"]


def test_chatter_for_an_hour_is_reported_as_fault_and_never_as_no_rain() -> None:
    said = run(
        """
        b = Board(report_s=600)
        b.serve(1000)
        for _ in range(3600 * 4):
            for i in range(12):
                Time.now += 20; pin.drive(i % 2)
            b.bucket.service(); Time.now += 10
        print(b.values()[1:3], 0 in b.values()[1:], 1 in b.values(), len(b.values()))
        """
    )
    assert said[0].startswith("['fault', 'fault'] False False")


def test_contact_stuck_closed_at_power_on_is_one_tip_then_a_fault_and_no_wake_loop() -> None:
    said = run(
        """
        import esp32
        pin.level = 0
        b = Board()
        b.serve(12000)
        print(b.values(), b.count(), b.bucket.faults, b.bucket.may_sleep)
        for _ in range(3):
            b.retained.clock = b.clock.carry(); b.retained.save()
            sleep.deep_sleep(900000, ((pin, 0),))
            Time.now += 900000
            machine.reason = machine.TIMER_WAKE
            b = Board(machine.DEEPSLEEP_RESET)
            b.serve(20)
            print(b.count(), b.values()[-1], esp32.armed, b.bucket.faults, b.bucket.may_sleep)
        """,
    )
    assert said[0] == "[0, 1, 'stuck'] (1, 1) ['contact_stuck'] True"
    assert said[1:] == ["(1, 1) stuck {} ['contact_stuck'] True"] * 3


@pytest.mark.parametrize("level", [0, 1], ids=["still closed", "open again"])
def test_tip_that_wakes_the_board_counts_once(level: int) -> None:
    said = run(
        f"""
        b = Board()
        b.tip(); b.serve(1000)
        print(b.count(), b.bucket.may_sleep)
        b.retained.clock = b.clock.carry(); b.retained.save()
        sleep.deep_sleep(900000, ((pin, 0),))
        Time.now += 123000
        machine.reason = machine.EXT0_WAKE
        pin.level = {level}
        b = Board(machine.DEEPSLEEP_RESET)
        b.serve(100); pin.drive(1); b.serve(1000)
        print(b.count())
        """
    )
    assert said == ["(1, 1) True", "(2, 2)"]


def test_tip_wakes_and_the_next_tip_while_awake_are_two() -> None:
    said = run(
        """
        b = Board(); b.serve(1000)
        b.retained.clock = b.clock.carry(); b.retained.save()
        Time.now += 123000
        machine.reason = machine.EXT0_WAKE
        b = Board(machine.DEEPSLEEP_RESET)
        b.tip(); b.serve(1000)
        print(b.count(), b.bucket.may_sleep)
        """
    )
    assert said == ["(2, 2) True"]


def test_reset_at_tip_1234_resumes_without_loss_or_repeat() -> None:
    """Watchdog resets at three moments: tip in RTC memory only; in the journal and still pending; and neither."""
    said = run(
        """
        b = Board()
        for _ in range(7): b.tip()
        b.serve(1000)
        b.journal.append_tip("rain.tips", T, None, None, 1233); b.tips.write(None)
        b.edges([(600, 0)]); b.serve(5)
        print(b.retained.pending[0][1], b.journal.total)
        b = Board(machine.WDT_RESET)
        print(b.journal.total, b.retained.pending)
        pin.drive(1); b.serve(600); pin.drive(0)
        pending = list(b.retained.pending)
        b.serve(300)
        b.retained.pending[:] = pending; b.retained.save()      # as if the reset came before it was taken out
        b = Board(machine.WDT_RESET)
        print(b.journal.total, b.retained.pending)
        pin.drive(1); b.serve(600)
        b = Board(machine.WDT_RESET)
        b.tip(); b.serve(1000)
        print(b.journal.total, [r[6] for r in b.journal.read(0, 99) if r[5] == 1][-3:])
        """
    )
    assert said == ["1234 1233", "1234 []", "1235 []", "1236 [1234, 1235, 1236]"]


@pytest.mark.parametrize("before", [255, 65535, 16777215, 16777216, 2**31 - 1])
def test_count_of_tips_passes_the_widths_at_which_counters_and_floats_end(before: int) -> None:
    """8 and 16 bits, the 24 of a float's mantissa, and the sign of 32."""
    said = run(
        f"""
        b = Board()
        b.journal.append_tip("rain.tips", T, None, None, {before}); b.tips.write(None)
        b.tip(); b.tip(); b.serve(1000)
        b = Board(machine.WDT_RESET)
        print(b.journal.total, [r[6] for r in b.journal.read(0, 99) if r[5] == 1])
        """
    )
    assert said == [f"{before + 2} [{before}, {before + 1}, {before + 2}]"]


def test_pending_tips_over_a_new_journal_are_counted_from_one() -> None:
    said = run(
        """
        b = Board()
        for _ in range(5): b.tip()
        b.serve(1000)
        b.edges([(600, 0), (100, 1), (600, 0), (100, 1)], serve=False)
        nvs.kept.clear()
        b = Board(machine.WDT_RESET)
        print(b.journal.started, [r[6] for r in b.journal.read(0, 99) if r[5] == 1])
        """
    )
    assert said == ["blank [1, 2]"]


def test_tips_beyond_rtc_memory_show_as_a_jump_of_the_total() -> None:
    said = run(
        """
        b = Board(); b.serve(1000)
        b.edges([(500, 0), (100, 1)] * (power.PENDING_MAX + 3), serve=False)
        print(len(b.retained.pending), b.tips.missed)
        b.serve(1000)
        b.tip(); b.serve(1000)
        totals = [r[6] for r in b.journal.read(0, 99) if r[5] == 1]
        print(len(totals), totals[-2:], b.journal.total)
        """
    )
    assert said == ["8 3", "9 [8, 12] 12"]


def test_missed_tips_show_in_the_next_report_if_no_tip_follows() -> None:
    said = run(
        """
        b = Board(report_s=60); b.serve(1000)
        b.edges([(500, 0), (100, 1)] * (power.PENDING_MAX + 3), serve=False)
        b.serve(120000)
        print(b.journal.total, [r[5:7] for r in b.journal.read(0, 99)][-2:], b.tips.missed)
        """
    )
    assert said == ["11 [(0, 11), (0, 11)] 0"]


def test_dry_gauge_reports_zero_at_start_and_every_report_s_with_the_total_unchanged() -> None:
    said = run(
        """
        b = Board(report_s=900)
        b.tip()
        b.serve(3600000)
        print([(r[5], r[6], r[2] - T) for r in b.journal.read(0, 99)])
        """
    )
    assert said == ["[(0, 0, 1000), (1, 1, 1600), (0, 1, 901000), (0, 1, 1801000), (0, 1, 2701000), (0, 1, 3601000)]"]


def test_report_is_not_due_again_after_every_wake() -> None:
    said = run(
        """
        b = Board(report_s=900); b.serve(100)
        for _ in range(4):
            b.retained.clock = b.clock.carry(); b.retained.save()
            Time.now += 300000
            machine.reason = machine.TIMER_WAKE
            b = Board(machine.DEEPSLEEP_RESET); b.serve(100)
        print(b.values())
        """
    )
    assert said == ["[0, 0]"]


def test_tip_before_the_clock_is_known_carries_boot_id_and_uptime_and_is_dated_if_it_gets_known_in_time() -> None:
    said = run(
        """
        b = Board(synced=False)
        b.tip(); b.serve(1000)
        b.edges([(600, 0), (100, 1)])
        b.clock.set_utc_ms(T + Time.now, "ntp")
        b.serve(1000)
        for r in b.journal.read(0, 9):
            print(r[2] and r[2] - T - Time.now, r[3] == b.clock.boot_id, r[4])
        """
    )
    assert said == ["None True 0", "None True 600", "-1100 False None"]


def test_flash_that_refuses_keeps_the_tip_in_rtc_memory_until_it_works() -> None:
    said = run(
        """
        b = Board(); b.serve(1000)
        real = flash.writeblocks
        def refuse(block, buf, offset=None): raise OSError(5)
        flash.writeblocks = refuse
        b.tip(); b.serve(3000)
        print(len(power.Retained().pending), b.count())
        flash.writeblocks = real
        b.serve(3000)
        print(len(power.Retained().pending), b.count())
        """
    )
    assert said == ["1 (0, 0)", "0 (1, 1)"]


def test_lost_opening_interrupt_does_not_cost_the_next_tip() -> None:
    said = run(
        """
        b = Board(); b.serve(1000)
        pin.drive(0); b.serve(100)
        pin.level = 1                     # no interrupt
        b.serve(5000)
        b.tip(); b.serve(1000)
        print(b.count())
        """
    )
    assert said == ["(2, 2)"]


def test_run_as_a_task_serves_an_interrupt_at_once_and_beats(tmp_path: Path) -> None:
    """On MicroPython's own clock and asyncio, not the simulated ones."""
    said = mp.run(
        """
        import asyncio
        from flash import NVS, Flash
        from machine import Pin
        from headwall_node import clock, power
        from headwall_node.journal import Journal
        from headwall_node.sensors.tipping_bucket import Tips, TippingBucket
        settings = {"pin": 4, "pull": "up", "closed": 0, "lockout_ms": 500, "settle_ms": 50, "stuck_s": 10}
        r, c, j = power.Retained(), clock.Clock(), Journal(Flash(2), NVS(), b"uid")
        bucket = TippingBucket(settings, 0, Tips(j, r, c, ["rain.tips"]), r, 900)
        beats = []
        async def main():
            bucket.start()
            task = asyncio.create_task(bucket.run(lambda: beats.append(1)))
            await asyncio.sleep_ms(100)
            bucket.pin.drive(0)
            await asyncio.sleep_ms(100)
            bucket.pin.drive(1)
            await asyncio.sleep_ms(500)
            task.cancel()
        asyncio.run(main())
        print(j.total, [x[5] for x in j.read(0, 9)], len(beats) >= 3)
        """,
        lib=mp.compiled(),
        cwd=tmp_path,
    )
    assert said == "1 [0, 1] True\n"


# -- properties: whatever bounce, delay of interrupts, resets and sleep do, every tip stands once

BOUNCE = st.lists(st.integers(1, 4), max_size=3).map(lambda gaps: [gap for gap in gaps for _ in "xx"])
TIP = st.fixed_dictionaries(
    {
        "rest": st.integers(524, 3000),
        "closed": st.integers(60, 150),
        "closing": BOUNCE,
        "opening": BOUNCE,
        "late": st.sampled_from([0, 0, 0, 30, 400]),
        "then": st.sampled_from(["", "", "", "reset closed", "reset", "sleep", "sleep through"]),
    }
)


@pytest.fixture
def session(form: Path) -> Iterator[mp.Session]:
    session = mp.Session(mp.SCRIPTS / "gauge_storm.py", lib=form)
    yield session
    session.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(storm=st.lists(TIP, max_size=25))
def test_any_storm_counts_every_tip_once(session: mp.Session, storm: list[dict[str, Any]]) -> None:
    values, totals, pending = session.ask(storm)
    assert values.count(1) == len(storm), values
    assert set(values) <= {0, 1}
    assert totals == list(range(1, len(storm) + 1))
    assert pending == 0
