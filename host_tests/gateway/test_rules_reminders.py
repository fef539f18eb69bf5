"""Reminders, overdue, the next person, and the daily list: each told once, whenever the engine looks and restarts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from headwall.cases.steps import Told, open_by_person, take
from headwall.ledger import acknowledgements, log_book, schema
from headwall.ledger.newest import newest
from headwall.rules import duties
from headwall.rules.base import Step
from headwall.rules.daily_list import DailyListRule
from headwall.rules.facts import ClauseDuty, OpenMatters, Reminder, from_body
from headwall.rules.layers import Layers
from headwall.rules.reminders import ReminderRule
from headwall.rules.reminding import Due, come, messages, next_us
from headwall.rules.tell import tell_duty
from headwall.settings import NotifySettings
from hypothesis import given, settings
from hypothesis import strategies as st
from support.mail_facts import HOUR_US, PEOPLE, SITES, at, duty, open_ledger, registry

DAY_US = 24 * HOUR_US
BEGIN_US = at("06-10 15:42")
FAY = {
    "id": "fay-lind", "name": "Fay Lind", "email": "fay@village.example",
    "roles": [{"role": "smo", "municipality": "elmsford", "order": 2, "from": "2025-01-01"}],
}  # fmt: skip
OUTFALL = {
    "id": "outfall-7", "kind": "outfall", "name": "Outfall 7", "place": "River Street", "municipality": "elmsford",
    "status": [{"status": "active", "from": "2026-03-15", "by": "Ruth Adler"}],
}  # fmt: skip
HOURS = st.integers(0, 24 * 8).map(lambda hours: hours * HOUR_US)


class Town:
    """A ledger in which duties come and go, and the two rules."""

    def __init__(self, folder: Path, people: list[dict[str, Any]], **said: Any) -> None:
        self.ledger = open_ledger(folder)
        self.registry = registry([*SITES, OUTFALL], people)
        self.settings = NotifySettings(**said)
        self.restart()

    def restart(self) -> None:
        self.rules = [ReminderRule(self.registry, self.settings), DailyListRule(self.registry, self.settings)]

    def next_us(self) -> int | None:
        return min((each for rule in self.rules if (each := rule.next_us()) is not None), default=None)

    def look(self, now_us: int) -> None:
        with self.ledger.begin() as conn:
            step = Step(conn, now_us, 0, newest(conn), Layers(self.ledger, self.registry))
            for rule in self.rules:
                rule.judge(step)
            assert step.failures == {}

    def run(self, from_us: int, until_us: int) -> None:
        """Look at every instant that the rules name."""
        now_us = from_us
        while now_us <= until_us:
            self.look(now_us)
            coming = self.next_us()
            if coming is None:
                return
            assert coming > now_us
            now_us = coming

    def open(self, due_us: int, now_us: int, /, **said: Any) -> int:
        fact = ClauseDuty(
            0, 1, "elmsford", "site-1", "elmsford-288-8a2-storm", "", f"{due_us}", {}, "send the report", "Voss",
            None, None, due_us, now_us,
        )  # fmt: skip
        with self.ledger.begin() as conn:
            fact = duties.open_duty(conn, msgspec.structs.replace(fact, **said), now_us, historical=False)
            tell_duty(conn, fact, self.registry.officers("elmsford", now_us), now_us)
        return fact.duty

    def told(self, kind: type = Reminder) -> list[tuple[str, str, str, int]]:
        """Key, person, stage, instant; in the order of time."""
        query = sa.select(schema.outbox).order_by(schema.outbox.c.at_us, schema.outbox.c.fact, schema.outbox.c.person)
        with self.ledger.read() as conn:
            rows = [(row, from_body(row.body)) for row in conn.execute(query)]
        return [(row.fact, row.person, getattr(f, "stage", ""), row.at_us) for row, f in rows if isinstance(f, kind)]

    def stages(self) -> list[tuple[str, str, float]]:
        """Stage, person, and hours after BEGIN_US."""
        return [(stage, person, (at_us - BEGIN_US) / HOUR_US) for _, person, stage, at_us in self.told()]


@contextmanager
def town(people: list[dict[str, Any]] = PEOPLE, **said: Any) -> Iterator[Town]:
    with tempfile.TemporaryDirectory() as folder:
        made = Town(Path(folder), people, **{"daily_list": False, **said})
        yield made
        made.ledger.close()


# --- the plan ---


@given(
    due_us=st.integers(0, 20 * DAY_US),
    told_us=st.integers(0, 20 * DAY_US),
    leads_us=st.lists(st.integers(2, 5 * DAY_US), max_size=4),
    line=st.integers(0, 4),
    acknowledged=st.booleans(),
)
def test_what_is_told_again_has_its_place_in_time(
    due_us: int, told_us: int, leads_us: list[int], line: int, acknowledged: bool
) -> None:
    told = messages(Due(due_us, told_us, acknowledged, line), leads_us, DAY_US)
    assert [each.at_us for each in told] == sorted(each.at_us for each in told)
    assert all(each.at_us > told_us for each in told)
    assert all(each.at_us < due_us for each in told if each.stage == "before")
    assert all(each.at_us >= due_us + DAY_US for each in told if each.stage == "escalated")
    groups = [each.group for each in told if each.stage == "escalated"]
    assert groups == ([] if acknowledged else list(range(1, line)))
    assert ("overdue" in [each.stage for each in told]) == (due_us > told_us)


@given(st.integers(0, 30 * DAY_US), st.integers(0, 30 * DAY_US), st.integers(0, 30 * DAY_US))
def test_what_a_profile_asks_again_for_comes_once_between_telling_and_due(
    told_us: int, again_us: int, due_us: int
) -> None:
    told = messages(Due(due_us, told_us, True, 2, remind_us=again_us), [48 * HOUR_US], DAY_US)
    again = [each.at_us for each in told if each.name == "again"]
    assert again == ([again_us] if told_us < again_us < due_us else [])


@given(st.integers(0, 30 * DAY_US), st.integers(0, 30 * DAY_US))
def test_looking_late_tells_each_group_the_newest_alone(due_us: int, now_us: int) -> None:
    told = messages(Due(due_us, 0, False, 3), [4 * HOUR_US, 48 * HOUR_US], DAY_US)
    found = come(told, now_us)
    assert len({each.group for each in found}) == len(found)
    assert all(each.at_us <= now_us for each in found)
    coming = next_us(told, now_us)
    assert coming is None or coming > now_us
    if now_us >= due_us > 0:
        assert [each.stage for each in found if each.group == 0] == ["overdue"]


# --- on a ledger ---


def test_a_week_old_duty_is_told_before_at_and_after_its_time_and_down_the_line() -> None:
    with town([*PEOPLE, FAY]) as t:
        t.open(BEGIN_US + 7 * DAY_US, BEGIN_US)
        t.run(BEGIN_US, BEGIN_US + 30 * DAY_US)
        assert t.stages() == [
            ("before", "ruth-adler", 7 * 24 - 48.0),
            ("before", "ruth-adler", 7 * 24 - 4.0),
            ("overdue", "ruth-adler", 7 * 24.0),
            ("escalated", "fay-lind", 8 * 24.0),
            ("escalated", "sam-okafor", 9 * 24.0),
        ]


def test_with_one_officer_the_operator_is_next_and_with_nobody_else_it_ends_there() -> None:
    with town() as t:
        t.open(BEGIN_US + HOUR_US, BEGIN_US)
        t.run(BEGIN_US, BEGIN_US + 30 * DAY_US)
        assert [(stage, who) for stage, who, _ in t.stages()] == [
            ("overdue", "ruth-adler"), ("escalated", "sam-okafor"),
        ]  # fmt: skip
    with town([PEOPLE[0], dict(PEOPLE[1], roles=[]), *PEOPLE[2:]]) as t:
        t.open(BEGIN_US + HOUR_US, BEGIN_US)
        t.run(BEGIN_US, BEGIN_US + 30 * DAY_US)
        assert [who for _, who, _ in t.stages()] == ["ruth-adler"]


def test_deputy_is_written_to_first_while_the_officer_is_not_in_office() -> None:
    away = dict(PEOPLE[0], roles=[dict(PEOPLE[0]["roles"][0], to="2026-06-01")])
    with town([away, *PEOPLE[1:], FAY]) as t:
        assert [each.id for each in t.registry.officers("elmsford", BEGIN_US)] == ["fay-lind"]
        t.open(BEGIN_US + HOUR_US, BEGIN_US)
        t.run(BEGIN_US, BEGIN_US + 30 * DAY_US)
        assert [who for _, who, _ in t.stages()] == ["fay-lind", "sam-okafor"]


def test_acknowledging_ends_that_others_are_told_and_nothing_else() -> None:
    with town([*PEOPLE, FAY]) as t:
        number = t.open(BEGIN_US + HOUR_US, BEGIN_US)
        t.run(BEGIN_US, BEGIN_US + 2 * HOUR_US)
        with t.ledger.begin() as conn:
            acknowledgements.add(conn, f"duty/{number}", by="Ruth Adler", now_us=BEGIN_US + 3 * HOUR_US)
        t.run(BEGIN_US + 3 * HOUR_US, BEGIN_US + 30 * DAY_US)
        assert [(stage, who) for stage, who, _ in t.stages()] == [("overdue", "ruth-adler")]
        with t.ledger.read() as conn:
            assert duties.get(conn, number).state == "open"


def test_a_reminder_says_the_command_that_enters_what_answers_the_duty() -> None:
    command = "headwall record report site-1 --by NAME"
    with town() as t:
        number = t.open(BEGIN_US + HOUR_US, BEGIN_US, answer=command)
        t.run(BEGIN_US, BEGIN_US + HOUR_US)
        with t.ledger.begin() as conn:
            (body,) = conn.execute(
                sa.select(schema.outbox.c.body).where(schema.outbox.c.fact.like("reminder/%"))
            ).scalars()
            with pytest.raises(duties.DutyClosedError, match="answered by a record"):
                duties.close_duty(conn, number, "received", by="Ruth Adler", at_us=BEGIN_US, now_us=BEGIN_US)
        assert from_body(body).answer == command


@pytest.mark.parametrize("said", [{"advice": True}, {"trigger_gone": "not asked"}, {"due_us": None}])
def test_advice_and_what_is_asked_no_longer_is_never_overdue(said: dict[str, Any]) -> None:
    with town() as t:
        t.open(BEGIN_US + HOUR_US, BEGIN_US, **said)
        t.run(BEGIN_US, BEGIN_US + 30 * DAY_US)
        assert t.told() == []


def test_what_may_not_be_done_before_its_time_is_told_then_and_nobody_is_late() -> None:
    with town(daily_list=True) as t:
        t.open(BEGIN_US + 240 * HOUR_US, BEGIN_US, not_before=True)
        t.run(BEGIN_US, BEGIN_US + 30 * DAY_US)
        assert t.stages() == [("open", "ruth-adler", 240.0)]
        assert [(found.overdue_count, found.soon_count) for *_, found in lists(t)] == []


def test_due_time_that_moves_is_reminded_of_anew_and_the_old_one_no_more() -> None:
    with town() as t:
        number = t.open(BEGIN_US + 4 * DAY_US, BEGIN_US)
        t.run(BEGIN_US, BEGIN_US + 3 * DAY_US)
        with t.ledger.begin() as conn:
            before = duties.get(conn, number).body
            after = msgspec.structs.replace(before, due_us=BEGIN_US + 10 * DAY_US)
            after = duties.add_version(conn, before, after, BEGIN_US + 3 * DAY_US)
            tell_duty(conn, after, t.registry.officers("elmsford", BEGIN_US), BEGIN_US + 3 * DAY_US)
        t.run(BEGIN_US + 3 * DAY_US, BEGIN_US + 30 * DAY_US)
        assert [(stage, hours / 24) for stage, _, hours in t.stages()][:3] == [
            ("before", 2), ("before", 8), ("before", 10 - 4 / 24),
        ]  # fmt: skip


def test_gauge_in_commissioning_reminds_its_installer_alone() -> None:
    with town() as t:
        with t.ledger.begin() as conn:
            conn.execute(schema.acceptances.delete())
            fact = duties.open_duty(conn, duty(), BEGIN_US, historical=False)
        t.run(BEGIN_US, fact.due_us + 30 * DAY_US)
        assert {who for _, who, _ in t.stages()} == {"sam-okafor"}
        assert [stage for stage, _, _ in t.stages()] == ["before", "overdue"]


def test_clock_of_a_case_is_reminded_of_until_it_is_met() -> None:
    with town() as t:
        with t.ledger.begin() as conn:
            kind = {"kind": "suspected_discharge", "by": "Ruth Adler", "seen_us": BEGIN_US, "note": "seen"}
            case = open_by_person(conn, t.registry, "outfall-7", now_us=BEGIN_US, **kind)
            take(conn, t.registry, case.id, "confirm", Told("Ruth Adler", BEGIN_US, "dye"), now_us=BEGIN_US)
            times = {"issued": BEGIN_US, "dated": BEGIN_US, "correct_by": BEGIN_US + 10 * DAY_US}
            take(conn, t.registry, case.id, "serve", Told("Ruth Adler", BEGIN_US, times=times), now_us=BEGIN_US)
        t.run(BEGIN_US, BEGIN_US + 12 * DAY_US)
        assert [(stage, hours / 24) for stage, _, hours in t.stages() if hours >= 8 * 24] == [
            ("before", 8), ("before", 10 - 4 / 24), ("overdue", 10), ("escalated", 11),
        ]  # fmt: skip
        assert all(key.startswith(f"reminder/case/{case.id}/") for key, *_ in t.told())


ACTS = st.tuples(HOURS, st.sampled_from(["close", "seen"]))
PLANS = st.lists(st.tuples(HOURS, st.integers(1, 24 * 12), st.lists(ACTS, max_size=2)), min_size=1, max_size=4)


@settings(max_examples=15)
@given(plan=PLANS, extra=st.lists(HOURS, max_size=8), restarts=st.lists(st.booleans(), min_size=40, max_size=40))
def test_restarts_and_looks_at_any_time_tell_each_once_as_an_independent_count_has_it(
    plan: list[tuple[int, int, list[tuple[int, str]]]], extra: list[int], restarts: list[bool]
) -> None:
    """Duties open, are seen and closed at whole hours; the count goes hour by hour and knows nothing of the rule."""
    events: list[tuple[int, int, str]] = []
    for n, (open_us, due_h, acts) in enumerate(plan):
        events.append((open_us, n, f"open {due_h}"))
        events += [(max(open_us, when_us) + HOUR_US, n, what) for when_us, what in acts]
    events.sort(key=lambda each: each[0])
    numbers: dict[int, int] = {}
    with town([*PEOPLE, FAY]) as t:
        now_us, end_us, coming, flips = BEGIN_US, BEGIN_US + 30 * DAY_US, list(events), iter(restarts * 20)
        stops = sorted({BEGIN_US + each[0] for each in events} | {BEGIN_US + each for each in extra})
        while now_us <= end_us:
            while coming and BEGIN_US + coming[0][0] <= now_us:
                _, n, what = coming.pop(0)
                _act(t, numbers, n, what, now_us)
            t.look(now_us)
            if next(flips, False):
                t.restart()
                t.look(now_us)
            ahead = [each for each in (t.next_us(), *(s for s in stops if s > now_us)) if each is not None]
            if not ahead:
                break
            now_us = min(ahead)
        found = sorted((key.split("/")[2], stage, who, at_us) for key, who, stage, at_us in t.told())
        with t.ledger.read() as conn:
            assert log_book.verify(conn) is None
    assert found == sorted(_counted(events, numbers))


def _act(t: Town, numbers: dict[int, int], n: int, what: str, now_us: int) -> None:
    if what.startswith("open"):
        numbers[n] = t.open(now_us + int(what.split()[1]) * HOUR_US, now_us, occurrence=f"plan {n}")
        return
    with t.ledger.begin() as conn:
        if what == "seen":
            acknowledgements.add(conn, f"duty/{numbers[n]}", by="Ruth Adler", now_us=now_us)
        elif duties.get(conn, numbers[n]).state == "open":
            duties.close_duty(conn, numbers[n], "received", by="Ruth Adler", at_us=now_us, now_us=now_us)


def _counted(events: list[tuple[int, int, str]], numbers: dict[int, int]) -> Iterator[tuple[str, str, str, int]]:
    for n, number in numbers.items():
        open_us, due_h = next((when, int(what.split()[1])) for when, m, what in events if m == n and "open" in what)
        close_us = min((when for when, m, what in events if m == n and what == "close"), default=10**18)
        seen_us = min((when for when, m, what in events if m == n and what == "seen"), default=10**18)
        for hours, stage, who in (
            (due_h - 48, "before", "ruth-adler"),
            (due_h - 4, "before", "ruth-adler"),
            (due_h, "overdue", "ruth-adler"),
            (due_h + 24, "escalated", "fay-lind"),
            (due_h + 48, "escalated", "sam-okafor"),
        ):
            when_us = open_us + hours * HOUR_US
            soon = stage == "before" and hours < (due_h - hours) / 2
            seen = stage == "escalated" and seen_us <= when_us
            if not soon and not seen and when_us < close_us:
                yield str(number), stage, who, BEGIN_US + when_us


# --- the daily list ---


def lists(t: Town) -> list[tuple[str, str, OpenMatters]]:
    query = sa.select(schema.outbox).where(schema.outbox.c.kind == "open_matters").order_by(schema.outbox.c.id)
    with t.ledger.read() as conn:
        return [(row.fact, row.how, msgspec.convert(row.body, OpenMatters)) for row in conn.execute(query)]


def test_list_has_what_was_due_what_is_due_soon_and_open_cases_and_no_day_is_empty() -> None:
    with town(daily_list=True) as t:
        t.run(BEGIN_US, BEGIN_US + 2 * DAY_US)
        assert lists(t) == []
        now_us = BEGIN_US + 2 * DAY_US
        t.open(now_us + HOUR_US, now_us, occurrence="a")
        t.open(now_us + 2 * DAY_US, now_us, occurrence="b")
        t.open(now_us + 90 * DAY_US, now_us, occurrence="c")
        t.open(now_us + HOUR_US, now_us, occurrence="d", advice=True)
        with t.ledger.begin() as conn:
            said = {"kind": "suspected_discharge", "by": "Ruth Adler", "seen_us": now_us, "note": "seen"}
            open_by_person(conn, t.registry, "outfall-7", now_us=now_us, **said)
            acknowledgements.add(conn, "duty/1", by="Ruth Adler", now_us=now_us)
        t.run(now_us, now_us + DAY_US)
        ((key, how, found),) = lists(t)
        assert (key, how) == ("open/elmsford/2026-06-13", "digest")
        assert found.at_us == at("06-13 06:59")
        assert [(each.duty, each.seen_by) for each in found.overdue] == [(1, ["Ruth Adler"])]
        assert [each.duty for each in found.soon] == [2]
        assert [each.case for each in found.cases] == [1]
        assert (found.overdue_count, found.soon_count, found.later_count, found.case_count) == (1, 1, 1, 1)


def test_list_is_written_once_a_day_whenever_the_engine_restarts_and_never_for_what_came_after_it() -> None:
    with town(daily_list=True) as t:
        t.open(BEGIN_US + HOUR_US, BEGIN_US)
        for hour in range(0, 24 * 4, 5):
            t.restart()
            t.look(BEGIN_US + hour * HOUR_US)
        assert [key for key, _, _ in lists(t)] == [f"open/elmsford/2026-06-{day}" for day in (11, 12, 13, 14)]


def test_list_of_many_counts_what_it_does_not_show() -> None:
    with town(daily_list=True) as t:
        for n in range(45):
            t.open(BEGIN_US + HOUR_US + n, BEGIN_US, occurrence=f"{n}")
        t.run(BEGIN_US, BEGIN_US + DAY_US)
        ((_, _, found),) = lists(t)
        assert (len(found.overdue), found.overdue_count) == (40, 45)
