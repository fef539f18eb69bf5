"""Watches: what one kind of reading shows at a site over time. `rules.site_signs` asks them and keeps what they find.

A watch is a function of ledger, registry and profile in event time: asked again from any instant on it finds what it
would have found in readings that came in order. What a sensor shows is an indication; a person judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo
from functools import cached_property
from math import inf, nextafter
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import sqlalchemy as sa

from headwall.derive.heights import heights
from headwall.derive.samples import newest_time
from headwall.hydrology.derived import Derived
from headwall.hydrology.exceeding import Judged, Stretch, stretches
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.registry import Registry
from headwall.registry.measures import Role
from headwall.registry.model import Site, SiteKind
from headwall.rules import episode_notices
from headwall.rules.facts import SiteSign

P = TypeVar("P", bound=Provision)
Known = dict[str, float | int | str]
MINUTE_US: Final = 60_000_000
HOUR_US: Final = 60 * MINUTE_US
#: readings of a sensor that sets another right count for those so near to them
BESIDE_US: Final = HOUR_US
#: sensors whose readings set the heights of others right
BESIDE: Final[tuple[Role, ...]] = ("air_pressure", "air_temperature", "water_temperature")


@dataclass
class Kept:
    """What the rule keeps of a site between steps: a cache, so that a new reading costs what is new.

    Attributes:
        notices: the open ones with their keys; None: not read yet.
        watches: what each watch wants to have back, by `what`.
    """

    notices: list[tuple[str, SiteSign]] | None = None
    watches: dict[str, tuple[int, Any]] = field(default_factory=dict)


class Place:
    """A site with what is known of it now, and what is kept of it."""

    def __init__(
        self, conn: sa.Connection, registry: Registry, profile: Profile, site: Site, now_us: int, kept: Kept
    ) -> None:
        self.conn = conn
        self.registry = registry
        self.profile = profile
        self.site = site
        self.now_us = now_us
        self.kept = kept
        self._heights: dict[tuple[Role, int, int], list[tuple[int, Derived]]] = {}
        self.where: tzinfo = registry.zone(site.municipality)

    @cached_property
    def begins_us(self) -> int:
        """Since when the site has had a sensor."""
        return min((span.start_us for span in self.registry.measures(self.site.id).sensors), default=self.now_us)

    def notices(self) -> list[tuple[str, SiteSign]]:
        """The open notices of the site with their keys."""
        if self.kept.notices is None:
            self.kept.notices = episode_notices.open_notices(self.conn, SiteSign, self.site.id)
        return self.kept.notices

    def day(self, at_us: int) -> date:
        return localtime.day_of(at_us, self.where)

    def clause(self, kind: type[P], at_us: int, word: str = "") -> P | None:
        """The clause of a class, of a kind of it where several share that, in force at an instant."""
        found = self.profile.in_force(kind, self.day(at_us))
        return next((each for each in found if word in ("", each.kind)), None)

    def choice(self, key: str, at_us: int) -> Any:
        return self.profile.choice(key, self.day(at_us))

    def datastream(self, at_us: int, *roles: Role) -> str:
        """The datastream of the first of some roles that the site has at an instant."""
        measures = self.registry.measures(self.site.id)
        found = (measures.sensor(role, at_us) for role in roles)
        return next((sensor.datastream for sensor in found if sensor is not None), "")

    def newest_us(self, role: Role) -> int:
        """The time of the newest reading of a role; 0 without one."""
        sensors = [span.entry for span in self.registry.measures(self.site.id).sensors if span.entry.of == role]
        found = (newest_time(self.conn, sensor.datastream, self.now_us) for sensor in sensors)
        return max((each for each in found if each is not None), default=0)

    def off(self, *roles: Role) -> Callable[[int], bool]:
        """Whether a sensor of some roles is known not to measure at an instant."""
        sensors = [span for span in self.registry.measures(self.site.id).sensors if span.entry.of in roles]
        spans = [off for span in sensors for off in self.registry.off_times(span.entry.datastream)]
        return lambda at_us: any(span.holds(at_us) for span in spans)

    def heights(self, role: Role, start_us: int, end_us: int) -> list[tuple[int, Derived]]:
        """Heights of a role that may be judged, by time: none of a time in which its sensor is off."""
        asked = role, start_us, end_us
        if asked not in self._heights:
            off, found = self.off(role), heights(self.conn, self.registry, self.site.id, role, start_us, end_us)
            self._heights[asked] = [(each.time_us, each.derived) for each in found if not off(each.time_us)]
        return self._heights[asked]


class Found(NamedTuple):
    """What a watch finds: all there is of it from `from_us` on."""

    from_us: int
    signs: Sequence[SiteSign]


class Watch(Protocol):
    """One thing to be seen at sites of some kinds."""

    @property
    def what(self) -> str: ...

    def at(self, registry: Registry, site: Site) -> bool:
        """Whether a site has what it takes."""

    def reads(self, role: Role) -> bool:
        """Whether readings of a role can change what it finds."""

    def found(self, place: Place, since_us: int) -> Found | None:
        """Everything from an instant on, or from earlier; None: all as it was."""


@dataclass(frozen=True)
class StretchWatch:
    """Something that stays above a limit.

    Attributes:
        kinds: of sites.
        roles: the sensors that it takes, all of them.
        values: readings of a stretch with their limits.
        tell: the fact of a stretch (whether it may go on), or nothing where no clause asks for it.
        gap_us: without a value for so long a stretch ends.
    """

    what: str
    kinds: tuple[SiteKind, ...]
    roles: tuple[Role, ...]
    values: Callable[[Place, int, int], Iterable[Judged]]
    tell: Callable[[Place, Stretch, bool], SiteSign | None]
    gap_us: int = 24 * HOUR_US

    def at(self, registry: Registry, site: Site) -> bool:
        measures = registry.measures(site.id)
        return site.kind in self.kinds and all(measures.has(role) for role in self.roles)

    def reads(self, role: Role) -> bool:
        return not self.roles or role in (*self.roles, *BESIDE)

    def found(self, place: Place, since_us: int) -> Found:
        """From where the last look left off, if all that is new is later; else from far enough back."""
        until_us, going = place.kept.watches.get(self.what, (inf, None))
        if since_us > until_us:
            from_us, judged = int(until_us), self._judged(place, int(until_us))
        else:
            going, (from_us, judged) = None, self._from_far_enough(place, since_us)
            place.kept.watches.pop(self.what, None)
        runs = stretches(judged, gap_us=self.gap_us, going=going)
        last_us = judged[-1].time_us if judged else 0
        told = [self.tell(place, run, not run.ended and run.end_us == last_us) for run in runs]
        if judged:
            self._keep(place, max(from_us, judged[-1].time_us - BESIDE_US), judged, going)
        from_us = from_us if going is None else min(from_us, going.end_us)
        return Found(from_us, [each for each in told if each is not None])

    def _judged(self, place: Place, from_us: int) -> list[Judged]:
        return [each for each in self.values(place, from_us, place.now_us + 1) if each.value is not None]

    def _from_far_enough(self, place: Place, since_us: int) -> tuple[int, list[Judged]]:
        known = [fact for _, fact in place.notices() if fact.what == self.what]
        from_us = self._begins(known, since_us)
        while True:
            judged = self._judged(place, from_us)
            if not judged or from_us <= place.begins_us or not self._runs_in(judged[0], from_us):
                return from_us, judged
            from_us = self._begins(known, from_us - (place.now_us - from_us))

    def _keep(self, place: Place, until_us: int, judged: Sequence[Judged], going: Stretch | None) -> None:
        """Keep what went on a little before the newest value: that one counts otherwise once another follows."""
        before = stretches((each for each in judged if each.time_us < until_us), gap_us=self.gap_us, going=going)
        place.kept.watches[self.what] = until_us, before[-1] if before and not before[-1].ended else None

    def _begins(self, known: Sequence[SiteSign], at_us: int) -> int:
        """So far back that the values before count that may belong to the first stretch.

        No known stretch is cut, and what may have gone on up to now is looked at again.
        """
        from_us = at_us - self.gap_us
        while cut := [
            fact.start_us - self.gap_us
            for fact in known
            if fact.start_us - self.gap_us < from_us and (fact.ongoing or from_us <= fact.end_us)
        ]:
            from_us = min(cut)
        return from_us

    def _runs_in(self, first: Judged, from_us: int) -> bool:
        """Whether the first value may belong to a stretch that began before it."""
        return first.value is not None and first.value > first.clear and first.time_us - from_us <= self.gap_us


def least(derived: Derived, limit: float) -> float | None:
    """What a value is at least, to be held against a limit; None where that says nothing.

    More than a sensor can show is more than that; less than it can show counts where even its end is no more than the
    limit.
    """
    if derived.value is not None or derived.limit is None:
        return derived.value
    if derived.flag == "above_range":
        return nextafter(derived.limit, inf)
    return derived.limit if derived.flag == "below_range" and derived.limit <= limit else None


def sign(
    place: Place,
    what: str,
    datastream: str,
    span: tuple[int, int],
    evidence: Known,
    *,
    going: bool = False,
    case: str = "",
    provision: str = "",
    present: bool = False,
) -> SiteSign:
    """What a watch has found at a place; for the arguments see SiteSign."""
    return SiteSign(
        municipality=place.site.municipality,
        site=place.site.id,
        what=what,
        datastream=datastream,
        start_us=span[0],
        end_us=span[1],
        ongoing=going,
        evidence=evidence,
        case=case,
        provision=provision,
        present=present,
    )


def condition(
    place: Place,
    run: Stretch,
    going: bool,
    *,
    what: str,
    case: str,
    clause: Provision,
    datastream: str,
    dwell_us: int,
    evidence: Known,
) -> SiteSign | None:
    """A stretch as a condition that makes a case; none for one that was over before it had lasted long enough."""
    present = run.end_us - run.start_us >= dwell_us
    if not present and not going:
        return None
    evidence = {**evidence, "dwell_min": dwell_us // MINUTE_US}
    span = run.start_us, run.end_us
    told = {"case": case, "provision": clause.id}
    return sign(place, what, datastream, span, evidence, going=going, present=present, **told)
