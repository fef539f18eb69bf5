"""What a planner sees of a site: registry, profile, and what persons have entered, read once an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, tzinfo
from functools import cached_property
from typing import Any, TypeVar

import sqlalchemy as sa

from headwall.law import clocks, localtime
from headwall.law.deadlines import Start
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.ledger import approvals, entries
from headwall.ledger.approvals import Approval
from headwall.ledger.entries import Entry
from headwall.registry import Registry
from headwall.registry.model import Person, Site, SiteStatus
from headwall.registry.project import SiteProject
from headwall.registry.spans import Span
from headwall.rules import duties

B = TypeVar("B", bound=entries.Body)
FOREVER_US = 2**62


class Look:
    """One site at one instant.

    Attributes:
        where: the municipality's time zone.
        now_us: nothing later has happened yet.
        again_us: when the site has to be looked at again although nobody enters anything; planners say so by `wake`.
    """

    def __init__(self, conn: sa.Connection, registry: Registry, profile: Profile, site: Site, now_us: int) -> None:
        self.conn = conn
        self.registry = registry
        self.profile = profile
        self.site = site
        self.where: tzinfo = registry.zone(site.municipality)
        self.now_us = now_us
        self.again_us: int | None = None
        self._entries: dict[str, list[Any]] = {}
        self._choices: dict[str, tuple[list[date], Any]] = {}
        for span in self.status:
            self.wake(span.start_us)
            self.wake(span.end_us)

    # --- instants ---

    def wake(self, at_us: int | None) -> None:
        """Look at the site again at an instant; one that has come says nothing."""
        if at_us is not None and at_us > self.now_us and (self.again_us is None or at_us < self.again_us):
            self.again_us = at_us

    def day(self, at_us: int) -> date:
        """The local day of an instant."""
        return localtime.day_of(at_us, self.where)

    def noon_us(self, day: date) -> int:
        """The middle of a local day: whether something held on it is asked then."""
        start_us, end_us = localtime.day_bounds(localtime.midnight_us(day, self.where), self.where)
        return (start_us + end_us) // 2

    def iso(self, at_us: int) -> str:
        """An instant as text for `Expected.occurrence`."""
        return localtime.iso(at_us, self.where)

    # --- the ledger ---

    def entries(self, kind: type[B], subject: str | None = None) -> list[Entry[B]]:
        """What stands of a kind and was done by now, at the site (or of another subject), by time."""
        subject = subject or self.site.id
        if subject not in self._entries:
            self._entries[subject] = entries.standing_of(self.conn, subject, self.now_us)
        return [each for each in self._entries[subject] if isinstance(each.body, kind)]

    def latest(self, kind: type[B], name: Callable[[B], str]) -> list[Entry[B]]:
        """Of entries at the site that are about the same thing, by its name, the last."""
        found = sorted(self.entries(kind), key=lambda each: (each.done_us, each.digest))
        return list({name(each.body): each for each in found}.values())

    def approvals(self, kind: str | None = None) -> list[Approval]:
        """What stands in the register for the site or its whole municipality, of one kind if asked so, by time.

        Those that have ended or begin later are there too.
        """
        return [each for each in self._approvals if kind is None or each.kind == kind]

    @cached_property
    def _approvals(self) -> list[Approval]:
        return approvals.of_site(self.conn, self.site.municipality, self.site.id)

    def not_needed(self, provision: Provision) -> set[str]:
        """Occurrences of a clause's duties here that a person has closed as not needed."""
        closed = (each for each in self.held if each.state == "not_needed")
        return {each.occurrence for each in closed if each.provision == provision.id}

    @cached_property
    def held(self) -> list[duties.Held]:
        """The duties that clauses have made due here before."""
        return duties.held(self.conn, self.site.id)

    # --- the registry ---

    @property
    def status(self) -> list[Span[SiteStatus]]:
        """The site's dated states."""
        return self.registry.status_spans(self.site.id)

    def status_at(self, at_us: int) -> str:
        """active, shut_down, stabilised, closed; "none" where the registry has no status."""
        found = self.registry.status_of(self.site.id, at_us)
        return "none" if found is None else found.status

    def active_spans(self) -> list[tuple[int, int]]:
        """When the site is active, as (start, end) without holes between, the end far off where it is open."""
        found: list[tuple[int, int]] = []
        for span in sorted(self.status, key=lambda each: each.start_us):
            if span.entry.status != "active":
                continue
            end_us = FOREVER_US if span.end_us is None else span.end_us
            if found and span.start_us <= found[-1][1]:
                found[-1] = (found[-1][0], max(found[-1][1], end_us))
            else:
                found.append((span.start_us, end_us))
        return found

    @property
    def projects(self) -> list[SiteProject]:
        """The projects of a construction site."""
        return self.registry.projects(self.site.id)

    def people(self, role: str, at_us: int) -> list[Person]:
        return self.registry.people_at(self.site.id, role, at_us)

    # --- the law ---

    def choice(self, key: str, at_us: int | None = None) -> Any:
        """The municipality's own reading of an open question, in force on the local day of an instant (now)."""
        if key not in self._choices:
            dates = [each.valid_from for each in self.profile.choices if each.key == key]
            for each in dates:
                self.wake(localtime.midnight_us(each, self.where))
            self._choices[key] = dates, self.profile.choice(key, date.min)
        dates, default = self._choices[key]
        if not dates:
            return default
        return self.profile.choice(key, self.day(self.now_us if at_us is None else at_us))

    def due(self, expected_by: Provision, name: str, starts: Mapping[Start, int]) -> clocks.Due:
        """When a deadline of a clause falls, under both readings."""
        return self.profile.due(expected_by, expected_by.deadline(name), starts, self.where)

    def remind_us(self, expected_by: Provision, name: str, starts: Mapping[Start, int]) -> int | None:
        """When it is asked for again before that deadline, where the profile proposes it."""
        deadline = expected_by.deadline(name)
        if deadline.remind is None:
            return None
        first = deadline.model_copy(update={"count": deadline.remind})
        return self.profile.due(expected_by, first, starts, self.where).taken_us

    def in_force(self, provision: Provision) -> tuple[int, int]:
        """From when to when a clause is in force here; without dates in the source always."""
        since, until = provision.valid_from, provision.valid_to
        return (
            0 if since is None else localtime.midnight_us(since, self.where),
            FOREVER_US if until is None else localtime.midnight_us(until, self.where),
        )
