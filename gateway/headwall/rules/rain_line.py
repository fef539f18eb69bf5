"""The rain of a set of gauges in order of time, folded into storms under the provisions that ask for it.

What is kept between steps is what rain to come can still change, so that a reading in order costs the same however long
the storm and the history are: the state of each fold, and the storms that are not settled. Amounts are whole numbers of
a quantum in which the depth of every tip and of every measurement by hand can be told. Beside each fold runs one of the
rain corrected for what buckets miss; it decides nothing but what is near the threshold.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeVar

from headwall.hydrology.intensity import MINUTE_US, peak_amount, rate_mm_h, rounded_mm_h, spread
from headwall.hydrology.storms import Storm, StormRule, StormState, Trigger
from headwall.hydrology.undercatch import PARTS, Undercatch, depth_of
from headwall.law.profile import StormNumbers
from headwall.ledger.entries import Entry, SnowWater
from headwall.rules.facts import Disagreement, Gap, GaugePart, HandRain, StormSummary
from headwall.rules.layers import snow_depth
from headwall.rules.rain_heard import Fall, Heard
from headwall.units import Depth, parse_depth, quanta_to_reach

_PEAK_US = 15 * MINUTE_US
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a provision from one instant up to, not including, another: they judge storms begun then."""

    start_us: int
    end_us: int | None
    values: StormNumbers
    rule: StormRule  # its depth is set for the quantum of a line

    def hold(self, storm_start_us: int) -> bool:
        return self.start_us <= storm_start_us and (self.end_us is None or storm_start_us < self.end_us)


class Peak:
    """The greatest amount in 15 minutes of one storm, kept up to date as the storm grows.

    New rain is spread back to the instant of rain before it. Only windows that reach beyond that instant change, and
    they begin less than their length before it; so only the rain from there on is looked at again.
    """

    def __init__(self) -> None:
        self._rain: list[tuple[int, int]] = []
        self._seen = 0
        self._amount: Fraction | None = None

    def add(self, time_us: int, amount: int) -> None:
        self._rain.append((time_us, amount))

    def amount(self) -> Fraction | None:
        """In quanta; None for a storm shorter than 15 minutes."""
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


@dataclass
class _Part:
    """What one gauge gave to a storm."""

    first_us: int
    last_us: int
    amount: int


class _Grown:
    """A storm that is not settled, with all that is told of it."""

    def __init__(self, storm: Storm) -> None:
        self.storm = storm
        self.trigger: Trigger | None = None
        self.trigger_imported = False
        self.imported = False
        self.by_correction = False
        self.corrected = 0  # in millionths of a quantum
        self.at_least = False
        self.peak = Peak()
        self.parts: dict[int, _Part] = {}
        self.by_hand: list[tuple[int, Entry[SnowWater]]] = []
        self._catches: dict[int, Undercatch] = {}

    def add(self, fall: Fall, unit: int) -> int:
        """Take rain of the storm, its unit in quanta; returns what it stands for when corrected, in millionths."""
        self.imported |= fall.imported
        if fall.entry is not None:
            self.by_hand.append((fall.gauge, fall.entry))
            parts = unit * PARTS
        else:
            amount = unit * fall.tips
            self.peak.add(fall.time_us, amount)
            part = self.parts.setdefault(fall.gauge, _Part(fall.time_us, fall.time_us, 0))
            part.last_us, part.amount = fall.time_us, part.amount + amount
            added = self._catches.setdefault(fall.gauge, Undercatch()).add(fall.time_us, fall.tips)
            self.at_least |= added.at_least
            parts = added.parts * unit
        self.corrected += parts
        return parts


