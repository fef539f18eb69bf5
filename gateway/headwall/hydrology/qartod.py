"""Quality flags of readings by the tests of QARTOD, with settings per quantity; the value itself is never touched.

Flags (UNESCO/IOC Manuals and Guides 54, 2013, as the QARTOD manuals of U.S. IOOS take them over): 1 pass, 2 not
evaluated, 3 suspect, 4 fail, 9 missing. Each test flags each reading; `aggregate` takes the worst, 4 > 3 > 1 > 2 > 9,
and names the tests that found it.

The tests agree with PyPI `ioos_qc`, but for this: a reading that a test cannot judge (the first of a series, one after
a null, one whose window is not full yet, a lone value among nulls) is 2 here. `ioos_qc` passes it in the tests of
rate, flat line and gap, calls a lone value among nulls flat, and lets the first reading inherit the second's gap.
It counts a flat line's length in median intervals; here it is elapsed time, so that a gap is not a flat line.

Times are µs and rise; values are in the quantity's SI unit, None where a reading is null; NaN and infinities are nulls
(as in `ioos_qc`). Thresholds are exceeded, not
reached, by what they flag.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from math import isfinite
from typing import Final, NamedTuple

import msgspec

from headwall.errors import InputError

PASS: Final = 1
NOT_EVALUATED: Final = 2
SUSPECT: Final = 3
FAIL: Final = 4
MISSING: Final = 9
WORST_FIRST: Final = (FAIL, SUSPECT, PASS, NOT_EVALUATED, MISSING)

_US: Final = 1_000_000
Values = Sequence[float | None]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of qartod.toml; a misspelt key is refused."""


class GrossRange(_Table, frozen=True, kw_only=True):
    """Spans, ends included: outside `fail` no sensor or water can be, outside `suspect` hardly."""

    fail: tuple[float, float]
    suspect: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        low, high = self.suspect or self.fail
        if not self.fail[0] <= low < high <= self.fail[1]:
            raise ValueError(f"gross range: suspect {self.suspect} must rise and lie within fail {self.fail}")


class Thresholds(_Table, frozen=True, kw_only=True):
    """What is exceeded by a suspect reading and by a failed one; None: the test never says so."""

    suspect: float | None = None
    fail: float | None = None

    def flag(self, amount: float) -> int:
        if self.fail is not None and amount > self.fail:
            return FAIL
        return SUSPECT if self.suspect is not None and amount > self.suspect else PASS


class FlatLine(_Table, frozen=True, kw_only=True):
    """Seconds within which readings that stay closer together than `tolerance` are suspect, or fail."""

    tolerance: float
    suspect_s: float
    fail_s: float | None = None


class Stuck(_Table, frozen=True, kw_only=True):
    """So many readings in a row of the very same value are suspect, or fail."""

    suspect: int
    fail: int | None = None


class Neighbour(Thresholds, frozen=True, kw_only=True):
    """Difference to the nearest reading of a neighbour, not further than `within_s` away."""

    within_s: float


class Settings(_Table, frozen=True, kw_only=True):
    """The tests of one quantity; None where a test does not suit it.

    Attributes:
        gross_range, spike, neighbour: in the quantity's unit.
        rate_of_change: in the unit per second.
        gap: seconds since the reading before.
    """

    why: str = ""
    gross_range: GrossRange | None = None
    spike: Thresholds | None = None
    rate_of_change: Thresholds | None = None
    flat_line: FlatLine | None = None
    stuck: Stuck | None = None
    gap: Thresholds | None = None
    neighbour: Neighbour | None = None


class Verdict(NamedTuple):
    """The aggregate flag of a reading and, where it is 3 or 4, the tests that gave a 3 or 4, worst first."""

    flag: int
    reasons: tuple[str, ...] = ()


# ---- the tests


def _known(values: Values) -> Values:
    return [value if value is not None and isfinite(value) else None for value in values]


def gross_range(values: Values, limits: GrossRange) -> list[int]:
    """Fail outside the one span, suspect outside the other."""
    fail, suspect = limits.fail, limits.suspect or limits.fail

    def flag(value: float | None) -> int:
        if value is None:
            return MISSING
        if not fail[0] <= value <= fail[1]:
            return FAIL
        return PASS if suspect[0] <= value <= suspect[1] else SUSPECT

    return [flag(value) for value in _known(values)]


