"""The clocks of a case: what the municipality's code times between the steps, by both readings.

Which clauses there are, how long they give, from what and for whom stands in the profile. Here stands only which step
of a case gives the instant that a clause starts with, and which meets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Any, Final

from headwall.cases.kinds import SPILL, kind_of
from headwall.cases.known import Known, known
from headwall.cases.states import MOVES
from headwall.law import clocks, localtime
from headwall.law.deadlines import Deadline, Start
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.law.provisions import CostRecovery, Party, Spill
from headwall.law.state_spill import HOTLINE, state_spill
from headwall.ledger.cases import Case, CaseStep, Clock

#: kind of clause → what its clocks may start with → the instant of a step that gives it
STARTS: Final[dict[str, dict[Start, str]]] = {
    "notice_of_violation": {
        "issuance": "issued",
        "notice_date": "dated",
        "service": "served",
        "statement": "cost_told",
    },
    "appeal": {
        "issuance": "issued",
        "notice_date": "dated",
        "service": "served",
        "filing": "filed",
        "receipt": "received",
        "hearing": "heard",
        "decision": "decided",
    },
    "corrective_measures": {"decision": "upheld"},
    "cost_recovery": {
        "discovery": "confirmed",
        "abatement": "abated_at_cost",
        "receipt": "cost_received",
        "statement": "cost_told",
    },
    "contaminating_activity": {"notification": "notified"},
    "spill_report": {"knowledge": "knowledge", "first_notice": "first_notice", "telephone_notice": "telephone_notice"},
    "state_spill": {"knowledge": "knowledge"},
}
#: clauses of what the case itself is about; the others go with the article of the clause that is broken
_OF_THE_MATTER: Final = frozenset({"contaminating_activity", "spill_report"})
#: clocks of costs run only once there are costs
_ONLY_WITH: Final = {"cost_recovery": "abated_at_cost"}
#: clause and deadline → the instant by which it is met
_MET_BY: Final = {
    ("appeal", "hear"): "heard",
    ("appeal", "serve"): "copied",
    ("corrective_measures", "correct"): "abated",
    ("corrective_measures", "request_from"): "requested",
    ("contaminating_activity", "correct"): "abated",
    ("cost_recovery", "tell"): "cost_told",
    ("cost_recovery", "protest"): "protested",
    ("cost_recovery", "lien"): "lien",
    ("notice_of_violation", "correct_by"): "abated",
    ("notice_of_violation", "lien"): "lien",
    ("spill_report", "confirmation"): "written",
}
#: clause and deadline → who has to meet it; what is not here is a right, or a day from which something may be done
_OWED_BY: Final = {
    ("appeal", "hear"): "municipality",
    ("appeal", "serve"): "municipality",
    ("corrective_measures", "correct"): "person",
    ("contaminating_activity", "correct"): "person",
    ("cost_recovery", "tell"): "municipality",
    ("notice_of_violation", "correct_by"): "person",
    ("spill_report", "hazardous_call"): "person",
    ("spill_report", "hazardous_notice"): "person",
    ("spill_report", "notice"): "person",
    ("spill_report", "confirmation"): "person",
    ("state_spill", HOTLINE): "person",
}
#: deadlines of a spill that do not run once it is known to be of one kind
_NOT_OF: Final = {
    "hazardous_call": "nonhazardous",
    "hazardous_notice": "nonhazardous",
    "notice": "hazardous",
}
#: the instant that says what is unpaid needs no lien
_PAID: Final = "paid"
_PAYMENT: Final = "payment_"


@dataclass(frozen=True)
class Running:
    """A clock as it stands, with its clause.

    Attributes:
        rule: how the clause counts, in words.
        takes: which reading counts.
        met_us: when what it waits for was done.
        owed_by: "person" (who is in violation, or has to report), "municipality"; "": nobody has to meet it.
        to_tell: of a clock of a spill, whom the code still wants told.
        at_once: the code gives no time for it: "immediately".
    """

    clock: Clock
    clause: Provision
    rule: str
    takes: str
    met_us: int | None
    owed_by: str = ""
    to_tell: tuple[Party, ...] = ()
    at_once: bool = False

    @property
    def asks(self) -> str:
        """One line: what it waits for."""
        what = self.clock.name.replace("_", " ")
        if self.to_tell:
            what = f"tell {', '.join(party.name for party in self.to_tell)}"
        return f"{what}: {self.rule}"


class Code:
    """What a municipality's code has for a case: its clauses in force when it happened.

    Args:
        where: the municipality's time zone.
    """

    def __init__(self, profile: Profile, where: tzinfo, case: Case) -> None:
        self.profile = profile
        self._where = where
        self._day = localtime.day_of(case.from_us, where)
        in_force = [each for each in profile.provisions if each.in_force(self._day)]
        #: the clauses that it may break, the most fitting first
        self.breakable = [each for kind in kind_of(case.kind).breaks for each in in_force if each.kind == kind]
        named = (each for each in self.breakable if each.id == case.provision)
        #: the one that it is taken to break: the named one, else the most fitting; None: the code has none
        self.broken = next(named, next(iter(self.breakable), None))
        article = self.broken.article if self.broken else None
        self._clauses: dict[str, Provision] = {
            each.kind: each
            for each in reversed(in_force)
            if each.kind in STARTS
            and (each in self.breakable if each.kind in _OF_THE_MATTER else each.article == article)
        }
        if case.kind == SPILL:
            self._clauses["state_spill"] = state_spill()

    @property
    def spill(self) -> Spill | None:
        """Who is to be told of a spill; None: it is none, or the code has no such clause."""
        found = self._clauses.get("spill_report")
        return found if isinstance(found, Spill) else None

    @property
    def costs(self) -> CostRecovery | None:
        found = self._clauses.get("cost_recovery")
        return found if isinstance(found, CostRecovery) else None

    def clause(self, kind: str) -> Provision | None:
        """The clause of a kind that goes with the broken one."""
        return self._clauses.get(kind)

    def choice(self, key: str) -> Any:
        """How the municipality reads an open question on the day of the case."""
        return self.profile.choice(key, self._day)

    def asked(self, action: str) -> list[tuple[str, Provision]]:
        """Instants that clocks start with and that this step alone can tell, with the clause that counts from each."""
        told = {name for name in MOVES[action].may_set if name in ("issued", "dated", "received")}
        found: dict[str, Provision] = {}
        for clause in self._clauses.values():
            for deadline in clause.deadlines:
                for start in _starts_of(self._read(clause, deadline)):
                    name = STARTS[clause.kind].get(start, "")
                    if name in told:
                        found.setdefault(name, clause)
        return sorted(found.items(), key=lambda each: each[0])

    # --- which run ---

    def clocks(self, steps: Sequence[CaseStep]) -> list[Clock]:
        """Every clock that runs after some steps."""
        now = known(steps)
        times = {**now.times, **self._of_spill(now)}
        found = [each for clause in self._clauses.values() for each in self._of_clause(clause, times, now)]
        notice = self.clause("notice_of_violation")
        appealed = "filed" in times and "withdrawn" not in times  # then the decision says until when it is corrected
        if notice is not None and "correct_by" in times and not appealed:
            found.append(Clock(notice.id, "correct_by", *[times["correct_by"]] * 3))
        of_matter = {clause.id for kind, clause in self._clauses.items() if kind in _OF_THE_MATTER}
        by_name = {each.name: each for each in found if each.provision not in of_matter}
        return [*found, *self._request(by_name), *self._lien(by_name, times), *self._payments(times, now)]

    def _of_clause(self, clause: Provision, times: Mapping[str, int], now: Known) -> Iterator[Clock]:
        if _ONLY_WITH.get(clause.kind, "") not in ("", *times):
            return
        starts = {start: times[name] for start, name in STARTS[clause.kind].items() if name in times}
        for deadline in clause.deadlines:
            if clause.kind == "spill_report" and now.hazard and _NOT_OF.get(deadline.name) == now.hazard:
                continue
            closes = self.profile.closes(self._day)
            due = clocks.due(self._read(clause, deadline), starts, self._where, closes)
            if due.taken_us is not None:
                yield Clock(clause.id, deadline.name, due.strict_us, due.lenient_us, due.taken_us)

    def _read(self, clause: Provision, deadline: Deadline) -> Deadline:
        """A deadline as the municipality has chosen to read it."""
        match clause.kind, deadline.name:
            case "cost_recovery", "interest":
                return deadline.model_copy(update={"takes": self.choice("abatement.interest")})
            case "spill_report", "confirmation" if self.choice("spill.confirm_from") == "telephone_notice":
                return deadline.read(deadline.lenient)
        return self.profile.read(clause, deadline, self._day)

    def _of_spill(self, now: Known) -> dict[str, int]:
        """Knowledge of a release, and the notices that are to be confirmed."""
        found: dict[str, int] = {}
        by = {"acknowledged": ("acknowledged",), "alarm": ("alarm", "acknowledged"), "confirmed": ("confirmed",)}
        knowledge = [now.times[name] for name in by[self.choice("spill.knowledge")] if name in now.times]
        if knowledge:
            found["knowledge"] = min(knowledge)
        if now.by_mouth:
            found["first_notice"] = min(now.by_mouth.values())
        if "telephone" in now.by_mouth:
            found["telephone_notice"] = now.by_mouth["telephone"]
        return found

    def _request(self, running: Mapping[str, Clock]) -> Iterator[Clock]:
        """The day from which the municipality may ask to enter: the time to correct is over then."""
        clause = self.clause("corrective_measures")
        over = running.get("correct") or running.get("correct_by")
        if clause is None or over is None or self.choice("corrective.reading") == "request":
            return
        strict, lenient, taken = (self._day_after(each) for each in (over.strict_us, over.lenient_us, over.taken_us))
        yield Clock(clause.id, "request_from", strict, lenient, taken)

    def _lien(self, running: Mapping[str, Clock], times: Mapping[str, int]) -> Iterator[Clock]:
        """When what is unpaid may become a lien: the time to object is over, and what was objected is decided."""
        if self.costs is None or "cost_told" not in times or ("protested" in times and "settled" not in times):
            return
        of = {"appeal": running.get("file"), "protest": running.get("protest")}
        ends = [clock.taken_us for name in self.costs.lien_after if (clock := of[name]) and clock.taken_us is not None]
        settled = times.get("pay_by", times.get("settled"))
        if len(ends) < len(self.costs.lien_after):
            return
        strict, lenient = (max(each, settled or each) for each in (ends[0], ends[-1]))
        yield Clock(self.costs.id, "lien", strict, lenient, max(strict, lenient))

    def _payments(self, times: Mapping[str, int], now: Known) -> Iterator[Clock]:
        """The days of the payments that were agreed on; what was paid is no account of it."""
        if self.costs is None or "first_payment" not in times:
            return
        months = self.choice("abatement.instalment_months")
        first = localtime.day_of(times["first_payment"], self._where)
        for n in range(now.payments):
            day = localtime.after_months(first, n * months)
            due_us = localtime.time_of_day_us(day, self.profile.closes(self._day), self._where)
            yield Clock(self.costs.id, f"{_PAYMENT}{n + 1}", due_us, due_us, due_us)

    def _day_after(self, end_us: int | None) -> int | None:
        """The beginning of the day after the one that ends then, or in which the instant lies."""
        if end_us is None:
            return None
        return localtime.midnight_us(localtime.day_of(end_us - 1, self._where) + timedelta(days=1), self._where)

    # --- how they stand ---

    def running(self, case: Case) -> list[Running]:
        """The clocks of a case as its steps have set them, soonest first."""
        now = known(case.steps)
        clauses = {each.id: each for each in (*self.profile.provisions, state_spill())}
        found = [
            self._told(clock, clauses[clock.provision], now)
            for clock in standing(case.steps)
            if clock.provision in clauses
        ]
        return sorted(found, key=lambda each: (each.clock.taken_us or 0, each.clock.name))

    def _told(self, clock: Clock, clause: Provision, now: Known) -> Running:
        deadline = next((each for each in clause.deadlines if each.name == clock.name), None)
        to_tell = self._parties(clause, clock.name)
        return Running(
            clock,
            clause,
            _RULES.get(clock.name.rstrip("0123456789"), "")
            if deadline is None
            else deadline.text + _where(deadline, now),
            "later" if deadline is None else self._read(clause, deadline).takes,
            self._met_us(clause, clock, now, to_tell),
            self._owed_by(clause, clock.name),
            tuple(each for each in to_tell if each.id not in now.told),
            deadline is not None and deadline.holds == "by" and deadline.count == 0,
        )

    def _met_us(self, clause: Provision, clock: Clock, now: Known, parties: Sequence[Party]) -> int | None:
        if parties:
            told = [now.told.get(each.id) for each in parties]
            return None if None in told else max(each for each in told if each is not None)
        if clock.name.startswith(_PAYMENT):
            n = int(clock.name.removeprefix(_PAYMENT)) - 1
            return now.paid_us[n] if n < len(now.paid_us) else now.times.get(_PAID)
        name = _MET_BY.get((clause.kind, clock.name), "")
        if (clause.kind, clock.name) == ("appeal", "file"):
            name = self._filed_by(clause)
        if name == "abated" and self._owed_by(clause, clock.name) == "municipality":
            name = "requested"
        met = now.times.get(name)
        return now.times.get(_PAID) if met is None and clock.name == "lien" else met

    def _parties(self, clause: Provision, name: str) -> Sequence[Party]:
        """Whom a clock of a spill wants told."""
        if clause.kind == "state_spill":
            return (Party(id=HOTLINE, name="the State's spill hotline"),)
        if not isinstance(clause, Spill):
            return ()
        of = {
            "hazardous_call": clause.hazardous_to,
            "hazardous_notice": clause.hazardous_notice_to,
            "notice": clause.nonhazardous_to,
        }
        return of.get(name, ())

    def _owed_by(self, clause: Provision, name: str) -> str:
        if (clause.kind, name) == ("corrective_measures", "correct"):
            return "municipality" if self.choice("corrective.reading") == "request" else "person"
        return "person" if name.startswith(_PAYMENT) else _OWED_BY.get((clause.kind, name), "")

    @staticmethod
    def _filed_by(clause: Provision) -> str:
        """A code whose hearing counts from the receipt of the appeal counts its filing by that too."""
        hear = next((each for each in clause.deadlines if each.name == "hear"), None)
        return "received" if hear is not None and hear.starts == "receipt" else "filed"


def _where(deadline: Deadline, now: Known) -> str:
    """For which kind of release a deadline is, while nobody has said which it was."""
    other = "" if now.hazard else _NOT_OF.get(deadline.name, "")
    return {"hazardous": ", if it is not hazardous", "nonhazardous": ", if it is hazardous"}.get(other, "")


#: how a clock that is no deadline of its clause counts
_RULES: Final = {
    "correct_by": "as the notice sets it",
    "request_from": "once the time to correct is over",
    "lien": "once the time to object is over",
    _PAYMENT: "as the payments were agreed on",
}


def standing(steps: Sequence[CaseStep]) -> list[Clock]:
    """The clocks that stand after some steps: of each what was set last, unless that was that it runs no more."""
    found: dict[tuple[str, str], Clock] = {}
    for step in steps:
        for clock in step.clocks:
            found[clock.provision, clock.name] = clock
    return [clock for clock in found.values() if clock.taken_us is not None]


def moved(before: Sequence[Clock], after: Sequence[Clock]) -> list[Clock]:
    """What a step says of clocks: the new and the moved ones, and those that run no more, without an instant."""
    kept = {(each.provision, each.name) for each in after}
    gone = [Clock(each.provision, each.name, None, None, None) for each in before]
    return [each for each in after if each not in before] + [
        each for each in gone if (each.provision, each.name) not in kept
    ]


def _starts_of(deadline: Deadline) -> Iterable[Start]:
    return {deadline.starts, deadline.read(deadline.strict).starts, deadline.read(deadline.lenient).starts}
