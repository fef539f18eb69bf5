"""Duties that clauses make due at sites: what planners expect, kept in the ledger as duties that are opened, changed,
answered by records, and asked no longer.

A site is looked at when a person has entered something that concerns it, when its sensors have spoken (for planners
that look at readings), and when an instant has come that a planner named; at the start each site once. A duty is one
for each (site, provision, name, occurrence). One that is open is told however old it is: nobody has answered it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import msgspec
import sqlalchemy as sa
import structlog

from headwall.law import clocks, localtime
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.ledger import schema
from headwall.ledger.newest import NOT_NEEDED, Newest, newest
from headwall.registry import Registry
from headwall.registry.model import Site
from headwall.rules import duties
from headwall.rules.base import Step
from headwall.rules.clauses import FROM_READINGS, PLANNERS, Expected, Look, Planner
from headwall.rules.duties import Duty
from headwall.rules.facts import Answer, ClauseDuty
from headwall.rules.layers import Stretch
from headwall.rules.tell import officers_or_operators, refresh, tell_duty, withdraw_duty
from headwall.rules.wakes import Wakes

log = structlog.get_logger("rules")
#: what is due so soon is told at once, the rest in the digest
_SOON_US: Final = 48 * localtime.HOUR_US
_Key = tuple[str, str, str]
_AT_ONCE: Final = 50
_RETRY_US: Final = 60_000_000
_NOT_ASKED: Final = "what made it due stands no longer on record"


class ClauseDutyRule:
    """Keeps the duties of clauses, see the head of this module.

    Args:
        profiles: by the name that the registry's municipalities give.
        historical_after_us: what is learned so long after it was due is not mailed.
    """

    name = "clause_duties"

    def __init__(self, registry: Registry, profiles: Mapping[str, Profile], historical_after_us: int) -> None:
        self._registry = registry
        self._profiles = profiles
        self._historical_after_us = historical_after_us
        self._seen: Newest | None = None
        self._wakes = Wakes()
        self._fresh = {site.id for site in registry.sites}  # not looked at since what is kept was forgotten
        self._by_stream: dict[str, set[str]] = defaultdict(set)
        self._by_municipality: dict[str, list[str]] = defaultdict(list)
        self._by_person: dict[str, set[str]] = defaultdict(set)
        for site in registry.sites:
            self._by_municipality[site.municipality].append(site.id)
            for part in site.people:
                self._by_person[part.person].add(site.id)
            for datastream in {*(s.datastream for s in site.sensors), *(g.datastream for g in site.gauges)}:
                self._by_stream[datastream].add(site.id)

    def next_us(self) -> int | None:
        return self._wakes.next_us()

    def forget(self) -> None:
        self._seen = None
        self._wakes.clear()
        self._fresh = {site.id for site in self._registry.sites}

    def judge(self, step: Step) -> None:
        if self._seen is None:
            for site in sorted(self._fresh):
                self._wakes.set(site, step.now_us)
        for site in sorted(self._entered(step.conn)):
            self._wakes.set(site, step.now_us)
        whole = set(islice(self._wakes.take(step.now_us), _AT_ONCE))  # others wait for the ledger meanwhile
        spoken = {site for datastream in step.measured for site in self._by_stream.get(datastream, ())}
        for site in sorted(whole):
            self._guarded(step, self._registry.require_site(site), None)
        for site in sorted(spoken - whole) if FROM_READINGS else ():
            self._guarded(step, self._registry.require_site(site), FROM_READINGS)

    # --- which sites ---

    def _entered(self, conn: sa.Connection) -> set[str]:
        """Sites that something new in the ledger concerns."""
        before, self._seen = self._seen, newest(conn)
        found: set[str] = set()
        for name, each in _FOLLOWED.items() if before is not None and before != self._seen else ():
            for row in conn.execute(each.rows.where(each.number > getattr(before, name))):
                found |= set(self._sites_of(row._mapping))
        return found

    def _sites_of(self, given: Any) -> Iterable[str]:
        """Sites that a new row is about, by whatever it names: a site, a datastream, a person, a municipality."""
        if "body" in given:  # a row of the log book
            return self._sites_of(given["body"])
        if "stream" in given:
            return self._by_stream.get(f"{given['node']}/{given['stream']}", ())
        name = given.get("subject") or given.get("site")
        if name is None:
            return self._by_municipality.get(given.get("municipality", ""), ())
        own = [name] if self._registry.site(name) else self._by_stream.get(name, ())
        return {*own, *self._by_person.get(name, ())}

    # --- one site ---

    def _guarded(self, step: Step, site: Site, kinds: frozenset[str] | None) -> None:
        """A site that has failed is looked at again after the engine's pause."""
        subject = f"{site.id}, duties of its code"
        with step.guarded(subject, Stretch("", step.now_us, step.now_us)):
            self._judge_site(step, site, kinds)
        if subject in step.failures:
            self._wakes.set(site.id, step.now_us + _RETRY_US)

    def _judge_site(self, step: Step, site: Site, kinds: frozenset[str] | None) -> None:
        profile = self._profiles[self._registry.municipality(site.municipality).profile]
        look = Look(step.conn, self._registry, profile, site, step.now_us)
        whole = kinds is None and site.id in self._fresh
        known = {(each.provision, each.name, each.occurrence): each for each in look.held}
        unjudged = set()
        for provision in profile.provisions:
            planner = PLANNERS.get(provision.kind)
            if planner is None:
                continue
            planned = None if kinds and provision.kind not in kinds else self._planned(step, look, provision, planner)
            if planned is None:
                unjudged.add(provision.id)
                continue
            for key, expected in planned.items():
                held = known.pop(key, None)
                if held is not None and _clock_is_behind(look, held, expected):
                    continue
                if whole or held is None or not _as_before(held, expected):
                    self._keep(step, held, self._fact(look, expected))
        for held in known.values():
            if held.state != "gone" and held.provision not in unjudged and not _clock_is_behind(look, held, None):
                self._keep(step, held, None)
        if kinds is None:
            self._fresh.discard(site.id)
        wakes_us = self._wakes.at_us(site.id)
        if kinds is None or (look.again_us is not None and (wakes_us is None or look.again_us < wakes_us)):
            self._wakes.set(site.id, look.again_us)

    def _planned(self, step: Step, look: Look, provision: Provision, planner: Planner) -> dict[_Key, Expected] | None:
        """What a clause makes due, by what tells it apart; None where its planner failed, which is noted."""
        found: dict[_Key, Expected] = {}
        try:
            for expected in self._expected(look, provision, planner):
                key = (provision.id, expected.name, expected.occurrence)
                if key in found:
                    raise ValueError(f"{expected.name or provision.kind}: {expected.occurrence} is expected twice")
                found[key] = expected
        except (sa.exc.OperationalError, sa.exc.InterfaceError):
            raise
        except Exception as error:
            log.exception("planner failed", site=look.site.id, provision=provision.id)
            stretch = Stretch("", step.now_us, step.now_us)
            step.failures[f"{look.site.id}, {provision.id}"] = (stretch, f"{type(error).__name__}: {error}")
            look.wake(step.now_us + _RETRY_US)
            return None
        return found

    def _expected(self, look: Look, provision: Provision, planner: Planner) -> Iterable[Expected]:
        since_us, until_us = look.in_force(provision)
        look.wake(since_us)
        look.wake(None if provision.valid_to is None else until_us)
        return planner(look, provision) if since_us <= look.now_us else ()

    def _fact(self, look: Look, expected: Expected) -> ClauseDuty:
        provision, due, not_before = expected.provision, clocks.Due(None, None, None), False
        remind_us = None
        if expected.name:
            due = look.due(provision, expected.name, expected.starts)
            not_before = provision.deadline(expected.name).holds == "after"
            remind_us = look.remind_us(provision, expected.name, expected.starts)
        done = expected.done
        return ClauseDuty(
            duty=0,
            version=0,
            municipality=look.site.municipality,
            site=look.site.id,
            provision=provision.id,
            name=expected.name,
            occurrence=expected.occurrence,
            starts={str(name): instant for name, instant in expected.starts.items()},
            asks=expected.asks,
            owed_by=expected.owed_by or provision.owed_by,
            strict_us=due.strict_us,
            lenient_us=due.lenient_us,
            due_us=due.taken_us,
            learned_us=look.now_us,
            remind_us=remind_us,
            evidence=dict(expected.evidence),
            answer=expected.answer,
            advice=expected.advice,
            not_before=not_before,
            done=None if done is None else Answer(done.at_us, done.by, done.reference),
            trigger_gone=expected.gone,
        )

    # --- one duty ---

    def _keep(self, step: Step, held: duties.Held | None, fact: ClauseDuty | None) -> None:
        """Make a duty what it is expected to be; None: it is expected no more."""
        if held is None:
            if fact is not None and not fact.trigger_gone and not (fact.advice and fact.done):
                self._open(step, fact)
            return
        duty = duties.clause_duty(step.conn, held.id)
        before = duty.body
        if fact is None:
            fact = msgspec.structs.replace(before, done=None, trigger_gone=_NOT_ASKED)
        kept: dict[str, Any] = {"duty": before.duty, "version": before.version, "learned_us": before.learned_us}
        if duties.by_its_number(duty):
            kept["done"] = None
        fact = msgspec.structs.replace(fact, **kept)
        if fact == before or (before.trigger_gone and fact.trigger_gone):
            return
        after = duties.add_version(step.conn, before, fact, step.now_us)
        duties.follow_record(step.conn, duty, after, step.now_us)
        if not duty.historical and not duties.by_its_number(duty):
            self._tell(step, after, changed=duties.asks_otherwise(before, after))

    def _open(self, step: Step, fact: ClauseDuty) -> None:
        historical = fact.done is not None and self._is_old(step, fact)
        fact = duties.open_duty(step.conn, fact, step.now_us, historical=historical)
        log.info("duty opened", duty=fact.duty, site=fact.site, provision=fact.provision, historical=historical)
        if fact.done is not None:
            opened = Duty(fact.duty, "open", fact.version, historical, None, None, None, None, fact)
            duties.follow_record(step.conn, opened, fact, step.now_us)
        else:
            self._tell(step, fact, changed=True)

    def _is_old(self, step: Step, fact: ClauseDuty) -> bool:
        return step.now_us - (fact.span[1] if fact.due_us is None else fact.due_us) > self._historical_after_us

    def _tell(self, step: Step, fact: ClauseDuty, *, changed: bool) -> None:
        """What is answered needs no mail any more, nor does advice that is given no longer."""
        if fact.done is not None or (fact.advice and fact.trigger_gone):
            withdraw_duty(step.conn, fact)
        elif changed:
            soon = fact.due_us is not None and fact.due_us - step.now_us < _SOON_US
            soon = soon and not fact.advice and not self._is_old(step, fact)
            people = officers_or_operators(self._registry, fact.municipality, step.now_us)
            tell_duty(step.conn, fact, people, step.now_us, how="now" if soon else "digest")
        else:
            refresh(step.conn, fact)


