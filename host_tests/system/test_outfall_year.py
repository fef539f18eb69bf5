"""Synthetic outfall years: the same seed the same year, plausible water, a truth that fits it, and the score."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from math import fsum
from zoneinfo import ZoneInfo

import pytest
from headwall.hydrology.flow_pattern import day_pattern
from headwall_sim.outfall import HELD_OUT_SEEDS, TUNING_SEEDS
from headwall_sim.outfall.fixed_threshold import fixed_threshold
from headwall_sim.outfall.mix import Mix
from headwall_sim.outfall.natural import flow_naturally, stored_by_tide, tide_levels
from headwall_sim.outfall.score import Score, judged_steps, merge, score, window_of
from headwall_sim.outfall.site import draw_outfall
from headwall_sim.outfall.steps import DAY, HOUR, START_US, STEP_US, STEPS, local, step_of, time_us
from headwall_sim.outfall.truth import SUSPECT_CLASSES, Class, Episode, OutfallYear
from headwall_sim.outfall.weather import draw_weather
from headwall_sim.outfall.year import outfall_year

_SEEDS = (1, 7, 10, 13)  # dry and flowing, a weir and a meter, a tide, every class
_HOUR_US = HOUR * STEP_US
_YEAR = (START_US, START_US + STEPS * STEP_US)

year_of = cache(outfall_year)


def episodes(*kinds: Class) -> list[tuple[OutfallYear, Episode]]:
    found = [(year_of(seed), it) for seed in _SEEDS for it in year_of(seed).truth.episodes if it.kind in kinds]
    assert found, f"no {kinds} in the seeds {_SEEDS}: the tests on them would prove nothing"
    return found


def steps_of(episode: Episode) -> range:
    return range((episode.start_us - START_US) // STEP_US, (episode.end_us - START_US) // STEP_US)


def litres(flows_m3_s: list[float], steps: range) -> float:
    return fsum(flows_m3_s[step] for step in steps) * STEP_US / 1000


def shortened(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# the grid


def test_year_begins_at_local_midnight_and_follows_summer_time() -> None:
    assert datetime.fromtimestamp(START_US / 1e6, UTC).isoformat() == "2026-01-01T05:00:00+00:00"
    zone = ZoneInfo("America/New_York")
    for step in (0, 66 * DAY + 30, 100 * DAY + 7, 200 * DAY, 303 * DAY + 100, 364 * DAY):
        at = datetime.fromtimestamp(time_us(step) / 1e6, zone)
        assert local().hours[step] == pytest.approx(at.hour + at.minute / 60)
        assert local().weekdays[step] == at.weekday()


@pytest.mark.parametrize("day", [10, 66, 67, 180, 303, 304, 340])
def test_step_of_a_local_hour_is_at_that_hour(day: int) -> None:
    assert local().hours[step_of(day, 9.5)] == pytest.approx(9.5)


# the same seed, the same year


def test_frozen_years_have_not_changed() -> None:
    """The generator was committed before any rule: whoever changes it must say so here, and judge all rules anew."""
    found = {}
    for seed in (0, 1000):
        year = year_of(seed)
        found[seed] = (shortened(repr(year.inputs)), shortened(repr((year.truth.episodes, year.truth.states))))
    assert found == _FROZEN


def test_seeds_for_tuning_and_those_held_out_are_apart() -> None:
    assert len(TUNING_SEEDS) == len(HELD_OUT_SEEDS) == 24
    assert not set(TUNING_SEEDS) & set(HELD_OUT_SEEDS)


# weather and water


def test_rain_of_new_york_falls_in_its_storms() -> None:
    depths, storms, tipped = [], [], []
    for seed in range(12):
        weather = draw_weather(seed)
        fallen = [rain + snow for rain, snow in zip(weather.rain, weather.snow, strict=True)]
        depths.append(fsum(fallen))
        wet = merge((time_us(step), time_us(step + 1)) for step, depth in enumerate(fallen) if depth > 0)
        ends = [0, *(n for n, (a, b) in enumerate(pairwise(wet), start=1) if b[0] - a[1] >= 6 * _HOUR_US), len(wet)]
        storm_mm = [
            fsum(fallen[(wet[a][0] - START_US) // STEP_US : (wet[b - 1][1] - START_US) // STEP_US])
            for a, b in pairwise(ends)
        ]
        storms.append(sum(depth > 2.54 for depth in storm_mm))
        tipped.append(len(weather.tips) * 0.254 / fsum(fallen))
    assert 950 < fsum(depths) / 12 < 1250
    assert all(650 < depth < 1700 for depth in depths)
    assert 55 < sum(storms) / 12 < 85  # Driscoll 1989: 70
    assert all(0.75 < share <= 1.0 for share in tipped)  # undercatch, and snow that the funnel has no room for


def test_summer_rain_is_harder_than_winter_rain_and_no_hour_is_beyond_the_record() -> None:
    winter, summer = [], []
    for seed in range(8):
        rain = draw_weather(seed).rain
        hourly = [fsum(rain[step : step + HOUR]) for step in range(0, STEPS, HOUR)]
        winter.append(max(hourly[: 50 * 24]))
        summer.append(max(hourly[160 * 24 : 240 * 24]))
    assert max(summer) < 110  # the hundred-year hour near New York City is some 90 mm (from memory)
    assert fsum(summer) > 2 * fsum(winter)
    assert max(winter) < 35


def test_no_more_snow_melts_than_fell() -> None:
    weather = draw_weather(3)
    snow, melt = 0.0, 0.0
    for fallen, melted in zip(weather.snow, weather.melt, strict=True):
        snow, melt = snow + fallen, melt + melted
        assert melt <= snow + 1e-6
    assert melt > 20


@pytest.mark.parametrize("seed", [0, 2, 7])
def test_runoff_keeps_the_mass_of_the_rain(seed: int) -> None:
    outfall, weather = draw_outfall(seed), draw_weather(seed)
    catchment = outfall.catchment
    ran = fsum(flow_naturally(outfall, weather, Mix()).runoff) * STEP_US / 1e6
    most = fsum(weather.rain + weather.melt) * catchment.area_m2 * catchment.runoff_share
    assert 0.5 * most < ran < most


def test_recession_falls_for_hours_after_the_rain_ends() -> None:
    for seed in _SEEDS:
        outfall, weather = draw_outfall(seed), draw_weather(seed)
        runoff = flow_naturally(outfall, weather, Mix()).runoff
        wet = merge((time_us(step), time_us(step + 1)) for step, depth in enumerate(weather.rain) if depth > 0)
        tails = [(b[0] - a[1], (a[1] - START_US) // STEP_US) for a, b in pairwise(wet)]
        _, end = max(
            (gap, end) for gap, end in tails if runoff[end] > 1 and not any(weather.melt[end : end + 24 * HOUR])
        )
        tail = runoff[end : end + 24 * HOUR]
        assert all(later <= before for before, later in pairwise(tail))
        assert tail[HOUR] > 0.02 * tail[0]
        assert tail[-1] < 0.2 * tail[0]


def test_tide_fills_and_empties_the_pipe_and_makes_flows_negative() -> None:
    seed = next(seed for seed in TUNING_SEEDS if draw_outfall(seed).tide)
    tide = draw_outfall(seed).tide
    assert tide
    levels = tide_levels(tide, seed)
    stored = stored_by_tide(tide, levels)
    assert abs(fsum(stored)) < 0.05 * fsum(abs(flow) for flow in stored)
    assert {flow == 0 for level, flow in zip(levels, stored, strict=True) if level < -0.3} == {True}
    readings = [flow for _, flow in year_of(10).inputs.flow_m3_s if flow is not None]
    assert min(readings) < -0.0005


# truth and series agree


def test_series_lie_on_one_grid_and_most_of_them_was_read() -> None:
    for seed in _SEEDS:
        inputs = year_of(seed).inputs
        every = [
            inputs.flow_m3_s,
            inputs.temperature_c,
            inputs.conductivity_s_m,
            inputs.turbidity_ntu,
            inputs.tailwater_m,
        ]
        for series in every:
            assert series is None or [at for at, _ in series] == [time_us(step) for step in range(STEPS)]
        nulls = sum(value is None for _, value in inputs.temperature_c) / STEPS
        assert 0.0005 < nulls < 0.15
        assert inputs.tidal == (draw_outfall(seed).tide is not None)
        assert inputs.tips == sorted(inputs.tips)


def test_no_flow_is_read_out_of_the_range_of_the_meter() -> None:
    censored = 0
    for seed in _SEEDS:
        inputs = year_of(seed).inputs
        low, high = inputs.range_m3_s
        out = inputs.below_range + inputs.above_range
        steps = {at for first, last in out for at in range(first, last + 1, STEP_US)}
        censored += len(steps)
        for at, flow in inputs.flow_m3_s:
            assert flow is None if at in steps else flow is None or flow <= high + 1e-4
            assert inputs.tidal or flow is None or flow >= low - 1e-4
    assert censored > STEPS / 2


def test_some_outfalls_have_no_conductivity_or_turbidity_probe() -> None:
    probes = [draw_outfall(seed).instruments for seed in range(200)]
    assert 0.15 < sum(not it.conductivity for it in probes) / 200 < 0.35
    assert 0.2 < sum(not it.turbidity for it in probes) / 200 < 0.4
    assert all(
        (year_of(seed).inputs.turbidity_ntu is None) == (not draw_outfall(seed).instruments.turbidity)
        for seed in _SEEDS
    )


def test_illicit_water_flows_in_illicit_episodes_and_nowhere_else() -> None:
    for seed in _SEEDS:
        truth = year_of(seed).truth
        within = {step for it in truth.episodes if it.illicit for step in steps_of(it)}
        assert {step for step, flow in enumerate(truth.illicit_m3_s) if flow > 0} <= within
        for it in truth.episodes:
            assert it.illicit == (it.kind in SUSPECT_CLASSES)
            if it.illicit:
                assert litres(truth.illicit_m3_s, steps_of(it)) > 100


def test_a_discharge_raises_what_the_meter_reads_by_its_volume() -> None:
    """In a pipe that is dry before and after, the read volume is that of the pump."""
    checked = 0
    for year, it in episodes("dewatering", "unapproved_flushing"):
        steps = steps_of(it)
        natural = [year.truth.flow_m3_s[step] - year.truth.illicit_m3_s[step] for step in steps]
        read = [year.inputs.flow_m3_s[step][1] for step in steps]
        if year.inputs.tidal or max(natural) > 1e-5 or None in read:
            continue
        volume = litres(year.truth.illicit_m3_s, steps)
        assert fsum(flow or 0 for flow in read) * STEP_US / 1000 == pytest.approx(volume, rel=0.25)
        checked += 1
    assert checked


def test_illicit_episodes_of_one_outfall_keep_apart() -> None:
    for seed in _SEEDS:
        illicit = [it for it in year_of(seed).truth.episodes if it.illicit]
        for before, after in pairwise(illicit):
            apart = 12 if before.kind == after.kind == "wash_water" else 23
            assert after.start_us - before.end_us >= apart * _HOUR_US


def test_approved_water_flows_under_its_approval_and_unapproved_water_outside() -> None:
    def approved(year: OutfallYear, it: Episode, kind: str) -> bool:
        return any(a.kind == kind and a.start_us < it.end_us and it.start_us < a.end_us for a in year.inputs.approvals)

    for seed in _SEEDS:
        year = year_of(seed)
        for it in year.truth.episodes:
            kind = "dewatering" if it.kind.endswith("dewatering") else "flushing"
            if it.kind in ("approved_flushing", "approved_dewatering"):
                assert it.approved and approved(year, it, kind)
            elif it.kind in ("unapproved_flushing", "dewatering"):
                assert not it.approved and not approved(year, it, kind)


def test_sewage_has_the_rhythm_of_a_day() -> None:
    for year, it in episodes("sewage"):
        samples = [(step, year.truth.illicit_m3_s[step]) for step in steps_of(it)]
        pattern = day_pattern(samples, lambda step: int(local().hours[step]))
        night = pattern.ratio()
        assert night is not None and 0.2 < night < 0.55
        assert pattern.highest_hour in (7, 8, 9, 18, 19, 20, 21)


def test_washing_is_done_in_business_hours_and_never_on_sundays() -> None:
    for _, it in episodes("wash_water"):
        first = steps_of(it)[0]
        assert 8 <= local().hours[first] <= 16.6
        assert local().weekdays[first] < 6
        assert 10 <= (it.end_us - it.start_us) / 60e6 <= 75


def test_sprinklers_run_at_dawn_in_summer_and_are_exempt() -> None:
    for _, it in episodes("irrigation"):
        first = steps_of(it)[0]
        assert it.exempt and not it.illicit
        assert 3.4 <= local().hours[first] <= 6.6
        assert 130 <= first / DAY <= 266


def test_states_follow_rain_ground_water_and_illicit_flow() -> None:
    for seed in _SEEDS:
        truth = year_of(seed).truth
        base = draw_outfall(seed).base
        counted = Counter(truth.states)
        assert counted["wet"] and counted["recession"] and counted["suspected_discharge"]
        assert (counted["dry"] > 0) == (base == 0)
        for state, illicit in zip(truth.states, truth.illicit_m3_s, strict=True):
            assert illicit > 0 or state != "suspected_discharge"
            assert illicit == 0 or state in ("suspected_discharge", "wet", "recession")


# the score


def illicit_spans(year: OutfallYear) -> list[tuple[int, int]]:
    return [(it.start_us, it.end_us) for it in year.truth.episodes if it.illicit]


def test_perfect_answer_finds_all_and_is_never_false() -> None:
    total = Score()
    for seed in _SEEDS:
        total += score(year_of(seed), illicit_spans(year_of(seed)))
    assert {kind: total.recall(kind) for kind in SUSPECT_CLASSES} == dict.fromkeys(SUSPECT_CLASSES, 1.0)
    assert total.false_per_month == 0
    assert total.months == 12 * len(_SEEDS)


def test_empty_answer_finds_nothing_and_is_never_false() -> None:
    total = Score()
    for seed in _SEEDS:
        total += score(year_of(seed), [])
    assert {kind: total.recall(kind) for kind in SUSPECT_CLASSES} == dict.fromkeys(SUSPECT_CLASSES, 0.0)
    assert total.false_per_month == 0


@pytest.mark.parametrize("seed", _SEEDS)
def test_suspecting_everything_finds_all_and_fails_by_false_suspicions(seed: int) -> None:
    for answer in ([_YEAR], [(at, at + 23 * _HOUR_US) for at in range(*_YEAR, 24 * _HOUR_US)]):
        found = score(year_of(seed), answer)
        assert not found.missed
        assert found.false_per_month > 5


def counted(kind: Class) -> tuple[OutfallYear, Episode]:
    """An episode that is not hidden."""
    return next((year, it) for year, it in episodes(kind) if window_of(year, it, judged_steps(year)))


def test_long_discharge_is_found_in_its_first_days_only() -> None:
    year, it = counted("sewage")
    window = window_of(year, it, judged_steps(year))
    assert window is not None
    assert window[1] - it.start_us >= 7 * 24 * _HOUR_US
    late = score(year, [(window[1] + STEP_US, it.end_us)])
    in_time = score(year, [(window[1] - STEP_US, it.end_us)])
    assert (late.found["sewage"], in_time.found["sewage"]) == (0, 1)
    assert late.missed["sewage"] == in_time.missed["sewage"] + 1
    assert late.false_per_month == in_time.false_per_month == 0


def test_short_discharge_is_found_by_what_overlaps_it_and_not_by_the_hour_after() -> None:
    year, it = counted("wash_water")
    assert score(year, [(it.end_us + 2 * STEP_US, it.end_us + _HOUR_US)]).found["wash_water"] == 1
    after = score(year, [(it.end_us + 4 * STEP_US, it.end_us + _HOUR_US)])
    assert after.found["wash_water"] == 0
    assert not after.false  # near enough to be no false alarm


def test_suspicion_of_an_approved_or_exempt_flow_is_false_and_says_of_what() -> None:
    kinds: tuple[Class, ...] = ("approved_flushing", "irrigation")
    for kind in kinds:
        year, it = next(
            (year, it)
            for year, it in episodes(kind)
            if all(
                it.end_us + 2 * 24 * _HOUR_US < a or b + 2 * 24 * _HOUR_US < it.start_us for a, b in illicit_spans(year)
            )
        )
        assert score(year, [(it.start_us, it.end_us)]).false == {kind: 1}


def quiet_days(year: OutfallYear, days: int) -> int:
    """A time of so many days without any illicit discharge within two days of it."""
    length = days * 24 * _HOUR_US
    return next(
        at
        for at in range(_YEAR[0], _YEAR[1] - length, 24 * _HOUR_US)
        if all(at + length + 48 * _HOUR_US < a or b + 48 * _HOUR_US < at for a, b in illicit_spans(year))
    )


def test_flickering_suspicion_is_one_case_a_day_and_a_standing_one_counts_every_two_days() -> None:
    year = year_of(7)
    at = quiet_days(year, 8)
    flicker = [(at + hour * _HOUR_US, at + hour * _HOUR_US + STEP_US) for hour in range(0, 72, 2)]
    assert score(year, flicker).false.total() == 3
    assert score(year, [(at, at + 47 * _HOUR_US)]).false.total() == 1
    assert score(year, [(at, at + 49 * _HOUR_US)]).false.total() == 2
    assert score(year, [(at, at + 7 * 24 * _HOUR_US)]).false.total() == 4


def test_hidden_episodes_are_neither_found_nor_missed_nor_false() -> None:
    hidden = [(year, it) for year, it in episodes(*SUSPECT_CLASSES) if window_of(year, it, judged_steps(year)) is None]
    assert hidden
    year, it = hidden[0]
    found = score(year, [(it.start_us, it.end_us)])
    assert not found.found and not found.false
    assert found.hidden[it.kind] >= 1


# the rule to compare with


def test_fixed_threshold_sees_a_pump_in_dry_weather_but_not_what_was_approved() -> None:
    total, suspected = Score(), 0
    for seed in _SEEDS:
        year = year_of(seed)
        spans = fixed_threshold(year.inputs)
        suspected += len(spans)
        total += score(year, spans)
        assert all(
            end < approval.start_us or approval.end_us < start
            for start, end in spans
            for approval in year.inputs.approvals
        )
    recall = total.recall("dewatering")
    assert recall is not None and recall > 0.5
    assert total.false_per_month > 1  # tide, season and rain that has just begun: why a better rule is wanted
    assert not total.false["approved_flushing"]


def test_fixed_threshold_is_silent_for_72_hours_after_a_tenth_of_an_inch() -> None:
    inputs = year_of(13).inputs
    for start, _ in fixed_threshold(inputs):
        assert sum(start - 72 * _HOUR_US <= tip <= start for tip in inputs.tips) * inputs.tip_mm < 2.54


_FROZEN = {
    0: ("ac3f3c09db5c1ccb", "15a6fc8439af5496"),
    1000: ("6994ba7fd3cf5bc5", "0f5a910d9bc7af55"),
}
