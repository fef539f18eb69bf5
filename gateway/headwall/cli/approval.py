"""`headwall approval`: what is allowed or suspended at a place, as named persons granted it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, wrapped
from headwall.cli.opened import Opened, minute, named, opened, parse_time, place_of
from headwall.errors import InputError, UnknownThingError
from headwall.law import words
from headwall.ledger import approvals, log_book
from headwall.rules.approvals import check_end, checked

By = Annotated[str, typer.Option("--by", help="name of the person who enters it")]
Number = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="see headwall approval list")]
SiteOption = Annotated[str | None, typer.Option("--site", help="at this site of the registry")]
TownOption = Annotated[str | None, typer.Option("--municipality", help="or: in the whole municipality")]


def register(app: typer.Typer) -> None:
    approval = typer.Typer(no_args_is_help=True, help="What is allowed or suspended at a place, and by whom.")
    approval.command("add")(add)
    approval.command("end")(end)
    approval.command("list")(list_approvals)
    approval.command("show")(show)
    app.add_typer(approval, name="approval")


def add(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="discharge, dye-test, exempt, state-permit, connection-permit, suspension"),
    ],
    holder: Annotated[str, typer.Option("--holder", help="who discharges, tests, connects, or is suspended")],
    granted_by: Annotated[str, typer.Option("--granted-by", help="who approved or ordered it, or was told")],
    reference: Annotated[str, typer.Option("--reference", help="letter, permit, file: by which it is found")],
    by: By,
    site: SiteOption = None,
    municipality: TownOption = None,
    start: Annotated[str | None, typer.Option("--from", help="since when it holds; default: now")] = None,
    until: Annotated[str | None, typer.Option("--to", help="until when; default: until it is ended")] = None,
    means: Annotated[str, typer.Option("--means", help="as the code asks: in writing, by word of mouth")] = "",
    under: Annotated[str | None, typer.Option("--under", help="clause, where the code has several")] = None,
    what: Annotated[str | None, typer.Option("--what", help="discharge: what is let out")] = None,
    conditions: Annotated[
        str | None, typer.Option("--conditions", help="discharge: under which it is approved")
    ] = None,
    dye: Annotated[str | None, typer.Option("--dye", help="dye test: which dye")] = None,
    told: Annotated[str | None, typer.Option("--told", help="dye test: when notice was given")] = None,
    source: Annotated[str | None, typer.Option("--source", help="exempt: as the code names it")] = None,
    condition: Annotated[str | None, typer.Option("--condition", help="exempt: how the code's is met")] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="exempt: for reducing pollutants, or why none")] = None,
    permit: Annotated[str | None, typer.Option("--permit", help="state permit: its number")] = None,
    filed: Annotated[str | None, typer.Option("--filed", help="state permit: when the copy was filed")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="connection permit: as the code names it")] = None,
    state_permit_until: Annotated[
        str | None, typer.Option("--state-permit-until", help="connection permit: when the State's ends")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="suspension: why")] = None,
    note: Note = "",
    replaces: Annotated[
        int | None,
        typer.Option("--replaces", metavar="ID", min=1, max=2**63 - 1, help="the one in whose stead this stands"),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Enter an approval, notice, exemption, permit or suspension; the municipality's code says what it needs."""
    word = kind.replace("-", "_")
    if word not in approvals.KINDS:
        raise InputError(f"KIND {kind!r} is not known; it is one of {_kinds()}")
    with opened(config) as at:
        town, place = place_of(at, site, municipality)
        times = {"told_us": (told, "--told"), "filed_us": (filed, "--filed")}
        times["state_permit_until_us"] = (state_permit_until, "--state-permit-until")
        given: dict[str, Any] = {
            "holder": named(holder, "--holder"),
            "granted_by": named(granted_by, "--granted-by"),
            "reference": named(reference, "--reference"),
            "means": means,
            "note": note,
            "what": what,
            "conditions": conditions,
            "dye": dye,
            "source": source,
            "condition": condition,
            "plan": plan,
            "permit": permit,
            "type": type_,
            "reason": reason,
            **{name: None if text is None else parse_time(text, at.zone, opt) for name, (text, opt) in times.items()},
        }
        fields = {name: value for name, value in given.items() if value is not None}
        who, now_us = named(by), at.clock.now_us()
        from_us = now_us if start is None else parse_time(start, at.zone, "--from")
        to_us = None if until is None else parse_time(until, at.zone, "--to")
        found = checked(at.registry, town, word, fields, from_us, to_us, under=under)
        with at.ledger.begin() as conn:
            made = approvals.add_approval(
                conn,
                found.body,
                municipality=town,
                site=place,
                from_us=from_us,
                to_us=found.to_us,
                by=who,
                now_us=now_us,
                replaces=replaces,
            )
            if made is not None:
                log_book.append(conn, "approval", who, _log_body(made), now_us)
        if made is None:
            print(json.dumps(None) if as_json else "The register has this already; nothing was added.")
            return
        if as_json:
            print(json.dumps(as_data(made), indent=2, ensure_ascii=False))
            return
        print(f"Approval {made.id}: {said(made)}, {_span(made, at)}.")
        print(f"Under {found.clause.citation} ({found.clause.confidence_text}); entered by {who}.")
        for deadline in found.clause.deadlines:
            print(f"Clock {deadline.name.replace('_', ' ')}: {words.clock(deadline)}.")


