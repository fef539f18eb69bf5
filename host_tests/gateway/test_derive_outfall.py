"""What passed an outfall, and the turbidity added, from the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.derive.outfall import flows, passed, turbidity_added
from headwall.errors import UnknownThingError
from headwall.hydrology.weir import v_notch_m3_s
from support.place_house import Readings, place
from support.rules_house import HOUR, MINUTE, at

_T = at("2026-06-10 12:00")
_LEVEL = '[[sites.levels]]\nof = "stage"\nmethod = "level"\nfrom = 2025-01-01\n'
_NOTCH = '[[sites.ratings]]\nmethod = "v_notch"\nangle_deg = 90\nfrom = 2025-01-01\n'


@pytest.fixture
def readings() -> Iterator[Readings]:
    made = Readings()
    yield made
    made.ledger.close()


def test_a_day_of_steady_flow_is_its_volume_and_a_hole_is_a_gap(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", _LEVEL + _NOTCH)
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
    registry = place(tmp_path, "stage.level", _LEVEL + _NOTCH)
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


def test_a_site_without_flow_says_so(tmp_path: Path, readings: Readings) -> None:
    registry = place(tmp_path, "stage.level", _LEVEL)
    with readings.ledger.read() as conn, pytest.raises(UnknownThingError, match="it has stage"):
        flows(conn, registry, "outfall-7", _T, _T + HOUR)