@dataclass(frozen=True)
class _Followed:
    """Rows that concern sites, by their number and what names the site."""

    number: sa.Column[int]
    rows: sa.Select[Any]


def _followed(table: sa.Table, *names: str) -> _Followed:
    return _Followed(table.c.id, sa.select(*(table.c[name] for name in names)))


_R = schema.records.c
#: by their name in `Newest`
_FOLLOWED: Final = {
    "entries": _followed(schema.entries, "subject"),
    "approvals": _followed(schema.approvals, "municipality", "site"),
    "calibrations": _followed(schema.calibrations, "node", "stream"),
    "case_steps": _Followed(
        schema.case_steps.c.id,
        sa.select(schema.cases.c.site).join_from(
            schema.case_steps, schema.cases, schema.cases.c.id == schema.case_steps.c.case
        ),
    ),
    "not_needed": _Followed(_R.n, sa.select(_R.body).where(_R.kind == NOT_NEEDED)),
}


def _clock_is_behind(look: Look, held: duties.Held, expected: Expected | None) -> bool:
    """Whether a duty would be taken back or opened again while the clock stands before what is known of it.

    A gateway may start with a clock that was not set yet: what it knows by then has not happened, and stays as it is.
    """
    answered = expected is not None and not expected.gone and (expected.done is not None or held.state == "open")
    if held.known_us <= look.now_us or answered:
        return False
    look.wake(held.known_us)
    return True


def _as_before(held: duties.Held, expected: Expected) -> bool:
    """Whether what was answered, or was asked no longer, is so still: nothing of it has to be worked out."""
    if expected.gone or held.state == "gone":
        return bool(expected.gone) and held.state == "gone"
    done = expected.done
    if done is None or (expected.starts and min(expected.starts.values()) != held.from_us):
        return False
    answered = (held.state, held.closed_us, held.closed_by, held.closed_reason)
    return answered == ("received", done.at_us, done.by, done.reference)
