"""The numbers a judgement of dry weather hangs on, each with its source.

Those called Headwall's own were chosen on synthetic outfalls (tools/headwall_sim/outfall), not at real ones: look at
them again with data of the place.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from headwall.units import Depth, depth

#: No judgement depends on anything older, so a run begun this many hours earlier gives the same ones.
MEMORY_HOURS: Final = 35 * 24
MEMORY_US: Final = MEMORY_HOURS * 3_600_000_000

_DRY_BELOW: Final = depth(Decimal("0.1"), "in")
_WET_FROM: Final = depth(Decimal("0.3"), "mm")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All are Headwall's own but the first two.

    Attributes:
        dry_hours, dry_below: dry is less than this depth over this time (Central Massachusetts Stormwater Coalition's
            procedure for illicit discharges; 48 h is also used).
        known_share: the least share of that time with a valid gauge; with less it is not known whether it is dry.
        dry_looked_hours: dry hours are counted no further.
        wet_hours, wet_from: rain of this depth in so many hours can still be running off. Less than two common tips,
            since one tip may end what began to fall long before.
        settle_hours: flow that follows an approved discharge belongs to it.
        base_hours, base_far_hours: the own base of a pulse is the median flow of this time before it, of the longer
            time where less than `base_least` hours of it can be used.
        pulse_noises, pulse_share: a pulse exceeds its base by so many standard deviations of a sample and by this
            share of the base.
        level_hours, level_back_hours, level_low: a raised level is the median of so many hours, held against a low
            quantile of the week before: in dry weather ground water only falls.
        level_noises, level_share: by how many standard deviations of hourly flows and what share it is exceeded;
            `level_wet_share` where rain came in between, after which ground water is higher.
        surge_m3_s: so much more of a sudden than before is no light rain and no melting snow.
        raining_hours: while that rain fell within so many hours, not even such a surge is looked at.
        holds_hours, holds_share: while snow may melt, a level counts only where so many hours of the last day all
            stand by this share above the low of the week: nothing melts in the coldest hours.
        rhythm_noises, rhythm_share: by how much flow of the evening and of the morning exceeds that before dawn.
        least_m3_s: no smaller excess is looked at.
        melt_days, melt_after_hours: snow may lie where it froze within so many days, and melt where it was above
            freezing within so many hours.
        warmer_c, warm_c: water so much warmer than the base flow is no melt water, nor in a dry pipe above this.
        fresher, fresh_s_m: nor is a sudden flow whose conductivity is within this factor of the base flow's (melt
            water of streets is salty), in a dry pipe below this.
        timed_from, timed_until, timed_days: local hours in which timers water lawns; a pulse at an hour at which there
            was one within so many days is taken for irrigation, which codes exempt.
        flushing_m3_s: so much clear water for a short time comes from a hydrant rather than a hose.
        turbid_factor, turbid_ntu: so many times the own background and so much above it is turbid.
        sewage_s_m: short warm turbid water of less conductivity is wash water.
        apart_hours: suspected hours that are less apart are one episode.
        long_hours: one that lasts longer is no wash water nor flushing.
    """

    dry_hours: int = 72
    dry_below: Depth = _DRY_BELOW
    known_share: float = 0.5
    dry_looked_hours: int = 280
    wet_hours: int = 6
    wet_from: Depth = _WET_FROM
    settle_hours: int = 2
    base_hours: int = 24
    base_far_hours: int = 96
    base_least: int = 6
    pulse_noises: float = 4.5
    pulse_share: float = 0.12
    level_hours: int = 6
    level_back_hours: int = 168
    level_low: float = 0.1
    level_noises: float = 3.0
    level_share: float = 0.15
    level_wet_share: float = 1.0
    surge_m3_s: float = 0.005
    raining_hours: int = 2
    holds_hours: int = 18
    holds_share: float = 0.3
    rhythm_noises: float = 4.0
    rhythm_share: float = 0.08
    least_m3_s: float = 0.00006
    melt_days: int = 10
    melt_after_hours: int = 12
    warmer_c: float = 0.3
    warm_c: float = 8.0
    fresher: float = 1.15
    fresh_s_m: float = 0.03
    timed_from: int = 3
    timed_until: int = 7
    timed_days: int = 21
    flushing_m3_s: float = 0.005
    turbid_factor: float = 1.5
    turbid_ntu: float = 10.0
    sewage_s_m: float = 0.035
    apart_hours: int = 24
    long_hours: int = 4
