"""The rain of one gauge in order of time, folded into storms under one provision: what is kept between steps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from fractions import Fraction

from headwall.hydrology.intensity import MINUTE_US, peak_amount, rate_mm_h, rounded_mm_h, spread
from headwall.hydrology.storms import Storm, StormRule, StormState, Trigger
from headwall.law.profile import StormNumbers, StormReport
from headwall.rules.facts import Gap, StormSummary
from headwall.rules.rain import RainReading
from headwall.units import Depth, parse_depth, quanta_to_reach

_PEAK_US = 15 * MINUTE_US


@dataclass(frozen=True)
class Numbers:
    """The numbers of a provision from one instant up to, not including, another: they judge storms begun then."""

    start_us: int
    end_us: int | None
    values: StormNumbers
    rule: StormRule  # its depth is set for a gauge's tip when a spell begins


class Peak:
    """The greatest amount in 15 minutes of one storm, kept up to date as the storm grows.

    New rain is spread back to the instant of rain before it. Only windows that reach beyond that instant change, and
    they begin less than their length before it; so only the rain from there on is looked at again.
    """

    def __init__(self) -> None:
        self._rain: list[tuple[int, int]] = []
        self._seen = 0
        self._amount: Fraction | None = None

    def add(self, time_us: int, tips: int) -> None:
        self._rain.append((time_us, tips))

    def amount(self) -> Fraction | None:
        """In tips; None for a storm shorter than 15 minutes."""
        if self._seen < len(self._rain):
            newest = peak_amount(spread(self._rain[self._first_that_matters() :]), _PEAK_US)
            self._amount = max((each for each in (self._amount, newest) if each is not None), default=None)
            self._seen = len(self._rain)
        return self._amount

    def _first_that_matters(self) -> int:
        new_us = self._rain[self._seen][0]
        before = (
            bisect_left(self._rain, new_us, key=lambda each: each[0]) - 1
        )  # rain of the same instant is spread with it
        if self._amount is None or before < 0:
            return 0
        edge_us = self._rain[before][0] - _PEAK_US
        return max(bisect_right(self._rain, edge_us, key=lambda each: each[0]) - 1, 0)


@dataclass(frozen=True)
class JudgedStorm:
    """A storm as it stands now, and what the provision makes of it.

    Attributes:
        amount, tip: what fell, in tips of so much.
        peak: the most that fell in 15 minutes of it.
        ended: the minimum inter-event time has passed without rain, and the gauge has spoken since.
        trigger: the first reading of the storm that reached the depth; None if none has.
        near: it ended below the depth, but not below the near mark, and nothing triggered.
        gaps: stretches without valid data that touch it, within the inter-event time of either side.
        imported: the rain at the crossing (without one, any of it) came by import.
    """

    start_us: int
    end_us: int
    amount: int
    tip: Depth
    peak: Peak
    ended: bool
    trigger: Trigger | None
    near: bool
    numbers: StormNumbers
    counted_from_us: int
    gaps: tuple[Gap, ...]
    imported: bool

    def summary(self) -> StormSummary:
        depth, peak = self.tip * self.amount, self.peak.amount()
        return StormSummary(
            self.start_us,
            self.end_us,
            self.ended,
            depth.text_mm,
            depth.text_in,
            None if peak is None else rounded_mm_h(rate_mm_h(peak, _PEAK_US, self.tip)),
        )


@dataclass
class _Fold:
    """Storms of one wet spell under one set of numbers."""

    numbers: Numbers
    state: StormState
    storms: list[Storm] = field(default_factory=list)
    triggers: dict[int, Trigger] = field(default_factory=dict)  # by start of the storm; its first one
    peaks: dict[int, Peak] = field(default_factory=dict)  # by start of the storm

    def add(self, time_us: int, tips: int) -> None:
        step = self.state.add(time_us, tips)
        storm = self.state.storm
        assert storm is not None  # tips > 0 always make one
        if not self.storms or self.storms[-1] is not storm:
            self.storms.append(storm)
            self.peaks[storm.start_us] = Peak()
        self.peaks[storm.start_us].add(time_us, tips)
        if step.trigger:
            self.triggers.setdefault(storm.start_us, step.trigger)


@dataclass
class _WetSpell:
    tip: Depth
    folds: list[_Fold]
    rain: list[RainReading] = field(default_factory=list)

    def add(self, reading: RainReading) -> None:
        self.rain.append(reading)
        for fold in self.folds:
            fold.add(reading.time_us, reading.tips)

    def imported(self, storm: Storm, trigger: Trigger | None) -> bool:
        """Whether the rain at the trigger, or without one any of the storm's, came by import."""
        first_us, last_us = (trigger.time_us,) * 2 if trigger else (storm.start_us, storm.end_us)
        first = bisect_left(self.rain, first_us, key=lambda reading: reading.time_us)
        last = bisect_right(self.rain, last_us, key=lambda reading: reading.time_us)
        return any(self.rain[n].imported for n in range(first, last))


