"""The register of approvals: what is allowed at a place or in a municipality, and for a while forbidden.

The body is a struct of this module by its kind. A row is never changed: a later one that names it in `replaces` stands
in its stead, also to end it, and to say what followed (a notice, a filing, a hearing), with who did it and when. Which
kinds a code knows, and what it asks of each, is for `rules.approvals` to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec
import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import replacing, schema
from headwall.ledger.unreadable import Unreadable, read_rows

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Text = Annotated[str, msgspec.Meta(max_length=2000)]


class Followed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What was done after a row was entered, or before: a notice, a filing, a hearing.

    Attributes:
        step: one of the kind's `STEPS`.
        by: who did it; a person, or the office that he speaks for.
    """

    step: _Line
    at_us: int
    by: _Line
    means: _Text = ""
    note: _Text = ""


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """What every kind says; the tag is its kind.

    Attributes:
        provision: id of the clause under which it stands.
        holder: who discharges, tests, connects, or was suspended.
        granted_by: who approved it, or to whom notice was given, or who ordered it; a person.
        means: in writing, by word of mouth, …
        reference: by which it is found: letter, permit, file number.
        ended: why it ended when it did; empty: it did not end before its time.
        ended_by: who ended it, or let access be taken back.
        followed: in order of time; of each step the newest entry alone, but for those in `MANY`.
    """

    provision: _Line
    holder: _Line
    granted_by: _Line
    reference: _Line
    means: _Text = ""
    note: _Text = ""
    ended: _Text = ""
    ended_by: _Text = ""
    followed: list[Followed] = []

    def step(self, name: str) -> Followed | None:
        """What is on record of a step; the last where it may be there more than once."""
        return next((each for each in reversed(self.followed) if each.step == name), None)


class Discharge(Body, frozen=True, kw_only=True, tag="discharge"):
    """A discharge that somebody approved."""

    what: _Line
    conditions: _Text = ""


class DyeTest(Body, frozen=True, kw_only=True, tag="dye_test"):
    """A dye test, which lasts as long as the row; that it was told is a step.

    Attributes:
        place: where the dye goes in.
        caller: who gave the notice, where the tester did not.
    """

    dye: _Line
    place: _Text = ""
    caller: _Text = ""


class Exempt(Body, frozen=True, kw_only=True, tag="exempt"):
    """A flow that comes from a source which the code exempts.

    Attributes:
        condition: how the code's condition was found to be met.
        plan: for reducing pollutants.
        no_plan: why the officer needs none.
        ruling: what the officer ruled of a source that the code does not list plainly.
    """

    source: _Line
    condition: _Text = ""
    plan: _Text = ""
    no_plan: _Text = ""
    ruling: _Text = ""


class Determination(Body, frozen=True, kw_only=True, tag="determination"):
    """A source was found to bring pollutants: from then on it is exempt no more, whoever has entered it.

    Attributes:
        determined_by: the office that the code lets determine it; `granted_by` is its person.
    """

    source: _Line
    finding: _Line
    determined_by: _Text = ""


class StatePermit(Body, frozen=True, kw_only=True, tag="state_permit"):
    """A discharge under a permit of the State or of the federal EPA, approved for the storm sewer.

    Attributes:
        activity: of a permit for industrial or construction stormwater, for which proof of compliance may be asked.
        proof_asked: the officer has asked for that proof where the code leaves it to him.
    """

    permit: _Line
    activity: Literal["", "industrial", "construction"] = ""
    proof_asked: bool = False


class ConnectionPermit(Body, frozen=True, kw_only=True, tag="connection_permit"):
    """A permit to be connected; by itself it allows no discharge."""

    type: _Line
    state_permit_until_us: int | None = None


class PremisesChange(Body, frozen=True, kw_only=True, tag="premises_change"):
    """Owner or use of connected premises change as of the row's beginning."""

    what: Literal["owner", "use"]


class ConnectionWork(Body, frozen=True, kw_only=True, tag="connection_work"):
    """Work on a connection: the row begins with the work and ends with its final restoration."""

    what: _Line


