"""How numbers, times and people are written in mails and on the page. Depths are never rounded up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction

from headwall.law import localtime
from headwall.registry.model import Person
from headwall.units import Depth, convert, to_decimal

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def full_time(instant_us: int, zone: tzinfo) -> str:
    """E.g. "Thu Jun 11 2026, 15:42 EDT"."""
    local = localtime.to_local(instant_us, zone)
    month, day, clock, name = localtime.short(instant_us, zone).split(" ", 3)
    return f"{_DAYS[local.weekday()]} {month} {day} {local.year}, {clock} {name}"


def due_time(instant_us: int, zone: tzinfo) -> str:
    """When something runs out: a day that is over at midnight is named by that day."""
    day_over = localtime.day_over(instant_us, zone)
    return full_time(instant_us, zone) if day_over is None else f"end of {full_time(day_over, zone).rpartition(',')[0]}"


def inches(depth_in: str) -> str:
    """A depth in inches with two decimals, or three where it has them, cut: 0.4996 is never shown as 0.50."""
    value = Decimal(depth_in).quantize(Decimal("0.001"), ROUND_DOWN)
    text = f"{value:.3f}"
    return (text[:-1] if text.endswith("0") else text) + " in"


def millimetres(depth_mm: str) -> str:
    return f"{Decimal(depth_mm).quantize(Decimal('0.1'), ROUND_DOWN)} mm"


def depth(depth_in: str, depth_mm: str) -> str:
    """E.g. "0.50 in (12.7 mm)"."""
    return f"{inches(depth_in)} ({millimetres(depth_mm)})"


def depth_of_mm(mm: float) -> str:
    """A depth that is only known in millimetres."""
    value = Depth(Fraction(str(mm)))
    return depth(value.text_in, value.text_mm)


def rate(mm_h: float) -> str:
    """An intensity, e.g. "1.24 in/h (31.5 mm/h)"."""
    value = Fraction(str(mm_h))
    return f"{_as(value, 'mm/h', 'in/h'):.2f} in/h ({to_decimal(value):.1f} mm/h)"


def distance(metres: float) -> str:
    """E.g. "40 m (131 ft)"."""
    value = Fraction(str(metres))
    return f"{to_decimal(value):.0f} m ({_as(value, 'm', 'ft'):.0f} ft)"


def _as(value: Fraction, unit: str, shown: str) -> Decimal:
    return to_decimal(convert(value, unit, shown))


def duration(us: int) -> str:
    """E.g. "16 h 28 min", "3 d 4 h", "12 min"; cut to whole minutes, to whole hours from two days on."""
    minutes = max(0, us) // 60_000_000
    days, hours = divmod(minutes // 60, 24)
    if days >= 2:
        return _two(days, "d", hours, "h")
    return _two(minutes // 60, "h", minutes % 60, "min")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    parts = [f"{large} {large_unit}"] if large else []
    if small or not parts:
        parts.append(f"{small} {small_unit}")
    return " ".join(parts)


def contact(person: Person) -> tuple[str, ...]:
    """A person with firm, and on a line of its own how to reach them."""
    name = f"{person.name}, {person.firm}" if person.firm else person.name
    return name, f"{person.phone or 'no phone number in the registry'}, {person.email}"


def called(person: Person) -> str:
    """A person within a sentence, with the phone number where there is one."""
    return f"{person.name} ({person.phone})" if person.phone else f"{person.name} ({person.email})"


def listed(words: Sequence[str], joint: str = "and") -> str:
    """E.g. "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """E.g. "1 site", "12 sites"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def first_lower(text: str) -> str:
    """As it stands after a colon; an abbreviation stays, as SWPPP."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def sentence(text: str) -> str:
    """As a sentence of its own, with one full stop at its end."""
    return first_upper(text) if text.endswith(".") else f"{first_upper(text)}."


def one_line(text: str) -> str:
    """For a header: no line breaks, no control characters, single spaces."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())
