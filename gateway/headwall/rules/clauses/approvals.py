"""What the register of approvals makes due: notices before tests and works, filings, reasons, ends, releases.

Each row of the register that stands gives what its clause asks for it; the steps that persons have entered answer it.
A row of the whole municipality is told at one site of it alone: the first by its id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date, time
from typing import Final, TypeVar

from headwall.law import localtime
from headwall.law.deadlines import Start
from headwall.law.provision import Provision
from headwall.ledger import approvals
from headwall.ledger.approvals import Approval
from headwall.ledger.entries import Presence
from headwall.rules.approval_spans import Book
from headwall.rules.clauses.expected import Done, Expected
from headwall.rules.clauses.look import Look

K = TypeVar("K", bound=approvals.Body)
#: so long before and after it the end of an approved time is told; Headwall's own
_AHEAD_US: Final = 48 * localtime.HOUR_US


def dye_test(look: Look, clause: Provision) -> Iterator[Expected]:
    """Notice before the test; that it came well ahead is advice."""
    for row, body in _rows(look, clause, approvals.DyeTest):
        told = body.step("told")
        yield _asked(
            look,
            clause,
            row,
            "notice",
            {"test": row.from_us},
            f"notice of the dye test {clause.deadline('notice').says or 'before it'}, {_means(clause)}",
            step="told",
        )
        lead_h = look.choice("dye.lead_h", row.from_us)
        if lead_h and (told is None or row.from_us - told.at_us < lead_h * localtime.HOUR_US):
            yield Expected(
                clause,
                "",
                f"lead {_occurrence(look, row)}",
                {"test": row.from_us},
                f"a notice {lead_h} hours ahead of a dye test is advised; the code asks for none so early",
                evidence=_evidence(row),
                advice=True,
                gone="the test has begun" if row.from_us <= look.now_us else "",
            )
            look.wake(row.from_us)


def emergency_approval(look: Look, clause: Provision) -> Iterator[Expected]:
    """The end of the approved time, where the code has one: the discharge ends, or is approved anew."""
    for row, body in _rows(look, clause, approvals.Discharge):
        if row.to_us is None or "end" not in _names(clause):
            continue
        look.wake(row.to_us - _AHEAD_US)
        look.wake(row.to_us + _AHEAD_US)
        if not body.ended and look.now_us < row.to_us - _AHEAD_US:
            continue
        yield Expected(
            clause,
            "end",
            _occurrence(look, row),
            {"expiry": row.to_us},
            f"the approved discharge of {body.what} ends then: see that it does, or approve it anew",
            owed_by=body.holder,
            evidence={**_evidence(row), "conditions": body.conditions or "none"},
            answer=f"headwall approval end {_number(look, row)} --by NAME",
            advice=True,
            done=_released(row),
            gone="its time is over" if look.now_us >= row.to_us + _AHEAD_US else "",
        )


def exemptions(look: Look, clause: Provision) -> Iterator[Expected]:
    """A source that the code does not list plainly waits for the officer's ruling."""
    book = _book(look)
    for row, body in _rows(look, clause, approvals.Exempt):
        source = book.source(row)
        if source is None or not source.ruling or not (body.ruling or book.needs_ruling(row)):
            continue
        yield Expected(
            clause,
            "",
            f"ruling {_occurrence(look, row)}",
            {},
            f"rule whether {body.source} is exempt here: the code does not list it plainly",
            owed_by=look.profile.officer,
            evidence=_evidence(row),
            answer=f"headwall approval add exempt --ruling TEXT --replaces {_number(look, row)} --by NAME",
            done=Done(row.from_us, body.granted_by, row.body.reference) if body.ruling else None,
        )


def permitted_discharge(look: Look, clause: Provision) -> Iterator[Expected]:
    """A copy of the approval before the discharge, where the code wants it filed."""
    book = _book(look)
    for row, body in _rows(look, clause, approvals.StatePermit):
        if "file" in _names(clause):
            yield _asked(
                look,
                clause,
                row,
                "file",
                {"discharge": row.from_us},
                f"a copy of the approval of permit {body.permit}, granted by {book.grantor(row)}, is filed before the "
                "discharge",
                step="filed",
            )


def proof_of_compliance(look: Look, clause: Provision) -> Iterator[Expected]:
    """Proof that an industrial or construction permit is kept, where the code or the officer asks for it."""
    book = _book(look)
    for row in look.approvals("state_permit"):
        asked = book.proof_clause(row) if _here(look, row) else None
        if asked is None or asked.id != clause.id or not isinstance(row.body, approvals.StatePermit):
            continue
        yield _asked(
            look,
            clause,
            row,
            "",
            {"discharge": row.from_us},
            f"proof that permit {row.body.permit} is kept, in a form that {asked.accepted_by} accepts, before "
            "discharges are let in",
            step="proof",
        )