class RainLine:
    """Takes valid readings in order of time; keeps the wet spell that goes on, and those not settled yet."""

    def __init__(self, provision: StormReport, numbers: list[Numbers], silent_after_us: int) -> None:
        self.provision = provision
        self.last_us: int | None = None
        self.last_tip_us: int | None = None  # of the node itself, judged or not
        self._numbers = numbers
        self._silent_after_us = silent_after_us
        self._spells: list[_WetSpell] = []
        self._gaps: list[Gap] = []
        self.memory_us = max(each.rule.memory_us for each in numbers)

    @property
    def first_us(self) -> int | None:
        """The first rain of the oldest spell kept."""
        return self._spells[0].rain[0].time_us if self._spells else None

    def add(self, reading: RainReading, tip: Depth) -> None:
        """Take the next reading; `tip` is the depth of one tip at its time."""
        if self.last_us is not None and reading.time_us - self.last_us > self._silent_after_us:
            self._gaps.append(Gap(self.last_us, reading.time_us))
        self.last_us = reading.time_us
        if reading.tips == 0:
            return
        if not reading.imported:
            self.last_tip_us = reading.time_us
        if not self._spells or reading.time_us - self._spells[-1].rain[-1].time_us >= self.memory_us:
            self._spells.append(self._begin(reading.time_us, tip))
        self._spells[-1].add(reading)

    def _begin(self, at_us: int, tip: Depth) -> _WetSpell:
        folds = []
        for numbers in self._numbers:
            if numbers.end_us is None or numbers.end_us > at_us:
                rule = numbers.rule
                depth = quanta_to_reach(parse_depth(numbers.values.depth), tip)
                folds.append(_Fold(numbers, StormState(StormRule(depth, rule.day_bounds, rule.window, rule.mit_us))))
        return _WetSpell(tip, folds)

    def settle(self) -> None:
        """Forget the spells before the last one, once they are judged."""
        del self._spells[:-1]
        if self._spells:
            oldest_us = self._spells[0].rain[0].time_us - self.memory_us
            self._gaps = [gap for gap in self._gaps if gap.end_us is None or gap.end_us >= oldest_us]

    def storms(self, silent_since_us: int | None = None) -> list[JudgedStorm]:
        """Every storm kept, in order of time. `silent_since_us`: last valid reading of a gauge that is silent now."""
        gaps = [*self._gaps, *([Gap(silent_since_us, None)] if silent_since_us is not None else [])]
        found = [
            self._judged(spell, fold, storm, gaps)
            for spell in self._spells
            for fold in spell.folds
            for storm in fold.storms
            if fold.numbers.start_us <= storm.start_us
            and (fold.numbers.end_us is None or storm.start_us < fold.numbers.end_us)
        ]
        return sorted(found, key=lambda storm: storm.start_us)

    def _judged(self, spell: _WetSpell, fold: _Fold, storm: Storm, gaps: list[Gap]) -> JudgedStorm:
        assert self.last_us is not None
        rule, trigger = fold.state.rule, fold.triggers.get(storm.start_us)
        ended = storm.ended(self.last_us, rule)
        near_tips = quanta_to_reach(parse_depth(fold.numbers.values.near), spell.tip)
        return JudgedStorm(
            storm.start_us,
            storm.end_us,
            storm.amount,
            spell.tip,
            fold.peaks[storm.start_us],
            ended,
            trigger,
            ended and trigger is None and near_tips <= storm.amount < rule.depth,
            fold.numbers.values,
            _counted_from(storm, trigger, rule),
            tuple(gap for gap in gaps if _touches(gap, storm, rule.mit_us)),
            spell.imported(storm, trigger),
        )


def _counted_from(storm: Storm, trigger: Trigger | None, rule: StormRule) -> int:
    """The earliest instant whose rain the trigger counted."""
    if trigger is None or trigger.reading == "event":
        return storm.start_us
    if trigger.reading == "day":
        return rule.day_bounds(trigger.time_us)[0]
    return trigger.time_us - 24 * 60 * MINUTE_US


def _touches(gap: Gap, storm: Storm, mit_us: int) -> bool:
    """Whether rain in the gap could have belonged to the storm."""
    begins_in_time = gap.start_us <= storm.end_us + mit_us
    return begins_in_time and (gap.end_us is None or gap.end_us >= storm.start_us - mit_us)
