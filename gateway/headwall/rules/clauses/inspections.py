"""Inspections of construction sites, again and again: the contractor's reports and the qualified inspector's visits.

Each one starts the period of the next. An occurrence is named by the one before it, so that reports which come late or
in any order make the same chain. One visit may answer a contractor's and an inspector's duty if both have signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headwall.law.deadlines import Start
from headwall.law.localtime import short
from headwall.law.provision import Provision
from headwall.law.provisions import Conditions, Periodic
from headwall.ledger.entries import Entry, SiteReport
from headwall.rules.clauses.construction import Work, open_area_spans, overlaps, who, within, work
from headwall.rules.clauses.expected import Done, Expected
from headwall.rules.clauses.look import FOREVER_US, Look
from headwall.units import parse_area

_DAYS_OF_WARNING = "twice.min_gap_d"


@dataclass(frozen=True)
class Visit:
    """A report as a period counts it: by its completion or by its visit."""

    at_us: int
    entry: Entry[SiteReport]
    by: str  # who has signed as what counts

    @property
    def done(self) -> Done:
        return Done(self.at_us, self.by, f"entry {self.entry.id}")


def visits(look: Look, provision: Provision, role: str) -> list[Visit]:
    """Reports that count for who signs as `role`, by the instant that counts."""
    found = []
    by_report = next((each.starts == "last_report" for each in provision.deadlines if each.name == "next"), False)
    for entry in look.entries(SiteReport):
        signed = {each.role: each.name for each in reversed(entry.body.signed)}
        if look.choice("inspections.merge", entry.done_us) == "never":
            signed = {entry.body.signed[0].role: entry.body.signed[0].name}
        if role not in signed:
            continue
        basis = look.choice("seven_day.basis", entry.done_us)
        completed = by_report if basis == "code" else basis == "report"
        found.append(Visit(entry.done_us if completed else entry.body.visited_us, entry, signed[role]))
    return sorted(found, key=lambda each: (each.at_us, each.entry.body.visited_us, each.entry.digest))


def contractor_reports(look: Look, provision: Provision) -> Iterator[Expected]:
    """The report that is due every so many days while construction goes on, and its delivery to the officer."""
    assert isinstance(provision, Periodic)
    found = visits(look, provision, "trained_contractor")
    command = f"headwall record report {look.site.id} --by NAME"
    spans = work(look, provision)
    for each in spans:
        yield from chain(look, provision, each, found, command, "trained_contractor", "developer")
    if provision.owed_to:
        yield from deliveries(look, provision, spans, found)


def deliveries(look: Look, provision: Provision, spans: list[Work], found: list[Visit]) -> Iterator[Expected]:
    """Reports that went to nobody yet. The code gives no time for it; two of one instant are one, which waits."""
    waiting_last = sorted(found, key=lambda each: each.entry.body.delivered_us is None)
    for visit in {each.entry.done_us: each for each in waiting_last}.values():
        body = visit.entry.body
        if not any(each.start_us <= visit.at_us < each.end_us for each in spans):
            continue
        delivered = None
        if body.delivered_us is not None:
            delivered = Done(body.delivered_us, body.delivery_by or visit.entry.by, f"entry {visit.entry.id}")
        if delivered is not None and visit.entry.replaces is None:
            continue  # it came with the report: nothing was ever asked
        yield Expected(
            provision,
            name="",
            occurrence=f"delivery of {look.iso(visit.entry.done_us)}",
            starts={},
            asks=f"Deliver the report of {short(visit.entry.done_us, look.where)} to {provision.owed_to}",
            owed_by=who(look, visit.entry.done_us, "trained_contractor", "developer"),
            answer=f"headwall record delivery {visit.entry.id} --to NAME --by NAME",
            done=delivered,
        )


def inspector_visits(look: Look, provision: Provision) -> Iterator[Expected]:
    """The qualified inspector's visits, where the site's conditions or its area ask for them."""
    assert isinstance(provision, Periodic)
    spans = work(look, provision)
    if provision.only_if:
        yield from _undeclared(look, provision, spans)
        spans = [part for each in spans for part in _where_declared(look, each)]
    if provision.at_least is not None:
        spans = [part for each in spans for part in _where_large(look, provision, each)]
    found = visits(look, provision, "qualified_inspector")
    command = f"headwall record inspection {look.site.id} --by NAME"
    for each in spans:
        yield from chain(look, provision, each, found, command, "qualified_inspector", "applicant", "developer")


def _where_large(look: Look, provision: Periodic, part: Work) -> list[Work]:
    assert provision.at_least is not None
    least = parse_area(provision.at_least)
    if provision.area_of == "at_once":
        return within(look, part, open_area_spans(part.project, least))
    small = look.choice("small_site.inspector", part.start_us) == "qualified_inspector"
    return [part] if part.project.area >= least or small else []


def _where_declared(look: Look, part: Work) -> list[Work]:
    """While the site meets one of the code's conditions at least."""
    spans = [
        (span.start_us, FOREVER_US if span.end_us is None else span.end_us)
        for span in part.project.conditions
        if span.entry.met
    ]
    return within(look, part, spans)


