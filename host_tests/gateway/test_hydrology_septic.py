"""Clearances of septic tanks, forecasts of the pump-out, and the level over a pressure transducer."""

from __future__ import annotations

from math import inf

import pytest
from headwall.errors import InputError
from headwall.hydrology.pressure_level import water_above_m
from headwall.hydrology.septic import (
    Tank,
    scum_clearance_m,
    sludge_clearance_m,
    trend,
)
from hypothesis import given
from hypothesis import strategies as st

IN = 0.0254
TANK = Tank(floor_m=48 * IN, baffle_m=16 * IN)


@pytest.mark.parametrize(
    ("scum_bottom_in", "sludge_in", "scum_in", "sludge_clear_in"),
    [(13, 12, 3, 20), (8, 22, 8, 10), (8, 21, 8, 11), (8, 12, 8, 20), (14, 12, 2, 20), (17, 12, -1, 20)],
)
def test_clearances_of_a_tank_of_48_inches(
    scum_bottom_in: float, sludge_in: float, scum_in: float, sludge_clear_in: float
) -> None:
    assert scum_clearance_m(TANK, scum_bottom_in * IN) == pytest.approx(scum_in * IN)
    assert sludge_clearance_m(TANK, sludge_in * IN) == pytest.approx(sludge_clear_in * IN)


def test_a_look_that_found_no_scum_has_no_end_of_clearance() -> None:
    assert scum_clearance_m(TANK, None) == inf


@pytest.mark.parametrize("sludge_in", [-0.01, 48.01])
def test_sludge_that_does_not_fit_the_tank_is_refused(sludge_in: float) -> None:
    with pytest.raises(InputError, match="does not fit"):
        sludge_clearance_m(TANK, sludge_in * IN)
    assert sludge_clearance_m(TANK, 0) == pytest.approx(32 * IN)
    assert sludge_clearance_m(TANK, 48 * IN) == pytest.approx(-16 * IN)


def test_scum_reaches_down_to_the_floor_at_most() -> None:
    assert scum_clearance_m(TANK, 48 * IN) == pytest.approx(-32 * IN)
    with pytest.raises(InputError, match="does not fit"):
        scum_clearance_m(TANK, 48.01 * IN)


@pytest.mark.parametrize("baffle", [0.0, 1.2, 1.3])
def test_tank_whose_baffle_ends_outside_it_is_refused(baffle: float) -> None:
    with pytest.raises(InputError, match="between the two"):
        Tank(1.2, baffle)


def test_trend_of_a_year_reaches_22_inches_on_day_1740() -> None:
    found = trend([0, 90, 180, 270, 365], [2.0, 3.1, 4.0, 5.1, 6.2])
    assert found is not None
    assert found.slope_m_day == pytest.approx(0.0114942, abs=5e-8)
    reached = found.day_of(22)
    assert reached is not None
    expected, earliest, latest = reached
    assert expected == pytest.approx(1740, abs=1)
    assert earliest <= expected and (latest is None or latest >= expected)


def test_linear_growth_of_18_percent_in_26_months_reaches_30_percent_in_43() -> None:
    found = trend([0, 13, 26], [0.0, 9.0, 18.0])
    assert found is not None
    reached = found.day_of(30)
    assert reached is not None and reached[0] == pytest.approx(43.3, abs=0.05)


def test_no_date_is_given_without_three_measurements_or_a_rise() -> None:
    assert trend([0, 30], [1.0, 2.0]) is None
    falling = trend([0, 30, 60], [3.0, 2.0, 1.0])
    assert falling is not None and falling.day_of(22) is None


def test_one_wrong_measurement_hardly_moves_the_date() -> None:
    days = list(range(0, 300, 30))
    good = [0.01 * day for day in days]
    bad = [*good]
    bad[4] = 9.0
    right, wrong = trend(days, good), trend(days, bad)
    assert right is not None and wrong is not None
    assert wrong.slope_m_day == pytest.approx(right.slope_m_day, rel=0.02)


def test_measurements_without_their_day_are_refused() -> None:
    with pytest.raises(InputError, match="each value needs its day"):
        trend([0, 1], [1.0])
    with pytest.raises(InputError, match="one value a day"):
        trend([0, 1, 1], [1.0, 2.0, 3.0])


depths = st.floats(0, 48 * IN)


@given(st.tuples(depths, depths).map(sorted))
def test_more_scum_or_sludge_is_never_more_clearance(pair: list[float]) -> None:
    low, high = pair
    assert scum_clearance_m(TANK, high) <= scum_clearance_m(TANK, low)
    assert sludge_clearance_m(TANK, high) <= sludge_clearance_m(TANK, low)


def test_water_over_an_unvented_transducer() -> None:
    assert water_above_m(111131.6, 101325, 999.1) == pytest.approx(1.0009, abs=5e-5)
    assert water_above_m(101425, 101325, 999.1) == pytest.approx(0.0102, abs=5e-5)
    assert water_above_m(201325, 101325, 1000) == pytest.approx(10.1972, abs=5e-5)  # 1 bar
    assert water_above_m(101325, 101325, 999.1) == 0
    assert water_above_m(101225, 101325, 999.1) < 0
