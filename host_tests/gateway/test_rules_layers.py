"""Layers over a gauge's readings: what a person enters later makes exactly what it touches be judged again, and the
log book says why."""  # fmt: skip

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from headwall.derive.tip_depth import tip_at
from headwall.rules.facts import NearThreshold, StormDuty
from support.rules_house import GAUGE, HOUR, MINUTE, NOON, House, at, content, houses

_CALIBRATION = "calibration of 2026-06-10 by Sam Okafor"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    with houses(tmp_path) as make:
        yield make


# ---- calibrated tips


def test_a_late_calibration_opens_a_duty_and_the_log_book_says_why(house: Callable[..., House]) -> None:
    """A tip of 0.01 in that lets 4 % more through: 49 tips are 0.5096 in."""
    h = house()
    h.judge(h.rain(NOON, 49))
    assert h.duties() == []
    h.calibrate(NOON - HOUR, reference="26", reading="25")
    h.judge()
    (duty,) = h.duties()
    assert duty.body.storm.depth_in == "0.5096"
    assert h.told_why() == [("duty_opened", _CALIBRATION)]


def test_a_late_calibration_takes_a_trigger_away(house: Callable[..., House]) -> None:
    h = house()
    h.judge(h.rain(NOON, 50))
    h.mail_everything()
    h.calibrate(NOON - HOUR, reference="24", reading="25")
    h.judge()
    (duty,) = h.duties()
    assert duty.body.trigger_gone == "rain"
    assert h.told_why() == [("duty_changed", _CALIBRATION)]
    correction = h.outbox()[-1][3]
    assert isinstance(correction, StormDuty)
    assert (correction.trigger_gone, correction.because) == ("rain", _CALIBRATION)


def test_a_late_calibration_that_only_changes_the_depth_is_a_record_too(house: Callable[..., House]) -> None:
    """60 tips become 0.624 in, and the crossing two tips earlier: 49 tips of 0.0104 in."""
    h = house()
    h.judge(h.rain(NOON, 60))
    h.calibrate(NOON + 55 * MINUTE, reference="26", reading="25")
    h.judge()
    (duty,) = h.duties()
    assert duty.body.storm.depth_in == "0.602"  # 55 of the nominal tip and 5 of the calibrated
    assert duty.body.crossing_us == NOON + 49 * MINUTE
    assert h.told_why() == [("duty_changed", _CALIBRATION)]
    assert len(h.outbox()) == 1


def test_a_calibration_holds_from_its_instant_to_the_next(house: Callable[..., House]) -> None:
    h = house()
    h.calibrate(NOON + 20 * MINUTE, reference="26", reading="25")
    h.calibrate(NOON + 40 * MINUTE, reference="25", reading="25", verdict="pass")
    h.judge(h.rain(NOON, 60))
    (duty,) = h.duties()
    assert duty.body.storm.depth_in == "0.608"  # 40 of 0.01 in, 20 of 0.0104 in
    assert duty.body.crossing_us == NOON + 49 * MINUTE  # 20 + 20 + 10: 0.508; 9 of the last: 0.498


@pytest.mark.parametrize(
    ("fields", "factor"),
    [
        ({"verdict": "pass"}, "25/25"),
        ({"verdict": "fail"}, "26/25"),
        ({"verdict": ""}, "26/25"),
        ({"verdict": "fail", "as_left": [{"reference": "27", "reading": "25"}]}, "27/25"),
        ({"verdict": "pass", "as_left": [{"reference": "27", "reading": "25"}]}, "25/25"),
    ],
)
def test_the_state_in_which_a_gauge_was_left_counts(
    house: Callable[..., House], fields: dict[str, object], factor: str
) -> None:
    from fractions import Fraction

    h = house()
    h.calibrate(NOON, reference="26", reading="25", **fields)
    with h.ledger.read() as conn:
        before, after = (tip_at(conn, h.registry, GAUGE, instant) for instant in (NOON - 1, NOON))
    assert before is not None
    assert after is not None
    assert (before.calibration, before.depth.text_in) == (None, "0.01")
    assert after.calibration is not None
    assert after.depth.mm == Fraction("0.254") * Fraction(factor)


