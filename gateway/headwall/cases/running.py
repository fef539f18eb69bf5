"""How the clocks of a case stand: what each waits for, who has to meet it, and whether it is met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from headwall.cases.clocks import NOT_OF, PAYMENT, standing
from headwall.cases.code import Code
from headwall.cases.known import Known, known
from headwall.law import localtime, words
from headwall.law.deadlines import Deadline
from headwall.law.provision import Provision
from headwall.law.provisions import Party, Spill
from headwall.law.state_spill import HOTLINE, state_spill
from headwall.ledger.cases import Case, Clock

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
#: the instant that says what is unpaid needs no lien
_PAID: Final = "paid"
#: what is owed without a time, by the step that answers it
_UNSETTLED: Final = "settle"


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
    def what(self) -> str:
        """What it waits for, in a few words."""
        if self.to_tell:
            return f"tell {'; '.join(party.name for party in self.to_tell)}"
        return words.clock_name(self.clause, self.clock.name)

    @property
    def asks(self) -> str:
        """One line: what it waits for, and how the code counts."""
        return f"{self.what}: {self.rule}"


def clocks_of(code: Code, case: Case) -> list[Running]:
    """The clocks of a case as its steps have set them, soonest first."""
    now = known(case.steps)
    clauses = {each.id: each for each in (*code.profile.provisions, state_spill())}
    found = [
        _told(code, clock, clauses[clock.provision], now)
        for clock in standing(case.steps)
        if clock.provision in clauses
    ]
    return sorted(found, key=lambda each: (each.clock.taken_us or 0, each.clock.name))


def owed_first(clocks: Iterable[Running]) -> Running | None:
    """The first clock that somebody has to meet and has not met."""
    return next((each for each in clocks if each.owed_by and each.met_us is None), None)


def owed_of(code: Code, case: Case) -> dict[str, str]:
    """What somebody still has to do in a case, by name, in words: clocks that are not met, an undecided protest."""
    found: dict[str, str] = {}
    for each in clocks_of(code, case):
        if not each.owed_by or each.met_us is not None or each.clock.taken_us is None:
            continue
        name, until = each.clock.name, localtime.until(each.clock.taken_us, code.where)
        said = f"{each.asks} ({each.clause.citation}), by {until}"
        found[name] = f"{found[name]}, and {said}" if name in found else said  # two clauses may have one name for it
    times = known(case.steps).times
    if code.costs is not None and "protested" in times and "settled" not in times:
        found[_UNSETTLED] = f"decide the protest against the cost ({code.costs.citation})"
    return found


def _told(code: Code, clock: Clock, clause: Provision, now: Known) -> Running:
    deadline = next((code.read(clause, each) for each in clause.deadlines if each.name == clock.name), None)
    to_tell = _parties(clause, clock.name)
    return Running(
        clock,
        clause,
        _RULES.get(clock.name.rstrip("0123456789"), "") if deadline is None else deadline.text + _where(deadline, now),
        "later" if deadline is None else deadline.takes,
        _met_us(code, clause, clock, now, to_tell),
        _owed_by(code, clause, clock.name),
        tuple(each for each in to_tell if each.id not in now.told),
        deadline is not None and deadline.holds == "by" and deadline.count == 0,
    )


def _met_us(code: Code, clause: Provision, clock: Clock, now: Known, parties: Sequence[Party]) -> int | None:
    if parties:
        told = [now.told.get(each.id) for each in parties]
        return None if None in told else max(each for each in told if each is not None)
    if clock.name.startswith(PAYMENT):
        n = int(clock.name.removeprefix(PAYMENT)) - 1
        return now.paid_us[n] if n < len(now.paid_us) else now.times.get(_PAID)
    name = _MET_BY.get((clause.kind, clock.name), "")
    if (clause.kind, clock.name) == ("appeal", "file"):
        name = _filed_by(clause)
    if name == "abated" and _owed_by(code, clause, clock.name) == "municipality":
        name = "requested"
    met = now.times.get(name)
    return now.times.get(_PAID) if met is None and clock.name == "lien" else met


def _parties(clause: Provision, name: str) -> Sequence[Party]:
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


def _owed_by(code: Code, clause: Provision, name: str) -> str:
    if (clause.kind, name) == ("corrective_measures", "correct"):
        return "municipality" if code.choice("corrective.reading") == "request" else "person"
    return "person" if name.startswith(PAYMENT) else _OWED_BY.get((clause.kind, name), "")


def _filed_by(clause: Provision) -> str:
    """A code whose hearing counts from the receipt of the appeal counts its filing by that too."""
    hear = next((each for each in clause.deadlines if each.name == "hear"), None)
    return "received" if hear is not None and hear.starts == "receipt" else "filed"


def _where(deadline: Deadline, now: Known) -> str:
    """For which kind of release a deadline is, while nobody has said which it was."""
    other = "" if now.hazard else NOT_OF.get(deadline.name, "")
    return {"hazardous": ", if it is not hazardous", "nonhazardous": ", if it is hazardous"}.get(other, "")


#: how a clock that is no deadline of its clause counts
_RULES: Final = {
    "correct_by": "as the notice sets it",
    "request_from": "once the time to correct is over",
    "lien": "once the time to object is over",
    PAYMENT: "as the payments were agreed on",
}
