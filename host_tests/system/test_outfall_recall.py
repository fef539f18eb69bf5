"""How many discharges of synthetic outfalls the dry-weather rule finds, and how often it suspects nothing at all.

`make test` runs a few of the seeds the rule was built on. HEADWALL_LONG=1 runs those that nobody looked at while it was
built; docs/decisions/0019 says what became of an earlier set. The table is printed: pytest -s
host_tests/system/test_outfall_recall.py
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from headwall.hydrology.derived import Derived
from headwall.hydrology.dry_weather import Approved, Episode, Hour, Watch, episodes, summarise
from headwall_sim.outfall.fixed_threshold import fixed_threshold
from headwall_sim.outfall.score import Score, score
from headwall_sim.outfall.steps import STEP_US
from headwall_sim.outfall.truth import SUSPECT_CLASSES, Inputs, Span
from headwall_sim.outfall.year import outfall_year
from support.long import LONG

_FEW_TUNING_SEEDS = (1, 9, 12, 20)  # every class, dry and flowing pipes, a weir, a meter and a tide
#: HELD_OUT_SEEDS were used up: a first version failed on them, and the rule was then built on them too
_FRESH_SEEDS = tuple(range(2000, 2024))
_SEEDS = _FRESH_SEEDS if LONG else _FEW_TUNING_SEEDS
_ZONE = ZoneInfo("America/New_York")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LEAST_RECALL = 0.8
_MOST_FALSE_PER_MONTH = 1.0


def hours_of(inputs: Inputs) -> list[Hour]:
    below, above = _instants(inputs.below_range), _instants(inputs.above_range)
    low, high = inputs.range_m3_s

    def flow(at: int, value: float | None) -> Derived:
        if value is not None:
            return Derived(value)
        if at in below:
            return Derived(None, "below_range", low)
        return Derived(None, "above_range", high) if at in above else Derived(None, "missing")

    flows = [(at, flow(at, value)) for at, value in inputs.flow_m3_s]
    silent = [  # the node itself: nothing of it spoke, its rain gauge neither
        (at, at + STEP_US)
        for (at, each), (_, celsius) in zip(flows, inputs.temperature_c, strict=True)
        if each.flag == "missing" and celsius is None
    ]
    return summarise(
        (flows[0][0], flows[-1][0] + STEP_US),
        flow=flows,
        temperature_c=inputs.temperature_c,
        conductivity_s_m=inputs.conductivity_s_m or (),
        turbidity_ntu=inputs.turbidity_ntu or (),
        tailwater_m=inputs.tailwater_m or (),
        air_c=inputs.air_c,
        rain=[(at, 1) for at in inputs.tips],
        rain_gaps=silent,
    )


def _instants(spans: Iterable[Span]) -> set[int]:
    return {at for first, last in spans for at in range(first, last + 1, STEP_US)}


def _hour_of(at_us: int) -> int:
    return (_EPOCH + timedelta(microseconds=at_us)).astimezone(_ZONE).hour


def suspected(inputs: Inputs) -> list[Episode]:
    watch = Watch(
        quanta_per_mm=1 / Fraction(str(inputs.tip_mm)),
        hour_of=_hour_of,
        approvals=[Approved(each.kind, each.start_us, each.end_us) for each in inputs.approvals],
    )
    return episodes(watch.add(hour) for hour in hours_of(inputs))


def table(rule: Score, plain: Score) -> str:
    lines = [f"{'class':<22}{'episodes':>9}{'hidden':>8}{'recall':>8}{'fixed threshold':>17}"]
    for kind in SUSPECT_CLASSES:
        count = rule.found[kind] + rule.missed[kind]
        lines.append(
            f"{kind:<22}{count:>9}{rule.hidden[kind]:>8}{rule.recall(kind) or 0:>8.2f}{plain.recall(kind) or 0:>17.2f}"
        )
    lines.append(
        f"{'false suspicions per outfall and month':<47}{rule.false_per_month:.2f}{plain.false_per_month:>17.2f}"
    )
    lines += [f"  mistaken: {what} {count}" for what, count in rule.false.most_common()]
    return "\n".join(lines)


@pytest.mark.timeout(3600)
def test_discharges_are_found_in_their_time_with_few_false_suspicions() -> None:
    rule, plain = Score(), Score()
    for seed in _SEEDS:
        year = outfall_year(seed)
        rule += score(year, [(each.start_us, each.end_us) for each in suspected(year.inputs)])
        plain += score(year, fixed_threshold(year.inputs))
    print(f"\n{len(_SEEDS)} outfalls, a year each\n{table(rule, plain)}")
    for kind in SUSPECT_CLASSES:
        recall = rule.recall(kind)
        assert recall is not None, f"no {kind} to find in these seeds: they prove nothing of it"
        assert recall >= _LEAST_RECALL, f"{kind}: {rule.found[kind]} found, {rule.missed[kind]} missed"
    assert rule.false_per_month <= _MOST_FALSE_PER_MONTH, rule.false
    assert rule.false_per_month < plain.false_per_month
