"""What sensors show at sites beside storms and dry-weather flow: watched, kept as notices, told, made into cases.

A site is looked at when its sensors have spoken, when a layer over their readings has changed, and when a person has
measured there by hand or decided something about a code. Each watch finds all there is from then on, in event time, so
that late and shuffled readings end where those on time do. A condition makes a case that waits for a person: it is
told in the digest while it is a suspicion, and at once when it has lasted; a sign makes none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, Literal

import sqlalchemy as sa

from headwall.cases import steps, suspicion
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.ledger import cases, schema
from headwall.ledger.entries import SepticMeasurement, Withdrawal, entry, kind_of
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry
from headwall.registry.measures import Role
from headwall.registry.model import Site
from headwall.rules import episode_notices, septic, water_conditions
from headwall.rules.base import Step
from headwall.rules.facts import SiteSign
from headwall.rules.layers import Stretch
from headwall.rules.tell import tell, to_be_told, withdraw
from headwall.rules.watch import BESIDE_US, Kept, Place, Watch

WATCHES: Final[tuple[Watch, ...]] = (*septic.WATCHES, *water_conditions.WATCHES)
#: signs that the digest tells; the others are told by the duties that follow of them
_TOLD: Final = frozenset({septic.LEAK, septic.SURGES, septic.DIFFERS})
_LASTED: Final = "it has lasted as long as it must to be present"
_ENTRIES: Final = "rules.site_signs.entries"
_BY_HAND: Final = (kind_of(SepticMeasurement), kind_of(Withdrawal))


class SiteSignRule:
    """Opens, changes and closes notices and cases, see the head of this module.

    Args:
        profiles: by the name that the registry's municipalities give.
        historical_after_us: what is learned so long after it ended is not mailed.
    """

    name = "site_signs"

    def __init__(
        self, ledger: Ledger, registry: Registry, profiles: Mapping[str, Profile], historical_after_us: int
    ) -> None:
        self._ledger = ledger
        self._registry = registry
        self._profiles = profiles
        self._historical_after_us = historical_after_us
        self._entries: int | None = None
        self._kept: dict[str, Kept] = {}
        found = {site.id: [watch for watch in WATCHES if watch.at(registry, site)] for site in registry.sites}
        self._watches = {site: watches for site, watches in found.items() if watches}
        self._read_at: dict[str, set[tuple[str, Role | None]]] = {}
        for name in self._watches:
            for sensor in registry.require_site(name).sensors:
                self._read_at.setdefault(sensor.datastream, set()).add((name, sensor.of))

    def next_us(self) -> int | None:
        return None

    def forget(self) -> None:
        self._entries = None
        self._kept = {}

    def judge(self, step: Step) -> None:
        since: dict[str, dict[Role | None, int]] = {}
        for name, role, start_us in (*self._spoken(step), *self._measured(step.conn, step.newest.entries)):
            of_site = since.setdefault(name, {})
            of_site[role] = min(start_us, of_site.get(role, start_us))
        for name, of_site in since.items():
            site = self._registry.require_site(name)
            stretch = Stretch(site.sensors[0].datastream, min(of_site.values()), step.now_us)
            kept = self._kept.pop(name, None) or Kept()
            with step.guarded(f"{name}, what its sensors show", stretch):
                self._judge_site(step, site, of_site, kept)
                self._kept[name] = kept  # of what fails nothing is kept

    def _spoken(self, step: Step) -> Iterator[tuple[str, Role | None, int]]:
        """Sites whose sensors have said something new, or whose readings count otherwise now; which, and since when."""
        if step.decided_since is not None:
            for site in self._watches:
                zone = self._registry.zone(self._registry.require_site(site).municipality)
                yield site, None, min(localtime.midnight_us(step.decided_since, zone), step.now_us)
        changed = [*step.measured.items(), *((each.datastream, each.start_us) for each in step.again)]
        for datastream, start_us in changed:
            for site, role in self._read_at.get(datastream, ()):
                yield site, role, start_us - BESIDE_US

    def _measured(self, conn: sa.Connection, newest: int) -> list[tuple[str, None, int]]:
        """Sites of which something measured by hand is new or stands no more."""
        c = schema.entries.c
        if newest == self._entries:
            return []
        self._entries, judged = newest, self._ledger.cursor(conn, _ENTRIES)
        if newest == judged:
            return []
        self._ledger.set_cursor(conn, _ENTRIES, newest)
        query = sa.select(c.id, c.replaces).where(c.id > judged, c.kind.in_(_BY_HAND))
        numbers = [number for row in conn.execute(query) for number in row if number is not None]
        found = [each for number in numbers if (each := entry(conn, number)) is not None]
        return [(each.subject, None, each.done_us) for each in found if each.subject in self._watches]

    def _judge_site(self, step: Step, site: Site, since: Mapping[Role | None, int], kept: Kept) -> None:
        profile = self._profiles[self._registry.municipality(site.municipality).profile]
        place = Place(step.conn, self._registry, profile, site, step.now_us, kept)
        for watch in self._watches[site.id]:
            starts = [start_us for role, start_us in since.items() if role is None or watch.reads(role)]
            found = watch.found(place, min(starts)) if starts else None
            if found is None:
                continue
            judged, known = partial(_judged, watch.what, found.from_us), place.notices()
            changes = episode_notices.sync(step.conn, SiteSign, site.id, found.signs, step.now_us, judged, known)
            if changes:
                kept.notices = None
            for change in changes:
                self._follow(step, change.key, change.fact, stands=change.stands)

    def _follow(self, step: Step, key: str, fact: SiteSign, *, stands: bool) -> None:
        """What becomes of a sign: mails, and the case of a condition."""
        lasted = f"{key}/present"
        withdraw(step.conn, key)
        withdraw(step.conn, lasted)
        historical = step.now_us - fact.end_us > self._historical_after_us
        if fact.case:
            self._follow_case(step, key, fact, stands=stands, historical=historical)
        if stands and not historical and (fact.case or fact.what in _TOLD):
            told = to_be_told(step.conn, self._registry, fact.datastream, fact.municipality, step.now_us)
            how: Literal["now", "digest"] = "now" if fact.present else "digest"
            tell(step.conn, lasted if fact.present else key, fact, told, how, step.now_us)

    def _follow_case(self, step: Step, key: str, fact: SiteSign, *, stands: bool, historical: bool) -> None:
        suspicion.follow(
            step.conn,
            key,
            kind=fact.case,
            municipality=fact.municipality,
            site=fact.site,
            span=fact.span,
            stands=stands,
            historical=historical,
            now_us=step.now_us,
            provision=fact.provision,
        )
        case = cases.of_notice(step.conn, key)
        if case is not None and fact.present and all(each.action != "say_present" for each in case.steps):
            steps.by_gateway(step.conn, case, "say_present", note=_LASTED, now_us=step.now_us)


def _judged(what: str, from_us: int, fact: SiteSign) -> bool:
    """Whether a notice is among those that a watch has found anew."""
    return fact.what == what and fact.end_us >= from_us
