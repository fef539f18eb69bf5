"""The register of approvals: what is allowed at a place or in a municipality, and for a while forbidden.

The body is a struct of this module by its kind. A row is never changed: a later one that names it in `replaces` stands
in its stead, also to end it. Which kinds a code knows, and what it asks of each, is for `rules.approvals` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import replacing, schema

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Text = Annotated[str, msgspec.Meta(max_length=2000)]


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
        lost: it ended because an exemption was determined to be lost.
    """

    provision: _Line
    holder: _Line
    granted_by: _Line
    reference: _Line
    means: _Text = ""
    note: _Text = ""
    ended: _Text = ""
    ended_by: _Text = ""
    lost: bool = False


class Discharge(Body, frozen=True, kw_only=True, tag="discharge"):
    """A discharge that somebody approved."""

    what: _Line
    conditions: _Text = ""


class DyeTest(Body, frozen=True, kw_only=True, tag="dye_test"):
    """Notice of a dye test, which lasts as long as the row."""

    dye: _Line
    told_us: int


class Exempt(Body, frozen=True, kw_only=True, tag="exempt"):
    """A flow that comes from a source which the code exempts.

    Attributes:
        condition: how the code's condition was found to be met.
        plan: for reducing pollutants, or why none is needed.
    """

    source: _Line
    condition: _Text = ""
    plan: _Text = ""


class StatePermit(Body, frozen=True, kw_only=True, tag="state_permit"):
    """A discharge under a permit of the State or of the federal EPA, approved for the storm sewer.

    Attributes:
        filed_us: when the copy of the approval was filed.
    """

    permit: _Line
    filed_us: int | None = None


class ConnectionPermit(Body, frozen=True, kw_only=True, tag="connection_permit"):
    """A permit to be connected; by itself it allows no discharge."""

    type: _Line
    state_permit_until_us: int | None = None


class Suspension(Body, frozen=True, kw_only=True, tag="suspension"):
    """Access to the storm sewer is suspended or ended; the end of the row is the reinstatement."""

    reason: _Line


AnyBody = Discharge | DyeTest | Exempt | StatePermit | ConnectionPermit | Suspension
KINDS: dict[str, type[Body]] = {
    str(each.__struct_config__.tag): each
    for each in (Discharge, DyeTest, Exempt, StatePermit, ConnectionPermit, Suspension)
}


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
    conn: sa.Connection, number: int, *, at_us: int, reason: str, ended_by: str, lost: bool, by: str, now_us: int
) -> Approval:
    """End an approval before its time, or one that has none; from its very beginning: as if it had never been.

    Raises:
        InputError: there is none of that number that stands, or it does not hold at that time.
    """
    found = standing(conn, number)
    if found.body.ended:
        raise InputError(f"approval {number} was ended: {found.body.ended}")
    if at_us < found.from_us or (found.to_us is not None and at_us >= found.to_us):
        raise InputError(f"approval {number} does not hold at that time: give --at, a time at which it does")
    body = msgspec.structs.replace(found.body, ended=reason, ended_by=ended_by, lost=lost)
    made = add_approval(
        conn,
        body,
        municipality=found.municipality,
        site=found.site,
        from_us=found.from_us,
        to_us=at_us,
        by=by,
        now_us=now_us,
        replaces=number,
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


def approval(conn: sa.Connection, number: int) -> Approval | None:
    """One row, whether it stands or not."""
    return next(_read(conn, sa.select(schema.approvals).where(schema.approvals.c.id == number)), None)


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


def of_site(conn: sa.Connection, municipality: str, site: str) -> list[Approval]:
    """What stands for a site or its whole municipality, whenever it holds, by the time from which it does."""
    c = schema.approvals.c
    query = sa.select(schema.approvals).where(c.municipality == municipality, c.site.is_(None) | (c.site == site))
    return list(_read(conn, query.where(replacing.stands(schema.approvals)).order_by(c.from_us, c.id)))


def listed(conn: sa.Connection) -> list[Approval]:
    """Every row, replaced ones too, by the time from which it holds."""
    c = schema.approvals.c
    return list(_read(conn, sa.select(schema.approvals).order_by(c.from_us, c.id)))


def _read(conn: sa.Connection, query: sa.Select[Any]) -> Iterator[Approval]:
    for row in conn.execute(query):
        values = dict(row._mapping)
        del values["kind"]
        yield Approval(**{**values, "body": msgspec.convert(row.body, AnyBody)})
