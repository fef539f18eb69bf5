"""Public holidays as rules: a date, the nth weekday of a month, or the first weekday on or after a date."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_KEYS: Final = {"name", "month", "day", "weekday", "nth", "on_or_after", "since", "until"}


@dataclass(frozen=True)
class HolidayRule:
    """One holiday, each year from `since` to `until` (inclusive). Exactly one of `day`, `nth`, `on_or_after` is set."""

    name: str
    month: int
    day_of_month: int | None = None  # a fixed date
    weekday: int = 0  # Monday is 0; with nth or on_or_after
    nth: int | None = None  # 1 to 4, or -1 for the last
    on_or_after: int | None = None  # the first such weekday on or after this day of the month
    since: int = 1
    until: int = 9999

    def day(self, year: int) -> date | None:
        """The day in a year, or None. One on a Sunday is kept on Monday (GCL § 24); one on a Saturday stays."""
        if not self.since <= year <= self.until:
            return None
        day = self._day_by_rule(year)
        return day + timedelta(days=1) if day.weekday() == 6 else day

    def _day_by_rule(self, year: int) -> date:
        if self.day_of_month is not None:
            return date(year, self.month, self.day_of_month)
        if self.nth == -1:
            last = date(year, self.month, calendar.monthrange(year, self.month)[1])
            return last - timedelta(days=(last.weekday() - self.weekday) % 7)
        earliest = self.on_or_after if self.on_or_after is not None else 7 * ((self.nth or 1) - 1) + 1
        first = date(year, self.month, earliest)
        return first + timedelta(days=(self.weekday - first.weekday()) % 7)


def holiday_rule(entry: dict[str, Any]) -> HolidayRule:
    """A rule from its (checked) TOML table."""
    return HolidayRule(
        name=entry["name"],
        month=entry["month"],
        day_of_month=entry.get("day"),
        weekday=_WEEKDAYS.index(entry.get("weekday", "monday")),
        nth=entry.get("nth"),
        on_or_after=entry.get("on_or_after"),
        since=entry.get("since", 1),
        until=entry.get("until", 9999),
    )


def holiday_faults(data: dict[str, Any]) -> list[str]:
    """What is wrong with a list of holidays, one line a fault."""
    entries = data.get("holiday")
    if not isinstance(entries, list) or not entries:
        return ["no [[holiday]] tables: write at least one"]
    return [fault for n, entry in enumerate(entries, 1) for fault in _entry_faults(f"holiday {n}", entry)]


def _entry_faults(where: str, entry: dict[str, Any]) -> list[str]:
    faults = [
        f"{where}: unknown key {key!r}; known are {', '.join(sorted(_KEYS))}" for key in entry if key not in _KEYS
    ]
    if not isinstance(entry.get("name"), str):
        faults.append(f"{where}: name is missing")
    if sum(key in entry for key in ("day", "nth", "on_or_after")) != 1:
        faults.append(f"{where}: write exactly one of day, nth, on_or_after")
    if "day" not in entry and entry.get("weekday") not in _WEEKDAYS:
        faults.append(f"{where}: weekday must be one of {', '.join(_WEEKDAYS)}")
    for key, allowed in _RANGES.items():
        if key in entry and (type(entry[key]) is not int or entry[key] not in allowed):
            faults.append(f"{where}: {key} is {entry[key]!r}, which it cannot be")
    if "month" not in entry:
        faults.append(f"{where}: month is missing")
    if not faults and entry.get("day", 1) > calendar.monthrange(2023, entry["month"])[1]:
        faults.append(f"{where}: month {entry['month']} has no day {entry['day']} every year")
    return faults


_RANGES: Final[dict[str, range | tuple[int, ...]]] = {
    "month": range(1, 13),
    "day": range(1, 32),
    "nth": (-1, 1, 2, 3, 4),
    "on_or_after": range(1, 23),
    "since": range(1, 10000),
    "until": range(1, 10000),
}
