"""How well suspicions agree with what happened: recall per class, and false suspicions per outfall and month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import floor
from typing import Final

from headwall_sim.outfall.steps import DAY, HOUR, START_US, STEP_US, STEPS, time_us
from headwall_sim.outfall.truth import Episode, OutfallYear, Span

_DRY_STEPS: Final = 72 * HOUR
_DRY_MM: Final = 2.54
_SLACK_US: Final = 3 * STEP_US
_LEAST_STEPS: Final = 2
_IN_TIME: Final = 7 * DAY
_JUDGED_TIME: Final = 3 * DAY
_VISIBLE_SHORT: Final = 3.0
_VISIBLE_LONG: Final = 2.0
_APART_US: Final = 3_600_000_000
_NEAR_SHORT_US: Final = 6 * _APART_US
_NEAR_LONG_US: Final = 24 * _APART_US
_DAY_US: Final = 24 * _APART_US
_HELD_US: Final = 2 * _DAY_US
_MONTHS: Final = 12.0


@dataclass
class Score:
    """Suspicions held against the truth, of one year or of several added up.

    Attributes:
        found, missed: episodes to be found, by class.
        hidden: episodes that no dry-weather rule can see (below), by class: in neither of the two above.
        false: suspicions of nothing, by what they mistook for a discharge.
        months: of all outfalls together.

    Which episodes count. Dry-weather flow is judged in dry weather, so only time counts that follows 72 h with less
    than 0.1 in of rain and melt, in which the flow was read (no outage, no null, within the meter's range) and no tide
    stood in the pipe. An episode with fewer than two such steps of five minutes is hidden (one step alone looks like a
    spike), and so is one whose mean flow then is less than three standard deviations of the meter's own noise (two if
    it lasts more than a day, since noise averages out).
    Nothing else hides one: not drift, season, debris, a missing probe or a dull rule.

    When one is found. A suspicion must overlap it, to 15 min at both ends, since a filter or a step may shift it. A
    long one is found only by a suspicion in its first seven days, because an officer who hears of sewage after a month
    has been failed. Where weather or outages leave less than three days to judge in those seven, the time goes on to
    the end of the third such day: no rule can see a rhythm in the hours between two storms.

    What is false. Suspicions less than an hour apart are one. Each that comes within 6 h of no illicit episode (24 h
    of one that lasts more than a day: rules that judge by whole days must not pay for midnight) is one false
    suspicion, and one more for each two days it stands: a case that nobody can close is looked at again. What begins
    within 24 h of the beginning of a false one is the same case: a flow that flickers around a threshold is one call a
    day, not fifty. A suspicion that does meet an illicit episode costs one for each full two days it stands outside of
    all: so a rule that suspects everything finds everything and still fails by false suspicions.

    Hidden episodes are real: a suspicion of one is not false. A suspicion has no class, so episodes of different
    classes are a day or more apart: what finds one cannot find another by chance.
    """

    found: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    months: float = 0.0

    def recall(self, kind: str) -> float | None:
        """Share of the episodes of a class that were found; None where there were none to find."""
        count = self.found[kind] + self.missed[kind]
        return self.found[kind] / count if count else None

    @property
    def false_per_month(self) -> float:
        return self.false.total() / self.months if self.months else 0.0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.found + other.found,
            self.missed + other.missed,
            self.hidden + other.hidden,
            self.false + other.false,
            self.months + other.months,
        )


def score(year: OutfallYear, suspected: Sequence[Span]) -> Score:
    """See Score for what counts, and why.

    Args:
        suspected: (start, end) in µs of the times in which the rule suspects an illicit discharge.
    """
    found = Score(months=_MONTHS)
    merged = merge(suspected)
    judged = judged_steps(year)
    illicit = [episode for episode in year.truth.episodes if episode.illicit]
    for episode in illicit:
        window = window_of(year, episode, judged)
        if window is None:
            found.hidden[episode.kind] += 1
        elif any(_overlap(window, suspicion) for suspicion in merged):
            found.found[episode.kind] += 1
        else:
            found.missed[episode.kind] += 1
    near = merge(_near(episode) for episode in illicit)
    same_case_until = 0
    for suspicion in merged:
        count, met = _false(suspicion, near)
        if not met and suspicion[0] < same_case_until:
            count -= 1
        elif not met:
            same_case_until = suspicion[0] + _DAY_US
        if count:
            found.false[_mistaken(year, suspicion)] += count
    return found


def judged_steps(year: OutfallYear) -> list[bool]:
    """The steps that a dry-weather rule can judge: dry for 72 h, flow read, no tide in the pipe."""
    fallen = [0.0, *accumulate(year.truth.water_mm)]
    tide = year.inputs.tailwater_m
    found = []
    for step, (_, flow) in enumerate(year.inputs.flow_m3_s):
        dry = fallen[step + 1] - fallen[max(step + 1 - _DRY_STEPS, 0)] < _DRY_MM
        level = tide[step][1] if tide else -1.0
        found.append(dry and step >= _DRY_STEPS and flow is not None and level is not None and level <= 0)
    return found


def window_of(year: OutfallYear, episode: Episode, judged: Sequence[bool]) -> Span | None:
    """The time in which a suspicion must fall to find an episode; None for a hidden one."""
    first, end = _step(episode.start_us), _step(episode.end_us)
    last, count = first, 0
    while last < end and (last - first < _IN_TIME or count < _JUDGED_TIME):
        count += judged[last]
        last += 1
    seen = [step for step in range(first, last) if judged[step]]
    if len(seen) < _LEAST_STEPS:
        return None
    flow = sum(year.truth.illicit_m3_s[step] for step in seen)
    visible = _VISIBLE_LONG if _is_long(episode) else _VISIBLE_SHORT
    if flow < visible * sum(year.truth.noise_m3_s[step] for step in seen):
        return None
    return time_us(first) - _SLACK_US, time_us(last) + _SLACK_US


def merge(suspected: Iterable[Span]) -> list[Span]:
    """Spans in order, those less than an hour apart as one."""
    found: list[Span] = []
    for start, end in sorted(suspected):
        if found and start - found[-1][1] < _APART_US:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _step(at_us: int) -> int:
    return min(max((at_us - START_US) // STEP_US, 0), STEPS)


def _is_long(episode: Episode) -> bool:
    return episode.end_us - episode.start_us > _DAY_US


def _near(episode: Episode) -> Span:
    near = _NEAR_LONG_US if _is_long(episode) else _NEAR_SHORT_US
    return episode.start_us - near, episode.end_us + near


def _overlap(one: Span, other: Span) -> int:
    """µs that both share; 1 where one of them is an instant within the other."""
    shared = min(one[1], other[1]) - max(one[0], other[0])
    return shared if shared > 0 else int(shared == 0)


def _false(suspicion: Span, near: Sequence[Span]) -> tuple[int, bool]:
    """How many false suspicions one is, and whether it meets an illicit episode."""
    shared = [_overlap(suspicion, span) for span in near]
    outside = suspicion[1] - suspicion[0] - sum(shared)
    stands = floor(max(outside, 0) / _HELD_US)
    return (stands, True) if any(shared) else (1 + stands, False)


def _mistaken(year: OutfallYear, suspicion: Span) -> str:
    """What a false suspicion mistook for a discharge: an episode of another kind, or the state at its start."""
    for episode in year.truth.episodes:
        if not episode.illicit and _overlap(suspicion, (episode.start_us, episode.end_us)):
            return episode.kind
    step = min(_step(suspicion[0]), STEPS - 1)
    level = year.inputs.tailwater_m[step][1] if year.inputs.tailwater_m else None
    return "tide" if level is not None and level > 0 else year.truth.states[step]
