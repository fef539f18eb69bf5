"""The storm rule on a real ledger: thresholds, late data, merging, statuses, what is told and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from headwall.ledger import schema
from headwall.rules.facts import InactiveSiteStorm, NearThreshold, StormDuty
from support.registry_text import gauges, site
from support.rules_house import GAUGE, HOUR, MINUTE, NOON, House, at, houses, make_registry

_SHUT = (
    '[{ status = "active", from = 2020-01-01, to = 2026-06-01, by = "Olive" },'
    ' { status = "shut_down", from = 2026-06-01, by = "Olive" }]'
)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    with houses(tmp_path) as make:
        yield make


def test_fifty_tips_of_a_hundredth_inch_make_one_duty(house: Callable[..., House]) -> None:
    h = house()
    crossing = h.rain(NOON, 50)
    h.judge(crossing)
    (duty,) = h.duties()
    assert duty.body.storm.depth_in == "0.5"
    assert duty.body.crossing_us == crossing
    assert duty.body.due_us == crossing + 24 * HOUR
    assert duty.body.fired_by == "event"
    assert [(key, person, how) for key, person, how, _ in h.outbox()] == [(f"duty/{duty.id}/1", "officer", "now")]
    assert h.records() == ["duty_opened"]


def test_forty_nine_tips_make_no_duty_but_a_line_in_the_digest(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 49)
    h.alive(last, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    assert h.duties() == []
    ((key, person, how, fact),) = h.outbox()
    assert (person, how) == ("officer", "digest")
    assert isinstance(fact, NearThreshold)
    assert (fact.storm.depth_in, fact.threshold_in, fact.datastream) == ("0.49", "0.5", GAUGE)
    assert key.startswith("near_threshold/yard/")


def test_near_threshold_is_said_only_when_the_storm_has_ended(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 49)
    h.judge(last + 5 * HOUR)
    assert h.notices("near_threshold") == []


def test_forty_five_tips_are_near(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 45)
    h.alive(last, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    ((_, _, _, fact),) = h.outbox()
    assert isinstance(fact, NearThreshold)
    assert fact.storm.depth_in == "0.45"


def test_forty_four_tips_are_not_near(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 44)
    h.alive(last, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    assert h.outbox() == []


def test_a_near_storm_that_late_data_lifts_over_the_depth_is_taken_back(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 49)
    h.alive(last, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    h.put((NOON + 30 * 1_000_000, 1))
    h.judge()
    assert [fact for *_, fact in h.outbox() if isinstance(fact, NearThreshold)] == []
    assert len(h.duties()) == 1
    assert h.notices("near_threshold")[0].closed_us is not None


@pytest.mark.parametrize(("tips", "duties"), [(63, 0), (64, 1)])
def test_tips_of_a_fifth_millimetre_reach_half_an_inch_at_sixty_four(
    house: Callable[..., House], tips: int, duties: int
) -> None:
    h = house(tip="0.2 mm")
    h.judge(h.rain(NOON, tips))
    assert len(h.duties()) == duties


def test_a_storm_that_grows_makes_versions_without_mail(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 50)
    h.judge(last)
    for n in range(1, 4):
        h.put((last + n * MINUTE, 1))
        h.judge(last + n * MINUTE)
    (duty,) = h.duties()
    assert duty.version == 4
    assert duty.body.storm.depth_in == "0.53"
    assert len(h.outbox()) == 1


def test_the_end_of_the_storm_is_known_when_the_gauge_has_spoken_after_it(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 60)
    h.judge(last)
    assert h.duties()[0].body.storm.ended is False
    h.alive(last + 15 * MINUTE, last + 6 * HOUR)
    h.judge(last + 6 * HOUR)
    body = h.duties()[0].body
    assert body.storm.ended is True
    assert body.clocks.end_due_us == last + 24 * HOUR
    assert len(h.outbox()) == 1


def test_a_mailed_due_time_that_late_data_moves_makes_one_correction(house: Callable[..., House]) -> None:
    h = house()
    crossing = h.rain(NOON, 50)
    h.judge(crossing)
    h.mail_everything()
    h.rain(NOON - 2 * HOUR, 10)
    h.judge()
    h.judge()
    (duty,) = h.duties()
    assert duty.body.due_us == crossing - 10 * MINUTE + 24 * HOUR
    corrections = [fact for _, _, _, fact in h.outbox()[1:]]
    (correction,) = corrections
    assert isinstance(correction, StormDuty)
    assert correction.previous_due_us == crossing + 24 * HOUR
    assert correction.due_us == duty.body.due_us
    assert correction.previous_depth_in == "0.5"
    assert h.records() == ["duty_opened", "duty_changed"]


def test_a_due_time_moved_before_any_mail_is_told_once_as_it_is(house: Callable[..., House]) -> None:
    h = house()
    h.judge(h.rain(NOON, 50))
    h.rain(NOON - 2 * HOUR, 10)
    h.judge()
    ((_, _, _, fact),) = h.outbox()
    assert isinstance(fact, StormDuty)
    assert fact.previous_due_us is None
    assert fact.due_us == h.duties()[0].body.due_us


def test_late_tips_that_join_two_storms_merge_their_duties(house: Callable[..., House]) -> None:
    h = house()
    first = h.rain(NOON, 50)
    second = h.rain(first + 8 * HOUR, 50)
    h.judge(second)
    assert len(h.duties()) == 2
    h.mail_everything()
    h.put((first + 4 * HOUR, 1))
    h.judge()
    (duty,) = h.duties()
    assert duty.body.storm.depth_in == "1.01"
    assert duty.body.crossing_us == first
    everything = h.duties(everything=True)
    assert [(each.state, each.merged_into) for each in everything] == [("open", None), ("merged", duty.id)]
    told = [fact for _, _, _, fact in h.outbox()[2:]]
    assert [(f.duty, f.trigger_gone, f.merged_into) for f in told if isinstance(f, StormDuty)] == [
        (everything[1].id, "merged", duty.id)
    ]


def test_late_rain_that_fires_an_earlier_storm_moves_the_duty_that_had_counted_it(house: Callable[..., House]) -> None:
    h = house()
    first = h.rain(NOON, 30)
    second = h.rain(first + 8 * HOUR, 25)
    h.judge(second)
    (duty,) = h.duties()
    assert duty.body.fired_by in ("rolling24h", "day")
    h.rain(first + MINUTE, 20)
    h.judge()
    (moved,) = h.duties()
    assert moved.id == duty.id
    assert moved.body.crossing_us == first + 20 * MINUTE
    assert moved.body.fired_by == "event"


def test_a_closed_duty_stays_closed_and_its_changed_due_time_is_told(house: Callable[..., House]) -> None:
    from headwall.rules import duties

    h = house()
    crossing = h.rain(NOON, 50)
    h.judge(crossing)
    h.mail_everything()
    with h.ledger.begin() as conn:
        duties.close_duty(conn, 1, "received", by="Olive Officer", at_us=crossing, now_us=crossing)
    h.rain(NOON - HOUR, 5)
    h.judge()
    assert h.duties() == []
    (duty,) = h.duties(everything=True)
    assert (duty.state, duty.version, duty.closed_by) == ("received", 2, "Olive Officer")
    assert len(h.outbox()) == 2


def test_a_gauge_in_commissioning_tells_its_installer_alone(house: Callable[..., House]) -> None:
    h = house(accepted=False)
    h.judge(h.rain(NOON, 50))
    assert [person for _, person, _, _ in h.outbox()] == ["installer"]
    h.accept()
    h.judge(h.rain(NOON + 30 * HOUR, 50))
    assert [person for _, person, _, _ in h.outbox()] == ["installer", "officer"]


def test_a_site_that_is_shut_down_gets_no_duty_and_the_digest_says_so(house: Callable[..., House]) -> None:
    h = house(status=_SHUT)
    h.judge(h.rain(NOON, 50))
    assert h.duties() == []
    ((_, person, how, fact),) = h.outbox()
    assert (person, how) == ("officer", "digest")
    assert isinstance(fact, InactiveSiteStorm)
    assert fact.status == "shut_down"
    assert h.records() == ["inactive_site_storm"]


def test_the_status_at_the_crossing_decides(house: Callable[..., House]) -> None:
    h = house(status=_SHUT)
    before_midnight = at("2026-06-01 03:30")  # 23:30 on May 31 in New York
    crossing = h.rain(before_midnight - 49 * MINUTE, 50)
    assert crossing == before_midnight
    h.judge(h.rain(crossing + MINUTE, 60))
    assert len(h.duties()) == 1


def test_rain_in_a_maintenance_window_is_not_judged(house: Callable[..., House]) -> None:
    h = house()
    with h.ledger.begin() as conn:
        window = {"node": "board-a", "start_us": NOON, "end_us": NOON + HOUR, "by": "Ivan", "at_us": NOON}
        conn.execute(schema.maintenance.insert().values(**window))
    h.judge(h.rain(NOON, 55))
    assert h.duties() == []


def test_maintenance_entered_later_takes_the_trigger_away_but_a_person_closes(house: Callable[..., House]) -> None:
    h = house()
    h.judge(h.rain(NOON, 55))
    h.mail_everything()
    with h.ledger.begin() as conn:
        window = {"node": "board-a", "start_us": NOON, "end_us": NOON + HOUR, "by": "Ivan", "at_us": NOON}
        conn.execute(schema.maintenance.insert().values(**window))
    h.judge(NOON + 2 * HOUR)
    (duty,) = h.duties()
    assert duty.body.trigger_gone == "rain"
    assert [f.trigger_gone for _, _, _, f in h.outbox() if isinstance(f, StormDuty)] == ["", "rain"]


@pytest.mark.parametrize(
    "fields",
    [{"quarantine": "clock_future"}, {"quality": 4}, {"time_us": None, "boot": "00000001", "uptime_ms": 5}],
    ids=["quarantined", "failed", "without a time"],
)
def test_readings_that_must_not_be_judged_make_no_duty(house: Callable[..., House], fields: dict[str, object]) -> None:
    h = house()
    h.judge(h.rain(NOON, 60, **fields))
    assert h.duties() == []


def test_a_null_is_neither_rain_nor_a_sign_of_life(house: Callable[..., House]) -> None:
    h = house()
    h.put((NOON - 10 * MINUTE, 0), (NOON + 40 * MINUTE, None))
    h.rain(NOON + 80 * MINUTE, 50)
    h.judge(NOON + 3 * HOUR)
    (duty,) = h.duties()
    assert [(gap.start_us, gap.end_us) for gap in duty.body.gaps] == [(NOON - 10 * MINUTE, NOON + 80 * MINUTE)]


def test_a_gap_that_a_backlog_fills_is_no_longer_said(house: Callable[..., House]) -> None:
    h = house()
    h.put((NOON - 3 * HOUR, 0))
    last = h.rain(NOON, 50)
    h.judge(last)
    assert len(h.duties()[0].body.gaps) == 1
    h.alive(NOON - 3 * HOUR + 15 * MINUTE, NOON - MINUTE)
    h.judge(last)
    assert h.duties()[0].body.gaps == []
    assert len(h.outbox()) == 1


def test_rain_learned_by_import_makes_a_historical_duty_without_mail(house: Callable[..., House]) -> None:
    h = house()
    h.judge(h.rain(NOON, 50, source="import"))
    (duty,) = h.duties()
    assert duty.historical
    assert h.outbox() == []


def test_rain_learned_more_than_a_month_late_is_historical(house: Callable[..., House]) -> None:
    h = house()
    h.rain(NOON, 50)
    h.judge(NOON + 32 * 24 * HOUR)
    assert h.duties()[0].historical
    assert [fact for _, _, _, fact in h.outbox() if isinstance(fact, StormDuty)] == []


def test_the_day_that_fires_is_the_local_day_on_the_night_the_clocks_change(house: Callable[..., House]) -> None:
    """2026-11-01 has 25 hours in New York: tips 24.5 hours apart still share the day, though not 24 hours."""
    h = house()
    midnight = at("2026-11-01 04:00")
    h.rain(midnight + 1_000_000, 25, every_us=1_000_000)
    last = h.rain(midnight + 24 * HOUR + 30 * MINUTE, 25, every_us=1_000_000)
    h.judge(last)
    (duty,) = h.duties()
    assert duty.body.fired_by == "day"
    assert duty.body.due_us - duty.body.crossing_us == 24 * HOUR


def test_a_rule_that_raises_for_one_site_leaves_the_others_judged_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = make_registry(tmp_path, more=site("second", "construction", gauges(GAUGE)))
    h = House(registry, NOON)
    status_of = registry.status_of

    def broken(site: str, at_us: int) -> object:
        if site == "yard":
            raise RuntimeError("a fault of this test")
        return status_of(site, at_us)

    monkeypatch.setattr(registry, "status_of", broken)
    h.clock.now = NOON
    h.engine._rules = h.engine._rules[1:]  # the silent-gauge rule asks for every site's status at once
    last = h.rain(NOON, 50)
    h.judge(last)
    assert [duty.body.site for duty in h.duties()] == ["second"]
    unhealthy = h.engine.healthy()
    assert unhealthy is not None
    assert "yard" in unhealthy
    assert "a fault of this test" in unhealthy
    monkeypatch.undo()
    h.new_engine()
    h.judge(last + MINUTE)
    assert sorted(duty.body.site for duty in h.duties()) == ["second", "yard"]
    assert h.engine.healthy() is None
    h.close()


def test_where_nobody_is_officer_the_installer_is_told_rather_than_nobody(
    house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    h = house()
    monkeypatch.setattr(h.registry, "officers", lambda *_: [])
    h.judge(h.rain(NOON, 50))
    assert [person for _, person, _, _ in h.outbox()] == ["installer"]


def test_two_sites_of_one_gauge_get_a_duty_each(house: Callable[..., House]) -> None:
    gauge = '{ datastream = "board-a/rain.tips", distance_m = 5, from = 2020-01-01, to = 2026-06-12 }'
    h = house(more=site("second", "construction", f"gauges = [{gauge}]"))
    h.judge(h.rain(NOON, 50))
    assert sorted(duty.body.site for duty in h.duties()) == ["second", "yard"]
    h.judge(h.rain(NOON + 72 * HOUR, 50))
    assert sorted(duty.body.site for duty in h.duties()) == ["second", "yard", "yard"]