def test_thresholds_stay_exact_under_a_calibration(house: Callable[..., House]) -> None:
    """A tip of 1/3 of 0.01 in: 150 reach half an inch, 149 do not."""
    h = house()
    h.calibrate(NOON - HOUR, reference="1", reading="3")
    h.judge(h.rain(NOON, 149))
    assert h.duties() == []
    h.put((NOON + 149 * MINUTE, 1))
    h.judge()
    (duty,) = h.duties()
    assert duty.body.storm.depth_in == "0.5"


# ---- flags of persons


def test_readings_that_a_person_flags_as_failed_are_not_judged_until_the_flag_is_taken_back(
    house: Callable[..., House],
) -> None:
    h = house()
    h.judge(h.rain(NOON, 55))
    h.flag(NOON, NOON + HOUR, 4)
    h.judge()
    assert h.duties()[0].body.trigger_gone == "rain"
    h.flag(NOON, NOON + HOUR, None)
    h.judge()
    assert h.duties()[0].body.trigger_gone == ""
    assert h.told_why() == [
        ("duty_changed", "readings of 2026-06-10 flagged as failed by Ada: wasps"),
        ("duty_changed", "readings of 2026-06-10 no longer flagged by Ada: wasps"),
    ]


def test_a_flagged_stretch_in_a_storm_is_a_gap_with_its_reason(house: Callable[..., House]) -> None:
    h = house()
    h.judge(h.rain(NOON, 70))
    h.flag(NOON + 10 * MINUTE, NOON + 20 * MINUTE, 4)
    h.judge()
    (duty,) = h.duties()
    assert duty.body.storm.depth_in == "0.6"
    (gap,) = duty.body.gaps
    assert (gap.start_us, gap.end_us) == (NOON + 10 * MINUTE, NOON + 20 * MINUTE)
    assert gap.reason == "flagged as failed by Ada: wasps"


def test_readings_that_a_test_failed_count_again_when_a_person_lets_them(house: Callable[..., House]) -> None:
    h = house()
    h.judge(h.rain(NOON, 55, quality=4))
    assert h.duties() == []
    h.flag(NOON, NOON + HOUR, 1)
    h.judge()
    assert len(h.duties()) == 1
    h.flag(NOON, NOON + 30 * MINUTE, 4)
    h.judge()
    assert h.duties()[0].body.trigger_gone == "rain"


def test_a_quarantined_reading_stays_out_whatever_a_person_says_of_its_quality(house: Callable[..., House]) -> None:
    h = house()
    h.flag(NOON, NOON + HOUR, 1)
    h.judge(h.rain(NOON, 55, quarantine="clock_future"))
    assert h.duties() == []


# ---- snow water by hand, gauges that are off


_WINTER = at("2026-01-20 12:00")
_OFF = 'off = [{ from = 2025-12-01, to = 2026-04-01, reason = "freezes" }]'


def test_snow_water_entered_by_hand_opens_a_duty_and_names_who_measured(house: Callable[..., House]) -> None:
    h = house(_WINTER, gauge=_OFF)
    number = h.snow(_WINTER - 8 * HOUR, _WINTER, "0.52 in")
    h.judge()
    (duty,) = h.duties()
    assert (duty.body.crossing_us, duty.body.storm.depth_in) == (_WINTER, "0.52")
    (by_hand,) = duty.body.storm.by_hand
    assert (by_hand.entry, by_hand.by, by_hand.depth_in) == (number, "Olive", "0.52")
    assert [gap.reason for gap in duty.body.gaps] == ["off: freezes"]
    assert h.told_why() == [("duty_opened", "snow water of 2026-01-20 entered by Olive")]


def test_snow_water_adds_to_the_tips_of_its_storm(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 20)
    h.judge(last)
    h.snow(NOON - HOUR, last + HOUR, "7.62 mm")
    h.judge(last + HOUR)
    (duty,) = h.duties()
    assert (duty.body.crossing_us, duty.body.storm.depth_in) == (last + HOUR, "0.5")


