"""Quality flags: the domain's vectors, each test at its thresholds, the aggregate, and the shipped settings."""

from __future__ import annotations

import pytest
from headwall.errors import InputError
from headwall.hydrology.qartod import (
    FAIL,
    MISSING,
    NOT_EVALUATED,
    PASS,
    SUSPECT,
    FlatLine,
    GrossRange,
    Neighbour,
    Settings,
    Stuck,
    Thresholds,
    Verdict,
    aggregate,
    flat_line,
    gap,
    gross_range,
    judge,
    neighbour,
    rate_of_change,
    settings_for,
    spike,
    stuck,
)
from headwall.wire.contract import UNIT_OF
from hypothesis import given
from hypothesis import strategies as st

SECOND = 1_000_000
RANGE = GrossRange(fail=(10, 50), suspect=(20, 40))
SPIKE = Thresholds(suspect=25, fail=50)


def every(seconds: float, count: int) -> list[int]:
    return [round(n * seconds * SECOND) for n in range(count)]


# ---- one by one


def test_gross_range_of_the_reference_vector() -> None:
    assert gross_range([5, 10, 15, 20, 25, 30, 35, 40, 45, 51], RANGE) == [4, 3, 3, 1, 1, 1, 1, 1, 3, 4]


def test_ends_of_a_gross_range_belong_to_it() -> None:
    assert gross_range([9.99, 10, 19.99, 20, 40, 40.01, 50, 50.01], RANGE) == [4, 3, 3, 1, 1, 3, 3, 4]
    assert gross_range([10, 50, 50.01], GrossRange(fail=(10, 50))) == [1, 1, 4]


def test_spikes_of_the_reference_vector() -> None:
    assert spike([10, 12, 999.99, 13, 15, 40, 9, 9], SPIKE) == [2, 4, 4, 4, 1, 3, 1, 2]


def test_null_is_missing_and_its_neighbours_have_no_spike() -> None:
    assert gross_range([30, None], RANGE) == [PASS, MISSING]
    assert spike([1, 1, None, 1, 1, 1], SPIKE) == [2, 2, 9, 2, 1, 2]


@pytest.mark.parametrize(("value", "flag"), [(25, PASS), (25.001, SUSPECT), (50, SUSPECT), (50.001, FAIL)])
def test_spike_is_what_exceeds_its_threshold(value: float, flag: int) -> None:
    assert spike([0, value, 0], SPIKE)[1] == flag


@pytest.mark.parametrize("count", [0, 1, 2])
def test_series_too_short_for_a_spike_is_not_evaluated(count: int) -> None:
    assert spike([7.0] * count, SPIKE) == [NOT_EVALUATED] * count


def test_rate_of_change_counts_elapsed_time() -> None:
    limits = Thresholds(suspect=1, fail=2)
    times = [0, SECOND, 2 * SECOND, 12 * SECOND, 12 * SECOND]
    assert rate_of_change(times, [0, 1, 3.5, 13.6, 13.6], limits) == [2, 1, 4, 3, 2]


def test_rate_of_change_is_not_judged_over_a_null() -> None:
    assert rate_of_change(every(1, 4), [0, None, 600, 600.5], Thresholds(suspect=1)) == [2, 9, 2, 1]


def test_flat_line_lasts_its_time_and_not_its_count() -> None:
    limits = FlatLine(tolerance=0.1, suspect_s=20, fail_s=40)
    assert flat_line(every(10, 6), [5.0] * 6, limits) == [2, 2, 3, 3, 4, 4]
    assert flat_line(every(5, 6), [5.0] * 6, limits) == [2, 2, 2, 2, 3, 3]


def test_flat_line_ends_with_the_first_reading_that_leaves_the_tolerance() -> None:
    limits = FlatLine(tolerance=0.1, suspect_s=20)
    assert flat_line(every(10, 6), [5, 5.09, 5, 5.11, 5.11, 5.11], limits) == [2, 2, 3, 1, 1, 3]


def test_flat_line_at_steps_that_do_not_divide_its_time_needs_a_reading_before_it() -> None:
    limits = FlatLine(tolerance=0.1, suspect_s=25)
    assert flat_line([1000 * SECOND + each for each in every(10, 6)], [5.0] * 6, limits) == [2, 2, 2, 3, 3, 3]


def test_gap_is_no_flat_line() -> None:
    limits = FlatLine(tolerance=0.1, suspect_s=20)
    times = [0, 10 * SECOND, 3000 * SECOND, 3010 * SECOND, 3020 * SECOND]
    assert flat_line(times, [5.0] * 5, limits) == [2, 2, 2, 2, 3]


def test_lone_value_among_nulls_is_no_flat_line() -> None:
    limits = FlatLine(tolerance=0.1, suspect_s=20)
    assert flat_line(every(10, 5), [5, None, None, None, 5], limits) == [2, 9, 9, 9, 2]


def test_stuck_is_the_very_same_value_so_many_times_whatever_nulls_lie_between() -> None:
    limits = Stuck(suspect=3, fail=5)
    assert stuck([1, 7, 7, None, 7, 7, 7, 7.0001], limits) == [1, 1, 1, 9, 3, 3, 4, 1]


