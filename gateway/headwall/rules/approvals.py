"""What a code asks of an approval before it counts, and the times in which a flow is covered by one.

Which kinds there are, who grants them, in what form and for how long stands in the municipality's profile. What it does
not know is refused, with the clause.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa

from headwall.errors import InputError
from headwall.law import clocks, localtime
from headwall.law.profile import Profile, load_profile
from headwall.law.provision import Provision
from headwall.law.provisions import ConnectionPermit, DischargeApproval, Exemptions
from headwall.ledger import approvals
from headwall.registry import Registry

#: kind of approval → kinds of provisions under which it may stand
CLAUSES: Final = {
    "discharge": ("emergency_approval",),
    "dye_test": ("dye_test",),
    "exempt": ("exemptions",),
    "state_permit": ("permitted_discharge",),
    "connection_permit": ("connection_permit",),
    "suspension": ("emergency_suspension", "termination"),
}
#: those that cover a flow
_COVERING: Final = (approvals.Discharge, approvals.DyeTest, approvals.Exempt, approvals.StatePermit)


class Allowed(NamedTuple):
    """A time in which a flow at a site is covered: by which kind of approval, and where to find it."""

    start_us: int
    end_us: int
    kind: str
    reference: str


class Checked(NamedTuple):
    """An approval that its code knows."""

    clause: Provision
    body: approvals.Body
    to_us: int | None  # earlier than asked for where something else ends it


def checked(
    registry: Registry,
    municipality: str,
    kind: str,
    fields: dict[str, Any],
    from_us: int,
    to_us: int | None,
    *,
    under: str | None = None,
) -> Checked:
    """The approval as the municipality's code has it.

    Args:
        fields: of the kind's struct in ledger.approvals, without the provision.
        under: id of the clause, where the code has several.

    Raises:
        InputError: the code does not know it, or asks for something more.
    """
    entry = registry.municipality(municipality)
    profile, where = load_profile(entry.profile), registry.zone(municipality)
    clause = _clause(profile, kind, under, localtime.day_of(from_us, where))
    body = _body(kind, {**fields, "provision": clause.id})
    _check_means(profile, clause, body)
    match body:
        case approvals.Discharge():
            if isinstance(clause, DischargeApproval) and clause.for_a_period and to_us is None:
                raise InputError(f"{_at(profile, clause)} has it approved for a stated period; write --to")
        case approvals.DyeTest():
            if to_us is None:
                raise InputError("a dye test needs --to: until when dye may be seen")
            for deadline in clause.deadlines:
                latest_us = clocks.due(deadline, {"test": from_us}, where, profile.office_closes).taken_us
                if latest_us is not None and body.told_us > latest_us:
                    raise InputError(
                        f"{_at(profile, clause)} asks for the notice {deadline.text}; a test told later is not covered "
                        "by it (--told, --from)"
                    )
        case approvals.Exempt():
            _check_exempt(profile, clause, body)
        case approvals.StatePermit():
            if body.filed_us is None and "file" in {each.name for each in clause.deadlines}:
                raise InputError(f"{_at(profile, clause)} asks for a copy of the approval, filed first; write --filed")
        case approvals.ConnectionPermit():
            to_us = _permit_end(profile, clause, body, to_us)
    return Checked(clause, body, to_us)


def check_end(registry: Registry, found: approvals.Approval, *, lost: bool) -> None:
    """InputError where an exemption is to be lost and its code names no way to lose one."""
    if not lost:
        return
    profile = load_profile(registry.municipality(found.municipality).profile)
    clause = next((each for each in profile.of(Exemptions) if each.id == found.body.provision), None)
    if clause is None:
        raise InputError(f"approval {found.id} is no exemption: nothing but an exemption is lost by a determination")
    if not clause.lost:
        raise InputError(
            f"{_at(profile, clause)} names no way in which an exemption is lost; end it without --lost where the flow "
            "is another, and let the officer judge it by the other clauses"
        )


def allowed_spans(conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int) -> list[Allowed]:
    """Times in which a flow at a site is covered by an approval, dye test, State permit or exemption that stands.

    None of them covers a flow while access is suspended. Of those that overlap each is told. Sorted by start.
    """
    municipality = registry.require_site(site).municipality
    found = approvals.approvals_at(conn, municipality, site, start_us, end_us)
    barred = [_cut(each, start_us, end_us) for each in found if isinstance(each.body, approvals.Suspension)]
    allowed = []
    for each in found:
        if isinstance(each.body, _COVERING):
            for begin, end in _without(_cut(each, start_us, end_us), barred):
                allowed.append(Allowed(begin, end, each.kind, each.body.reference))
    return sorted(allowed)


def _cut(found: approvals.Approval, start_us: int, end_us: int) -> tuple[int, int]:
    begin = max(found.from_us, start_us)
    if isinstance(found.body, approvals.StatePermit) and found.body.filed_us is not None:
        begin = max(begin, found.body.filed_us)
    return begin, end_us if found.to_us is None else min(found.to_us, end_us)


def _without(span: tuple[int, int], barred: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    left = [span]
    for start, end in barred:
        left = [part for one in left for part in ((one[0], min(one[1], start)), (max(one[0], end), one[1]))]
    return [(start, end) for start, end in left if start < end]


def _clause(profile: Profile, kind: str, under: str | None, day: Any) -> Provision:
    kinds = CLAUSES[kind]
    found = [each for each in profile.provisions if each.kind in kinds and each.in_force(day)]
    if under is not None:
        found = [each for each in found if each.id == under]
    if not found:
        what = kind.replace("_", " ")
        raise InputError(
            f"{profile.code} of {profile.municipality} has no clause for {what}"
            + (f" with the id {under}" if under else f" in force on {day.isoformat()}")
            + f"; see `headwall law list`, kinds {', '.join(kinds)}"
        )
    if len(found) > 1:
        told = ", ".join(f"{each.id} ({each.subject})" for each in found)
        raise InputError(f"{profile.municipality} has several clauses for it; choose with --under: {told}")
    return found[0]


def _body(kind: str, fields: dict[str, Any]) -> approvals.Body:
    struct = approvals.KINDS[kind]
    known = {each.name: each for each in msgspec.structs.fields(struct)}
    foreign = [name for name in fields if name not in known]
    if foreign:
        raise InputError(f"{kind.replace('_', ' ')} has no {', '.join(map(_option, foreign))}")
    missing = [name for name, each in known.items() if each.required and name not in fields]
    if missing:
        raise InputError(f"{kind.replace('_', ' ')} needs {', '.join(map(_option, missing))}")
    try:
        return msgspec.convert({"kind": kind, **fields}, struct)
    except msgspec.ValidationError as error:
        raise InputError(f"this cannot be entered as {kind.replace('_', ' ')}: {error}") from None


def _option(name: str) -> str:
    return "--" + name.removesuffix("_us").replace("_", "-")


def _check_means(profile: Profile, clause: Provision, body: approvals.Body) -> None:
    if not clause.means or (not body.means and isinstance(body, approvals.Suspension)):
        return  # an order may come before its reasons in writing
    if body.means not in clause.means:
        wanted = " or ".join(f'"{each}"' for each in clause.means)
        told = f"not {body.means!r}" if body.means else "so give --means with these words"
        raise InputError(f"{_at(profile, clause)} asks for it {wanted}, {told}")


def _check_exempt(profile: Profile, clause: Provision, body: approvals.Exempt) -> None:
    if not isinstance(clause, Exemptions):
        return
    source = next((each for each in clause.sources if each.name == body.source), None)
    if source is None:
        known = "; ".join(each.name for each in clause.sources)
        raise InputError(f"{_at(profile, clause)} does not exempt {body.source!r}; it knows: {known}")
    wanted = "; ".join(filter(None, (source.only, clause.condition)))
    if wanted and not body.condition:
        raise InputError(f"{_at(profile, clause)} exempts {source.name} ({wanted}); say in --condition how that is met")
    if clause.plan == "always" and not body.plan:
        raise InputError(
            f"{_at(profile, clause)} asks for a plan for reducing pollutants; name it in --plan, or say "
            "why the officer needs none"
        )


def _permit_end(profile: Profile, clause: Provision, body: approvals.ConnectionPermit, to_us: int | None) -> int | None:
    if not isinstance(clause, ConnectionPermit):
        return to_us
    chosen = next((each for each in clause.types if each.name == body.type), None)
    if chosen is None:
        known = ", ".join(each.name for each in clause.types)
        raise InputError(f"{_at(profile, clause)} knows no type {body.type!r} of permit; it knows: {known}")
    if not chosen.ends_with_state_permit:
        return to_us
    if body.state_permit_until_us is None:
        raise InputError(f"{_at(profile, clause)}: it ends with the State's permit; write --state-permit-until")
    return body.state_permit_until_us if to_us is None else min(to_us, body.state_permit_until_us)


def _at(profile: Profile, clause: Provision) -> str:
    return f"{profile.municipality}, {clause.citation},"