class Suspension(Body, frozen=True, kw_only=True, tag="suspension"):
    """Access to the storm sewer is suspended in an emergency; the end of the row is the reinstatement."""

    reason: _Line


class Termination(Body, frozen=True, kw_only=True, tag="termination"):
    """Access is to end, as proposed when the row begins; cut from its step "terminated" on, back when the row ends."""

    reason: _Line


class WorkRests(Body, frozen=True, kw_only=True):
    """Why work has to rest, and what is to be put right."""

    reason: _Line
    correct: _Text = ""


class WorkHold(WorkRests, frozen=True, kw_only=True, tag="work_hold"):
    """Work rests after a notice of what is wrong; the end of the row is the approval that lifts it."""


class StopWork(WorkRests, frozen=True, kw_only=True, tag="stop_work"):
    """A stop-work order; the end of the row is its release."""


class SpecialConditions(Body, frozen=True, kw_only=True, tag="special_conditions"):
    """The officer declares that septic systems contribute to special conditions of the storm sewer's permit.

    The `reference` names the document; `holder` whose systems, or all of them.
    """


class Tmdl(Body, frozen=True, kw_only=True, tag="tmdl"):
    """A total maximum daily load that was approved when the row begins."""

    water: _Line
    pollutant: _Line


AnyBody = (
    Discharge
    | DyeTest
    | Exempt
    | Determination
    | StatePermit
    | ConnectionPermit
    | PremisesChange
    | ConnectionWork
    | Suspension
    | Termination
    | WorkHold
    | StopWork
    | SpecialConditions
    | Tmdl
)
KINDS: Final[dict[str, type[Body]]] = {
    str(each.__struct_config__.tag): each
    for each in (
        Discharge,
        DyeTest,
        Exempt,
        Determination,
        StatePermit,
        ConnectionPermit,
        PremisesChange,
        ConnectionWork,
        Suspension,
        Termination,
        WorkHold,
        StopWork,
        SpecialConditions,
        Tmdl,
    )
}
#: kind → what may follow, with what it says
STEPS: Final[dict[str, dict[str, str]]] = {
    "dye_test": {"told": "notice was given"},
    "state_permit": {"filed": "a copy of the approval was filed", "proof": "proof of compliance was accepted"},
    "premises_change": {"approved": "the officer approved the transfer of the permit"},
    "connection_work": {
        "start_told": "notice of the start of work",
        "restoration_told": "notice of the final restoration",
        "inspected": "the officer inspected",
    },
    "suspension": {
        "reasons": "the reasons were given",
        "ignored": "the order was not followed, the municipality acted",
        "cost": "a cost of the municipality",
        "hearing": "hearing on the costs",
        "lien": "the costs became a lien",
    },
    "termination": {
        "reasons": "the proposal and its reasons were told",
        "terminated": "access was cut",
        "petition": "petition for reconsideration",
        "hearing": "hearing",
        "denied": "access was denied",
        "reconnected": "access was taken back without approval",
        "cost": "a cost of the municipality",
    },
    "work_hold": {"work_seen": "work was seen that the hold does not allow"},
    "stop_work": {"work_seen": "work was seen that the order does not allow"},
    "tmdl": {
        "met": "a person found that the sewer meets its allocation",
        "changed": "the stormwater program was changed",
    },
}
#: steps that may be there more than once
MANY: Final = frozenset({"cost", "work_seen"})


@dataclass(frozen=True)
class Approval:
    """A row of the register.

    Attributes:
        site: None: the whole municipality.
        from_us, to_us: when it holds, `to_us` exclusive; None: until it is ended.
        by: who entered it.
        digest: SHA-256 of all but by and at_us, by which the log book names it.
    """

    id: int
    digest: str
    municipality: str
    site: str | None
    from_us: int
    to_us: int | None
    by: str
    at_us: int
    replaces: int | None
    body: Body

    @property
    def kind(self) -> str:
        return str(self.body.__struct_config__.tag)


