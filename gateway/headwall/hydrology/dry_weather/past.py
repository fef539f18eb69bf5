"""The hours before, and what the judgement of another one asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from headwall.hydrology.dry_weather.hours import Hour, Water
from headwall.hydrology.dry_weather.settings import MEMORY_HOURS, Settings

_MEAN_TO_SIGMA: Final = 1.05  # σ of a value, of the median size of differences of two


class Noted(NamedTuple):
    """An hour with what is said of it once and used later."""

    hour: Hour
    local: int
    approved: str | None = None
    wet: bool = False
    usable: bool = False  # its flow can be part of a base
    pulse: bool = False
    surge: bool = False


class Base(NamedTuple):
    """What ran before, in hours that can be used."""

    flow: float
    noise: float
    water: Water

    @property
    def runs(self) -> bool:
        return self.flow > 3 * self.noise


class Past:
    """Hours without gaps; `last` is the one being judged, and what is asked of those before leaves it out."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._noted: list[Noted] = []

    def __bool__(self) -> bool:
        return bool(self._noted)

    @property
    def last(self) -> Noted:
        return self._noted[-1]

    @last.setter
    def last(self, noted: Noted) -> None:
        self._noted[-1] = noted

    @property
    def before(self) -> Noted | None:
        return self._noted[-2] if len(self._noted) > 1 else None

    def append(self, noted: Noted) -> None:
        self._noted.append(noted)
        if len(self._noted) > 2 * MEMORY_HOURS:
            del self._noted[:-MEMORY_HOURS]

    def recent(self, hours: int) -> list[Noted]:
        """So many hours, the last one among them."""
        return self._noted[-hours:]

    def rain(self, hours: int) -> int:
        return sum(each.hour.rain for each in self.recent(hours))

    def usable(self, hours: int) -> list[Hour]:
        """Of so many hours before the last one, those whose flow can be part of a base."""
        return [each.hour for each in self._noted[-hours - 1 : -1] if each.usable]

    def hours_dry(self) -> tuple[int, bool]:
        """Hours without rain up to now, and whether rain ended them rather than a gap or the end of memory."""
        dry = 0
        for each in reversed(self._noted[-self._settings.dry_looked_hours :]):
            if each.hour.rain or each.hour.rain_unknown_us:
                return dry, each.hour.rain > 0
            dry += 1
        return dry, False

    def hours_since_wet(self, most: int) -> int:
        """Hours before the last one without rain that runs off."""
        before = self._noted[-most - 1 : -1]
        return next((hours for hours, each in enumerate(reversed(before)) if each.wet), len(before))

    def base(self) -> Base | None:
        """What ran in the day before, or where little of that can be used in the days before; None: not known."""
        settings = self._settings
        before = self.usable(settings.base_hours)
        if len(before) < settings.base_least:
            before = self.usable(settings.base_far_hours)
        if len(before) < settings.base_least:
            return None
        probes = (_median(getattr(each.water, name) for each in before) for name in Water._fields)
        noise = _median(each.noise_m3_s for each in before)
        return Base(median(flows_of(before)), noise or 0.0, Water(*probes))

    def last_night(
        self, *, evening: Sequence[int], dawn: Sequence[int], morning: Sequence[int]
    ) -> tuple[list[float], list[float], list[float]] | None:
        """Usable flows of the evening, the dawn and the morning of the last night with all three, by local hours.

        None where the last day and a half has no such night, or less than two usable hours of one of them.
        """
        recent = self.recent(36)
        for end in range(len(recent) - 1, 0, -1):
            if recent[end].local != dawn[-1]:
                continue
            before, after = recent[max(end - 12, 0) : end + 1], recent[end + 1 : end + 6]
            found = tuple(
                flows_of(each.hour for each in part if each.usable and each.local in hours)
                for part, hours in ((before, evening), (before, dawn), (after, morning))
            )
            if all(len(flows) >= 2 for flows in found):
                return found[0], found[1], found[2]
        return None

    def may_melt(self) -> bool:
        """Whether snow may lie, and melt. Without the air's temperature nothing is known of it: False."""
        settings = self._settings
        air = [each.hour.air_c for each in self.recent(settings.melt_days * 24)]
        froze = any(celsius is not None and celsius < 0 for celsius in air)
        return froze and any(celsius is not None and celsius > 0 for celsius in air[-settings.melt_after_hours :])

    def timed(self) -> bool:
        """Whether it is an hour of timers, and there was a pulse within an hour of it on a day before."""
        settings = self._settings
        if not settings.timed_from <= self.last.local <= settings.timed_until:
            return False
        days = range(1, settings.timed_days + 1)
        return any(each.pulse for day in days for each in self._noted[-24 * day - 2 : -24 * day + 1])


def flows_of(hours: Iterable[Hour]) -> list[float]:
    return [each.flow_m3_s for each in hours if each.flow_m3_s is not None]


def scatter(flows: Sequence[float], noise: float) -> float:
    """Standard deviation of hourly flows about their course, no less than noise alone makes it."""
    steps = [abs(two - one) for one, two in pairwise(flows)]
    return max(_MEAN_TO_SIGMA * median(steps) if steps else 0.0, noise / 3)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
