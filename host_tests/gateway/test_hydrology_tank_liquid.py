"""Liquid of a septic tank: tolerance and dwell at their ends, surges, and a tank that does not hold its water."""

from __future__ import annotations

from itertools import pairwise

import pytest
from headwall.hydrology.tank_liquid import Above, Surge, above_invert, sinkings, surges
from hypothesis import given
from hypothesis import strategies as st

MIN = 60_000_000
H = 60 * MIN
LEVELS = st.lists(st.one_of(st.none(), st.floats(-1, 0.3)), max_size=40).map(
    lambda values: [(n * 10 * MIN, value) for n, value in enumerate(values)]
)


def hourly(*levels: float | None) -> list[tuple[int, float | None]]:
    return [(n * H, level) for n, level in enumerate(levels)]


# ---- above the invert


def test_what_exceeds_the_tolerance_is_above_and_equality_is_not() -> None:
    assert above_invert(hourly(0.0127), tolerance_m=0.0127, dwell_us=0) == []
    assert above_invert(hourly(0.0128), tolerance_m=0.0127, dwell_us=0) == [Above(0, 0, 0.0128, True, False)]


@pytest.mark.parametrize(("dwell_us", "dwelt"), [(2 * H - 1, True), (2 * H, True), (2 * H + 1, False), (0, True)])
def test_dwell_is_met_when_it_has_lasted_so_long(dwell_us: int, dwelt: bool) -> None:
    found = above_invert(hourly(0, 0.02, 0.05, 0.03, 0), tolerance_m=0.01, dwell_us=dwell_us)
    assert found == [Above(H, 3 * H, 0.05, dwelt, True)]


def test_missing_level_ends_no_stretch_and_is_not_counted_as_one() -> None:
    assert above_invert(hourly(0.02, None, 0.02), tolerance_m=0.01, dwell_us=2 * H) == [
        Above(0, 2 * H, 0.02, True, False)
    ]
    assert above_invert(hourly(None, None), tolerance_m=0.01, dwell_us=0) == []


def test_nothing_is_said_of_a_gap() -> None:
    levels = [(0, 0.02), (H, 0.02), (26 * H, 0.02), (27 * H, 0.0)]
    found = above_invert(levels, tolerance_m=0.01, dwell_us=2 * H)
    assert [(each.start_us, each.end_us, each.dwelt) for each in found] == [(0, H, False), (26 * H, 26 * H, False)]


@given(LEVELS, st.floats(0, 0.1), st.integers(0, 5 * H))
def test_more_tolerance_or_dwell_never_finds_more(levels: list[tuple[int, float]], more_m: float, more_us: int) -> None:
    def found(tolerance_m: float, dwell_us: int) -> int:
        stretches = above_invert(levels, tolerance_m=tolerance_m, dwell_us=dwell_us)
        return sum(each.end_us - each.start_us for each in stretches if each.dwelt)

    assert found(0.01 + more_m, H) <= found(0.01, H)
    assert found(0.01, H + more_us) <= found(0.01, H)


# ---- surges


def test_surge_is_a_rise_within_its_time() -> None:
    levels = [(0, 0.0), (10 * MIN, 0.03), (20 * MIN, 0.06), (30 * MIN, 0.08), (60 * MIN, 0.01), (70 * MIN, 0.0)]
    assert surges(levels) == [Surge(0, 30 * MIN, 0.08)]
    assert surges([(n * 30 * MIN, n * 0.02) for n in range(10)]) == []
    assert surges([(0, 0.0), (60 * MIN, 0.05)]) == [Surge(0, 60 * MIN, 0.05)]
    assert surges([(0, 0.0), (60 * MIN, 0.0499)]) == []
    assert surges([(0, 0.0), (60 * MIN + 1, 0.05)]) == []


def test_two_surges_are_two_when_half_has_gone_between_them() -> None:
    one = [(n * 10 * MIN, level) for n, level in enumerate([0, 0.06, 0.07, 0.02, 0.0, 0.06, 0.0])]
    assert [each.start_us for each in surges(one)] == [0, 40 * MIN]
    kept = [(n * 10 * MIN, level) for n, level in enumerate([0, 0.06, 0.07, 0.05, 0.06, 0.07, 0.0])]
    assert len(surges(kept)) == 1


@given(LEVELS)
def test_surges_rise_as_much_as_asked_and_do_not_overlap(levels: list[tuple[int, float]]) -> None:
    found = surges(levels)
    assert all(each.rise_m >= 0.05 and each.start_us < each.peak_us for each in found)
    assert all(one.peak_us < other.peak_us for one, other in pairwise(found))


# ---- a tank that sinks


def sinking(m_hour: float, hours: int = 9, from_m: float = -0.05) -> list[tuple[int, float]]:
    return [(n * H, from_m - n * m_hour) for n in range(hours)]


def test_a_tank_that_sinks_through_a_night_below_its_invert_does_not_hold() -> None:
    (found,) = sinkings(sinking(0.002), tolerance_m=0.0127)
    assert found.drop_m == pytest.approx(0.016)
    assert sinkings(sinking(0.001), tolerance_m=0.0127) == []  # 8 mm, less than the least drop
    assert sinkings(sinking(0.004, hours=6), tolerance_m=0.0127) == []  # five hours


def test_a_level_at_the_invert_is_no_leak_however_it_sinks() -> None:
    assert sinkings(sinking(0.002, from_m=0.02), tolerance_m=0.0127) == []


def test_inflow_ends_a_quiet_stretch() -> None:
    night = sinking(0.002)
    refilled = [(time_us, level + (0.006 if n > 4 else 0)) for n, (time_us, level) in enumerate(night)]
    assert sinkings(refilled, tolerance_m=0.0127) == []


def test_a_tank_that_is_being_pumped_is_no_leak() -> None:
    levels = [(0, -0.02), (H, -1.0), *((n * H, -1.0 - n * 0.0001) for n in range(2, 12))]
    assert sinkings(levels, tolerance_m=0.0127) == []


@given(LEVELS)
def test_what_sinks_is_below_the_invert_and_as_much_as_asked(levels: list[tuple[int, float]]) -> None:
    for each in sinkings(levels, tolerance_m=0.0127):
        assert each.drop_m >= 0.01
        assert each.end_us - each.start_us >= 6 * H
