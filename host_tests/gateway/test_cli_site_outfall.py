"""An outfall in `headwall site show`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headwall.errors import InputError
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.rules.episode_notices import sync
from headwall.rules.facts import SuspectedDischarge
from support.desk import Desk
from support.place_house import LEVEL, NOTCH, Readings, place
from support.registry_text import SINCE, gauges, node, stream
from support.rules_house import HOUR, MINUTE, at

_T = at("2026-06-10 12:00")
_REST = LEVEL + NOTCH


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    place(tmp_path, "stage.level water.temperature down.turbidity up.turbidity", _REST)
    readings = Readings(made.url)
    readings.put("stage.level", *((_T - n * 15 * MINUTE, 0.1) for n in range(97)))
    readings.put("down.turbidity", (_T, 30.0))
    readings.put("up.turbidity", (_T, 12.0))
    readings.ledger.close()
    return made


def test_an_outfall_shows_its_day_and_says_that_nothing_is_no_dryness(desk: Desk) -> None:
    said = desk.run("site", "show", "outfall-7", "--at", "2026-06-10 08:00")
    assert "passed            101,000 gal" in said, said
    assert "greatest flow     69.9 gpm" in said
    assert "turbidity added   18 NTU" in said
    assert "hours without readings or after rain are not judged" in " ".join(said.split())


_GAUGE = (
    gauges("gauge-7/rain.tips")
    + "\n"
    + _REST
    + node("gauge-7", "240ac400001c", stream("rain.tips", 'tip = "0.01 in"'), installer="sam")
).replace(SINCE, "2025-01-01")


def test_dry_weather_is_shown_as_it_is_known(tmp_path: Path) -> None:
    """Rain 18 days ago, then two tips on June 8; flow with a rhythm; all of local time."""
    desk = Desk(tmp_path)
    place(tmp_path, "stage.level down.turbidity", _GAUGE)
    readings = Readings(desk.url)
    hours = [_T - n * HOUR for n in range(18 * 24)]
    rained = {_T - 47 * HOUR, _T - 46 * HOUR}
    readings.put("rain.tips", *((each, 1 if each in rained else 0) for each in hours), node="gauge-7")
    levels = [(each, 0.08 if (each // HOUR - 4) % 24 in (2, 3, 4) else 0.1) for each in hours[: 14 * 24 + 1]]
    readings.put("stage.level", *levels)
    readings.put("down.turbidity", *((each, 5.0 + n % 3) for n, each in enumerate(hours[1:100])), (_T, 26.0))
    readings.ledger.close()
    said = " ".join(desk.run(*_SHOW).split())
    assert "dry for 1.9 days up to 2026-06-10 08:00, since the last rain" in said
    assert "rain 0.02 in within the 72 hours before" in said
    assert "base flow 100% of what flowed in 14 of 14 days; an index of what flows steadily" in said
    assert "pattern of day from 2 to 5 0.61 of the mean flow, greatest from 0:00 on; 336 of 336 hours are known" in said
    assert "turbidity over that of dry weather of 14 days: 20 NTU" in said
    body = json.loads(desk.run(*_SHOW, "--json"))["outfall"]["dry_weather"]
    assert (body["rain"]["depth_in"], body["rain"]["unknown_us"], body["dry_hours"]) == ("0.02", 0, 336)


def test_without_a_gauge_nothing_is_known_to_be_dry(desk: Desk) -> None:
    said = shown(desk)
    assert "dry not known: no rain gauge of the site has spoken" in said
    assert "pattern of day not known: 0 of 336 hours are known to be dry" in said


def test_a_suspicion_is_shown_as_none_but_that(desk: Desk) -> None:
    fact = SuspectedDischarge(
        municipality="elmsford", site="outfall-7", datastream="node-7/stage.level", start_us=_T - 9 * HOUR,
        end_us=_T, ongoing=True, likeness="wash_water", confidence=0.8, evidence={},
    )  # fmt: skip
    ledger = Ledger.open(desk.url)
    with ledger.begin() as conn:
        sync(conn, SuspectedDischarge, "outfall-7", [fact], _T, lambda _: True)
    ledger.close()
    said = " ".join(desk.run("site", "show", "outfall-7", "--at", "2026-06-10 08:00").split())
    assert "from 2026-06-09 23:00 still running, looks like wash water (confidence 80%): no finding" in said
    body = json.loads(desk.run("site", "show", "outfall-7", "--at", "2026-06-10 08:00", "--json"))
    assert body["outfall"]["suspected"][0]["likeness"] == "wash_water"
    assert body["outfall"]["last_day"]["low_m3"] == pytest.approx(0.0044126 * 86_400, rel=1e-3)


_TAKEN = ("record", "sample", "outfall-7", "--at", "2026-06-10 07:30", "--by", "Ruth Adler")
_SHOW = ("site", "show", "outfall-7", "--at", "2026-06-10 08:00")


def shown(desk: Desk) -> str:
    return " ".join(desk.run(*_SHOW).split())


def test_a_sample_is_entered_as_told_and_shown_with_a_proposal(desk: Desk) -> None:
    assert "Newest sample" not in shown(desk)
    told = desk.run(*_TAKEN, "--ammonia", "60", "--potassium", "< 2", "--detergents", "0.8", "--ph", "9")
    assert told == (
        "Entry 1: outfall-7, Jun 10 07:30 EDT, by Ruth Adler: "
        "ammonia 60 mg/L, potassium <2 mg/L, detergents 0.8 mg/L, pH 9.\n"
    )
    (row,) = desk.rows(schema.entries)
    assert row.body == {
        "kind": "field_sample", "note": "", "ammonia": "60", "potassium": "<2", "fluoride": None,
        "detergents": "0.8", "ph": "9", "conductivity": None, "turbidity": None,
    }  # fmt: skip
    assert [(each.kind, each.by) for each in desk.rows(schema.records)] == [("entry", "Ruth Adler")]
    ledger = Ledger.open(desk.url)
    with ledger.read() as conn:
        assert log_book.verify(conn) is None
    ledger.close()
    said = shown(desk)
    assert "sample 2026-06-10 07:30, by Ruth Adler: ammonia 60 mg/L" in said
    assert "action levels reached: ammonia at least 50 mg/L, pH at least 9 (LaMotte StormWatch manual)" in said
    assert "flow chart looks like sewage: detergents 0.8, more than 0.25; ammonia to potassium >30, more than 1" in said
    assert "whose numbers were not confirmed against the book, proposes this; no finding, a person has to look" in said
    body = json.loads(desk.run(*_SHOW, "--json"))["outfall"]["sample"]
    assert (body["likeness"], body["by"], body["ammonia"]) == ("sewage", "Ruth Adler", "60")
    assert [each["reached"] for each in body["action_levels"]] == [True, False, True, False]
    assert (body["steps"][1]["value"], body["steps"][1]["value_limit"]) == (None, 30.0)


@pytest.mark.parametrize(
    ("results", "says"),
    [
        (("--detergents", "<0.5"), "flow chart not told: detergents <0.5 may be more than 0.25 or not"),
        (("--ammonia", "1"), "none reached by ammonia (LaMotte StormWatch manual) flow chart not told"),
        (("--ammonia", "1"), "detergents not tested"),
        (("--ammonia", "<60"), "action levels cannot be told: ammonia at least 50 mg/L ("),
        (("--detergents", "1", "--ammonia", "1", "--potassium", "0"), "no ratio of ammonia to potassium"),
        (("--detergents", "<0.05", "--fluoride", "<0.1"), "ground water: detergents <0.05, not more than 0.25; f"),
        (("--detergents", "0.1", "--fluoride", "0.7"), "looks like tap water"),
    ],
)  # fmt: skip
def test_what_a_sample_does_not_tell_is_said(desk: Desk, results: tuple[str, ...], says: str) -> None:
    desk.run(*_TAKEN, *results)
    assert says in shown(desk)


def test_the_newest_sample_that_stands_is_shown(desk: Desk) -> None:
    desk.run(*_TAKEN, "--ph", "7")
    desk.run("record", "sample", "outfall-7", "--at", "2026-06-09 07:30", "--by", "Ruth Adler", "--ph", "6")
    assert "pH 7" in shown(desk)
    desk.run("record", "withdraw", "1", "--reason", "wrong bottle", "--by", "Ruth Adler")
    assert "pH 6" in shown(desk)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*_TAKEN,), "needs one result or more"),
        ((*_TAKEN, "--ammonia", "none"), "--ammonia: 'none' is no result"),
        ((*_TAKEN, "--ph", "15"), "--ph: a pH of 15 cannot be"),
    ],
)
def test_a_sample_that_cannot_be_entered_is_told(desk: Desk, arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        desk.run(*arguments)
    assert desk.rows(schema.entries) == desk.rows(schema.records) == []
