"""Taking a step of a case: the one place where a case changes.

A step is taken from a state that allows it, by a named person where it is a person's, with what the municipality's code
needs to count from; it stands in the log book, and the clocks that it sets stand with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import sqlalchemy as sa

from headwall import codes
from headwall.cases import clocks as case_clocks
from headwall.cases import opening
from headwall.cases.code import Code
from headwall.cases.kinds import kind_of
from headwall.cases.known import OTHER, known
from headwall.cases.running import owed_of
from headwall.cases.states import AHEAD, BY_MUNICIPALITY, MEANS, MOVES, PERSONAL, SET_ASIDE, STATES, Move
from headwall.errors import InputError
from headwall.law.provision import Provision
from headwall.law.provisions import Spill
from headwall.law.state_spill import HOTLINE
from headwall.ledger import cases, log_book
from headwall.registry import Registry

#: step → kind of clause under which it is taken
_CLAUSES: Final = {
    "serve": "notice_of_violation",
    "correct": "corrective_measures",
    "appeal": "appeal",
    "hear": "appeal",
    "decide": "appeal",
    "request": "corrective_measures",
    "answer": "corrective_measures",
    "warrant": "corrective_measures",
    "enter": "corrective_measures",
    "notify": "contaminating_activity",
    "cost": "cost_recovery",
    "protest": "cost_recovery",
    "settle": "cost_recovery",
    "instalments": "cost_recovery",
    "pay": "cost_recovery",
    "lien": "cost_recovery",
    "call": "spill_report",
    "classify": "spill_report",
    "confirm_written": "spill_report",
    "site_record": "spill_report",
}
#: steps under the clause that the case may break
_UNDER_BROKEN: Final = frozenset({"review", "confirm", "dismiss"})
#: what has nothing left to correct
_NOT_AFTER_SET_ASIDE: Final = frozenset({"correct", "abate"})


@dataclass(frozen=True)
class Told:
    """What is told of a step.

    Attributes:
        by: who decided or did it.
        done_us: when it was done.
        note: what else is to be known; the reason, where the step needs one.
        outcome: of a decision or an abatement.
        details: what else the step needs or may tell, by the names in its entry in MOVES.
        times: further instants, by the names that the step's entry in MOVES allows.
    """

    by: str
    done_us: int
    note: str = ""
    means: str = ""
    outcome: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)


def code_of(conn: sa.Connection, registry: Registry, case: cases.Case) -> Code:
    """What the code of a case's municipality has for it, with what persons have entered of the code."""
    return Code(codes.code_of(conn, registry, case.municipality), registry.zone(case.municipality), case)


def open_by_person(
    conn: sa.Connection,
    registry: Registry,
    site: str,
    *,
    kind: str,
    by: str,
    seen_us: int,
    note: str,
    now_us: int,
    details: Mapping[str, str] = MappingProxyType({}),
) -> cases.Case:
    """A case that a person opens, for what no sensor has told.

    Args:
        seen_us: when it was first seen or known.
        details: what the kind tells when it is opened, see `opening.TELLS`.
    """
    log_book.person(by)
    kind_of(kind)
    if seen_us > now_us:
        raise InputError("open: the time is in the future; enter it once it was seen")
    case = _new(
        conn,
        kind=kind,
        provision="",
        municipality=registry.require_site(site).municipality,
        site=site,
        notice=None,
        historical=False,
        span=(seen_us, seen_us),
        now_us=now_us,
    )
    code = code_of(conn, registry, case)
    opening.check(code, case, details)
    told = Told(by, seen_us, note, details=dict(details), times=opening.times(conn, details, site))
    _write(conn, case, "open", case.state, told, now_us=now_us, code=code)
    return cases.case(conn, case.id)


def opened(
    conn: sa.Connection,
    *,
    kind: str,
    municipality: str,
    site: str,
    notice: str,
    historical: bool,
    span: tuple[int, int],
    now_us: int,
    provision: str = "",
) -> cases.Case:
    """A new case that readings propose: suspected, and no more."""
    case = _new(
        conn,
        kind=kind,
        provision=provision,
        municipality=municipality,
        site=site,
        notice=notice,
        historical=historical,
        span=span,
        now_us=now_us,
    )
    _write(conn, case, "open", case.state, Told(log_book.HEADWALL, span[0]), now_us=now_us)
    return cases.case(conn, case.id)


def _new(conn: sa.Connection, *, span: tuple[int, int], now_us: int, **columns: Any) -> cases.Case:
    times = {"from_us": span[0], "until_us": span[1]}
    return cases.case(conn, cases.add(conn, **columns, **times, state="suspected", at_us=now_us))


def by_gateway(conn: sa.Connection, case: cases.Case, action: str, *, note: str, now_us: int) -> None:
    """A step that the gateway takes by itself: none of those that a code gives to a person."""
    move = MOVES[action]
    if move.by_person:
        raise InputError(f"{action} is a person's step; the gateway takes none of those")
    _check_state(case, action, move)
    _write(conn, case, action, move.to or case.state, Told(log_book.HEADWALL, now_us, note), now_us=now_us)


