"""What the register says of a flow at a site, by time: covered by an approval, outside of one, or barred.

A function of the rows that stand, whatever the order in which they were entered. What a clause asks before a row counts
(a notice before the test, a copy filed, proof of compliance, a ruling) is asked of the municipality's profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, tzinfo
from typing import Final, NamedTuple

import sqlalchemy as sa

from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.law.provisions import (
    ConnectionPermit,
    Exemptions,
    ExemptSource,
    PermittedDischarge,
    PermitType,
    ProofOfCompliance,
)
from headwall.ledger import approvals
from headwall.ledger.approvals import Approval
from headwall.registry import Registry
from headwall.rules.layers import FOREVER_US

#: so near to the time of an approval, before and after it, a flow is taken for the approved one; Headwall's own number
_NEAR_US: Final = 7 * 24 * 3_600_000_000
#: approvals that let somebody discharge for a time; a standing permit or exemption explains no change of flow by itself
FOR_A_TIME: Final = ("discharge", "dye_test")

Span = tuple[int, int]


class Allowed(NamedTuple):
    """A time in which a flow at a site is covered: by which kind of approval, and where to find it."""

    start_us: int
    end_us: int
    kind: str
    reference: str


class Outside(NamedTuple):
    """A time in which a flow at a site would be outside of what the register allows.

    Attributes:
        why: a word of `WHY`.
        provision: the clause under which the row stands.
    """

    start_us: int
    end_us: int
    why: str
    provision: str
    reference: str


#: why a flow is outside → in words, to stand after "a flow"
WHY: Final = {
    "before_start": "before the time for which it is approved",
    "after_end": "after the end of its approval",
    "not_told": "of a dye test without the notice that the code wants before it",
    "not_filed": "before the copy of its approval is filed",
    "no_proof": "before the proof of compliance that is asked for",
    "exemption_lost": "from a source whose exemption is lost",
    "permit_ended": "from a connection whose permit has ended",
    "suspended": "while access is suspended",
    "terminated": "while access is cut",
}
#: those in which access itself is barred: flow is seen in rain too, of which no clause makes an exception
BARRED: Final = frozenset({"suspended", "terminated"})


class Book:
    """What stands in the register for a site, read with its municipality's code."""

    def __init__(self, rows: Sequence[Approval], profile: Profile, where: tzinfo, site: str | None) -> None:
        self._profile = profile
        self._where = where
        self._site = site
        self.rows = [each for each in rows if each.to_us is None or each.to_us > each.from_us]
        self._clauses = {each.id: each for each in profile.provisions}

    @classmethod
    def of(cls, conn: sa.Connection, registry: Registry, profile: Profile, site: str) -> Book:
        """The book of a site of the registry, read with a code."""
        municipality = registry.require_site(site).municipality
        return cls(approvals.of_site(conn, municipality, site), profile, registry.zone(municipality), site)

    # --- covered ---

    def allowed(self) -> list[Allowed]:
        """Times in which a flow is covered; none is while access is barred. Of those that overlap each is told."""
        barred = [span for row in self.rows if (span := self.bar(row)) is not None]
        found = [
            Allowed(start_us, end_us, row.kind, row.body.reference)
            for row in self.rows
            for span in self.covers(row)
            for start_us, end_us in without(span, barred)
        ]
        return sorted(found)

    def allowed_between(self, start_us: int, end_us: int) -> list[Allowed]:
        """The same between two instants."""
        return [
            each._replace(start_us=max(each.start_us, start_us), end_us=min(each.end_us, end_us))
            for each in self.allowed()
            if each.start_us < end_us and start_us < each.end_us
        ]

    def covers(self, row: Approval) -> list[Span]:
        """The times of a flow that a row covers by itself."""
        whole = (row.from_us, FOREVER_US if row.to_us is None else row.to_us)
        match row.body:
            case approvals.Discharge():
                return [whole]
            case approvals.DyeTest():
                return [whole] if self.told_in_time(row) else []
            case approvals.Exempt():
                return [] if self.needs_ruling(row) else without(whole, self._lost(row))
            case approvals.StatePermit():
                gates = self.gates(row)
                if None in gates.values():
                    return []
                start_us = max(whole[0], *(each for each in gates.values() if each is not None), whole[0])
                return [(start_us, whole[1])] if start_us < whole[1] else []
        return []

    def told_in_time(self, row: Approval) -> bool:
        """Whether the notice of a dye test came before it, as the code has it."""
        told = row.body.step("told")
        clause = self._clauses.get(row.body.provision)
        if told is None:
            return clause is None or not clause.deadlines
        if clause is None:
            return True
        for deadline in clause.deadlines:
            latest_us = self._profile.due(clause, deadline, {"test": row.from_us}, self._where).taken_us
            if latest_us is not None and told.at_us > latest_us:
                return False
        return True

    def needs_ruling(self, row: Approval) -> bool:
        """Whether an exemption waits for the officer's ruling, since the code does not list its source plainly."""
        source = self.source(row)
        if source is None or not source.ruling or not isinstance(row.body, approvals.Exempt) or row.body.ruling:
            return False
        return not (source.ruled_by and self._profile.choice(source.ruled_by, self._day(row.from_us)))

    def source(self, row: Approval) -> ExemptSource | None:
        """What the code says of the source of an exemption or determination."""
        clause = self._clauses.get(row.body.provision)
        if not isinstance(clause, Exemptions) or not isinstance(row.body, approvals.Exempt | approvals.Determination):
            return None
        named = row.body.source
        return next((each for each in clause.sources if each.name == named), None)

    def gates(self, row: Approval) -> dict[str, int | None]:
        """What must come before a discharge under a State permit, by its step; None: it has not come."""
        clause, body = self._clauses.get(row.body.provision), row.body
        steps = ["filed"] if clause is not None and any(each.name == "file" for each in clause.deadlines) else []
        steps += ["proof"] if self.proof_clause(row) else []
        return {step: found.at_us if (found := body.step(step)) else None for step in steps}

    def proof_clause(self, row: Approval) -> ProofOfCompliance | None:
        """The clause by which proof of compliance has to come first, if it has."""
        if not isinstance(row.body, approvals.StatePermit) or not row.body.activity:
            return None
        in_force = self._profile.in_force(ProofOfCompliance, self._day(row.from_us))
        return next((each for each in in_force if each.required or row.body.proof_asked), None)

    def grantor(self, row: Approval) -> str:
        """Who grants the approval of a discharge under a State permit: whom the code names, else the municipality."""
        clause = self._clauses.get(row.body.provision)
        named = clause.granted_by if isinstance(clause, PermittedDischarge) else ""
        chosen: str = self._profile.choice("approval.grantor", self._day(row.from_us))
        return named or chosen or f"the {self._profile.officer}"

    def _lost(self, row: Approval) -> list[Span]:
        """Times in which the source of an exemption is determined to be none."""
        assert isinstance(row.body, approvals.Exempt)
        source = row.body.source
        return [
            (each.from_us, FOREVER_US if each.to_us is None else each.to_us)
            for each in self.rows
            if isinstance(each.body, approvals.Determination) and each.body.source == source
        ]

    def bar(self, row: Approval) -> Span | None:
        """The time in which a row bars access."""
        end_us = FOREVER_US if row.to_us is None else row.to_us
        if isinstance(row.body, approvals.Suspension):
            return row.from_us, end_us
        if isinstance(row.body, approvals.Termination) and (cut := row.body.step("terminated")) is not None:
            return (cut.at_us, end_us) if cut.at_us < end_us else None
        return None

    # --- connection permits ---

    def permit_type(self, row: Approval) -> PermitType | None:
        clause = self._clauses.get(row.body.provision)
        if not isinstance(clause, ConnectionPermit) or not isinstance(row.body, approvals.ConnectionPermit):
            return None
        named = row.body.type
        return next((each for each in clause.types if each.name == named), None)

    def permit_end(self, row: Approval) -> tuple[int | None, str]:
        """When a connection permit ends and by what: its own term, the State's permit, a change of owner or use."""
        ends = [] if row.to_us is None else [(row.to_us, "its own term" if not row.body.ended else row.body.ended)]
        kind = self.permit_type(row)
        if kind is not None and isinstance(row.body, approvals.ConnectionPermit):
            until_us = row.body.state_permit_until_us
            if kind.ends_with_state_permit and until_us is not None:
                ends.append((until_us, "the end of the State's permit"))
            ends += [
                (each.from_us, f"a change of {each.body.what}")
                for each in self.rows
                if isinstance(each.body, approvals.PremisesChange)
                and each.site == row.site
                and each.from_us > row.from_us
                and self._ends_with(kind, each)
            ]
        return min(ends, default=(None, ""))

    @staticmethod
    def _ends_with(kind: PermitType, change: Approval) -> bool:
        assert isinstance(change.body, approvals.PremisesChange)
        if change.body.what in kind.ends_with_change:
            return True
        return change.body.what == "owner" and kind.transfer_by_approval and change.body.step("approved") is None

    # --- outside ---

    def outside(self) -> list[Outside]:
        """Times in which a flow would be outside of what is allowed; rows of the whole municipality say nothing here.

        What another row covers is no such time, but for barred access.
        """
        covered = [(each.start_us, each.end_us) for each in self.allowed()]
        found: list[Outside] = []
        for row in self.rows:
            for why, span in self.around(row):
                for start_us, end_us in [span] if why in BARRED else without(span, covered):
                    found.append(Outside(start_us, end_us, why, row.body.provision, row.body.reference))
        return sorted(found)

    def around(self, row: Approval) -> list[tuple[str, Span]]:
        """The times in which a flow would be outside of one row, by why."""
        if row.site is None or row.site != self._site:
            return []
        start_us, end_us = row.from_us, FOREVER_US if row.to_us is None else row.to_us
        match row.body:
            case approvals.Discharge():
                return _beside(start_us, end_us)
            case approvals.DyeTest():
                during = [] if self.told_in_time(row) else [("not_told", (start_us, end_us))]
                return [*during, *_beside(start_us, end_us)]
            case approvals.Exempt():
                lost = (each for each in self._lost(row) if each[1] > start_us and each[0] < end_us)
                return [("exemption_lost", (max(start_us, begin), min(end_us, end))) for begin, end in lost]
            case approvals.StatePermit():
                why = {"filed": "not_filed", "proof": "no_proof"}
                gates = [
                    (why[step], (start_us, end_us if at_us is None else min(at_us, end_us)))
                    for step, at_us in self.gates(row).items()
                    if at_us is None or at_us > start_us
                ]
                return [*gates, *_beside(start_us, end_us)[1:]]
            case approvals.ConnectionPermit():
                return self._after_permit(row)
            case approvals.Suspension() | approvals.Termination():
                span = self.bar(row)
                why_barred = "suspended" if isinstance(row.body, approvals.Suspension) else "terminated"
                return [] if span is None else [(why_barred, span)]
        return []

    def _after_permit(self, row: Approval) -> list[tuple[str, Span]]:
        """From the end of a connection's permit to the next permit of the place."""
        end_us, _ = self.permit_end(row)
        if end_us is None:
            return []
        others = [each for each in self.rows if each.kind == row.kind and each.site == row.site and each is not row]
        holding = [(each.from_us, self.permit_end(each)[0] or FOREVER_US) for each in others]
        if any(begin <= end_us < until for begin, until in holding):
            return []
        return [("permit_ended", (end_us, min((begin for begin, _ in holding if begin > end_us), default=FOREVER_US)))]

    def marks(self) -> list[tuple[Span, str]]:
        """All that the judging of flow takes from the register: spans with what they mean."""
        told = [((each.start_us, each.end_us), f"{each.why} {each.provision}") for each in self.outside()]
        explained = [each for each in self.allowed() if each.kind in FOR_A_TIME]
        return told + [((each.start_us, each.end_us), each.kind) for each in explained]

    def _day(self, at_us: int) -> date:
        return localtime.day_of(at_us, self._where)

    def clause(self, row: Approval) -> Provision | None:
        """The clause under which a row stands; None: the profile has it no more."""
        return self._clauses.get(row.body.provision)


def first_difference_us(before: Sequence[tuple[Span, str]], after: Sequence[tuple[Span, str]]) -> int | None:
    """The first instant at which two sets of marks differ; None: they are the same."""
    for at_us in sorted({edge for span, _ in (*before, *after) for edge in span}):
        there = [{mark for (start, end), mark in marks if start <= at_us < end} for marks in (before, after)]
        if there[0] != there[1]:
            return at_us
    return None


def without(span: Span, barred: Iterable[Span]) -> list[Span]:
    """What is left of a span when others are taken out."""
    left = [span]
    for start, end in barred:
        left = [part for one in left for part in ((one[0], min(one[1], start)), (max(one[0], end), one[1]))]
    return [(start, end) for start, end in left if start < end]


def _beside(start_us: int, end_us: int) -> list[tuple[str, Span]]:
    """Shortly before and after an approved time."""
    found = [("before_start", (start_us - _NEAR_US, start_us))]
    return found if end_us >= FOREVER_US else [*found, ("after_end", (end_us, end_us + _NEAR_US))]
