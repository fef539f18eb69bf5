"""The clocks of a case: what the municipality's code times between the steps, by both readings.

Which clauses there are, how long they give, from what and for whom stands in the profile. Here stands only what runs
after which steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from headwall.cases.code import OF_THE_MATTER, STARTS, Code
from headwall.cases.known import Known, known
from headwall.law import clocks, localtime
from headwall.law.provision import Provision
from headwall.ledger.cases import CaseStep, Clock

#: deadlines of a spill that do not run once it is known to be of one kind
NOT_OF: Final = {
    "hazardous_call": "nonhazardous",
    "hazardous_notice": "nonhazardous",
    "notice": "hazardous",
}
#: what the clock of a payment is called, before its number
PAYMENT: Final = "payment_"
#: clocks of costs run only once there are costs
_ONLY_WITH: Final = {"cost_recovery": "abated_at_cost"}
#: instants of an appeal from which nothing is counted any more once it was withdrawn
_OF_APPEAL: Final = ("filed", "received")


def after(code: Code, steps: Sequence[CaseStep]) -> list[Clock]:
    """Every clock that runs after some steps."""
    now = known(steps)
    times = {**now.times, **_of_spill(code, now)}
    found = [each for clause in code.clauses.values() for each in _of_clause(code, clause, times, now)]
    notice = code.clause("notice_of_violation")
    if notice is not None and "correct_by" in times and not _appealed(times):  # else the decision says until when
        found.append(Clock(notice.id, "correct_by", *[times["correct_by"]] * 3))
    of_matter = {clause.id for kind, clause in code.clauses.items() if kind in OF_THE_MATTER}
    by_name = {each.name: each for each in found if each.provision not in of_matter}
    return [*found, *_request(code, by_name), *_lien(code, by_name, times), *_payments(code, times, now)]


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


def _of_clause(code: Code, clause: Provision, times: Mapping[str, int], now: Known) -> Iterator[Clock]:
    if _ONLY_WITH.get(clause.kind, "") not in ("", *times):
        return
    over = _OF_APPEAL if not _appealed(times) else ()
    starts = {start: times[name] for start, name in STARTS[clause.kind].items() if name in times and name not in over}
    for deadline in clause.deadlines:
        if clause.kind == "spill_report" and now.hazard and NOT_OF.get(deadline.name) == now.hazard:
            continue
        due = clocks.due(code.read(clause, deadline), starts, code.where, code.closes)
        if due.taken_us is not None:
            yield Clock(clause.id, deadline.name, due.strict_us, due.lenient_us, due.taken_us)


def _appealed(times: Mapping[str, int]) -> bool:
    """Whether there is an appeal that was not withdrawn."""
    return "filed" in times and times.get("withdrawn", -1) < times["filed"]


def _of_spill(code: Code, now: Known) -> dict[str, int]:
    """Knowledge of a release, and the notices that are to be confirmed."""
    found: dict[str, int] = {}
    by = {"acknowledged": ("acknowledged",), "alarm": ("alarm", "acknowledged"), "confirmed": ("confirmed",)}
    knowledge = [now.times[name] for name in by[code.choice("spill.knowledge")] if name in now.times]
    if knowledge:
        found["knowledge"] = min(knowledge)
    if now.by_mouth:
        found["first_notice"] = min(now.by_mouth.values())
    if "telephone" in now.by_mouth:
        found["telephone_notice"] = now.by_mouth["telephone"]
    return found


def _request(code: Code, running: Mapping[str, Clock]) -> Iterator[Clock]:
    """The day from which the municipality may ask to enter: the time to correct is over then."""
    clause = code.clause("corrective_measures")
    over = running.get("correct") or running.get("correct_by")
    if clause is None or over is None or code.choice("corrective.reading") == "request":
        return
    strict, lenient, taken = (_day_after(code, each) for each in (over.strict_us, over.lenient_us, over.taken_us))
    yield Clock(clause.id, "request_from", strict, lenient, taken)


def _lien(code: Code, running: Mapping[str, Clock], times: Mapping[str, int]) -> Iterator[Clock]:
    """When what is unpaid may become a lien: the time to object is over, and what was objected is decided."""
    if code.costs is None or "cost_told" not in times or ("protested" in times and "settled" not in times):
        return
    of = {"appeal": running.get("file"), "protest": running.get("protest")}
    ends = [clock.taken_us for name in code.costs.lien_after if (clock := of[name]) and clock.taken_us is not None]
    settled = times.get("pay_by", times.get("settled"))
    if len(ends) < len(code.costs.lien_after):
        return
    strict, lenient = (max(each, settled or each) for each in (ends[0], ends[-1]))
    yield Clock(code.costs.id, "lien", strict, lenient, max(strict, lenient))


def _payments(code: Code, times: Mapping[str, int], now: Known) -> Iterator[Clock]:
    """The days of the payments that were agreed on; what was paid is no account of it."""
    if code.costs is None or "first_payment" not in times:
        return
    months = code.choice("abatement.instalment_months")
    first = localtime.day_of(times["first_payment"], code.where)
    for n in range(now.payments):
        day = localtime.after_months(first, n * months)
        due_us = localtime.time_of_day_us(day, code.closes, code.where)
        yield Clock(code.costs.id, f"{PAYMENT}{n + 1}", due_us, due_us, due_us)


def _day_after(code: Code, end_us: int | None) -> int | None:
    """The beginning of the day after the one that ends then, or in which the instant lies."""
    if end_us is None:
        return None
    return localtime.midnight_us(localtime.day_of(end_us - 1, code.where) + timedelta(days=1), code.where)