def test_gap_flags_the_reading_that_ends_it() -> None:
    limits = Thresholds(suspect=60, fail=3600)
    times = [0, 60 * SECOND, 121 * SECOND, 10_000 * SECOND]
    assert gap(times, limits) == [2, 1, 3, 4]
    assert gap([], limits) == []


def test_neighbour_is_the_nearest_reading_within_its_time() -> None:
    limits = Neighbour(within_s=10, suspect=1, fail=3)
    others = [0, 10 * SECOND, 14 * SECOND, 40 * SECOND]
    times = [9 * SECOND, 13 * SECOND, 24 * SECOND, 25 * SECOND, 45 * SECOND, 46 * SECOND]
    assert neighbour(times, [5, 5, 5, 5, 5, None], others, [5, 4.0, 1.9, None], limits) == [1, 4, 4, 2, 2, 9]


def test_neighbour_without_any_reading_is_not_evaluated() -> None:
    assert neighbour([0], [1.0], [], [], Neighbour(within_s=10, suspect=1)) == [2]


# ---- together


def test_aggregate_takes_the_worst_and_names_who_found_it() -> None:
    found = aggregate({"a": [1, 3, 2, 9, 9], "b": [2, 4, 9, 9, 1], "c": [1, 1, 2, 9, 3]})
    assert found == [
        Verdict(PASS),
        Verdict(FAIL, ("b", "a")),
        Verdict(NOT_EVALUATED),
        Verdict(MISSING),
        Verdict(SUSPECT, ("c",)),
    ]


@given(st.lists(st.sampled_from([1, 2, 3, 4, 9]), min_size=1, max_size=6))
def test_aggregate_does_not_depend_on_the_order_of_tests(flags: list[int]) -> None:
    order = [4, 3, 1, 2, 9]
    for turned in (flags, flags[::-1], sorted(flags)):
        (found,) = aggregate({str(n): [flag] for n, flag in enumerate(turned)})
        assert found.flag == min(flags, key=order.index)


def test_tests_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="a: 1, b: 2"):
        aggregate({"a": [1], "b": [1, 1]})


def test_judge_runs_what_the_settings_name_and_keeps_nulls_missing() -> None:
    settings = Settings(gross_range=RANGE, gap=Thresholds(suspect=60))
    times = [0, 60 * SECOND, 200 * SECOND, 400 * SECOND]
    found = judge(settings, times, [30, 51, 45, None])
    assert found == [Verdict(1), Verdict(4, ("gross_range",)), Verdict(3, ("gross_range", "gap")), Verdict(9)]


def test_judge_without_tests_evaluates_nothing() -> None:
    assert judge(Settings(), [0, 1], [1.0, None]) == [Verdict(2), Verdict(9)]


def test_judge_compares_with_a_neighbour_where_one_is_given() -> None:
    settings = Settings(neighbour=Neighbour(within_s=10, suspect=1))
    assert judge(settings, [0], [5.0]) == [Verdict(2)]
    assert judge(settings, [0], [5.0], ([0], [9.0])) == [Verdict(3, ("neighbour",))]


# ---- what is shipped


@pytest.mark.parametrize("quantity", UNIT_OF)
def test_every_quantity_of_the_wire_has_settings(quantity: str) -> None:
    assert settings_for(quantity) == settings_for(quantity, "a place without its own")


@pytest.mark.parametrize(("quantity", "place"), [("tips", "any"), ("level", "septic"), ("distance", "septic")])
def test_standing_still_is_right_for_rain_and_septic_tanks(quantity: str, place: str) -> None:
    settings = settings_for(quantity, place)
    times = every(86_400 / 24, 24 * 30)
    found = judge(settings, times, [0.0] * len(times))
    assert {each.flag for each in found} <= {PASS}
    assert settings.flat_line is None and settings.stuck is None


def test_stage_that_stands_still_for_days_is_suspect_and_then_fails() -> None:
    times = every(3600, 24 * 8)
    flags = [each.flag for each in judge(settings_for("level"), times, [0.31] * len(times))]
    assert (flags[24], flags[48], flags[-1]) == (PASS, SUSPECT, FAIL)


@pytest.mark.parametrize("quantity", UNIT_OF)
def test_no_gap_makes_a_reading_fail(quantity: str) -> None:
    limits = settings_for(quantity).gap
    assert limits is None or limits.fail is None


def test_quantity_without_settings_is_refused() -> None:
    with pytest.raises(InputError, match="no quality settings for 'colour'"):
        settings_for("colour")


@pytest.mark.parametrize(("fail", "suspect"), [((1, 0), None), ((0, 10), (-1, 5)), ((0, 10), (5, 11)), ((2, 2), None)])
def test_gross_range_that_does_not_rise_or_lie_within_is_refused(
    fail: tuple[float, float], suspect: tuple[float, float] | None
) -> None:
    with pytest.raises(ValueError, match="must rise and lie within"):
        GrossRange(fail=fail, suspect=suspect)
