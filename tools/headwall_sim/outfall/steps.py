"""The grid of a year: 365 days in steps of five minutes, from local midnight of New York on 1 January 2026."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from headwall.clock import to_us

_LOCAL: Final = ZoneInfo("America/New_York")
_FIRST: Final = datetime(2026, 1, 1, tzinfo=_LOCAL).astimezone(UTC)

STEP_S: Final = 300
STEP_US: Final = STEP_S * 1_000_000
DAY: Final = 288  # steps
HOUR: Final = 12
STEPS: Final = 365 * DAY
START_US: Final = to_us(_FIRST)


class Local(NamedTuple):
    """Local time of every step: hour of the day with its fraction, weekday (Monday is 0)."""

    hours: list[float]
    weekdays: list[int]


@cache
def local() -> Local:
    hours: list[float] = []
    weekdays: list[int] = []
    for number in range(STEPS // HOUR):  # the clock changes only at full hours
        at = (_FIRST + timedelta(hours=number)).astimezone(_LOCAL)
        hours += [at.hour + minute / HOUR for minute in range(HOUR)]
        weekdays += [at.weekday()] * HOUR
    return Local(hours, weekdays)


def time_us(step: int) -> int:
    return START_US + step * STEP_US


def step_of(day: int, hour: float) -> int:
    """The step of a local hour of a day (1 January is 0), to within the step."""
    near = day * DAY + round(hour * HOUR)
    for shift in (0, HOUR, -HOUR):
        step = min(max(near + shift, 0), STEPS - 1)
        if abs(local().hours[step] - hour) < 0.5:
            return step
    return near  # the hour that summer time leaves out


def spread(chance: random.Random, low: float, high: float) -> float:
    """A number between two positive ones, each octave as likely as the next."""
    return float(low * (high / low) ** chance.random())


def spans(steps: Iterable[int], *, apart: int = 1) -> list[tuple[int, int]]:
    """Ascending steps as (first, one after the last); steps that are up to `apart` from the next belong together."""
    found: list[tuple[int, int]] = []
    for step in steps:
        if found and step - found[-1][1] < apart:
            found[-1] = (found[-1][0], step + 1)
        else:
            found.append((step, step + 1))
    return found


def where(values: Iterable[float], test: Callable[[float], bool]) -> list[int]:
    return [step for step, value in enumerate(values) if test(value)]