def spike(values: Values, limits: Thresholds) -> list[int]:
    """Distance from the mean of the readings before and after; those at both ends have none (2)."""
    values = _known(values)
    flags = [MISSING if value is None else NOT_EVALUATED for value in values]
    for n in range(1, len(values) - 1):
        before, value, after = values[n - 1 : n + 2]
        if before is not None and value is not None and after is not None:
            flags[n] = limits.flag(abs(value - (before + after) / 2))
    return flags


def rate_of_change(times_us: Sequence[int], values: Values, limits: Thresholds) -> list[int]:
    """Change since the reading before, per second; none after a null or at the same instant (2)."""
    values = _known(values)
    flags = [MISSING if value is None else NOT_EVALUATED for value in values]
    for n, ((before_us, before), (time_us, value)) in enumerate(pairwise(zip(times_us, values, strict=True)), 1):
        if before is not None and value is not None and time_us > before_us:
            flags[n] = limits.flag(abs((value - before) / ((time_us - before_us) / _US)))
    return flags


def flat_line(times_us: Sequence[int], values: Values, limits: FlatLine) -> list[int]:
    """Whether all readings of the seconds before (nulls left out) lie within less than the tolerance of each other.

    Not evaluated before the series is so long, nor where fewer than two readings lie in the window. Costs a constant
    time per reading.
    """
    values = _known(values)
    suspect = _flat(times_us, values, limits.suspect_s, limits.tolerance)
    fail = suspect if limits.fail_s is None else _flat(times_us, values, limits.fail_s, limits.tolerance)

    def flag(value: float | None, suspected: bool | None, failed: bool | None) -> int:
        if value is None:
            return MISSING
        if failed and limits.fail_s is not None:
            return FAIL
        return NOT_EVALUATED if suspected is None else SUSPECT if suspected else PASS

    return [flag(*each) for each in zip(values, suspect, fail, strict=True)]


def _flat(times_us: Sequence[int], values: Values, window_s: float, tolerance: float) -> list[bool | None]:
    """For each reading whether the window that ends at it is flat; None where that cannot be said."""
    window_us = round(window_s * _US)
    lowest: deque[tuple[int, float]] = deque()  # rising values: the head is the window's lowest
    highest: deque[tuple[int, float]] = deque()
    held: deque[int] = deque()  # readings in the window that have a value
    first = 0  # reading in the window
    found: list[bool | None] = []
    for n, value in enumerate(values):
        start_us = times_us[n] - window_us
        while times_us[first] < start_us:
            first += 1
        if value is not None:
            held.append(n)
            _keep(lowest, n, value, 1)
            _keep(highest, n, value, -1)
        while held and held[0] < first:
            held.popleft()
        for each in (lowest, highest):
            while each and each[0][0] < first:
                each.popleft()
        full = len(held) > 1 and _reaches_back(times_us, first, start_us, window_us)
        found.append(abs(highest[0][1] - lowest[0][1]) < tolerance if full else None)
    return found


def _reaches_back(times_us: Sequence[int], first: int, start_us: int, window_us: int) -> bool:
    """Whether readings reach back to the start of a window whose first one is `first`, over no gap as long as it."""
    if times_us[first] == start_us:
        return True
    return first > 0 and times_us[first] - times_us[first - 1] < window_us


def _keep(extremes: deque[tuple[int, float]], n: int, value: float, sign: int) -> None:
    while extremes and sign * extremes[-1][1] >= sign * value:
        extremes.pop()
    extremes.append((n, value))


def stuck(values: Values, limits: Stuck) -> list[int]:
    """Whether the reading is one of so many of the very same value in a row; nulls neither count nor break the row."""
    flags, run, last = [], 0, None
    for value in _known(values):
        if value is None:
            flags.append(MISSING)
            continue
        run = run + 1 if value == last else 1
        last = value
        failed = limits.fail is not None and run >= limits.fail
        flags.append(FAIL if failed else SUSPECT if run >= limits.suspect else PASS)
    return flags


