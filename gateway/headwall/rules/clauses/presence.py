"""Who and what has to be at a construction site: a trained contractor while there is work, a copy of the SWPPP.

That there was work, only a person can say. Days without a word are asked for once a week, as advice; a day of work
without a trained contractor is put before the officer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from headwall.law import localtime
from headwall.law.provision import Provision
from headwall.ledger.entries import Entry, PlanSeen, Presence, SiteReport
from headwall.rules.clauses.construction import Work, who, work
from headwall.rules.clauses.expected import Expected, recorded
from headwall.rules.clauses.look import Look

_WEEK = timedelta(days=7)


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
        noon_us = _noon_us(look, date.fromisoformat(day))
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
    """One week after the other, Monday to Sunday, once it is over; the last one alone is asked for."""
    first = look.day(parts[0].start_us)
    monday, last = first - timedelta(days=first.weekday()), look.day(min(parts[-1].end_us - 1, look.now_us))
    while monday <= last:
        over_us = localtime.midnight_us(monday + _WEEK, look.where)
        if over_us > look.now_us:
            look.wake(over_us)
            return
        days = [monday + timedelta(days=n) for n in range(7)]
        asked = [day.isoformat() for day in days if localtime.is_business_day(day) and _within(look, parts, day)]
        missing = [day for day in asked if day not in known]
        latest = monday + _WEEK > last or localtime.midnight_us(monday + 2 * _WEEK, look.where) > look.now_us
        if asked:
            yield _week(look, provision, monday, missing, known.get(asked[-1]), latest=latest)
        monday += _WEEK


def _week(
    look: Look, provision: Provision, monday: date, missing: list[str], last: Entry[Any] | None, *, latest: bool
) -> Expected:
    done = None if missing else recorded(last)
    return Expected(
        provision,
        name="",
        occurrence=f"week of {monday.isoformat()}",
        starts={},
        asks=f"Enter who of the trained contractors was there, or that nobody worked, in the week of {monday}",
        owed_by=who(look, _noon_us(look, monday), "trained_contractor", "developer"),
        evidence={"days without a record": ", ".join(missing)} if missing else {},
        answer=f"headwall record presence {look.site.id} --day DAY --contractor NAME --by NAME",
        advice=True,
        done=done,
        gone="a later week is asked for" if missing and not latest else "",
    )


def _within(look: Look, parts: list[Work], day: date) -> bool:
    noon_us = _noon_us(look, day)
    return any(each.start_us <= noon_us < each.end_us for each in parts)


def _noon_us(look: Look, day: date) -> int:
    start_us, end_us = localtime.day_bounds(localtime.midnight_us(day, look.where), look.where)
    return (start_us + end_us) // 2


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
        gone=f"construction is over since {look.day(part.end_us)}" if over else "",
    )
