"""The storm rule: reports that a storm makes due at construction sites, judged in event time.

For each set of gauges the rain is folded once, under every storm provision of the municipalities it serves; then the
duties of every site with that set are made what the storms ask for. Readings in order go on from the fold that is
kept. Late or shuffled ones, gaps and changed layers fold their wet spell anew from the ledger, once a step, which gives
what on-time data would have given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import msgspec
import structlog

from headwall.hydrology.storms import StormRule as FoldRule
from headwall.law import localtime
from headwall.law.profile import Profile, StormReport
from headwall.registry import Registry
from headwall.registry.model import Municipality, Person, Site
from headwall.rules import duties, episode_notices
from headwall.rules.base import Step
from headwall.rules.facts import Clocks, Disagreement, InactiveSiteStorm, NearThreshold, StormDuty
from headwall.rules.gauge_set import GaugeSet, sets_of_site
from headwall.rules.gauge_silent import SilentGauges
from headwall.rules.layers import Stretch
from headwall.rules.matching import KnownSpan, match
from headwall.rules.rain import RainReading, neighbour_us, too_close
from headwall.rules.rain_heard import Gauge, compared, fall_of, hear, newest_us, quantum_of
from headwall.rules.rain_line import JudgedStorm, Numbers, RainLine
from headwall.rules.tell import refresh, tell, tell_duty, to_be_told, withdraw
from headwall.units import parse_depth

log = structlog.get_logger("rules")
_Storm = TypeVar("_Storm", NearThreshold, InactiveSiteStorm)
_MINUTE_US = 60_000_000
_DAY_US = 24 * 60 * _MINUTE_US


@dataclass(frozen=True)
class Asked:
    """One provision, asked of the rain of a set of gauges for the sites of one municipality."""

    gauges: GaugeSet
    municipality: Municipality
    provision: StormReport
    zone: tzinfo

    @property
    def key(self) -> tuple[str, str]:
        return self.municipality.id, self.provision.id

    @property
    def datastream(self) -> str:
        """The gauge that duties name: the primary."""
        return self.gauges.primary

    def in_force(self, at_us: int) -> bool:
        return self.provision.in_force(localtime.day_of(at_us, self.zone))


@dataclass(frozen=True)
class _Watch:
    """A set of gauges, the sites that have it, and what is asked of its rain."""

    gauges: GaugeSet
    sites: tuple[Site, ...]
    asked: tuple[Asked, ...]
    numbers: Mapping[tuple[str, str], Sequence[Numbers]]
    silent_after_us: tuple[int, ...]  # of each member

    @property
    def memory_us(self) -> int:
        """A dry time so long makes what follows independent of what was before."""
        return max(each.rule.memory_us for numbers in self.numbers.values() for each in numbers)

    @property
    def mit_us(self) -> int:
        return min(each.rule.mit_us for numbers in self.numbers.values() for each in numbers)

    def members(self, step: Step) -> list[Gauge]:
        """The gauges with their layers as they are now."""
        each = zip(self.gauges.members, self.silent_after_us, strict=True)
        return [Gauge(one, step.layers.of(step.conn, one.datastream), silent_us) for one, silent_us in each]


class StormReportRule:
    """Opens and changes storm-report duties; see the head of this module.

    Args:
        silent: which gauges are silent now.
        historical_after_us: a duty first learned so long after its crossing is historical, and not mailed.
        on_fault: told of a gauge that cannot be right: node, fault, detail.
    """

    name = "storm"

    def __init__(
        self,
        registry: Registry,
        profiles: Mapping[str, Profile],
        silent: SilentGauges,
        historical_after_us: int,
        on_fault: Callable[[str, str, str], None],
    ) -> None:
        self._registry = registry
        self._profiles = profiles
        self._silent = silent
        self._on_fault = on_fault
        self._historical_after_us = historical_after_us
        self._known: dict[str, list[_Watch]] | None = None
        self._lines: dict[GaugeSet, RainLine[tuple[str, str]]] = {}
        self._synced: dict[tuple[GaugeSet, tuple[str, str]], object] = {}

    def next_us(self) -> int | None:
        return None

    @property
    def _watches(self) -> dict[str, list[_Watch]]:
        """What is watched, by gauge, under the codes as they are read now."""
        if self._known is None:
            self._known = _watches(self._registry, self._profiles)
        return self._known

    def forget(self) -> None:
        self._known = None
        self._lines.clear()
        self._synced.clear()

    def judge(self, step: Step) -> None:
        for stretch in step.again:
            for watch in self._watches.get(stretch.datastream, ()):
                self._refold(step, watch, stretch.start_us, stretch.end_us, stretch.why)
        for watch in _each_once(self._watches.get(datastream, ()) for datastream in step.rain):
            found = [step.rain.get(datastream, []) for datastream in watch.gauges.datastreams]
            line = self._lines.get(watch.gauges)
            if line is not None and _goes_on(line, watch, watch.members(step), found):
                self._sync_if_changed(step, watch, line)
            else:
                self._take_anew(step, watch, found)

    # --- folding ---

    def _take_anew(self, step: Step, watch: _Watch, found: Sequence[Sequence[RainReading]]) -> None:
        """Fold anew the wet spells that readings touch, each once."""
        done_us = -1
        for start_us, end_us in _clusters(step, watch, found):
            if end_us > done_us:
                done_us = self._refold(step, watch, start_us, end_us, "")

    def _refold(self, step: Step, watch: _Watch, start_us: int, end_us: int, why: str) -> int:
        """Fold the wet spells around a stretch from the ledger; keep the fold if nothing comes after it.

        Returns the end of what was folded.
        """
        gauges = watch.members(step)
        last_us = newest_us(step.conn, gauges, step.through)
        start_us = start_us if last_us is None else min(start_us, last_us)  # a stretch may lie in the future
        heard = hear(step.conn, gauges, start_us, end_us, step.through, watch.memory_us)
        for gauge, dropped in zip(gauges, heard.dropped, strict=True):
            if dropped:
                self._say_too_fast(gauge.layers.datastream, dropped)
        line = RainLine(watch.numbers, quantum_of(gauges, heard.first_us - watch.memory_us), heard)
        silent = heard.newest and self._all_silent(step, watch, gauges)
        for asked in watch.asked:
            storms = line.storms(asked.key, silent=silent)
            self._sync(step, watch, asked, storms, heard.first_us, heard.last_us, why)
        if heard.newest:
            line.settle()
            self._lines[watch.gauges] = line
            for asked in watch.asked:
                self._synced.pop((watch.gauges, asked.key), None)
        return heard.last_us

    def _say_too_fast(self, datastream: str, tips: int) -> None:
        node, _, stream = datastream.partition("/")
        detail = f"{tips} tips of {stream} came faster than a bucket can tip; they are kept, and not judged"
        self._on_fault(node, "implausible_rate", detail)

    def _sync_if_changed(self, step: Step, watch: _Watch, line: RainLine[tuple[str, str]]) -> None:
        silent = self._all_silent(step, watch, watch.members(step))
        for asked in watch.asked:
            storms = line.storms(asked.key, silent=silent)
            state = [
                (storm.start_us, storm.end_us, storm.amount, storm.ended, storm.gaps)
                for storm in storms
                if storm.trigger or storm.near or storm.ended
            ]
            if state and self._synced.get((watch.gauges, asked.key)) != state:
                assert line.last_us is not None
                self._sync(step, watch, asked, storms, storms[0].start_us, line.last_us, "")
            self._synced[watch.gauges, asked.key] = state
        line.settle()

    def _all_silent(self, step: Step, watch: _Watch, gauges: Sequence[Gauge]) -> bool:
        """Whether no gauge of the set speaks now, for a fault of at least one of them."""
        silent = [self._silent.holds(step.conn, name) for name in watch.gauges.datastreams]
        hidden = [each.layers.hides(step.now_us) or not each.has(step.now_us) for each in gauges]
        return any(silent) and all(one or other for one, other in zip(silent, hidden, strict=True))

    # --- judging the sites ---

    def _sync(
        self,
        step: Step,
        watch: _Watch,
        asked: Asked,
        storms: list[JudgedStorm],
        start_us: int,
        end_us: int,
        why: str,
    ) -> None:
        if len(watch.gauges.members) > 1:
            storms = [self._compared(step, watch, storm) for storm in storms]
        sites = [site for site in watch.sites if site.municipality == asked.municipality.id]
        # with care each site's by itself: what cannot be read of one must not stop the others
        all_held = None if step.careful else _Held.read(step, asked, [site.id for site in sites], start_us, end_us)
        for site in sites:
            with step.guarded(
                f"{site.id}, {asked.datastream}, {asked.provision.id}", Stretch(asked.datastream, start_us, end_us)
            ):
                held = all_held or _Held.read(step, asked, [site.id], start_us, end_us)
                _SiteJudgement(
                    self._registry, self._historical_after_us, step, asked, site, held, start_us, end_us, why
                ).judge(storms)

    def _compared(self, step: Step, watch: _Watch, storm: JudgedStorm) -> JudgedStorm:
        """A storm that is over, with the backups that caught something else."""
        primary = watch.gauges.primary
        setup = self._registry.datastream(primary, storm.start_us)
        if setup is None or not storm.ended or not (storm.trigger or storm.near):
            return storm
        share = Fraction(setup.doubts.backup_percent, 100)
        gauges = watch.members(step)
        found = compared(step.conn, gauges, storm.start_us, storm.end_us, step.through, share=share)
        apart = tuple(
            Disagreement(
                primary,
                watch.gauges.datastreams[n],
                each.primary.text_mm,
                each.primary.text_in,
                each.backup.text_mm,
                each.backup.text_in,
            )
            for n, each in found
            if each.verdict == "disagree"
        )
        return dataclasses.replace(storm, disagreement=apart)


def _watches(registry: Registry, profiles: Mapping[str, Profile]) -> dict[str, list[_Watch]]:
    """What is watched, by each gauge that takes part in it."""
    having: dict[GaugeSet, list[Site]] = {}
    for site in registry.sites:
        for gauges in sets_of_site(registry, site) if site.kind == "construction" else ():
            having.setdefault(gauges, []).append(site)
    found: dict[str, list[_Watch]] = {}
    for gauges, sites in having.items():
        served = {site.municipality for site in sites}
        asked = tuple(
            Asked(gauges, municipality, provision, registry.zone(municipality.id))
            for municipality in registry.municipalities
            if municipality.id in served
            for provision in profiles[municipality.profile].of(StormReport)
        )
        if not asked:
            continue
        numbers = {each.key: list(_numbers(each.provision, each.zone)) for each in asked}
        silent_after_us = tuple(registry.silent_after_us(name) for name in gauges.datastreams)
        watch = _Watch(gauges, tuple(sites), asked, numbers, silent_after_us)
        for name in dict.fromkeys(gauges.datastreams):
            found.setdefault(name, []).append(watch)
    return found


def _each_once(groups: Iterator[Sequence[_Watch]]) -> list[_Watch]:
    return list({watch.gauges: watch for group in groups for watch in group}.values())


def _goes_on(
    line: RainLine[tuple[str, str]], watch: _Watch, gauges: Sequence[Gauge], found: Sequence[Sequence[RainReading]]
) -> bool:
    """Take readings in order, with nothing between them that the fold does not know; False, and no change, if not.

    Of a set, only the member that speaks has to be taken: those before it have lapsed, and those behind it count only
    once it falls silent, and in the comparison of a storm that is over.
    """
    n = line.speaker
    gauge, own = gauges[n], [each for each in found[n] if gauges[n].has(each.time_us)]
    if any(found[:n]) or (n and not line.lapsed) or not _in_order(line, gauge, own):
        return False
    heard_us = own[-1].time_us if own else line.heard_us
    others = {m: [each.time_us for each in found[m]] for m in range(n + 1, len(found)) if found[m]}
    if others and (heard_us is None or not _may_wait(line, gauge, watch.mit_us, heard_us, others)):
        return False
    for m, times in others.items():
        line.newest_us[m] = max(times)
    for reading in own:
        line.hear(reading.time_us)
        if reading.tips:
            line.add(fall_of(gauge, n, reading))
            if not reading.imported:
                line.last_tip_us = reading.time_us
    return True


def _may_wait(
    line: RainLine[tuple[str, str]], gauge: Gauge, mit_us: int, heard_us: int, others: Mapping[int, Sequence[int]]
) -> bool:
    """Whether readings of backups, given by their times, count for nothing yet.

    They come in order, and the gauge before them has had no gap since the backup spoke last; it still speaks; and the
    storm in which it would be compared with them is not over.
    """
    for member, times in others.items():
        before_us, latest_us = line.newest_us[member], max(times)
        if before_us is None or not line.clear_us <= before_us <= min(times) or min(times) <= heard_us - mit_us:
            return False
        if latest_us - heard_us > gauge.silent_after_us or gauge.layers.hides_within(heard_us, latest_us):
            return False
    return True


def _in_order(line: RainLine[tuple[str, str]], gauge: Gauge, readings: Sequence[RainReading]) -> bool:
    """Whether readings follow on what a line has heard, without a gap."""
    if not readings:
        return True
    before_us = line.heard_us
    if before_us is None or line.last_us is None or readings[0].time_us < line.last_us:
        return False
    for reading in readings:
        if not 0 <= reading.time_us - before_us <= gauge.silent_after_us:
            return False
        before_us = reading.time_us
        if reading.tips:
            tip = gauge.layers.tips.at(before_us)
            if tip is None or not line.takes(tip.depth):
                return False
    if too_close(readings, line.last_tip_us):
        return False
    return not gauge.layers.hides_within(line.heard_us or 0, before_us)


def _clusters(step: Step, watch: _Watch, found: Sequence[Sequence[RainReading]]) -> list[tuple[int, int]]:
    """Stretches that readings touch: the readings around them bound the gaps that they change."""
    stretches: list[tuple[int, int]] = []
    for gauge, readings in zip(watch.members(step), found, strict=True):
        times = sorted({reading.time_us for reading in readings})
        cuts = [i for i in range(1, len(times)) if times[i] - times[i - 1] >= watch.memory_us]
        for first, last in zip([0, *cuts], [*cuts, len(times)], strict=True):
            if first < last:
                before = neighbour_us(step.conn, gauge.layers, times[first], step.through, before=True)
                after = neighbour_us(step.conn, gauge.layers, times[last - 1], step.through, before=False)
                start_us = times[first] if before is None else before
                stretches.append((start_us, times[last - 1] if after is None else after))
    return sorted(stretches)


def _numbers(provision: StormReport, zone: tzinfo) -> Iterator[Numbers]:
    """A provision's numbers with the time in which storms begin under them."""
    changes = provision.changes
    ends: list[date | None] = [*changes[1:], provision.valid_to]
    for begin, end in zip(changes, ends, strict=True):
        values = provision.storm_on(begin)
        fold = FoldRule(1, partial(localtime.day_bounds, where=zone), values.window, values.mit_us)
        end_us = None if end is None else localtime.midnight_us(end, zone)
        yield Numbers(localtime.midnight_us(begin, zone), end_us, values, fold)


