"""The storm rule: reports that a storm makes due at construction sites, judged in event time.

For each gauge and each storm provision of the municipalities it serves, the rain is folded once; then the duties of
every site with that gauge are made what the storms ask for. In-order readings go on from the fold that is
kept. Late or shuffled ones fold their wet spell anew, which gives what on-time data would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from functools import partial
from itertools import pairwise

import msgspec
import structlog

from headwall.hydrology.storms import StormRule as FoldRule
from headwall.law import localtime
from headwall.law.profile import Profile, StormReport
from headwall.registry import Registry
from headwall.registry.model import Datastream, Municipality, Person, Site
from headwall.registry.spans import Span
from headwall.rules import duties, storm_notices
from headwall.rules.base import Step, Stretch
from headwall.rules.facts import Clocks, InactiveSiteStorm, NearThreshold, StormDuty
from headwall.rules.gauge_silent import SilentGauges
from headwall.rules.matching import KnownSpan, match
from headwall.rules.rain import RainReading, spell_around, too_close
from headwall.rules.rain_line import JudgedStorm, Numbers, RainLine
from headwall.rules.tell import refresh, tell, tell_duty, to_be_told, withdraw
from headwall.units import Depth, parse_depth

log = structlog.get_logger("rules")
_MINUTE_US = 60_000_000
_DAY_US = 24 * 60 * _MINUTE_US


@dataclass(frozen=True)
class Asked:
    """One provision, asked of the rain at one gauge for the sites of one municipality."""

    datastream: str
    municipality: Municipality
    provision: StormReport
    zone: tzinfo

    @property
    def key(self) -> tuple[str, str, str]:
        return self.datastream, self.municipality.id, self.provision.id

    def in_force(self, at_us: int) -> bool:
        return self.provision.in_force(localtime.day_of(at_us, self.zone))


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
        self._silent = silent
        self._on_fault = on_fault
        self._profiles = profiles
        self._historical_after_us = historical_after_us
        self._lines: dict[tuple[str, str, str], RainLine] = {}
        self._synced: dict[tuple[str, str, str], object] = {}
        self._asked: dict[str, list[Asked]] = {}
        self._tips: dict[str, list[tuple[Span[Datastream], Depth]]] = {}

    def next_us(self) -> int | None:
        return None

    def forget(self) -> None:
        self._lines.clear()
        self._synced.clear()

    def judge(self, step: Step) -> None:
        for stretch in step.again:
            for asked in self._asked_of(stretch.datastream):
                self._refold(step, asked, stretch.start_us, stretch.end_us)
        for datastream, readings in step.rain.items():
            for asked in self._asked_of(datastream):
                self._take(step, asked, readings)

    # --- what is asked ---

    def _asked_of(self, datastream: str) -> list[Asked]:
        if datastream not in self._asked:
            served = {site.municipality for site in self._registry.sites_ever_of_gauge(datastream)}
            self._asked[datastream] = [
                Asked(datastream, municipality, provision, self._registry.zone(municipality.id))
                for municipality in self._registry.municipalities
                if municipality.id in served
                for provision in self._profiles[municipality.profile].of(StormReport)
            ]
        return self._asked[datastream]

    def _new_line(self, asked: Asked) -> RainLine:
        spans = self._registry.datastream_spans(asked.datastream)
        silent_after_us = max(span.entry.silent_after_min for span in spans) * _MINUTE_US
        return RainLine(asked.provision, list(_numbers(asked.provision, asked.zone)), silent_after_us)

    def _tip(self, datastream: str, at_us: int) -> Depth | None:
        """The depth of a tip at an instant; None where the registry has no such gauge then."""
        if datastream not in self._tips:
            spans = self._registry.datastream_spans(datastream)
            self._tips[datastream] = [(span, parse_depth(span.entry.tip)) for span in spans if span.entry.tip]
        return next((tip for span, tip in self._tips[datastream] if span.holds(at_us)), None)

    # --- folding ---

    def _take(self, step: Step, asked: Asked, readings: list[RainReading]) -> None:
        """Go on from the fold that is kept, or fold anew what readings out of order touch."""
        line = self._lines.get(asked.key)
        if line is None or not _in_order(readings, line.last_us) or too_close(readings, line.last_tip_us):
            self._take_anew(step, asked, readings)
            return
        self._extend(line, asked, readings)
        self._sync_if_changed(step, asked, line)

    def _take_anew(self, step: Step, asked: Asked, readings: list[RainReading]) -> None:
        times = [reading.time_us for reading in readings]
        dropped = self._refold(step, asked, min(times), max(times))
        if dropped:
            node, _, stream = asked.datastream.partition("/")
            detail = f"{dropped} tips of {stream} came faster than a bucket can tip; they are kept, and not judged"
            self._on_fault(node, "implausible_rate", detail)
        line = self._lines.get(asked.key)
        own = [reading.time_us for reading in readings if reading.tips and not reading.imported]
        if line is not None and own:
            line.last_tip_us = max(*own, line.last_tip_us or 0)

    def _extend(self, line: RainLine, asked: Asked, readings: list[RainReading]) -> None:
        for reading in readings:
            tip = self._tip(asked.datastream, reading.time_us)
            if tip is not None:
                line.add(reading, tip)

    def _refold(self, step: Step, asked: Asked, start_us: int, end_us: int) -> int:
        """Fold the wet spells around a stretch from the ledger; keep the fold if nothing comes after it.

        Returns how many tips in it came too fast to be judged.
        """
        line = self._new_line(asked)
        spell = spell_around(step.conn, asked.datastream, start_us, end_us, step.through, line.memory_us)
        self._extend(line, asked, spell.readings)
        self._sync(step, asked, line.storms(self._silent_since(step, asked, line)), spell.first_us, spell.last_us)
        newest_us = spell.readings[-1].time_us if spell.readings else None
        if newest_us is None or newest_us <= spell.last_us + line.memory_us:
            line.settle()
            self._lines[asked.key] = line
            self._synced.pop(asked.key, None)
        return spell.dropped

    def _sync_if_changed(self, step: Step, asked: Asked, line: RainLine) -> None:
        storms = line.storms(self._silent_since(step, asked, line))
        state = [
            (storm.start_us, storm.end_us, storm.amount, storm.ended, storm.gaps)
            for storm in storms
            if storm.trigger or storm.near or storm.ended
        ]
        if storms and self._synced.get(asked.key) != state:
            assert line.first_us is not None and line.last_us is not None
            self._sync(step, asked, storms, line.first_us, line.last_us)
        line.settle()
        self._synced[asked.key] = state

    def _silent_since(self, step: Step, asked: Asked, line: RainLine) -> int | None:
        return line.last_us if self._silent.holds(step.conn, asked.datastream) else None

    # --- judging the sites ---

    def _sync(self, step: Step, asked: Asked, storms: list[JudgedStorm], start_us: int, end_us: int) -> None:
        for site in self._registry.sites_ever_of_gauge(asked.datastream):
            if site.municipality != asked.municipality.id:
                continue
            with step.guarded(
                f"{site.id}, {asked.datastream}, {asked.provision.id}", Stretch(asked.datastream, start_us, end_us)
            ):
                _SiteJudgement(self._registry, self._historical_after_us, step, asked, site, start_us, end_us).judge(
                    storms
                )


def _in_order(readings: list[RainReading], last_us: int | None) -> bool:
    if last_us is not None and readings[0].time_us < last_us:
        return False
    return all(one.time_us <= other.time_us for one, other in pairwise(readings))


def _numbers(provision: StormReport, zone: tzinfo) -> Iterator[Numbers]:
    """A provision's numbers with the time in which storms begin under them."""
    changes = sorted(
        {provision.valid_from, *(c.valid_from for c in provision.choices if provision.in_force(c.valid_from))}
    )
    ends: list[date | None] = [*changes[1:], provision.valid_to]
    for begin, end in zip(changes, ends, strict=True):
        values = provision.storm_on(begin)
        fold = FoldRule(1, partial(localtime.day_bounds, where=zone), values.window, values.mit_us)
        end_us = None if end is None else localtime.midnight_us(end, zone)
        yield Numbers(localtime.midnight_us(begin, zone), end_us, values, fold)