def add_approval(
    conn: sa.Connection,
    body: Body,
    *,
    municipality: str,
    site: str | None,
    from_us: int,
    to_us: int | None,
    by: str,
    now_us: int,
    replaces: int | None = None,
) -> Approval | None:
    """Put a row into the register; None where the same stands there already.

    Raises:
        InputError: it ends before it begins; what it is to replace is not there, of another kind or place, or was
            replaced before; or the same was entered before and does not stand any more.
    """
    if to_us is not None and (to_us < from_us or (to_us == from_us and not body.ended)):
        raise InputError("an approval must end after it begins")
    content = msgspec.to_builtins(body)
    what = {"kind": content["kind"], "municipality": municipality, "site": site, "from_us": from_us, "to_us": to_us}
    what |= {"replaces": replaces, "body": content}
    digest = replacing.digest_of(what)
    if replacing.stands_already(conn, schema.approvals, digest, "replace that"):
        return None
    if replaces is not None:
        found = standing(conn, replaces)
        if (found.kind, found.municipality, found.site) != (content["kind"], municipality, site):
            raise InputError(f"approval {replaces} is of another kind or place; end it, and add this one as new")
    number = replacing.add(conn, schema.approvals, digest, what, by, now_us)
    return Approval(number, digest, municipality, site, from_us, to_us, by, now_us, replaces, body)


def end_approval(
    conn: sa.Connection, number: int, *, at_us: int, reason: str, ended_by: str, by: str, now_us: int
) -> Approval:
    """End an approval before its time, or one that has none; from its very beginning: as if it had never been.

    Args:
        number: of the row, or of one in whose stead it stands.

    Raises:
        InputError: there is none of that number, it was ended before, or it does not hold at that time.
    """
    found = newest(conn, number)
    if found.body.ended:
        raise InputError(f"approval {number} was ended: {found.body.ended}")
    if at_us < found.from_us or (found.to_us is not None and at_us >= found.to_us):
        raise InputError(f"approval {number} does not hold at that time: give --at, a time at which it does")
    body = msgspec.structs.replace(found.body, ended=reason, ended_by=ended_by)
    return _in_stead(conn, found, body, at_us, by, now_us)


def add_step(conn: sa.Connection, number: int, followed: Followed, *, by: str, now_us: int) -> Approval:
    """Say what followed on a row: of a step that is there already the new entry counts, but for those in `MANY`.

    Args:
        number: of the row, or of one in whose stead it stands.

    Raises:
        InputError: there is none of that number, its kind has no such step, or the same is there already.
    """
    found = newest(conn, number)
    allowed = STEPS.get(found.kind, {})
    if followed.step not in allowed:
        known = ", ".join(allowed) or "none"
        raise InputError(f"approval {number} is of kind {found.kind}: its steps are {known}; not {followed.step!r}")
    if followed in found.body.followed:
        raise InputError(f"approval {number} has this already; nothing was added")
    kept = [each for each in found.body.followed if each.step != followed.step or followed.step in MANY]
    steps = sorted([*kept, followed], key=lambda each: (each.at_us, each.step, each.note))
    return _in_stead(conn, found, msgspec.structs.replace(found.body, followed=steps), found.to_us, by, now_us)


def _in_stead(conn: sa.Connection, found: Approval, body: Body, to_us: int | None, by: str, now_us: int) -> Approval:
    made = add_approval(
        conn,
        body,
        municipality=found.municipality,
        site=found.site,
        from_us=found.from_us,
        to_us=to_us,
        by=by,
        now_us=now_us,
        replaces=found.id,
    )
    assert made is not None  # it replaces one that nothing had replaced
    return made


def standing(conn: sa.Connection, number: int) -> Approval:
    """The row of that number; InputError where there is none, or another stands in its stead."""
    found = approval(conn, number)
    if found is None:
        raise InputError(f"there is no approval {number}; `headwall approval list` shows them")
    instead = replaced_by(conn, number)
    if instead is not None:
        raise InputError(f"approval {number} stands no more: {instead} replaced it; look at {instead}")
    return found


