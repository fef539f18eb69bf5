"""Local time and New York day counting: the one module where an instant meets a wall clock or a calendar.

Everything else keeps instants as µs UTC. Elapsed hours are counted between instants, so a duty of 24 hours lasts
24 hours also over a clock change. Days are counted as General Construction Law (GCL) § 20, § 25-a and § 30 say; the
public holidays of § 24 are data (holidays_ny.toml) that a person can edit.
"""

from __future__ import annotations

import calendar
import re
import tomllib
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import cache
from importlib.resources import files
from typing import Final
from zoneinfo import ZoneInfo

from headwall.clock import from_us, to_us
from headwall.errors import ConfigurationError, InputError
from headwall.law.holidays import HolidayRule, holiday_faults, holiday_rule

HOUR_US: Final = 3_600_000_000
_FIXED = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)


# ---- zones and wall clocks


def zone(name: str) -> tzinfo:
    """A time zone from its IANA name or a fixed offset ("America/New_York", "-06:00", "UTC-6", "UTC", "Z").

    InputError for anything else.
    """
    text = name.strip()
    if text.upper() in ("UTC", "GMT", "Z"):
        return UTC
    if match := _FIXED.fullmatch(text):
        return _fixed_zone(text, match)
    try:
        return ZoneInfo(text)
    except (ValueError, OSError, KeyError):  # KeyError: ZoneInfoNotFoundError
        raise InputError(
            f"{name!r} is not a time zone; write an IANA name such as America/New_York or an offset such as -05:00"
        ) from None


def _fixed_zone(text: str, match: re.Match[str]) -> tzinfo:
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    if offset > timedelta(hours=14) or int(match[3] or 0) > 59:
        raise InputError(f"{text!r}: no place on earth is that far from UTC; write an offset such as -05:00")
    return timezone(-offset if match[1] == "-" else offset)


def to_local(instant_us: int, where: tzinfo) -> datetime:
    """The local time of an instant, aware."""
    return from_us(instant_us).astimezone(where)


def from_local(wall: datetime, where: tzinfo) -> int:
    """The instant of a naive local time; InputError where the clocks skip it or show it twice."""
    early, late = (to_us(wall.replace(tzinfo=where, fold=fold)) for fold in (0, 1))
    if early == late:
        return early
    twice = to_local(early, where).replace(tzinfo=None) == wall
    happens = "happens twice" if twice else "does not exist"
    raise InputError(
        f"{wall:%Y-%m-%d %H:%M:%S} {happens} in {zone_name(where)}, where the clocks change; "
        f"write the offset with the time, or give the zone the device kept all year, such as -05:00"
    )


def zone_name(where: tzinfo) -> str:
    return where.key if isinstance(where, ZoneInfo) else str(where)


# ---- days


def day_of(instant_us: int, where: tzinfo) -> date:
    """The local calendar day of an instant; local midnight belongs to the day that begins."""
    return to_local(instant_us, where).date()


def hour_of(instant_us: int, where: tzinfo) -> int:
    """The local hour of the day of an instant, 0 to 23."""
    return to_local(instant_us, where).hour


def midnight_us(day: date, where: tzinfo) -> int:
    """The first instant of a local day (00:00, or where the clocks skip that, the instant they jump)."""
    return to_us(datetime(day.year, day.month, day.day, tzinfo=where))


def time_of_day_us(day: date, at: time, where: tzinfo) -> int:
    """The instant of a time on a local day; where the clocks show it twice the first, where they skip it as if not."""
    return to_us(datetime.combine(day, at, tzinfo=where))


def next_time_us(after_us: int, at: time, where: tzinfo) -> int:
    """The first instant after another at which local clocks show a time."""
    day = day_of(after_us, where)
    while (found := time_of_day_us(day, at, where)) <= after_us:
        day += timedelta(days=1)
    return found