def read_again(conn: sa.Connection, code: Code, case: cases.Case, *, now_us: int) -> None:
    """The clocks of a case as the code has them now; where they are others, a step of the gateway says so."""
    if case_clocks.moved(case_clocks.standing(case.steps), case_clocks.after(code, case.steps)):
        told = Told(log_book.HEADWALL, now_us, "as the municipality reads its code now")
        _write(conn, case, "read_again", case.state, told, now_us=now_us, code=code)


def take(conn: sa.Connection, registry: Registry, number: int, action: str, told: Told, *, now_us: int) -> cases.Case:
    """A named person's step; returns the case as it stands then.

    Raises:
        InputError: the case is in no state for it, nobody is named, or something is missing that the step or the
            municipality's code needs.
        UnknownThingError: there is no such case.
    """
    move = MOVES[action]
    if not move.by_person:
        raise InputError(f"{action} is no step of a person")
    case = cases.case(conn, number, lock=True)
    log_book.person(told.by)
    _check_state(case, action, move)
    times = dict(told.times)
    if move.sets:
        times[move.sets] = told.done_us
    told = replace(told, times=times)
    _check_told(case, action, move, told, now_us)
    code = code_of(conn, registry, case)
    if "breaks" in told.details:
        code = _breaking(conn, registry, code, case, told.details["breaks"])
    if action == "confirm":
        opening.check_confirmed(code, case, told.details)
    clause = _clause(code, case, action, told.outcome)
    _check_code(code, case, action, told)
    times |= dict.fromkeys(move.outcomes.get(told.outcome, ()), told.done_us)
    _write(conn, case, action, move.to or case.state, told, now_us=now_us, clause=clause, code=code)
    return cases.case(conn, number)


def may_follow(case: cases.Case) -> list[str]:
    """The steps of persons that a case may take next."""
    return [
        name
        for name, move in MOVES.items()
        if move.by_person and case.state in move.after and (not move.kinds or case.kind in move.kinds)
    ]


def _breaking(conn: sa.Connection, registry: Registry, code: Code, case: cases.Case, named: str) -> Code:
    """The code once a person has named another of the clauses that the case may break."""
    may = [each.id for each in code.breakable]
    if named not in may:
        raise InputError(f"case {case.id} cannot break {named!r}; clauses of its kind are {', '.join(may) or 'none'}")
    cases.update(conn, case.id, provision=named)
    return code_of(conn, registry, replace(case, provision=named))


def _check_state(case: cases.Case, action: str, move: Move) -> None:
    if move.kinds and case.kind not in move.kinds:
        kinds = " and ".join(_words(kind) for kind in sorted(move.kinds))
        raise InputError(f"case {case.id} is a {_words(case.kind)}: {_words(action)} is a step of a {kinds}")
    if case.state not in move.after:
        allowed = ", ".join(_words(name) for name in STATES if name in move.after)
        raise InputError(
            f"case {case.id} is {STATES[case.state]}: {_words(action)} is a step from {allowed}; see "
            f"`headwall case show {case.id}`"
        )
    if action in _NOT_AFTER_SET_ASIDE and case.state == "decided":
        decision = [step for step in case.steps if step.action == "decide"][-1]
        if decision.outcome == SET_ASIDE:
            raise InputError(f"case {case.id}: the notice was set aside; nothing is left to {action}. Close it")


def _check_told(case: cases.Case, action: str, move: Move, told: Told, now_us: int) -> None:
    if move.why and not told.note.strip():
        raise InputError(f"{action} of a case needs its reason: it stands in the log book")
    if move.outcomes and told.outcome not in move.outcomes:
        raise InputError(f"{action} needs an outcome: one of {', '.join(move.outcomes)}")
    if unknown := set(told.times) - {move.sets, *move.may_set}:
        raise InputError(f"{action} tells no {', '.join(sorted(unknown))}")
    _check_details(case, action, move, told)
    ahead = [name for name, instant in told.times.items() if instant > now_us and name not in AHEAD]
    if told.done_us > now_us or ahead:
        raise InputError(f"{action}: {', '.join(ahead) or 'the time'} is in the future; enter it once it is done")
    before = [step for step in case.steps if step.from_state != step.to_state and step.action not in ("open", action)]
    before = [step for step in before if step.by != log_book.HEADWALL]
    if move.to is not None and before and told.done_us < before[-1].done_us:
        raise InputError(
            f"{action} cannot have been done before the step that it follows ({before[-1].action}); look at the times "
            f"with `headwall case show {case.id}`"
        )


def _check_details(case: cases.Case, action: str, move: Move, told: Told) -> None:
    for name in move.needs:
        if not told.details.get(name, "").strip():
            raise InputError(f"{_words(action)} of case {case.id} needs its {name}")
    if unknown := sorted(set(told.details).difference(move.needs, move.may_tell)):
        raise InputError(f"{_words(action)} tells no {', '.join(unknown)}")
    if action == "call" and told.means not in MEANS:
        raise InputError(f"a call needs its means: one of {', '.join(MEANS)}")
    if action == "strike":
        _check_struck(case, told.details["step"])


