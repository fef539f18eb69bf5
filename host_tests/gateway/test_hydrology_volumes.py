"""Volumes and peaks of a flow, its daily pattern and base flow: gaps stay gaps, censored flows stay bounds."""

from __future__ import annotations

from math import pi, sin

import pytest
from headwall.errors import InputError
from headwall.hydrology.baseflow import base_flow
from headwall.hydrology.derived import Derived
from headwall.hydrology.flow_pattern import day_pattern
from headwall.hydrology.flow_volume import Sample, volume
from hypothesis import given
from hypothesis import strategies as st

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
MISSING = Derived(None, "missing")
BELOW, ABOVE = Derived(None, "below_range", 0.5), Derived(None, "above_range", 8.0)


def flows(*values: float | Derived, step_us: int = MINUTE_US) -> list[Sample]:
    return [
        Sample(n * step_us, value if isinstance(value, Derived) else Derived(float(value)))
        for n, value in enumerate(values)
    ]


# ---- volume and peak


def test_volume_under_a_triangle() -> None:
    found = volume(flows(0, 2, 0), (0, 2 * MINUTE_US), longest_step_us=MINUTE_US)
    assert (found.low_m3, found.high_m3, found.measured_us, found.gaps) == (120, 120, 2 * MINUTE_US, ())
    assert (found.peak.value, found.peak_us) == (2, MINUTE_US)