def newest(conn: sa.Connection, number: int) -> Approval:
    """What stands in the stead of the row of that number, or that row itself; InputError where there is none."""
    while (instead := replaced_by(conn, number)) is not None:
        number = instead
    return standing(conn, number)


def first_number(conn: sa.Connection, row: Approval) -> int:
    """The number under which it was first entered: `newest` finds the row by it, whatever has followed."""
    number, before = row.id, row.replaces
    while before is not None:
        number = before
        before = conn.execute(sa.select(schema.approvals.c.replaces).where(schema.approvals.c.id == number)).scalar()
    return number


def approval(conn: sa.Connection, number: int) -> Approval | None:
    """One row, whether it stands or not."""
    query = sa.select(schema.approvals).where(schema.approvals.c.id == number)
    return next(iter(read_rows(conn, query, schema.approvals.c.id, "approval", _approval)), None)


def replaced_by(conn: sa.Connection, number: int) -> int | None:
    """The number of the row that names this one in `replaces`; None: it stands."""
    return replacing.replaced_by(conn, schema.approvals, number)


def approvals_at(
    conn: sa.Connection, municipality: str, site: str | None, start_us: int, end_us: int | None = None
) -> list[Approval]:
    """What stands and holds at an instant, or at any time of a span: of the site, and of the whole municipality.

    Args:
        site: None: only what holds for the whole municipality.
        end_us: exclusive end of the span.
    """
    c = schema.approvals.c
    here = c.site.is_(None) if site is None else c.site.is_(None) | (c.site == site)
    begun = c.from_us <= start_us if end_us is None else c.from_us < end_us
    query = sa.select(schema.approvals).where(c.municipality == municipality, here, begun)
    query = query.where(c.to_us.is_(None) | ((c.to_us > start_us) & (c.to_us > c.from_us)))
    query = query.where(replacing.stands(schema.approvals))
    return list(_read(conn, query.order_by(c.from_us, c.id)))


def replacements(conn: sa.Connection) -> dict[int, int]:
    """Row → the one that stands in its stead."""
    return replacing.replacements(conn, schema.approvals)


_A, _LATER = schema.approvals.c, schema.approvals.alias().c
_OF_ANY_TIME = (
    sa.select(schema.approvals)
    .where(_A.municipality == sa.bindparam("municipality"), _A.site.is_(None) | (_A.site == sa.bindparam("site")))
    .order_by(_A.from_us, _A.id)
)
_OF_SITE = _OF_ANY_TIME.where(replacing.stands(schema.approvals))
_OF_SITE_THEN = _OF_ANY_TIME.where(
    _A.id <= sa.bindparam("through"),
    ~sa.exists().where(_LATER.replaces == _A.id, _LATER.id <= sa.bindparam("through")),
)


def of_site(conn: sa.Connection, municipality: str, site: str, *, through: int | None = None) -> list[Approval]:
    """What stands for a site or its whole municipality, whenever it holds, by the time from which it does.

    Args:
        through: as it stood when the row of this number was the newest; None: now.
    """
    given = {"municipality": municipality, "site": site, "through": through}
    return list(_read(conn, _OF_SITE if through is None else _OF_SITE_THEN, given))


def listed(conn: sa.Connection, unreadable: list[Unreadable] | None = None) -> list[Approval]:
    """Every row, replaced ones too, by the time from which it holds.

    Args:
        unreadable: takes those that cannot be read; without it they are an UnreadableRowError.
    """
    query = sa.select(schema.approvals).order_by(_A.from_us, _A.id)
    return read_rows(conn, query, _A.id, "approval", _approval, unreadable)


def _read(conn: sa.Connection, query: sa.Select[Any], given: Mapping[str, Any] | None = None) -> Iterator[Approval]:
    return map(_approval, conn.execute(query, given))


def _approval(row: Any) -> Approval:
    values = dict(row._mapping)
    del values["kind"]
    return Approval(**{**values, "body": msgspec.convert(row.body, AnyBody)})
