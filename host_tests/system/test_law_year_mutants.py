"""The comparison of a year with its oracle is worth something only if it sees a fault: rules are broken here."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from headwall.law.clocks import Due
from headwall.rules import clause_duties, daily_list, reminders, storm, tell
from headwall.rules.clauses import Look
from headwall_sim.law_year import DAY_US, World, make
from support.law_year_told import Told, must_be_told, was_told

#: what a world has to have so that no fault passes by for want of it
_KINDS: Final = {"clause", "storm", "spill", "list", "before", "overdue", "escalated"}
Patch = Callable[[pytest.MonkeyPatch], None]


@cache
def small_world() -> tuple[World, Told]:
    """The first small world in which there is something of every kind, and what must be told of it."""
    for seed in range(1325, 5000):  # the first is one, as long as the generator stays as it is
        world = make(seed, 9, 8)
        if len(world.happenings) < 30:
            told = must_be_told(world)
            if {fact[1] if fact[0] == "reminder" else fact[0] for *_, fact in told} >= _KINDS:
                return world, told
    raise AssertionError("no small world has something of every kind")


def _without_stage(stage: str) -> Patch:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        true = reminders.messages
        monkeypatch.setattr(reminders, "messages", lambda *told: [each for each in true(*told) if each.stage != stage])

    return patch


def _a_day_later(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Look.due

    def due(self: Look, *given: Any) -> Due:
        found = true(self, *given)
        return Due(found.strict_us, found.lenient_us, found.taken_us and found.taken_us + DAY_US)

    monkeypatch.setattr(Look, "due", due)


def _doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    true = tell._insert

    def insert(conn: Any, key: str, *given: Any) -> None:
        true(conn, key, *given)
        true(conn, f"{key}/again", *given)

    monkeypatch.setattr(tell, "_insert", insert)


def _wrong_person(monkeypatch: pytest.MonkeyPatch) -> None:
    others = lambda registry, town, at_us: registry.operators(town, at_us)  # noqa: E731
    monkeypatch.setattr(clause_duties, "officers_or_operators", others)


def _untold_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storm, "tell_duty", lambda *_, **__: None)


def _escalated_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    true = reminders.ReminderRule._tell

    def told(self: Any, step: Any, matter: Any, message: Any, line: Any) -> None:
        true(self, step, matter, message, [line[0]] * len(line))

    monkeypatch.setattr(reminders.ReminderRule, "_tell", told)


def _forgets_what_is_overdue(monkeypatch: pytest.MonkeyPatch) -> None:
    true = daily_list.open_matters

    def found(*given: Any, **more: Any) -> Any:
        fact = true(*given, **more)
        return fact and msgspec.structs.replace(fact, overdue=[], overdue_count=0)

    monkeypatch.setattr(daily_list, "open_matters", found)


_BROKEN: Final[dict[str, Patch]] = {
    "no reminder before": _without_stage("before"),
    "no word when it is overdue": _without_stage("overdue"),
    "no next person": _without_stage("escalated"),
    "due a day later": _a_day_later,
    "each fact twice": _doubled,
    "told to the operator": _wrong_person,
    "a storm that nobody hears of": _untold_storm,
    "the same person again": _escalated_to_the_same,
    "a list without what is overdue": _forgets_what_is_overdue,
}


def test_rules_as_they_are_tell_what_the_oracle_wants(tmp_path: Path) -> None:
    world, wanted = small_world()
    assert was_told(world, tmp_path) == wanted


@pytest.mark.parametrize("name", _BROKEN)
def test_a_broken_rule_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, wanted = small_world()
    _BROKEN[name](monkeypatch)
    assert was_told(world, tmp_path) != wanted