def _undeclared(look: Look, provision: Provision, spans: list[Work]) -> Iterator[Expected]:
    """Nobody has said which conditions a site meets: whether the inspector is owed is not known."""
    known = sorted({letter for each in look.profile.of(Conditions) for letter in each.conditions})
    for each in {part.project.entry.name: part for part in spans}.values():  # the latest stretch of each project
        declared = [(span.start_us, span.end_us or FOREVER_US) for span in each.project.conditions]
        if overlaps([(each.start_us, each.end_us)], declared):
            continue
        yield Expected(
            provision,
            name="",
            occurrence=f"conditions of {each.project.entry.name}"[:96],
            starts={},
            asks=f"Say in the registry which of Conditions {', '.join(known)} the site meets (`conditions`)",
            owed_by=who(look, each.start_us, "applicant", "developer"),
            evidence={"area": each.project.entry.area},
            advice=True,
        )


def chain(
    look: Look, provision: Periodic, part: Work, found: list[Visit], command: str, *owing: str
) -> Iterator[Expected]:
    """One duty after another while the work goes on: each from the visit that many before it.

    With `times` 2 in a period the next is due a period after the last but one; at the beginning both start with the
    work. One that a person has closed as not needed lets the next start when it was due.
    """
    # two of one instant are one visit; where one starts the next, one at the very start starts what has started
    first_us = part.start_us + (provision.times == 1)
    within_part = {each.at_us: each for each in reversed(found) if first_us <= each.at_us < part.end_us}
    own = sorted(within_part.values(), key=lambda each: each.at_us)
    waived, names_of_start = look.not_needed(provision), _starts(provision)
    points, names = [part.start_us] * provision.times, ["start of work"] * provision.times
    while True:
        start_us, before_us = points[-provision.times], points[-1]
        next_one = own.pop(0) if own else None
        occurrence = f"after {look.iso(before_us)}"
        if len(points) < 2 * provision.times:
            occurrence += f", {len(points) - provision.times + 1} of {provision.times}" if provision.times > 1 else ""
        starts = dict.fromkeys(names_of_start, start_us)
        asked = next_one is None or occurrence in waived  # else it was answered: nothing has to be worked out
        due_us = look.due(provision, "next", starts).taken_us if asked else None
        over = part.end_us <= look.now_us and due_us is not None and due_us > part.end_us
        yield Expected(
            provision,
            name="next",
            occurrence=occurrence,
            starts=starts,
            asks=provision.subject,
            owed_by=who(look, before_us, *owing),
            evidence=_evidence(look, provision, part, points, names) if next_one is None else {},
            answer=command,
            done=None if next_one is None else next_one.done,
            gone=f"no work under this clause since {look.day(part.end_us)}" if over and next_one is None else "",
        )
        if occurrence in waived and due_us is not None and (next_one is None or next_one.at_us > due_us):
            if next_one is not None:
                own.insert(0, next_one)
            if due_us > look.now_us or due_us >= part.end_us:
                look.wake(due_us)
                return
            points.append(due_us)
            names.append("not needed, by a person's decision")
            continue
        if next_one is None:
            return
        points.append(next_one.at_us)
        names.append(next_one.done.by)


def _starts(provision: Provision) -> list[Start]:
    deadline = provision.deadline("next")
    return list(
        dict.fromkeys(
            each.starts for each in (deadline, deadline.read(deadline.strict), deadline.read(deadline.lenient))
        )
    )


def _evidence(look: Look, provision: Periodic, part: Work, points: list[int], names: list[str]) -> dict[str, str]:
    """The last one or the last few, the area where it counts, and visits that were too near to each other."""
    last = zip(points[-provision.times :], names[-provision.times :], strict=True)
    found = {"last": "; ".join(dict.fromkeys(f"{short(at_us, look.where)} ({name})" for at_us, name in last))}
    if provision.at_least is not None:
        at_once = part.project.open_at(points[-1]) if provision.area_of == "at_once" else None
        found["area"] = at_once.area if at_once else f"{part.project.entry.area} in all"
    if provision.times > 1 and len(points) > provision.times + 1:
        apart = (look.day(points[-1]) - look.day(points[-2])).days
        least = look.choice(_DAYS_OF_WARNING, points[-1])
        if apart < least:
            found["warning"] = f"the last two were {apart} days apart, less than {least}; spread them over the period"
    return found