def _check_struck(case: cases.Case, number: str) -> None:
    """A step that brought the case into a state is no mistake to strike: entered again it is corrected."""
    found = next((step for step in case.steps if str(step.id) == number), None)
    if found is None:
        raise InputError(f"case {case.id} has no step {number}; `headwall case show {case.id}` numbers them")
    if found.from_state != found.to_state or found.action == "strike" or found.by == log_book.HEADWALL:
        raise InputError(f"step {number} of case {case.id} cannot be struck ({_words(found.action)}); enter it again")


def _clause(code: Code, case: cases.Case, action: str, outcome: str) -> Provision | None:
    kind = "corrective_measures" if outcome == BY_MUNICIPALITY else _CLAUSES.get(action, "")
    if action in _UNDER_BROKEN:
        if code.broken is None and action == "confirm":
            raise InputError(
                f"{code.profile.code} of {code.profile.municipality} has no clause in force then that case {case.id} "
                "could break; see `headwall law list`"
            )
        return code.broken
    return code.clause(kind)


def _check_code(code: Code, case: cases.Case, action: str, told: Told) -> None:
    """InputError where a clause counts from an instant that is not told, or has no room for the step."""
    for name, clause in code.asked(action):
        if name not in told.times:
            raise InputError(
                f"{code.profile.municipality}, {clause.citation}, counts from when it was {name}; write --{name}"
            )
    if action == "appeal" and "served" not in known(case.steps).times:
        raise InputError(f"case {case.id}: no notice of violation was served that could be appealed")
    if action == "call" and code.spill is not None:
        _check_party(code.spill, told.details["to"])
    if action == "instalments":
        _check_payments(code, told)
    if action == "close":
        _check_left(code, case, told)


def _check_party(spill: Spill, to: str) -> None:
    parties = {**{each.id: each.name for each in spill.parties.values()}, HOTLINE: "the State's spill hotline"}
    if to not in parties and to != OTHER:
        told = "; ".join(f"{short}: {name}" for short, name in parties.items())
        raise InputError(f"{spill.citation} knows no {to!r} to be told of a spill: {told}; {OTHER}: anybody else")


def _check_left(code: Code, case: cases.Case, told: Told) -> None:
    """What is still owed under the code is left undone only where a person names it: nothing reminds of it then."""
    owed = owed_of(code, case)
    left = {name.strip() for name in told.details.get("leaves", "").split(",") if name.strip()}
    if unknown := sorted(left.difference(owed)):
        raise InputError(
            f"case {case.id}: nothing named {', '.join(unknown)} is still owed; owed are {', '.join(owed) or 'none'}"
        )
    if rest := [f"{name}: {what}" for name, what in owed.items() if name not in left]:
        raise InputError(
            f"case {case.id} cannot be closed while this is owed: {'; '.join(rest)}. Enter what was done; or, where it "
            f"is to be left undone, write --leaves {','.join(owed)} and why in the reason"
        )


def _check_payments(code: Code, told: Told) -> None:
    if code.costs is None:
        raise InputError(f"{code.profile.code} of {code.profile.municipality} speaks of no payments in parts")
    count, most = told.details["payments"], code.costs.payments_max
    if not (count.isdecimal() and 1 <= int(count) <= most):
        raise InputError(f"{code.costs.citation} has at most {most} equal payments; {count!r} cannot be")
    if "first_payment" not in told.times:
        raise InputError("payments need the day of the first; write --first")


def _write(
    conn: sa.Connection,
    case: cases.Case,
    action: str,
    to: str,
    told: Told,
    *,
    now_us: int,
    clause: Provision | None = None,
    code: Code | None = None,
) -> None:
    times, provision = dict(told.times), clause.id if clause else ""
    clocks: list[cases.Clock] = []
    columns = {
        "case": case.id,
        "action": action,
        "from_state": "" if action == "open" else case.state,
        "to_state": to,
        "at_us": now_us,
        "provision": provision,
        **asdict(told),
    }
    if code is not None:
        step = cases.CaseStep(id=0, clocks=[], **columns)
        clocks = case_clocks.moved(case_clocks.standing(case.steps), case_clocks.after(code, [*case.steps, step]))
    cases.add_step(conn, clocks=clocks, **columns)
    if to != case.state:
        cases.update(conn, case.id, state=to)
    body: dict[str, Any] = {"case": case.id, "kind": case.kind, "municipality": case.municipality, "site": case.site}
    body |= {"state": to, "done_us": told.done_us, "means": told.means, "outcome": told.outcome}
    body |= {"provision": provision} | {f"{name}_us": instant for name, instant in times.items()}
    body["clocks"] = {
        f"{each.provision} {each.name}": {"strict_us": each.strict_us, "lenient_us": each.lenient_us} for each in clocks
    }
    body |= {name: text for name, text in told.details.items() if name not in PERSONAL}
    personal = {name: text for name, text in told.details.items() if name in PERSONAL and text}
    personal |= {"note": told.note} if told.note and told.by != log_book.HEADWALL else {}
    log_book.append(conn, f"case_{action}", told.by, body, now_us, personal or None)


def _words(action: str) -> str:
    return action.replace("_", " ")
