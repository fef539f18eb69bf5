"""Septic tanks and basins from the ledger: clearances, forecast, liquid, and what a stick found beside them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from math import inf
from pathlib import Path

import pytest
from headwall.derive import basins, septic
from headwall.derive.explanation import explain
from headwall.derive.steps import Cleared
from headwall.hydrology.derived import Derived
from headwall.hydrology.septic import Tank as TankDepths
from headwall.ledger.entries import Body, PumpOut, SedimentSurvey, SepticMeasurement, add_entry
from headwall.ledger.ledger import Ledger
from headwall.ledger.quality_edits import add_edit
from headwall.registry import Registry
from headwall.registry.measures import Tank
from hypothesis import given
from hypothesis import strategies as st
from support.rules_house import HOUR, MINUTE, at
from support.septic_house import IN, SITE, Probe, septic_registry

DAY = 24 * HOUR
START = at("2025-01-01 12:00")
LIMITS = septic.Limits(scum_m=3 * IN, sludge_m=10 * IN)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return septic_registry(tmp_path_factory.mktemp("septic"))


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://")
    yield opened
    opened.close()


def enter(ledger: Ledger, body: Body, done_us: int, subject: str = SITE) -> None:
    with ledger.begin() as conn:
        add_entry(conn, body, subject=subject, done_us=done_us, by="Ruth Adler", now_us=done_us)


def clearances(ledger: Ledger, registry: Registry, layer: septic.Layer) -> list[Derived]:
    with ledger.read() as conn:
        return [each.derived for each in septic.clearances(conn, registry, SITE, layer, 0, START + 9000 * DAY)]


# ---- clearances


@pytest.mark.parametrize(
    ("scum_in", "sludge_in", "scum_clear_in", "sludge_clear_in", "pump"),
    [
        (13, 12, 3, 20, True),
        (8, 22, 8, 10, True),
        (8, 21, 8, 11, False),
        (8, 12, 8, 20, False),
        (14, 12, 2, 20, True),
        (17, 12, -1, 20, True),
    ],
)
def test_clearances_of_the_codes_table_from_readings(
    ledger: Ledger,
    registry: Registry,
    scum_in: float,
    sludge_in: float,
    scum_clear_in: float,
    sludge_clear_in: float,
    pump: bool,
) -> None:
    Probe(ledger).put("scum.level", (START, -scum_in * IN))
    Probe(ledger, "septic-12").put("sludge.level", (START, sludge_in * IN), jid="00000000000000cc")
    with ledger.read() as conn:
        (scum,) = septic.clearances(conn, registry, SITE, "scum", START, START + 1)
        (sludge,) = septic.clearances(conn, registry, SITE, "sludge", START, START + 1)
    assert scum.derived.value == pytest.approx(scum_clear_in * IN)
    assert sludge.derived.value == pytest.approx(sludge_clear_in * IN)
    assert (scum.reaches(LIMITS.scum_m) or sludge.reaches(LIMITS.sludge_m)) is pump


def test_a_look_that_finds_no_scum_is_no_missing_reading(ledger: Ledger, registry: Registry) -> None:
    Probe(ledger).put("scum.level", (START, None))
    assert clearances(ledger, registry, "scum") == [Derived(inf)]
    Probe(ledger).put("sludge.level", (START, None), null_reason="no_echo", jid="00000000000000cc")
    assert clearances(ledger, registry, "sludge") == [Derived(None, "missing")]


def test_what_fits_no_tank_has_a_limit_and_no_value(ledger: Ledger, registry: Registry) -> None:
    Probe(ledger).put("sludge.level", (START, -0.01), (START + DAY, 1.23))
    thin, thick = clearances(ledger, registry, "sludge")
    assert (thin.value, thin.flag, thin.limit) == (None, "above_range", pytest.approx(32 * IN))
    assert (thick.value, thick.flag, thick.limit) == (None, "below_range", pytest.approx(-16 * IN))
    Probe(ledger).put("scum.level", (START, -1.23), jid="00000000000000cc")
    (low,) = clearances(ledger, registry, "scum")
    assert (low.value, low.flag, low.limit) == (None, "below_range", pytest.approx(-32 * IN))


def test_a_reading_that_failed_a_test_gives_no_clearance_unless_a_person_says_so(
    ledger: Ledger, registry: Registry
) -> None:
    """One reading of 40 in between readings of 12 in is a spike."""
    Probe(ledger).put("sludge.level", *((START + n * HOUR, (40 if n == 1 else 12) * IN) for n in range(6)))
    values = [each.value is None for each in clearances(ledger, registry, "sludge")]
    assert values[1] is True
    assert values[3:] == [False] * 3
    with ledger.begin() as conn:
        what = {"node": "septic-12", "stream": "sludge.level", "by": "Ruth", "reason": "seen", "now_us": 1}
        add_edit(conn, start_us=START + HOUR, end_us=START + HOUR + 1, flag=1, **what)
    assert clearances(ledger, registry, "sludge")[1].value == pytest.approx(-8 * IN)


@given(st.sampled_from(septic.LAYERS), st.floats(-2, 2), st.floats(0, 1))
def test_more_of_a_layer_never_leaves_more_clearance(layer: septic.Layer, height_m: float, more_m: float) -> None:
    """A censored value counts as its limit. Scum grows downward."""
    tank = Tank.model_validate({"floor": "48 in", "baffle": "16 in", "from": date(2020, 1, 1)})
    step = Cleared(tank, layer)

    def clear(height: float) -> float:
        derived = step.apply(0, height)
        found = derived.value if derived.value is not None else derived.limit
        assert found is not None
        return found

    assert clear(height_m + (more_m if layer == "sludge" else -more_m)) <= clear(height_m) + 1e-12


def test_clearances_and_lost_capacity_are_explained_to_the_reading(ledger: Ledger, registry: Registry) -> None:
    Probe(ledger).put("sludge.level", (START, 12 * IN))
    Probe(ledger, "basin-3").put("bed.distance", (START, 2.5))
    with ledger.read() as conn:
        told = explain(conn, registry, f"{SITE}/sludge_clearance", START, HOUR)
        lost = explain(conn, registry, "basin-3/volume_lost", START, HOUR)
        (basin,) = basins.filled(conn, registry, "basin-3", START, START + 1)
    assert [layer.step for layer in told.layers] == ["reading", "height", "clearance"]
    assert told.value.value == pytest.approx(20 * IN)
    assert "an indication, which establishes nothing" in told.layers[-1].source
    assert (lost.value, lost.unit) == (basin.volume_percent, "%")


# ---- forecast


def grow(ledger: Ledger, inches: dict[int, float], *, start_us: int = START) -> None:
    """Sludge of so many inches on so many days after a start."""
    jid = f"{start_us & (2**64 - 1):016x}"
    Probe(ledger).put("sludge.level", *((start_us + day * DAY, d * IN) for day, d in inches.items()), jid=jid)


def test_forecast_of_a_year_reaches_10_inches_on_day_1740(ledger: Ledger, registry: Registry) -> None:
    enter(ledger, PumpOut(), START)
    grow(ledger, {0: 2.0, 90: 3.1, 180: 4.0, 270: 5.1, 365: 6.2})
    with ledger.read() as conn:
        found = septic.forecast(conn, registry, SITE, "sludge", LIMITS.sludge_m, START + 400 * DAY)
    assert found is not None
    assert found.expected_us is not None
    assert found.earliest_us is not None
    assert (found.values, found.pumped, found.since_us, found.why) == (5, True, START, "")
    assert (found.expected_us - START) / DAY == pytest.approx(1740.5, abs=1)
    assert found.earliest_us < found.expected_us
    assert found.latest_us is None or found.latest_us > found.expected_us


def test_forecast_begins_anew_at_a_pump_out_and_knows_only_what_was_entered_by_then(
    ledger: Ledger, registry: Registry
) -> None:
    grow(ledger, {0: 6.0, 90: 9.0, 180: 12.0})
    pumped_us = START + 200 * DAY
    grow(ledger, {1: 1.0, 50: 1.5, 100: 2.0}, start_us=pumped_us)
    enter(ledger, PumpOut(), pumped_us)
    with ledger.read() as conn:
        before = septic.forecast(conn, registry, SITE, "sludge", LIMITS.sludge_m, START + 190 * DAY)
        after = septic.forecast(conn, registry, SITE, "sludge", LIMITS.sludge_m, pumped_us + 150 * DAY)
    assert before is not None
    assert after is not None
    assert (before.pumped, before.values, after.pumped, after.values) == (False, 3, True, 3)
    assert before.expected_us is not None
    assert after.expected_us is not None
    assert (before.expected_us - START) / DAY == pytest.approx(480.5, abs=1)
    assert (after.expected_us - pumped_us) / DAY == pytest.approx(1 + 21 * 99 + 0.5, abs=5)


@pytest.mark.parametrize(
    ("inches", "why"),
    [({0: 2.0, 1: 2.5}, "2 days with a value"), ({0: 3.0, 30: 3.0, 60: 2.9, 90: 2.8}, "does not grow")],
)
def test_forecast_without_a_date_says_why(
    ledger: Ledger, registry: Registry, inches: dict[int, float], why: str
) -> None:
    grow(ledger, inches)
    with ledger.read() as conn:
        found = septic.forecast(conn, registry, SITE, "sludge", LIMITS.sludge_m, START + 400 * DAY)
        nothing = septic.forecast(conn, registry, SITE, "scum", LIMITS.scum_m, START + 400 * DAY)
    assert found is not None
    assert why in found.why
    assert found.expected_us is None
    assert nothing is None


def test_a_day_counts_once_by_its_median(ledger: Ledger, registry: Registry) -> None:
    rows = [(START + day * DAY + n * HOUR, (2 + day) * IN + (0.001 * (n % 3))) for day in range(4) for n in range(9)]
    Probe(ledger).put("sludge.level", *rows)
    with ledger.read() as conn:
        found = septic.forecast(conn, registry, SITE, "sludge", LIMITS.sludge_m, START + 10 * DAY)
    assert found is not None
    assert found.values == 4
    assert found.expected_us is not None
    assert (found.expected_us - START) / DAY == pytest.approx(20.5, abs=0.1)


def test_years_of_days_are_gathered_into_few_values() -> None:
    days, values = septic._daily([(n * DAY, float(n)) for n in range(1200)], 0)
    assert len(days) == len(values) == 400
    assert (days[:2], values[:2]) == ([1.5, 4.5], [1.0, 4.0])


# ---- liquid


def test_liquid_above_the_invert_counts_after_tolerance_and_dwell(ledger: Ledger, registry: Registry) -> None:
    levels = [0.0, 0.4, 0.6, 0.8, 0.7, 0.0]  # inches, half an hour apart; tolerance 0.5 in, dwell 60 min
    Probe(ledger).put("liquid.level", *((START + n * 30 * MINUTE, level * IN) for n, level in enumerate(levels)))
    with ledger.read() as conn:
        found = septic.liquid(conn, registry, SITE, START, START + DAY)
        early = septic.liquid(conn, registry, SITE, START, START + 91 * MINUTE)
        instant = septic.liquid(conn, registry, SITE, START, START + 91 * MINUTE, instant=True)
    assert found is not None
    assert early is not None
    assert instant is not None
    (above,) = found.above
    assert (above.start_us, above.dwelt, above.ended) == (START + 60 * MINUTE, True, True)
    assert above.peak_m == pytest.approx(0.8 * IN)
    assert [(each.dwelt, each.ended) for each in early.above] == [(False, False)]
    assert [each.dwelt for each in instant.above] == [True]


def test_a_tank_that_loses_its_liquid_overnight_is_found(ledger: Ledger, registry: Registry) -> None:
    Probe(ledger).put("liquid.level", *((START + n * HOUR, -0.05 - n * 0.003) for n in range(9)))
    with ledger.read() as conn:
        found = septic.liquid(conn, registry, SITE, START, START + DAY)
    assert found is not None
    assert [each.drop_m for each in found.sinkings] == [pytest.approx(0.024)]
    assert found.surges == ()


def test_without_a_tank_in_the_registry_nothing_is_said_of_its_liquid(ledger: Ledger, registry: Registry) -> None:
    with ledger.read() as conn:
        assert septic.liquid(conn, registry, SITE, 0, at("2019-01-01 00:00")) is None


# ---- by hand


def test_hand_and_sensor_stand_side_by_side_over_time(ledger: Ledger, registry: Registry) -> None:
    probe = Probe(ledger)
    probe.put("sludge.level", *((START + n * 6 * HOUR, (12 + n * 0.01) * IN) for n in range(9)))
    probe.put("scum.level", (START, -12 * IN))
    enter(ledger, SepticMeasurement(scum_bottom="11 in", sludge="13 in", liquid="0.1 in"), START + HOUR)
    enter(ledger, SepticMeasurement(no_scum=True, sludge="30 cm"), START + 12 * HOUR)
    enter(ledger, SepticMeasurement(sludge="20 in"), START + 90 * DAY)
    with ledger.read() as conn:
        found = septic.compared(conn, registry, SITE, START + 400 * DAY)
        first = septic.compared(conn, registry, SITE, START + 2 * HOUR)
    told = [(each.entry, each.what, each.hand_m, each.sensor_m, each.difference_m) for each in found]
    near = pytest.approx
    assert told == [
        (1, "scum_clearance", near(5 * IN), near(4 * IN), near(1 * IN)),
        (1, "sludge", near(13 * IN), near(12 * IN), near(1 * IN)),
        (1, "liquid", near(0.1 * IN), None, None),
        (2, "scum_clearance", inf, near(4 * IN), None),
        (2, "sludge", near(0.3), near(12.02 * IN), near(0.3 - 12.02 * IN)),
        (3, "sludge", near(20 * IN), None, None),
    ]
    assert [each.entry for each in first] == [1, 1, 1]


def test_hand_measurements_become_the_codes_clearances() -> None:
    tank = TankDepths(48 * IN, 16 * IN)
    assert septic.hand_clearance("sludge", 22 * IN, tank) == pytest.approx(10 * IN)
    assert septic.hand_clearance("scum_clearance", inf, tank) == inf
    assert septic.hand_clearance("liquid", 0.1, tank) is None
    assert septic.hand_clearance("sludge", 60 * IN, tank) is None
    assert septic.by_hand(SepticMeasurement(scum_bottom="3 in"), None) == []


# ---- basins


def test_a_basin_by_sensor_and_survey_by_volume_and_depth(ledger: Ledger, registry: Registry) -> None:
    """100 of 200 m³ stand below 1 m: half by volume; 1 of 2 m: half by depth. At 1.2 m 140 m³ are gone."""
    Probe(ledger, "basin-3").put("bed.distance", (START, 2.0), (START + DAY, None), (START + 2 * DAY, 3.1))
    enter(ledger, SedimentSurvey(depth="1.2 m"), START + HOUR, "basin-3")
    with ledger.read() as conn:
        found = basins.filled(conn, registry, "basin-3", START, START + 3 * DAY)
    assert [(each.time_us - START) // HOUR for each in found] == [0, 1, 24, 48]
    sensor, survey, missing, below = found
    assert (sensor.by, sensor.volume_percent.value, sensor.depth_percent.value) == ("", 50.0, 50.0)
    assert (survey.by, survey.volume_percent.value) == ("Ruth Adler", pytest.approx(70.0))
    assert survey.depth_percent.value == pytest.approx(60.0)
    assert missing.volume_percent == missing.depth_percent == Derived(None, "missing")
    assert (below.volume_percent.flag, below.depth_percent.flag) == ("below_range", "below_range")


def test_a_basin_that_the_registry_does_not_describe_has_no_per_cent(ledger: Ledger, tmp_path: Path) -> None:
    registry = septic_registry(
        tmp_path, ('design_depth = "2 m"\nfrom = 2020-01-01', 'design_depth = "2 m"\nfrom = 2026-01-01')
    )
    enter(ledger, SedimentSurvey(depth="1.2 m"), START, "basin-3")
    with ledger.read() as conn:
        (found,) = basins.filled(conn, registry, "basin-3", START, START + 1)
    assert found.volume_percent == found.depth_percent == Derived(None, "not_set_up")


@pytest.mark.parametrize(
    ("lost", "reached"),
    [
        (Derived(50.0), True),
        (Derived(49.99), False),
        (Derived(None, "above_range", 100.0), True),
        (Derived(None, "below_range", 0.0), False),
        (Derived(None, "missing"), False),
    ],
)
def test_a_share_of_the_capacity_is_reached_by_equality_and_never_by_what_is_unknown(
    lost: Derived, reached: bool
) -> None:
    assert basins.reaches(lost, 50.0) is reached
