"""Storm events and the moments at which a storm reaches a depth that a code asks about: exact and incremental.

Rain is a sequence of (instant in µs, amount), the amount a whole number of quanta (one tip, or the smallest step of a
file), so nothing here can round. One state serves a live gauge and a file of years: `StormState.add` costs a
constant time per reading, spread over the readings, whatever came before.

Definitions
    storm event: rain up to a dry gap, from reading to reading, of at least the minimum inter-event time (MIT). A gap
        equal to the MIT splits, as in USGS Rainmaker. A reading of 0 is no rain: it neither opens nor prolongs.
    start, end: `interval_us` before the first rain, and the last rain. The interval is that of interval totals (a total
        stamped 19:54 fell between 19:53 and 19:54); a tip falls at its instant, so its interval is 0.
    rolling 24 h: the rain in (t - 24 h, t].
    day: the rain of one local calendar day. A tip at 00:00:00 belongs to the day that begins; an interval total to
        the day in which its interval begins.

Windows (what must reach the depth)
    event       the storm's own total; once a storm.
    rolling24h  the rolling sum, each time it reaches the depth after a reading that found it below.
    day         the day's total; once a day.
    cautious    whichever of the three is first; once a storm, naming the reading ("event" where several are reached by
                the same rain). Rain of a storm that has opened a duty counts towards no other: else a drizzle hours
                after a great storm would open a second duty for rain already answered for.

Late data: rain at t cannot change what happened before t, nor after a dry gap of at least `StormRule.memory_us`
(the MIT or 25 h, the longest local day, whichever is longer): by then the storm is over, the window empty and the
day another. So only the wet spell around t has to be folded anew, from an empty state, and gives what it would have
given on time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Window = Literal["cautious", "event", "rolling24h", "day"]
ClockStart = Literal["crossing", "first", "end"]
Reading = Literal["event", "rolling24h", "day"]

HOUR_US: Final = 3_600_000_000
_ROLLING_US: Final = 24 * HOUR_US
_LONGEST_DAY_US: Final = 25 * HOUR_US  # the day on which clocks go back

#: start and end (exclusive) of the local day of an instant, in µs: `law.localtime.day_bounds` of a zone
DayBounds = Callable[[int], tuple[int, int]]


class Rain(NamedTuple):
    """An amount of rain, in quanta, at an instant."""

    time_us: int
    amount: int


@dataclass(frozen=True)
class StormRule:
    """What a provision asks of a storm, its depth in quanta of the gauge (`units.quanta_to_reach`)."""

    depth: int
    day_bounds: DayBounds
    window: Window = "cautious"
    mit_us: int = 6 * HOUR_US
    interval_us: int = 0

    @property
    def memory_us(self) -> int:
        """A dry gap at least this long makes what follows independent of what was before."""
        return max(self.mit_us, _LONGEST_DAY_US)


@dataclass
class Storm:
    """A storm event, complete or still growing."""

    start_us: int
    end_us: int  # the last rain so far
    amount: int  # quanta
    reached_us: int | None = None  # when its own total reached the depth

    def ended(self, now_us: int, rule: StormRule) -> bool:
        """Whether the MIT has passed since the last rain."""
        return now_us - self.end_us >= rule.mit_us


@dataclass(frozen=True)
class Trigger:
    """The depth was reached: when, by which reading, with what sum, in which storm."""

    time_us: int
    reading: Reading
    amount: int  # of the reading, in quanta
    storm: Storm

    def clock_start_us(self, clock: ClockStart) -> int:
        """Where the duty's clock starts. By "end" it is only the last rain so far while the storm goes on."""
        if clock == "first":
            return self.storm.start_us
        return self.storm.end_us if clock == "end" else self.time_us


class Step(NamedTuple):
    """What one reading brought about."""

    ended: Storm | None = None  # the storm before, now known to be over
    trigger: Trigger | None = None


_NOTHING: Final = Step()


