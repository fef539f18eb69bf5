"""What passed an outfall, and the turbidity added, from the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.derive.outfall import (
    base_share,
    dry_pattern,
    dry_spans,
    flows,
    passed,
    turbidity_added,
    turbidity_over_background,
)
from headwall.errors import UnknownThingError
from headwall.hydrology.derived import Derived
from headwall.hydrology.flow_volume import Sample
from headwall.hydrology.weir import v_notch_m3_s
from support.place_house import LEVEL, NOTCH, Readings, place
from support.rules_house import HOUR, MINUTE, at

_T = at("2026-06-10 12:00")


@pytest.fixture
def readings() -> Iterator[Readings]:
    made = Readings()
    yield made
    made.ledger.close()


def test_a_day_of_steady_flow_is_its_volume_and_a_hole_is_a_gap(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", LEVEL + NOTCH)
    flow = v_notch_m3_s(0.2, 90).value
    assert flow is not None
    times = [n * 15 * MINUTE for n in range(97) if not 40 <= n < 48]
    readings.put("stage.level", *((_T + n, 0.2) for n in times))
    with readings.ledger.read() as conn:
        day = passed(conn, registry, "outfall-7", _T, _T + 24 * HOUR)
    gap_s = 9 * 15 * 60
    assert day.low_m3 == day.high_m3 == pytest.approx(flow * (86_400 - gap_s))
    assert day.gaps == ((_T + 39 * 15 * MINUTE, _T + 48 * 15 * MINUTE),)
    assert day.peak.value == flow


def test_a_spike_of_the_stage_gives_no_flow_and_no_peak(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", LEVEL + NOTCH)
    levels = [0.10, 0.10, 2.0, 0.10, 0.10]
    readings.put("stage.level", *((_T + n * 15 * MINUTE, level) for n, level in enumerate(levels)))
    with readings.ledger.read() as conn:
        found = flows(conn, registry, "outfall-7", _T, _T + 2 * HOUR)
        peak = passed(conn, registry, "outfall-7", _T, _T + HOUR).peak
    assert found[2].flow.flag == "rejected"
    assert peak.value == v_notch_m3_s(0.10, 90).value


def test_turbidity_added_is_of_the_same_water(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "down.turbidity up.turbidity", "")
    readings.put("up.turbidity", (_T - 20 * MINUTE, 5.0), (_T, 50.0))
    readings.put("down.turbidity", (_T, 45.0), (_T + 2 * HOUR, 45.0))
    with readings.ledger.read() as conn:
        first, second = turbidity_added(conn, registry, "outfall-7", _T, _T + 3 * HOUR, travel_us=20 * MINUTE)
    assert first[1].value == 40.0
    assert second[1].flag == "missing"


def test_turbidity_that_failed_its_test_is_none(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "down.turbidity up.turbidity", "")
    readings.put("up.turbidity", *((_T + n * 5 * MINUTE, 5.0) for n in range(5)))
    spike = [40.0, 40.0, 2000.0, 40.0, 40.0]
    readings.put("down.turbidity", *((_T + n * 5 * MINUTE, value) for n, value in enumerate(spike)))
    with readings.ledger.read() as conn:
        found = turbidity_added(conn, registry, "outfall-7", _T, _T + HOUR)
    assert [added.value for _, added in found] == [35.0, 35.0, None, 35.0, 35.0]


def test_turbidity_is_held_against_that_of_dry_weather(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "down.turbidity", "")
    values = [4.0 if n < 24 else 5.0 for n in range(48)]
    readings.put("down.turbidity", *((_T + n * HOUR, value) for n, value in enumerate(values)), (_T + 48 * HOUR, 12.0))
    span = (_T, _T + 49 * HOUR)
    with readings.ledger.read() as conn:
        dry = turbidity_over_background(conn, registry, "outfall-7", *span, [(_T, _T + 24 * HOUR - 1)])
        short = turbidity_over_background(conn, registry, "outfall-7", *span, [(_T, _T + 22 * HOUR)])
    assert dry[-1][1].value == 8.0
    assert short[-1][1].flag == "missing"  # 23 readings


_MM = 10


def test_an_hour_is_dry_with_less_than_a_tenth_of_an_inch_in_the_72_hours_before() -> None:
    span = (_T, _T + 100 * HOUR)
    assert dry_spans([], [], span, quanta_per_mm=_MM) == [span]
    assert dry_spans([(_T, 25)], [], span, quanta_per_mm=_MM) == [span]  # 2.5 mm, of 2.54
    assert dry_spans([(_T, 26)], [], span, quanta_per_mm=_MM) == [(_T + 72 * HOUR, span[1])]
    gap = (_T + 2 * HOUR, _T + 3 * HOUR)
    assert dry_spans([], [gap], span, quanta_per_mm=_MM) == [(_T, gap[0]), (_T + 75 * HOUR, span[1])]


def _samples(flow_at: dict[int, float], hours: range) -> list[Sample]:
    return [Sample(_T + n * HOUR, Derived(flow_at.get(n, 0.002))) for n in hours]


def test_base_flow_is_a_share_of_the_days_that_were_measured() -> None:
    steady = _samples({}, range(14 * 24 + 1))
    assert base_share(steady, _T, _T + 336 * HOUR) == (pytest.approx(1), 14)
    storm = base_share(_samples(dict.fromkeys(range(240, 252), 0.05), range(337)), _T, _T + 336 * HOUR)
    assert storm.days == 14
    assert storm.share is not None
    assert 0.4 < storm.share < 0.6
    assert base_share(_samples({}, range(12)), _T, _T + 336 * HOUR) == (None, 0)  # not more than half of a day
    assert base_share(_samples({}, range(14)), _T, _T + 336 * HOUR) == (pytest.approx(1), 1)
    assert base_share(_samples(dict.fromkeys(range(30, 40), -0.1), range(73)), _T, _T + 72 * HOUR).days == 2


def test_the_day_is_that_of_dry_weather_alone() -> None:
    rhythm = {n: 0.001 if n % 24 in (2, 3, 4) else 0.003 for n in range(72)}
    rhythm |= dict.fromkeys(range(48, 60), 5.0)
    pattern = dry_pattern(_samples(rhythm, range(72)), [(_T, _T + 48 * HOUR)], lambda at_us: (at_us - _T) // HOUR % 24)
    assert pattern.ratio() == pytest.approx(0.001 / ((3 * 0.001 + 21 * 0.003) / 24))
    below = [Sample(_T + n * HOUR, Derived(None, "below_range", 0.001)) for n in range(24)]
    assert set(dry_pattern(below, [(_T, _T + 24 * HOUR)], lambda at_us: (at_us - _T) // HOUR).means) == {0.0}


def test_a_site_without_flow_says_so(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", LEVEL)
    with readings.ledger.read() as conn, pytest.raises(UnknownThingError, match="it has stage"):
        flows(conn, registry, "outfall-7", _T, _T + HOUR)
