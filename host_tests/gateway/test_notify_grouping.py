"""When facts are mailed, and with which others: the plan as a function, and the digest's local time."""

from __future__ import annotations

from datetime import time
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from headwall.law.localtime import HOUR_US, last_time_us, next_time_us, short
from headwall.notify.grouping import plan, settled
from headwall.notify.outbox import Waiting
from hypothesis import given
from hypothesis import strategies as st
from support.mail_facts import ZONE, at

GROUP_US = 900_000_000
SEVEN = time(7)
DAY_US = 24 * HOUR_US


def row(number: int, at_us: int, person: str = "ruth", how: str = "now") -> Waiting:
    return Waiting(number, f"fact/{number}", person, how, {}, at_us)


def next_day(waiting: Waiting) -> int:
    return (waiting.at_us // DAY_US + 1) * DAY_US


@given(
    facts=st.lists(
        st.tuples(
            st.integers(0, 3 * DAY_US), st.sampled_from(["ruth", "sam"]), st.sampled_from(["now", "now", "digest"])
        ),
        max_size=30,
    )
)
def test_every_fact_goes_in_one_mail_and_urgent_mails_keep_their_distance(facts: list[tuple[int, str, str]]) -> None:
    rows = [row(n, at_us, person, how) for n, (at_us, person, how) in enumerate(sorted(facts))]
    waiting: list[Waiting] = []
    last: dict[str, int] = {}
    mailed: dict[int, int] = {}
    urgent: dict[str, list[int]] = {"ruth": [], "sam": []}
    coming = list(rows)
    next_us: int | None = None
    while coming or next_us is not None:
        now_us = min([instant for instant in (next_us, coming[0].at_us if coming else None) if instant is not None])
        while coming and coming[0].at_us <= now_us:
            waiting.append(coming.pop(0))
        found = plan(waiting, last, now_us, GROUP_US, next_day)
        for batch in found.batches:
            assert {each.person for each in batch.rows} == {batch.person}
            for each in batch.rows:
                assert each.id not in mailed
                mailed[each.id] = now_us
                waiting.remove(each)
            if not batch.digest:
                last[batch.person] = now_us
                urgent[batch.person].append(now_us)
        next_us = found.next_us
        assert next_us is None or next_us > now_us

    assert mailed.keys() == {each.id for each in rows}
    for each in rows:
        wait_us = mailed[each.id] - each.at_us
        assert 0 <= wait_us <= (DAY_US if each.how == "digest" else GROUP_US)
    for instants in urgent.values():
        assert all(b - a >= GROUP_US for a, b in pairwise(instants))


def test_without_grouping_every_fact_goes_at_once() -> None:
    found = plan([row(1, 100)], {"ruth": 100}, 100, 0, next_day)
    assert [batch.rows[0].id for batch in found.batches] == [1]


def test_urgent_and_digest_of_one_person_are_two_mails() -> None:
    rows = [row(1, 0), row(2, 0, how="digest")]
    found = plan(rows, {}, DAY_US, GROUP_US, next_day)
    assert sorted((batch.digest, batch.rows[0].id) for batch in found.batches) == [(False, 1), (True, 2)]


@pytest.mark.parametrize(
    ("written", "digest"),
    [
        ("06-10 06:59", "06-10 07:00"),
        ("06-10 07:00", "06-11 07:00"),
        ("06-10 23:00", "06-11 07:00"),
        ("12-31 12:00", None),
    ],
)
def test_digest_is_the_next_set_time(written: str, digest: str | None) -> None:
    found = next_time_us(at(written), SEVEN, ZONE)
    if digest is None:
        assert short(found, ZONE) == "Jan 1 07:00 EST"
    else:
        assert found == at(digest)


def test_digest_keeps_its_local_time_over_a_clock_change() -> None:
    before, after = at("03-07 07:00"), at("03-08 07:00")
    assert next_time_us(before, SEVEN, ZONE) == after
    assert after - before == 23 * HOUR_US


@given(start=st.integers(at("01-01 00:00"), at("12-31 00:00")), hour=st.integers(0, 23), minute=st.integers(0, 59))
def test_there_is_one_digest_a_day_all_year(start: int, hour: int, minute: int) -> None:
    zone = ZoneInfo("America/New_York")
    first = next_time_us(start, time(hour, minute), zone)
    second = next_time_us(first, time(hour, minute), zone)
    assert start < first <= start + 25 * HOUR_US
    assert 22 * HOUR_US <= second - first <= 26 * HOUR_US
    assert last_time_us(second - 1, time(hour, minute), zone) == last_time_us(first, time(hour, minute), zone) == first


def duty(number: int, crossing_us: int, learned_us: int, person: str = "ruth") -> Waiting:
    body = {"type": "storm_duty", "crossing_us": crossing_us, "learned_us": learned_us}
    return Waiting(number, f"duty/{number}/1", person, "now", body, learned_us)


def test_a_duty_out_of_a_backlog_waits_for_the_rest_of_it_and_notices_wait_with_it() -> None:
    learned_us, settle_us = 2 * HOUR_US, 10_000_000
    rows = [duty(1, 0, learned_us), row(2, learned_us), row(3, learned_us, "sam")]
    assert settled(rows, learned_us + 1, HOUR_US, settle_us) == ([rows[2]], learned_us + settle_us)
    assert settled(rows, learned_us + settle_us, HOUR_US, settle_us) == (rows, None)


def test_a_duty_learned_in_time_waits_for_no_late_one() -> None:
    learned_us = 2 * HOUR_US
    rows = [duty(1, 0, learned_us), duty(2, learned_us - 1, learned_us)]
    assert settled(rows, learned_us + 1, HOUR_US, 10_000_000)[0] == [rows[1]]


@pytest.mark.parametrize("how", ["now", "digest"])
def test_more_facts_than_a_server_takes_in_one_mail_are_several_mails(how: str) -> None:
    rows = [row(number, 0, how=how) for number in range(2255)]
    found = plan(rows, {}, 2 * DAY_US, GROUP_US, next_day)
    assert [each for batch in found.batches for each in batch.rows] == rows
    assert max(len(batch.rows) for batch in found.batches) <= 400
    assert len(found.batches) == 6
