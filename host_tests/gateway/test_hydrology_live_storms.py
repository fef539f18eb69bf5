"""Storms kept up to date reading by reading are those that a fold of all rain in order gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from headwall.hydrology.live_storms import LiveStorms
from headwall.hydrology.storms import HOUR_US, Rain, StormRule, Window, fold
from headwall.law import localtime
from hypothesis import given
from hypothesis import strategies as st
from support.executed import lines_run

NEW_YORK = localtime.zone("America/New_York")
START = localtime.from_local(datetime(2026, 10, 31, 3), NEW_YORK)  # the clocks go back on the next day
_GAPS = st.sampled_from([0, 1, 60_000_000, HOUR_US, 6 * HOUR_US - 1, 6 * HOUR_US, 9 * HOUR_US, 25 * HOUR_US])
_RAIN = st.lists(st.tuples(_GAPS, st.integers(0, 30)), max_size=50)
_WINDOWS = st.sampled_from(["cautious", "event", "rolling24h", "day"])


def rule(window: Window = "cautious", interval_us: int = 0) -> StormRule:
    return StormRule(50, partial(localtime.day_bounds, where=NEW_YORK), window, 6 * HOUR_US, interval_us)


def laid_out(gaps: list[tuple[int, int]]) -> list[Rain]:
    now, rain = START, []
    for gap_us, amount in gaps:
        now += gap_us
        rain.append(Rain(now, amount))
    return rain


def batches(rain: Sequence[Rain], sizes: Sequence[int]) -> Iterator[Sequence[Rain]]:
    at = 0
    for size in sizes:
        yield rain[at : at + size]
        at += size
    yield rain[at:]


@given(_RAIN, st.randoms(use_true_random=False), st.lists(st.integers(0, 9), max_size=20), _WINDOWS)
def test_neither_order_of_arrival_nor_size_of_batches_shows(
    gaps: list[tuple[int, int]], random: Any, sizes: list[int], window: Window
) -> None:
    rain, asked = laid_out(gaps), rule(window)
    arrived = list(rain)
    random.shuffle(arrived)
    live = LiveStorms(asked)
    for batch in batches(arrived, sizes):
        live.add(batch)
    assert live.folded == fold(sorted(rain), asked)


@given(_RAIN, _WINDOWS, st.sampled_from([0, 60_000_000]))
def test_rain_in_order_gives_after_each_reading_what_a_fold_gives(
    gaps: list[tuple[int, int]], window: Window, interval_us: int
) -> None:
    rain, asked = sorted(laid_out(gaps)), rule(window, interval_us)
    live = LiveStorms(asked)
    for n, each in enumerate(rain, 1):
        live.add([each])
        assert live.folded == fold(rain[:n], asked)


@given(_RAIN, st.integers(0, 50))
def test_storms_add_up_over_a_cut_in_a_dry_gap(gaps: list[tuple[int, int]], cut: int) -> None:
    rain, asked = sorted(laid_out(gaps)), rule()
    before, after = rain[:cut], [Rain(each.time_us + asked.memory_us, each.amount) for each in rain[cut:]]
    whole, one, other = LiveStorms(asked), LiveStorms(asked), LiveStorms(asked)
    whole.add(before + after)
    one.add(before)
    other.add(after)
    assert whole.folded.storms == one.folded.storms + other.folded.storms
    assert whole.folded.triggers == one.folded.triggers + other.folded.triggers


@given(_RAIN, st.integers(0, 50), st.randoms(use_true_random=False))
def test_batch_tells_every_spell_that_it_changed(gaps: list[tuple[int, int]], cut: int, random: Any) -> None:
    arrived = laid_out(gaps)
    random.shuffle(arrived)
    live = LiveStorms(rule())
    live.add(arrived[:cut])
    before = {(spell.first_us, spell.last_us, len(spell.rain)) for spell in live.spells}
    changed = live.add(arrived[cut:])
    after = [(spell.first_us, spell.last_us, len(spell.rain)) for spell in live.spells]
    assert [(s.first_us, s.last_us, len(s.rain)) for s in changed] == [each for each in after if each not in before]


def test_late_rain_joins_two_spells() -> None:
    live = LiveStorms(rule())
    live.add([(START, 3), (START + 40 * HOUR_US, 4)])
    assert len(live.spells) == 2
    (joined,) = live.add([(START + 20 * HOUR_US, 1)])
    assert live.spells == [joined]
    assert [storm.amount for storm in joined.storms] == [3, 1, 4]


@pytest.mark.parametrize(("gap_us", "spells"), [(25 * HOUR_US - 1, 1), (25 * HOUR_US, 2)])
def test_spell_ends_with_a_gap_as_long_as_the_rule_remembers(gap_us: int, spells: int) -> None:
    rain = [(START, 1), (START + gap_us, 1)]
    for batches_of_it in ([rain], [rain[:1], rain[1:]], [rain[1:], rain[:1]]):
        live = LiveStorms(rule())
        for batch in batches_of_it:
            live.add(batch)
        assert len(live.spells) == spells


def test_rain_that_is_dropped_for_good_is_refused_and_nothing_of_its_batch_is_taken() -> None:
    live = LiveStorms(rule())
    live.add([(START, 3), (START + 100 * HOUR_US, 4)])
    live.forget(START + 50 * HOUR_US)
    assert [storm.amount for storm in live.folded.storms] == [4]
    with pytest.raises(ValueError, match="from the ledger"):
        live.add([(START + 101 * HOUR_US, 1), (START + 49 * HOUR_US, 1)])
    assert [storm.amount for storm in live.folded.storms] == [4]


@given(_RAIN, _RAIN, st.integers(0, 300))
def test_forgetting_changes_nothing_of_what_is_kept(
    gaps: list[tuple[int, int]], later: list[tuple[int, int]], hours: int
) -> None:
    """A spell that rain from the given instant on can join is kept whole."""
    rain, before_us, asked = sorted(laid_out(gaps)), START + hours * HOUR_US, rule()
    more = [Rain(before_us + each.time_us - START, each.amount) for each in laid_out(later)]
    live, all_of_it = LiveStorms(asked), LiveStorms(asked)
    for each in (live, all_of_it):
        each.add(rain)
    live.forget(before_us)
    for each in (live, all_of_it):
        each.add(more)
    kept = all_of_it.folded.storms[len(all_of_it.folded.storms) - len(live.folded.storms) :]
    assert live.folded.storms == kept
    assert all(storm.end_us <= before_us - asked.memory_us for storm in all_of_it.folded.storms[: -len(kept) or None])


@pytest.mark.parametrize("amount", [-1, -50])
def test_negative_rain_is_refused_whatever_its_time(amount: int) -> None:
    live = LiveStorms(rule())
    with pytest.raises(ValueError, match="negative"):
        live.add([(START, 1), (START + 1, amount)])
    assert live.spells == []


def test_zero_is_no_rain() -> None:
    live = LiveStorms(rule())
    assert live.add([(START, 0)]) == []
    assert live.folded == fold([], rule())


# ---- cost


def lines_to_add(live: LiveStorms, rain: Sequence[tuple[int, int]]) -> int:
    """Lines of the storm modules that run while the rain is taken one by one."""

    def take() -> None:
        for each in rain:
            live.add([each])

    return lines_run(take, "hydrology/storms.py", "hydrology/live_storms.py")


def weeks(first: int, last: int) -> list[tuple[int, int]]:
    """A storm of 120 readings each week."""
    return [
        (START + week * 168 * HOUR_US + n * 60_000_000, n % 7 + 1) for week in range(first, last) for n in range(120)
    ]


@pytest.mark.parametrize("late_us", [0, -30_000_000])
def test_cost_of_a_reading_does_not_grow_with_history(late_us: int) -> None:
    """In order, or half a minute late in each pair: a week of readings after 5 weeks and after 520."""
    costs = []
    for history in (5, 520):
        live = LiveStorms(rule())
        live.add(weeks(0, history))
        costs.append(lines_to_add(live, _swapped(weeks(history, history + 1), late_us)))
    assert costs[1] <= 1.2 * costs[0]


def _swapped(rain: list[tuple[int, int]], late_us: int) -> list[tuple[int, int]]:
    """Each second reading comes again, earlier by so much, after the next."""
    if not late_us:
        return rain
    late = [(time_us + late_us, amount) for time_us, amount in rain[1::2]]
    return [each for pair in zip(rain[1::2], late, strict=True) for each in pair]
