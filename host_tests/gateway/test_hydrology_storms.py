"""Storm splitting and triggers, on small cases and against a slow oracle that sums whole windows anew each time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime

import pytest
from headwall.hydrology.storms import HOUR_US, Rain, StormRule, StormState, Trigger, Window, fold
from headwall.law import localtime
from hypothesis import given
from hypothesis import strategies as st
from support.executed import lines_run

NEW_YORK = localtime.zone("America/New_York")
MIDNIGHT = localtime.midnight_us(date(2026, 6, 10), NEW_YORK)
MINUTE_US = 60_000_000
WINDOWS: tuple[Window, ...] = ("cautious", "event", "rolling24h", "day")


def rule(depth: int = 50, window: Window = "cautious", mit_h: int = 6, interval_us: int = 0) -> StormRule:
    bounds = lambda instant_us: localtime.day_bounds(instant_us, NEW_YORK)  # noqa: E731
    return StormRule(depth, bounds, window, mit_h * HOUR_US, interval_us)


def at(hours: float) -> int:
    return MIDNIGHT + round(hours * HOUR_US)


def series(*points: tuple[float, int]) -> list[Rain]:
    return [Rain(at(hours), amount) for hours, amount in points]


def fired(rain: Sequence[Rain], asked: StormRule) -> list[tuple[float, str]]:
    return [((t.time_us - MIDNIGHT) / HOUR_US, t.reading) for t in fold(rain, asked).triggers]


# ---- events


@pytest.mark.parametrize(("gap_us", "storms"), [(6 * HOUR_US - 1, 1), (6 * HOUR_US, 2), (6 * HOUR_US + 1, 2)])
def test_gap_of_the_minimum_inter_event_time_splits(gap_us: int, storms: int) -> None:
    assert len(fold([(MIDNIGHT, 1), (MIDNIGHT + gap_us, 1)], rule()).storms) == storms


def test_zero_is_no_rain_and_bridges_no_gap() -> None:
    dry = [(at(hour), 0) for hour in (1, 3, 4, 9)]
    wet = [(at(0), 1), (at(6), 1)]
    assert fold(sorted(wet + dry), rule()) == fold(wet, rule())
    assert fold(dry, rule()).storms == []


def test_storm_of_interval_totals_starts_before_its_first_total() -> None:
    (storm,) = fold(series((1, 3), (2, 4)), rule(interval_us=MINUTE_US)).storms
    assert (storm.start_us, storm.end_us, storm.amount) == (at(1) - MINUTE_US, at(2), 7)


def test_storm_is_over_once_the_dry_gap_has_passed() -> None:
    asked = rule()
    (storm,) = fold(series((1, 3)), asked).storms
    assert not storm.ended(at(7) - 1, asked)
    assert storm.ended(at(7), asked)


def test_two_tips_of_one_instant_both_count() -> None:
    assert fired(series((1, 49), (2, 1), (2, 1)), rule(51)) == [(2, "event")]


@pytest.mark.parametrize("amount", [-1, -50])
def test_negative_rain_is_refused(amount: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        StormState(rule()).add(MIDNIGHT, amount)


def test_late_rain_is_refused_by_the_running_state() -> None:
    state = StormState(rule())
    state.add(at(2), 1)
    with pytest.raises(ValueError, match="anew"):
        state.add(at(1), 1)


# ---- windows


def test_depth_is_reached_at_equality_and_not_one_quantum_before() -> None:
    assert fired(series(*((n / 10, 1) for n in range(49))), rule()) == []
    assert fired(series(*((n / 10, 1) for n in range(50))), rule()) == [(4.9, "event")]


def test_cautious_names_the_rolling_sum_where_two_storms_reach_it_together() -> None:
    rain = series((20, 42), (30, 8))  # more than the minimum gap apart, over midnight, within 24 h
    assert fired(rain, rule()) == [(30, "rolling24h")]


def test_cautious_names_the_event_where_one_rain_reaches_every_reading() -> None:
    assert fired(series((1, 50)), rule()) == [(1, "event")]


def test_cautious_names_the_day_where_only_a_day_of_25_hours_holds_the_rain() -> None:
    start = localtime.midnight_us(date(2026, 11, 1), NEW_YORK)
    rain = [(start, 30), (start + 24 * HOUR_US + 1, 20)]
    assert [trigger.reading for trigger in fold(rain, rule()).triggers] == ["day"]


def test_rain_of_a_storm_with_a_duty_does_not_open_another() -> None:
    drizzle_after = series((1, 60), (8, 1), (15, 1))
    assert fired(drizzle_after, rule()) == [(1, "event")]


def test_rain_that_goes_on_after_the_duty_belongs_to_it_too() -> None:
    assert fired(series((1, 50), (2, 30), (9, 25)), rule()) == [(1, "event")]


def test_rain_of_a_storm_without_a_duty_still_counts_towards_the_next_storms() -> None:
    # B opens a duty with A's help; A has opened none, so A and C together open another: the cautious side.
    rain = series((1, 30), (8, 25), (15, 25))
    assert fired(rain, rule()) == [(8, "rolling24h"), (15, "rolling24h")]


def test_cautious_opens_one_duty_a_storm_however_long() -> None:
    assert fired(series(*((hour, 20) for hour in range(0, 100, 5))), rule()) == [(10, "event")]


def test_rolling_window_leaves_out_what_fell_just_24_hours_ago() -> None:
    assert fired(series((1, 25), (25, 25)), rule(window="rolling24h")) == []
    assert fired([Rain(at(1) + 1, 25), Rain(at(25), 25)], rule(window="rolling24h")) == [(25, "rolling24h")]


def test_rolling_sum_triggers_again_only_after_a_reading_found_it_below() -> None:
    kept_up = series((0, 50), (12, 50), (24, 50))
    fell = series((0, 50), (24.5, 1), (25, 49))
    assert fired(kept_up, rule(window="rolling24h")) == [(0, "rolling24h")]
    assert fired(fell, rule(window="rolling24h")) == [(0, "rolling24h"), (25, "rolling24h")]


def test_day_triggers_once_a_local_day() -> None:
    rain = series((1, 50), (2, 50), (23.99, 40), (24, 10), (24.5, 40))
    assert fired(rain, rule(window="day")) == [(1, "day"), (24.5, "day")]


def test_tips_at_the_last_second_and_at_midnight_belong_to_two_days() -> None:
    rain = [Rain(at(24) - 1_000_000, 25), Rain(at(24), 25)]
    assert fired(rain, rule(window="day")) == []
    assert fired(rain, rule(25, window="day")) == [((24 * 3600 - 1) / 3600, "day"), (24, "day")]


def test_interval_total_stamped_midnight_belongs_to_the_day_it_fell_in() -> None:
    rain = [Rain(at(23), 25), Rain(at(24), 25)]
    assert fired(rain, rule(window="day", interval_us=MINUTE_US)) == [(24, "day")]


def test_clock_starts_at_crossing_first_rain_or_end() -> None:
    (trigger,) = fold(series((1, 20), (2, 30), (3, 1)), rule()).triggers
    assert [trigger.clock_start_us(clock) for clock in ("crossing", "first", "end")] == [at(2), at(1), at(3)]


# ---- properties

_GAPS = st.sampled_from(
    [0, 1, MINUTE_US, HOUR_US, 6 * HOUR_US - 1, 6 * HOUR_US, 9 * HOUR_US, 24 * HOUR_US, 25 * HOUR_US]
)
_RAIN = st.lists(st.tuples(_GAPS, st.integers(0, 30)), max_size=60)


def laid_out(gaps: list[tuple[int, int]]) -> list[Rain]:
    """Rain that begins on the day before the clocks go back."""
    now, rain = localtime.from_local(datetime(2026, 10, 31, 3), NEW_YORK), []
    for gap_us, amount in gaps:
        now += gap_us
        rain.append(Rain(now, amount))
    return rain


def wet_spells(rain: Iterable[tuple[int, int]], rule: StormRule) -> Iterator[list[Rain]]:
    """Rain in order of time, cut where the gap is so long that the next spell can be folded by itself."""
    spell: list[Rain] = []
    for time_us, amount in rain:
        if amount == 0:
            continue
        if spell and time_us - spell[-1].time_us >= rule.memory_us:
            yield spell
            spell = []
        spell.append(Rain(time_us, amount))
    if spell:
        yield spell


def oracle_cautious(rain: list[Rain], asked: StormRule) -> list[tuple[int, str]]:
    """The definition read out: every sum made anew from all rain, storms with a duty left out of the windows."""
    storms: list[list[Rain]] = []
    opened: set[int] = set()
    found = []
    for reading in (each for each in rain if each.amount):
        if not storms or reading.time_us - storms[-1][-1].time_us >= asked.mit_us:
            storms.append([])
        storms[-1].append(reading)
        current = len(storms) - 1
        if current in opened:
            continue
        counted = [each for n, storm in enumerate(storms) if n not in opened for each in storm]
        day = localtime.day_of(reading.time_us, NEW_YORK)
        sums = {
            "event": sum(each.amount for each in storms[-1]),
            "rolling24h": sum(each.amount for each in counted if each.time_us > reading.time_us - 24 * HOUR_US),
            "day": sum(each.amount for each in counted if localtime.day_of(each.time_us, NEW_YORK) == day),
        }
        reached = [name for name, total in sums.items() if total >= asked.depth]
        if reached:
            opened.add(current)
            found.append((reading.time_us, reached[0]))
    return found


@given(_RAIN)
def test_cautious_triggers_are_those_of_the_definition(gaps: list[tuple[int, int]]) -> None:
    rain, asked = laid_out(gaps), rule()
    found: list[tuple[int, str]] = [(each.time_us, each.reading) for each in fold(rain, asked).triggers]
    assert found == oracle_cautious(rain, asked)


@given(_RAIN, st.sampled_from(WINDOWS))
def test_storms_hold_all_rain_once_and_lie_apart(gaps: list[tuple[int, int]], window: Window) -> None:
    rain, asked = laid_out(gaps), rule(window=window)
    storms = fold(rain, asked).storms
    assert sum(storm.amount for storm in storms) == sum(each.amount for each in rain)
    for before, after in itertools.pairwise(storms):
        assert after.start_us - before.end_us >= asked.mit_us
    for storm in storms:
        assert (storm.reached_us is not None) == (storm.amount >= asked.depth)


@given(_RAIN, st.sampled_from(WINDOWS), st.sampled_from([0, MINUTE_US]))
def test_wet_spells_folded_by_themselves_give_what_the_whole_gives(
    gaps: list[tuple[int, int]], window: Window, interval_us: int
) -> None:
    rain, asked = laid_out(gaps), rule(window=window, interval_us=interval_us)
    parts = [fold(spell, asked) for spell in wet_spells(rain, asked)]
    assert [storm for part in parts for storm in part.storms] == fold(rain, asked).storms
    assert [trigger for part in parts for trigger in part.triggers] == fold(rain, asked).triggers


@given(_RAIN, st.integers(2, 7))
def test_finer_quantum_changes_nothing(gaps: list[tuple[int, int]], finer: int) -> None:
    rain, asked = laid_out(gaps), rule()
    split = [Rain(each.time_us, each.amount * finer) for each in rain]

    def when(triggers: list[Trigger]) -> list[tuple[int, str]]:
        return [(trigger.time_us, trigger.reading) for trigger in triggers]

    fine = fold(split, replace(asked, depth=asked.depth * finer))
    assert when(fine.triggers) == when(fold(rain, asked).triggers)


# ---- cost


def test_cost_of_a_reading_does_not_grow_with_history() -> None:
    once = series(*((n / 60, n % 7) for n in range(3000)))
    ten_times = [Rain(each.time_us + n * 60 * HOUR_US, each.amount) for n in range(10) for each in once]
    short = lines_run(lambda: fold(once, rule()), "hydrology/storms.py")
    long = lines_run(lambda: fold(ten_times, rule()), "hydrology/storms.py")
    assert long <= 10.1 * short
    assert long / len(ten_times) < 60
