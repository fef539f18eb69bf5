"""What waits although its mail could go: over night, over a storm, in the digest since it flaps. Nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from headwall.law.localtime import HOUR_US
from headwall.notify.outbox import Waiting
from headwall.notify.pace import by_matter, calmed, hold_at_night, hold_for_storm, newest, quiet_until, times
from headwall.settings import NotifySettings
from hypothesis import given
from hypothesis import strategies as st
from support.mail_facts import MINUTE_US, ZONE, at

SPAN = ("21:00", "06:00")
URGENT_US = 48 * HOUR_US


def row(number: int, at_us: int, kind: str = "gauge_silent", *, person: str = "ruth", **body: Any) -> Waiting:
    fact = body.pop("fact", f"{kind}/gauge-a/rain.tips/{number}")
    return Waiting(number, fact, person, body.pop("how", "now"), {"type": kind, **body}, at_us)


# --- quiet hours ---


@pytest.mark.parametrize(
    ("now", "ends"),
    [
        ("06-10 20:59", None),
        ("06-10 21:00", "06-11 06:00"),
        ("06-11 05:59", "06-11 06:00"),
        ("06-11 06:00", None),
        ("03-08 01:30", "03-08 06:00"),
        ("11-01 00:30", "11-01 06:00"),
    ],
)
def test_quiet_hours_end_at_their_local_time(now: str, ends: str | None) -> None:
    assert quiet_until(at(now), SPAN, ZONE) == at(ends or now)
    assert quiet_until(at(now), None, ZONE) == at(now)


def test_quiet_hours_within_a_day_and_by_municipality() -> None:
    assert quiet_until(at("06-10 13:00"), ("12:00", "14:00"), ZONE) == at("06-10 14:00")
    notify = NotifySettings(quiet_in={"hillburn": "", "elmsford": "20:00-07:00"})
    assert [notify.quiet_of(each) for each in ("hillburn", "elmsford", "bayville")] == [
        None, ("20:00", "07:00"), ("21:00", "06:00"),
    ]  # fmt: skip


@given(st.integers(at("01-01 00:00"), at("12-31 00:00")))
def test_quiet_hours_are_never_longer_than_they_say_and_end_outside_of_themselves(now_us: int) -> None:
    ends_us = quiet_until(now_us, SPAN, ZONE)
    assert 0 <= ends_us - now_us <= 10 * HOUR_US
    assert quiet_until(ends_us, SPAN, ZONE) == ends_us


def test_at_night_what_can_wait_waits_and_what_is_due_within_two_days_does_not() -> None:
    night, morning = at("06-10 23:00"), at("06-11 06:00")
    silent = row(1, night)
    soon = row(2, night, "reminder", person="sam", due_us=night + URGENT_US - 1)
    later = row(3, night, "reminder", person="fay", due_us=night + URGENT_US)
    overdue = row(4, night, "reminder", person="ada", due_us=night - HOUR_US)
    spill = row(5, night, "suspected_discharge", person="bea")
    gateway = row(6, night, "node_fault", person="cy", node="gateway")
    digest = row(7, night, how="digest", person="dee")
    rows = [silent, soon, later, overdue, spill, gateway, digest]
    ready, next_us = hold_at_night(rows, night, URGENT_US, lambda _: morning)
    assert (ready, next_us) == ([soon, overdue, spill, gateway, digest], night + 1)
    assert hold_at_night([silent], night, URGENT_US, lambda _: morning) == ([], morning)
    assert hold_at_night(rows, morning, URGENT_US, lambda _: morning) == (rows, None)


def test_what_becomes_pressing_in_the_night_goes_then() -> None:
    night, morning = at("06-10 23:00"), at("06-11 06:00")
    later = row(3, night, "reminder", due_us=night + URGENT_US + HOUR_US)
    held, next_us = hold_at_night([later], night, URGENT_US, lambda _: morning)
    assert (held, next_us) == ([], night + HOUR_US + 1)
    assert hold_at_night([later], next_us, URGENT_US, lambda _: morning) == ([later], None)


def test_who_is_written_to_at_night_anyway_gets_the_rest_with_it() -> None:
    night = at("06-10 23:00")
    rows = [row(1, night), row(2, night, "reminder", due_us=night + HOUR_US)]
    assert hold_at_night(rows, night, URGENT_US, lambda _: night + HOUR_US) == (rows, None)


# --- a storm ---


def storm_row(number: int, crossing_us: int, end_us: int, person: str = "ruth", start_us: int | None = None) -> Waiting:
    storm = {"start_us": crossing_us - HOUR_US if start_us is None else start_us, "end_us": end_us}
    return row(number, crossing_us, "storm_duty", person=person, storm=storm, due_us=crossing_us + 24 * HOUR_US)


def hold(rows: list[Waiting], mailed_us: dict[str, list[int]], now_us: int) -> tuple[list[Waiting], int | None]:
    said = {"most": 3, "apart_us": 6 * HOUR_US, "before_due_us": 12 * HOUR_US}
    return hold_for_storm(rows, mailed_us, now_us, **said)


@given(
    crossings=st.lists(st.integers(0, 30 * 60), min_size=1, max_size=40),
    last_min=st.integers(0, 30 * 60),
)
def test_a_storm_is_three_mails_at_once_and_one_for_the_rest_and_every_duty_is_in_one(
    crossings: list[int], last_min: int
) -> None:
    """Duties of many gauges, minute by minute: at most three mails, then one more before anything is due."""
    begin_us = at("06-10 00:00")
    end_us = begin_us + (max(*crossings, last_min) if len(crossings) > 1 else max(crossings[0], last_min)) * MINUTE_US
    coming = sorted((begin_us + each * MINUTE_US, n) for n, each in enumerate(crossings))
    waiting: list[Waiting] = []
    mails: list[tuple[int, list[Waiting]]] = []
    for minute in range(60 * 60):
        now_us = begin_us + minute * MINUTE_US
        while coming and coming[0][0] <= now_us:
            crossing_us, n = coming.pop(0)
            waiting.append(storm_row(n, crossing_us, crossing_us))
        until_us, start_us = min(now_us, end_us), begin_us - HOUR_US  # the storm goes on
        rows = [storm_row(each.id, each.at_us, until_us, start_us=start_us) for each in waiting]
        ready, next_us = hold(rows, {"ruth": [at_us for at_us, _ in mails]}, now_us)
        assert next_us is None or next_us > now_us
        if ready:
            mails.append((now_us, ready))
            waiting = []
    told = [each.id for _, rows in mails for each in rows]
    assert sorted(told) == list(range(len(crossings)))
    summaries = mails[3:]
    assert all(now_us <= min(each.body["due_us"] for each in rows) - 12 * HOUR_US for now_us, rows in summaries)
    if end_us - begin_us <= 12 * HOUR_US:
        assert len(summaries) <= 1


def test_other_matters_and_other_persons_do_not_wait_for_the_storm() -> None:
    now_us = at("06-10 12:00")
    held, other = storm_row(1, now_us, now_us), storm_row(2, now_us, now_us, "sam")
    silent = row(3, now_us)
    mailed = {"ruth": [now_us - minute * MINUTE_US for minute in (50, 35, 20)]}
    assert hold([held, other, silent], mailed, now_us) == ([other, silent], now_us + 6 * HOUR_US)
    long_ago = {"ruth": [now_us - 8 * HOUR_US] * 3}
    assert hold([held], long_ago, now_us) == ([held], None)


# --- flapping ---


def test_a_notice_that_flaps_is_one_mail_and_the_rest_is_in_the_digest() -> None:
    begin_us = at("06-10 08:00")
    rows = [row(n, begin_us + n * 2 * HOUR_US) for n in range(5)]
    told = by_matter((each.person, each.fact, each.at_us) for each in rows)
    assert [each.how for each in calmed(rows, told, 6 * HOUR_US)] == ["now"] + ["digest"] * 4
    after = row(9, rows[-1].at_us + 7 * HOUR_US)
    told = by_matter((each.person, each.fact, each.at_us) for each in [*rows, after])
    assert calmed([after], told, 6 * HOUR_US)[0].how == "now"


def test_other_gauges_other_persons_and_duties_do_not_count_as_flapping() -> None:
    begin_us = at("06-10 08:00")
    rows = [
        row(1, begin_us),
        row(2, begin_us + 1, fact="gauge_silent/gauge-b/rain.tips/2"),
        row(3, begin_us + 2, person="sam"),
        row(4, begin_us + 3, "storm_duty", fact="duty/1/1"),
        row(5, begin_us + 4, "storm_duty", fact="duty/1/2"),
    ]
    told = by_matter((each.person, each.fact, each.at_us) for each in rows)
    assert calmed(rows, told, 6 * HOUR_US) == rows


def test_the_digest_tells_what_flapped_once_with_how_often() -> None:
    rows = [row(1, 1), row(2, 2), row(3, 3, fact="gauge_silent/gauge-b/rain.tips/3"), row(4, 4, "near_threshold")]
    assert [each.id for each in newest(rows)] == [2, 3, 4]
    assert [times(rows, each) for each in newest(rows)] == [2, 1, 1]