@dataclass(frozen=True)
class JudgedStorm:
    """A storm as it stands now, and what the provision makes of it.

    Attributes:
        amount, quantum: what fell, in so much.
        ended: the minimum inter-event time has passed without rain, and a gauge has spoken since.
        trigger: the first reading of the storm that reached the depth; None if none has.
        near: it ended without a trigger, but not below the near mark, or reached the depth when corrected.
        gaps: stretches without valid data that touch it, within the inter-event time of either side.
        imported: the rain at the crossing (without one, any of it) came by import.
    """

    start_us: int
    end_us: int
    amount: int
    quantum: Depth
    ended: bool
    trigger: Trigger | None
    near: bool
    numbers: StormNumbers
    gaps: tuple[Gap, ...]
    imported: bool
    by_correction: bool
    grown: _Grown = field(compare=False)
    disagreement: tuple[Disagreement, ...] = ()

    def summary(self, gauges: Sequence[str]) -> StormSummary:
        """What is told of it; `gauges`: names of the set's members, the primary first."""
        depth, peak, grown = self.quantum * self.amount, self.grown.peak.amount(), self.grown
        corrected = depth_of(grown.corrected, self.quantum)
        return StormSummary(
            self.start_us,
            self.end_us,
            self.ended,
            depth.text_mm,
            depth.text_in,
            None if peak is None else rounded_mm_h(rate_mm_h(peak, _PEAK_US, self.quantum)),
            corrected.text_mm,
            corrected.text_in,
            grown.at_least,
            self._parts(gauges),
            [_hand_rain(gauges[n], entry) for n, entry in grown.by_hand],
            list(self.disagreement),
        )

    @property
    def snow_from_us(self) -> list[int]:
        """When the snow began whose water a person measured."""
        return [entry.body.start_us for _, entry in self.grown.by_hand]

    def _parts(self, gauges: Sequence[str]) -> list[GaugePart]:
        if not set(self.grown.parts) - {0}:
            return []
        found = []
        for n, part in sorted(self.grown.parts.items()):
            depth = self.quantum * part.amount
            role = "backup" if n else "primary"
            found.append(GaugePart(gauges[n], role, part.first_us, part.last_us, depth.text_mm, depth.text_in))
        return found


def _hand_rain(gauge: str, entry: Entry[SnowWater]) -> HandRain:
    depth, body = snow_depth(entry), entry.body
    return HandRain(entry.id, entry.by, gauge, body.start_us, body.end_us, depth.text_mm, depth.text_in)


class _Fold:
    """Storms under one set of numbers."""

    def __init__(self, numbers: Numbers, quantum: Depth) -> None:
        self.numbers = numbers
        self.rule = _in_quanta(numbers, quantum)
        self.near = quanta_to_reach(parse_depth(numbers.values.near), quantum)
        self.grown: list[_Grown] = []
        self._state = StormState(self.rule)
        self._corrected = StormState(_in_quanta(numbers, depth_of(1, quantum)))
        self._newest: _Grown | None = None
        self._imported_us: int | None = None  # the newest instant with imported rain

    def add(self, fall: Fall, unit: int) -> None:
        """Take rain, its unit in quanta."""
        step = self._state.add(fall.time_us, unit * (fall.tips or 1))
        storm, newest = self._state.storm, self._newest
        assert storm is not None  # an amount above 0 always makes one
        if newest is None or newest.storm is not storm:
            newest = self._newest = _Grown(storm)
            if self.numbers.hold(storm.start_us):
                self.grown.append(newest)
        if fall.imported:
            self._imported_us = fall.time_us
        if step.trigger and newest.trigger is None:
            newest.trigger = step.trigger
        if newest.trigger is not None and newest.trigger.time_us == fall.time_us:
            newest.trigger_imported = self._imported_us == fall.time_us
        if self._corrected.add(fall.time_us, newest.add(fall, unit)).trigger:
            newest.by_correction = True

    def settle(self, heard_us: int) -> None:
        """Let go of storms that nothing in order can change any more, nor a storm beside them that it can."""
        kept, from_us = list[_Grown](), heard_us + 1
        for grown in reversed(self.grown):
            open_still = heard_us - grown.storm.end_us <= self.rule.mit_us
            if open_still or grown.storm.end_us >= from_us:
                kept.append(grown)
                from_us = min(from_us, grown.storm.start_us)
        self.grown = kept[::-1]


def _in_quanta(numbers: Numbers, quantum: Depth) -> StormRule:
    rule = numbers.rule
    depth = quanta_to_reach(parse_depth(numbers.values.depth), quantum)
    return StormRule(depth, rule.day_bounds, rule.window, rule.mit_us)


