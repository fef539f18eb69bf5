"""Times as loggers write them: ISO 8601 with or without offset, and month/day/year with 24-hour or am/pm clocks."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

DateOrder = Literal["mdy", "dmy"]

_DATE: Final = r"(?:(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})" + (
    r"|(?P<a>\d{1,2})(?P<t>[-/.])(?P<b>\d{1,2})(?P=t)(?P<c>\d{4}|\d{2}))"
)
_CLOCK: Final = r"(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<sec>\d{2})(?:[.,](?P<frac>\d{1,9}))?)?"
_REST: Final = r"(?:\s*(?P<ap>[ap])\.?m\.?)?(?:\s*(?P<off>z|(?:utc|gmt)?[+-]\d{2}(?::?\d{2})?|utc|gmt))?"
_TIMESTAMP: Final = re.compile(rf"{_DATE}(?:(?:\s*t\s*|[\s,]+){_CLOCK}{_REST})?", re.IGNORECASE | re.ASCII)
_YEARS: Final = range(1900, 2200)


class Timestamp(NamedTuple):
    """A local time as written, and the offset from UTC if that is written too."""

    wall: datetime
    offset: str | None


def parse_timestamp(text: str, order: DateOrder = "mdy") -> Timestamp | None:
    """The time in a cell, or None if it is none. A date alone is its midnight; 24:00 is the next day's."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    hour = _hour(match)
    if hour is None:
        return None
    try:
        day = datetime(*_date(match, order))
        wall = day.replace(minute=int(match["min"] or 0), second=int(match["sec"] or 0), microsecond=_micro(match))
    except ValueError:
        return None
    if day.year not in _YEARS or (hour == 24 and wall != day):
        return None
    return Timestamp(wall + timedelta(hours=hour), match["off"])


def _date(match: re.Match[str], order: DateOrder) -> tuple[int, int, int]:
    if match["y"]:
        return int(match["y"]), int(match["m"]), int(match["d"])
    first, second = int(match["a"]), int(match["b"])
    year = int(match["c"]) if len(match["c"]) == 4 else 2000 + int(match["c"])
    return (year, first, second) if order == "mdy" else (year, second, first)


def _hour(match: re.Match[str]) -> int | None:
    hour = int(match["h"] or 0)
    if match["ap"] is None:
        return hour if hour <= 24 else None
    if not 1 <= hour <= 12:
        return None
    return hour % 12 + (12 if match["ap"].lower() == "p" else 0)


def _micro(match: re.Match[str]) -> int:
    return int((match["frac"] or "0").ljust(6, "0")[:6])
