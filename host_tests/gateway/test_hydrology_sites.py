"""Sediment basins, turbidity pairs and the acceptance test of a new sewer."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import nextafter

import pytest
from headwall.errors import InputError
from headwall.hydrology.derived import Derived
from headwall.hydrology.sediment import StageVolume, depth_lost_percent, volume_lost_percent
from headwall.hydrology.sewer_leakage import LeakageTest, Number, Pipe
from headwall.hydrology.turbidity import added, added_between, background
from hypothesis import given
from hypothesis import strategies as st

MISSING = Derived(None, "missing")

# ---- sediment


def trough(level_m: float) -> float:
    """Volume of a basin 10 m wide and 20 m long with walls of 1 to 2 all round, below a level: exact."""
    a, b = 10 + 4 * level_m, 20 + 4 * level_m
    return level_m / 6 * (200 + a * b + 4 * (10 + 2 * level_m) * (20 + 2 * level_m))


BOX = StageVolume([(0, 0), (1, 200), (2, 400)])


@pytest.mark.parametrize(("level_m", "volume_m3"), [(0, 0), (0.5, 100), (1, 200), (1.25, 250), (2, 400)])
def test_volume_of_a_box(level_m: float, volume_m3: float) -> None:
    assert BOX.volume_m3(level_m).value == pytest.approx(volume_m3)


@pytest.mark.parametrize("level_m", [0.37, 0.93, 1.51])
def test_volume_of_a_basin_with_sloping_walls_errs_by_no_more_than_stated(level_m: float) -> None:
    """Eighth of the step squared times the change of area, which grows with the level: 120 + 32 x level m² per m."""
    step = 0.1
    table = StageVolume([(n * step, trough(n * step)) for n in range(21)])
    found = table.volume_m3(level_m).value
    assert found is not None
    assert 0 <= found - trough(level_m) <= step**2 / 8 * (120 + 32 * (level_m + step))


def test_volume_outside_its_table_is_censored_and_never_clamped() -> None:
    table = StageVolume([(0.1, 5), (1, 200)])
    assert table.volume_m3(0.1).value == 5
    assert table.volume_m3(nextafter(0.1, 0)) == Derived(None, "below_range", 5)
    assert table.volume_m3(1).value == 200
    assert table.volume_m3(nextafter(1, 2)) == Derived(None, "above_range", 200)


@given(st.floats(0, 2), st.floats(0, 2))
def test_volume_rises_with_the_level(one: float, other: float) -> None:
    low, high = sorted((one, other))
    below, above = BOX.volume_m3(low).value, BOX.volume_m3(high).value
    assert below is not None and above is not None and below <= above


def test_half_of_the_design_capacity_is_half_of_its_volume() -> None:
    table = StageVolume([(n / 10, trough(n / 10)) for n in range(21)])
    design = trough(2.0)
    found = volume_lost_percent(table, 1.2, design).value
    assert found == pytest.approx(100 * trough(1.2) / design)
    assert volume_lost_percent(BOX, 1, 400).value == 50
    assert found is not None and found < 60  # of the depth 60 % are gone: the two readings differ
    assert depth_lost_percent(1.2, 2.0).value == pytest.approx(60)


def test_more_than_the_design_capacity_cannot_be_lost() -> None:
    assert volume_lost_percent(BOX, 1.5, 300).value == 100
    assert volume_lost_percent(BOX, 1.51, 300) == Derived(None, "above_range", 100)
    assert volume_lost_percent(BOX, 2.1, 800) == Derived(None, "above_range", 50)
    assert volume_lost_percent(BOX, -0.1, 800) == Derived(None, "below_range", 0)
    assert depth_lost_percent(2.1, 2.0) == Derived(None, "above_range", 100)
    assert depth_lost_percent(0, 2.0) == Derived(0)
    assert depth_lost_percent(-0.1, 2.0) == Derived(None, "below_range", 0)


@pytest.mark.parametrize("points", [[(0, 0)], [(0, 0), (1, 0)], [(1, 0), (0, 5)]])
def test_table_that_does_not_rise_is_refused(points: list[tuple[float, float]]) -> None:
    with pytest.raises(InputError, match="stage-volume table"):
        StageVolume(points)


@pytest.mark.parametrize("lost", [lambda: volume_lost_percent(BOX, 1, 0), lambda: depth_lost_percent(1, 0)])
def test_basin_without_a_design_is_refused(lost: object) -> None:
    with pytest.raises(InputError, match="approved plan"):
        lost()  # type: ignore[operator]


# ---- turbidity


def ntu(value: float) -> Derived:
    return Derived(value)


def over(limit: float) -> Derived:
    return Derived(None, "above_range", limit)


def under(limit: float) -> Derived:
    return Derived(None, "below_range", limit)


@pytest.mark.parametrize(
    ("downstream", "other", "expected"),
    [
        (ntu(60), ntu(10), ntu(50)),
        (ntu(10), ntu(60), ntu(-50)),
        (over(4000), ntu(10), over(3990)),
        (over(4000), under(1), over(3999)),
        (ntu(60), over(4000), under(-3940)),
        (ntu(60), under(1), over(59)),
        (under(1), ntu(3), under(-2)),
        (over(4000), over(4000), MISSING),
        (under(1), under(1), MISSING),
        (MISSING, ntu(1), MISSING),
        (ntu(1), MISSING, MISSING),
    ],
)
def test_difference_of_turbidities_keeps_what_is_censored(
    downstream: Derived, other: Derived, expected: Derived
) -> None:
    assert added(downstream, other) == expected


def test_pairs_are_of_the_same_water() -> None:
    upstream = [(0, ntu(5)), (100, ntu(50)), (200, MISSING)]
    downstream = [(30, ntu(7)), (131, ntu(58)), (230, ntu(9)), (350, ntu(9))]
    found = added_between(downstream, upstream, travel_us=30, within_us=20)
    assert found == [(30, ntu(2)), (131, ntu(8)), (230, MISSING), (350, MISSING)]
    assert added_between([(120, ntu(60))], upstream, within_us=20) == [(120, ntu(10))]
    assert added_between([(49, ntu(60)), (51, ntu(60))], upstream, within_us=60) == [(49, ntu(55)), (51, ntu(10))]
    assert added_between([(121, ntu(60))], upstream[:2], within_us=20) == [(121, MISSING)]
    assert added_between(downstream[:1], [], within_us=20) == [(30, MISSING)]


def test_background_is_the_median_of_undisturbed_times() -> None:
    readings = [(n, float(n)) for n in range(10)] + [(20, 900.0)]
    assert background(readings, [(0, 4), (8, 9)], at_least=7) == ntu(3)
    assert background(readings, [(0, 4), (8, 9)], at_least=8) == MISSING
    assert background([], [(0, 9)], at_least=0) == MISSING


# ---- sewer


def acceptance(hours: Number, leaked_gal: Number) -> LeakageTest:
    return LeakageTest([Pipe(8, 300), Pipe(6, 60)], hours, leaked_gal, allowance=100)


def test_allowed_leakage_of_a_main_and_a_lateral() -> None:
    """300 ft of 8 in and 60 ft of 6 in are 0.5227 inch-miles: 52.27 gal a day, 4.356 gal in two hours."""
    day, two_hours = acceptance(24, 0), acceptance(2, 0)
    assert float(day.inch_mile_days) == pytest.approx(0.5227, abs=5e-5)
    assert float(day.allowed_gal) == pytest.approx(52.27, abs=5e-3)
    assert float(two_hours.allowed_gal) == pytest.approx(4.356, abs=5e-4)


@pytest.mark.parametrize(
    ("diameter_in", "length_ft", "hours", "allowed"), [(8, 5280, 24, 800), (10, 2640, 12, 250), (12, 1320, 48, 600)]
)
def test_allowed_leakage_of_one_pipe(diameter_in: int, length_ft: int, hours: int, allowed: int) -> None:
    assert LeakageTest([Pipe(diameter_in, length_ft)], hours, 0, 100).allowed_gal == allowed


def test_leakage_equal_to_the_allowance_passes_and_any_more_does_not() -> None:
    allowed = acceptance(2, 0).allowed_gal
    assert acceptance(2, allowed).passed
    assert acceptance(2, allowed).rate == 100
    assert not acceptance(2, allowed + Fraction(1, 10**12)).passed
    assert acceptance(2, Decimal("4.356")).passed
    assert not acceptance(2, Decimal("4.357")).passed
    assert LeakageTest([Pipe(8, 300)], 2, 0, allowance=0).passed


@pytest.mark.parametrize(
    ("test", "match"),
    [
        (lambda: Pipe(0, 10), "greater than 0"),
        (lambda: Pipe(8, 0), "greater than 0"),
        (lambda: LeakageTest([Pipe(8, 1)], 2, 0, -1), "must not be negative"),
        (lambda: LeakageTest([], 2, 0, 100), "needs the pipes"),
        (lambda: acceptance(0, 0), "did not last"),
        (lambda: acceptance(2, -1), "must not be negative"),
    ],
)
def test_acceptance_test_that_cannot_be_is_refused(test: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        test()  # type: ignore[operator]
