"""Contractors and inspectors of a construction site: their training, and what they sign before they work."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from headwall.law.provision import Provision
from headwall.law.provisions import ContractorTraining
from headwall.ledger.entries import Certification, Entry, Presence, SiteReport, Training
from headwall.registry.model import Person
from headwall.registry.project import SiteProject
from headwall.rules.clauses.construction import Span, applies, overlaps, who, work
from headwall.rules.clauses.expected import Expected, recorded, unanswered
from headwall.rules.clauses.look import FOREVER_US, Look

#: training that ends is asked for so long before
_AHEAD_US: Final = 60 * 86_400 * 1_000_000
_CONTRACTOR: Final = "trained_contractor"


@dataclass(frozen=True)
class _Needed:
    """A person at the site, and when a clause asks something of him there, as far as that has begun."""

    person: Person
    start_us: int
    end_us: int

    def over(self, look: Look) -> str:
        return (
            f"{self.person.name} has no part there since {look.day(self.end_us)}" if self.end_us <= look.now_us else ""
        )


def _needed(look: Look, roles: list[str], spans: list[Span]) -> list[_Needed]:
    """From the first need of a person to the last; one for each person."""
    found: dict[str, _Needed] = {}
    for person, part in look.registry.parts(look.site.id):
        if part.entry.role not in roles:
            continue
        own = [(part.start_us, FOREVER_US if part.end_us is None else part.end_us)]
        for start_us, end_us in overlaps(own, spans):
            look.wake(start_us)
            look.wake(end_us)
            if start_us > look.now_us:
                continue
            before = found.get(person.id, _Needed(person, start_us, end_us))
            found[person.id] = _Needed(person, min(before.start_us, start_us), max(before.end_us, end_us))
    return list(found.values())


def trained_contractor(look: Look, provision: Provision) -> Iterator[Expected]:
    """The training of each who needs it: that it was had, and again before its time is over."""
    assert isinstance(provision, ContractorTraining)
    spans = [(each.start_us, each.end_us) for each in work(look, provision, while_active=False)]
    for needed in _needed(look, [str(each) for each in provision.roles], spans):
        entered = look.entries(Training, needed.person.id)
        had = [each for each in entered if _counts(each, provision)]
        answer = f"headwall record training {needed.person.id} --hours {provision.hours} --reference TEXT --by NAME"
        short = [f"{each.body.hours} h, entry {each.id}" for each in entered if each not in had]
        yield Expected(
            provision,
            name="",
            occurrence=f"{needed.person.id} first",
            starts={},
            asks=f"Enter the training of {needed.person.name}, {provision.hours} hours or more",
            owed_by=_named(needed.person),
            evidence={"too short": "; ".join(short)} if short and not had else {},
            answer=answer,
            done=recorded(had[0]) if had else None,
            gone="" if had else unanswered(needed.over(look)),
        )
        yield from _again(look, provision, needed, had, answer)
    yield from _unknown(look, provision, spans)


def _unknown(look: Look, provision: ContractorTraining, spans: list[Span]) -> Iterator[Expected]:
    """Who is on record as one who needs the training, and has no such part in the registry: one advice a name."""
    people = [person for person, part in look.registry.parts(look.site.id) if part.entry.role in provision.roles]
    known = {text.casefold() for person in people for text in (person.id, person.name)}
    for name, (at_us, entry) in _on_record(look, provision, spans).items():
        if name.casefold() in known:
            continue
        yield Expected(
            provision,
            name="",
            occurrence=f"who is {hashlib.sha256(name.casefold().encode()).hexdigest()[:16]}",
            starts={},
            asks=f"Say who {name} is, and when the training was: a part in the site's registry, then the training",
            owed_by=who(look, at_us, "developer", "applicant"),
            evidence={"named by": f"{entry.by}, entry {entry.id}", "on": str(look.day(at_us))},
            answer=f"headwall record training PERSON --hours {provision.hours} --reference TEXT --by NAME",
            advice=True,
        )


def _on_record(look: Look, provision: ContractorTraining, spans: list[Span]) -> dict[str, tuple[int, Entry[Any]]]:
    """Names under reports, and of who was there while there was work: since when, and the entry that says so."""
    found: list[tuple[int, str, str, Entry[Any]]] = []
    for report in look.entries(SiteReport):
        named = [each.name for each in report.body.signed if each.role in provision.roles]
        found += [(report.body.visited_us, report.digest, name, report) for name in named]
    for there in look.entries(Presence) if _CONTRACTOR in provision.roles else ():
        noon_us = look.noon_us(date.fromisoformat(there.body.day))
        found += [(noon_us, there.digest, name, there) for name in there.body.contractors]
    first: dict[str, tuple[int, Entry[Any]]] = {}
    for at_us, _, name, entry in sorted(found, key=lambda each: each[:-1]):
        if any(start_us <= at_us < end_us for start_us, end_us in spans):
            first.setdefault(name, (at_us, entry))
    return first


def _again(
    look: Look, provision: ContractorTraining, needed: _Needed, had: list[Entry[Training]], answer: str
) -> Iterator[Expected]:
    for last, following in zip(had, [*had, None][1:], strict=True):
        if last.body.credential:
            return
        if following is not None and following.done_us < needed.start_us:
            continue  # before it was asked here
        due = look.due(provision, "next", {"last_training": last.done_us})
        assert due.taken_us is not None
        if following is None and due.taken_us - _AHEAD_US > look.now_us:
            look.wake(due.taken_us - _AHEAD_US)
            return
        yield Expected(
            provision,
            name="next",
            occurrence=f"{needed.person.id} after {look.iso(last.done_us)}",
            starts={"last_training": last.done_us},
            asks=f"Training of {needed.person.name} again, {provision.hours} hours or more",
            owed_by=_named(needed.person),
            evidence={"last training": f"{last.body.reference}, entry {last.id}"},
            answer=answer,
            done=recorded(following),
            gone="" if following is not None or due.taken_us <= needed.end_us else needed.over(look),
        )


def _counts(entry: Entry[Training], provision: ContractorTraining) -> bool:
    return bool(entry.body.credential) or Decimal(entry.body.hours) >= provision.hours


def certification(look: Look, provision: Provision) -> Iterator[Expected]:
    """Each contractor's certification of the plan, which comes before any work."""
    for project in look.projects:
        look.wake(project.span.start_us)
        look.wake(project.start_us)
        if project.span.start_us > look.now_us or not applies(look, project, project.span.start_us).yes:
            continue
        until_us = min(project.stabilised_us or FOREVER_US, project.span.end_us or FOREVER_US)
        spans = overlaps([(project.span.start_us, until_us)], [look.in_force(provision)])
        for needed in _needed(look, [_CONTRACTOR], spans):
            yield _certified(look, provision, project, needed)


