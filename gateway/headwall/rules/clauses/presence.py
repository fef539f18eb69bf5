"""Who and what has to be at a construction site: a trained contractor while there is work, a copy of the SWPPP.

That there was work, only a person can say. Weeks that have days without a word are asked for, as advice: once for all
that follow each other. A day of work without a trained contractor is put before the officer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

from headwall.law import localtime
from headwall.law.provision import Provision
from headwall.ledger.entries import Entry, PlanSeen, Presence, SiteReport
from headwall.rules.clauses.construction import Span, Work, joined, who, work
from headwall.rules.clauses.expected import Expected, recorded, unanswered
from headwall.rules.clauses.look import Look

_WEEK: Final = timedelta(days=7)
_DAYS_TOLD: Final = 5
_NAME: Final = "week of "


def contractor_presence(look: Look, provision: Provision) -> Iterator[Expected]:
    """Days of work on which no trained contractor was there, and weeks of which the record has holes."""
    told = {each.body.day: each for each in sorted(look.entries(Presence), key=_says_most)}
    there = _seen_by_report(look)
    parts = work(look, provision)
    for each in parts:
        yield from _days_without(look, provision, each, told, there)
    if parts:
        yield from _weeks(look, provision, parts, {**there, **told})


def _says_most(entry: Entry[Presence]) -> tuple[bool, bool, str]:
    """Of several entries about a day the last by this counts, in whatever order they came: who was there, then work."""
    return bool(entry.body.contractors), entry.body.work, entry.digest


def _seen_by_report(look: Look) -> dict[str, Entry[SiteReport]]:
    """Days on which a trained contractor visited, as a report says."""
    return {
        look.day(entry.body.visited_us).isoformat(): entry
        for entry in look.entries(SiteReport)
        if any(each.role == "trained_contractor" for each in entry.body.signed)
    }


def _days_without(
    look: Look, provision: Provision, part: Work, told: dict[str, Entry[Presence]], there: dict[str, Entry[SiteReport]]
) -> Iterator[Expected]:
    for day, entry in sorted(told.items()):
        noon_us = look.noon_us(date.fromisoformat(day))
        if not entry.body.work or entry.body.contractors or day in there or not part.start_us <= noon_us < part.end_us:
            continue
        yield Expected(
            provision,
            name="",
            occurrence=day,
            starts={},
            asks=f"Work went on on {day} and no trained contractor is on record: find out, and decide",
            owed_by=who(look, noon_us, "developer", "applicant"),
            evidence={"on record": f"entry {entry.id} by {entry.by}"},
        )


def _weeks(look: Look, provision: Provision, parts: list[Work], known: Mapping[str, Entry[Any]]) -> Iterator[Expected]:
    """Weeks in a row, each over, of which the record has holes: one advice, by the first of them."""
    held = (each.occurrence for each in look.held if each.provision == provision.id)
    asked_before = {date.fromisoformat(each.removeprefix(_NAME)) for each in held if each.startswith(_NAME)}
    spans = joined((each.start_us, each.end_us) for each in parts)

    def kind(week: _Week) -> tuple[int, bool]:
        return week.span, all(day in known for day in week.days)

    for (n, full), group in groupby(_over(look, spans), key=kind):
        weeks, end_us = list(group), spans[n][1]
        over = f"no work goes on since {look.day(end_us)}" if end_us <= look.now_us else ""
        if not full:
            yield _row(look, provision, weeks, known, gone=over)
        for week in weeks if full else weeks[1:]:  # of these only what was asked before they were full, or joined
            if week.monday in asked_before and full:
                yield _row(look, provision, [week], known, done=known[week.days[-1]])
            elif week.monday in asked_before:
                yield _row(look, provision, [week], known, gone=f"asked with the {weeks[0].name}")


class _Week(NamedTuple):
    """A week of work that is over: in which stretch of work, and which of its days are asked for."""

    span: int
    monday: date
    days: Sequence[str]

    @property
    def name(self) -> str:
        return f"{_NAME}{self.monday.isoformat()}"


def _over(look: Look, spans: list[Span]) -> Iterator[_Week]:
    """The weeks up to now, Monday to Sunday. Nothing is worked out for a week that lies within a stretch: they are
    gone through at each look at a site."""
    today, edges, span_of = look.day(look.now_us), set(), {}
    this = _monday(today)
    for n, (start_us, end_us) in enumerate(spans):
        monday, last = _monday(look.day(start_us)), _monday(look.day(min(end_us - 1, look.now_us)))
        edges |= {monday, last}
        while monday <= last:
            span_of[monday] = n
            monday += _WEEK
    if this in span_of:
        look.wake(localtime.midnight_us(this + _WEEK, look.where))
    for monday, n in span_of.items():
        if monday == this:
            return
        days: Sequence[str] = _business_days(monday)
        if monday in edges:
            days = [day for day in days if _within(look, spans, date.fromisoformat(day))]
        if days:
            yield _Week(n, monday, days)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


@cache
def _business_days(monday: date) -> tuple[str, ...]:
    days = (monday + timedelta(days=n) for n in range(7))
    return tuple(day.isoformat() for day in days if localtime.is_business_day(day))


def _row(
    look: Look,
    provision: Provision,
    weeks: list[_Week],
    known: Mapping[str, Entry[Any]],
    *,
    done: Entry[Any] | None = None,
    gone: str = "",
) -> Expected:
    first, last = weeks[0], weeks[-1]
    missing = list(islice((day for week in weeks for day in week.days if day not in known), _DAYS_TOLD + 1))
    evidence: dict[str, str | int] = {"weeks": len(weeks), "last": last.name} if len(weeks) > 1 else {}
    if missing:
        more = " and more" if len(missing) > _DAYS_TOLD else ""
        evidence["days without a record"] = ", ".join(missing[:_DAYS_TOLD]) + more
    when = f"in the {first.name}" if first is last else f"from the {first.name} to that of {last.monday}"
    return Expected(
        provision,
        name="",
        occurrence=first.name,
        starts={},
        asks=f"Enter who of the trained contractors was there, or that nobody worked, {when}",
        owed_by=who(look, look.noon_us(first.monday), "trained_contractor", "developer"),
        evidence=evidence,
        answer=f"headwall record presence {look.site.id} --day DAY --contractor NAME --by NAME",
        advice=True,
        done=recorded(done),
        gone=gone,
    )


def _within(look: Look, spans: list[Span], day: date) -> bool:
    noon_us = look.noon_us(day)
    return any(start_us <= noon_us < end_us for start_us, end_us in spans)


def plan_on_site(look: Look, provision: Provision) -> Iterator[Expected]:
    """A copy of the plan, from the start of work to final stabilisation: seen once, and again after it was missed."""
    looks = look.entries(PlanSeen)
    for each in work(look, provision, while_active=False):
        since_us, occurrence = each.start_us, f"start {look.iso(each.start_us)}"
        missed = ""
        for entry in [*looks, None]:
            if entry is not None and not each.start_us <= entry.done_us < each.end_us:
                continue
            if entry is not None and not entry.body.there:
                if not missed and occurrence == "":
                    occurrence = f"missed {look.iso(entry.done_us)}"
                missed = missed or f"entry {entry.id} by {entry.by}"
                continue
            if occurrence:
                yield _plan(look, provision, each, occurrence, since_us, missed, entry)
            occurrence, missed = "", ""


def _plan(
    look: Look,
    provision: Provision,
    part: Work,
    occurrence: str,
    since_us: int,
    missed: str,
    entry: Entry[PlanSeen] | None,
) -> Expected:
    over = part.end_us <= look.now_us and entry is None
    return Expected(
        provision,
        name="",
        occurrence=occurrence,
        starts={"start_of_work": since_us},
        asks=f"{provision.subject}: see that it is, and enter it",
        owed_by=who(look, since_us, "developer", "applicant"),
        evidence={"not found": missed} if missed else {},
        answer=f"headwall record plan {look.site.id} --by NAME",
        done=recorded(entry),
        gone=unanswered(f"construction is over since {look.day(part.end_us)}" if over else ""),
    )
