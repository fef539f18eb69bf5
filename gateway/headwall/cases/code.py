"""What a municipality's code has for a case: the clauses in force when it happened, as the municipality reads them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import time, tzinfo
from typing import Any, Final

from headwall.cases.kinds import SPILL, kind_of
from headwall.cases.states import MOVES
from headwall.law import localtime
from headwall.law.deadlines import Deadline, Start
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.law.provisions import CostRecovery, Spill
from headwall.law.state_spill import state_spill
from headwall.ledger.cases import Case

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
OF_THE_MATTER: Final = frozenset({"contaminating_activity", "spill_report"})


class Code:
    """What a municipality's code has for a case: its clauses in force when it happened.

    Args:
        where: the municipality's time zone.
    """

    def __init__(self, profile: Profile, where: tzinfo, case: Case) -> None:
        self.profile = profile
        self.where = where
        self._day = localtime.day_of(case.from_us, where)
        in_force = [each for each in profile.provisions if each.in_force(self._day)]
        #: the clauses that it may break, the most fitting first
        self.breakable = [each for kind in kind_of(case.kind).breaks for each in in_force if each.kind == kind]
        named = (each for each in self.breakable if each.id == case.provision)
        #: the one that it is taken to break: the named one, else the most fitting; None: the code has none
        self.broken = next(named, next(iter(self.breakable), None))
        article = self.broken.article if self.broken else None
        #: those whose clocks can run, by their kinds
        self.clauses: dict[str, Provision] = {
            each.kind: each
            for each in reversed(in_force)
            if each.kind in STARTS
            and (each in self.breakable if each.kind in OF_THE_MATTER else each.article == article)
        }
        if case.kind == SPILL:
            self.clauses["state_spill"] = state_spill()

    @property
    def spill(self) -> Spill | None:
        """Who is to be told of a spill; None: it is none, or the code has no such clause."""
        found = self.clauses.get("spill_report")
        return found if isinstance(found, Spill) else None

    @property
    def costs(self) -> CostRecovery | None:
        found = self.clauses.get("cost_recovery")
        return found if isinstance(found, CostRecovery) else None

    @property
    def closes(self) -> time:
        """When the office closes on the day of the case."""
        return self.profile.closes(self._day)

    def clause(self, kind: str) -> Provision | None:
        """The clause of a kind that goes with the broken one."""
        return self.clauses.get(kind)

    def choice(self, key: str) -> Any:
        """How the municipality reads an open question on the day of the case."""
        return self.profile.choice(key, self._day)

    def asked(self, action: str) -> list[tuple[str, Provision]]:
        """Instants that clocks start with and that this step alone can tell, with the clause that counts from each."""
        told = {name for name in MOVES[action].may_set if name in ("issued", "dated", "received")}
        found: dict[str, Provision] = {}
        for clause in self.clauses.values():
            for deadline in clause.deadlines:
                for start in _starts_of(self.read(clause, deadline)):
                    name = STARTS[clause.kind].get(start, "")
                    if name in told:
                        found.setdefault(name, clause)
        return sorted(found.items(), key=lambda each: each[0])

    def read(self, clause: Provision, deadline: Deadline) -> Deadline:
        """A deadline as the municipality has chosen to read it."""
        match clause.kind, deadline.name:
            case "cost_recovery", "interest":
                return deadline.model_copy(update={"takes": self.choice("abatement.interest")})
            case "spill_report", "confirmation" if self.choice("spill.confirm_from") == "telephone_notice":
                return deadline.read(deadline.lenient)
        return self.profile.read(clause, deadline, self._day)


def _starts_of(deadline: Deadline) -> Iterable[Start]:
    return {deadline.starts, deadline.read(deadline.strict).starts, deadline.read(deadline.lenient).starts}
