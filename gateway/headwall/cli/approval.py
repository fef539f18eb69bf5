"""`headwall approval`: what is allowed or suspended at a place, as named persons granted it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, print_json, wrapped
from headwall.cli.lists import Limit, most, say_rest
from headwall.cli.opened import Opened, minute, named, opened, parse_time, place_of
from headwall.codes import code_of
from headwall.errors import InputError, UnknownThingError
from headwall.law import words
from headwall.ledger import approvals, log_book
from headwall.ledger.unreadable import Unreadable
from headwall.rules.approval_spans import Book
from headwall.rules.approvals import check_step, checked

By = Annotated[str, typer.Option("--by", help="name of the person who enters it")]
Number = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="see headwall approval list")]
SiteOption = Annotated[str | None, typer.Option("--site", help="at this site of the registry")]
TownOption = Annotated[str | None, typer.Option("--municipality", help="or: in the whole municipality")]


def register(app: typer.Typer) -> None:
    approval = typer.Typer(no_args_is_help=True, help="What is allowed or suspended at a place, and by whom.")
    approval.command("add")(add)
    approval.command("step")(step)
    approval.command("end")(end)
    approval.command("list")(list_approvals)
    approval.command("show")(show)
    app.add_typer(approval, name="approval")


def add(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=", ".join(k.replace("_", "-") for k in approvals.KINDS))],
    holder: Annotated[
        str, typer.Option("--holder", help="who discharges, tests, connects, or is suspended; whose systems it is of")
    ],
    granted_by: Annotated[str, typer.Option("--granted-by", help="who approved, found or ordered it, or was told")],
    reference: Annotated[str, typer.Option("--reference", help="letter, permit, file: by which it is found")],
    by: By,
    site: SiteOption = None,
    municipality: TownOption = None,
    start: Annotated[
        str | None, typer.Option("--from", help="since when it holds, work begins, or a TMDL is approved; default: now")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", help="until when; default: until it is ended")] = None,
    means: Annotated[str, typer.Option("--means", help="as the code asks: in writing, by word of mouth")] = "",
    under: Annotated[str | None, typer.Option("--under", help="clause, where the code has several")] = None,
    what: Annotated[
        str | None, typer.Option("--what", help="discharge: what is let out; work: on what; change: owner or use")
    ] = None,
    conditions: Annotated[
        str | None, typer.Option("--conditions", help="discharge: under which it is approved")
    ] = None,
    dye: Annotated[str | None, typer.Option("--dye", help="dye test: which dye")] = None,
    place: Annotated[str | None, typer.Option("--place", help="dye test: where it goes in")] = None,
    caller: Annotated[
        str | None, typer.Option("--caller", help="dye test: who gave notice; default: the holder")
    ] = None,
    told: Annotated[str | None, typer.Option("--told", help="dye test: when notice was given")] = None,
    source: Annotated[str | None, typer.Option("--source", help="exempt, determination: as the code names it")] = None,
    condition: Annotated[str | None, typer.Option("--condition", help="exempt: how the code's is met")] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="exempt: for reducing pollutants")] = None,
    no_plan: Annotated[str | None, typer.Option("--no-plan", help="exempt: why the officer needs none")] = None,
    ruling: Annotated[
        str | None, typer.Option("--ruling", help="exempt: the officer's, of a source that the code does not list")
    ] = None,
    finding: Annotated[str | None, typer.Option("--finding", help="determination: what was found")] = None,
    determined_by: Annotated[
        str | None, typer.Option("--determined-by", help="determination: which office, as the code has it")
    ] = None,
    permit: Annotated[str | None, typer.Option("--permit", help="state permit: its number")] = None,
    activity: Annotated[
        str | None, typer.Option("--activity", help="state permit: industrial or construction stormwater")
    ] = None,
    proof_asked: Annotated[
        bool, typer.Option("--proof-asked", help="state permit: the officer asks for proof of compliance")
    ] = False,
    filed: Annotated[str | None, typer.Option("--filed", help="state permit: when the copy was filed")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="connection permit: as the code names it")] = None,
    state_permit_until: Annotated[
        str | None, typer.Option("--state-permit-until", help="connection permit: when the State's ends")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="suspension, termination, hold, order: why")] = None,
    correct: Annotated[str | None, typer.Option("--correct", help="hold, order: what is to be put right")] = None,
    water: Annotated[str | None, typer.Option("--water", help="tmdl: the water body")] = None,
    pollutant: Annotated[str | None, typer.Option("--pollutant", help="tmdl: of what")] = None,
    note: Note = "",
    replaces: Annotated[
        int | None,
        typer.Option("--replaces", metavar="ID", min=1, max=2**63 - 1, help="the one in whose stead this stands"),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Enter an approval, notice, exemption, permit, suspension or order; the municipality's code says what it needs."""
    word = kind.replace("-", "_")
    if word not in approvals.KINDS:
        raise InputError(f"KIND {kind!r} is not known; it is one of {_kinds()}")
    with opened(config) as at:
        town, at_site = place_of(at, site, municipality)
        given: dict[str, Any] = {
            "holder": named(holder, "--holder"),
            "granted_by": named(granted_by, "--granted-by"),
            "reference": named(reference, "--reference"),
            "means": means,
            "note": note,
            "what": what,
            "conditions": conditions,
            "dye": dye,
            "place": place,
            "caller": caller,
            "source": source,
            "condition": condition,
            "plan": plan,
            "no_plan": no_plan,
            "ruling": ruling,
            "finding": finding,
            "determined_by": determined_by,
            "permit": permit,
            "activity": activity,
            "proof_asked": proof_asked or None,
            "type": type_,
            "state_permit_until_us": _instant(at, state_permit_until, "--state-permit-until"),
            "reason": reason,
            "correct": correct,
            "water": water,
            "pollutant": pollutant,
        }
        fields = {name: value for name, value in given.items() if value is not None}
        who, now_us = named(by), at.clock.now_us()
        from_us = now_us if start is None else parse_time(start, at.zone, "--from")
        to_us = None if until is None else parse_time(until, at.zone, "--to")
        first = _first(at, word, told, filed)
        with at.ledger.begin() as conn:
            profile = code_of(conn, at.registry, town)
            where = at.registry.zone(town)
            found = checked(profile, where, word, fields, from_us, to_us, under=under, first=first)
            made = approvals.add_approval(
                conn,
                found.body,
                municipality=town,
                site=at_site,
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
            print_json(as_data(made))
            return
        print(f"Approval {made.id}: {said(made)}, {_span(made, at)}.")
        print(f"Under {found.clause.citation} ({found.clause.confidence_text}); entered by {who}.")
        for deadline in found.clause.deadlines:
            print(f"Clock, {words.clock_name(found.clause, deadline.name)}: {words.clock(deadline)}.")
        for line in _waits(at, made):
            print(line)


def step(
    number: Number,
    name: Annotated[
        str,
        typer.Argument(
            metavar="STEP",
            help="what was done: " + ", ".join(dict.fromkeys(one for each in approvals.STEPS.values() for one in each)),
        ),
    ],
    by: By,
    done_by: Annotated[str | None, typer.Option("--done-by", help="who did it; default: who enters it")] = None,
    when: Annotated[str | None, typer.Option("--at", help="when it was done; default: now")] = None,
    means: Annotated[str, typer.Option("--means", help="as the code asks: in writing, by word of mouth")] = "",
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Say what followed: a notice, a filing, written reasons, a hearing, a cost, work seen under an order."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        did = who if done_by is None else named(done_by, "--done-by")
        at_us = now_us if when is None else parse_time(when, at.zone, "--at")
        followed = approvals.Followed(step=name.replace("-", "_"), at_us=at_us, by=did, means=means, note=note)
        with at.ledger.begin() as conn:
            found = approvals.newest(conn, number)
            if followed.step in approvals.STEPS.get(found.kind, {}):
                profile = code_of(conn, at.registry, found.municipality)
                check_step(profile, at.registry.zone(found.municipality), found, followed, now_us)
            made = approvals.add_step(conn, number, followed, by=who, now_us=now_us)
            log_book.append(conn, "approval_step", who, {**_log_body(made), "step": followed.step}, now_us)
        if as_json:
            print_json(as_data(made))
            return
        what = approvals.STEPS[made.kind][followed.step]
        print(f"Approval {number}: {what}, {minute(at_us, at.zone)}, by {did}; {made.id} stands in its stead.")
        for line in _waits(at, made):
            print(line)


def end(
    number: Number,
    reason: Annotated[str, typer.Option("--reason", help="why it ends, or why access is restored")],
    by: By,
    ended_by: Annotated[
        str | None, typer.Option("--ended-by", help="who decided that; default: the person who enters it")
    ] = None,
    when: Annotated[str | None, typer.Option("--at", help="since when; its very beginning: as if never given")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """End an approval, reinstate access that was suspended or cut, lift a hold, release an order."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        decided = who if ended_by is None else named(ended_by, "--ended-by")
        at_us = now_us if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.begin() as conn:
            made = approvals.end_approval(
                conn,
                number,
                at_us=at_us,
                reason=named(reason, "--reason"),
                ended_by=decided,
                by=who,
                now_us=now_us,
            )
            kind = _ENDS.get(made.kind, ("approval_ended", ""))[0]
            log_book.append(conn, kind, who, _log_body(made), now_us)
        if as_json:
            print_json(as_data(made))
            return
        what = _ENDS.get(made.kind, ("", "ended"))[1]
        print(f"Approval {number}: {what} as of {minute(at_us, at.zone)} by {decided}; {made.id} stands in its stead.")


def list_approvals(
    site: SiteOption = None,
    municipality: TownOption = None,
    when: Annotated[str | None, typer.Option("--at", help="what holds then; default: all that is not replaced")] = None,
    everything: Annotated[bool, typer.Option("--all", help="all there are, replaced ones too")] = False,
    limit: Limit = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The register: of a site (with what holds for its whole municipality), of a municipality, or all.

    By the time from which each holds, the newest at the end.
    """
    last, unreadable = most(limit, everything=everything, as_json=as_json), list[Unreadable]()
    with opened(config) as at:
        town, place = (None, None) if site is None and municipality is None else place_of(at, site, municipality)
        at_us = None if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.read() as conn:
            rows = approvals.listed(conn, unreadable)
        replaced = {each.replaces: each.id for each in rows}
        found = [
            each
            for each in rows
            if (everything or each.id not in replaced)
            and town in (None, each.municipality)
            and (place is None or each.site in (None, place))
            and (at_us is None or (each.from_us <= at_us and (each.to_us is None or at_us < each.to_us)))
        ]
        there_are, found = len(found), found if last is None else found[-last:]
        if as_json:
            print_json([as_data(each, replaced.get(each.id)) for each in found])
        elif not found and not unreadable:
            print("Nothing stands in the register for that.")
        else:
            for each in found:
                parts = [each.site or each.municipality, said(each), _span(each, at)]
                parts += [f"granted by {each.body.granted_by}", each.body.reference]
                parts += [f"replaced by {replaced[each.id]}"] if each.id in replaced else []
                print(wrapped(f"{each.id:>5}  ", "; ".join(parts)))
        say_rest(len(found), there_are, "the newest", unreadable, as_json=as_json)


def show(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """All that is known of one."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            found, instead = approvals.approval(conn, number), approvals.replaced_by(conn, number)
        if found is None:
            raise UnknownThingError(f"there is no approval {number}; `headwall approval list` shows them")
        if as_json:
            print_json(as_data(found, instead))
            return
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_row("Approval", f"{number}" + ("" if instead is None else f", for which {instead} stands now"))
        table.add_row("Where", found.site or f"all of {found.municipality}")
        table.add_row("When", _span(found, at))
        for name, value in msgspec.to_builtins(found.body).items():
            if value not in ("", None, False) and name != "followed":
                text = minute(value, at.zone) if name.endswith("_us") else "yes" if value is True else str(value)
                table.add_row(name.removesuffix("_us").replace("_", " ").capitalize(), text)
        for each in found.body.followed:
            told = "; ".join(filter(None, (f"{minute(each.at_us, at.zone)} by {each.by}", each.means, each.note)))
            table.add_row(each.step.replace("_", " ").capitalize(), told)
        for line in _waits(at, found) if instead is None else ():
            table.add_row("Waits", line)
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
    end = _ENDS.get(found.kind, ("", "ended"))[1]
    return f"{what} ({body.holder})" + (f"; {end}: {body.ended}" if body.ended else "")


#: kind → what its end is called in the log book, and in words
_ENDS = {
    "suspension": ("reinstatement", "access reinstated"),
    "termination": ("reinstatement", "access reinstated"),
    "work_hold": ("work_released", "hold lifted"),
    "stop_work": ("work_released", "order released"),
}


def _first(at: Opened, kind: str, told: str | None, filed: str | None) -> tuple[str, int] | None:
    """The step that is entered with a row."""
    for name, text, of in (("told", told, "dye_test"), ("filed", filed, "state_permit")):
        if text is None:
            continue
        if kind != of:
            raise InputError(f"{kind.replace('_', ' ')} has no --{name}")
        return name, parse_time(text, at.zone, f"--{name}")
    return None


def _waits(at: Opened, made: approvals.Approval) -> list[str]:
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


def _instant(at: Opened, text: str | None, option: str) -> int | None:
    return None if text is None else parse_time(text, at.zone, option)


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