def end(
    number: Number,
    reason: Annotated[str, typer.Option("--reason", help="why it ends, or why access is restored")],
    by: By,
    ended_by: Annotated[
        str | None, typer.Option("--ended-by", help="who decided that; default: the person who enters it")
    ] = None,
    when: Annotated[str | None, typer.Option("--at", help="since when; its very beginning: as if never given")] = None,
    lost: Annotated[bool, typer.Option("--lost", help="an exemption that was determined to be lost")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """End an approval, let an exemption be lost, or reinstate access that was suspended."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        decided = who if ended_by is None else named(ended_by, "--ended-by")
        at_us = now_us if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.begin() as conn:
            found = approvals.standing(conn, number)
            check_end(at.registry, found, lost=lost)
            made = approvals.end_approval(
                conn,
                number,
                at_us=at_us,
                reason=named(reason, "--reason"),
                ended_by=decided,
                lost=lost,
                by=who,
                now_us=now_us,
            )
            kind = "reinstatement" if made.kind == "suspension" else "approval_ended"
            log_book.append(conn, kind, who, _log_body(made), now_us)
        if as_json:
            print(json.dumps(as_data(made), indent=2, ensure_ascii=False))
            return
        what = "access reinstated" if made.kind == "suspension" else "exemption lost" if lost else "ended"
        print(f"Approval {number}: {what} as of {minute(at_us, at.zone)} by {decided}; {made.id} stands in its stead.")


def list_approvals(
    site: SiteOption = None,
    municipality: TownOption = None,
    when: Annotated[str | None, typer.Option("--at", help="what holds then; default: all that is not replaced")] = None,
    everything: Annotated[bool, typer.Option("--all", help="replaced ones too")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The register: of a site (with what holds for its whole municipality), of a municipality, or all."""
    with opened(config) as at:
        town, place = (None, None) if site is None and municipality is None else place_of(at, site, municipality)
        at_us = None if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.read() as conn:
            rows = approvals.listed(conn)
        replaced = {each.replaces: each.id for each in rows}
        found = [
            each
            for each in rows
            if (everything or each.id not in replaced)
            and town in (None, each.municipality)
            and (place is None or each.site in (None, place))
            and (at_us is None or (each.from_us <= at_us and (each.to_us is None or at_us < each.to_us)))
        ]
        if as_json:
            print(json.dumps([as_data(each, replaced.get(each.id)) for each in found], indent=2, ensure_ascii=False))
        elif not found:
            print("Nothing stands in the register for that.")
        else:
            for each in found:
                parts = [each.site or each.municipality, said(each), _span(each, at)]
                parts += [f"granted by {each.body.granted_by}", each.body.reference]
                parts += [f"replaced by {replaced[each.id]}"] if each.id in replaced else []
                print(wrapped(f"{each.id:>5}  ", "; ".join(parts)))


def show(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """All that is known of one."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            found, instead = approvals.approval(conn, number), approvals.replaced_by(conn, number)
        if found is None:
            raise UnknownThingError(f"there is no approval {number}; `headwall approval list` shows them")
        if as_json:
            print(json.dumps(as_data(found, instead), indent=2, ensure_ascii=False))
            return
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_row("Approval", f"{number}" + ("" if instead is None else f", for which {instead} stands now"))
        table.add_row("Where", found.site or f"all of {found.municipality}")
        table.add_row("When", _span(found, at))
        for name, value in msgspec.to_builtins(found.body).items():
            if value not in ("", None, False):
                text = minute(value, at.zone) if name.endswith("_us") else "yes" if value is True else str(value)
                table.add_row(name.removesuffix("_us").replace("_", " ").capitalize(), text)
        table.add_row("Entered", f"{minute(found.at_us, at.zone)} by {found.by}")
        Console(markup=False, emoji=False, highlight=False).print(table)


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
        case approvals.StatePermit():
            what = f"permit {body.permit}"
        case approvals.ConnectionPermit():
            what = f"connection permit, {body.type}"
        case approvals.Suspension():
            what = f"access suspended: {body.reason}"
        case _:
            what = found.kind
    end = "exemption lost" if body.lost else "reinstated" if found.kind == "suspension" else "ended"
    return f"{what} ({body.holder})" + (f"; {end}: {body.ended}" if body.ended else "")


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


def _log_body(made: approvals.Approval) -> dict[str, Any]:
    """What the log book keeps: no name but by the digest, so that one can be redacted."""
    place = {"municipality": made.municipality, "site": made.site}
    what = {"approval": made.id, "kind": made.kind, **place, "from_us": made.from_us, "to_us": made.to_us}
    return {**what, "provision": made.body.provision, "replaces": made.replaces, "digest": made.digest}


def _span(found: approvals.Approval, at: Opened) -> str:
    end = "until it is ended" if found.to_us is None else f"to {minute(found.to_us, at.zone)}"
    return f"{minute(found.from_us, at.zone)} {end}"


def _kinds() -> str:
    return ", ".join(each.replace("_", "-") for each in approvals.KINDS)