def test_volume_begins_and_ends_between_samples() -> None:
    found = volume(flows(0, 2, 0), (MINUTE_US // 2, MINUTE_US), longest_step_us=MINUTE_US)
    assert found.low_m3 == pytest.approx(1.5 * 30)


def test_volume_of_a_half_sine_is_that_of_its_integral() -> None:
    wave = flows(*(sin(pi * n / 360) for n in range(361)), step_us=MINUTE_US)
    found = volume(wave, (0, 360 * MINUTE_US), longest_step_us=MINUTE_US)
    assert found.low_m3 == pytest.approx(2 / pi * 360 * 60, rel=1e-4)


@pytest.mark.parametrize("flag", ["missing", "submerged", "surcharged"])
def test_sample_without_a_value_is_a_gap_and_not_zero(flag: str) -> None:
    found = volume(
        flows(1, 1, Derived(None, flag), 1, 1),  # type: ignore[arg-type]
        (0, 4 * MINUTE_US),
        longest_step_us=MINUTE_US,
    )
    assert (found.low_m3, found.gaps) == (120, ((MINUTE_US, 3 * MINUTE_US),))
    assert found.measured_us == 2 * MINUTE_US


def test_step_that_is_too_long_and_both_ends_without_samples_are_gaps() -> None:
    samples = [Sample(0, Derived(1.0)), Sample(MINUTE_US, Derived(1.0)), Sample(3 * MINUTE_US, Derived(1.0))]
    found = volume(samples, (-MINUTE_US, 5 * MINUTE_US), longest_step_us=MINUTE_US)
    assert found.low_m3 == 60
    assert found.gaps == ((-MINUTE_US, 0), (MINUTE_US, 5 * MINUTE_US))


def test_nothing_measured_is_no_volume_and_no_peak() -> None:
    found = volume([], (0, MINUTE_US), longest_step_us=MINUTE_US)
    assert (found.measured_us, found.gaps, found.peak, found.peak_us) == (0, ((0, MINUTE_US),), MISSING, None)


def test_flow_below_its_range_bounds_the_volume() -> None:
    found = volume(flows(BELOW, BELOW, 1), (0, 2 * MINUTE_US), longest_step_us=MINUTE_US)
    assert found.low_m3 == pytest.approx(30)
    assert found.high_m3 == pytest.approx(30 + 45)
    assert found.peak == Derived(1.0)
    only = volume(flows(BELOW, BELOW), (0, MINUTE_US), longest_step_us=MINUTE_US)
    assert (only.low_m3, only.high_m3, only.peak) == (0, 30, BELOW)


def test_peak_counts_the_samples_at_both_ends_and_none_beside() -> None:
    samples = flows(9, 3, 1, 4, 9)
    assert volume(samples, (MINUTE_US, 3 * MINUTE_US), longest_step_us=MINUTE_US).peak == Derived(4.0)
    assert volume(samples[:3], (MINUTE_US, 2 * MINUTE_US), longest_step_us=MINUTE_US).peak_us == MINUTE_US


def test_sample_that_a_span_only_touches_measures_nothing_of_it() -> None:
    gone = Derived(None, "surcharged")
    found = volume(flows(1, 1, gone), (0, MINUTE_US), longest_step_us=MINUTE_US)
    assert (found.low_m3, found.gaps) == (60, ())
    assert volume(flows(ABOVE, 1, 1), (MINUTE_US, 2 * MINUTE_US), longest_step_us=MINUTE_US).high_m3 == 60


def test_peak_may_have_stayed_below_a_limit_that_exceeds_what_was_measured() -> None:
    found = volume(flows(BELOW, 0.2, BELOW), (0, 2 * MINUTE_US), longest_step_us=MINUTE_US)
    assert found.peak == BELOW


def test_flow_above_its_range_leaves_volume_and_peak_open() -> None:
    found = volume(flows(1, ABOVE, 2), (0, 2 * MINUTE_US), longest_step_us=MINUTE_US)
    assert found.low_m3 == pytest.approx(4.5 * 60 + 5 * 60)
    assert (found.high_m3, found.peak, found.peak_us) == (None, ABOVE, MINUTE_US)


def test_backflow_is_negative_volume() -> None:
    assert volume(flows(-1, -1), (0, MINUTE_US), longest_step_us=MINUTE_US).low_m3 == -60


_FLOWS = st.lists(st.one_of(st.floats(0, 50), st.just(MISSING)), min_size=2, max_size=20)


@given(_FLOWS, st.integers(1, 1199))
def test_volumes_and_gaps_add_up_over_a_cut_anywhere(values: list[float | Derived], cut: int) -> None:
    samples, end = flows(*values), 1200 * MINUTE_US // 60
    at = cut * MINUTE_US // 60
    whole, one, other = (volume(samples, span, longest_step_us=MINUTE_US) for span in ((0, end), (0, at), (at, end)))
    assert one.low_m3 + other.low_m3 == pytest.approx(whole.low_m3, abs=1e-9)
    assert one.measured_us + other.measured_us == whole.measured_us
    assert whole.measured_us + sum(b - a for a, b in whole.gaps) == end


@pytest.mark.parametrize(("span", "match"), [((5, 5), "does not last"), ((0, 10), "in order of time")])
def test_span_that_does_not_last_and_disorder_are_refused(span: tuple[int, int], match: str) -> None:
    with pytest.raises(InputError, match=match):
        volume([Sample(9, MISSING), Sample(3, MISSING)], span, longest_step_us=10)


# ---- pattern of the day


def hour_of(time_us: int) -> int:
    return time_us // HOUR_US % 24


def test_steady_ground_water_has_a_ratio_of_one() -> None:
    found = day_pattern([(n * HOUR_US, 0.002) for n in range(72)], hour_of)
    assert found.ratio() == pytest.approx(1)
    assert found.counts == (3,) * 24


def test_sewage_has_a_low_night_and_a_morning_peak() -> None:
    shape = [0.6, 0.5, 0.4, 0.3, 0.4, 0.6, 1.2, 1.8, 1.7, 1.3, 1.1, 1, 1, 1, 1, 1, 1.1, 1.2, 1.5, 1.6, 1.5, 1.2, 1, 0.8]
    found = day_pattern([(n * HOUR_US, shape[n % 24]) for n in range(240)], hour_of)
    ratio = found.ratio()
    assert ratio is not None and ratio == pytest.approx((0.4 + 0.3 + 0.4) / 3 / (sum(shape) / 24))
    assert 0.3 <= ratio <= 0.5
    assert found.highest_hour == 7


def test_hour_with_many_samples_weighs_as_much_as_any() -> None:
    samples = [(n * HOUR_US, 1.0 if n != 3 else 0.5) for n in range(24)] + [(3 * HOUR_US + n, 0.5) for n in range(500)]
    assert day_pattern(samples, hour_of).ratio() == pytest.approx((2.5 / 3) / (23.5 / 24))


def test_day_with_a_silent_hour_has_no_ratio_and_a_dry_day_none_either() -> None:
    silent = day_pattern([(n * HOUR_US, 1.0) for n in range(23)], hour_of)
    assert (silent.complete, silent.ratio(), silent.highest_hour, silent.means[23]) == (False, None, None, None)
    assert day_pattern([(n * HOUR_US, 0.0) for n in range(24)], hour_of).ratio() is None


# ---- base flow


def test_one_pass_by_hand() -> None:
    """f: 0, 0, 0.9625 x 4, then 0.925 of it less 0.9625 x 2, and so on."""
    found = base_flow([1, 1, 5, 3, 2, 1.5], passes=1, reflected=0)
    assert found == pytest.approx([1, 1, 1.15, 1.36375, 1.44896875, 1.471546], abs=1e-6)


def test_later_passes_run_backward_and_forward_over_the_base_flow() -> None:
    series = [1, 1, 5, 3, 2, 1.5, 4, 2, 1.0]
    first = base_flow(series, passes=1, reflected=0)
    back = base_flow(first[::-1], passes=1, reflected=0)[::-1]
    third = base_flow(back, passes=1, reflected=0)
    assert base_flow(series, reflected=0) == pytest.approx(third)
    assert third != pytest.approx(base_flow(base_flow(first, passes=1, reflected=0), passes=1, reflected=0))


def test_steady_flow_is_base_flow_throughout() -> None:
    assert base_flow([0.7] * 50) == [0.7] * 50


def test_null_parts_the_series_and_each_part_is_filtered_by_itself() -> None:
    one, other = [1, 1, 5, 3, 2, 1.5], [0.2, 3, 0.2]
    assert base_flow([*one, None, None, *other]) == [*base_flow(one), None, None, *base_flow(other)]
    assert base_flow([]) == []
    assert base_flow([None, 4.0]) == [None, 4.0]


@given(st.lists(st.floats(0, 1000), max_size=60), st.floats(0.01, 0.99), st.sampled_from([1, 3, 5]))
def test_base_flow_lies_from_zero_to_the_flow(values: list[float], alpha: float, passes: int) -> None:
    found = base_flow(values, alpha=alpha, passes=passes)
    assert len(found) == len(values)
    for base, flow in zip(found, values, strict=True):
        assert base is not None and 0 <= base <= flow


@pytest.mark.parametrize(("alpha", "passes"), [(0, 3), (1, 3), (0.9, 2), (0.9, 0)])
def test_filter_that_cannot_be_is_refused(alpha: float, passes: int) -> None:
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        base_flow([1.0], alpha=alpha, passes=passes)


def test_backflow_has_no_base_flow() -> None:
    with pytest.raises(InputError, match="negative flow"):
        base_flow([1.0, -0.1])
