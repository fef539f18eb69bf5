from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from headwall.hydrology.counter import count
from hypothesis import given
from hypothesis import strategies as st


def faults(readings: list[int], modulus: int | None = None) -> list[str]:
    return [flag.kind for flag in count(readings, modulus=modulus).flags]


def test_counter_that_falls_and_comes_back_books_nothing() -> None:
    readings = [1936, 525, 1936]  # tenths of a millimetre
    assert count(readings).amounts == [0, 0, 0]
    assert faults(readings) == ["glitch"]


def test_counter_that_starts_anew_counts_from_there() -> None:
    assert sum(count([1000, 0, 1, 2]).amounts) == 2
    assert faults([1000, 0, 1, 2]) == ["reset"]


def test_first_reading_after_a_reset_is_no_sudden_rain() -> None:
    assert count([1000, 300, 301, 305]).amounts == [0, 0, 1, 4]


@pytest.mark.parametrize(
    ("readings", "modulus", "tips"), [([65534, 3], 65536, 5), ([218, 2], 220, 4), ([250, 6], 256, 12)]
)
def test_counter_that_passes_its_modulus_goes_on(readings: list[int], modulus: int, tips: int) -> None:
    assert count(readings, modulus=modulus).amounts == [0, tips]
    assert faults(readings, modulus) == []


def test_fall_that_would_mean_most_of_the_modulus_is_a_reset() -> None:
    assert count([40, 0, 1], modulus=220).amounts == [0, 0, 1]
    assert faults([40, 0, 1], 220) == ["reset"]


def test_wrap_is_believed_up_to_a_quarter_of_the_modulus() -> None:
    assert count([200, 35], modulus=220) == ([0, 55], [])
    assert count([200, 36], modulus=220).amounts == [0, 0]
    assert faults([200, 36], 220) == ["reset"]


def test_dip_to_half_is_a_glitch_and_below_it_a_reset() -> None:
    assert faults([100, 50]) == ["glitch"]
    assert faults([100, 49]) == ["reset"]


def test_three_readings_in_a_row_may_be_wrong_and_a_fourth_is_a_reset() -> None:
    assert count([100, 10, 10, 10, 101]).amounts == [0, 0, 0, 0, 1]
    assert faults([100, 10, 10, 10, 101]) == ["glitch"]
    assert "reset" in faults([100, 10, 10, 10, 10, 101])


def test_counter_at_its_largest_value_is_saturated_and_told_once() -> None:
    assert faults([250, 255, 255, 255, 255], 256) == ["saturated"]
    assert faults([250, 255], 256) == []


def test_dips_add_nothing_to_the_true_total() -> None:
    hundredths = [0, 40, 90, 80, 85, 120, 119, 118, 117, 116, 115, 160, 200, 150, 210, 320]
    assert sum(count(hundredths).amounts) == 320


def test_spike_is_no_sudden_rain() -> None:
    assert count([10, 5000, 11, 12]).amounts == [0, 0, 1, 1]
    assert faults([10, 5000, 11, 12]) == ["glitch"]


def test_restart_at_zero_right_after_rain_keeps_that_rain() -> None:
    assert count([0, 5, 0, 1]).amounts == [0, 5, 0, 1]


def test_no_readings_give_no_amounts() -> None:
    assert count([]) == ([], [])


@given(st.lists(st.integers(0, 100), min_size=1), st.sampled_from([None, 10**6]))
def test_counter_without_fault_books_every_step(steps: list[int], modulus: int | None) -> None:
    assert count(list(accumulate(steps)), modulus=modulus) == ([0, *steps[1:]], [])


@given(st.lists(st.integers(0, 60), min_size=1, max_size=200))
def test_counter_that_wraps_books_every_step(steps: list[int]) -> None:
    readings = [total % 256 for total in accumulate(steps)]
    assert count(readings, modulus=256).amounts == [0, *steps[1:]]


@given(st.lists(st.integers(0, 1000), max_size=60), st.sampled_from([None, 1001]))
def test_amounts_are_never_negative_and_never_more_than_the_counter_rose(
    readings: list[int], modulus: int | None
) -> None:
    counted = count(readings, modulus=modulus)
    rises = sum(max(0, b - a) for a, b in pairwise(readings))
    wraps = 0 if modulus is None else modulus * sum(b < a for a, b in pairwise(readings))
    assert len(counted.amounts) == len(readings)
    assert all(amount >= 0 for amount in counted.amounts)
    assert sum(counted.amounts) <= rises + wraps


@given(st.lists(st.integers(1, 50), min_size=5, max_size=50), st.data())
def test_single_wrong_reading_changes_no_total(steps: list[int], data: st.DataObject) -> None:
    readings = list(accumulate(steps))
    place = data.draw(st.integers(1, len(readings) - 2))
    wrong = data.draw(st.integers(0, 10**6))
    damaged = [*readings[:place], wrong, *readings[place + 1 :]]
    assert sum(count(damaged).amounts) == readings[-1] - readings[0]