class RainLine(Generic[K]):
    """The rain around a stretch, folded; goes on with rain in order of time.

    Args:
        asked: the numbers of each provision that asks, by whatever names it.
        quantum: see `rain_heard.quantum_of`.
        heard: what the gauges have said; all of it is folded.

    Attributes:
        heard_us: the newest reading that counts; last_us: that, or the newest rain by hand.
        last_tip_us: the newest tip of the speaker itself, judged or not.
    """

    def __init__(self, asked: Mapping[K, Sequence[Numbers]], quantum: Depth, heard: Heard) -> None:
        self.quantum = quantum
        self.speaker = heard.speaker
        self.lapsed = heard.lapsed
        self.clear_us = heard.clear_us
        self.newest_us = heard.newest_us
        self.heard_us = heard.heard_us
        self.last_us = heard.heard_us
        self.last_tip_us = heard.last_tip_us
        self._gaps = heard.gaps
        self._mit_us = max(each.rule.mit_us for numbers in asked.values() for each in numbers)
        self._unit, self._ratio = quantum, Fraction(1)
        self._folds = {key: [_Fold(each, quantum) for each in numbers] for key, numbers in asked.items()}
        for fall in heard.falls:
            self.add(fall)

    def hear(self, time_us: int) -> None:
        """The gauge that counts has spoken, of rain or none."""
        self.heard_us = time_us
        self.last_us = time_us if self.last_us is None else max(time_us, self.last_us)

    def takes(self, unit: Depth) -> bool:
        """Whether rain of such tips is a whole number of quanta."""
        return self._in_quanta(unit).denominator == 1

    def add(self, fall: Fall) -> None:
        """Take rain, the next in order."""
        unit = self._in_quanta(fall.unit).numerator
        self.last_us = fall.time_us if self.last_us is None else max(fall.time_us, self.last_us)
        for folds in self._folds.values():
            for fold in folds:
                fold.add(fall, unit)

    def _in_quanta(self, unit: Depth) -> Fraction:
        if self._unit is not unit:  # one object serves a gauge until its tip changes
            self._unit, self._ratio = unit, unit.mm / self.quantum.mm
        return self._ratio

    def settle(self) -> None:
        """Keep only what rain in order can still change, once the rest is judged."""
        if self.heard_us is None:
            return
        for folds in self._folds.values():
            for fold in folds:
                fold.settle(self.heard_us)
        starts = (grown.storm.start_us for folds in self._folds.values() for fold in folds for grown in fold.grown)
        oldest_us = min(starts, default=self.heard_us) - self._mit_us
        self._gaps = [gap for gap in self._gaps if gap.end_us is None or gap.end_us >= oldest_us]

    def storms(self, key: K, *, silent: bool) -> list[JudgedStorm]:
        """The storms kept, in order of time, as one provision judges them; `silent`: the gauges are silent now."""
        gaps = [*self._gaps, *([Gap(self.heard_us, None)] if silent and self.heard_us is not None else [])]
        found = [self._judged(fold, grown, gaps) for fold in self._folds[key] for grown in fold.grown]
        return sorted(found, key=lambda storm: storm.start_us)

    def _judged(self, fold: _Fold, grown: _Grown, gaps: Iterable[Gap]) -> JudgedStorm:
        assert self.last_us is not None
        storm, rule, trigger = grown.storm, fold.rule, grown.trigger
        ended = storm.ended(self.last_us, rule)
        near = fold.near <= storm.amount < rule.depth or grown.by_correction
        return JudgedStorm(
            storm.start_us,
            storm.end_us,
            storm.amount,
            self.quantum,
            ended,
            trigger,
            ended and trigger is None and near,
            fold.numbers.values,
            tuple(gap for gap in gaps if _touches(gap, storm, rule.mit_us)),
            grown.imported if trigger is None else grown.trigger_imported,
            grown.by_correction,
            grown,
        )


def _touches(gap: Gap, storm: Storm, mit_us: int) -> bool:
    """Whether rain in the gap could have belonged to the storm."""
    begins_in_time = gap.start_us <= storm.end_us + mit_us
    return begins_in_time and (gap.end_us is None or gap.end_us >= storm.start_us - mit_us)
