"""An approval in words and as data, for the commands of `headwall approval`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
import typer

from headwall.cli.opened import Opened, minute
from headwall.codes import code_of
from headwall.ledger import approvals
from headwall.rules.approval_spans import Book

By = Annotated[str, typer.Option("--by", help="name of the person who enters it")]
SiteOption = Annotated[str | None, typer.Option("--site", help="at this site of the registry")]
TownOption = Annotated[str | None, typer.Option("--municipality", help="or: in the whole municipality")]
#: kind → what its end is called in the log book, and in words
ENDS: Final = {
    "suspension": ("reinstatement", "access reinstated"),
    "termination": ("reinstatement", "access reinstated"),
    "work_hold": ("work_released", "hold lifted"),
    "stop_work": ("work_released", "order released"),
}


def said(found: approvals.Approval) -> str:
    """What it is, in a few words."""
    body = found.body
    match body:
        case approvals.Discharge():
            what = f"discharge of {body.what}"
        case approvals.DyeTest():
            what = f"dye test, {body.dye}"
        case approvals.Exempt():
            what = f"exempt: {body.source}"
        case approvals.Determination():
            what = f"exempt no more: {body.source}, {body.finding}"
        case approvals.StatePermit():
            what = f"permit {body.permit}"
        case approvals.ConnectionPermit():
            what = f"connection permit, {body.type}"
        case approvals.PremisesChange():
            what = f"change of {body.what}"
        case approvals.ConnectionWork():
            what = f"work on a connection: {body.what}"
        case approvals.Suspension():
            what = f"access suspended: {body.reason}"
        case approvals.Termination():
            cut = body.step("terminated") is not None
            what = f"access {'ended' if cut else 'to be ended, proposed'}: {body.reason}"
        case approvals.WorkHold():
            what = f"work rests: {body.reason}"
        case approvals.StopWork():
            what = f"stop-work order: {body.reason}"
        case approvals.SpecialConditions():
            what = "septic systems contribute to special conditions"
        case approvals.Tmdl():
            what = f"TMDL of {body.pollutant} for {body.water}"
        case _:
            what = found.kind
    end = ENDS.get(found.kind, ("", "ended"))[1]
    return f"{what} ({body.holder})" + (f"; {end}: {body.ended}" if body.ended else "")


def waits(at: Opened, made: approvals.Approval) -> list[str]:
    """What is missing before it covers anything, told in lines."""
    with at.ledger.read() as conn:
        profile = code_of(conn, at.registry, made.municipality)
        rows = [made] if made.site is None else approvals.of_site(conn, made.municipality, made.site)
    book = Book(rows, profile, at.registry.zone(made.municipality), made.site)
    lines = []
    if isinstance(made.body, approvals.DyeTest) and not book.told_in_time(made):
        lines.append("It covers no flow: the notice that the code wants before the test is not on record.")
    if book.needs_ruling(made):
        lines.append("It covers no flow until the officer has ruled on it: the code does not list it (--ruling).")
    if isinstance(made.body, approvals.StatePermit):
        lines.append(f"Its approval for the storm sewer is for {book.grantor(made)} to grant.")
    for gate, at_us in book.gates(made).items() if isinstance(made.body, approvals.StatePermit) else ():
        if at_us is None:
            what = approvals.STEPS[made.kind][gate]
            lines.append(f"It covers no flow until {what}: `headwall approval step {made.id} {gate}`.")
    end_us, by = book.permit_end(made) if isinstance(made.body, approvals.ConnectionPermit) else (None, "")
    if end_us is not None:
        lines.append(f"It ends {minute(end_us, at.zone)} with {by}.")
    return lines


def as_data(found: approvals.Approval, replaced_by: int | None = None) -> dict[str, Any]:
    """An approval for scripts."""
    return {
        "id": found.id,
        "municipality": found.municipality,
        "site": found.site,
        "from_us": found.from_us,
        "to_us": found.to_us,
        "by": found.by,
        "entered_us": found.at_us,
        "replaces": found.replaces,
        "replaced_by": replaced_by,
        **msgspec.to_builtins(found.body),
    }


def log_body(made: approvals.Approval) -> dict[str, Any]:
    """What the log book keeps: no name but by the digest, so that one can be redacted."""
    place = {"municipality": made.municipality, "site": made.site}
    what = {"approval": made.id, "kind": made.kind, **place, "from_us": made.from_us, "to_us": made.to_us}
    return {**what, "provision": made.body.provision, "replaces": made.replaces, "digest": made.digest}


def span(found: approvals.Approval, at: Opened) -> str:
    end = "until it is ended" if found.to_us is None else f"to {minute(found.to_us, at.zone)}"
    return f"{minute(found.from_us, at.zone)} {end}"
