"""No formula gives a number outside its range, whatever it is given: NaN, infinities and numbers of no site too.

Each must refuse its input, give a `Derived` without a value, or a number between bounds that follow from what the
number means: no flow is negative, none exceeds that of the pipe's greatest depth, no volume that of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import inf, isfinite, nan, pi

import pytest
from headwall.errors import InputError
from headwall.hydrology import qartod
from headwall.hydrology.baseflow import base_flow
from headwall.hydrology.derived import MISSING, Derived
from headwall.hydrology.flow_pattern import day_pattern
from headwall.hydrology.flow_volume import Sample, volume
from headwall.hydrology.flume import PARSHALL, parshall_m3_s
from headwall.hydrology.intensity import peak_amount, spread
from headwall.hydrology.pipe import (
    area_velocity_m3_s,
    full_flow_m3_s,
    hydraulic_radius_m,
    manning_m3_s,
    wetted_area_m2,
)
from headwall.hydrology.pressure_level import G_M_S2, water_above_m
from headwall.hydrology.rain_doubt import Winter, frozen, level_rises
from headwall.hydrology.rating import RatingTable
from headwall.hydrology.sediment import StageVolume, depth_lost_percent, volume_lost_percent
from headwall.hydrology.septic import Tank, scum_clearance_m, sludge_clearance_m, trend
from headwall.hydrology.sewer_leakage import LeakageTest, Pipe
from headwall.hydrology.sound import in_air_m_s, in_water_m_s, range_m
from headwall.hydrology.tank_liquid import above_invert, sinkings, surges
from headwall.hydrology.turbidity import added, background
from headwall.hydrology.undercatch import FASTEST_US, LOST_US, PARTS, corrected
from headwall.hydrology.weir import FT_M, cipolletti_m3_s, rectangular_m3_s, v_notch_m3_s
from headwall.units import Depth
from hypothesis import example, given
from hypothesis import strategies as st

#: sensible numbers, numbers at the ends of formulas, and anything that a float can be
ANY = st.one_of(
    st.floats(-1, 5),
    st.floats(),
    st.sampled_from([nan, inf, -inf, 0.0, 5e-324, 1e-200, 1e200, 1.7e308, -1.7e308, 25.0, 90.0, 100.0, 1e9, 1e-9]),
)
SOME = st.one_of(st.none(), ANY)
SERIES = st.lists(ANY, max_size=8)
MINUTE_US = 60_000_000
ROUNDING = 1 + 1e-9

Bounds = tuple[float, float]
Formula = Callable[..., float | Derived]


def derived(call: Callable[[], float | Derived]) -> Derived:
    """What a formula gives; nothing where it refuses its input."""
    try:
        found = call()
    except InputError:
        return MISSING
    return found if isinstance(found, Derived) else Derived(found)


def deepest_flow(diameter: float, slope: float, n: float) -> float:
    return 1.0758 * full_flow_m3_s(diameter, slope, n)


def circle(diameter: float) -> float:
    return pi * diameter**2 / 4


#: formula -> what it is given after the first argument (the reading), and bounds of its number by these arguments
FORMULAS: dict[str, tuple[Formula, list[st.SearchStrategy[object]], Callable[..., Bounds]]] = {
    "v_notch": (v_notch_m3_s, [ANY, SOME], lambda *_: (0, 6 * FT_M**3)),  # 100° at 1.25 ft: 5.2 cfs
    "rectangular": (
        lambda head, length, tail: rectangular_m3_s(head, length, contracted=True, tailwater_m=tail),
        [ANY, SOME],
        lambda _, length, __: (0, 2 * length * (length / 3) ** 1.5),
    ),
    "cipolletti": (cipolletti_m3_s, [ANY, SOME], lambda _, length, __: (0, 2 * length * (length / 3) ** 1.5)),
    "parshall": (parshall_m3_s, [st.sampled_from(sorted(PARSHALL)), SOME], lambda *_: (0, 140 * FT_M**3)),
    "wetted_area": (wetted_area_m2, [ANY], lambda _, diameter: (0, circle(diameter))),
    "hydraulic_radius": (hydraulic_radius_m, [ANY], lambda _, diameter: (0, 0.3044 * diameter)),
    "full_flow": (full_flow_m3_s, [ANY, ANY], lambda *_: (0, 1e40)),
    "manning": (manning_m3_s, [ANY, ANY, ANY], lambda _, *pipe: (0, deepest_flow(*pipe))),
    "area_velocity": (
        area_velocity_m3_s,
        [ANY, ANY],
        lambda _, diameter, v: (-circle(diameter) * abs(v), circle(diameter) * abs(v)),
    ),
    "rating": (RatingTable([(0.1, 0.01), (0.5, 0.3), (2, 4)]).flow_m3_s, [], lambda _: (0.01, 4)),
    "stage_volume": (StageVolume([(0, 0), (1, 9), (2, 20)]).volume_m3, [], lambda _: (0, 20)),
    "volume_lost": (
        lambda level, design: volume_lost_percent(StageVolume([(0, 0), (1, 9), (2, 20)]), level, design),
        [ANY],
        lambda *_: (0, 100),
    ),
    "depth_lost": (depth_lost_percent, [ANY], lambda *_: (0, 100)),
    "scum_clearance": (lambda scum: scum_clearance_m(Tank(1.2, 0.4), scum), [], lambda _: (-0.8, 1e10)),
    "sludge_clearance": (lambda sludge: sludge_clearance_m(Tank(1.2, 0.4), sludge), [], lambda _: (-0.4, 0.8)),
    "tank": (lambda floor, baffle: sludge_clearance_m(Tank(floor, baffle), 0), [ANY], lambda floor, _: (0, floor)),
    "water_above": (
        water_above_m,
        [ANY, ANY],
        lambda p, air, rho: (-(abs(p) + abs(air)) / rho / G_M_S2, (abs(p) + abs(air)) / rho / G_M_S2),
    ),
    "in_air": (in_air_m_s, [], lambda _: (0, 1e7)),
    "in_water": (in_water_m_s, [], lambda _: (1402, 1556)),  # greatest at 74 °C: 1555.1
    "range": (range_m, [ANY, ANY], lambda shown, one, two: (-abs(shown) * two / one, abs(shown) * two / one)),
    "added": (lambda one, two: added(Derived(one), Derived(two)), [ANY], lambda *_: (-2e9, 2e9)),
}


@pytest.mark.parametrize("name", FORMULAS)
@given(data=st.data())
def test_no_formula_gives_a_number_outside_its_range(name: str, data: st.DataObject) -> None:
    formula, more, bounds = FORMULAS[name]
    given_ = [data.draw(each) for each in (ANY, *more)]
    found = derived(lambda: formula(*given_))
    assert (found.value is None) == (found.flag is not None)
    assert found.limit is None or isfinite(found.limit)
    if found.value is not None:
        low, high = bounds(*given_)
        assert low - abs(low) * 1e-9 - 1e-12 <= found.value <= high * ROUNDING + 1e-12


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_give_nothing_for_nan_and_something_for_what_is_usual(name: str) -> None:
    usual: dict[str, tuple[object, ...]] = {
        "v_notch": (0.2, 90.0, None), "rectangular": (0.2, 1.0, None), "cipolletti": (0.2, 1.0, -0.1),
        "parshall": (0.2, "1 ft", 0.1), "wetted_area": (0.1, 0.3), "hydraulic_radius": (0.1, 0.3),
        "full_flow": (0.3, 0.01, 0.013), "manning": (0.1, 0.3, 0.01, 0.013), "area_velocity": (0.1, 0.3, -1.0),
        "rating": (0.3,), "stage_volume": (0.3,), "volume_lost": (0.3, 20.0), "depth_lost": (0.3, 2.0),
        "scum_clearance": (0.3,), "sludge_clearance": (0.3,), "tank": (1.2, 0.4),
        "water_above": (111131.6, 101325.0, 999.1), "in_air": (20.0,), "in_water": (20.0,),
        "range": (1.0, 343.0, 331.0), "added": (5.0, 2.0),
    }  # fmt: skip
    formula = FORMULAS[name][0]
    arguments = usual[name]
    assert derived(lambda: formula(*arguments)).value is not None
    for n, argument in enumerate(arguments):
        if not isinstance(argument, str):
            spoilt = (*arguments[:n], nan, *arguments[n + 1 :])
            assert derived(lambda spoilt=spoilt: formula(*spoilt)).value is None, f"argument {n}"  # type: ignore[misc]


def test_infinite_heads_lie_beyond_the_range_and_are_not_missing() -> None:
    for formula in (
        lambda head: v_notch_m3_s(head, 90),
        lambda head: rectangular_m3_s(head, 1, contracted=False),
        lambda head: parshall_m3_s(head, "1 ft"),
        RatingTable([(0.1, 0.01), (0.5, 0.3)]).flow_m3_s,
    ):
        assert (formula(inf).flag, formula(-inf).flag) == ("above_range", "below_range")  # type: ignore[no-untyped-call]
    assert manning_m3_s(inf, 0.3, 0.01, 0.013).flag == "surcharged"


# ---- tables


@given(st.lists(st.tuples(ANY, ANY), max_size=4), ANY, ANY)
def test_a_rating_is_refused_or_keeps_to_its_flows(points: list[tuple[float, float]], offset: float, at: float) -> None:
    try:
        table = RatingTable(points, offset)
    except InputError:
        return
    for stage in (at, *(stage for stage, _ in points), (points[0][0] + points[1][0]) / 2):
        found = table.flow_m3_s(stage)
        assert found.value is None or 0 < points[0][1] <= found.value <= points[-1][1]


_TABLES = st.integers(2, 6).flatmap(
    lambda n: st.tuples(*(st.lists(st.floats(0.001, 50), min_size=n, max_size=n, unique=True).map(sorted),) * 2)
)


@given(_TABLES, st.floats(0, 50), st.floats(0, 50), st.floats(0.001, 5))
def test_ratings_and_volumes_of_any_table_rise(
    table: tuple[list[float], list[float]], one: float, other: float, below: float
) -> None:
    points = list(zip(*table, strict=True))
    try:
        rating = RatingTable(points, points[0][0] - below)
    except InputError:  # points nearer than floats can part
        return
    for found in (rating.flow_m3_s, StageVolume(points).volume_m3):
        low, high = found(min(one, other)).value, found(max(one, other)).value
        assert low is None or high is None or low <= high


@given(st.lists(st.tuples(ANY, ANY), max_size=4), ANY)
def test_a_table_of_volumes_is_refused_or_keeps_to_them(points: list[tuple[float, float]], level: float) -> None:
    try:
        table = StageVolume(points)
    except InputError:
        return
    for at in (level, (points[0][0] + points[1][0]) / 2):
        found = table.volume_m3(at)
        assert found.value is None or 0 <= points[0][1] <= found.value <= points[-1][1]


# ---- series


@given(SERIES, SERIES, ANY)
@example([0.0, 5e-324, 1.0], [1.0, 2.0, 3.0], 5.0)
@example([0.0, 1.0, 2.0], [0.0, 5e-324, 1e-323], 1e9)
def test_a_trend_gives_days_that_are_numbers_or_none(days: list[float], values: list[float], target: float) -> None:
    try:
        found = trend(days, values)
    except InputError:
        return
    reached = found.day_of(target) if found is not None else None
    if found is None or reached is None:
        return
    expected, earliest, latest = reached
    assert isfinite(expected) and isfinite(earliest) and (latest is None or isfinite(latest))
    assert found.low_m_day <= found.slope_m_day <= found.high_m_day


@given(SERIES)
def test_base_flow_of_anything_is_refused_or_lies_from_zero_to_the_flow(flows: list[float]) -> None:
    try:
        found = base_flow(flows)
    except InputError:
        assert any(not 0 <= flow <= 1e9 for flow in flows)
        return
    for base, flow in zip(found, flows, strict=True):
        assert base is not None and 0 <= base <= flow


@given(st.lists(ANY, min_size=24, max_size=60))
def test_a_ratio_of_a_day_lies_from_0_to_24(flows: list[float]) -> None:
    found = day_pattern([(n, flow) for n, flow in enumerate(flows)], lambda n: n % 24).ratio(range(24)[:1])
    assert found is None or 0 <= found <= 24 * ROUNDING


def test_backflow_has_no_rhythm() -> None:
    flows = [1.0] * 24
    assert day_pattern(list(enumerate(flows)), lambda n: n).ratio() == pytest.approx(1)
    assert day_pattern(list(enumerate([*flows[:-1], -0.1])), lambda n: n).ratio() is None


@given(st.lists(st.tuples(st.integers(0, 60), ANY), max_size=8).map(sorted), st.booleans())
def test_volume_of_anything_is_a_number_between_what_the_samples_allow(
    samples: list[tuple[int, float]], censored: bool
) -> None:
    flows = [
        Derived(None, "below_range", 0.5) if censored and n % 2 else Derived(f) for n, (_, f) in enumerate(samples)
    ]
    series = [Sample(minute * MINUTE_US, flow) for (minute, _), flow in zip(samples, flows, strict=True)]
    found = volume(series, (0, 60 * MINUTE_US), longest_step_us=20 * MINUTE_US)
    most = 3600 * max((abs(flow) for _, flow in samples if abs(flow) <= 1e9), default=0.0) + 3600 * 0.5
    assert -most * ROUNDING <= found.low_m3 <= most * ROUNDING
    assert found.high_m3 is not None and -most * ROUNDING <= found.high_m3 <= most * ROUNDING
    assert found.peak.value is None or isfinite(found.peak.value)
    assert 0 <= found.measured_us <= 60 * MINUTE_US


def test_two_flows_at_one_instant_are_a_step() -> None:
    one, two = Derived(1.0), Derived(3.0)
    minutes = [(0, one), (1, one), (1, two), (2, two)]
    found = volume([Sample(n * MINUTE_US, flow) for n, flow in minutes], (0, 2 * MINUTE_US), longest_step_us=MINUTE_US)
    assert (found.low_m3, found.high_m3, found.gaps) == (60 + 180, 60 + 180, ())


@given(st.lists(st.tuples(st.integers(0, 10), ANY), max_size=8))
def test_a_background_is_one_of_numbers(readings: list[tuple[int, float]]) -> None:
    found = background(readings, [(0, 9)], at_least=1)
    known = [value for time_us, value in readings if time_us <= 9 and abs(value) <= 1e9]
    assert (found.value is None) == (known == [])
    assert found.value is None or min(known) <= found.value <= max(known)


@given(st.lists(SOME, max_size=12))
def test_every_quality_test_calls_what_is_no_number_missing(values: list[float | None]) -> None:
    times = [n * 1_000_000 for n in range(len(values))]
    settings = qartod.Settings(
        gross_range=qartod.GrossRange(fail=(0, 10)),
        spike=qartod.Thresholds(suspect=1),
        rate_of_change=qartod.Thresholds(suspect=1),
        flat_line=qartod.FlatLine(tolerance=0.1, suspect_s=2),
        stuck=qartod.Stuck(suspect=3),
        neighbour=qartod.Neighbour(within_s=1, suspect=1),
    )
    nulls = [value if value is not None and isfinite(value) else None for value in values]
    assert qartod.judge(settings, times, values, (times, values)) == qartod.judge(
        settings, times, nulls, (times, nulls)
    )
    for flags in (
        qartod.gross_range(values, qartod.GrossRange(fail=(0, 10))),
        qartod.spike(values, qartod.Thresholds(suspect=1)),
        qartod.rate_of_change(times, values, qartod.Thresholds(suspect=1)),
        qartod.flat_line(times, values, qartod.FlatLine(tolerance=0.1, suspect_s=2)),
        qartod.stuck(values, qartod.Stuck(suspect=3)),
        qartod.neighbour(times, values, times, values, qartod.Neighbour(within_s=1, suspect=1)),
    ):
        assert [flag == qartod.MISSING for flag in flags] == [value is None for value in nulls]


@given(st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 50)), max_size=20), st.sampled_from([0, MINUTE_US]))
def test_undercatch_is_never_more_than_that_of_the_fastest_tips(rain: list[tuple[int, int]], interval_us: int) -> None:
    tips = sum(amount for _, amount in rain)
    parts = sum(each.parts for each in corrected(sorted(rain), interval_us=interval_us))
    assert tips * PARTS <= parts <= tips * PARTS * FASTEST_US / (FASTEST_US - LOST_US)


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(1, 5)), min_size=1, max_size=20), st.integers(-5, 90))
def test_a_peak_is_some_rain_and_no_more_than_all(gaps: list[tuple[int, int]], window: int) -> None:
    now, rain = 0, []
    for gap, amount in gaps:
        now += gap
        rain.append((now, amount))
    if window <= 0:
        with pytest.raises(InputError, match="length of time"):
            peak_amount(spread(rain), window)
        return
    found = peak_amount(spread(rain), window)
    assert found is None or 0 < found <= sum(amount for _, amount in rain[1:])


@given(st.lists(st.tuples(st.integers(0, 100), SOME), max_size=10).map(lambda each: sorted(each, key=lambda e: e[0])))
def test_liquid_of_a_tank_is_told_in_numbers(levels: Sequence[tuple[int, float | None]]) -> None:
    hours = [(hour * 3_600_000_000, level) for hour, level in levels]
    known = [level for _, level in levels if level is not None and abs(level) <= 1e9]
    for above in above_invert(hours, tolerance_m=0.01, dwell_us=0):
        assert 0.01 < above.peak_m <= max(known)
    assert all(0.05 <= each.rise_m <= max(known) - min(known) for each in surges(hours))
    assert all(0.01 <= each.drop_m <= max(known) - min(known) for each in sinkings(hours, tolerance_m=0.01))


def test_a_temperature_or_stage_that_is_no_number_is_none() -> None:
    hour = 3_600_000_000
    found = frozen(hour, [(hour, nan), (hour - 1, 1.0)], Winter())
    assert found is not None and found.kind == "frozen"
    found = frozen(hour, [(hour, nan)], Winter())
    assert found is not None and found.kind == "no_temperature"
    levels = [(0, 0.1), (1, nan), (2, inf), (3, 0.2)]
    assert level_rises(Depth(Fraction(0)), levels, (0, 9), at_least_m=0.3) is None


# ---- sewers


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity"), Decimal("sNaN")])
def test_a_sewer_test_of_what_is_no_number_is_refused(value: Decimal) -> None:
    pipe = Pipe(8, 300)
    for made in (
        lambda: Pipe(value, 300),
        lambda: Pipe(8, value),
        lambda: LeakageTest([pipe], value, 1, 100),
        lambda: LeakageTest([pipe], 2, value, 100),
        lambda: LeakageTest([pipe], 2, 1, value),
    ):
        with pytest.raises(InputError):
            made()


_MEASURES = st.decimals("0.01", "1000", places=2)


@given(_MEASURES, _MEASURES, _MEASURES, st.lists(st.decimals(0, 1000, places=2), min_size=2, max_size=5).map(sorted))
def test_more_leakage_never_passes_where_less_does_not(
    diameter: Decimal, length: Decimal, hours: Decimal, leaked: list[Decimal]
) -> None:
    tests = [LeakageTest([Pipe(diameter, length)], hours, each, 100) for each in leaked]
    assert all(less.passed or not more.passed for less, more in pairwise(tests))
    assert all(each.allowed_gal > 0 and (each.rate <= 100) == each.passed for each in tests)
