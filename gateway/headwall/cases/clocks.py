"""The clocks of a case: what the municipality's code times between the steps, by both readings.

Which clauses there are, how long they give, from what and for whom stands in the profile. Here stands only which step
of a case gives the instant that a clause starts with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from headwall.cases.kinds import kind_of
from headwall.cases.states import MOVES
from headwall.law import clocks, localtime
from headwall.law.deadlines import Deadline, Start
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.ledger.cases import Case, CaseStep, Clock

#: kind of clause → what its clocks may start with → the instant of a step that gives it
_STARTS: Final[dict[str, dict[Start, str]]] = {
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
}
#: clocks of costs run only once there are costs
_ONLY_WITH: Final = {"cost_recovery": "abated_at_cost"}
#: clause and deadline → the instant by which it is met
_MET_BY: Final = {
    ("appeal", "hear"): "heard",
    ("appeal", "serve"): "copied",
    ("corrective_measures", "correct"): "abated",
    ("cost_recovery", "tell"): "cost_told",
    ("cost_recovery", "protest"): "protested",
}


@dataclass(frozen=True)
class Running:
    """A clock as it stands, with its clause.

    Attributes:
        rule: how the clause counts, in words.
        takes: which reading counts.
        met_us: when what it waits for was done.
    """

    clock: Clock
    clause: Provision
    rule: str
    takes: str
    met_us: int | None


class Code:
    """What a municipality's code has for a case: its clauses in force when it happened.

    Args:
        where: the municipality's time zone.
    """

    def __init__(self, profile: Profile, where: tzinfo, case: Case) -> None:
        self.profile = profile
        self._where = where
        day = localtime.day_of(case.from_us, where)
        in_force = [each for each in profile.provisions if each.in_force(day)]
        #: the clauses that it may break, the most fitting first
        self.breakable = [each for kind in kind_of(case.kind).breaks for each in in_force if each.kind == kind]
        named = (each for each in self.breakable if each.id == case.provision)
        #: the one that it is taken to break: the named one, else the most fitting; None: the code has none
        self.broken = next(named, next(iter(self.breakable), None))
        article = self.broken.article if self.broken else None
        self._clauses: dict[str, Provision] = {
            each.kind: each for each in reversed(in_force) if each.kind in _STARTS and each.article == article
        }

    def clause(self, kind: str) -> Provision | None:
        """The clause of a kind that goes with the broken one."""
        return self._clauses.get(kind)

    def asked(self, action: str) -> list[tuple[str, Provision]]:
        """Instants that clocks start with and that this step alone can tell, with the clause that counts from each."""
        told = {name for name in MOVES[action].may_set if name in ("issued", "dated", "received")}
        found: dict[str, Provision] = {}
        for clause in self._clauses.values():
            for deadline in clause.deadlines:
                for start in _starts_of(deadline):
                    name = _STARTS[clause.kind].get(start, "")
                    if name in told:
                        found.setdefault(name, clause)
        return sorted(found.items(), key=lambda each: each[0])

    def clocks(self, times: Mapping[str, int]) -> list[Clock]:
        """Every clock that runs with some instants of steps."""
        found = []
        for kind, clause in self._clauses.items():
            if _ONLY_WITH.get(kind, "") not in ("", *times):
                continue
            starts = {start: times[name] for start, name in _STARTS[kind].items() if name in times}
            for deadline in clause.deadlines:
                due = clocks.due(deadline, starts, self._where, self.profile.office_closes)
                if due.taken_us is not None:
                    found.append(Clock(clause.id, deadline.name, due.strict_us, due.lenient_us, due.taken_us))
        notice = self.clause("notice_of_violation")
        if notice is not None and "correct_by" in times:
            found.append(Clock(notice.id, "correct_by", *[times["correct_by"]] * 3))
        return found

    def running(self, case: Case) -> list[Running]:
        """The clocks of a case as its steps have set them, soonest first."""
        times = instants((step.action, step.times) for step in case.steps)
        known = {each.id: each for each in self.profile.provisions}
        found = [
            self._told(clock, known[clock.provision], times)
            for clock in standing(case.steps)
            if clock.provision in known
        ]
        return sorted(found, key=lambda each: (each.clock.taken_us or 0, each.clock.name))

    def _told(self, clock: Clock, clause: Provision, times: Mapping[str, int]) -> Running:
        deadline = next((each for each in clause.deadlines if each.name == clock.name), None)
        met = "abated" if clock.name == "correct_by" else _MET_BY.get((clause.kind, clock.name), "")
        if (clause.kind, clock.name) == ("appeal", "file"):
            met = self._filed_by(clause)
        return Running(
            clock,
            clause,
            "as the notice sets it" if deadline is None else deadline.text,
            "later" if deadline is None else deadline.takes,
            times.get(met),
        )

    @staticmethod
    def _filed_by(clause: Provision) -> str:
        """A code whose hearing counts from the receipt of the appeal counts its filing by that too."""
        hear = next((each for each in clause.deadlines if each.name == "hear"), None)
        return "received" if hear is not None and hear.starts == "receipt" else "filed"


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


def instants(steps: Iterable[tuple[str, Mapping[str, int]]]) -> dict[str, int]:
    """The instants that steps have told; of a step that was entered again the last entry alone."""
    last: dict[str, Mapping[str, int]] = {}
    for action, times in steps:
        if times:
            last[action] = times
    return {name: instant for times in last.values() for name, instant in times.items()}


def _starts_of(deadline: Deadline) -> set[Start]:
    return {deadline.starts, deadline.read(deadline.strict).starts, deadline.read(deadline.lenient).starts}
