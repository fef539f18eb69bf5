"""A gauge that shows no rain while another gauge of the same place has some, or while the stage there rises.

Looked at by the gateway's clock and told in the officer's digest, once an episode; the notice closes when it is over. A
gauge that is silent shows nothing at all: that is the silent-gauge rule's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import structlog

from headwall.hydrology.rain_doubt import Suspicion, level_rises, neighbours_have_rain
from headwall.registry import Registry
from headwall.registry.model import Datastream, Site
from headwall.rules import notices
from headwall.rules.base import Step
from headwall.rules.facts import RainMissing, to_body
from headwall.rules.rain import RainReading, neighbour_us, valid_between
from headwall.rules.rain_doubts import cold, values_between
from headwall.rules.tell import active_by_municipality, tell, to_be_told, withdraw
from headwall.units import Depth, parse_depth

log = structlog.get_logger("rules")
_KIND = "rain_missing"
_MINUTE_US = 60_000_000
_HOUR_US = 60 * _MINUTE_US
_LOOK_AGAIN_US = 15 * _MINUTE_US
#: a cell needs some time from one gauge to the other
_WANDERS_US = 30 * _MINUTE_US
_DRY_US = 6 * _HOUR_US  # ends a neighbour's rain
_BACK_US = 24 * _HOUR_US  # how far back rain is looked for
_RISES_US = 6 * _HOUR_US  # the stretch in which a stage has to rise


class _Shown(NamedTuple):
    """What a gauge has shown up to its last reading."""

    stream: Datastream
    readings: list[RainReading]
    last_us: int

    def depth_since(self, start_us: int) -> Depth | None:
        """What fell since; None where a gap leaves it open: then no rain means nothing."""
        inside = [each for each in self.readings if each.time_us >= start_us]
        times = [start_us, *(each.time_us for each in inside), self.last_us]
        if any(after - before > self.stream.silent_after_min * _MINUTE_US for before, after in pairwise(times)):
            return None
        return parse_depth(self.stream.tip or "") * sum(each.tips for each in inside)


class RainMissingRule:
    """Opens and closes notices, see the head of this module."""

    name = "rain_missing"

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._next_us: int | None = 0

    def next_us(self) -> int | None:
        return self._next_us

    def forget(self) -> None:
        self._next_us = 0

    def judge(self, step: Step) -> None:
        if self._next_us is None or step.now_us < self._next_us:
            return
        self._next_us = step.now_us + _LOOK_AGAIN_US if self._company() else None
        for name in self._company():
            stream = self._registry.datastream(name, step.now_us)
            if stream is not None and stream.tip is not None:
                self._judge_gauge(step, name, stream)

    def _company(self) -> list[str]:
        """Gauges that ever have another gauge or a stage beside them at some site."""
        found = {
            gauge.datastream
            for site in self._registry.sites
            if len({gauge.datastream for gauge in site.gauges}) > 1
            or any(sensor.of == "stage" for sensor in site.sensors)
            for gauge in site.gauges
        }
        return sorted(found)

    def _judge_gauge(self, step: Step, name: str, stream: Datastream) -> None:
        last_us = neighbour_us(step.conn, step.layers.of(step.conn, name), step.now_us + 1, step.through, before=True)
        if last_us is None or step.now_us - last_us > stream.silent_after_min * _MINUTE_US:
            return  # nothing is known of it now
        found = self._doubts(step, name, stream, last_us)
        key, body = next(iter(notices.open_ones(step.conn, _KIND, name)), (None, None))
        before = None if body is None else msgspec.convert(body, RainMissing)
        if found:
            self._keep(step, name, found, key, before)
        elif key is not None and before is not None:
            self._close(step, key, before)

    # --- what is seen ---

    def _doubts(self, step: Step, name: str, stream: Datastream, last_us: int) -> list[Suspicion]:
        """What speaks against a gauge that shows no rain up to its last reading; why that may be stands behind it."""
        own = valid_between(step.conn, step.layers.of(step.conn, name), last_us - _BACK_US, last_us, step.through)
        gauge = _Shown(stream, own, last_us)
        places = self._registry.places_of_gauge(name, last_us)
        found = [*self._beside(step, name, gauge, places), *self._stages(step, gauge, places)]
        return [*found, *cold(step.conn, self._registry, name, [last_us])] if found else []

    def _beside(self, step: Step, name: str, gauge: _Shown, places: Sequence[Site]) -> Iterator[Suspicion]:
        others = {
            other.datastream
            for site in places
            for other in self._registry.gauges_of_site(site.id, gauge.last_us)
            if other.datastream != name
        }
        for other in sorted(others):
            rained = self._rain_of(step, other, gauge.last_us - _WANDERS_US)
            own = gauge.depth_since(rained[0] - _WANDERS_US) if rained is not None else None
            if rained is None or own is None:
                continue
            span, at_least = (rained[0], gauge.last_us), parse_depth(gauge.stream.doubts.neighbour)
            found = neighbours_have_rain(own, {other: rained[1]}, span, at_least=at_least)
            if found is not None:
                yield found

    def _rain_of(self, step: Step, name: str, until_us: int) -> tuple[int, Depth] | None:
        """When the rain that goes on at a gauge began, and its depth; None where there is none."""
        stream = self._registry.datastream(name, until_us)
        layers = step.layers.of(step.conn, name)
        readings = valid_between(step.conn, layers, until_us - _BACK_US, until_us, step.through)
        rain = [each for each in readings if each.tips]
        if stream is None or stream.tip is None or not rain or until_us - rain[-1].time_us >= _DRY_US:
            return None
        breaks = [after.time_us for before, after in pairwise(rain) if after.time_us - before.time_us >= _DRY_US]
        start_us = breaks[-1] if breaks else rain[0].time_us
        return start_us, parse_depth(stream.tip) * sum(each.tips for each in rain if each.time_us >= start_us)

    def _stages(self, step: Step, gauge: _Shown, places: Sequence[Site]) -> Iterator[Suspicion]:
        span = (gauge.last_us - _RISES_US, gauge.last_us)
        own = gauge.depth_since(span[0] - _RISES_US)  # what rises now may have fallen before
        if own is None:
            return
        for site in places:
            if not self._registry.measures(site.id).has("stage"):
                continue
            levels = values_between(step.conn, self._registry, f"{site.id}/stage", *span)
            found = level_rises(own, levels, span, at_least_m=gauge.stream.doubts.stage_rise)
            if found is not None:
                yield Suspicion(found.kind, *span, {**found.evidence, "at": site.id})

    # --- notices ---

    def _keep(
        self, step: Step, name: str, doubts: list[Suspicion], key: str | None, before: RainMissing | None
    ) -> None:
        """Open the notice of an episode, or let what no mail carries yet say what is seen now."""
        places = self._registry.places_of_gauge(name, step.now_us)
        facts = [
            RainMissing(municipality, of_it, name, doubts, step.now_us if before is None else before.noticed_us)
            for municipality, of_it in active_by_municipality(self._registry, places, step.now_us).items()
        ]
        if not facts or (before is not None and facts[0].doubts == before.doubts):
            return
        key = key or f"{_KIND}/{name}/{min(each.start_us for each in doubts)}"
        if notices.put(step.conn, _KIND, name, key, to_body(facts[0]), step.now_us):
            log.warning("rain missing", datastream=name, doubts=[each.kind for each in doubts])
        withdraw(step.conn, key)
        for fact in facts:
            told = to_be_told(step.conn, self._registry, name, fact.municipality, step.now_us)
            tell(step.conn, key, fact, told, "digest", step.now_us)

    def _close(self, step: Step, key: str, before: RainMissing) -> None:
        """The episode is over; where the gauge had rain in it after all, what no mail carries yet is taken back."""
        seen = before.doubts[0]
        layers = step.layers.of(step.conn, before.datastream)
        late = valid_between(step.conn, layers, seen.start_us, seen.end_us, step.through)
        if any(each.tips for each in late):
            withdraw(step.conn, key)
        notices.close(step.conn, key, step.now_us)
        log.info("rain no longer missing", notice=key)