@dataclass(frozen=True)
class _Reach:
    """A storm as duties are matched with it: from when the snow fell that a person measured at its end."""

    start_us: int
    end_us: int
    storm: JudgedStorm

    @classmethod
    def of(cls, storm: JudgedStorm) -> _Reach:
        return cls(min([storm.start_us, *storm.snow_from_us]), storm.end_us, storm)


@dataclass(frozen=True)
class _Held:
    """What the ledger has of the storms of a stretch, by site: duties, and open notices by their kind."""

    duties: Mapping[str, list[duties.Duty[StormDuty]]]
    notices: Mapping[type, Mapping[str, list[tuple[str, Any]]]]

    @classmethod
    def read(cls, step: Step, asked: Asked, sites: Sequence[str], start_us: int, end_us: int) -> _Held:
        kinds = (NearThreshold, InactiveSiteStorm)
        return cls(
            duties.known(step.conn, sites, asked.provision.id, asked.datastream, start_us, end_us),
            {kind: episode_notices.open_at_sites(step.conn, kind, sites) for kind in kinds},
        )


class _SiteJudgement:
    """The storms of one gauge at one site, under one provision, in one step."""

    def __init__(
        self,
        registry: Registry,
        historical_after_us: int,
        step: Step,
        asked: Asked,
        site: Site,
        held: _Held,
        start_us: int,
        end_us: int,
        why: str,
    ) -> None:
        self._held = held
        self._registry = registry
        self._historical_after_us = historical_after_us
        self._step = step
        self._conn = step.conn
        self._asked = asked
        self._site = site
        self._start_us = start_us
        self._end_us = end_us
        self._why = why

    def judge(self, storms: list[JudgedStorm]) -> None:
        triggered = [storm for storm in storms if storm.trigger is not None and self._asks(storm.trigger.time_us)]
        due = [storm for storm in triggered if self._status(_crossing(storm)) == "active"]
        self._judge_duties(due, triggered)
        inactive = [self._inactive(storm) for storm in triggered if self._status(_crossing(storm)) != "active"]
        near = [self._near(storm) for storm in storms if storm.near and self._near_matters(storm)]
        self._notify(InactiveSiteStorm, inactive, storms)
        self._notify(NearThreshold, near, storms)

    def _asks(self, at_us: int) -> bool:
        """Whether the provision was in force and the site had the gauge as a primary."""
        return self._asked.in_force(at_us) and any(
            gauge.datastream == self._asked.datastream and gauge.role == "primary"
            for gauge in self._registry.gauges_of_site(self._site.id, at_us)
        )

    def _near_matters(self, storm: JudgedStorm) -> bool:
        return self._asks(storm.end_us) and self._status(storm.end_us) == "active"

    def _status(self, at_us: int) -> str:
        found = self._registry.status_of(self._site.id, at_us)
        return "none" if found is None else found.status

    # --- duties ---

    def _judge_duties(self, due: list[JudgedStorm], triggered: list[JudgedStorm]) -> None:
        found = self._held.duties.get(self._site.id, [])
        by_number = {duty.id: duty for duty in found}
        matched = match([self._span(duty) for duty in found], [_Reach.of(storm) for storm in due])
        for number, reach in matched.kept:
            self._change(by_number[number], self._fact(reach.storm))
        for reach in matched.new:
            self._open(reach.storm)
        for number, into in matched.twins:
            gone = msgspec.structs.replace(by_number[number].body, trigger_gone="merged", merged_into=into)
            self._change(by_number[number], gone)
            duties.mark_merged(self._conn, number)
        for number in matched.gone:
            body = by_number[number].body
            at_site = any(s.start_us <= body.storm.end_us and body.storm.start_us <= s.end_us for s in triggered)
            gone = msgspec.structs.replace(body, trigger_gone="site" if at_site else "rain")
            self._change(by_number[number], gone)

    def _span(self, duty: duties.Duty[StormDuty]) -> KnownSpan:
        body = duty.body
        counted = body.storm.start_us
        if body.fired_by == "rolling24h":
            counted = min(counted, body.crossing_us - _DAY_US)
        elif body.fired_by == "day":
            counted = min(counted, localtime.day_bounds(body.crossing_us, self._asked.zone)[0])
        start_us = min([body.storm.start_us, *(each.start_us for each in body.storm.by_hand)])
        counted = min(counted, start_us)
        return KnownSpan(duty.id, duty.state == "open", counted, start_us, body.storm.end_us, body.crossing_us)

    def _open(self, storm: JudgedStorm) -> None:
        now_us, fact = self._step.now_us, self._fact(storm)
        historical = storm.imported or now_us - fact.crossing_us > self._historical_after_us
        fact = duties.open_duty(self._conn, fact, now_us, historical=historical, because=self._why)
        log.info("duty opened", duty=fact.duty, site=fact.site, depth_in=fact.storm.depth_in, historical=historical)
        if not historical:
            tell_duty(self._conn, fact, self._told(), now_us)

    def _change(self, duty: duties.Duty[StormDuty], fact: StormDuty) -> None:
        """Store what is now known, if it differs; tell it if what is asked differs."""
        before = duty.body
        fact = msgspec.structs.replace(fact, duty=before.duty, version=before.version, learned_us=before.learned_us)
        if fact == before:
            return
        after = duties.add_version(self._conn, before, fact, self._step.now_us, because=self._why)
        if duty.historical:
            return
        if duties.asks_otherwise(before, after):
            log.info("duty changed", duty=after.duty, due_us=after.due_us, trigger_gone=after.trigger_gone)
            tell_duty(self._conn, after, self._told(), self._step.now_us, because=self._why)
        else:
            refresh(self._conn, after)

    def _fact(self, storm: JudgedStorm) -> StormDuty:
        assert storm.trigger is not None
        clocks = _clocks(storm)
        due = {"crossing": clocks.crossing_due_us, "first": clocks.first_due_us}
        return StormDuty(
            duty=0,
            version=0,
            municipality=self._asked.municipality.id,
            site=self._site.id,
            provision=self._asked.provision.id,
            datastream=self._asked.datastream,
            storm=storm.summary(self._asked.gauges.datastreams),
            fired_by=storm.trigger.reading,
            crossing_us=storm.trigger.time_us,
            clocks=clocks,
            due_us=due.get(clocks.chosen, storm.end_us + storm.numbers.due_us),
            learned_us=self._step.now_us,
            gaps=list(storm.gaps),
        )

    def _told(self) -> list[Person]:
        return to_be_told(
            self._conn, self._registry, self._asked.datastream, self._asked.municipality.id, self._step.now_us
        )

    # --- the digest ---

    def _near(self, storm: JudgedStorm) -> NearThreshold:
        threshold = parse_depth(storm.numbers.depth).text_in
        summary = storm.summary(self._asked.gauges.datastreams)
        return NearThreshold(*self._head(), summary, threshold, list(storm.gaps), storm.by_correction)

    def _inactive(self, storm: JudgedStorm) -> InactiveSiteStorm:
        crossing_us = _crossing(storm)
        status = self._status(crossing_us)
        summary = storm.summary(self._asked.gauges.datastreams)
        return InactiveSiteStorm(*self._head(), summary, crossing_us, status, list(storm.gaps))

    def _head(self) -> tuple[str, str, str, str]:
        return self._asked.municipality.id, self._site.id, self._asked.provision.id, self._asked.datastream

    def _notify(
        self,
        kind: type[_Storm],
        wanted: Sequence[_Storm],
        storms: list[JudgedStorm],
    ) -> None:
        site, known = self._site.id, self._held.notices[kind].get(self._site.id, [])
        changes = episode_notices.sync(self._conn, kind, site, wanted, self._step.now_us, self._in_scope, known)
        for change in changes:
            withdraw(self._conn, change.key)
            if change.stands and not self._is_old(change.fact.storm.end_us, storms):
                tell(self._conn, change.key, change.fact, self._told(), "digest", self._step.now_us)

    def _in_scope(self, fact: NearThreshold | InactiveSiteStorm) -> bool:
        ours = fact.provision == self._asked.provision.id and fact.datastream == self._asked.datastream
        return ours and fact.storm.start_us <= self._end_us and self._start_us <= fact.storm.end_us

    def _is_old(self, end_us: int, storms: list[JudgedStorm]) -> bool:
        imported = any(storm.imported for storm in storms if storm.start_us <= end_us <= storm.end_us)
        return imported or self._step.now_us - end_us > self._historical_after_us


def _crossing(storm: JudgedStorm) -> int:
    assert storm.trigger is not None
    return storm.trigger.time_us


def _clocks(storm: JudgedStorm) -> Clocks:
    due_us = storm.numbers.due_us
    end_due_us = storm.end_us + due_us if storm.ended else None
    return Clocks(_crossing(storm) + due_us, storm.start_us + due_us, end_due_us, storm.numbers.clock)