class StormState:
    """Folds rain in order of time. Between two calls `storm` is the latest storm, over or not."""

    def __init__(self, rule: StormRule) -> None:
        self.rule = rule
        self.storm: Storm | None = None
        self._answered = False  # the latest storm has opened its duty
        self._window: deque[Rain] = deque()
        self._rolling = 0
        self._rolling_before = 0  # after the reading before, for re-arming
        self._day_end_us: int | None = None
        self._day = 0
        self._storm_day = 0  # the latest storm's part in _day
        self._day_answered = False

    def add(self, time_us: int, amount: int) -> Step:
        """Take the next reading; ValueError if it is older than the one before or negative."""
        if amount < 0:
            raise ValueError(f"rain of {amount} quanta at {time_us} is negative")
        if self.storm is not None and time_us < self.storm.end_us:
            raise ValueError(f"rain at {time_us} after rain at {self.storm.end_us}: fold the wet spell anew")
        if amount == 0:
            return _NOTHING
        ended = self._extend_storm(time_us, amount)
        self._roll(time_us)
        self._turn_day(time_us)
        if not (self._answered and self.rule.window == "cautious"):
            self._count(time_us, amount)
        trigger = self._judge(time_us)
        self._rolling_before = self._rolling
        return Step(ended, trigger) if ended or trigger else _NOTHING

    def _extend_storm(self, time_us: int, amount: int) -> Storm | None:
        """Add to the running storm or begin another; returns the one that ended."""
        ended, storm = None, self.storm
        if storm is None or storm.ended(time_us, self.rule):
            ended, storm = storm, Storm(time_us - self.rule.interval_us, time_us, 0)
            self.storm, self._answered, self._storm_day = storm, False, 0
        storm.end_us = time_us
        storm.amount += amount
        if storm.reached_us is None and storm.amount >= self.rule.depth:
            storm.reached_us = time_us
        return ended

    def _roll(self, time_us: int) -> None:
        while self._window and self._window[0].time_us <= time_us - _ROLLING_US:
            self._rolling -= self._window.popleft().amount
        if not self._window:  # a whole window without rain: the sum was 0 in between
            self._rolling_before = 0

    def _turn_day(self, time_us: int) -> None:
        instant_us = time_us - self.rule.interval_us
        if self._day_end_us is None or instant_us >= self._day_end_us:
            self._day_end_us = self.rule.day_bounds(instant_us)[1]
            self._day, self._storm_day, self._day_answered = 0, 0, False

    def _count(self, time_us: int, amount: int) -> None:
        self._window.append(Rain(time_us, amount))
        self._rolling += amount
        self._day += amount
        self._storm_day += amount

    def _judge(self, time_us: int) -> Trigger | None:
        window = self.rule.window
        if window == "cautious":
            return self._judge_cautiously(time_us)
        if window == "event":
            return self._judge_event(time_us)
        if window == "rolling24h":
            crossed = self._rolling_before < self.rule.depth <= self._rolling
            return self._trigger(time_us, "rolling24h") if crossed else None
        return self._judge_day(time_us)

    def _judge_cautiously(self, time_us: int) -> Trigger | None:
        readings: tuple[Reading, ...] = ("event", "rolling24h", "day")
        reached = None if self._answered else next((r for r in readings if self._sum(r) >= self.rule.depth), None)
        if reached is None:
            return None
        trigger = self._trigger(time_us, reached)
        self._set_storm_aside()
        return trigger

    def _judge_event(self, time_us: int) -> Trigger | None:
        if self._answered or self._storm.amount < self.rule.depth:
            return None
        self._answered = True
        return self._trigger(time_us, "event")

    def _judge_day(self, time_us: int) -> Trigger | None:
        if self._day_answered or self._day < self.rule.depth:
            return None
        self._day_answered = True
        return self._trigger(time_us, "day")

    def _set_storm_aside(self) -> None:
        """From now on the latest storm's rain counts towards no other."""
        self._answered = True
        first_us = self._storm.start_us + self.rule.interval_us
        while self._window and self._window[-1].time_us >= first_us:
            self._rolling -= self._window.pop().amount
        self._day -= self._storm_day
        self._storm_day = 0

    @property
    def _storm(self) -> Storm:
        assert self.storm is not None  # add() has set it
        return self.storm

    def _sum(self, reading: Reading) -> int:
        if reading == "event":
            return self._storm.amount
        return self._rolling if reading == "rolling24h" else self._day

    def _trigger(self, time_us: int, reading: Reading) -> Trigger:
        return Trigger(time_us, reading, self._sum(reading), self._storm)


class Folded(NamedTuple):
    """All storms and triggers of a series, in order of time; the last storm may still be going on."""

    storms: list[Storm]
    triggers: list[Trigger]


def fold(rain: Iterable[tuple[int, int]], rule: StormRule) -> Folded:
    """Storms and triggers of rain in order of time."""
    state, storms, triggers = StormState(rule), list[Storm](), list[Trigger]()
    for time_us, amount in rain:
        step = state.add(time_us, amount)
        if step.ended:
            storms.append(step.ended)
        if step.trigger:
            triggers.append(step.trigger)
    if state.storm:
        storms.append(state.storm)
    return Folded(storms, triggers)
