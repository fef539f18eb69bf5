"""Dry-weather flow through the rules: from readings in the ledger to notices and mails, on time and late."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.hydrology.dry_weather import HOUR_US
from headwall.ledger import schema
from headwall.ledger.approvals import Discharge, add_approval
from headwall.ledger.calibrations import add_calibration, parse_calibrations
from headwall.registry import Registry, load_registry
from headwall.rules import episode_notices
from headwall.rules.facts import SuspectedDischarge
from support.outfall_house import BASE, DAY, PULSE, START, STEP, OutfallHouse, outfall_registry, quiet
from support.rules_house import GAUGE, HOUR, MINUTE


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return outfall_registry(tmp_path)


class Outfall:
    """A house with an outfall, and what is suspected of it."""

    def __init__(self, registry: Registry) -> None:
        self.house = OutfallHouse(registry)
        self.put = self.house.feed

    def suspected(self) -> list[tuple[int, int, str]]:
        rows = [row for row in self.house.notices("suspected_discharge") if row.closed_us is None]
        return sorted((row.body["start_us"], row.body["end_us"], row.body["likeness"]) for row in rows)

    def mailed(self) -> list[SuspectedDischarge]:
        return [fact for _, _, _, fact in self.house.outbox() if isinstance(fact, SuspectedDischarge)]


@pytest.fixture
def outfall(registry: Registry) -> Iterator[Outfall]:
    made = Outfall(registry)
    yield made
    made.house.close()


def test_a_pulse_in_dry_weather_is_told_once_with_what_it_looks_like(outfall: Outfall) -> None:
    outfall.put(quiet(10, [PULSE]), every=500)
    ((start_us, end_us, likeness),) = outfall.suspected()
    assert start_us == PULSE[0]
    assert end_us == PULSE[1]
    assert likeness == "flushing"
    (fact,) = outfall.mailed()
    assert (fact.site, fact.start_us) == ("outfall-7", start_us)
    assert fact.evidence["hours_dry"] >= 72
    assert "suspected_discharge" in outfall.house.records()


def test_quiet_flow_and_a_storm_with_its_tail_are_told_to_nobody(outfall: Outfall) -> None:
    readings = quiet(8)
    storm_us = START + 8 * DAY
    rain = [("board-a", "rain.tips", storm_us + n * MINUTE, 1.0) for n in range(60)]
    tail = [("node-7", "meter.flow", storm_us + n * STEP, BASE + 0.05 * 0.985**n) for n in range(3 * 288)]
    dry = [each for each in quiet(3, start_us=storm_us) if each[1] == "rain.tips"]
    outfall.put([*readings, *sorted([*rain, *tail, *dry], key=lambda each: each[2])])
    assert outfall.suspected() == []
    assert outfall.mailed() == []


def test_silence_of_the_gauge_is_no_dryness(outfall: Outfall) -> None:
    outfall.put([each for each in quiet(10, [PULSE]) if each[1] != "rain.tips"])
    assert outfall.suspected() == []


def test_a_gauge_that_has_fallen_silent_lets_nothing_be_dry(outfall: Outfall) -> None:
    silent_us = PULSE[0] - 3 * DAY
    outfall.put([each for each in quiet(10, [PULSE]) if each[1] != "rain.tips" or each[2] < silent_us])
    assert outfall.suspected() == []


def test_before_its_gauge_has_ever_spoken_nothing_is_dry(outfall: Outfall) -> None:
    first_us = PULSE[0] - 20 * HOUR
    outfall.put([each for each in quiet(10, [PULSE]) if each[1] != "rain.tips" or each[2] > first_us])
    assert outfall.suspected() == []


@pytest.mark.parametrize("patience_min", [60, 1440])
def test_a_gauge_that_speaks_again_leaves_what_it_would_have_left_on_time(tmp_path: Path, patience_min: int) -> None:
    """Judged while it was silent, and again when it spoke: then its silence was a gap, or within its patience none."""
    outfall_registry(tmp_path)
    path = tmp_path / "registry.toml"
    patient_tip = f'silent_after_min = {patience_min}\ntip = "'
    path.write_text(path.read_text("utf-8").replace('tip = "', patient_tip), "utf-8")
    patient = load_registry(path)
    silent = (PULSE[0] - HOUR, PULSE[1] + 3 * HOUR)
    readings = [each for each in quiet(10, [PULSE]) if each[1] != "rain.tips" or not silent[0] < each[2] < silent[1]]
    ends = []
    alone = next(n for n, each in enumerate(readings) if each[2] > silent[0])
    for every in (50_000, 25):
        outfall = Outfall(patient)
        outfall.put(readings[:alone])
        outfall.put(readings[alone : alone + 250], every)
        outfall.put(readings[alone + 250 :])
        (notice,) = outfall.house.notices("suspected_discharge")
        ends.append((outfall.suspected(), notice.body["confidence"], notice.body["evidence"]))
        outfall.house.close()
    assert ends[0] == ends[1]
    assert (ends[0][2]["rain_unknown_hours"] == 0) == (patience_min == 1440)


def test_hours_whose_judging_failed_are_judged_when_it_works_again(
    outfall: Outfall, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("broken")

    readings = quiet(10, [PULSE])
    before = next(n for n, each in enumerate(readings) if each[2] > PULSE[0] - HOUR)
    after = next(n for n, each in enumerate(readings) if each[2] > PULSE[1] + HOUR + MINUTE)
    outfall.put(readings[:before])
    with monkeypatch.context() as patched:
        patched.setattr(episode_notices, "sync", broken)
        outfall.put(readings[before:after])
    assert outfall.suspected() == []
    assert "dry-weather flow" in (outfall.house.engine.healthy() or "")
    outfall.house.clock.now += 2 * MINUTE
    outfall.house.judge()
    assert [(start_us, end_us) for start_us, end_us, _ in outfall.suspected()] == [PULSE[:2]]
    assert outfall.house.engine.healthy() is None


def test_late_and_shuffled_readings_end_where_those_on_time_do(registry: Registry) -> None:
    readings = quiet(11, [PULSE, (START + 9 * DAY + 14 * HOUR, START + 9 * DAY + 15 * HOUR, 0.02)])
    ends = []
    for seed in range(3):
        outfall = Outfall(registry)
        outfall.house.feed_late(readings, seed)
        ends.append(outfall.suspected())
        outfall.house.close()
    assert len(ends[0]) == 2
    assert ends[1:] == [ends[0]] * 2


def test_rain_that_comes_late_takes_a_suspicion_back(outfall: Outfall) -> None:
    outfall.put(quiet(10, [PULSE]))
    assert outfall.suspected()
    outfall.put([("board-a", "rain.tips", PULSE[0] - HOUR + n * MINUTE, 1.0) for n in range(30)])
    assert outfall.suspected() == []
    assert outfall.mailed() == []  # no mail had carried it yet


def test_what_was_mailed_is_mailed_once_however_long_it_goes_on(outfall: Outfall) -> None:
    long = (PULSE[0], PULSE[0] + 30 * HOUR, 0.012)
    readings = quiet(11, [long])
    half = next(n for n, each in enumerate(readings) if each[2] > PULSE[0] + 4 * HOUR)
    outfall.put(readings[:half])
    outfall.house.mail_everything()
    outfall.put(readings[half:])
    assert len(outfall.mailed()) == 1
    ((start_us, end_us, _),) = outfall.suspected()
    assert start_us == long[0]
    assert end_us >= long[0] + 24 * HOUR


def test_an_approval_entered_later_explains_its_time(outfall: Outfall) -> None:
    outfall.put(quiet(10, [PULSE]))
    assert outfall.suspected()
    approved = {"municipality": "elmsford", "site": "outfall-7", "by": "Olive", "now_us": outfall.house.clock.now}
    with outfall.house.ledger.begin() as conn:
        add_approval(conn, _discharge(), from_us=PULSE[0], to_us=PULSE[1], **approved)  # type: ignore[arg-type]
    outfall.house.judge()
    assert outfall.suspected() == []


def _discharge() -> Discharge:
    return Discharge(provision="x", holder="Water Dept", granted_by="Olive", reference="letter 12", what="hydrants")


def test_a_calibration_entered_later_judges_its_time_again(outfall: Outfall) -> None:
    """A meter that was found to show 0 as 12 L/s more: the pulse was its own."""
    outfall.put(quiet(10, [PULSE]))
    assert outfall.suspected()
    record = {
        "v": 1, "datastream": "node-7/meter.flow", "kind": "one_point", "at": "2026-06-09T13:30:00Z", "by": "Sam",
        "unit": "m3/s", "method": "bucket", "verdict": "fail",
        "as_found": [{"reference": "0.002", "reading": "0.014"}],
    }  # fmt: skip
    back = {**record, "at": "2026-06-09T16:00:00Z", "as_found": [{"reference": "0.002", "reading": "0.002"}]}
    now_us = outfall.house.clock.now
    for each in (record, back):
        (parsed,) = parse_calibrations(json.dumps(each).encode(), "test")
        with outfall.house.ledger.begin() as conn:
            add_calibration(conn, parsed, now_us)
    outfall.house.judge()
    assert [each for each in outfall.suspected() if each[0] < PULSE[1] and each[1] > PULSE[0] + HOUR_US] == []


def test_a_restart_goes_on_with_the_same_notice(outfall: Outfall) -> None:
    readings = quiet(10, [PULSE])
    half = next(n for n, each in enumerate(readings) if each[2] > PULSE[0] + HOUR + 20 * MINUTE)
    outfall.put(readings[:half])
    keys = {row.key for row in outfall.house.notices("suspected_discharge")}
    outfall.house.new_engine()
    outfall.put(readings[half:])
    assert {row.key for row in outfall.house.notices("suspected_discharge")} == keys
    assert len(keys) == 1


def test_another_board_that_says_nothing_of_the_outfall_costs_no_judgement(outfall: Outfall) -> None:
    outfall.put(quiet(1))
    with outfall.house.ledger.read() as conn:
        before = conn.execute(sa.select(sa.func.count()).select_from(schema.notices)).scalar()
    outfall.house.put((START + 2 * DAY, 1), stream="rain.tips")
    outfall.house.judge()
    assert GAUGE == "board-a/rain.tips"
    with outfall.house.ledger.read() as conn:
        assert conn.execute(sa.select(sa.func.count()).select_from(schema.notices)).scalar() == before
