"""What a code asks of an approval, notice, permit or order before it goes into the register, and of what follows it.

Which kinds there are, who grants them, in what form and for how long stands in the municipality's profile. What it does
not know is refused, with the clause. What a row then covers is for `rules.approval_spans` to say.
"""

from __future__ import annotations

from datetime import date, tzinfo
from typing import Any, Final, NamedTuple

import msgspec

from headwall.errors import InputError
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.law.provisions import ConnectionPermit, DischargeApproval, Exemptions
from headwall.ledger import approvals

#: kind of approval → kinds of provisions under which it may stand
CLAUSES: Final = {
    "discharge": ("emergency_approval",),
    "dye_test": ("dye_test",),
    "exempt": ("exemptions",),
    "determination": ("exemptions",),
    "state_permit": ("permitted_discharge",),
    "connection_permit": ("connection_permit",),
    "premises_change": ("connection_permit",),
    "connection_work": ("connection_work",),
    "suspension": ("emergency_suspension",),
    "termination": ("termination",),
    "work_hold": ("work_hold",),
    "stop_work": ("stop_work",),
    "special_conditions": ("septic_inspection",),
    "tmdl": ("tmdl_change",),
}
#: kinds whose clause tells the means of a step, not of the row itself: kind → that step
_MEANS_OF_STEP: Final = {"dye_test": "told", "suspension": "reasons", "termination": "reasons"}
#: kinds of which no clause tells the means, whatever it tells of a permit or an exemption
_WITHOUT_MEANS: Final = ("premises_change", "determination")
#: kinds that hold for as long as the row says, and so need its end
_NEEDS_END: Final = {
    "dye_test": "a dye test needs --to: until when dye may be seen",
    "connection_work": "connection work needs --to: the planned final restoration",
}


class Checked(NamedTuple):
    """An approval that its code knows."""

    clause: Provision
    body: approvals.Body
    to_us: int | None  # earlier than asked for where something else ends it


def checked(
    profile: Profile,
    where: tzinfo,
    kind: str,
    fields: dict[str, Any],
    from_us: int,
    to_us: int | None,
    *,
    under: str | None = None,
    first: tuple[str, int] | None = None,
) -> Checked:
    """The approval as the municipality's code has it.

    Args:
        profile, where: of the municipality; `where` is its time zone.
        fields: of the kind's struct in ledger.approvals, without the provision.
        under: id of the clause, where the code has several.
        first: a step that is entered with the row, and when it was done; done by the row's holder.

    Raises:
        InputError: the code does not know it, or asks for something more.
    """
    clause = _clause(profile, kind, under, localtime.day_of(from_us, where))
    body = _body(kind, {**fields, "provision": clause.id})
    if first is not None:
        means = body.means if first[0] == step_with_means(kind, clause) else ""
        by = (body.caller if isinstance(body, approvals.DyeTest) else "") or body.holder
        followed = approvals.Followed(step=first[0], at_us=first[1], by=by, means=means)
        _check_step_means(profile, clause, kind, followed)
        body = msgspec.structs.replace(body, followed=[followed], means="" if means else body.means)
    elif step_with_means(kind, clause):
        body = msgspec.structs.replace(body, means="")  # they are those of a step that is not there yet
    elif kind not in _WITHOUT_MEANS:
        _check_means(profile, clause, body.means)
    if to_us is None and kind in _NEEDS_END:
        raise InputError(_NEEDS_END[kind])
    match body:
        case approvals.Discharge():
            if isinstance(clause, DischargeApproval) and clause.for_a_period and to_us is None:
                raise InputError(f"{_at(profile, clause)} has it approved for a stated period; write --to")
        case approvals.Exempt():
            _check_exempt(profile, clause, body, localtime.day_of(from_us, where))
        case approvals.Determination():
            _check_determination(profile, clause, body)
        case approvals.ConnectionPermit():
            _check_permit(profile, clause, body)
    return Checked(clause, body, to_us)


def check_step(
    profile: Profile, where: tzinfo, found: approvals.Approval, followed: approvals.Followed, now_us: int
) -> Provision:
    """The clause under which a step is taken; InputError where its code knows none such, or it comes too early."""
    clause = next((each for each in profile.provisions if each.id == found.body.provision), None)
    if clause is None:
        raise InputError(
            f"{profile.municipality} has no clause {found.body.provision} any more; see `headwall law list`"
        )
    if followed.at_us > now_us:
        raise InputError(f"{followed.step.replace('_', ' ')} is in the future; enter it once it is done")
    _check_step_means(profile, clause, found.kind, followed)
    if followed.step == "lien":
        _check_lien(profile, where, clause, found, followed)
    return clause


