"""The rain of a set of gauges as one: the primary's, in its gaps the backups', and water of snow entered by hand.

A gauge has a gap where it has not spoken for longer than its silent time, where a layer hides its readings, and outside
its time in the set. What follows here is read from the ledger around a stretch; `rules.storm` goes on from its end
while readings come in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import sqlalchemy as sa

from headwall.hydrology.gauges import Compared, Span, backed_up, compare, merged, silent_both
from headwall.ledger.entries import Entry, SnowWater
from headwall.rules.facts import Gap
from headwall.rules.gauge_set import Member
from headwall.rules.layers import FOREVER_US, GaugeLayers, snow_depth
from headwall.rules.rain import RainReading, each_valid, neighbour_us, plausible, valid_between
from headwall.units import Depth

_NEVER_US = -FOREVER_US


@dataclass(frozen=True)
class Gauge:
    """A member of a set with its layers as they are now, and how long it may say nothing."""

    member: Member
    layers: GaugeLayers
    silent_after_us: int

    def has(self, time_us: int) -> bool:
        """Whether a reading of that time counts in the set, as far as the registry says."""
        return self.member.start_us <= time_us < self.member.end_us and self.layers.tips.at(time_us) is not None


class Fall(NamedTuple):
    """Rain that counts.

    Attributes:
        gauge: index of the member that caught it, or for which a person measured it.
        unit: the depth of one tip, or of all that was measured by hand.
        tips: 0 where it was measured by hand, by `entry`.
    """

    time_us: int
    gauge: int
    unit: Depth
    tips: int
    imported: bool
    entry: Entry[SnowWater] | None


@dataclass(frozen=True)
class Heard:
    """What a set of gauges has said around a stretch.

    Attributes:
        first_us, last_us: the stretch with the wet spells that reach into it: no rain lies within the dry time outside.
        falls: in order of time.
        gaps: of all gauges at once, in order; without those at the very beginning and end of all data.
        speaker: the first member that is not in a gap at the end; 0 if none is.
        heard_us: the newest reading that counts.
        clear_us: the end of the speaker's last gap: from then on no backup counts.
        lapsed: all members before the speaker have gone silent, rather than being hidden for a time that is known.
        newest_us: the newest valid reading of each member.
        newest: nothing valid comes after what was read.
        dropped: tips of each member that came too fast to be judged.
        last_tip_us: the speaker's own newest tip, judged or not.
    """

    first_us: int
    last_us: int
    falls: list[Fall]
    gaps: list[Gap]
    speaker: int
    heard_us: int | None
    clear_us: int
    lapsed: bool
    newest_us: list[int | None]
    newest: bool
    dropped: list[int]
    last_tip_us: int | None


def hear(conn: sa.Connection, gauges: Sequence[Gauge], start_us: int, end_us: int, through: int, dry_us: int) -> Heard:
    """Read what a set of gauges has said from `start_us` to `end_us`, and on both sides until none fell for `dry_us`.

    If `dry_us` is at least the minimum inter-event time and every window over which rain is added up, what fell
    outside cannot bear on the storms inside. One reading more on either side shows the gaps beside the rain.
    """
    first_us, last_us, found = _spell(conn, gauges, start_us, end_us, through, dry_us)
    judged = [plausible(readings) for readings in found]
    dropped = [len(every) - len(kept) for every, kept in zip(found, judged, strict=True)]
    before = [neighbour_us(conn, g.layers, first_us - dry_us, through, before=True) for g in gauges]
    after = [neighbour_us(conn, g.layers, last_us + dry_us, through, before=False) for g in gauges]
    for n, readings in enumerate(judged):
        judged[n] = [*_sign_of_life(before[n]), *readings, *_sign_of_life(after[n])]
    horizon_us = newest_us(conn, gauges, through) if len(gauges) > 1 else None
    blind = []
    for n, gauge in enumerate(gauges):
        silent = _silences(gauge, judged[n], (before[n] is None, after[n] is None), horizon_us)
        blind.append(merged([*silent, *_hidden(gauge, first_us - dry_us)]))
    spoken = backed_up(zip(judged, blind, strict=True))
    falls = [fall_of(gauges[n], n, reading) for n, reading in spoken if reading.tips]
    falls += _by_hand(gauges, blind, first_us - dry_us, last_us + dry_us)
    speaker, lapsed = _speaker(blind, horizon_us)
    tips = (reading.time_us for reading in found[speaker] if reading.tips and not reading.imported)
    known = {reading.time_us for readings in judged for reading in readings}
    return Heard(
        first_us,
        last_us,
        sorted(falls, key=lambda fall: (fall.time_us, fall.gauge, fall.tips)),
        list(_named(gauges, reduce(silent_both, blind), known)),
        speaker,
        spoken[-1][1].time_us if spoken else None,
        max((end_us for _, end_us in blind[speaker] if end_us < FOREVER_US), default=_NEVER_US),
        lapsed,
        [readings[-1].time_us if readings else None for readings in judged],
        all(each is None for each in after),
        dropped,
        max(tips, default=None),
    )


def _sign_of_life(time_us: int | None) -> list[RainReading]:
    return [] if time_us is None else [RainReading(time_us, 0, 0, False)]


def _spell(
    conn: sa.Connection, gauges: Sequence[Gauge], start_us: int, end_us: int, through: int, dry_us: int
) -> tuple[int, int, list[list[RainReading]]]:
    """The stretch, widened until no rain of any gauge lies within the dry time outside, and all valid readings."""

    def read(from_us: int, until_us: int) -> list[list[RainReading]]:
        return [
            [each for each in each_valid(conn, g.layers, from_us, until_us, through) if g.has(each.time_us)]
            for g in gauges
        ]

    def rain(found: Iterable[list[RainReading]], from_us: int, until_us: int) -> Iterator[int]:
        yield from (each.time_us for readings in found for each in readings if each.tips)
        yield from (each.body.end_us for g in gauges for each in g.layers.snow_within(from_us, until_us))

    found = read(start_us - dry_us, end_us + dry_us)
    first_us, last_us = start_us, end_us
    rained = list(rain(found, start_us - dry_us, end_us + dry_us))
    earliest, latest = min(rained, default=first_us), max(rained, default=last_us)
    while earliest < first_us:
        more = read(earliest - dry_us, first_us - dry_us - 1)
        found = [new + old for new, old in zip(more, found, strict=True)]
        first_us, earliest = earliest, min(rain(more, earliest - dry_us, first_us), default=earliest)
    while latest > last_us:
        more = read(last_us + dry_us + 1, latest + dry_us)
        found = [old + new for old, new in zip(found, more, strict=True)]
        last_us, latest = latest, max(rain(more, last_us, latest + dry_us), default=latest)
    return first_us, last_us, found


def newest_us(conn: sa.Connection, gauges: Sequence[Gauge], through: int) -> int | None:
    """The newest valid reading of any member: what has not spoken for long before it, is silent."""
    found = (neighbour_us(conn, g.layers, g.member.end_us, through, before=True) for g in gauges)
    return max((each for each in found if each is not None), default=None)


def _silences(
    gauge: Gauge, readings: Sequence[RainReading], ends: tuple[bool, bool], horizon_us: int | None
) -> Iterator[Span]:
    """Where a gauge was silent for too long.

    Args:
        readings: valid, in order.
        ends: whether nothing comes before the first, and after the last of them.
        horizon_us: the newest reading of the set; None for a gauge by itself.
    """
    times = [reading.time_us for reading in readings]
    if not times:
        yield _NEVER_US, FOREVER_US
        return
    if ends[0]:
        yield _NEVER_US, times[0]
    for before_us, after_us in pairwise(times):
        if after_us - before_us > gauge.silent_after_us:
            yield before_us + 1, after_us
    if ends[1] and horizon_us is not None and horizon_us - times[-1] > gauge.silent_after_us:
        yield times[-1] + 1, FOREVER_US


def _hidden(gauge: Gauge, from_us: int) -> Iterator[Span]:
    yield _NEVER_US, gauge.member.start_us
    yield gauge.member.end_us, FOREVER_US
    yield from ((hidden.start_us, hidden.end_us) for hidden in gauge.layers.hidden if hidden.end_us > from_us)


def _speaker(blind: Sequence[Sequence[Span]], horizon_us: int | None) -> tuple[int, bool]:
    """The member that counts at the end of all data, and whether those before it have lapsed into silence."""
    if horizon_us is None:  # one gauge, or none that has spoken
        return 0, True
    for n, spans in enumerate(blind):
        if not any(start_us <= horizon_us < end_us for start_us, end_us in spans):
            return n, all(each[-1][1] == FOREVER_US for each in blind[:n])
    return 0, True


def fall_of(gauge: Gauge, n: int, reading: RainReading) -> Fall:
    """A reading with rain of a member, given with its index, as what fell."""
    tip = gauge.layers.tips.at(reading.time_us)
    assert tip is not None  # Gauge.has
    return Fall(reading.time_us, n, tip.depth, reading.tips, reading.imported, None)


def _by_hand(gauges: Sequence[Gauge], blind: Sequence[Sequence[Span]], start_us: int, end_us: int) -> Iterator[Fall]:
    """Water of snow: of the primary at any time, of a backup where those before it do not speak."""
    for n, gauge in enumerate(gauges):
        for entry in gauge.layers.snow_within(start_us, end_us):
            time_us = entry.body.end_us
            if all(any(a <= time_us < b for a, b in spans) for spans in blind[:n]):
                yield Fall(time_us, n, snow_depth(entry), 0, False, entry)


def _named(gauges: Sequence[Gauge], spans: Iterable[Span], known: set[int]) -> Iterator[Gap]:
    """Gaps with what persons said of them. Silence before the first and after the last reading is no gap by itself."""
    for start_us, end_us in spans:
        inside = [
            hidden
            for gauge in gauges
            for hidden in gauge.layers.hidden
            if hidden.start_us < end_us and start_us < hidden.end_us
        ]
        if start_us == _NEVER_US:
            start_us = min((hidden.start_us for hidden in inside), default=end_us)
        if end_us == FOREVER_US:
            end_us = max((hidden.end_us for hidden in inside), default=start_us)
        if start_us < end_us:
            first_us = start_us - 1 if start_us - 1 in known else start_us
            reasons = dict.fromkeys(hidden.reason for hidden in inside)
            yield Gap(first_us, None if end_us == FOREVER_US else end_us, "; ".join(reasons))


def compared(
    conn: sa.Connection, gauges: Sequence[Gauge], start_us: int, end_us: int, through: int, *, share: Fraction
) -> list[tuple[int, Compared]]:
    """What the primary caught of a storm beside each backup that was there: (index of the backup, comparison).

    They disagree when their depths differ by more than `share` of the greater, and by more than two tips.
    """
    caught = [_caught(conn, gauge, start_us, end_us, through) for gauge in gauges]
    quantum = quantum_of(gauges, start_us)
    found = []
    for n, backup in enumerate(gauges[1:], 1):
        tips = [tip.depth for gauge in (gauges[0], backup) if (tip := gauge.layers.tips.at(end_us)) is not None]
        sides = [
            ([(f.time_us, int(f.unit.mm * f.tips / quantum.mm)) for f in falls], quantum, gaps)
            for falls, gaps in (caught[0], caught[n])
        ]
        span, at_least = (start_us - 1, end_us), max(tips, default=quantum) * 2
        found.append((n, compare(sides[0], sides[1], span, share=share, at_least=at_least)))
    return found


def _caught(
    conn: sa.Connection, gauge: Gauge, start_us: int, end_us: int, through: int
) -> tuple[list[Fall], list[Span]]:
    """What a gauge itself caught from one instant to another, and where it did not speak."""
    readings = [r for r in valid_between(conn, gauge.layers, start_us, end_us, through) if gauge.has(r.time_us)]
    before = neighbour_us(conn, gauge.layers, start_us, through, before=True)
    after = neighbour_us(conn, gauge.layers, end_us, through, before=False)
    heard = [*_sign_of_life(before), *readings, *_sign_of_life(after)]
    silent = _silences(gauge, heard, (before is None, after is None), end_us)
    falls = [fall_of(gauge, 0, reading) for reading in readings if reading.tips]
    return falls, merged([*silent, *_hidden(gauge, start_us)])


def quantum_of(gauges: Sequence[Gauge], from_us: int) -> Depth:
    """A depth of which everything that these gauges and persons can say from an instant on is a whole multiple."""
    depths = {depth.mm for g in gauges for depth in g.layers.tips.from_(from_us)}
    depths |= {snow_depth(entry).mm for g in gauges for entry in g.layers.snow_within(from_us, FOREVER_US)}
    return Depth(reduce(_common, depths))


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The greatest fraction of which both are whole multiples."""
    numerator = gcd(one.numerator * other.denominator, other.numerator * one.denominator)
    return Fraction(numerator, one.denominator * other.denominator)
