"""How fast sensors are read while it rains or a stage rises, and readings of maintenance mode."""

from __future__ import annotations

import textwrap

import mp
import pytest

pytestmark = pytest.mark.usefixtures("form")

PRELUDE = """
from headwall_node.maintenance import Maintenance
from headwall_node.pace import Pace, millimetres
MINUTE = 60000


class Clock:
    boot_id, before_ms, up = "0badcafe", None, 0
    def uptime_ms(self): return Clock.up

class Retained:
    pace, maintenance, clock, saves = b"", (0, 0), ("0badcafe", 0, None, None, 0), 0
    def save(self): self.saves += 1

clock, retained = Clock(), Retained()
given = {"rise_of": "stage.distance", "rise_mm": 20, "rise_minutes": 15, "fast_minutes": 30}

def begin(slept=True, before_ms=None):
    clock.before_ms = before_ms
    return Pace(given, 7, clock, retained)

def stages(pace, every, mm):
    "Whether it is fast after each of these distances, one in so many minutes."
    said = []
    for each in mm:
        pace.note("stage.distance", "%d.%03d" % (each // 1000, each % 1000))
        said.append(pace.fast)
        Clock.up += every * MINUTE
    return said
"""


def run(script: str) -> list[str]:
    return mp.run(PRELUDE + textwrap.dedent(script)).splitlines()


def test_rain_makes_it_fast_until_it_has_been_dry_for_the_time_set() -> None:
    said = run(
        """
        pace = begin()
        print(pace.fast, pace.rain(7), pace.rain(8), pace.fast)
        Clock.up += 20 * MINUTE; print(pace.rain(9), pace.rain(9))
        Clock.up += 30 * MINUTE - 1; print(pace.fast)
        Clock.up += 1; print(pace.fast)
        """
    )
    assert said == ["False False True True", "False False", "True", "False"]


def test_stage_that_rises_fast_enough_makes_it_fast_and_a_falling_one_does_not() -> None:
    said = run(
        """
        print(any(stages(begin(), 5, [2000, 1994, 1988, 1982])))      # 18 mm in 15 minutes
        print(stages(begin(), 5, [1982, 1978, 1962, 1962]))           # 20 mm within 15
        retained.pace = b""
        print(any(stages(begin(), 5, [1000, 1050, 1200, 1190, 1181])))  # it falls, and then rises by 19
        """
    )
    assert said == ["False", "[False, False, True, True]", "False"]


def test_stage_that_is_read_seldom_is_judged_by_its_rate() -> None:
    said = run(
        """
        print(stages(begin(), 60, [2000, 1930, 1840, 1840, 1840]))  # 20 mm in 15 minutes are 80 in 60
        """
    )
    assert said == ["[False, False, True, False, False]"]


def test_half_of_the_rise_keeps_it_fast_so_that_it_does_not_change_to_and_fro() -> None:
    said = run(
        """
        pace = begin()
        stages(pace, 15, [2000, 1980])
        print(stages(pace, 15, [1969, 1958, 1947, 1936, 1936, 1936, 1936]))
        print(any(stages(pace, 15, [1925, 1914, 1903])))  # the same rise does not begin it
        """
    )
    assert said == ["[True, True, True, True, True, False, False]", "False"]


def test_noise_of_the_sensor_is_no_rise() -> None:
    said = run("""print(any(stages(begin(), 1, [2000 + (i * 7919 % 11) - 5 for i in range(500)])))""")
    assert said == ["False"]


def test_null_changes_nothing_and_another_stream_neither() -> None:
    said = run(
        """
        pace = begin()
        pace.note("stage.distance", "2.000"); pace.note("stage.distance", None); pace.note("tank.level", "9")
        print(pace.fast)
        """
    )
    assert said == ["False"]


def test_pace_lasts_through_sleep_and_reset_and_is_forgotten_with_the_power() -> None:
    said = run(
        """
        begin().rain(8); Clock.up += 5 * MINUTE
        print(begin().fast)
        before, Clock.up = Clock.up, 0
        pace = begin(before_ms=before); print(pace.fast)
        Clock.up = 25 * MINUTE - 1; print(pace.fast); Clock.up += 1; print(pace.fast)
        retained.pace = b""; print(begin().fast)
        """
    )
    assert said == ["True", "True", "True", "False", "False"]


def test_metres_become_whole_millimetres_without_a_float() -> None:
    said = run("""print([millimetres(v) for v in (2, -1, "0.001", "-0.010", "12.34", "1.2345", "-0")])""")
    assert said == ["[2000, -1000, 1, -10, 12340, 1234, 0]"]


def test_maintenance_mode_ends_by_itself_and_covers_what_happened_in_it_alone() -> None:
    said = run(
        """
        Clock.up = 1000
        mode = Maintenance(retained, clock)
        print(mode.left_ms, mode.covers("0badcafe", 1000))
        mode.set(10)
        print([mode.covers("0badcafe", up) for up in (999, 1000, 600999, 601000)], mode.left_ms)
        Clock.up += 60000; mode.set(2)      # prolonged, or cut short: the beginning stays
        print(mode.left_ms, mode.covers("0badcafe", 1000), mode.covers("00000001", 5))
        Clock.up += 30000; mode.set(0)
        print(mode.left_ms, mode.covers("0badcafe", 90999), mode.covers("0badcafe", 91000), mode.covers("00000001", 5))
        """
    )
    assert said == ["0 False", "[False, True, True, False] 600000", "120000 True True", "0 True False False"]


def test_maintenance_mode_lasts_through_a_reset_and_not_where_nobody_knows_how_long_it_took() -> None:
    said = run(
        """
        Clock.up = 1000
        Maintenance(retained, clock).set(10)
        Clock.up, clock.before_ms, clock.boot_id = 0, 61000, "00000002"
        print(Maintenance(retained, clock).left_ms, retained.maintenance)
        clock.before_ms, clock.boot_id = None, "00000003"
        print(Maintenance(retained, clock).left_ms)
        """
    )
    assert said == ["540000 (-60000, 540000)", "0"]
