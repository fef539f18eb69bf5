"""Dry-weather flow judged hour by hour: each state and class, gaps, backwater, approvals, and a memory that ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from headwall.errors import InputError
from headwall.hydrology.derived import Derived
from headwall.hydrology.dry_weather import (
    HOUR_US,
    MEMORY_HOURS,
    Approved,
    Hour,
    Judgement,
    Settings,
    Watch,
    Water,
    episodes,
    summarise,
)
from hypothesis import given, settings
from hypothesis import strategies as st

_STEP_US = HOUR_US // 12
_BASE = 0.002
_NOISE = 0.00002
_GROUND = Water(11.0, 0.05, 5.0)
_TIP_01_IN = Fraction(1000, 254)  # tips of 0.01 in a millimetre
_QUIET = 5 * 24  # hours: then it is dry, and there is a base


def hour(at: int, flow: float | None = _BASE, high: float | None = None, **more: Any) -> Hour:
    """An hour of steady ground water unless told otherwise; its water is that of the pulse."""
    water = more.pop("water", _GROUND)
    told = {"samples": 0 if flow is None else 12, "noise_m3_s": None if flow is None else _NOISE, "water": _GROUND}
    high = flow if high is None else high
    return Hour(at * HOUR_US, **{**told, "flow_m3_s": flow, "high_m3_s": high, "high_water": water, **more})


def judge(hours: Iterable[Hour], *approvals: Approved, given: Settings | None = None) -> list[Judgement]:
    """Local time is that of the hours' numbers."""
    watch = Watch(given, quanta_per_mm=_TIP_01_IN, hour_of=lambda at: at // HOUR_US % 24, approvals=approvals)
    return [watch.add(each) for each in hours]


def last(*hours: Hour, flow: float = _BASE, approvals: Sequence[Approved] = ()) -> Judgement:
    """The judgement of the last of some hours that follow quiet ones."""
    return judge([*(hour(at, flow) for at in range(hours[0].start_us // HOUR_US)), *hours], *approvals)[-1]


# ---- hours


def flow_of(*values: float | None) -> list[tuple[int, Derived]]:
    return [(n * _STEP_US, Derived(value, None if value is not None else "missing")) for n, value in enumerate(values)]


def test_an_hour_has_the_median_flow_and_the_flow_that_two_samples_reach() -> None:
    (found,) = summarise((0, HOUR_US), flow=flow_of(*[1.0] * 5, 9.0, *[1.0] * 3, 4.0, 3.0, 1.0))
    assert (found.samples, found.flow_m3_s, found.high_m3_s) == (12, 1.0, 3.0)


def test_a_pulse_on_both_sides_of_a_full_hour_is_seen() -> None:
    one, two = summarise((0, 2 * HOUR_US), flow=flow_of(*[1.0] * 11, 4.0, 4.0, *[1.0] * 11))
    assert (one.high_m3_s, two.high_m3_s) == (1.0, 4.0)


def test_censored_flow_counts_as_what_is_certain() -> None:
    flow = [(n * _STEP_US, Derived(None, "below_range", 0.5)) for n in range(8)]
    flow += [(n * _STEP_US, Derived(None, "above_range", 7.0)) for n in range(8, 12)]
    (found,) = summarise((0, HOUR_US), flow=flow)
    assert (found.samples, found.flow_m3_s, found.high_m3_s) == (12, 0.0, 7.0)


def test_flow_that_is_missing_is_no_flow_of_nothing() -> None:
    (found,) = summarise((0, HOUR_US), flow=flow_of(*[None] * 12))
    assert (found.samples, found.flow_m3_s, found.high_m3_s) == (0, None, None)


def test_flow_under_tailwater_is_set_aside_until_the_level_has_been_low_twice() -> None:
    levels = [(n * _STEP_US, 0.2 if n < 6 else -0.1) for n in range(12)]
    (found,) = summarise((0, HOUR_US), flow=flow_of(*[5.0] * 7, *[1.0] * 5), tailwater_m=levels)
    assert (found.samples, found.flow_m3_s, found.high_m3_s) == (5, 1.0, 1.0)
    assert found.backwater_us == 7 * _STEP_US


def test_flow_is_set_aside_where_the_level_beyond_is_not_known() -> None:
    (found,) = summarise((0, HOUR_US), flow=flow_of(*[5.0] * 12), tailwater_m=[(0, None)])
    assert (found.samples, found.backwater_us) == (0, HOUR_US)


def test_backflow_without_a_second_stage_is_set_aside_and_noise_about_nothing_is_not() -> None:
    flow = flow_of(*[-0.1] * 4, *[0.1] * 8)
    (blind,) = summarise((0, HOUR_US), flow=flow)
    assert (blind.samples, blind.backwater_us) == (8, 4 * _STEP_US)
    (free,) = summarise((0, HOUR_US), flow=flow, tailwater_m=[(n * _STEP_US, -0.3) for n in range(-2, 12)])
    assert (free.samples, free.backwater_us) == (12, 0)


def test_probes_are_summed_up_for_the_hour_and_for_its_pulse() -> None:
    celsius = [(n * _STEP_US, 20.0 if n in (5, 6) else 10.0) for n in range(12)]
    (found,) = summarise((0, HOUR_US), flow=flow_of(*[1.0] * 5, 4.0, 4.0, *[1.0] * 5), temperature_c=celsius)
    assert (found.water.temperature_c, found.high_water.temperature_c) == (10.0, 20.0)
    assert found.water.conductivity_s_m is None


def test_rain_and_its_gaps_fall_into_their_hours() -> None:
    rain = [(0, 1), (HOUR_US - 1, 2), (HOUR_US, 4)]
    found = summarise((0, 2 * HOUR_US + 1), rain=rain, rain_gaps=[(HOUR_US // 2, HOUR_US + 10)])
    assert [(each.rain, each.rain_unknown_us) for each in found] == [(3, HOUR_US // 2), (4, 10)]


# ---- states


def test_steady_ground_water_is_base_flow_and_an_empty_pipe_dry() -> None:
    assert last(hour(_QUIET)).state == "base_flow"
    assert last(hour(_QUIET, 0.0), flow=0.0).state == "dry"


def test_evidence_says_how_long_it_is_known_to_be_dry() -> None:
    found = judge([*(hour(at, rain=20 if at == 9 else 0) for at in range(110))])[-1].evidence
    assert (found.hours_dry, found.hours_dry_known, found.rain, found.rain_unknown_hours) == (100, True, 0, 0)
    found = last(hour(_QUIET)).evidence
    assert (found.hours_dry, found.hours_dry_known) == (_QUIET + 1, False)


def test_a_tenth_of_an_inch_makes_72_hours_wet_or_receding_and_less_does_not() -> None:
    def states(tips: int) -> list[str]:
        rain = [*(hour(at) for at in range(_QUIET)), hour(_QUIET, rain=tips)]
        return [each.state for each in judge([*rain, *(hour(_QUIET + after) for after in range(1, 80))])][_QUIET:]

    assert states(10) == ["wet"] * 6 + ["recession"] * 66 + ["base_flow"] * 8  # 10 tips of 0.01 in: not less
    assert states(9) == ["wet"] * 6 + ["base_flow"] * 74


@pytest.mark.parametrize("flow", [_BASE, 0.05])
def test_an_hour_without_flow_data_is_not_known_whatever_the_rain(flow: float) -> None:
    assert last(hour(_QUIET, None), flow=flow).state == "not_known"
    assert last(hour(_QUIET, None, rain=5), flow=flow).state == "not_known"


def test_backwater_is_not_known() -> None:
    found = last(hour(_QUIET, None, backwater_us=HOUR_US))
    assert (found.state, found.evidence.backwater_hours) == ("not_known", 1.0)


def test_nothing_is_dry_while_the_gauge_was_silent_in_the_last_72_hours() -> None:
    def after(unknown: int, then: Hour) -> Judgement:
        gap = [hour(_QUIET + n, rain_unknown_us=HOUR_US) for n in range(unknown)]
        return last(*gap, then._replace(start_us=(_QUIET + unknown) * HOUR_US))

    assert after(1, hour(0)).state == "not_known"
    flushing = hour(0, 0.03, 0.03)
    sure = last(flushing._replace(start_us=_QUIET * HOUR_US))
    doubtful = after(30, flushing)
    assert (sure.state, doubtful.state) == ("suspected", "suspected")
    assert doubtful.confidence < sure.confidence
    assert after(40, flushing).state == "not_known"


def test_hours_left_out_are_gaps_in_rain_too() -> None:
    found = judge([*(hour(at) for at in range(_QUIET)), hour(_QUIET + 50)])[-1]
    assert (found.state, found.evidence.rain_unknown_hours) == ("not_known", 50.0)


def test_hours_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="in order"):
        judge([hour(3), hour(2)])
    with pytest.raises(InputError, match="whole hours"):
        judge([hour(3), hour(3)._replace(start_us=3 * HOUR_US + 5)])


# ---- what is suspected


@pytest.mark.parametrize(
    ("high", "water", "proposal"),
    [
        (0.03, Water(14.0, 0.03, 5.0), "flushing"),
        (0.03, Water(14.0, 0.03, 300.0), "unknown"),
        (0.003, Water(14.0, 0.03, 60.0), "wash_water"),
        (0.003, Water(18.0, None, None), "wash_water"),
        (0.003, Water(11.0, 0.05, 5.0), "unknown"),
        (0.003, Water(), "unknown"),
    ],
)
def test_a_pulse_is_suspected_with_a_class_by_its_size_and_water(high: float, water: Water, proposal: str) -> None:
    found = last(hour(_QUIET, high=high, water=water))
    assert (found.state, found.proposal, found.evidence.signs) == ("suspected", proposal, ("pulse",))


def test_a_pulse_in_a_dry_pipe_of_much_conductivity_is_proposed_as_sewage() -> None:
    dry = [hour(at, 0.0)._replace(water=Water(12.0)) for at in range(_QUIET)]
    found = judge([*dry, hour(_QUIET, 0.0, 0.0004, water=Water(18.0, 0.08, 90.0))])[-1]
    assert (found.state, found.proposal) == ("suspected", "sewage")


def test_a_pulse_no_greater_than_noise_or_a_tenth_of_the_base_is_none() -> None:
    assert last(hour(_QUIET, high=_BASE * 1.1)).state == "base_flow"
    noisy = [hour(at, noise_m3_s=0.0004) for at in range(_QUIET)]
    assert judge([*noisy, hour(_QUIET, high=_BASE + 0.0015)])[-1].state == "base_flow"


def test_a_level_that_rises_without_rain_and_stays_is_proposed_as_dewatering() -> None:
    found = last(*(hour(_QUIET + n, 0.003) for n in range(8)))
    assert (found.state, found.proposal) == ("suspected", "dewatering")
    assert found.evidence.low_m3_s == _BASE


def test_the_rhythm_of_sewage_is_proposed_as_sewage() -> None:
    shares = {**dict.fromkeys(range(24), 1.0), **dict.fromkeys(range(6), 0.4), 7: 1.7, 8: 1.7, 9: 1.6, 19: 1.6, 20: 1.6}
    found = judge(hour(at, 0.001 * shares[at % 24]) for at in range(24 * 8 + 11))[-1]
    assert (found.state, found.proposal) == ("suspected", "sewage")
    assert found.evidence.night_over_mean == pytest.approx(0.4 / (sum(shares.values()) / 24))


@given(st.lists(st.floats(0.9, 1.0), min_size=24 * 9, max_size=24 * 9), st.floats(0.0001, 0.1))
@settings(max_examples=25)
def test_flow_that_only_falls_is_never_suspected(factors: list[float], flow: float) -> None:
    hours = []
    for at, factor in enumerate(factors):
        flow *= factor
        hours.append(hour(at, flow))
    assert "suspected" not in {each.state for each in judge(hours)}


@given(st.integers(0, 23), st.floats(0.0025, 0.1), st.floats(1.0, 3.0))
@settings(max_examples=50)
def test_a_greater_pulse_is_no_less_suspected(at: int, high: float, factor: float) -> None:
    one, other = last(hour(_QUIET + at, high=high)), last(hour(_QUIET + at, high=high * factor))
    assert one.state == other.state == "suspected"
    assert one.confidence <= other.confidence <= 1


# ---- what explains it


def test_an_approved_discharge_is_not_suspected_and_named_and_other_times_are() -> None:
    approval = Approved("flushing", _QUIET * HOUR_US, _QUIET * HOUR_US + 10)
    found = last(hour(_QUIET, 0.03), approvals=[approval])
    assert (found.state, found.evidence.set_aside) == ("base_flow", "flushing")
    assert last(hour(_QUIET + 1, 0.03), approvals=[approval]).state == "base_flow"  # it runs off
    assert last(hour(_QUIET + 4, 0.03), approvals=[approval]).state == "suspected"
    assert last(hour(_QUIET - 1, 0.03), approvals=[approval]).state == "suspected"


def test_an_approved_flow_does_not_become_the_base() -> None:
    approval = Approved("dewatering", _QUIET * HOUR_US, (_QUIET + 20) * HOUR_US)
    pumped = [hour(_QUIET + n, 0.03) for n in range(20)]
    found = last(*pumped, *(hour(_QUIET + 20 + n) for n in range(4)), approvals=[approval])
    assert found.evidence.base_m3_s == _BASE


def test_rain_that_can_run_off_is_no_discharge_and_one_tip_is_no_rain() -> None:
    assert last(hour(_QUIET, 0.03, rain=2)).state == "wet"
    assert last(hour(_QUIET, 0.03, rain=1)).state == "suspected"


@pytest.mark.parametrize(
    ("air_c", "water", "state"),
    [
        (3.0, Water(6.0, 0.3, 30.0), "wet"),  # cold and salty
        (3.0, Water(14.0, 0.3, 30.0), "suspected"),  # too warm for it
        (3.0, Water(6.0, 0.03, 5.0), "suspected"),  # sudden and fresh
        (3.0, Water(), "wet"),
        (-3.0, Water(6.0, 0.3, 30.0), "suspected"),  # nothing melts
    ],
)
def test_flow_after_frost_is_taken_for_melt_water_unless_its_water_says_otherwise(
    air_c: float, water: Water, state: str
) -> None:
    frost = [hour(at, air_c=-5.0) for at in range(_QUIET)]
    found = judge([*frost, hour(_QUIET, high=0.006, air_c=air_c, water=water)])[-1]
    assert found.state == state
    assert (found.evidence.set_aside == "melt") == (state == "wet")


def test_a_surge_some_hours_after_light_rain_is_suspected_and_a_lesser_pulse_is_not() -> None:
    """Rain of two tips runs off for hours, but makes no sudden 10 L/s once it has stopped."""
    rain = [hour(_QUIET, rain=2), hour(_QUIET + 1), hour(_QUIET + 2)]
    assert last(*rain[:1], hour(_QUIET + 1, high=0.012)).state == "wet"  # it has just rained
    assert last(*rain, hour(_QUIET + 3, high=0.012)).state == "suspected"
    assert last(*rain, hour(_QUIET + 3, high=0.0069)).state == "wet"  # less than Settings.surge_m3_s above the base
    assert last(*rain, hour(_QUIET + 3, high=0.012), hour(_QUIET + 4, high=0.011)).state == "suspected"  # its 2nd hour
    risen = hour(_QUIET + 2, high=0.006)
    assert last(*rain[:2], risen, hour(_QUIET + 3, high=0.012)).state == "wet"  # not of a sudden
    wetter = [hour(_QUIET, rain=10), *rain[1:]]
    assert last(*wetter, hour(_QUIET + 3, high=0.012)).state == "wet"  # that is no light rain


def test_a_surge_is_no_melt_water_and_slow_rises_are() -> None:
    frost = [hour(at, air_c=-5.0) for at in range(_QUIET)]
    salty = Water(6.0, 0.3, 30.0)
    surge = hour(_QUIET, high=0.012, air_c=3.0, water=salty)
    assert judge([*frost, surge])[-1].state == "suspected"
    slow = [hour(_QUIET + n, high=0.002 + 0.003 * (n + 1), air_c=3.0, water=salty) for n in range(4)]
    assert {each.state for each in judge([*frost, *slow])[_QUIET:]} == {"wet"}


@pytest.mark.parametrize(("at_dawn", "state"), [(0.004, "suspected"), (0.002, "wet")])
def test_in_thaw_a_level_counts_if_it_holds_through_the_night(at_dawn: float, state: str) -> None:
    frost = [hour(at, air_c=-5.0) for at in range(_QUIET)]
    thaw = [hour(_QUIET + n, at_dawn if n % 24 in range(8) else 0.004, air_c=3.0) for n in range(40)]
    assert judge([*frost, *thaw])[-1].state == state


def test_dewatering_that_began_while_rain_ran_off_is_held_against_the_week_before_it() -> None:
    began = [hour(_QUIET, 0.01, rain=5), *(hour(_QUIET + n, 0.006) for n in range(1, 80))]
    assert last(*began).state == "suspected"
    settled = [hour(_QUIET, 0.01, rain=12), *(hour(_QUIET + n, 0.0035) for n in range(1, 90))]
    assert last(*settled).state == "base_flow"  # ground water stands higher after rain


def test_a_pulse_at_an_hour_of_timers_is_set_aside_from_the_second_day_on() -> None:
    def days(local: int) -> list[str]:
        found = judge(hour(at, high=0.003 if at % 24 == local and at >= _QUIET else None) for at in range(_QUIET + 72))
        return [each.state for each in found[_QUIET + local :: 24]]

    assert days(4) == ["suspected", "base_flow", "base_flow"]
    assert days(11) == ["suspected", "suspected", "suspected"]


# ---- memory


def noisy_weeks(seed: int, hours: int) -> list[Hour]:
    """Rain, gaps, pulses and frost at random: nothing that a judgement looks at stays the same."""
    chance = Random(seed)
    found, flow = [], _BASE
    for at in range(hours):
        flow = max(flow * chance.uniform(0.97, 1.03), 0.0)
        rain = chance.choice((1, 3, 12)) if chance.random() < 0.01 else 0
        high = flow * chance.choice((1.0, 1.0, 1.0, 1.0, 1.5, 6.0))
        gap = HOUR_US if chance.random() < 0.01 else 0
        there = None if chance.random() < 0.02 else flow
        water = Water(chance.uniform(5, 15), chance.uniform(0.03, 0.2), chance.uniform(1, 90))
        air_c = chance.uniform(-3, 10)
        found.append(hour(at, there, high if there else None, rain=rain, rain_unknown_us=gap, water=water, air_c=air_c))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_run_begun_a_memory_earlier_judges_the_same(seed: int) -> None:
    hours = noisy_weeks(seed, 3 * MEMORY_HOURS)  # the past is cut meanwhile
    whole = judge(hours)
    assert {"suspected", "wet", "recession", "not_known"} <= {each.state for each in whole}
    for begun in (1, MEMORY_HOURS // 2, 2 * MEMORY_HOURS - 30):
        assert judge(hours[begun:])[MEMORY_HOURS:] == whole[begun + MEMORY_HOURS :]


def test_what_comes_later_changes_no_judgement() -> None:
    hours = noisy_weeks(9, 1000)
    assert judge(hours[:700]) == judge(hours)[:700]


# ---- episodes


def test_suspected_hours_less_than_a_day_apart_are_one_episode_with_the_evidence_of_the_strongest() -> None:
    pulses = {0: 0.003, 5: 0.004, 40: 0.003}
    hours = [hour(_QUIET + n, high=pulses.get(n)) for n in range(45)]
    one, two = episodes(judge([*(hour(at) for at in range(_QUIET)), *hours]))
    assert (one.start_us, one.end_us, one.hours) == (_QUIET * HOUR_US, (_QUIET + 6) * HOUR_US, 2)
    assert (two.start_us, two.hours) == ((_QUIET + 40) * HOUR_US, 1)
    assert one.evidence["high_m3_s"] == 0.004
    assert one.evidence["signs"] == "pulse"
    assert "set_aside" not in one.evidence


def test_the_start_of_an_episode_stays_while_it_goes_on() -> None:
    found = judge([*(hour(at) for at in range(_QUIET)), *(hour(_QUIET + n, 0.004) for n in range(60))])
    starts = {episodes(found[:until])[0].start_us for until in range(_QUIET + 1, len(found))}
    assert starts == {_QUIET * HOUR_US}
    assert episodes(found)[0].proposal == "dewatering"


def test_nothing_suspected_has_no_episodes() -> None:
    assert episodes(judge(hour(at) for at in range(200))) == []
