"""Taking a step of a case: the one place where a case changes.

A step is taken from a state that allows it, by a named person where it is a person's, with what the municipality's code
needs to count from; it stands in the log book, and the clocks that it sets stand with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import sqlalchemy as sa

from headwall.cases.clocks import Code, instants, moved, standing
from headwall.cases.states import BY_MUNICIPALITY, MOVES, SET_ASIDE, STATES, Move
from headwall.errors import InputError
from headwall.law.profile import Profile, load_profile
from headwall.law.provision import Provision
from headwall.ledger import cases, log_book
from headwall.registry import Registry

#: step → kind of clause under which it is taken
_CLAUSES: Final = {
    "serve": "notice_of_violation",
    "correct": "corrective_measures",
    "appeal": "appeal",
    "hear": "appeal",
    "decide": "appeal",
    "cost": "cost_recovery",
    "protest": "cost_recovery",
}
#: steps under the clause that the case may break
_UNDER_BROKEN: Final = frozenset({"review", "confirm", "dismiss"})
#: what has nothing left to correct
_NOT_AFTER_SET_ASIDE: Final = frozenset({"correct", "abate"})
_NO_PERSON: Final = frozenset({"", log_book.HEADWALL})


@dataclass(frozen=True)
class Told:
    """What is told of a step.

    Attributes:
        by: who decided or did it.
        done_us: when it was done.
        note: what else is to be known; the reason, where the step needs one.
        outcome: of a decision or an abatement.
        times: further instants, by the names that the step's entry in MOVES allows.
    """

    by: str
    done_us: int
    note: str = ""
    means: str = ""
    outcome: str = ""
    times: Mapping[str, int] = field(default_factory=dict)


def code_of(registry: Registry, case: cases.Case) -> Code:
    """What the code of a case's municipality has for it."""
    return Code(_profile(registry, case.municipality), registry.zone(case.municipality), case)


def open_by_person(
    conn: sa.Connection, registry: Registry, site: str, *, kind: str, by: str, seen_us: int, note: str, now_us: int
) -> cases.Case:
    """A case that a person opens, for what no sensor has told."""
    if by.strip().lower() in _NO_PERSON:
        raise InputError("a case needs the name of the person who opens it; write --by")
    municipality = registry.require_site(site).municipality
    return opened(
        conn,
        kind=kind,
        municipality=municipality,
        site=site,
        notice=None,
        historical=False,
        span=(seen_us, seen_us),
        by=by,
        note=note,
        now_us=now_us,
    )


def opened(
    conn: sa.Connection,
    *,
    kind: str,
    municipality: str,
    site: str,
    notice: str | None,
    historical: bool,
    span: tuple[int, int],
    by: str,
    note: str,
    now_us: int,
    provision: str = "",
) -> cases.Case:
    """A new case: suspected, and no more."""
    what = {
        "kind": kind,
        "provision": provision,
        "municipality": municipality,
        "site": site,
        "notice": notice,
        "historical": historical,
    }
    times = {"from_us": span[0], "until_us": span[1]}
    number = cases.add(conn, **what, **times, state="suspected", at_us=now_us)
    _write(conn, cases.case(conn, number), "open", "suspected", Told(by, span[0], note), now_us=now_us)
    return cases.case(conn, number)


def by_gateway(conn: sa.Connection, case: cases.Case, action: str, *, note: str, now_us: int) -> None:
    """A step that the gateway takes by itself: none of those that a code gives to a person."""
    move = MOVES[action]
    if move.by_person:
        raise InputError(f"{action} is a person's step; the gateway takes none of those")
    _check_state(case, action, move)
    _write(conn, case, action, move.to or case.state, Told(log_book.HEADWALL, now_us, note), now_us=now_us)


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
    if told.by.strip().lower() in _NO_PERSON:
        raise InputError(f"{action} of case {number} needs the name of the person who does it; write --by")
    _check_state(case, action, move)
    times = dict(told.times)
    if move.sets:
        times[move.sets] = told.done_us
    _check_told(case, action, move, replace(told, times=times), now_us)
    code = code_of(registry, case)
    clause = _clause(code, case, action, told.outcome)
    _check_code(code, action, times)
    times |= dict.fromkeys(move.outcomes.get(told.outcome, ()), told.done_us)
    told = replace(told, times=times)
    _write(conn, case, action, move.to or case.state, told, now_us=now_us, clause=clause, code=code)
    return cases.case(conn, number)


def _check_state(case: cases.Case, action: str, move: Move) -> None:
    if case.state not in move.after:
        allowed = ", ".join(name for name in STATES if name in move.after)
        raise InputError(
            f"case {case.id} is {STATES[case.state]}: {action.replace('_', ' ')} is a step from {allowed}; see "
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
    ahead = [name for name, instant in told.times.items() if instant > now_us and name != "correct_by"]
    if told.done_us > now_us or ahead:
        raise InputError(f"{action}: {', '.join(ahead) or 'the time'} is in the future; enter it once it is done")
    before = [step for step in case.steps if step.from_state != step.to_state and step.action not in ("open", action)]
    before = [step for step in before if step.by != log_book.HEADWALL]
    if move.to is not None and before and told.done_us < before[-1].done_us:
        raise InputError(
            f"{action} cannot have been done before the step that it follows ({before[-1].action}); look at the times "
            f"with `headwall case show {case.id}`"
        )


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


def _check_code(code: Code, action: str, times: Mapping[str, int]) -> None:
    """InputError where a clause counts from an instant that is not told."""
    for name, clause in code.asked(action):
        if name not in times:
            raise InputError(
                f"{code.profile.municipality}, {clause.citation}, counts from when it was {name}; write --{name}"
            )


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
    if code is not None and times:
        so_far = [(step.action, step.times) for step in case.steps]
        clocks = moved(standing(case.steps), code.clocks(instants([*so_far, (action, times)])))
    cases.add_step(
        conn,
        clocks=clocks,
        case=case.id,
        action=action,
        from_state="" if action == "open" else case.state,
        to_state=to,
        at_us=now_us,
        provision=provision,
        **asdict(told),
    )
    if to != case.state:
        cases.update(conn, case.id, state=to)
    body: dict[str, Any] = {"case": case.id, "kind": case.kind, "municipality": case.municipality, "site": case.site}
    body |= {"state": to, "done_us": told.done_us, "means": told.means, "outcome": told.outcome}
    body |= {"provision": provision} | {f"{name}_us": instant for name, instant in times.items()}
    body["clocks"] = {
        f"{each.provision} {each.name}": {"strict_us": each.strict_us, "lenient_us": each.lenient_us} for each in clocks
    }
    personal = {"note": told.note} if told.note and told.by != log_book.HEADWALL else None
    log_book.append(conn, f"case_{action}", told.by, body, now_us, personal)


def _profile(registry: Registry, municipality: str) -> Profile:
    return load_profile(registry.municipality(municipality).profile)
