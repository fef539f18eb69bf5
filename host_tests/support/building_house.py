"""A construction site with a project, and what persons record of it, for the tests of its clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from headwall.law import localtime
from headwall.ledger import schema
from headwall.ledger.entries import Body, PlanSeen, Presence, Signature, SiteReport, Withdrawal
from headwall.registry import Registry, load_registry
from headwall.rules import duties
from headwall.rules.facts import ClauseDuty

from support.profile_text import profile_text
from support.registry_text import ACTIVE
from support.rules_house import House, make_registry

NEW_YORK = localtime.zone("America/New_York")
OFFICER = "Olive Officer"
TOM, INA = ("Tom", "trained_contractor"), ("Ina", "qualified_inspector")


def local(text: str) -> int:
    """The instant of a New York time such as "2026-06-10 12:00"."""
    return localtime.from_local(datetime.fromisoformat(text), NEW_YORK)


def shown(instant_us: int | None) -> str | None:
    """An instant as "2026-06-10 12:00", local."""
    return None if instant_us is None else localtime.iso(instant_us, NEW_YORK)[:16].replace("T", " ")


def project(*more: str, area: str = "6 acres", start: str = "2026-06-01") -> str:
    """A project in the registry's TOML."""
    lines = ('name = "Phase 1"', "from = 2026-01-01", f'area = "{area}"', f"start_of_work = {start}")
    return "\n".join(["[[sites.projects]]", *lines, *more, ""])


def choice(key: str, value: str, since: str = "2026-01-01") -> str:
    """The municipality's own reading of an open question, as its profile has it."""
    return f'[[choice]]\nkey = "{key}"\nvalue = {value}\nfrom = {since}\nby = "Village Attorney"\n'


def building_registry(
    folder: Path, projects: str, *, code: str, choices: str, status: str, contractor: bool = False
) -> Registry:
    """One construction site, `yard`, under a code with the municipality's choices.

    Args:
        contractor: its developer, `builder`, is its trained contractor too.
    """
    path, own = folder / "registry.toml", folder / "code.toml"
    own.write_text(f"{profile_text(code)}\n{choices}", "utf-8")
    registry = make_registry(folder, code=str(own), more=projects, status=status)
    if not contractor:
        return registry
    part = '{ person = "builder", role = "developer", from = 2020-01-01 }'
    both = f"{part}, {part.replace('developer', 'trained_contractor')}"
    path.write_text(path.read_text("utf-8").replace(part, both), "utf-8")
    return load_registry(path)


class Building(House):
    """A house whose site is under construction."""

    def enter(self, body: Body, when: str, by: str, replaces: int | None = None) -> int:
        """Put an entry into the ledger, done at a local time; its number."""
        return self.entered("yard", body, local(when), by=by, replaces=replaces)

    def report(
        self,
        when: str,
        *signed: tuple[str, str],
        visited: str = "",
        replaces: int | None = None,
        delivered: bool = True,
    ) -> int:
        """A report that was completed at a local time, by default of Tom, delivered at once."""
        people = signed or (TOM,)
        body = SiteReport(
            visited_us=local(visited or when),
            signed=[Signature(name, role) for name, role in people],  # type: ignore[arg-type]
            delivered_us=local(when) if delivered else None,
            delivered_to=OFFICER if delivered else "",
        )
        return self.enter(body, when, people[0][0], replaces)

    def withdraw(self, number: int) -> None:
        self.enter(Withdrawal(reason="a slip"), "2026-06-01 12:00", "Tom", number)

    def was_there(self, day: str, *contractors: str, work: bool = True) -> int:
        return self.enter(Presence(day=day, work=work, contractors=list(contractors)), f"{day} 12:00", "Bella")

    def looked_for_plan(self, when: str, *, there: bool) -> int:
        return self.enter(PlanSeen(there=there), when, "Olive")

    def at(self, when: str) -> Building:
        """Let the engine judge at a local time."""
        self.judge(local(when))
        return self

    def all(self, kind: str) -> list[duties.Duty[ClauseDuty]]:
        """The duties whose clause is of a kind, by due time."""
        profile = self.engine._codes[self.registry.municipalities[0].profile]
        ids = {each.id for each in profile.provisions if each.kind == kind}
        with self.ledger.read() as conn:
            known = duties.listed(conn, everything=True, site="yard")
        found = [each for each in known if isinstance(each.body, ClauseDuty) and each.body.provision in ids]
        return sorted(found, key=lambda each: (each.body.due_us or 0, each.body.occurrence))

    def open(self, kind: str, name: str = "next") -> list[str | None]:
        """When the open ones of a deadline's name are due, local."""
        return [shown(each.body.due_us) for each in self.all(kind) if each.state == "open" and each.body.name == name]

    def told(self) -> list[tuple[str, str]]:
        """Facts of duties in the outbox that wait for a mail, and how they are told."""
        c = schema.outbox.c
        query = sa.select(c.fact, c.how).where(c.fact.startswith("duty/"), c.mail.is_(None)).order_by(c.id)
        with self.ledger.read() as conn:
            return [(row.fact, row.how) for row in conn.execute(query)]

    def records(self) -> list[tuple[str, str]]:
        """Kind and name of each row of the log book about duties."""
        c = schema.records.c
        query = sa.select(c.kind, c.by).where(c.kind.startswith("duty_")).order_by(c.n)
        with self.ledger.read() as conn:
            return [(row.kind, row.by) for row in conn.execute(query)]


@contextmanager
def buildings(folder: Path) -> Iterator[Callable[..., Building]]:
    """Makes buildings, and closes them."""
    with ExitStack() as made:

        def make(
            projects: str,
            *,
            code: str = "elmsford",
            choices: str = "",
            status: str = ACTIVE,
            contractor: bool = False,
        ) -> Building:
            registry = building_registry(
                folder, projects, code=code, choices=choices, status=status, contractor=contractor
            )
            house = Building(registry, local("2026-06-01 09:00"))
            made.callback(house.close)
            return house

        yield make