def connection_permit(look: Look, clause: Provision) -> Iterator[Expected]:
    """The end of a permit, by its own term, the State's permit, or a change of owner or use."""
    book = _book(look)
    permits = _rows(look, clause, approvals.ConnectionPermit)
    for row, body in permits:
        end_us, by = book.permit_end(row)
        if end_us is None or "renew" not in _names(clause):
            continue
        later = (each for each, _ in permits if each.site == row.site and row.from_us < each.from_us <= end_us)
        after = next(later, None)
        renewed = Done(after.from_us, after.body.granted_by, after.body.reference) if after else None
        yield Expected(
            clause,
            "renew",
            _occurrence(look, row),
            {"expiry": end_us},
            f"the {body.type} permit ends with {by}: a new permit, or the connection is closed",
            owed_by=body.holder,
            evidence=_evidence(row),
            answer="headwall approval add connection-permit --by NAME",
            done=renewed or _released(row),
        )


def connection_work(look: Look, clause: Provision) -> Iterator[Expected]:
    """Notice before work on a connection starts, and before its final restoration."""
    clocks: tuple[tuple[str, Start, str], ...] = (
        ("start", "start_of_work", "work on the connection starts"),
        ("restoration", "final_restoration", "the final restoration"),
    )
    for row, _ in _rows(look, clause, approvals.ConnectionWork):
        for name, start, what in clocks:
            at_us = row.from_us if name == "start" else row.to_us
            if name in _names(clause) and at_us is not None:
                asks = f"notice to {clause.owed_to}, {clause.deadline(name).count} hours before {what}"
                yield _asked(look, clause, row, name, {start: at_us}, asks, step=f"{name}_told")


def emergency_suspension(look: Look, clause: Provision) -> Iterator[Expected]:
    """The written reasons after access was suspended; where costs may become a lien, when that is the earliest."""
    for row, body in _rows(look, clause, approvals.Suspension):
        if "reasons" in _names(clause):
            asks = f"reasons of the suspension to {body.holder}, {_means(clause)}"
            starts: dict[Start, int] = {"suspension": row.from_us}
            yield _asked(look, clause, row, "reasons", starts, asks, step="reasons", owed_by=clause.owed_by)
        hearing = body.step("hearing")
        if "lien" in _names(clause) and hearing is not None:
            yield _asked(
                look,
                clause,
                row,
                "lien",
                {"hearing": hearing.at_us},
                "not before this time may the costs become a lien, if they stay unpaid",
                step="lien",
                owed_by=clause.owed_by,
                advice=True,
            )


def termination(look: Look, clause: Provision) -> Iterator[Expected]:
    """The proposal with its reasons in writing; an answer to a petition. The codes give no time for either."""
    for row, body in _rows(look, clause, approvals.Termination):
        if clause.means:
            asks = f"the proposal and its reasons to {body.holder}, {_means(clause)}, before access is cut"
            yield _asked(look, clause, row, "", {}, asks, step="reasons", owed_by=clause.owed_by, tag="reasons")
        petition = body.step("petition")
        if petition is not None:
            asks = f"a hearing and a decision on the petition of {body.holder}"
            answer, number = body.step("denied"), _number(look, row)
            done = Done(answer.at_us, answer.by, row.body.reference) if answer else _released(row)
            yield Expected(
                clause,
                "",
                f"petition {_occurrence(look, row)}",
                {},
                asks,
                owed_by=clause.owed_by,
                evidence=_evidence(row),
                answer=f"headwall approval step {number} denied --by NAME, or headwall approval end {number} --by NAME",
                done=done,
            )