def _certified(look: Look, provision: Provision, project: SiteProject, needed: _Needed) -> Expected:
    person = needed.person
    signed = next((each for each in look.entries(Certification) if _is_of(each, person, project, needed)), None)
    late = project.start_us is not None and project.start_us <= (look.now_us if signed is None else signed.done_us)
    over = "" if signed is not None else needed.over(look)
    worked = project.start_us is not None and project.start_us < needed.end_us
    return Expected(
        provision,
        name="",
        occurrence=f"{person.id}, project of {look.iso(project.span.start_us)}",
        starts={} if project.start_us is None else {"start_of_work": project.start_us},
        asks=f"{_named(person)} signs the certification before any work",
        owed_by=_named(person),
        evidence={"work began": f"{look.day(project.start_us)}, before it was signed"}
        if late and project.start_us
        else {},
        answer=f"headwall record certification {look.site.id} --person {person.id} --title TEXT --firm TEXT --by NAME",
        done=recorded(signed),
        gone=unanswered(over) if worked else over,
    )


def _is_of(entry: Entry[Certification], person: Person, project: SiteProject, needed: _Needed) -> bool:
    return entry.body.person in (person.id, person.name) and project.span.start_us <= entry.done_us < needed.end_us


def _named(person: Person) -> str:
    return f"{person.name}, {person.firm}" if person.firm else person.name