def last_time_us(until_us: int, at: time, where: tzinfo) -> int:
    """The last instant up to another at which local clocks showed a time."""
    day = day_of(until_us, where)
    while (found := time_of_day_us(day, at, where)) > until_us:
        day -= timedelta(days=1)
    return found


def day_bounds(instant_us: int, where: tzinfo) -> tuple[int, int]:
    """First instant of the local day of an instant, and of the day after: 23, 24 or 25 hours apart."""
    day = day_of(instant_us, where)
    return midnight_us(day, where), midnight_us(day + timedelta(days=1), where)


# ---- elapsed time


def after_hours(start_us: int, hours: int) -> int:
    """The instant that many elapsed hours later, whatever the clocks on the wall did."""
    return start_us + hours * HOUR_US


# ---- New York days


@cache
def _rules() -> tuple[HolidayRule, ...]:
    source = files(__package__).joinpath("holidays_ny.toml")
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    faults = holiday_faults(data)
    if faults:
        raise ConfigurationError(str(source), faults)
    return tuple(holiday_rule(entry) for entry in data["holiday"])


@cache
def holidays(year: int) -> dict[date, str]:
    """New York's public holidays (GCL § 24) that fall in a year, with their names, moved ones where they moved to."""
    found = {}
    for each in range(year - 1, year + 1):
        for rule in _rules():
            day = rule.day(each)
            if day is not None and day.year == year:
                found[day] = rule.name
    return dict(sorted(found.items()))


def holiday(day: date) -> str | None:
    """The name of the public holiday on a day, or None."""
    return holidays(day.year).get(day)


def is_business_day(day: date) -> bool:
    """Neither Saturday, Sunday nor public holiday."""
    return day.weekday() < 5 and holiday(day) is None


def next_business_day(day: date) -> date:
    """The day itself if it is a business day, else the next that is (GCL § 25-a)."""
    while not is_business_day(day):
        day += timedelta(days=1)
    return day


def after_days(start: date, days: int, *, extend: bool = True) -> date:
    """The last day of a period of so many days, the first excluded (GCL § 20).

    A period of exactly two days skips Saturdays, Sundays and public holidays in between (§ 20). With `extend` a
    period that ends on one runs to the next business day (§ 25-a); whether that holds is for a provision to say.
    """
    if days == 2:
        return after_business_days(start, 2)
    last = start + timedelta(days=days)
    return next_business_day(last) if extend else last


def after_business_days(start: date, days: int) -> date:
    """The last of so many business days, the first day excluded; the start itself for none."""
    for _ in range(days):
        start = next_business_day(start + timedelta(days=1))
    return start


def before_business_days(end: date, days: int) -> date:
    """The day so many business days before one; `after_business_days` leads back from it to a business day."""
    for _ in range(days):
        end -= timedelta(days=1)
        while not is_business_day(end):
            end -= timedelta(days=1)
    return end


def after_months(start: date, months: int) -> date:
    """The same day of the month so many months later (GCL § 30), or the last of that month; back for less than 0."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))


# ---- how times are written


def short(instant_us: int, where: tzinfo) -> str:
    """For people: "Jun 10 15:42 EDT"."""
    local = to_local(instant_us, where)
    return f"{_MONTHS[local.month - 1]} {local.day} {local:%H:%M} {local.tzname()}"


def day_over(instant_us: int, where: tzinfo) -> int | None:
    """An instant of the day that ends at a midnight; None for another instant."""
    return instant_us - 1 if midnight_us(day_of(instant_us, where), where) == instant_us else None


def until(instant_us: int, where: tzinfo) -> str:
    """A due time for people: "Jun 11 15:42 EDT"; at a midnight "end of Jul 21"."""
    day = day_over(instant_us, where)
    return short(instant_us, where) if day is None else f"end of {' '.join(short(day, where).split(' ')[:2])}"


def iso(instant_us: int, where: tzinfo) -> str:
    """ISO 8601 with offset, to the second or finer where the instant is: "2026-06-10T15:42:00-04:00"."""
    return to_local(instant_us, where).isoformat()


_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
