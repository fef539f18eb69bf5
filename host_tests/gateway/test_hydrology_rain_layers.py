"""Layers over a gauge's rain: undercatch, several gauges, dry time, and what makes it doubtful."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from headwall.errors import InputError
from headwall.hydrology.gauges import (
    Dry,
    Rained,
    backed_up,
    clipped,
    compare,
    dry_before,
    merged,
    rain_within,
    silent_both,
)
from headwall.hydrology.rain_doubt import (
    Winter,
    even_tail,
    frozen,
    level_rises,
    neighbours_have_rain,
    saturated,
)
from headwall.hydrology.storms import HOUR_US, StormRule, fold
from headwall.hydrology.undercatch import FASTEST_US, LOST_US, PARTS, corrected, depth_of
from headwall.law import localtime
from headwall.units import Depth, parse_depth, quanta_to_reach
from hypothesis import given
from hypothesis import strategies as st

TIP = parse_depth("0.01 in")
MINUTE_US = 60_000_000
_RAIN = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 5)), max_size=40)


def steady(mm_h: float, tips: int) -> list[tuple[int, int]]:
    interval_us = round(float(TIP.mm) / mm_h * 3.6e9)
    return [(n * interval_us, 1) for n in range(tips)]


def laid_out(steps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    now, rain = 0, []
    for step, amount in steps:
        now += step
        rain.append((now, amount))
    return rain


# ---- undercatch


@pytest.mark.parametrize(
    ("mm_h", "linear_percent", "measured_percent"), [(19.9, 0.979, 0.98), (175.2, 8.62, 8.78), (100.0, 4.92, None)]
)
def test_share_that_is_missed_is_that_of_the_published_experiments(
    mm_h: float, linear_percent: float, measured_percent: float | None
) -> None:
    (one,) = {each.parts for each in corrected(steady(mm_h, 50))[1:]}
    missed_percent = (1 - PARTS / one) * 100
    assert missed_percent == pytest.approx(linear_percent, abs=0.005)
    if measured_percent is not None:
        assert missed_percent == pytest.approx(measured_percent, abs=0.17)


def test_first_tip_and_tips_far_apart_stand_for_themselves() -> None:
    found = corrected([(0, 1), (6 * HOUR_US, 1)])
    assert found[0].parts == PARTS
    assert PARTS <= found[1].parts <= PARTS * 1.0001


def test_tips_faster_than_were_measured_are_a_lower_bound_and_say_so() -> None:
    at_the_end, beyond = corrected([(0, 1), (FASTEST_US, 1)]), corrected([(0, 1), (FASTEST_US - 1, 1)])
    assert (at_the_end[1].at_least, beyond[1].at_least) == (False, True)
    assert beyond[1].parts == at_the_end[1].parts
    assert corrected([(0, 1), (LOST_US, 1)])[1].parts == at_the_end[1].parts


def test_tips_of_one_instant_fell_together_in_the_time_before() -> None:
    together = corrected([(0, 1), (20_000_000, 1), (20_000_000, 1)])
    assert together[1].parts // 2 == corrected([(0, 1), (10_000_000, 1)])[1].parts


def test_interval_total_is_spread_over_its_interval() -> None:
    (total,) = corrected([(MINUTE_US, 6)], interval_us=MINUTE_US)
    assert total.parts // 6 == corrected([(0, 1), (10_000_000, 1)])[1].parts


@given(_RAIN, st.sampled_from([0, MINUTE_US]))
def test_correction_never_goes_downward_and_leaves_raw_rain_alone(
    steps: list[tuple[int, int]], interval_us: int
) -> None:
    rain = laid_out(steps)
    before = list(rain)
    found = corrected(rain, interval_us=interval_us)
    assert rain == before
    sums: dict[int, int] = {}
    for time_us, amount in rain:
        sums[time_us] = sums.get(time_us, 0) + amount
    assert {each.time_us for each in found} == {time_us for time_us, amount in sums.items() if amount}
    assert all(each.parts >= sums[each.time_us] * PARTS for each in found)


def test_without_a_loss_corrected_rain_is_raw_rain() -> None:
    assert [each.parts for each in corrected(steady(150, 20), lost_us=0)] == [PARTS] * 20


def test_trigger_can_be_judged_on_corrected_rain_as_on_raw() -> None:
    """49 tips at 100 mm/h are 0.49 in; with what the bucket missed more than 0.5 in fell."""
    zone = localtime.zone("America/New_York")

    def bounds(instant_us: int) -> tuple[int, int]:
        return localtime.day_bounds(instant_us, zone)

    half_inch, rain = parse_depth("0.5 in"), steady(100, 49)
    parts = [(each.time_us, each.parts) for each in corrected(rain)]
    raw_rule = StormRule(quanta_to_reach(half_inch, TIP), bounds)
    parts_rule = StormRule(quanta_to_reach(half_inch, depth_of(1, TIP)), bounds)
    assert fold(rain, raw_rule).triggers == []
    (trigger,) = fold(parts, parts_rule).triggers
    assert depth_of(trigger.amount, TIP) >= half_inch


def test_bucket_that_loses_more_than_its_interval_is_refused() -> None:
    with pytest.raises(InputError, match="longer than the loss"):
        corrected([], lost_us=500_000, fastest_us=500_000)


# ---- dry time, several gauges


def test_dry_period_begins_with_the_last_rain() -> None:
    assert dry_before([(5, 1), (9, 0), (20, 1)], [], 20, 0) == Dry(15, True)


def test_dry_period_after_a_gap_is_known_from_its_end_only() -> None:
    assert dry_before([(5, 1)], [(10, 30)], 100, 0) == Dry(70, False)
    assert dry_before([(5, 1), (40, 2)], [(10, 30)], 100, 0) == Dry(60, True)


def test_gap_that_goes_on_leaves_no_dry_period() -> None:
    assert dry_before([(5, 1)], [(10, 300)], 100, 0) == Dry(0, False)


def test_record_without_rain_is_dry_only_since_it_began() -> None:
    assert dry_before([], [], 100, 40) == Dry(60, False)
    assert dry_before([(10, 5)], [], 100, 40) == Dry(60, False)


def test_rain_at_the_start_of_the_record_ends_a_dry_period_too() -> None:
    assert dry_before([(40, 1), (39, 1)], [], 100, 40) == Dry(60, True)


def test_rain_within_a_window_leaves_out_its_start_and_says_what_was_not_seen() -> None:
    rain = [(10, 1), (11, 2), (20, 4), (21, 8)]
    assert rain_within(rain, [(0, 12), (11, 14), (19, 30)], 10, 20) == Rained(6, 5)


def test_backup_fills_the_gaps_of_the_primary_and_nothing_else() -> None:
    primary = [(10, 1), (20, 1), (40, 1)]
    backup = [(11, 2), (20, 2), (21, 2), (39, 2), (40, 2)]
    assert backed_up([(primary, [(21, 40)]), (backup, [])]) == [
        (0, (10, 1)),
        (0, (20, 1)),
        (1, (21, 2)),
        (1, (39, 2)),
        (0, (40, 1)),
    ]


def test_second_backup_speaks_where_neither_of_those_before_it_does() -> None:
    every = [(at, 1) for at in range(0, 50, 10)]
    heard = backed_up([(every, [(10, 35)]), (every, [(20, 30)]), (every, [(0, 5)])])
    assert heard == [(0, (0, 1)), (1, (10, 1)), (2, (20, 1)), (1, (30, 1)), (0, (40, 1))]


def test_reading_in_a_gap_of_its_own_gauge_does_not_count() -> None:
    assert backed_up([([(10, 1), (20, 1)], [(15, 25)]), ([], [])]) == [(0, (10, 1))]


def test_silence_of_both_gauges_stays_a_gap() -> None:
    assert silent_both([(0, 10), (20, 30)], [(5, 22), (28, 50)]) == [(5, 10), (20, 22), (28, 30)]


def test_gauges_of_different_tips_agree_within_the_share() -> None:
    inch, metric = [(n, 1) for n in range(1, 101)], [(n, 1) for n in range(1, 118)]
    two_tips = TIP * 2
    found = compare(
        (inch, TIP, []), (metric, parse_depth("0.2 mm"), []), (0, 200), share=Fraction(1, 10), at_least=two_tips
    )
    assert (found.verdict, found.primary.text_mm, found.backup.text_mm) == ("agree", "25.4", "23.4")
    apart = compare(
        (inch, TIP, []), (metric[:100], parse_depth("0.2 mm"), []), (0, 200), share=Fraction(1, 10), at_least=two_tips
    )
    assert apart.verdict == "disagree"


@pytest.mark.parametrize(("tips", "verdict"), [(2, "agree"), (3, "disagree")])
def test_gauges_disagree_by_more_than_a_few_tips_only(tips: int, verdict: str) -> None:
    rain = [(n + 1, 1) for n in range(tips)]
    found = compare((rain, TIP, []), ([], TIP, []), (0, 10), share=Fraction(1, 10), at_least=TIP * 2)
    assert found.verdict == verdict


def test_gauges_are_compared_over_time_in_which_both_spoke() -> None:
    rain = [(10, 20), (60, 5)]
    found = compare((rain, TIP, []), ([(60, 5)], TIP, [(0, 40)]), (0, 100), share=Fraction(1, 10), at_least=TIP)
    assert found == ("agree", TIP * 5, TIP * 5, 60)
    blind = compare((rain, TIP, []), ([(60, 5)], TIP, [(0, 51)]), (0, 100), share=Fraction(1, 10), at_least=TIP)
    assert blind.verdict == "unknown"


def test_gauges_are_compared_from_after_the_start_to_the_end() -> None:
    rain = [(100, 9), (101, 1), (200, 1), (201, 9)]
    found = compare((rain, TIP, []), ([], TIP, [(90, 150)]), (100, 200), share=Fraction(1, 10), at_least=TIP * 2)
    assert found == ("agree", TIP, TIP * 0, 50)
    assert compare((rain, TIP, []), ([], TIP, []), (100, 200), share=Fraction(0), at_least=TIP).primary == TIP * 2


def test_share_of_the_greater_depth_is_exceeded_and_not_reached_by_disagreement() -> None:
    one, other = [(n, 1) for n in range(1, 101)], [(n, 1) for n in range(1, 91)]
    found = compare((one, TIP, []), (other, TIP, []), (0, 200), share=Fraction(1, 10), at_least=TIP)
    assert found.verdict == "agree"
    found = compare((other[1:], TIP, []), (one, TIP, []), (0, 200), share=Fraction(1, 10), at_least=TIP)
    assert found.verdict == "disagree"


def test_spans_that_touch_are_one_and_empty_ones_none() -> None:
    assert merged([(5, 9), (0, 5), (12, 12), (20, 14)]) == [(0, 9)]


_SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


@given(_SPANS, st.integers(0, 60), st.integers(0, 60))
def test_spans_keep_their_time_when_merged_and_clipped(spans: list[tuple[int, int]], start: int, end: int) -> None:
    def covered(of: list[tuple[int, int]]) -> set[int]:
        return {second for a, b in of for second in range(a, b)}

    assert covered(merged(spans)) == covered(spans)
    assert covered(clipped(spans, start, end)) == covered(spans) & set(range(start, end))
    apart = merged(spans)
    assert all(before[1] < after[0] for before, after in pairwise(apart))


# ---- doubt


def test_unheated_gauge_below_two_degrees_is_doubted() -> None:
    found = frozen(HOUR_US, [(HOUR_US - MINUTE_US, 1.9), (0, 8.0)], Winter())
    assert found is not None
    assert (found.kind, found.evidence["temperature_c"]) == ("frozen", 1.9)
    assert frozen(HOUR_US, [(HOUR_US, 2.0)], Winter()) is None
    assert frozen(HOUR_US, [(HOUR_US, -9.0)], Winter(), heated=True) is None


def test_rain_after_frost_may_be_snow_that_melts() -> None:
    temperatures = [(0, -3.0), (10 * HOUR_US, 4.0)]
    found = frozen(10 * HOUR_US, temperatures, Winter())
    assert found is not None
    assert (found.kind, found.start_us, found.evidence["cold_c"]) == ("melt", 0, -3.0)
    assert frozen(30 * HOUR_US, [(0, -3.0), (30 * HOUR_US, 4.0)], Winter()) is None


def test_temperature_and_frost_count_to_the_end_of_their_times() -> None:
    found = frozen(10 * HOUR_US, [(9 * HOUR_US, 1.0)], Winter())
    assert found is not None and found.kind == "frozen"
    found = frozen(10 * HOUR_US, [(9 * HOUR_US - 1, 1.0)], Winter())
    assert found is not None and found.kind == "no_temperature"
    found = frozen(24 * HOUR_US, [(0, 1.0), (24 * HOUR_US, 5.0)], Winter())
    assert found is not None and found.kind == "melt"
    assert frozen(24 * HOUR_US, [(-1, 1.0), (24 * HOUR_US, 5.0)], Winter()) is None
    later_frost = [(24 * HOUR_US, 5.0), (24 * HOUR_US + 1, 1.0)]
    assert frozen(24 * HOUR_US, later_frost, Winter()) is None


def test_gauge_without_a_temperature_is_not_taken_for_sound() -> None:
    found = frozen(10 * HOUR_US, [(0, 20.0)], Winter())
    assert found is not None and found.kind == "no_temperature"


def test_gauge_that_shows_nothing_while_a_neighbour_has_rain_is_doubted() -> None:
    five, none = parse_depth("5 mm"), Depth(Fraction(0))
    found = neighbours_have_rain(none, {"b": five, "c": TIP}, (0, 9), at_least=parse_depth("2 mm"))
    assert found is not None and found.evidence == {"b_mm": 5.0}
    assert neighbours_have_rain(TIP, {"b": five}, (0, 9), at_least=parse_depth("2 mm")) is None
    assert neighbours_have_rain(none, {"b": five}, (0, 9), at_least=parse_depth("2 mm"), of_them=2) is None
    assert neighbours_have_rain(none, {"b": five}, (0, 9), at_least=five) is not None
    assert neighbours_have_rain(none, {}, (0, 9), at_least=parse_depth("2 mm")) is None


def test_gauge_that_shows_nothing_while_the_stage_rises_is_doubted() -> None:
    none, levels = Depth(Fraction(0)), [(0, 0.5), (1, 0.1), (2, 0.4), (3, 0.2)]
    found = level_rises(none, levels, (0, 9), at_least_m=0.3)
    assert found is not None and found.evidence["rise_m"] == pytest.approx(0.3)
    assert level_rises(none, levels, (0, 9), at_least_m=0.31) is None
    assert level_rises(TIP, levels, (0, 9), at_least_m=0.3) is None
    assert level_rises(none, [(0, 0.5), (1, 0.1)], (0, 9), at_least_m=0.3) is None
    assert level_rises(none, [(-1, 0.0), (0, 0.1), (9, 0.4), (10, 5.0)], (0, 9), at_least_m=0.4) is None
    ends = level_rises(none, [(0, 0.1), (9, 0.4)], (0, 9), at_least_m=0.3)
    assert ends is not None


def test_tail_of_a_clogged_funnel_is_doubted_also_when_it_slows_down() -> None:
    draining, now = [0], 0
    for n in range(20):
        now += round(400e6 * 1.08**n)
        draining.append(now)
    found = even_tail(draining)
    assert found is not None and (found.start_us, found.end_us) == (draining[-11], draining[-1])


def test_even_tail_may_tremble_and_not_sway() -> None:
    random, now, trembling = Random(4), 0, [0]
    for _ in range(12):
        now += round(600e6 * random.uniform(0.95, 1.05))
        trembling.append(now)
    assert even_tail(trembling) is not None
    swaying = [n * 600_000_000 + (n % 2) * 200_000_000 for n in range(13)]
    assert even_tail(swaying) is None


def test_rain_has_no_even_tail() -> None:
    for seed in range(200):
        random, now, times = Random(seed), 0.0, []
        for _ in range(30):
            now += random.expovariate(1 / 600e6)
            times.append(round(now))
        assert even_tail(times) is None


def test_even_rain_of_some_strength_and_a_short_storm_are_no_tail() -> None:
    assert even_tail([n * 60_000_000 for n in range(30)]) is None
    assert even_tail([n * 600_000_000 for n in range(10)]) is None
    assert even_tail([n * 600_000_000 for n in range(11)]) is not None
    assert even_tail([]) is None


def test_totals_at_the_counters_end_are_one_suspicion_a_run() -> None:
    amounts = [(0, 3), (1, 255), (2, 255), (3, 254), (4, 255)]
    found = saturated(amounts, ceiling=255)
    assert [(each.start_us, each.end_us) for each in found] == [(1, 2), (4, 4)]
