"""Judges hours of an outfall one by one, each by the weeks before it and nothing else.

Three things make flow in dry weather suspect: a pulse above the flow of the day before, a level above what the week
before fell to, and a day with the rhythm of sewage. Melt water, what was approved and lawns watered by timers are set
aside first. No judgement goes into another, so that a run begun `MEMORY_HOURS` earlier ends in the same ones.

What it cannot see: a steady flow that was there from the beginning is base flow, whatever it is; without the air's
temperature melt water cannot be told and is suspected; a wash at an hour of timers, day after day, passes for
irrigation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ceil, sqrt
from statistics import fmean, median
from typing import Final, NamedTuple

from headwall.errors import InputError
from headwall.hydrology.dry_weather.hours import HOUR_US, Hour, Water
from headwall.hydrology.dry_weather.judgement import Evidence, Judgement, Proposal, State
from headwall.hydrology.dry_weather.past import Base, Noted, Past, flows_of, scatter
from headwall.hydrology.dry_weather.settings import MEMORY_HOURS, Settings
from headwall.hydrology.flow_pattern import NIGHT

_MORNING: Final = (7, 8, 9)  # local hours in which sanitary flow peaks
_EVENING: Final = (18, 19, 20, 21)
_BEFORE_DAWN: Final = (1, 2, 3, 4, 5)
_LEAST_SAMPLES: Final = 4  # for an hour's median to count
_LEAST_BEFORE: Final = 24  # hours that a level is held against


class Approved(NamedTuple):
    """A stretch of time in which a discharge is approved or exempt, by kind."""

    kind: str
    start_us: int
    end_us: int


class Watch:
    """Judges the hours of one outfall in order of time.

    Args:
        quanta_per_mm: how many of `Hour.rain` are a millimetre.
        hour_of: local hour of the day, 0 to 23, of an instant.
        approvals: what is approved or exempt, with times.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        quanta_per_mm: int | Fraction,
        hour_of: Callable[[int], int],
        approvals: Iterable[Approved] = (),
    ) -> None:
        self._settings = settings = settings or Settings()
        self._hour_of = hour_of
        self._approvals = sorted(approvals, key=lambda each: each.start_us)
        self._past = Past(settings)
        self._dry_below = ceil(settings.dry_below.mm * quanta_per_mm)
        self._wet_from = ceil(settings.wet_from.mm * quanta_per_mm)

    def add(self, hour: Hour) -> Judgement:
        """Judges the next hour; hours left out are taken as ones without data.

        Raises:
            InputError: an hour that is not a whole number of hours after the last one.
        """
        if self._past:
            apart_us = hour.start_us - self._past.last.hour.start_us
            if apart_us <= 0 or apart_us % HOUR_US:
                raise InputError(f"hour {hour.start_us} µs is not whole hours after the last; give hours in order")
            missing = apart_us // HOUR_US - 1
            for before in range(min(missing, MEMORY_HOURS), 0, -1):
                self._judge(Hour(hour.start_us - before * HOUR_US, rain_unknown_us=HOUR_US))
        return self._judge(hour)

    def _judge(self, hour: Hour) -> Judgement:
        settings, past = self._settings, self._past
        approved = self._approved(hour.start_us)
        past.append(Noted(hour, self._hour_of(hour.start_us), approved))
        wet = past.rain(settings.wet_hours) >= self._wet_from
        usable = hour.samples >= _LEAST_SAMPLES and not wet and approved is None
        past.last = past.last._replace(wet=wet, usable=usable)
        evidence = self._weather(hour)
        base = past.base()
        unknown = evidence.rain_unknown_hours > (1 - settings.known_share) * settings.dry_hours
        state: State = "not_known"
        judged = base is not None and not unknown and evidence.rain < self._dry_below
        raining = past.rain(settings.raining_hours) >= self._wet_from
        if (
            hour.flow_m3_s is not None
            and wet
            and (raining or not judged or base is None or not self._surge(hour, base))
        ):
            state = "wet"
        elif hour.flow_m3_s is not None and evidence.rain >= self._dry_below:
            state = "recession"
        elif hour.flow_m3_s is not None and base is not None and not unknown:
            return self._of_flow(hour.flow_m3_s, past.last, base, evidence)
        return Judgement(hour.start_us, state, 1.0, evidence)

    def _of_flow(self, flow: float, noted: Noted, base: Base, evidence: Evidence) -> Judgement:
        """Judges flow in dry weather."""
        hour, settings = noted.hour, self._settings
        pulse, level, rhythm = self._pulse(hour, base), self._level(noted, base), self._rhythm(base)
        self._past.last = noted._replace(pulse=pulse.ratio >= 1, surge=self._surge(hour, base))
        ratios = {"pulse": pulse.ratio, "level": level.ratio, "rhythm": rhythm.ratio}
        melt = self._past.may_melt()
        signs, aside = self._left(ratios, noted, base, melt)
        evidence = evidence._replace(
            base_m3_s=base.flow,
            low_m3_s=level.against,
            noise_m3_s=base.noise,
            night_over_mean=rhythm.against,
            warmer_c=_less(hour.high_water.temperature_c, base.water.temperature_c),
            conductivity_ratio=_ratio(hour.high_water.conductivity_s_m, base.water.conductivity_s_m),
            turbidity_ratio=_ratio(hour.high_water.turbidity_ntu, base.water.turbidity_ntu),
            signs=tuple(signs),
            set_aside=aside,
        )
        sure = (1.0 if evidence.rain_unknown_hours == 0 else 0.7) * (0.8 if melt else 1.0)
        if signs:
            proposal = self._propose(hour, base, signs, flow)
            return Judgement(hour.start_us, "suspected", sure * (1 - 0.5 / max(signs.values())), evidence, proposal)
        if aside == "melt":
            return Judgement(hour.start_us, "wet", 0.5, evidence)
        if evidence.rain_unknown_hours > 0:
            return Judgement(hour.start_us, "not_known", 1.0, evidence)  # silence is not dryness
        runs = max(flow, base.flow) > max(3 * base.noise, settings.least_m3_s)
        nearly = min(max(0.0, *ratios.values()), 1.0)
        return Judgement(hour.start_us, "base_flow" if runs else "dry", sure * (1 - 0.5 * nearly), evidence)

    def _left(
        self, ratios: dict[str, float], noted: Noted, base: Base, melt: bool
    ) -> tuple[dict[str, float], str | None]:
        """The signs that stand out and are not explained, and what explains the others."""
        signs = {name: ratio for name, ratio in ratios.items() if ratio >= 1}
        if noted.approved is not None:
            return {}, noted.approved
        if melt and signs:  # levels rise and days have a rhythm by melt water too
            unlike = {"pulse": self._not_melt(noted.hour, base), "level": self._holds(noted)}
            signs = {name: ratio for name, ratio in signs.items() if unlike.get(name)}
            if not signs:
                return {}, "melt"
        if signs.keys() == {"pulse"} and self._past.timed():
            return {}, "irrigation"
        return signs, None

    def _weather(self, hour: Hour) -> Evidence:
        settings = self._settings
        window = self._past.recent(settings.dry_hours)
        unknown = sum(each.hour.rain_unknown_us for each in window) / HOUR_US + settings.dry_hours - len(window)
        return Evidence(
            *self._past.hours_dry(),
            sum(each.hour.rain for each in window),
            unknown,
            flow_m3_s=hour.flow_m3_s,
            high_m3_s=hour.high_m3_s,
            water=hour.water,
            backwater_hours=hour.backwater_us / HOUR_US,
        )

    def _approved(self, start_us: int) -> str | None:
        end_us = start_us + HOUR_US
        settle_us = self._settings.settle_hours * HOUR_US
        found = (each for each in self._approvals if each.start_us < end_us and start_us < each.end_us + settle_us)
        return next((each.kind for each in found), None)

    def _pulse(self, hour: Hour, base: Base) -> _Sign:
        settings = self._settings
        if hour.high_m3_s is None:
            return _Sign(0.0, base.flow)
        least = max(settings.pulse_noises * base.noise, settings.pulse_share * base.flow, settings.least_m3_s)
        return _Sign((hour.high_m3_s - base.flow) / least, base.flow)

    def _level(self, noted: Noted, base: Base) -> _Sign:
        """The last hours against what the week before fell to."""
        settings = self._settings
        recent = flows_of([*self._past.usable(2 * settings.level_hours - 1), noted.hour])[-settings.level_hours :]
        if not noted.usable or len(recent) < settings.level_hours:
            return _Sign(0.0, None)
        week = settings.level_back_hours
        since_rain = flows_of(self._past.usable(self._past.hours_since_wet(week)))
        with_rain = flows_of(self._past.usable(week))  # after which ground water stands higher
        against = ((since_rain, settings.level_share), (with_rain, settings.level_wet_share))
        signs = [self._raised(median(recent), before, share, base) for before, share in against]
        return max(signs, key=lambda sign: sign.ratio)

    def _raised(self, flow: float, before: list[float], share: float, base: Base) -> _Sign:
        settings = self._settings
        if len(before) < _LEAST_BEFORE:
            return _Sign(0.0, None)
        low = sorted(before)[int(settings.level_low * len(before))]
        least = max(settings.level_noises * scatter(before[-72:], base.noise), share * low, settings.least_m3_s)
        return _Sign((flow - low) / least, low)

    def _rhythm(self, base: Base) -> _Sign:
        """Sewage runs low before dawn and higher both the evening before and the morning after, a recession does not.

        Beside it, the flow of the night over the mean of the last 24 hours.
        """
        settings = self._settings
        day = [each for each in self._past.recent(24) if each.usable]
        mean = fmean(flows_of(each.hour for each in day)) if day else 0.0
        night = flows_of(each.hour for each in day if each.local in NIGHT)
        night_over_mean = fmean(night) / mean if night and mean > 0 else None
        found = self._past.last_night(evening=_EVENING, dawn=_BEFORE_DAWN, morning=_MORNING)
        if found is None:
            return _Sign(0.0, night_over_mean)
        evening, dawn, morning = (median(flows) for flows in found)
        spread = scatter(flows_of(self._past.usable(72)), base.noise)
        error = 1.25 * spread * sqrt(1 / len(found[1]) + 1 / min(len(found[0]), len(found[2])))  # of medians
        least = max(settings.rhythm_noises * error, settings.rhythm_share * base.flow, settings.least_m3_s)
        return _Sign((min(evening, morning) - dawn) / least, night_over_mean)

    def _not_melt(self, hour: Hour, base: Base) -> bool:
        """Whether a pulse is too warm for melt water, or too sudden and fresh."""
        if self._warm(hour.high_water, base) or self._surge(hour, base):
            return True
        if not self._sudden(hour, base):
            return False
        settings, ions, solids = self._settings, hour.high_water.conductivity_s_m, hour.high_water.turbidity_ntu
        if ions is not None:
            own = base.water.conductivity_s_m
            return ions <= (settings.fresher * own if own is not None and base.runs else settings.fresh_s_m)
        return solids is not None and base.water.turbidity_ntu is not None and solids <= 1.2 * base.water.turbidity_ntu

    def _sudden(self, hour: Hour, base: Base) -> bool:
        """Whether flow stands high of a sudden: in the hour before it was a quarter at most of what it is now."""
        before = self._past.before.hour.high_m3_s if self._past.before else None
        if before is None or hour.high_m3_s is None:
            return False
        return before - base.flow < (hour.high_m3_s - base.flow) / 4

    def _surge(self, hour: Hour, base: Base) -> bool:
        """Whether flow is more of a sudden than some light rain or melting snow make it; it may be its second hour."""
        if hour.high_m3_s is None or hour.high_m3_s - base.flow < self._settings.surge_m3_s:
            return False
        return self._sudden(hour, base) or (self._past.before is not None and self._past.before.surge)

    def _surge_after_light_rain(self, hour: Hour, base: Base, evidence: Evidence) -> bool:
        raining = self._past.rain(self._settings.raining_hours) >= self._wet_from
        return not raining and evidence.rain < self._dry_below and self._surge(hour, base)

    def _holds(self, noted: Noted) -> bool:
        """Whether a level holds through the coldest hours of the day, in which nothing melts."""
        settings = self._settings
        day = flows_of([*self._past.usable(23), noted.hour])
        before = flows_of(self._past.usable(settings.level_back_hours))
        if len(day) < settings.holds_hours or len(before) < _LEAST_BEFORE:
            return False
        low = sorted(before)[int(settings.level_low * len(before))]
        return min(day) >= (1 + settings.holds_share) * low + settings.least_m3_s

    def _warm(self, water: Water, base: Base) -> bool:
        warmer = _less(water.temperature_c, base.water.temperature_c)
        if warmer is None or warmer <= self._settings.warmer_c:
            return False
        return base.runs or (water.temperature_c or 0.0) > self._settings.warm_c

    def _propose(self, hour: Hour, base: Base, signs: dict[str, float], flow: float) -> Proposal:
        if "rhythm" in signs:
            return "sewage"
        settings, water = self._settings, hour.high_water
        own = base.water.turbidity_ntu or 0.0
        turbid = water.turbidity_ntu is not None and water.turbidity_ntu > max(
            settings.turbid_factor * own, own + settings.turbid_ntu
        )
        if "level" in signs:
            return "dewatering"
        if (hour.high_m3_s or flow) - base.flow >= settings.flushing_m3_s:
            return "unknown" if turbid else "flushing"
        ions = water.conductivity_s_m
        if not base.runs and ions is not None and ions > settings.sewage_s_m:
            return "sewage"
        return "wash_water" if turbid or self._warm(water, base) else "unknown"


class _Sign(NamedTuple):
    """How strongly a sign stands out, 1 at its threshold, and what the flow is held against."""

    ratio: float
    against: float | None


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other