class _SiteJudgement:
    """The storms of one gauge at one site, under one provision, in one step."""

    def __init__(
        self,
        registry: Registry,
        historical_after_us: int,
        step: Step,
        asked: Asked,
        site: Site,
        start_us: int,
        end_us: int,
    ) -> None:
        self._registry = registry
        self._historical_after_us = historical_after_us
        self._step = step
        self._conn = step.conn
        self._asked = asked
        self._site = site
        self._start_us = start_us
        self._end_us = end_us

    def judge(self, storms: list[JudgedStorm]) -> None:
        triggered = [storm for storm in storms if storm.trigger is not None and self._asks(storm.trigger.time_us)]
        due = [storm for storm in triggered if self._status(_crossing(storm)) == "active"]
        self._judge_duties(due, triggered)
        inactive = [self._inactive(storm) for storm in triggered if self._status(_crossing(storm)) != "active"]
        near = [self._near(storm) for storm in storms if storm.near and self._near_matters(storm)]
        self._notify(InactiveSiteStorm, inactive, storms)
        self._notify(NearThreshold, near, storms)

    def _asks(self, at_us: int) -> bool:
        """Whether the provision was in force and the site had the gauge."""
        gauged = self._registry.sites_of_gauge(self._asked.datastream, at_us)
        return self._asked.in_force(at_us) and self._site in gauged

    def _near_matters(self, storm: JudgedStorm) -> bool:
        return self._asks(storm.end_us) and self._status(storm.end_us) == "active"

    def _status(self, at_us: int) -> str:
        found = self._registry.status_of(self._site.id, at_us)
        return "none" if found is None else found.status

    # --- duties ---

    def _judge_duties(self, due: list[JudgedStorm], triggered: list[JudgedStorm]) -> None:
        found = duties.known(
            self._conn, self._site.id, self._asked.provision.id, self._asked.datastream, self._start_us, self._end_us
        )
        by_number = {duty.id: duty for duty in found}
        matched = match([self._span(duty) for duty in found], due)
        for number, storm in matched.kept:
            self._change(by_number[number], self._fact(storm))
        for storm in matched.new:
            self._open(storm)
        for number, into in matched.twins:
            gone = msgspec.structs.replace(by_number[number].body, trigger_gone="merged", merged_into=into)
            self._change(by_number[number], gone)
            duties.mark_merged(self._conn, number)
        for number in matched.gone:
            body = by_number[number].body
            at_site = any(s.start_us <= body.storm.end_us and body.storm.start_us <= s.end_us for s in triggered)
            gone = msgspec.structs.replace(body, trigger_gone="site" if at_site else "rain")
            self._change(by_number[number], gone)

    def _span(self, duty: duties.Duty) -> KnownSpan:
        body = duty.body
        counted = body.storm.start_us
        if body.fired_by == "rolling24h":
            counted = min(counted, body.crossing_us - _DAY_US)
        elif body.fired_by == "day":
            counted = min(counted, localtime.day_bounds(body.crossing_us, self._asked.zone)[0])
        return KnownSpan(
            duty.id, duty.state == "open", counted, body.storm.start_us, body.storm.end_us, body.crossing_us
        )

    def _open(self, storm: JudgedStorm) -> None:
        now_us, fact = self._step.now_us, self._fact(storm)
        historical = storm.imported or now_us - fact.crossing_us > self._historical_after_us
        fact = duties.open_duty(self._conn, fact, now_us, historical=historical)
        log.info("duty opened", duty=fact.duty, site=fact.site, depth_in=fact.storm.depth_in, historical=historical)
        if not historical:
            tell_duty(self._conn, fact, self._told(), now_us)

    def _change(self, duty: duties.Duty, fact: StormDuty) -> None:
        """Store what is now known, if it differs; tell it if what is asked differs."""
        before = duty.body
        fact = msgspec.structs.replace(fact, duty=before.duty, version=before.version, learned_us=before.learned_us)
        if fact == before:
            return
        after = duties.add_version(self._conn, before, fact, self._step.now_us)
        if duty.historical:
            return
        if duties.asks_otherwise(before, after):
            log.info("duty changed", duty=after.duty, due_us=after.due_us, trigger_gone=after.trigger_gone)
            tell_duty(self._conn, after, self._told(), self._step.now_us)
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
            storm=storm.summary(),
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
        return NearThreshold(*self._head(), storm.summary(), threshold, list(storm.gaps))

    def _inactive(self, storm: JudgedStorm) -> InactiveSiteStorm:
        crossing_us = _crossing(storm)
        status = self._status(crossing_us)
        return InactiveSiteStorm(*self._head(), storm.summary(), crossing_us, status, list(storm.gaps))

    def _head(self) -> tuple[str, str, str, str]:
        return self._asked.municipality.id, self._site.id, self._asked.provision.id, self._asked.datastream

    def _notify(
        self,
        kind: type[storm_notices.StormNotice],
        wanted: Sequence[storm_notices.StormNotice],
        storms: list[JudgedStorm],
    ) -> None:
        changes = storm_notices.sync(self._conn, kind, self._site.id, wanted, self._step.now_us, self._in_scope)
        for change in changes:
            withdraw(self._conn, change.key)
            if change.stands and not self._is_old(change.fact.storm.end_us, storms):
                tell(self._conn, change.key, change.fact, self._told(), "digest", self._step.now_us)

    def _in_scope(self, fact: storm_notices.StormNotice) -> bool:
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