def test_snow_water_that_is_replaced_or_withdrawn_counts_no_more(house: Callable[..., House]) -> None:
    h = house(_WINTER, gauge=_OFF)
    first = h.snow(_WINTER - 8 * HOUR, _WINTER, "0.52 in")
    h.judge()
    second = h.snow(_WINTER - 8 * HOUR, _WINTER + HOUR, "0.6 in", replaces=first)
    h.judge(_WINTER + HOUR)
    (duty,) = h.duties()
    assert (duty.body.crossing_us, duty.body.storm.depth_in) == (_WINTER + HOUR, "0.6")
    h.withdraw(second, _WINTER)
    h.judge()
    assert h.duties()[0].body.trigger_gone == "rain"
    assert h.told_why()[-1] == ("duty_changed", "snow water of 2026-01-20 withdrawn by Olive")


def test_readings_of_a_gauge_that_is_off_are_kept_and_not_judged(house: Callable[..., House]) -> None:
    h = house(_WINTER, gauge=_OFF)
    h.judge(h.rain(_WINTER, 60))
    assert h.duties() == []
    with h.ledger.read() as conn:
        assert conn.exec_driver_sql("SELECT count(*) FROM readings").scalar() == 60


def test_a_gauge_that_is_off_is_no_silent_gauge_and_is_one_when_it_stays_silent_after(
    house: Callable[..., House],
) -> None:
    h = house(_WINTER, gauge=_OFF)
    h.put((at("2025-11-30 12:00"), 0))
    h.judge(_WINTER)
    assert h.notices("gauge_silent") == []
    on_again = at("2026-04-01 04:00")
    h.judge(on_again + 50 * MINUTE)
    assert h.notices("gauge_silent") == []
    h.judge(on_again + 3 * HOUR)
    assert len(h.notices("gauge_silent")) == 1


# ---- undercatch beside the raw depth


def test_a_storm_that_reaches_the_depth_only_when_corrected_is_the_officers_call(house: Callable[..., House]) -> None:
    """48 tips five seconds apart: 0.48 in raw, and what the bucket missed lifts it over 0.5 in."""
    h = house()
    last = h.rain(NOON, 48, every_us=5_219_000)
    h.alive(last + 15 * MINUTE, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    assert h.duties() == []
    (fact,) = [fact for *_, fact in h.outbox()]
    assert isinstance(fact, NearThreshold)
    assert fact.by_correction
    assert (fact.storm.depth_in, fact.storm.corrected_in[:4]) == ("0.48", "0.52")


def test_rain_faster_than_the_correction_is_known_for_is_corrected_to_at_least(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 48, every_us=1_000_000)
    h.alive(last + 15 * MINUTE, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    (fact,) = [fact for *_, fact in h.outbox()]
    assert isinstance(fact, NearThreshold)
    assert fact.storm.corrected_at_least


def test_the_clock_of_a_duty_runs_by_the_raw_depth(house: Callable[..., House]) -> None:
    h = house()
    crossing = h.rain(NOON, 50, every_us=5_219_000)
    h.judge(crossing)
    (duty,) = h.duties()
    assert duty.body.crossing_us == crossing
    assert float(duty.body.storm.corrected_in) > 0.5
    assert duty.body.storm.depth_in == "0.5"


# ---- from scratch


def test_a_ledger_judged_from_scratch_ends_as_one_that_was_corrected_step_by_step(
    house: Callable[..., House],
) -> None:
    h = house()
    last = h.rain(NOON, 60)
    h.alive(last, last + 8 * HOUR)
    h.judge(last + 8 * HOUR)
    h.calibrate(NOON + 30 * MINUTE, reference="26", reading="25")
    h.judge()
    h.flag(NOON + 5 * MINUTE, NOON + 8 * MINUTE, 4)
    h.judge()
    h.maintain(NOON + 20 * MINUTE, NOON + 23 * MINUTE)
    h.judge()
    h.snow(last, last + HOUR, "0.07 in")
    h.judge()
    scratch = House(h.registry, last + 8 * HOUR)
    scratch.snow(last, last + HOUR, "0.07 in")
    scratch.maintain(NOON + 20 * MINUTE, NOON + 23 * MINUTE)
    scratch.calibrate(NOON + 30 * MINUTE, reference="26", reading="25")
    scratch.flag(NOON + 5 * MINUTE, NOON + 8 * MINUTE, 4)
    last = scratch.rain(NOON, 60)
    scratch.alive(last, last + 8 * HOUR)
    scratch.judge()
    assert content(scratch.duties()) == content(h.duties())
    assert h.duties()[0].version > 1
    scratch.close()
