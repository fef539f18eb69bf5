"""Construction sites: whether the code applies to a project, and when its clauses on construction hold there.

What nobody has declared is not known. A clause is then taken to hold where the area may reach it, since the other way
round nobody would be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from headwall.law.provision import Provision
from headwall.law.provisions import Area
from headwall.registry.project import SiteProject
from headwall.rules.clauses.expected import Done, Expected, unanswered
from headwall.rules.clauses.look import FOREVER_US, Look
from headwall.units import parse_area

Span = tuple[int, int]


@dataclass(frozen=True)
class Work:
    """A stretch in which a clause holds for a project under construction; `end_us` is far off while it goes on."""

    start_us: int
    end_us: int
    project: SiteProject


@dataclass(frozen=True)
class Applies:
    """Whether the code applies to a project at an instant, and why, in words."""

    clause: Area | None
    yes: bool
    why: str


def applies(look: Look, project: SiteProject, at_us: int) -> Applies:
    """By the disturbed area, the exemptions and the larger plan; without such a clause the code applies."""
    clause = next((each for each in look.profile.of(Area) if _is_threshold(look, each, at_us)), None)
    entry = project.entry
    if clause is None:
        return Applies(None, True, "the code has no area from which on it applies")
    if entry.exempt:
        return Applies(clause, False, f"exempt, says {entry.exempt_by}: {entry.exempt}")
    if project.area >= parse_area(clause.area):
        return Applies(clause, True, f"{entry.area} disturbed, {clause.area} or more")
    if entry.common_plan and clause.common_plan == "any":
        return Applies(clause, True, f"part of a larger common plan, {entry.common_plan}")
    summed = clause.common_plan == "open" and look.choice("common_plan.sum_areas", at_us)
    if summed and entry.common_area and parse_area(entry.common_area) >= parse_area(clause.area):
        return Applies(clause, True, f"{entry.common_area} in the larger common plan {entry.common_plan}")
    return Applies(clause, False, f"{entry.area} disturbed, less than {clause.area}")


def _is_threshold(look: Look, clause: Area, at_us: int) -> bool:
    return clause.kind == "applicability" and clause.in_force(look.day(at_us))


def work(look: Look, provision: Provision, *, while_active: bool = True) -> list[Work]:
    """When a clause on construction holds at the site: from the start of work to final stabilisation.

    Args:
        while_active: only while the site is active.
    """
    found = []
    active = look.active_spans() if while_active else [(0, FOREVER_US)]
    for project in look.projects:
        look.wake(project.start_us)
        if project.start_us is None or project.start_us > look.now_us:
            continue
        if not applies(look, project, project.start_us).yes:
            continue
        end_us = _first(project.stabilised_us, project.span.end_us)
        own = [(max(project.start_us, project.span.start_us), end_us)]
        for start_us, until_us in overlaps(overlaps(own, [look.in_force(provision)]), active):
            look.wake(start_us)
            look.wake(until_us)
            if start_us <= look.now_us:
                found.append(Work(start_us, until_us, project))
    return sorted(found, key=lambda each: each.start_us)


def overlaps(some: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """The stretches that are in both."""
    others = list(others)
    both = ((max(a, c), min(b, d)) for a, b in some for c, d in others)
    return sorted((start_us, end_us) for start_us, end_us in both if start_us < end_us)


def within(look: Look, part: Work, spans: Iterable[Span]) -> list[Work]:
    """The part of some work, as far as it has begun, that lies within some stretches."""
    found = overlaps([(part.start_us, part.end_us)], spans)
    for start_us, end_us in found:
        look.wake(start_us)
        look.wake(end_us)
    return [Work(start_us, end_us, part.project) for start_us, end_us in found if start_us <= look.now_us]


def open_area_spans(project: SiteProject, least: Fraction, *, more: bool = False) -> list[Span]:
    """When so much may be open at once, or `more`. Where nobody has said how much, all that the project disturbs."""

    def reaches(area: Fraction) -> bool:
        return area > least if more else area >= least

    known = sorted((span.start_us, _first(span.end_us), parse_area(span.entry.area)) for span in project.open)
    found, at_us = [], 0
    for start_us, end_us, area in known:
        if at_us < start_us and not more and reaches(project.area):
            found.append((at_us, start_us))
        if reaches(area):
            found.append((start_us, end_us))
        at_us = end_us
    if at_us < FOREVER_US and not more and reaches(project.area):
        found.append((at_us, FOREVER_US))
    return joined(found)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Stretches in order of their begin, with those that touch or overlap made one."""
    found: list[Span] = []
    for start_us, end_us in spans:
        if found and start_us <= found[-1][1]:
            found[-1] = (found[-1][0], max(end_us, found[-1][1]))
        else:
            found.append((start_us, end_us))
    return found


def _first(*instants: int | None) -> int:
    return min((each for each in instants if each is not None), default=FOREVER_US)


def too_much_open(look: Look, provision: Provision) -> Iterator[Expected]:
    """More ground open at once than the code has it, unless the approved plan allows it: a warning to the officer."""
    assert isinstance(provision, Area)
    if provision.kind != "disturbance_ceiling":
        return
    for each in work(look, provision, while_active=False):
        allowed = each.project.entry.approved_open or provision.area
        ceiling = max(parse_area(allowed), parse_area(provision.area))
        for over in within(look, each, open_area_spans(each.project, ceiling, more=True)):
            area = each.project.open_at(over.start_us)
            yield Expected(
                provision,
                name="",
                occurrence=look.iso(over.start_us),
                starts={},
                asks=f"More open at once than {allowed}: {area.area if area else 'unknown'}; ask what the plan allows",
                evidence={"open": area.area if area else "", "said by": area.by if area else ""},
                owed_by=who(look, over.start_us, "developer", "applicant"),
                gone=unanswered(_no_longer(look, each, over, allowed)),
            )


def _no_longer(look: Look, part: Work, over: Work, allowed: str) -> str:
    if over.end_us > look.now_us:
        return ""
    what = "construction is over" if over.end_us == part.end_us else f"no more than {allowed} is open"
    return f"{what} since {look.day(over.end_us)}"


def owing(look: Look, due_us: int | None, done: Done | None, *roles: str) -> str:
    """As `who`, of what is due at a known time: who has the part; once it was due or done, who had it then."""
    ends_us = [each for each in (due_us, None if done is None else done.at_us) if each is not None]
    look.wake(due_us)
    for _, part in look.registry.parts(look.site.id):
        look.wake(part.start_us)
    return who(look, min(look.now_us, *ends_us) if ends_us else look.now_us, *roles)


def who(look: Look, at_us: int, *roles: str) -> str:
    """Who had the first of some parts in a site that anybody had, by name and firm; "" for nobody."""
    for role in roles:
        people = look.people(role, at_us)
        if people:
            return ", ".join(f"{each.name}, {each.firm}" if each.firm else each.name for each in people)
    return ""