def gap(times_us: Sequence[int], limits: Thresholds) -> list[int]:
    """Seconds since the reading before, null or not: the flag of the reading that ends the gap."""
    flags = [NOT_EVALUATED] * min(len(times_us), 1)
    return flags + [limits.flag((time_us - before_us) / _US) for before_us, time_us in pairwise(times_us)]


def neighbour(
    times_us: Sequence[int], values: Values, other_us: Sequence[int], others: Values, limits: Neighbour
) -> list[int]:
    """Difference to the nearest non-null reading of another sensor of the same water or air; 2 without one."""
    known = [(time_us, value) for time_us, value in zip(other_us, _known(others), strict=True) if value is not None]
    known_us = [time_us for time_us, _ in known]
    within_us = round(limits.within_s * _US)

    def flag(time_us: int, value: float | None) -> int:
        if value is None:
            return MISSING
        at = bisect_left(known_us, time_us)
        nearest = min(known[max(at - 1, 0) : at + 1], key=lambda each: abs(each[0] - time_us), default=None)
        if nearest is None or abs(nearest[0] - time_us) > within_us:
            return NOT_EVALUATED
        return limits.flag(abs(value - nearest[1]))

    return [flag(*each) for each in zip(times_us, _known(values), strict=True)]


# ---- together


def aggregate(tests: Mapping[str, Sequence[int]]) -> list[Verdict]:
    """The worst flag of each reading, over tests by name that flagged the same readings.

    Raises:
        InputError: tests of different length.
    """
    if len({len(flags) for flags in tests.values()}) > 1:
        raise InputError("tests of one series must flag the same readings; got " + _lengths(tests))
    return [_worst(dict(zip(tests, flags, strict=True))) for flags in zip(*tests.values(), strict=True)]


def _lengths(tests: Mapping[str, Sequence[int]]) -> str:
    return ", ".join(f"{name}: {len(flags)}" for name, flags in tests.items())


def _worst(flags: Mapping[str, int]) -> Verdict:
    found = sorted(flags.items(), key=lambda each: WORST_FIRST.index(each[1]))
    return Verdict(found[0][1], tuple(name for name, flag in found if flag in (SUSPECT, FAIL)))


def judge(
    settings: Settings,
    times_us: Sequence[int],
    values: Values,
    other: tuple[Sequence[int], Values] | None = None,
) -> list[Verdict]:
    """Every reading of a series under the tests that the settings name; `other`: times and values of a neighbour.

    A null is missing (9) whatever the gap before it. Without any test that applies a reading is not evaluated.
    """
    values = _known(values)
    tests = {"present": [MISSING if value is None else NOT_EVALUATED for value in values]}
    if settings.gross_range is not None:
        tests["gross_range"] = gross_range(values, settings.gross_range)
    if settings.spike is not None:
        tests["spike"] = spike(values, settings.spike)
    if settings.rate_of_change is not None:
        tests["rate_of_change"] = rate_of_change(times_us, values, settings.rate_of_change)
    if settings.flat_line is not None:
        tests["flat_line"] = flat_line(times_us, values, settings.flat_line)
    if settings.stuck is not None:
        tests["stuck"] = stuck(values, settings.stuck)
    if settings.gap is not None:
        flags = zip(values, gap(times_us, settings.gap), strict=True)
        tests["gap"] = [MISSING if value is None else flag for value, flag in flags]
    if settings.neighbour is not None and other is not None:
        tests["neighbour"] = neighbour(times_us, values, *other, settings.neighbour)
    return aggregate(tests)


@cache
def _defaults() -> dict[str, dict[str, Settings]]:
    text = resources.files("headwall.hydrology").joinpath("qartod.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, dict[str, Settings]])


def settings_for(quantity: str, place: str = "any") -> Settings:
    """The settings to start from for a quantity of the wire contract at a kind of place ("septic", "any").

    Raises:
        InputError: a quantity without settings.
    """
    found = _defaults().get(quantity)
    if found is None:
        raise InputError(f"no quality settings for {quantity!r}; qartod.toml has {', '.join(_defaults())}")
    return found.get(place, found["any"])
