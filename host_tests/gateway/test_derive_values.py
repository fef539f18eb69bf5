"""Derived values from the ledger: each layer by an independent sum, what is missing, and that explain says the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import sqrt
from pathlib import Path

import pytest
from headwall.derive.derivation import Derivation, Value
from headwall.derive.explanation import explain
from headwall.derive.steps import NEAREST_US
from headwall.errors import UnknownThingError
from headwall.hydrology.weir import v_notch_m3_s
from headwall.ledger.quality_edits import add_edit
from headwall.registry import Registry
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.place_house import LEVEL, NOTCH, Readings, place
from support.rules_house import HOUR, MINUTE, at, make_registry

_T = at("2026-06-10 12:00")
_DAY = 24 * HOUR
_RANGE = '[[sites.levels]]\nof = "stage"\nmethod = "range_down"\nzero = "1.20 m"\nfrom = 2025-01-01\n'


@pytest.fixture
def readings() -> Iterator[Readings]:
    made = Readings()
    yield made
    made.ledger.close()


def _series(
    readings: Readings, registry: Registry, name: str, start_us: int = _T, end_us: int = _T + _DAY
) -> list[Value]:
    """A series, each value of which is explained as the same: whatever a test here derives."""
    with readings.ledger.read() as conn:
        values = Derivation(conn, registry).series(name, start_us, end_us)
        for value in values:
            told = explain(conn, registry, name, value.time_us, 0)
            assert (told.time_us, told.value) == (value.time_us, value.derived)
        return values


def _only(readings: Readings, registry: Registry, name: str) -> Value:
    (value,) = _series(readings, registry, name)
    return value


def _record(at_text: str, points: list[tuple[str, str]], **more: object) -> str:
    """A calibration of the stage, points as (reference, reading)."""
    body = {
        "v": 1,
        "datastream": "node-7/stage.level",
        "kind": "level_two_point",
        "at": at_text,
        "by": "Sam Okafor",
        "unit": "m",
        "method": "staff gauge",
        "as_found": [{"reference": reference, "reading": reading} for reference, reading in points],
        **more,
    }
    return json.dumps(body)


# ---- heights


def test_a_range_is_compensated_turned_into_a_height_corrected_and_rated(tmp_path: Path, readings: Readings) -> None:
    shifts = "".join(
        f'[[sites.corrections]]\nof = "stage"\nadd = "{add}"\nby = "Sam"\nreason = "staff gauge"\nfrom = 2025-01-01\n'
        for add in ("-4 mm", "1 mm")
    )
    registry = place(tmp_path, "stage.distance air.temperature", _RANGE + "assumed_air_c = 20\n" + shifts + NOTCH)
    readings.put("stage.distance", (_T, 1.1))
    readings.put("air.temperature", (_T - 5 * MINUTE, 0.0))
    height_m = 1.2 - 1.1 * 331.3 / (331.3 * sqrt(1 + 20 / 273.15)) - 0.003
    assert _only(readings, registry, "outfall-7/stage").derived.value == pytest.approx(height_m, abs=1e-12)
    flow = _only(readings, registry, "outfall-7/flow").derived.value
    assert flow == pytest.approx(v_notch_m3_s(height_m, 90).value)


def test_an_unvented_transducer_takes_the_air_off(tmp_path: Path, readings: Readings) -> None:
    level = LEVEL.replace('level"\nfrom', 'pressure"\nzero = "0.5 m"\nfrom')
    registry = place(tmp_path, "stage.pressure air.pressure", level)
    readings.put("stage.pressure", (_T, 111131.6))
    readings.put("air.pressure", (_T + MINUTE, 101325.0))
    assert _only(readings, registry, "outfall-7/stage").derived.value == pytest.approx(1.0009 - 0.5, abs=5e-5)


@pytest.mark.parametrize(
    ("away_us", "is_near"), [(-NEAREST_US - 1, False), (-NEAREST_US, True), (NEAREST_US, True), (NEAREST_US + 1, False)]
)
def test_what_compensates_must_be_near_in_time(tmp_path: Path, readings: Readings, away_us: int, is_near: bool) -> None:
    registry = place(tmp_path, "stage.distance air.temperature", _RANGE + "assumed_air_c = 20\n")
    readings.put("stage.distance", (_T, 1.1))
    readings.put("air.temperature", (_T + away_us, 20.0))
    derived = _only(readings, registry, "outfall-7/stage").derived
    assert (derived.value is not None) == is_near
    assert derived.flag == (None if is_near else "uncompensated")


def test_the_nearest_valid_sample_counts_not_a_null_that_is_nearer(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.distance air.temperature", _RANGE + "assumed_air_c = 20\n")
    readings.put("stage.distance", (_T, 1.0))
    readings.put("air.temperature", (_T, None), (_T + 9 * MINUTE, 40.0), (_T - 10 * MINUTE, 0.0))
    value = _only(readings, registry, "outfall-7/stage").derived.value
    assert value == pytest.approx(1.2 - 354.73 / 343.21, abs=1e-4)


# ---- what must not be computed with


def test_nulls_and_what_is_not_to_be_judged_give_no_value_with_the_reason(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", LEVEL + NOTCH)
    times = [_T + n * MINUTE for n in range(6)]
    readings.put("stage.level", (times[0], None))
    readings.put("stage.level", (times[1], 0.2), quarantine="clock_future")
    readings.put("stage.level", (times[2], 0.2), quality=4)
    readings.put("stage.level", (times[3], 0.2), (times[4], 0.2), (times[5], 0.2))
    readings.maintenance(times[3], times[4])
    edit = {"node": "node-7", "stream": "stage.level", "by": "Ruth", "reason": "debris", "now_us": 0}
    with readings.ledger.begin() as conn:
        add_edit(conn, start_us=times[4], end_us=times[5], flag=4, **edit)  # type: ignore[arg-type]
    values = _series(readings, registry, "outfall-7/flow")
    assert [v.derived.flag for v in values] == ["missing", "rejected", "rejected", "rejected", "rejected", None]
    with readings.ledger.begin() as conn:
        add_edit(conn, start_us=times[2], end_us=times[5], flag=1, **edit)  # type: ignore[arg-type]
    values = _series(readings, registry, "outfall-7/flow")
    assert [v.derived.flag for v in values] == ["missing", "rejected", None, "rejected", None, None]
    with readings.ledger.begin() as conn:
        add_edit(conn, start_us=0, end_us=times[5] + 1, flag=None, **edit)  # type: ignore[arg-type]
    assert _series(readings, registry, "outfall-7/flow")[2].derived.flag == "rejected"


def test_without_a_way_in_force_there_is_no_value(tmp_path: Path, readings: Readings) -> None:
    late = NOTCH.replace("2025-01-01", "2026-06-10T13:00:00Z")
    registry = place(tmp_path, "stage.level", LEVEL + late)
    readings.put("stage.level", (_T, 0.2), (_T + HOUR, 0.2))
    first, second = _series(readings, registry, "outfall-7/flow")
    assert first.derived.flag == "not_set_up"
    assert second.derived.value is not None


def test_unknown_names_say_what_there_is(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", LEVEL)
    with pytest.raises(UnknownThingError, match="it has stage"):
        _series(readings, registry, "outfall-7/flow")
    with pytest.raises(UnknownThingError, match="it has outfall-7"):
        _series(readings, registry, "outfall-8/flow")
    with pytest.raises(UnknownThingError, match=r"no datastream 'node-7/x\.level'"):
        _series(readings, registry, "node-7/x.level")


# ---- calibrations


@pytest.mark.parametrize(
    ("points", "more", "value"),
    [
        ([("0.10", "0.12"), ("0.50", "0.52")], {"verdict": "fail"}, 0.18),
        ([("0.10", "0.12"), ("0.50", "0.52")], {"verdict": "pass"}, 0.20),
        ([("0.10", "0.12")], {}, 0.18),
        ([("0.10", "0.20"), ("0.50", "1.00")], {}, 0.10),
        ([("0.1", "0.1"), ("0.2", "0.2"), ("0.3", "0.6")], {}, 0.2 + 0.2 * 0.3571428571 - 0.3 * 0.3571428571),
        ([("100", "120"), ("500", "520")], {"unit": "mm"}, 0.18),
        (
            [("0.10", "0.12")],
            {"as_left": [{"reference": "0.10", "reading": "0.11"}], "verdict": "fail"},
            0.19,
        ),
        ([("0.10", "0.12")], {"kind": "rain_volume"}, 0.20),
    ],
)
def test_a_calibration_that_did_not_pass_sets_readings_right(
    tmp_path: Path, readings: Readings, points: list[tuple[str, str]], more: dict[str, object], value: float
) -> None:
    registry = place(tmp_path, "stage.level", LEVEL)
    readings.put("stage.level", (_T, 0.2))
    readings.calibrate(_record("2026-06-01T12:00:00-04:00", points, **more))
    found = _only(readings, registry, "outfall-7/stage").derived.value
    assert found == pytest.approx(value, abs=1e-9)


def test_a_calibration_holds_from_its_day_to_the_next_and_may_be_entered_late(
    tmp_path: Path, readings: Readings
) -> None:
    registry = place(tmp_path, "stage.level", LEVEL)
    readings.put("stage.level", *((_T + n * HOUR, 0.2) for n in range(4)))
    readings.calibrate(_record("2026-06-10T14:30:00Z", [("0.10", "0.15")]))
    readings.calibrate(_record("2026-06-10T12:30:00Z", [("0.10", "0.12")]))  # entered after the later one
    values = [each.derived.value for each in _series(readings, registry, "outfall-7/stage")]
    assert values == pytest.approx([0.2, 0.18, 0.18, 0.15])


# ---- ratings


@pytest.mark.parametrize(
    ("rating", "stage_m", "m3_s"),
    [
        ('"v_notch"\nangle_deg = 90', 0.20, 0.024689),
        ('"rectangular"\nlength = "2 ft"\nends = "suppressed"', 0.1524, 2.3547 * 0.0283168466),
        ('"rectangular"\nlength = "2 ft"\nends = "contracted"', 0.1524, 2.2369 * 0.0283168466),
        ('"cipolletti"\nlength = "2 ft"', 0.1524, 2.3808 * 0.0283168466),
        ('"parshall"\nthroat = "2 ft"', 0.66, 0.75),
        ('"manning"\ndiameter = "12 in"\nslope = 0.01\nn = 0.013', 0.1524, 1.7814 * 0.0283168466),
        ('"table"\npoints = [["0.1 m", "1 L/s"], ["0.2 m", "4 L/s"]]', 0.14142136, 0.002),
    ],
)
def test_each_rating_gives_the_published_flow(
    tmp_path: Path, readings: Readings, rating: str, stage_m: float, m3_s: float
) -> None:
    registry = place(tmp_path, "stage.level", f"{LEVEL}[[sites.ratings]]\nmethod = {rating}\nfrom = 2025-01-01\n")
    readings.put("stage.level", (_T, stage_m))
    assert _only(readings, registry, "outfall-7/flow").derived.value == pytest.approx(m3_s, rel=5e-3)


def test_velocity_times_wetted_area(tmp_path: Path, readings: Readings) -> None:
    rating = '[[sites.ratings]]\nmethod = "area_velocity"\ndiameter = "0.45 m"\nfrom = 2025-01-01\n'
    registry = place(tmp_path, "stage.level water.velocity", LEVEL + rating)
    readings.put("stage.level", (_T, 0.2), (_T + HOUR, 0.2))
    readings.put("water.velocity", (_T, 0.8))
    first, second = _series(readings, registry, "outfall-7/flow")
    assert first.derived.value == pytest.approx(0.054636, abs=5e-7)
    assert second.derived.flag == "uncompensated"


def test_a_tailwater_that_reaches_the_notch_or_is_not_seen_gives_no_flow(tmp_path: Path, readings: Readings) -> None:
    tail = '[[sites.levels]]\nof = "second_stage"\nmethod = "level"\nfrom = 2025-01-01\n'
    registry = place(tmp_path, "stage.level tail.level", LEVEL + tail + NOTCH)
    times = [_T + n * HOUR for n in range(3)]
    readings.put("stage.level", *((time_us, 0.2) for time_us in times))
    readings.put("tail.level", (times[0], -0.5), (times[1], 0.05))
    assert [each.derived.flag for each in _series(readings, registry, "outfall-7/flow")] == [
        None,
        "submerged",
        "uncompensated",
    ]


def test_meters_give_the_flow_between_two_counts(tmp_path: Path, readings: Readings) -> None:
    rating = '[[sites.ratings]]\nmethod = "pulse_meter"\npulse = "10 gal"\nfrom = 2025-01-01\n'
    registry = place(tmp_path, "meter.pulses", rating)
    counts = (100, 106, 3, 3, None, 9)
    readings.put("meter.pulses", *((_T + n * MINUTE, count) for n, count in enumerate(counts)))
    values = [each.derived.value for each in _series(readings, registry, "outfall-7/flow", _T + 1)]
    assert values == [pytest.approx(60 * 0.003785411784 / 60), None, 0.0, None, None]


def test_an_instrument_of_flow_needs_no_rating(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "meter.flow", "")
    readings.put("meter.flow", (_T, -0.002))
    assert _only(readings, registry, "outfall-7/flow").derived.value == -0.002


# ---- explanations


_NAMES = ("outfall-7/flow", "outfall-7/stage", "node-7/stage.distance")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    distances=st.lists(st.one_of(st.none(), st.floats(0.3, 1.3)), min_size=1, max_size=12),
    air=st.lists(st.one_of(st.none(), st.floats(-20, 40)), min_size=1, max_size=6),
    calibrated=st.booleans(),
)
def test_explain_reproduces_each_value_of_a_series(
    tmp_path: Path, distances: list[float | None], air: list[float | None], calibrated: bool
) -> None:
    shift = '[[sites.corrections]]\nof = "stage"\nadd = "2 mm"\nby = "Sam"\nreason = "x"\nfrom = 2026-06-10T13:30:00Z\n'
    table = '[[sites.ratings]]\nmethod = "table"\npoints = [["0.02 m", "0.4 L/s"], ["0.3 m", "41 L/s"]]\n'
    rating = f"{NOTCH}to = 2026-06-10T14:00:00Z\n{table}from = 2026-06-10T14:00:00Z\n"
    registry = place(tmp_path, "stage.distance air.temperature", _RANGE + "assumed_air_c = 20\n" + shift + rating)
    readings = Readings()
    try:
        readings.put("stage.distance", *((_T + n * 17 * MINUTE, value) for n, value in enumerate(distances)))
        readings.put("air.temperature", *((_T + n * 41 * MINUTE, value) for n, value in enumerate(air)))
        if calibrated:
            record = _record("2026-06-10T12:40:00Z", [("1.00", "1.02"), ("0.50", "0.51")])
            readings.calibrate(record.replace("stage.level", "stage.distance"))
        for name in _NAMES:
            for value in _series(readings, registry, name):
                with readings.ledger.read() as conn:
                    told = explain(conn, registry, name, value.time_us, 0)
                assert told.value == value.derived
                assert told.time_us == value.time_us
                _recompute(told.layers[-1].derived.value, [layer.derived.value for layer in told.layers], told)
    finally:
        readings.ledger.close()


def _recompute(final: float | None, values: list[float | None], told: object) -> None:
    """Each layer follows from the one before by what its source says, as a person with a pocket calculator finds."""
    for before, layer in zip(values, told.layers[1:], strict=False):  # type: ignore[attr-defined]
        value, words = layer.derived.value, layer.source.split()
        if value is None:
            continue
        assert before is not None
        if layer.step == "calibration":
            assert value == pytest.approx(float(words[0]) * before + float(words[3]), rel=1e-7)
        elif layer.step == "compensation":
            assert value == pytest.approx(before * float(words[5]) / float(words[3]), rel=1e-4)
        elif layer.step == "height":
            assert value == pytest.approx(float(words[0]) - before)
        elif layer.step == "correction":
            assert value == pytest.approx(before + float(words[0]) / 1000)
        elif layer.step == "rating" and "V-notch" in words:
            assert value == pytest.approx(v_notch_m3_s(before, 90).value or 0)
    assert final == values[-1]


def test_explain_names_reading_flags_and_what_the_next_calibration_found(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", LEVEL)
    readings.put("stage.level", (_T, 0.2))
    readings.calibrate(_record("2026-06-12T12:00:00Z", [("0.10", "0.13")], verdict="fail"))
    with readings.ledger.read() as conn:
        told = explain(conn, registry, "outfall-7/stage", _T + HOUR, 2 * HOUR)
        assert told.datastream == "node-7/stage.level"
        assert [layer.step for layer in told.layers] == ["reading", "height"]
        assert told.remarks == (
            "no calibration of this sensor is on record for that time",
            "the next calibration, of 2026-06-12, found it off: 0.13 for 0.10 m",
        )
        with pytest.raises(UnknownThingError, match="no reading of node-7/stage"):
            explain(conn, registry, "outfall-7/stage", _T + 3 * HOUR, 2 * HOUR)
        with pytest.raises(UnknownThingError, match="no reading of node-7/stage"):
            explain(conn, registry, "outfall-7/stage", _T - 1, 2 * HOUR)


def test_tips_are_explained_as_a_depth_with_their_undercatch(tmp_path: Path, readings: Readings) -> None:
    registry = make_registry(tmp_path)
    tips = ((_T, 1), (_T + 5 * MINUTE, 0), (_T + 18_300_000, 1))  # 0.01 in in 18.3 s: 50 mm/h
    readings.put("rain.tips", *tips, node="board-a")
    with readings.ledger.read() as conn:
        told = explain(conn, registry, "board-a/rain.tips", _T + MINUTE, HOUR)
        assert [layer.step for layer in told.layers] == ["reading", "tips"]
        assert (told.value.value, told.unit) == (0.000254, "m")
        assert f"{0.01 * 18.3 / (18.3 - 0.45):.6f}"[:8] in told.remarks[-1]
        assert "the tip before came 18 s earlier" in told.remarks[-1]
        dry = explain(conn, registry, "board-a/rain.tips", _T + HOUR, HOUR)
        assert dry.value.value == 0
        assert not any("undercatch" in remark for remark in dry.remarks)
