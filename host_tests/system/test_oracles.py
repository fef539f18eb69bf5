"""Hydrology beside independent programs: flags beside `ioos_qc`, storms beside `separate`, pipes beside SWMM.

Where the two differ on purpose, the test says what is expected of each. The programs are not part of the lock; a test
whose program is absent is skipped with the way to get it.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import importlib.util
import os
import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from headwall.hydrology import qartod
from headwall.hydrology.intensity import MINUTE_US, PEAK_MINUTES, peak_amount, spread
from headwall.hydrology.pipe import full_flow_m3_s, manning_m3_s
from headwall.hydrology.qartod import FAIL, MISSING, NOT_EVALUATED, FlatLine, GrossRange, Thresholds
from headwall.hydrology.storms import HOUR_US, StormRule, fold
from headwall.law import localtime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.rainmaker import STANDARD_TIME, folder

GET = "install it with: .venv/bin/pip install -r requirements/oracles.txt"
SECOND_US = 1_000_000
VALUES = st.lists(st.none() | st.floats(-1e4, 1e4).map(lambda value: round(value, 2)), min_size=1, max_size=40)
#: many readings that nearly repeat, for flat lines
NEARLY_FLAT = st.lists(st.none() | st.sampled_from([2.0, 2.125, 2.25, 2.5, 3.0]), min_size=3, max_size=40)
shared = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def program(name: str) -> ModuleType:
    """A module of an independent program; skips the test where it is absent."""
    package = name.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"no {package} here; {GET}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


# ---- flags: ioos_qc


@pytest.fixture(scope="module")
def ioos() -> ModuleType:
    return program("ioos_qc.qartod")


def times_of(ioos: ModuleType, seconds: Sequence[int]) -> Any:
    numpy = ioos.np
    return numpy.datetime64("2026-01-01T00:00:00", "ns") + numpy.array(seconds, "timedelta64[s]").astype(
        "timedelta64[ns]"
    )


def flags_of(found: Any) -> list[int]:
    return [int(flag) for flag in found]


def in_us(seconds: Sequence[int]) -> list[int]:
    return [second * SECOND_US for second in seconds]


@given(VALUES, st.lists(st.integers(-100, 100), min_size=4, max_size=4, unique=True))
@shared
def test_gross_range_is_that_of_ioos_qc(ioos: ModuleType, values: list[float | None], limits: list[int]) -> None:
    low, lower, upper, high = sorted(limits)
    expected = ioos.gross_range_test(values, (low, high), (lower, upper))
    assert qartod.gross_range(values, GrossRange(fail=(low, high), suspect=(lower, upper))) == flags_of(expected)


@given(VALUES, st.integers(1, 500), st.integers(1, 5000))
@shared
def test_spikes_are_those_of_ioos_qc(ioos: ModuleType, values: list[float | None], suspect: int, fail: int) -> None:
    expected = ioos.spike_test(values, suspect, fail)
    assert qartod.spike(values, Thresholds(suspect=suspect, fail=fail)) == flags_of(expected)


@given(VALUES, st.lists(st.integers(1, 900), min_size=40, max_size=40), st.floats(0.01, 10), st.floats(0.01, 100))
@shared
def test_rates_of_change_are_those_of_ioos_qc_where_there_is_a_rate(
    ioos: ModuleType, values: list[float | None], steps: list[int], suspect: float, fail: float
) -> None:
    """Difference: `ioos_qc` passes the first reading and those after a null; here they are not evaluated."""
    seconds = [sum(steps[:n]) for n in range(len(values))]
    theirs = flags_of(ioos.rate_of_change_test(values, times_of(ioos, seconds), suspect, fail))
    without = [n for n, value in enumerate(values) if value is not None and (n == 0 or values[n - 1] is None)]
    assert {theirs[n] for n in without} <= {qartod.PASS}
    expected = [NOT_EVALUATED if n in without else flag for n, flag in enumerate(theirs)]
    assert qartod.rate_of_change(in_us(seconds), values, Thresholds(suspect=suspect, fail=fail)) == expected


@given(NEARLY_FLAT, st.integers(1, 900), st.integers(1, 6), st.integers(0, 6))
@shared
def test_flat_lines_are_those_of_ioos_qc_where_the_window_is_full(
    ioos: ModuleType, values: list[float | None], step_s: int, steps: int, more: int
) -> None:
    """Differences: `ioos_qc` passes what has no full window yet, and takes a lone value among nulls for flat.

    The steps are equal, since it counts windows in median steps and Headwall in elapsed time.
    """
    seconds = [n * step_s for n in range(len(values))]
    suspect_s, fail_s = steps * step_s, (steps + more) * step_s
    theirs = flags_of(ioos.flat_line_test(values, times_of(ioos, seconds), suspect_s, fail_s, 0.5))

    def evaluated(n: int, window: int) -> bool:
        return n >= window and sum(value is not None for value in values[n - window : n + 1]) > 1

    expected = [
        flag if flag == MISSING or evaluated(n, steps) else FAIL if flag == FAIL and evaluated(n, steps + more) else 2
        for n, flag in enumerate(theirs)
    ]
    limits = FlatLine(tolerance=0.5, suspect_s=suspect_s, fail_s=fail_s)
    assert qartod.flat_line(in_us(seconds), values, limits) == expected


@given(st.lists(st.integers(1, 9000), min_size=1, max_size=40), st.integers(1, 9000))
@shared
def test_gaps_are_those_of_ioos_qc_after_the_first_reading(ioos: ModuleType, steps: list[int], fail_s: int) -> None:
    """Difference: in `ioos_qc` the first reading takes the flag of the second; here nothing is known before it."""
    seconds = [sum(steps[:n]) for n in range(len(steps) + 1)]
    theirs = flags_of(ioos.time_gap_test(times_of(ioos, seconds), (fail_s + 0.5) / 3600))
    assert qartod.gap(in_us(seconds), Thresholds(fail=fail_s)) == [NOT_EVALUATED, *theirs[1:]]


@given(st.integers(1, 20), st.integers(1, 5), st.data())
@shared
def test_aggregate_is_that_of_ioos_qc(ioos: ModuleType, length: int, count: int, data: st.DataObject) -> None:
    flags = st.lists(st.sampled_from([1, 2, 3, 4, 9]), min_size=length, max_size=length)
    tests = {str(n): data.draw(flags) for n in range(count)}
    expected = ioos.qartod_compare([ioos.np.array(each) for each in tests.values()])
    assert [each.flag for each in qartod.aggregate(tests)] == flags_of(expected)


#: series of `ioos_qc`'s own tests (tests/test_qartod.py)
SPIKY = [
    [10, 12, 999.99, 13, 15, 40, 9, 9],
    [-10, -12, -999.99, -13, -15, -40, -9, -9],
    [-100, -99, -99, -98],
    [10, 12, 999.99, 13, 15, 40, 9, 9, None, 10, 10, 999.99, 10, None],
    [3, 4.99, 5, 6, 8, 6, 6, 6.75, 6, 6, 5.3, 6, 6, 9, 5, None, 4, 4],
]
CHANGING = [
    [2, 10, 2.1, 3, 4, 5, 7, 10, 0, 2, 2.2, 2, 1, 2, 3, 90, 91, 92, 93, 1, 2, 3, 4, 5],
    [2, 10, 2, 3, None, None, 7, 10],
    [-2, -10, -2, -3],
]
FLAT = [
    [1, 2, 2.0001, 2, 2.0001, 2, 2.0001, 2, 4, 5, 3, 3.0001, 3.0005, 3.00001],
    [2, 2.0001, 2, 2.0001, 2, 2.0001, 2, 4, 5, 3, 3.0001, 3.0005, 3.00001],
    [1, None, None, 2, 2.0001, 2, 2.0001, 2, 4, None, 3, None, None, 3.00001],
]


@pytest.mark.parametrize("values", SPIKY)
def test_spikes_of_its_own_series_are_those_of_ioos_qc(ioos: ModuleType, values: list[float | None]) -> None:
    for limits in ((25, 50), (0.5, 1)):
        expected = flags_of(ioos.spike_test(values, *limits))
        assert qartod.spike(values, Thresholds(suspect=limits[0], fail=limits[1])) == expected


@pytest.mark.parametrize("values", CHANGING)
def test_rates_of_its_own_series_are_those_of_ioos_qc(ioos: ModuleType, values: list[float | None]) -> None:
    seconds, limit = [n * 900 for n in range(len(values))], 5 / 15 / 60
    theirs = flags_of(ioos.rate_of_change_test(values, times_of(ioos, seconds), limit))
    ours = qartod.rate_of_change(in_us(seconds), values, Thresholds(suspect=limit))
    assert [theirs[n] if flag == NOT_EVALUATED else flag for n, flag in enumerate(ours)] == theirs
    assert [n for n, flag in enumerate(ours) if flag == NOT_EVALUATED] in ([0], [0, 6])


@pytest.mark.parametrize("values", FLAT)
def test_flat_lines_of_its_own_series_are_those_of_ioos_qc(ioos: ModuleType, values: list[float | None]) -> None:
    """It reads 3000 and 4800 s at steps of 900 s as 3 and 5 steps, which are 2700 and 4500 s."""
    seconds = [n * 900 for n in range(len(values))]
    theirs = flags_of(ioos.flat_line_test(values, times_of(ioos, seconds), 3000, 4800, 0.01))
    ours = qartod.flat_line(in_us(seconds), values, FlatLine(tolerance=0.01, suspect_s=2700, fail_s=4500))
    assert [theirs[n] if flag == NOT_EVALUATED else flag for n, flag in enumerate(ours)] == theirs
    assert {n for n, flag in enumerate(ours) if flag == NOT_EVALUATED} <= {0, 1, 2, 3}


# ---- storms: separate


@pytest.fixture(scope="module")
def separate() -> ModuleType:
    return program("separate.functions.SEPARATE_FUNCTIONS")


def rule(mit_us: int) -> StormRule:
    bounds = partial(localtime.day_bounds, where=localtime.zone("America/New_York"))
    return StormRule(10**9, bounds, "event", mit_us)


def separated(separate: ModuleType, rain: Sequence[tuple[int, int]], mit_us: int) -> list[dict[str, Any]]:
    times = separate.pd.Series([separate.pd.Timestamp(time_us, unit="us") for time_us, _ in rain])
    amounts = separate.np.array([amount for _, amount in rain])
    found: list[dict[str, Any]] = separate.separate_storms(times, amounts, mit_us / HOUR_US)[0]
    return found


def in_short(storms: Sequence[dict[str, Any]]) -> list[tuple[int, int, int]]:
    return [(each["start"].value // 1000, each["end"].value // 1000, int(each["magnitude"])) for each in storms]


def our_storms(rain: Sequence[tuple[int, int]], mit_us: int) -> list[tuple[int, int, int]]:
    return [(each.start_us, each.end_us, each.amount) for each in fold(rain, rule(mit_us)).storms]


_MIT = st.sampled_from([HOUR_US, 2 * HOUR_US, 6 * HOUR_US])
_STEPS = st.lists(
    st.tuples(st.sampled_from([1, 5, 59, 60, 61, 119, 120, 121, 359, 360, 361, 2000]), st.integers(1, 9)),
    min_size=2,
    max_size=40,
)


def by_minutes(steps: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    now, rain = 0, []
    for minutes, amount in steps:
        now += minutes * MINUTE_US
        rain.append((now, amount))
    return rain


@given(_STEPS, _MIT)
@shared
def test_storms_are_those_of_separate(separate: ModuleType, steps: list[tuple[int, int]], mit_us: int) -> None:
    """Difference: `separate` parts at a gap longer than the MIT, Headwall (with USGS Rainmaker) also at one as long."""
    rain = by_minutes(steps)
    assert our_storms(rain, mit_us + 1) == in_short(separated(separate, rain, mit_us))


def test_gap_as_long_as_the_mit_parts_here_and_not_in_separate(separate: ModuleType) -> None:
    rain = [(0, 1), (HOUR_US, 2)]
    assert len(separated(separate, rain, HOUR_US)) == 1
    assert len(our_storms(rain, HOUR_US)) == 2


def test_lone_tip_is_a_storm_here_and_none_in_separate(separate: ModuleType) -> None:
    """Difference: `separate` goes from tip to tip and never looks at a record of one."""
    assert separated(separate, [(0, 1)], HOUR_US) == []
    assert our_storms([(0, 1)], HOUR_US) == [(0, 0, 1)]


@pytest.mark.parametrize("hours", [1, 2, 4, 6, 12, 24])
def test_storms_of_a_year_are_those_of_separate(separate: ModuleType, hours: int) -> None:
    rain = year_of_rain()
    theirs = in_short(separated(separate, rain, hours * HOUR_US))
    assert our_storms(rain, hours * HOUR_US + 1) == theirs
    assert sum(amount for _, _, amount in theirs) == 27_071


def test_peak_intensities_of_a_year_are_those_of_separate(separate: ModuleType) -> None:
    """Both spread a tip back to the tip before. `separate` looks each minute, where this record's rates change.

    It gives none for storms of two tips, nor for one exactly as long as the peak.
    """
    rain, compared = year_of_rain(), 0
    storms = separated(separate, rain, 2 * HOUR_US)
    times = separate.pd.Series([separate.pd.Timestamp(time_us, unit="us") for time_us, _ in rain])
    amounts = separate.np.array([amount for _, amount in rain])
    for n, storm in enumerate(storms):
        own = [rain[at] for at in storm["indices"]]
        for minutes in PEAK_MINUTES:
            _, _, fitted, at, *_ = separate.separate_profiler(n, storms, times, amounts, minutes)
            if len(own) <= 2 or own[-1][0] - own[0][0] <= minutes * MINUTE_US:
                continue
            theirs = separate.separate_peak_intensity(storm["start"], at, fitted, minutes)[1]
            ours = peak_amount(spread(own), minutes * MINUTE_US)
            assert ours is not None
            assert float(ours * Fraction(60, minutes)) == pytest.approx(theirs, rel=1e-9)
            compared += 1
    assert compared > 300


def year_of_rain() -> list[tuple[int, int]]:
    """USGS Rainmaker's year, in thousandths of an inch."""
    with (folder() / "rain.test.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    times = (datetime.strptime(row["date"], "%m/%d/%Y %H:%M").replace(tzinfo=STANDARD_TIME) for row in rows)
    amounts = (int(Decimal(row["gage01"]) * 1000) for row in rows)
    return [(int(at.timestamp()) * SECOND_US, amount) for at, amount in zip(times, amounts, strict=True) if amount]


# ---- pipes: SWMM

_NETWORK = """
[OPTIONS]
FLOW_UNITS CMS
FLOW_ROUTING {routing}
START_DATE 01/01/2026
START_TIME 00:00:00
REPORT_START_DATE 01/01/2026
REPORT_START_TIME 00:00:00
END_DATE 01/01/2026
END_TIME 04:00:00
REPORT_STEP 00:01:00
WET_STEP 00:01:00
DRY_STEP 00:01:00
ROUTING_STEP {step_s}
[JUNCTIONS]
IN {high} 9 0 0 0
MIDDLE {middle} 9 0 0 0
[OUTFALLS]
OUT 1 NORMAL NO
[CONDUITS]
UPPER IN MIDDLE {length} {n} 0 0 0 0
LOWER MIDDLE OUT {length} {n} 0 0 0 0
[XSECTIONS]
UPPER CIRCULAR {diameter} 0 0 0 1
LOWER CIRCULAR {diameter} 0 0 0 1
[INFLOWS]
IN FLOW "" FLOW 1.0 1.0 {inflow:.9f}
"""
_LENGTH_M = 400.0
_SHARES = (0.0209, 0.1370, 0.3, 0.5, 0.75, 0.9119, 0.98)  # of the full pipe's flow


def routed(pyswmm: ModuleType, path: Path, **network: object) -> tuple[float, float]:
    """Steady (flow in m³/s, depth in m) in the lower of two pipes in line."""
    path.write_text(_NETWORK.format(**network), "utf-8")
    with pyswmm.Simulation(str(path)) as run:
        pipe = pyswmm.Links(run)["LOWER"]
        found = (0.0, 0.0)
        for _ in run:
            found = (pipe.flow, pipe.depth)
    return found


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """The engine writes its progress to the process's own output."""
    kept = os.dup(1)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


@pytest.mark.parametrize(("routing", "step_s"), [("KINWAVE", 5), ("DYNWAVE", 1)])
@pytest.mark.parametrize(
    ("diameter_m", "slope", "n"), [(0.3048, 0.01, 0.013), (0.6, 0.004, 0.015), (1.2, 0.002, 0.011)]
)
def test_depths_that_swmm_routes_have_its_flow(
    tmp_path: Path, routing: str, step_s: int, diameter_m: float, slope: float, n: float
) -> None:
    """Within 0.3 %, below a tenth of the diameter within 3 %.

    SWMM takes area and conveyance of a circle from tables of 51 points, straight in between, which is coarse near the
    invert; Headwall computes them.
    """
    pyswmm = program("pyswmm")
    full = full_flow_m3_s(diameter_m, slope, n)
    drop = _LENGTH_M * slope
    for share in _SHARES:
        with quiet():
            flow, depth = routed(
                pyswmm,
                tmp_path / "pipe.inp",
                routing=routing,
                step_s=step_s,
                high=1 + 2 * drop,
                middle=1 + drop,
                length=_LENGTH_M,
                n=n,
                diameter=diameter_m,
                inflow=full * share,
            )
        assert flow == pytest.approx(full * share, rel=1e-3)  # the network is steady
        ours = manning_m3_s(depth, diameter_m, slope, n).value
        assert ours == pytest.approx(flow, rel=0.03 if depth < diameter_m / 10 else 0.003)
