"""The case that a letter is about, with what its code, the registry and the ledger have for it, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, tzinfo
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from headwall.cases import steps
from headwall.cases.code import Code
from headwall.cases.running import Running, clocks_of
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.ledger.cases import Case, CaseStep
from headwall.notify.wording import due_time, full_time
from headwall.registry import Registry
from headwall.registry.model import Person, Site
from headwall.reports import evidence
from headwall.rules import citations
from headwall.rules.facts import Fact

P = TypeVar("P", bound=Provision)
#: the mark of a section number that is printed in the code
_PRINTED: Final = "P"


@dataclass
class Matter:
    """A case as a letter needs it.

    Attributes:
        uncertain: ids of the clauses that were cited and whose section number nobody has looked up.
    """

    conn: sa.Connection
    registry: Registry
    case: Case
    now_us: int
    code: Code = field(init=False)
    profile: Profile = field(init=False)
    site: Site = field(init=False)
    where: tzinfo = field(init=False)
    fact: Fact | None = field(init=False)
    uncertain: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.code = steps.code_of(self.conn, self.registry, self.case)
        self.profile = self.code.profile
        self.site = self.registry.require_site(self.case.site)
        self.where = self.registry.zone(self.case.municipality)
        self.fact = evidence.fact_of(self.conn, self.case)

    @property
    def day(self) -> date:
        """The local day that decides which clauses are in force."""
        return localtime.day_of(self.case.from_us, self.where)

    @property
    def article(self) -> str | None:
        return self.code.broken.article if self.code.broken else None

    def clause(self, kind: type[P], name: str = "") -> P | None:
        """The clause of a kind that stands in the article of the broken one, in force when it happened."""
        found = (each for each in self.profile.in_force(kind, self.day) if not name or each.kind == name)
        return next((each for each in found if each.article == self.article), None)

    def choice(self, key: str) -> Any:
        """How the municipality reads an open question when it happened."""
        return self.profile.choice(key, self.day)

    def cite(self, clause: Provision) -> str:
        """The section as a letter prints it; one that nobody has looked up is marked and remembered."""
        sure = citations.with_confirmation(self.conn, self.profile, clause, self.where)
        if sure.confirmed is not None or sure.confidence == _PRINTED:
            return clause.citation
        if clause.id not in self.uncertain:
            self.uncertain.append(clause.id)
        return f"{clause.citation} [{sure.confidence_text}]"

    def time(self, instant_us: int) -> str:
        """Local, with weekday, year and zone."""
        return full_time(instant_us, self.where)

    def span(self) -> str:
        first, last = self.case.from_us, self.case.until_us
        return self.time(first) if first == last else f"{self.time(first)} to {self.time(last)}"

    def step(self, action: str) -> CaseStep | None:
        """The last step of that name."""
        return next((each for each in reversed(self.case.steps) if each.action == action), None)

    def running(self, kind: str, name: str) -> Running | None:
        """A clock of the case."""
        found = clocks_of(self.code, self.case)
        return next((each for each in found if each.clause.kind == kind and each.clock.name == name), None)

    def last_time(self, kind: str, name: str) -> str:
        """When a clock runs out, or the day on which something begins, by the reading that counts; empty: it does not
        run yet.
        """
        clock = self.running(kind, name)
        if clock is None or clock.clock.taken_us is None:
            return ""
        taken_us = clock.clock.taken_us
        of_code = [each for each in clock.clause.deadlines if each.name == name]  # none where the notice sets the time
        if of_code and of_code[0].holds == "on":
            return self.time(taken_us).rpartition(",")[0]
        said = due_time(taken_us, self.where)
        return f"the {said}" if said.startswith("end of ") else said

    def person(self, *roles: str) -> Person | None:
        """Who has one of some roles at the site."""
        for role in roles:
            for each in self.registry.people_at(self.case.site, role, self.case.from_us):
                return each
        return None


def named(person: Person | None) -> str:
    """A person with his firm; empty for nobody."""
    return "" if person is None else ", ".join(filter(None, (person.name, person.firm)))
