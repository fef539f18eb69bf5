from __future__ import annotations

from fractions import Fraction

import pytest
from headwall.hydrology.intensity import (
    MINUTE_US,
    hyetograph,
    peak_amount,
    peak_mm_h,
    rounded_mm_h,
    spread,
)
from headwall.units import parse_depth
from hypothesis import given
from hypothesis import strategies as st

TIP = parse_depth("0.01 in")
_RAIN = st.lists(st.tuples(st.integers(1, 90), st.integers(1, 5)), min_size=1, max_size=40)


def minutes(*points: tuple[float, int]) -> list[tuple[int, int]]:
    return [(round(minute * MINUTE_US), amount) for minute, amount in points]


def laid_out(gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    now, rain = 0, []
    for gap, amount in gaps:
        now += gap
        rain.append((now * MINUTE_US, amount))
    return rain


def test_one_tip_in_twenty_minutes_is_0_84_mm_h() -> None:
    rate = peak_mm_h(minutes((0, 1), (20, 1)), 20 * MINUTE_US, parse_depth("0.2794 mm"))
    assert rate is not None
    assert round(float(rate), 2) == 0.84
    assert peak_mm_h(minutes((0, 1), (20, 1)), MINUTE_US, parse_depth("0.2794 mm")) == rate


@pytest.mark.parametrize(("seconds", "rate"), [(914, 1), (91.4, 10), (18.3, 50), (4.57, 200)])
def test_tips_of_one_interval_have_its_rate(seconds: float, rate: float) -> None:
    rain = [(round(n * seconds * 1e6), 1) for n in range(400)]
    found = peak_mm_h(rain, 5 * MINUTE_US, TIP)
    assert found is not None
    assert float(found) == pytest.approx(rate, rel=0.002)


def test_first_tip_of_a_storm_has_no_intensity_of_its_own() -> None:
    assert spread(minutes((0, 1))) == []
    assert peak_mm_h(minutes((0, 30)), MINUTE_US, TIP) is None


def test_two_tips_within_a_second_are_spread_over_the_time_before_them() -> None:
    rain = minutes((0, 1), (10, 1), (10, 1))
    assert peak_amount(spread(rain), 5 * MINUTE_US) == 1


@pytest.mark.parametrize(("window", "expected"), [(20, Fraction(3)), (21, None)])
def test_storm_shorter_than_the_window_has_no_peak(window: int, expected: Fraction | None) -> None:
    assert peak_amount(spread(minutes((0, 1), (20, 3))), window * MINUTE_US) == expected


def test_interval_totals_are_spread_over_their_interval() -> None:
    rain = minutes((1, 6), (3, 6))
    assert peak_amount(spread(rain, MINUTE_US), MINUTE_US) == 6
    assert peak_amount(spread(rain, MINUTE_US), 2 * MINUTE_US) == 6
    assert peak_amount(spread(rain, MINUTE_US), 3 * MINUTE_US) == 12


def test_peak_lies_between_readings_where_that_is_more() -> None:
    # rates 1, 3 and 2 a minute: the best five minutes are the 4 at rate 3 and one at rate 2
    rain = minutes((0, 1), (10, 10), (14, 12), (24, 20))
    assert peak_amount(spread(rain), 5 * MINUTE_US) == 14


@given(_RAIN, st.sampled_from([5, 10, 15, 30, 60]))
def test_peak_of_minute_totals_is_the_greatest_sum_of_consecutive_minutes(
    gaps: list[tuple[int, int]], window: int
) -> None:
    rain = laid_out(gaps)
    by_minute = {instant // MINUTE_US: amount for instant, amount in rain}
    first, last = min(by_minute), max(by_minute)
    sums = [sum(by_minute.get(start + n, 0) for n in range(window)) for start in range(first, last - window + 2)]
    expected = Fraction(max(sums)) if last - first + 1 >= window else None
    assert peak_amount(spread(rain, MINUTE_US), window * MINUTE_US) == expected


@given(_RAIN)
def test_longer_window_never_has_the_greater_rate(gaps: list[tuple[int, int]]) -> None:
    rain = laid_out(gaps)
    rates = [rate for m in (5, 10, 20, 40) if (rate := peak_mm_h(rain, m * MINUTE_US, TIP)) is not None]
    assert rates == sorted(rates, reverse=True)


def test_rate_is_shown_to_a_thousandth() -> None:
    assert rounded_mm_h(Fraction(27432, 10000)) == 2.743
    assert rounded_mm_h(Fraction(2, 3)) == 0.667


def test_hyetograph_has_dry_bars_and_puts_an_edge_into_the_later() -> None:
    rain = minutes((1, 2), (15, 1), (44, 3), (50, 0))
    bars = hyetograph(rain, 15 * MINUTE_US)
    assert bars == [(0, 2), (15 * MINUTE_US, 1), (30 * MINUTE_US, 3)]
    assert hyetograph(minutes((1, 1), (59, 1)), 15 * MINUTE_US)[1:3] == [(15 * MINUTE_US, 0), (30 * MINUTE_US, 0)]


def test_hyetograph_puts_an_interval_total_where_it_fell() -> None:
    assert hyetograph(minutes((15, 4)), 15 * MINUTE_US, interval_us=MINUTE_US) == [(0, 4)]


def test_hyetograph_of_no_rain_is_empty() -> None:
    assert hyetograph([], MINUTE_US) == hyetograph([(5, 0)], MINUTE_US) == []


@given(_RAIN, st.integers(1, 60))
def test_hyetograph_holds_all_rain(gaps: list[tuple[int, int]], step: int) -> None:
    rain = laid_out(gaps)
    assert sum(amount for _, amount in hyetograph(rain, step * MINUTE_US)) == sum(amount for _, amount in rain)