def work_under_order(look: Look, clause: Provision) -> Iterator[Expected]:
    """Work rests until a named person lifts the hold or releases the order; work seen under it is told."""
    kind: type[approvals.WorkRests] = approvals.WorkHold if clause.kind == "work_hold" else approvals.StopWork
    for row, body in _rows(look, clause, kind):
        yield Expected(
            clause,
            "",
            _occurrence(look, row),
            {},
            f"put right: {body.correct or body.reason}; no other work until it is confirmed",
            owed_by=body.holder,
            evidence=_evidence(row),
            answer=f"headwall approval end {_number(look, row)} --by NAME",
            done=_released(row),
        )
        for seen in (each for each in body.followed if each.step == "work_seen"):
            if seen.at_us < row.from_us or (row.to_us is not None and seen.at_us >= row.to_us):
                continue
            yield Expected(
                clause,
                "",
                f"seen {look.iso(seen.at_us)} {_occurrence(look, row)}"[:96],
                {},
                "work was seen while it has to rest: decide what follows",
                owed_by=look.profile.officer,
                evidence={**_evidence(row), "seen by": seen.by, "seen": seen.note or "not said"},
            )
        for entry in look.entries(Presence):
            if entry.body.work and _holds_at_noon(look, row, entry.body.day):
                yield Expected(
                    clause,
                    "",
                    f"work on {entry.body.day} {_occurrence(look, row)}"[:96],
                    {},
                    f"work is on record for {entry.body.day}, while all but what is allowed has to rest: decide what "
                    "follows",
                    owed_by=look.profile.officer,
                    evidence={**_evidence(row), "on record": f"entry {entry.id} by {entry.by}"},
                )


def tmdl_change(look: Look, clause: Provision) -> Iterator[Expected]:
    """The stormwater program is changed in time, unless a person has found that the sewer meets its allocation."""
    for row, body in _rows(look, clause, approvals.Tmdl):
        asks = f"the stormwater program is changed for {body.pollutant} in {body.water}, or a person finds that "
        asks += "the sewer meets its allocation (step met)"
        met = body.step("met")
        gone = f"{met.by} has found that the sewer meets its allocation" if met is not None else ""
        yield _asked(look, clause, row, "change", {"tmdl_approval": row.from_us}, asks, step="changed", gone=gone)


# ---- what they share


def _rows(look: Look, clause: Provision, kind: type[K]) -> list[tuple[Approval, K]]:
    """Rows of a kind under a clause that are told at this site, with their bodies; of equal ones the first."""
    found: dict[str, tuple[Approval, K]] = {}
    for each in look.approvals():
        if isinstance(each.body, kind) and each.body.provision == clause.id and _here(look, each):
            found.setdefault(_occurrence(look, each), (each, each.body))
    return list(found.values())


def _here(look: Look, row: Approval) -> bool:
    """Whether a row is to be told at this site."""
    if row.to_us is not None and row.to_us <= row.from_us:
        return False
    if row.site is not None:
        return row.site == look.site.id
    return look.site.id == min(each.id for each in look.registry.sites if each.municipality == row.municipality)


def _book(look: Look) -> Book:
    return Book(look.approvals(), look.profile, look.where, look.site.id)


def _asked(
    look: Look,
    clause: Provision,
    row: Approval,
    name: str,
    starts: dict[Start, int],
    asks: str,
    *,
    step: str,
    owed_by: str = "",
    advice: bool = False,
    gone: str = "",
    tag: str = "",
) -> Expected:
    """What a step of a row answers."""
    done = row.body.step(step)
    return Expected(
        clause,
        name,
        f"{tag} {_occurrence(look, row)}".strip(),
        starts,
        asks,
        owed_by=owed_by or row.body.holder,
        evidence=_evidence(row),
        answer=f"headwall approval step {_number(look, row)} {step} --by NAME",
        advice=advice,
        done=None if done is None else Done(done.at_us, done.by, row.body.reference),
        gone=gone,
    )


def _holds_at_noon(look: Look, row: Approval, day: str) -> bool:
    noon_us = localtime.time_of_day_us(date.fromisoformat(day), time(12), look.where)
    return row.from_us <= noon_us and (row.to_us is None or noon_us < row.to_us)


def _released(row: Approval) -> Done | None:
    """Who let it end, where somebody has."""
    if not row.body.ended or row.to_us is None:
        return None
    return Done(row.to_us, row.body.ended_by, row.body.reference)


def _occurrence(look: Look, row: Approval) -> str:
    """What stays the same of a row whatever follows on it: when it begins, for whom, what, and by what it is found."""
    body = row.body
    what = [str(getattr(body, name, "")) for name in ("what", "dye", "source", "permit", "type", "reason", "pollutant")]
    told = "|".join([row.site or "", body.holder, body.reference, *what])
    return f"{look.iso(row.from_us)} {body.reference[:24]} {hashlib.sha256(told.encode()).hexdigest()[:8]}"


def _number(look: Look, row: Approval) -> int:
    """The number by which a command finds it, whatever has followed."""
    return approvals.first_number(look.conn, row)


def _evidence(row: Approval) -> dict[str, str | int | float]:
    return {"reference": row.body.reference}


def _names(clause: Provision) -> set[str]:
    return {each.name for each in clause.deadlines}


def _means(clause: Provision) -> str:
    return " or ".join(clause.means) or "in whatever form"
