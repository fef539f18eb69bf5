"""When a deadline of a code falls, under its strict and its lenient reading.

Hours are elapsed hours. Days, weeks, months and years are counted by local days as New York's General Construction Law
has it (`localtime`): the first day is left out, and a period that ends on a Saturday, Sunday or public holiday may run
on. Under the strict reading it does not where that is open, and its last day ends when the office closes; under the
lenient one it does, and the day ends at midnight. What counts is the earlier for what somebody owes and the later for
what a municipality may then do, so that the program makes nobody late and no officer premature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta, tzinfo

from headwall.law import localtime
from headwall.law.deadlines import Deadline, Start


@dataclass(frozen=True)
class Due:
    """Both readings of a deadline; None while the instant that one starts with is not known, or no number is given."""

    strict_us: int | None
    lenient_us: int | None
    taken_us: int | None  # the one that counts here


def due(deadline: Deadline, starts: Mapping[Start, int], where: tzinfo, office_closes: time) -> Due:
    """When a deadline falls.

    Args:
        starts: the instants that are known, by what they are.
        where: the municipality's time zone.
        office_closes: local; the strict end of a last day.
    """
    strict = _at(deadline.read(deadline.strict), starts, where, office_closes, strict=True)
    lenient = _at(deadline.read(deadline.lenient), starts, where, office_closes, strict=False)
    known = [each for each in (strict, lenient) if each is not None]
    if not known:
        return Due(None, None, None)
    return Due(strict, lenient, min(known) if deadline.takes == "earlier" else max(known))


def last_day(start: date, deadline: Deadline, *, extend: bool) -> date:
    """The last day of the deadline's period from a local day, or for one that holds before it, the last day to act."""
    count, back = deadline.count or 0, deadline.holds == "before"
    if deadline.unit == "business_days":
        return (localtime.before_business_days if back else localtime.after_business_days)(start, count)
    if deadline.unit in ("months", "years"):
        months = count * (12 if deadline.unit == "years" else 1)
        last = localtime.after_months(start, -months if back else months)
        return localtime.next_business_day(last) if extend and not back else last
    days = count * (7 if deadline.unit == "weeks" else 1)
    if back:
        return start - timedelta(days=days)
    if deadline.unit == "weeks":  # the rule for a period of exactly two days is none for weeks
        last = start + timedelta(days=days)
        return localtime.next_business_day(last) if extend else last
    return localtime.after_days(start, days, extend=extend)


def _at(deadline: Deadline, starts: Mapping[Start, int], where: tzinfo, closes: time, *, strict: bool) -> int | None:
    start_us = starts.get(deadline.starts)
    if start_us is None or deadline.count is None:
        return None
    if deadline.unit == "hours":
        return localtime.after_hours(start_us, -deadline.count if deadline.holds == "before" else deadline.count)
    extend = deadline.holds != "on" and deadline.extends in (("yes",) if strict else ("yes", "open"))
    last = last_day(localtime.day_of(start_us, where), deadline, extend=extend)
    if deadline.holds == "on":
        return localtime.midnight_us(last, where)
    if strict and deadline.holds != "after":
        return localtime.time_of_day_us(last, closes, where)
    return localtime.midnight_us(last + timedelta(days=1), where)
