"""The uplink's bookkeeping, against a gateway that takes, loses, refuses and forgets packs."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_runner import LIBRARY


def load() -> ModuleType:
    """window.py has no MicroPython in it, so hypothesis can drive it here; its users run in the real MicroPython."""
    spec = importlib.util.spec_from_file_location("node_window", LIBRARY / "headwall_node" / "window.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


window = load()


class Journal:
    def __init__(self, floor: int, after: int) -> None:
        self.floor, self.next, self.through = floor, after, floor - 1

    def custody(self, through: int) -> None:
        self.through = through


class Gateway:
    """Holds what it took; `poison` records make it refuse the pack they are in, unless they come raw."""

    def __init__(self, poison: frozenset[int]) -> None:
        self.poison = poison
        self.held: set[int] = set()
        self.dead: set[int] = set()

    def take(self, first: int, count: int, raw: bool) -> None:
        span = range(first, first + count)
        if raw:
            self.dead |= set(span)
        elif not self.poison & set(span):
            self.held |= set(span)

    def through(self, floor: int) -> int:
        n = floor
        while n in self.held or n in self.dead:
            n += 1
        return n - 1


@given(
    floor=st.integers(1, 50),
    count=st.integers(0, 120),
    poison=st.sets(st.integers(1, 170), max_size=4),
    records=st.integers(1, 30),
    luck=st.lists(st.sampled_from(["taken", "lost", "reconnect"]), max_size=60),
)
@settings(max_examples=200, deadline=None)
def test_every_record_is_held_or_dead_lettered_and_no_good_one_is(
    floor: int, count: int, poison: set[int], records: int, luck: list[str]
) -> None:
    journal = Journal(floor, floor + count)
    gateway = Gateway(frozenset(poison))
    sut = window.Window(journal, records=records)
    for step in range(3000):
        if sut.unsafe() == 0:
            break
        plan = sut.plan()
        if plan is not None:
            first, n = plan
            if sut.raw:
                n = 1
            happens = luck[step] if step < len(luck) else "taken"
            if happens == "reconnect":
                sut.begin()
                continue
            sut.sending(first, n, 0)
            assert len(sut.flight) <= 4
            if happens == "taken":
                gateway.take(first, n, sut.raw)
            continue
        before = journal.through
        sut.custody(gateway.through(floor))
        if journal.through == before and sut.flight:
            sut.not_taken()
    assert sut.unsafe() == 0, "the uplink is stuck"
    everything = set(range(floor, floor + count))
    assert gateway.held | gateway.dead == everything
    lost_packs = luck.count("lost")
    if not lost_packs:
        assert gateway.dead == everything & poison, "a good record must never be given up as raw"


def test_at_most_four_packs_fly_until_custody() -> None:
    journal = Journal(1, 1001)
    sut = window.Window(journal, records=100)
    for n in range(4):
        assert sut.plan() == (1 + 100 * n, 100)
        sut.sending(*sut.plan(), 0)
    assert sut.plan() is None
    sut.custody(200)
    assert [pack.first for pack in sut.flight] == [201, 301]
    assert sut.plan() == (401, 100)


def test_custody_that_falls_sends_again_what_the_journal_holds() -> None:
    journal = Journal(50, 301)
    journal.through = 300
    sut = window.Window(journal, records=100)
    assert sut.plan() is None
    sut.custody(20)
    assert sut.plan() == (50, 100)


def test_floor_that_passes_the_cursor_is_followed() -> None:
    journal = Journal(1, 301)
    sut = window.Window(journal, records=100)
    journal.floor = 200
    assert sut.plan() == (200, 100)


def test_fresh_records_pass_a_backlog_once() -> None:
    journal = Journal(1, 1001)
    sut = window.Window(journal, records=100)
    assert sut.plan_urgent() == (901, 100)
    sut.sent_urgent(1001)
    assert sut.plan_urgent() is None
    journal.next += 1
    assert sut.plan_urgent() == (1001, 1)
    assert sut.plan() == (1, 100), "the backlog itself is not moved by it"


def test_fresh_records_do_not_pass_when_they_go_next_anyway() -> None:
    journal = Journal(1, 11)
    sut = window.Window(journal, records=100)
    assert sut.plan_urgent() is None


def test_fresh_records_pass_a_pack_that_is_not_taken() -> None:
    journal = Journal(1, 3)
    sut = window.Window(journal, records=100)
    sut.sending(1, 2, 0)
    sut.not_taken()
    sut.sending(1, 2, 0)
    journal.next = 4
    assert sut.plan() is None
    assert sut.plan_urgent() == (3, 1)


@pytest.mark.parametrize(("size", "sizes"), [(50, [50, 50, 12, 3, 1]), (4, [4, 4, 1, 1, 1]), (1, [1, 1, 1, 1, 1])])
def test_refused_pack_shrinks_to_its_first_record_then_goes_raw(size: int, sizes: list[int]) -> None:
    journal = Journal(1, 1 + size)
    sut = window.Window(journal, records=100)
    seen = []
    while not sut.raw:
        first, count = sut.plan()
        assert first == 1
        seen.append(count)
        sut.sending(first, count, 0)
        sut.not_taken()
    assert seen == sizes
    assert sut.plan()[0] == 1


def test_record_that_is_not_taken_raw_either_is_sent_whole_again() -> None:
    journal = Journal(1, 51)
    sut = window.Window(journal, records=100)
    while not sut.raw:
        sut.sending(*sut.plan(), 0)
        sut.not_taken()
    sut.sending(*sut.plan(), 0)
    sut.not_taken()
    assert (sut.raw, sut.hopeless, sut.plan()) == (False, 1, (1, 50))
    sut.sending(1, 50, 0)
    sut.custody(50)
    assert (sut.failures, sut.hopeless) == (0, 0)
