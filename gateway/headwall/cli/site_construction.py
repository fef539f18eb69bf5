"""A construction site in `headwall site show`: whether the code applies, its areas and conditions, its clocks, and
what is on record of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from headwall.cli import site_clocks, site_gates
from headwall.cli.entry_text import as_data, said
from headwall.cli.opened import Opened
from headwall.cli.site_parts import Found, cited, day_text, entered_text, row
from headwall.law.provision import CONFIDENCE_TEXT
from headwall.law.provisions import Area, Conditions
from headwall.ledger import entries
from headwall.registry.model import Site
from headwall.registry.project import SiteProject
from headwall.rules.clauses import Look
from headwall.rules.clauses.construction import applies, too_much_open

_RECORDS = (
    ("contractor", "contractor"),
    ("inspector", "inspector"),
    ("presence", "who was there"),
    ("plan", "SWPPP"),
)


def gathered(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found:
    look = Look(conn, at.registry, at.code_of(site.municipality), site, at_us)
    project = at.registry.project_at(site.id, at_us)
    return {
        "project": None if project is None else _project(look, project, at_us),
        "clocks": site_clocks.gathered(conn, at, site, at_us),
        "records": {name: None if entry is None else _entered(entry) for name, entry in _records(look).items()},
        "gates": site_gates.gathered(look, project),
        "state_permit": look.profile.state_permit_notice(look.day(at_us)),
    }


def _project(look: Look, project: SiteProject, at_us: int) -> Found:
    entry, open_now, declared = project.entry, project.open_at(at_us), project.conditions_at(at_us)
    applied = applies(look, project, at_us)
    return {
        "name": entry.name,
        "area": entry.area,
        "open": None if open_now is None else {"area": open_now.area, "by": open_now.by},
        "ceiling": [_ceiling(look, each) for each in look.profile.of(Area) if each.kind == "disturbance_ceiling"],
        "applies": applied.yes,
        "why": applied.why,
        "provision": None if applied.clause is None else cited(applied.clause),
        "conditions": None if declared is None else {"met": list(declared.met), "by": declared.by},
        "asks_conditions": "; ".join(_conditions(look)),
        "start_us": project.start_us,
        "planned_end": None if entry.planned_end is None else entry.planned_end.isoformat(),
        "stabilised_us": project.stabilised_us,
    }


def _conditions(look: Look) -> Iterator[str]:
    """The code's conditions in its letters and our words."""
    for clause in look.profile.of(Conditions):
        for letter, text in clause.conditions.items():
            yield f"{letter}, {text}"


def _ceiling(look: Look, clause: Area) -> Found:
    return {
        **cited(clause),
        "area": clause.area,
        "exceeded": any(not each.gone for each in too_much_open(look, clause)),
    }


def _records(look: Look) -> dict[str, entries.Entry[Any] | None]:
    """The latest of each kind."""
    reports = look.entries(entries.SiteReport)

    def signed_as(role: str) -> list[entries.Entry[entries.SiteReport]]:
        return [each for each in reports if role in {signature.role for signature in each.body.signed}]

    return {
        "contractor": _last(signed_as("trained_contractor")),
        "inspector": _last(signed_as("qualified_inspector")),
        "presence": _last(look.entries(entries.Presence)),
        "plan": _last(look.entries(entries.PlanSeen)),
    }


def _last(found: Sequence[entries.Entry[Any]]) -> entries.Entry[Any] | None:
    return found[-1] if found else None


def _entered(entry: entries.Entry[Any]) -> Found:
    return {**as_data(entry), "said": said(entry.body)}


def lines(found: Found, at: Opened) -> Iterator[str]:
    project = found["project"]
    if project is None:
        yield "Construction: no project in the registry (`projects` of the site): no clock runs but that of storms"
    else:
        yield from _project_lines(project, at)
    if found["state_permit"]:
        yield row("State permit", found["state_permit"])
    yield from site_clocks.lines(found["clocks"], at)
    yield "Last on record"
    for name, head in _RECORDS:
        entry = found["records"][name]
        yield row(head, "nothing on record" if entry is None else entered_text(entry, at))
    yield from site_gates.lines(found["gates"], at)


def _project_lines(project: Found, at: Opened) -> Iterator[str]:
    yield f"Construction: {project['name']}, {project['area']} in all"
    clause = project["provision"]
    where = "" if clause is None else f" ({clause['citation']}: {CONFIDENCE_TEXT[clause['confidence']]})"
    yield row("the code", f"{'applies' if project['applies'] else 'does not apply'}: {project['why']}{where}")
    open_now = project["open"]
    yield row("open at once", "nobody has said" if open_now is None else f"{open_now['area']}, said {open_now['by']}")
    for ceiling in project["ceiling"]:
        over = "MORE THAN " if ceiling["exceeded"] else "up to "
        yield row("", f"{over}{ceiling['area']} unless the approved SWPPP has more ({ceiling['citation']})")
    conditions = project["conditions"]
    if conditions is not None:
        met = ", ".join(conditions["met"]) or "none"
        yield row("conditions met", f"{met}, said {conditions['by']}")
    elif project["asks_conditions"]:
        yield row("conditions met", f"nobody has said: {project['asks_conditions']}")
    started, ended = project["start_us"], project["stabilised_us"]
    yield row("work", "not started" if started is None else f"since {day_text(started, at)}")
    if ended is not None:
        yield row("", f"finally stabilised {day_text(ended, at)}")
    elif project["planned_end"]:
        yield row("", f"planned until {project['planned_end']}")
