"""Flow of outfalls in dry weather: judged hour by hour, in event time, and told when it looks like a discharge.

An hour is judged once the outfall has spoken after its end. The judgement of an hour depends on the hours of
`dry_weather.MEMORY_US` before it alone, so what comes late, or a layer that has changed, makes the hours from there on
be judged again from the ledger, with the result that on-time data would have had. What is suspected stands as a
notice, which keeps its key as long as the episode overlaps the one it was opened for; it is mailed once, and makes a
case that waits for a person: `rules.outfall_episodes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import sqlalchemy as sa
import structlog

from headwall.derive.derivation import Derivation, quantities_of
from headwall.derive.samples import newest_time
from headwall.hydrology.dry_weather import (
    HOUR_US,
    MEMORY_US,
    Approved,
    Hour,
    Watch,
    summarise,
)
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.ledger import approvals, schema
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry
from headwall.registry.model import Site
from headwall.rules.approval_spans import FOR_A_TIME, Book, first_difference_us
from headwall.rules.base import Step
from headwall.rules.layers import Stretch
from headwall.rules.outfall_episodes import OutfallEpisodes
from headwall.rules.outfall_line import Line, flow_streams
from headwall.rules.rain import neighbour_us
from headwall.rules.site_rain import QUANTA_PER_MM, rain_of_site

log = structlog.get_logger("rules")
#: hours are read from the ledger so many at a time
_CHUNK_US: Final = 14 * 24 * HOUR_US
#: how long an hour waits for a gauge that has not spoken yet; rain that comes later makes it be judged again
_WAITS_US: Final = 2 * HOUR_US
_APPROVALS: Final = "rules.approvals"


class OutfallRule:
    """Opens, changes and closes notices, see the head of this module.

    Args:
        profiles: by the name that the registry's municipalities give.
        historical_after_us: what is learned so long after it ended is not mailed.
    """

    name = "outfall"

    def __init__(
        self, ledger: Ledger, registry: Registry, profiles: Mapping[str, Profile], historical_after_us: int
    ) -> None:
        self._ledger = ledger
        self._registry = registry
        self._profiles = profiles
        self._episodes = OutfallEpisodes(registry, historical_after_us)
        self._lines: dict[str, Line] = {}
        self._approvals: int | None = None
        self._newest: dict[tuple[str, int], int | None] = {}  # of the step under way: outfalls share gauges
        self._sites = {site.id: site for site in registry.sites if self._has_flow(site)}
        self._gauges = {gauge.datastream for site in self._sites.values() for gauge in site.gauges}
        self._sites_of: dict[str, list[str]] = {}
        for site in self._sites.values():
            for datastream in {*(s.datastream for s in site.sensors), *(g.datastream for g in site.gauges)}:
                self._sites_of.setdefault(datastream, []).append(site.id)

    def _has_flow(self, site: Site) -> bool:
        return site.kind == "outfall" and "flow" in quantities_of(self._registry.measures(site.id))

    def next_us(self) -> int | None:
        return None

    def forget(self) -> None:
        self._lines.clear()
        self._approvals = None

    def judge(self, step: Step) -> None:
        self._newest.clear()
        touched: dict[str, int] = {}
        for datastream, first_us in _starts(step):
            start_us = _after_last_rain(step, datastream, first_us) if datastream in self._gauges else first_us
            for site in self._sites_of.get(datastream, ()):
                touched[site] = min(start_us, touched.get(site, start_us))
        for site, start_us in self._newly_allowed(step):
            touched[site] = min(start_us, touched.get(site, start_us))
            self._lines.pop(site, None)
        for site, start_us in touched.items():
            self._guarded(step, self._sites[site], start_us)

    def _guarded(self, step: Step, site: Site, start_us: int) -> None:
        """What has failed is tried again from the same instant on, with hours read anew."""
        subject = f"{site.id}, dry-weather flow"
        with step.guarded(subject, Stretch(site.sensors[0].datastream, start_us, step.now_us)):
            self._judge_site(step, site, start_us)
        if subject in step.failures:
            self._lines.pop(site.id, None)

    def _newly_allowed(self, step: Step) -> list[tuple[str, int]]:
        """Outfalls of which the register says something else than at the last step, and from when on."""
        c = schema.approvals.c
        newest = step.newest.approvals
        if newest == self._approvals:
            return []
        self._approvals = newest
        judged = self._ledger.cursor(step.conn, _APPROVALS)
        if newest == judged:
            return []
        self._ledger.set_cursor(step.conn, _APPROVALS, newest)
        rows = step.conn.execute(sa.select(c.municipality, c.site).where(c.id > judged).distinct()).all()
        found = []
        for site in self._sites.values():
            if any(row.site == site.id or (row.site is None and row.municipality == site.municipality) for row in rows):
                marks = [self._book(step, site, through=each).marks() for each in (judged, newest)]
                first_us = first_difference_us(*marks)
                found += [] if first_us is None else [(site.id, first_us)]
        return found

    def _book(self, step: Step, site: Site, through: int | None = None) -> Book:
        """What the register says of an outfall, read with the code of its municipality."""
        profile = self._profiles[self._registry.municipality(site.municipality).profile]
        rows = approvals.of_site(step.conn, site.municipality, site.id, through=through)
        return Book(rows, profile, self._registry.zone(site.municipality), site.id)

    def _judge_site(self, step: Step, site: Site, start_us: int) -> None:
        start_us = start_us // HOUR_US * HOUR_US
        known = self._lines.get(site.id)
        if known is not None and start_us >= known.until_us >= step.now_us // HOUR_US * HOUR_US:
            return  # no hour has ended since
        until_us = self._until_us(step, site)
        if until_us is None:
            return
        line = self._line(step, site, start_us)
        start_us = max(min(start_us, line.until_us), line.whole_us + MEMORY_US)
        if line.until_us >= until_us:
            return
        for hour in self._hours(step, site, line.until_us, until_us):
            line.add(hour)
        self._episodes.sync(step, site, line, self._book(step, site), start_us)
        line.settle()

    def _line(self, step: Step, site: Site, start_us: int) -> Line:
        """The hours before an instant: those kept, or where they do not reach, an empty line from far enough back."""
        line = self._lines.get(site.id)
        if line is None or (start_us < line.until_us and start_us < line.whole_us + MEMORY_US):
            first_us = self._unjudged_us(step, site, start_us) - MEMORY_US
            line = Line(self._watch(step, site), first_us, first_us)
        elif start_us < line.until_us:
            kept, line = line, Line(self._watch(step, site), line.whole_us, line.whole_us)
            for hour in kept.hours:
                if hour.start_us < start_us:
                    line.add(hour)
        self._lines[site.id] = line
        return line

    def _unjudged_us(self, step: Step, site: Site, start_us: int) -> int:
        """From when on hours may not have been judged before a restart: the last of them waited for a gauge."""
        flow = self._newest_us(step, flow_streams(self._registry, site, start_us), start_us - 1)
        return start_us if flow is None else (flow - _WAITS_US) // HOUR_US * HOUR_US

    def _watch(self, step: Step, site: Site) -> Watch:
        """With what is approved as of now: a later approval makes its time be judged again."""
        zone = self._registry.zone(site.municipality)
        allowed = self._book(step, site).allowed()
        approved = [Approved(each.kind, each.start_us, each.end_us) for each in allowed if each.kind in FOR_A_TIME]
        return Watch(hour_of=partial(localtime.hour_of, where=zone), quanta_per_mm=QUANTA_PER_MM, approvals=approved)

    def _until_us(self, step: Step, site: Site) -> int | None:
        """The end of the last hour that can be judged: flow and rain have been heard of after it."""
        flow = self._newest_us(step, flow_streams(self._registry, site, step.now_us), step.now_us)
        rain = self._newest_us(step, [gauge.datastream for gauge in site.gauges], step.now_us)
        if flow is None:
            return None
        heard_us = min(flow, max(rain or 0, step.now_us - _WAITS_US))
        return heard_us // HOUR_US * HOUR_US

    def _newest_us(self, step: Step, datastreams: Sequence[str], at_us: int) -> int | None:
        """The newest reading of any of them at or before an instant."""
        for name in datastreams:
            if (name, at_us) not in self._newest:
                self._newest[name, at_us] = newest_time(step.conn, name, at_us, through=step.through)
        found = (self._newest[name, at_us] for name in datastreams)
        return max((each for each in found if each is not None), default=None)

    # --- hours ---

    def _hours(self, step: Step, site: Site, start_us: int, end_us: int) -> Iterator[Hour]:
        for first_us in range(start_us, end_us, _CHUNK_US):
            yield from self._chunk(step, site, first_us, min(first_us + _CHUNK_US, end_us))

    def _chunk(self, step: Step, site: Site, start_us: int, end_us: int) -> list[Hour]:
        """The hour before is read with them: its last sample counts in the first one's steps."""
        derivation = Derivation(step.conn, self._registry, through=step.through)
        there, before_us = quantities_of(self._registry.measures(site.id)), start_us - HOUR_US

        def values(role: str) -> list[tuple[int, float | None]]:
            if role not in there:
                return []
            return [
                (each.time_us, each.derived.value) for each in derivation.series(f"{site.id}/{role}", before_us, end_us)
            ]

        flow = [(each.time_us, each.derived) for each in derivation.series(f"{site.id}/flow", before_us, end_us)]
        layers_of = partial(step.layers.of, step.conn)
        rain = rain_of_site(step.conn, self._registry, layers_of, site, before_us, end_us, step.through)
        hours = summarise(
            (before_us, end_us),
            flow=flow,
            temperature_c=values("water_temperature"),
            conductivity_s_m=values("conductivity"),
            turbidity_ntu=values("turbidity"),
            tailwater_m=values("second_stage"),
            air_c=values("air_temperature"),
            rain=rain.rain,
            rain_gaps=rain.gaps,
        )
        return hours[1:]


def _after_last_rain(step: Step, gauge: str, at_us: int) -> int:
    """The valid reading of a gauge before an instant: the time from there on was a gap, or is one now."""
    before_us = neighbour_us(step.conn, step.layers.of(step.conn, gauge), at_us, step.through, before=True)
    return at_us if before_us is None else before_us


def _starts(step: Step) -> Iterator[tuple[str, int]]:
    """Each datastream of which something is new or has changed, and from when on."""
    yield from ((datastream, first_us) for datastream, first_us in step.measured.items())
    yield from ((datastream, min(each.time_us for each in rain)) for datastream, rain in step.rain.items())
    yield from ((stretch.datastream, stretch.start_us) for stretch in step.again)
