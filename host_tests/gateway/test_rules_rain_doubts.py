"""Doubts about a gauge's rain, from the readings in the ledger to the words of the mail; and none in sound data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from headwall.hydrology.rain_doubt import Suspicion
from headwall.law.profile import load_profile
from headwall.ledger import schema
from headwall.ledger.calibrations import add_calibration, parse_calibrations
from headwall.notify import outbox
from headwall.notify.compose import Composer
from headwall.notify.grouping import Batch
from headwall.notify.lookup import Lookup
from headwall.notify.render import render_text
from headwall.rules.facts import NearThreshold, RainMissing, StormDuty, to_body
from headwall.rules.rain_doubts import of_storm
from headwall.settings import NotifySettings, SmtpSettings
from headwall.web.status import gauges_at
from support.registry_text import gauges, node, sensors, site, stream
from support.rules_house import GAUGE, HOUR, MINUTE, PRIMARY, House, at, houses

JUNE, JANUARY = at("2026-06-10 12:00"), at("2026-01-10 12:00")
OTHER = "board-b/rain.tips"
_BOARD = node(
    "board-b",
    "240ac400000b",
    stream("rain.tips", 'tip = "0.01 in"'),
    "air.temperature",
    "stage.level",
    place="roof of the office",
)
STATION = _BOARD + site("hall", "station", sensors({"board-b/air.temperature": "air_temperature"}))
PAIR = _BOARD + site("pit", "construction", gauges(GAUGE, OTHER))
OUTFALL = _BOARD + site(
    "outfall",
    "outfall",
    gauges(GAUGE),
    sensors({"board-b/stage.level": "stage"}),
    'levels = [{ of = "stage", method = "level", from = 2020-01-01 }]',
)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    with houses(tmp_path, more=STATION) as make:
        yield make


def _air(house: House, start_us: int, end_us: int, celsius: float, **fields: object) -> None:
    times = range(start_us, end_us + 1, 10 * MINUTE)
    house.put(*((time_us, celsius) for time_us in times), node="board-b", stream="air.temperature", **fields)


def _uneven(start_us: int, tips: int, mean_us: int = 2 * MINUTE) -> list[tuple[int, float]]:
    """Tips as rain makes them."""
    chance, now = Random(7), start_us
    found = []
    for _ in range(tips):
        found.append((now, 1.0))
        now += round(mean_us * chance.uniform(0.3, 1.7))
    return found


def _storm(house: House, start_us: int, tips: int = 55) -> int:
    rain = _uneven(start_us, tips)
    house.put(*rain)
    return rain[-1][0]


def _doubts(house: House, start_us: int, end_us: int) -> list[Suspicion]:
    with house.ledger.read() as conn:
        return of_storm(conn, house.registry, GAUGE, start_us, end_us)


def _mail(house: House) -> str:
    """All that the officer is told, as one mail of now would say it, on one line."""
    smtp = SmtpSettings(host="mail.example", sender="headwall@village.example")
    profiles = {"elmsford": load_profile("elmsford")}
    composer = Composer(smtp, NotifySettings(), house.ledger, house.registry, profiles)
    rows = tuple(
        outbox.Waiting(n, key, person, how, to_body(fact), house.clock.now)
        for n, (key, person, how, fact) in enumerate(house.outbox())
    )
    officer = house.registry.person("officer")
    assert officer is not None
    return " ".join(render_text(composer.content(Batch("officer", True, rows), officer, house.clock.now)).split())


# ---- frost


def test_storm_in_frost_is_told_as_liquid_only_and_its_duty_stands(house: Callable[..., House]) -> None:
    h = house(JANUARY)
    _air(h, JANUARY - HOUR, JANUARY + 4 * HOUR, 0.6)
    last = _storm(h, JANUARY)
    h.judge(last)
    (doubt,) = _doubts(h, JANUARY, last)
    assert (doubt.kind, doubt.evidence["temperature_c"]) == ("frozen", 0.6)
    assert len(h.duties()) == 1
    text = _mail(h)
    assert "Doubt about this depth: the air was at 33.1 °F, and snow or ice is not measured (see What fell)." in text
    assert "below 35.6 °F a gauge without heater shows liquid only" in text


def test_rain_after_frost_may_be_melting_snow(house: Callable[..., House]) -> None:
    h = house(JANUARY)
    _air(h, JANUARY - 20 * HOUR, JANUARY - 10 * HOUR, -3.0)
    _air(h, JANUARY - 9 * HOUR, JANUARY + 4 * HOUR, 6.0)
    last = _storm(h, JANUARY)
    h.judge(last)
    assert [each.kind for each in _doubts(h, JANUARY, last)] == ["melt"]
    text = _mail(h)
    assert "snow may have melted in the funnel" in text
    assert "The air was at 42.8 °F, but at 26.6 °F on Jan 9 21:00 EST" in text


def test_heated_gauge_is_believed_in_frost(house: Callable[..., House]) -> None:
    h = house(JANUARY, gauge="heated = true")
    _air(h, JANUARY - HOUR, JANUARY + 4 * HOUR, 0.6)
    assert _doubts(h, JANUARY, _storm(h, JANUARY)) == []


def test_without_a_temperature_frost_is_a_doubt_in_the_months_that_have_it(house: Callable[..., House]) -> None:
    winter, summer = house(JANUARY), house(JUNE)
    last = _storm(winter, JANUARY)
    winter.judge(last)
    assert [each.kind for each in _doubts(winter, JANUARY, last)] == ["no_temperature"]
    text = _mail(winter)
    assert "No air temperature is known within 1 h: what fell may have been snow or ice" in text
    assert "Doubt about this depth" not in text
    assert _doubts(summer, JUNE, _storm(summer, JUNE)) == []


def test_temperature_that_failed_its_test_does_not_count(house: Callable[..., House]) -> None:
    h = house(JANUARY)
    _air(h, JANUARY - HOUR, JANUARY + 4 * HOUR, 12.0, quality=4)
    assert [each.kind for each in _doubts(h, JANUARY, _storm(h, JANUARY))] == ["no_temperature"]


def test_limits_of_a_gauge_are_its_registrys(house: Callable[..., House]) -> None:
    h = house(JANUARY, gauge="doubts = { liquid_c = 0.5 }")
    _air(h, JANUARY - 30 * HOUR, JANUARY + 4 * HOUR, 0.6)
    assert _doubts(h, JANUARY, _storm(h, JANUARY)) == []


def test_temperature_that_comes_after_the_mail_makes_no_second_one_but_is_said_from_then_on(
    house: Callable[..., House],
) -> None:
    h = house(JANUARY)
    last = _storm(h, JANUARY)
    h.judge(last)
    h.mail_everything()
    versions = [duty.version for duty in h.duties()]
    _air(h, JANUARY - HOUR, JANUARY + 4 * HOUR, 0.6)
    h.judge(last + 10 * MINUTE)
    assert [duty.version for duty in h.duties()] == versions
    assert len([fact for *_, fact in h.outbox() if isinstance(fact, StormDuty)]) == 1
    assert "the air was at 33.1 °F" in _mail(h)


# ---- funnel and counter


def test_storm_that_ends_as_even_as_a_clock_may_seep_through_a_clogged_funnel(house: Callable[..., House]) -> None:
    h = house(JUNE)
    last = _storm(h, JUNE, 40)
    h.put(*((last + n * 7 * MINUTE, 1) for n in range(1, 13)))
    end = last + 12 * 7 * MINUTE
    h.judge(end)
    (doubt,) = _doubts(h, JUNE, end)
    assert doubt.kind == "even_tail"
    text = _mail(h)
    assert "Doubt about this depth: the funnel may be clogged (see What fell)." in text
    assert "it tipped about every 7 min, as even as a clock" in text


def test_interval_totals_of_a_logger_are_no_even_tail(house: Callable[..., House]) -> None:
    h = house(JUNE)
    h.put(*((JUNE + n * 15 * MINUTE, 1) for n in range(20)), source="import")
    assert _doubts(h, JUNE, JUNE + 19 * 15 * MINUTE) == []


def test_counter_at_its_end_says_that_more_may_have_fallen(house: Callable[..., House]) -> None:
    h = house(JUNE, gauge="most_tips = 60")
    h.put((JUNE, 12), (JUNE + HOUR, 60), (JUNE + 2 * HOUR, 60), (JUNE + 3 * HOUR, 5))
    h.judge(JUNE + 3 * HOUR)
    assert [each.kind for each in _doubts(h, JUNE, JUNE + 3 * HOUR)] == ["saturated"]
    text = _mail(h)
    assert "the counter stood at its end" in text
    assert "a reading of 60 tips, the most that its counter shows. More may have fallen." in text


def test_sound_summer_storm_has_no_doubt_and_no_word_of_one(house: Callable[..., House]) -> None:
    h = house(JUNE)
    _air(h, JUNE - 30 * HOUR, JUNE + 4 * HOUR, 21.0)
    last = _storm(h, JUNE)
    h.judge(last)
    assert _doubts(h, JUNE, last) == []
    text = _mail(h)
    assert "0.55 in" in text
    assert "oubt" not in text


def test_near_threshold_carries_the_doubt(house: Callable[..., House]) -> None:
    h = house(JANUARY)
    _air(h, JANUARY - HOUR, JANUARY + 12 * HOUR, 0.6)
    last = _storm(h, JANUARY, 48)
    h.alive(last, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    assert [type(fact) for *_, fact in h.outbox()] == [NearThreshold]
    assert "your call. Doubt about this depth: the air was at 33.1 °F" in _mail(h)


# ---- tips that never came


def test_tips_that_the_board_lost_are_named_beside_the_gaps(house: Callable[..., House]) -> None:
    h = house(JUNE)
    rain = _uneven(JUNE, 60)
    total = 0
    for n, (time_us, _) in enumerate(rain, 1):
        total += 1 if n != 30 else 6
        h.put((time_us, 1), total=total)
    with h.ledger.begin() as conn:
        journal = {"node": "board-a", "jid": "00000000000000aa", "floor": 1, "next": 61, "through": 60, "highest": 60}
        conn.execute(schema.journals.insert().values(**journal, first_seen_us=0, last_seen_us=rain[-1][0]))
    h.judge(rain[-1][0])
    text = _mail(h)
    assert "5 tips (0.05 in) counted and lost at the board, between" in text
    assert "Rain in a gap is not in these depths." in text


# ---- no rain where others have it


def _missing(house: House) -> list[RainMissing]:
    return [fact for *_, fact in house.outbox() if isinstance(fact, RainMissing)]


def test_gauge_without_rain_beside_one_with_rain_is_told_in_the_digest_once(house: Callable[..., House]) -> None:
    h = house(JUNE, more=PAIR)
    h.alive(JUNE - 12 * HOUR, JUNE + 6 * HOUR)
    h.put(*_uneven(JUNE, 30), node="board-b", jid="00000000000000bb")
    for hours in range(1, 6):
        h.judge(JUNE + hours * HOUR)
    (fact,) = _missing(h)
    assert fact.datastream == GAUGE
    assert [(each.kind, dict(each.evidence)) for each in fact.doubts] == [
        ("neighbours_have_rain", {f"{OTHER}_mm": 7.62})
    ]
    assert [(person, how) for _, person, how, each in h.outbox() if each == fact] == [("officer", "digest")]
    text = _mail(h)
    assert "Rain gauge shows no rain: north gate" in text
    assert "there was rain of 0.30 in (7.6 mm) at “roof of the office”, and none at this gauge" in text
    assert "Headwall cannot rule out a qualifying storm, check by hand" in text


def test_notice_of_missing_rain_closes_when_the_neighbours_rain_is_over(house: Callable[..., House]) -> None:
    h = house(JUNE, more=PAIR)
    h.alive(JUNE - 12 * HOUR, JUNE + 12 * HOUR)
    h.put(*_uneven(JUNE, 30), node="board-b", jid="00000000000000bb")
    h.judge(JUNE + 2 * HOUR)
    assert [notice.closed_us for notice in h.notices("rain_missing")] == [None]
    h.judge(JUNE + 11 * HOUR)
    assert [notice.closed_us for notice in h.notices("rain_missing")] == [JUNE + 11 * HOUR]
    assert len(_missing(h)) == 1


def test_rain_that_comes_late_takes_back_what_no_mail_carries(house: Callable[..., House]) -> None:
    h = house(JUNE, more=PAIR)
    h.alive(JUNE - 12 * HOUR, JUNE + 6 * HOUR)
    h.put(*_uneven(JUNE, 30), node="board-b", jid="00000000000000bb")
    h.judge(JUNE + 2 * HOUR)
    assert len(_missing(h)) == 1
    h.put(*_uneven(JUNE + MINUTE, 28))
    h.judge(JUNE + 3 * HOUR)
    assert _missing(h) == []


def test_silent_gauge_shows_nothing_and_is_not_called_dry(house: Callable[..., House]) -> None:
    h = house(JUNE, more=PAIR)
    h.alive(JUNE - 12 * HOUR, JUNE - 10 * MINUTE)
    h.put(*_uneven(JUNE, 30), node="board-b", jid="00000000000000bb")
    h.put((JUNE + 2 * HOUR, 0))
    for hours in (1, 2, 3):
        h.judge(JUNE + hours * HOUR)
    assert _missing(h) == []


def test_two_gauges_that_both_have_rain_are_no_matter(house: Callable[..., House]) -> None:
    h = house(JUNE, more=PAIR)
    h.alive(JUNE - 12 * HOUR, JUNE + 6 * HOUR)
    h.put(*_uneven(JUNE, 30), node="board-b", jid="00000000000000bb")
    h.put(*_uneven(JUNE + 10 * MINUTE, 20))
    for hours in range(1, 6):
        h.judge(JUNE + hours * HOUR)
    assert h.notices("rain_missing") == []


def test_a_little_rain_next_door_is_no_matter(house: Callable[..., House]) -> None:
    h = house(JUNE, more=PAIR)
    h.alive(JUNE - 12 * HOUR, JUNE + 6 * HOUR)
    h.put(*_uneven(JUNE, 19), node="board-b", jid="00000000000000bb")
    for hours in range(1, 6):
        h.judge(JUNE + hours * HOUR)
    assert h.notices("rain_missing") == []


@pytest.mark.parametrize(("rise_m", "told"), [(0.2, True), (0.1, False)])
def test_stage_that_rises_while_the_gauge_shows_none_is_told(
    house: Callable[..., House], rise_m: float, told: bool
) -> None:
    h = house(JUNE, more=OUTFALL)
    h.alive(JUNE - 24 * HOUR, JUNE)
    levels = [(JUNE - n * 10 * MINUTE, 0.1 + (rise_m if n < 6 else 0.0)) for n in range(36, -1, -1)]
    h.put(*levels, node="board-b", stream="stage.level", jid="00000000000000bb")
    h.judge(JUNE)
    assert bool(_missing(h)) is told
    if told:
        assert "The stage at Outfall rose by 7.87 in between" in _mail(h)


def test_stage_that_rises_after_rain_is_no_matter(house: Callable[..., House]) -> None:
    h = house(JUNE, more=OUTFALL)
    h.alive(JUNE - 24 * HOUR, JUNE)
    h.put(*_uneven(JUNE - 8 * HOUR, 5))
    levels = [(JUNE - n * 10 * MINUTE, 0.1 + (0.5 if n < 6 else 0.0)) for n in range(36, -1, -1)]
    h.put(*levels, node="board-b", stream="stage.level", jid="00000000000000bb")
    h.judge(JUNE)
    assert h.notices("rain_missing") == []


# ---- what else the mail and the page say of a gauge


def _calibrate(house: House, reading: str, verdict: str) -> None:
    """A volume of 25 mm through the funnel the day before."""
    record = {
        "v": 1, "datastream": GAUGE, "kind": "rain_volume", "at": "2026-06-09T14:00:00Z", "by": "Ivan Installer",
        "unit": "mm", "method": "500 mL", "as_found": [{"reference": "25", "reading": reading}], "verdict": verdict,
    }  # fmt: skip
    with house.ledger.begin() as conn:
        (found,) = parse_calibrations(json.dumps(record).encode(), "test")
        add_calibration(conn, found, JUNE)


def test_calibration_says_whether_it_is_in_the_depth(house: Callable[..., House]) -> None:
    failed, passed = house(JUNE), house(JUNE)
    for each, reading, verdict in ((failed, "20", "fail"), (passed, "24.9", "pass")):
        _calibrate(each, reading, verdict)
        each.judge(_storm(each, JUNE, 60))
    assert "By it a tip counts as 0.0125 in in every depth." in _mail(failed)
    assert "0.75 in" in _mail(failed)
    assert "It changed no depth." in _mail(passed)


def test_rain_of_a_backup_is_named_and_drawn(house: Callable[..., House]) -> None:
    backup = f'{{ datastream = "{OTHER}", distance_m = 5, role = "backup", from = 2020-01-01 }}'
    pit = site("pit", "construction", f"gauges = [{PRIMARY}, {backup}]")
    h = house(JUNE, more=_BOARD + pit)
    h.alive(JUNE - 12 * HOUR, JUNE)
    rain = _uneven(JUNE + 2 * HOUR, 60)
    h.put(*rain, node="board-b", jid="00000000000000bb")
    h.judge(rain[-1][0])
    (duty,) = [each.body for each in h.duties() if each.body.site == "pit"]
    look = Lookup(h.registry, {"elmsford": load_profile("elmsford")}, h.ledger, h.clock.now)
    drawn = look.rain(duty)
    assert drawn is not None
    assert (drawn[1] * sum(amount for _, amount in drawn[0])).text_in == duty.storm.depth_in
    assert "backup “roof of the office”" in _mail(h)


def test_page_shows_the_doubts_of_a_gauge_now_and_none_in_sound_data(house: Callable[..., House]) -> None:
    profiles = {"elmsford": load_profile("elmsford")}
    cold, sound = house(JANUARY), house(JUNE)
    for each, start_us, celsius in ((cold, JANUARY, 0.6), (sound, JUNE, 21.0)):
        _air(each, start_us - 30 * HOUR, start_us + 4 * HOUR, celsius)
        last_us = _storm(each, start_us)
        with each.ledger.read() as conn:
            (own,) = [g for g in gauges_at(conn, each.registry, profiles, last_us) if g.datastream == GAUGE]
        expected = ["the air was at 33.1 °F, and snow or ice is not measured"] if each is cold else []
        assert own.doubts == expected