def _check_lien(
    profile: Profile, where: tzinfo, clause: Provision, found: approvals.Approval, followed: approvals.Followed
) -> None:
    """A lien is for a code that has a clock for it, and not before that has run."""
    deadline = next((each for each in clause.deadlines if each.name == "lien"), None)
    if deadline is None:
        raise InputError(f"{_at(profile, clause)} makes no lien of what an emergency cost; ask the municipal attorney")
    hearing = found.body.step("hearing")
    if hearing is None:
        raise InputError(f"{_at(profile, clause)} wants a hearing first; enter the step hearing")
    due = profile.due(clause, deadline, {"hearing": hearing.at_us}, where)
    if due.taken_us is not None and followed.at_us < due.taken_us:
        raise InputError(
            f"{_at(profile, clause)} lets costs become a lien {deadline.text}: here "
            f"{localtime.short(due.taken_us, where)}"
        )


def step_with_means(kind: str, clause: Provision) -> str:
    """The step whose means a clause tells; "": it tells those of the row."""
    if kind == "state_permit":
        return "filed" if any(each.name == "file" for each in clause.deadlines) else ""
    return _MEANS_OF_STEP.get(kind, "")


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
        takes = ", ".join(map(_option, known))
        raise InputError(f"{kind.replace('_', ' ')} has no {', '.join(map(_option, foreign))}; it takes {takes}")
    missing = [name for name, each in known.items() if each.required and name not in fields]
    if missing:
        raise InputError(f"{kind.replace('_', ' ')} needs {', '.join(map(_option, missing))}")
    try:
        return msgspec.convert({"kind": kind, **fields}, struct)
    except msgspec.ValidationError as error:
        raise InputError(f"this cannot be entered as {kind.replace('_', ' ')}: {error}") from None


def _option(name: str) -> str:
    return "--" + name.removesuffix("_us").replace("_", "-")


def _check_step_means(profile: Profile, clause: Provision, kind: str, followed: approvals.Followed) -> None:
    if followed.step == step_with_means(kind, clause):
        _check_means(profile, clause, followed.means)


def _check_means(profile: Profile, clause: Provision, means: str) -> None:
    if clause.means and means not in clause.means:
        wanted = " or ".join(f'"{each}"' for each in clause.means)
        told = f"not {means!r}" if means else "so give --means with these words"
        raise InputError(f"{_at(profile, clause)} asks for it {wanted}, {told}")


def _check_exempt(profile: Profile, clause: Provision, body: approvals.Exempt, day: date) -> None:
    if not isinstance(clause, Exemptions):
        return
    source = next((each for each in clause.sources if each.name == body.source), None)
    if source is None:
        known = "; ".join(each.name for each in clause.sources)
        raise InputError(f"{_at(profile, clause)} does not exempt {body.source!r}; it knows: {known}")
    wanted = "; ".join(filter(None, (source.only, clause.condition)))
    if wanted and not body.condition:
        raise InputError(f"{_at(profile, clause)} exempts {source.name} ({wanted}); say in --condition how that is met")
    may_waive = profile.choice("exempt.plan_mode", day) == "optional"
    if clause.plan != "always" or body.plan or (body.no_plan and may_waive):
        return
    otherwise = ", or say in --no-plan why the officer needs none" if may_waive else ": here it has to be filed"
    raise InputError(f"{_at(profile, clause)} asks for a plan for reducing pollutants; name it in --plan{otherwise}")


def _check_determination(profile: Profile, clause: Provision, body: approvals.Determination) -> None:
    if not isinstance(clause, Exemptions):
        return
    if not clause.lost:
        raise InputError(
            f"{_at(profile, clause)} names no way in which an exemption is lost; end the exemption where the flow is "
            "another, and let the officer judge it by the other clauses"
        )
    if body.source not in [each.name for each in clause.sources]:
        known = "; ".join(each.name for each in clause.sources)
        raise InputError(f"{_at(profile, clause)} does not exempt {body.source!r}; it knows: {known}")


def _check_permit(profile: Profile, clause: Provision, body: approvals.ConnectionPermit) -> None:
    if not isinstance(clause, ConnectionPermit):
        return
    chosen = next((each for each in clause.types if each.name == body.type), None)
    if chosen is None:
        known = ", ".join(each.name for each in clause.types)
        raise InputError(f"{_at(profile, clause)} knows no type {body.type!r} of permit; it knows: {known}")
    if chosen.ends_with_state_permit and body.state_permit_until_us is None:
        raise InputError(
            f"{_at(profile, clause)} says that it ends with the State's permit; write --state-permit-until"
        )


def _at(profile: Profile, clause: Provision) -> str:
    return f"{profile.municipality}, {clause.citation},"
