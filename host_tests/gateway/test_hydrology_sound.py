"""Speed of sound: the values of the sources, and ranges set right by them."""

from __future__ import annotations

import pytest
from headwall.errors import InputError
from headwall.hydrology.sound import in_air_m_s, in_water_m_s, range_m
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("air_c", "m_s"), [(-10, 325.18), (0, 331.30), (20, 343.21), (35, 351.89), (40, 354.73)]
)  # fmt: skip
def test_speed_in_air(air_c: float, m_s: float) -> None:
    assert in_air_m_s(air_c) == pytest.approx(m_s, abs=0.006)


@pytest.mark.parametrize(("water_c", "m_s"), [(10, 1447.29), (15, 1465.96), (20, 1482.38)])
def test_speed_in_water(water_c: float, m_s: float) -> None:
    assert in_water_m_s(water_c) == pytest.approx(m_s, abs=0.006)


def test_ranges_are_set_right() -> None:
    assert range_m(2.0, in_air_m_s(20), in_air_m_s(0)) == pytest.approx(1.93057, abs=5e-6)
    assert range_m(1.0, 1500, in_water_m_s(15)) == pytest.approx(0.9773, abs=5e-5)


@pytest.mark.parametrize("water_c", [-0.01, 95.01])
def test_water_outside_the_relation_is_refused(water_c: float) -> None:
    with pytest.raises(InputError, match="0 to 95"):
        in_water_m_s(water_c)


def test_the_ends_of_the_relation_hold_and_air_has_one_end() -> None:
    assert in_water_m_s(0) == pytest.approx(1402.385)
    assert in_water_m_s(95) > 1500
    with pytest.raises(InputError, match="no temperature"):
        in_air_m_s(-273.15)
    assert 0 < in_air_m_s(-273.14) < 3


@pytest.mark.parametrize(("shown_m", "assumed_m_s", "true_m_s", "true_m"), [(0.5, 340, 340, 0.5), (3, 300, 360, 3.6)])
def test_a_range_grows_as_the_speed_does(shown_m: float, assumed_m_s: float, true_m_s: float, true_m: float) -> None:
    assert range_m(shown_m, assumed_m_s, true_m_s) == pytest.approx(true_m)


@given(st.floats(-40, 59), st.floats(0.01, 1))
def test_warmer_air_is_faster(air_c: float, more_c: float) -> None:
    assert in_air_m_s(air_c + more_c) > in_air_m_s(air_c)
