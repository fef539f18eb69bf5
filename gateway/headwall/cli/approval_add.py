"""`headwall approval add`: an approval, notice, exemption, permit or order goes into the register."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from headwall.cli.approval_text import By, SiteOption, TownOption, as_data, log_body, said, span, waits
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, print_json
from headwall.cli.opened import Opened, named, opened, parse_time, place_of
from headwall.codes import code_of
from headwall.errors import InputError
from headwall.law import words
from headwall.law.provision import Provision
from headwall.ledger import approvals, log_book
from headwall.rules.approvals import checked

_KINDS = ", ".join(each.replace("_", "-") for each in approvals.KINDS)
Kind = Annotated[str, typer.Argument(metavar="KIND", help=_KINDS)]
Holder = Annotated[
    str, typer.Option("--holder", help="who discharges, tests, connects, or is suspended; whose systems it is of")
]
GrantedBy = Annotated[str, typer.Option("--granted-by", help="who approved, found or ordered it, or was told")]
Reference = Annotated[str, typer.Option("--reference", help="letter, permit, file: by which it is found")]
Start = Annotated[
    str | None, typer.Option("--from", help="since when it holds, work begins, or a TMDL is approved; default: now")
]
Until = Annotated[str | None, typer.Option("--to", help="until when; default: until it is ended")]
Means = Annotated[str, typer.Option("--means", help="as the code asks: in writing, by word of mouth")]
Under = Annotated[str | None, typer.Option("--under", help="clause, where the code has several")]
Replaces = Annotated[
    int | None,
    typer.Option("--replaces", metavar="ID", min=1, max=2**63 - 1, help="the one in whose stead this stands"),
]
# of one kind or a few
What = Annotated[
    str | None, typer.Option("--what", help="discharge: what is let out; work: on what; change: owner or use")
]
Conditions = Annotated[str | None, typer.Option("--conditions", help="discharge: under which it is approved")]
Dye = Annotated[str | None, typer.Option("--dye", help="dye test: which dye")]
Place = Annotated[str | None, typer.Option("--place", help="dye test: where it goes in")]
Caller = Annotated[str | None, typer.Option("--caller", help="dye test: who gave notice; default: the holder")]
Told = Annotated[str | None, typer.Option("--told", help="dye test: when notice was given")]
Source = Annotated[str | None, typer.Option("--source", help="exempt, determination: as the code names it")]
Condition = Annotated[str | None, typer.Option("--condition", help="exempt: how the code's is met")]
Plan = Annotated[str | None, typer.Option("--plan", help="exempt: for reducing pollutants")]
NoPlan = Annotated[str | None, typer.Option("--no-plan", help="exempt: why the officer needs none")]
Ruling = Annotated[
    str | None, typer.Option("--ruling", help="exempt: the officer's, of a source that the code does not list")
]
Finding = Annotated[str | None, typer.Option("--finding", help="determination: what was found")]
DeterminedBy = Annotated[
    str | None, typer.Option("--determined-by", help="determination: which office, as the code has it")
]
Permit = Annotated[str | None, typer.Option("--permit", help="state permit: its number")]
Activity = Annotated[str | None, typer.Option("--activity", help="state permit: industrial or construction stormwater")]
ProofAsked = Annotated[
    bool, typer.Option("--proof-asked", help="state permit: the officer asks for proof of compliance")
]
Filed = Annotated[str | None, typer.Option("--filed", help="state permit: when the copy was filed")]
Type = Annotated[str | None, typer.Option("--type", help="connection permit: as the code names it")]
StatePermitUntil = Annotated[
    str | None, typer.Option("--state-permit-until", help="connection permit: when the State's ends")
]
Why = Annotated[str | None, typer.Option("--reason", help="suspension, termination, hold, order: why")]
Correct = Annotated[str | None, typer.Option("--correct", help="hold, order: what is to be put right")]
Water = Annotated[str | None, typer.Option("--water", help="tmdl: the water body")]
Pollutant = Annotated[str | None, typer.Option("--pollutant", help="tmdl: of what")]


def add(
    kind: Kind,
    holder: Holder,
    granted_by: GrantedBy,
    reference: Reference,
    by: By,
    site: SiteOption = None,
    municipality: TownOption = None,
    start: Start = None,
    until: Until = None,
    means: Means = "",
    under: Under = None,
    what: What = None,
    conditions: Conditions = None,
    dye: Dye = None,
    place: Place = None,
    caller: Caller = None,
    told: Told = None,
    source: Source = None,
    condition: Condition = None,
    plan: Plan = None,
    no_plan: NoPlan = None,
    ruling: Ruling = None,
    finding: Finding = None,
    determined_by: DeterminedBy = None,
    permit: Permit = None,
    activity: Activity = None,
    proof_asked: ProofAsked = False,
    filed: Filed = None,
    type_: Type = None,
    state_permit_until: StatePermitUntil = None,
    reason: Why = None,
    correct: Correct = None,
    water: Water = None,
    pollutant: Pollutant = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Enter an approval, notice, exemption, permit, suspension or order; the municipality's code says what it needs."""
    word = kind.replace("-", "_")
    if word not in approvals.KINDS:
        raise InputError(f"KIND {kind!r} is not known; it is one of {_KINDS}")
    flows = {"what": what, "conditions": conditions, "dye": dye, "place": place, "caller": caller}
    exempt = {"source": source, "condition": condition, "plan": plan, "no_plan": no_plan, "ruling": ruling}
    found = {"finding": finding, "determined_by": determined_by, "water": water, "pollutant": pollutant}
    permits = {"permit": permit, "activity": activity, "proof_asked": proof_asked or None, "type": type_}
    orders = {"reason": reason, "correct": correct}
    with opened(config) as at:
        town, at_site = place_of(at, site, municipality)
        of_all = _of_all(holder, granted_by, reference) | {"means": means, "note": note}
        ends = {"state_permit_until_us": _instant(at, state_permit_until, "--state-permit-until")}
        given = of_all | flows | exempt | found | permits | orders | ends
        fields = {name: value for name, value in given.items() if value is not None}
        who, now_us = named(by), at.clock.now_us()
        from_us = now_us if start is None else parse_time(start, at.zone, "--from")
        span_us = (from_us, _instant(at, until, "--to"))
        first = _first(at, word, told, filed)
        clause, made = _enter(at, word, fields, (town, at_site), span_us, who, now_us, under, first, replaces)
        _say(at, clause, made, who, as_json)


def _of_all(holder: str, granted_by: str, reference: str) -> dict[str, Any]:
    """What every kind names."""
    told = {"holder": (holder, "--holder"), "granted_by": (granted_by, "--granted-by")}
    told |= {"reference": (reference, "--reference")}
    return {name: named(text, option) for name, (text, option) in told.items()}


def _enter(
    at: Opened,
    kind: str,
    fields: dict[str, Any],
    place: tuple[str, str | None],
    span_us: tuple[int, int | None],
    who: str,
    now_us: int,
    under: str | None,
    first: tuple[str, int] | None,
    replaces: int | None,
) -> tuple[Provision, approvals.Approval | None]:
    """Put it into the register and the log book, as the code has it; the clause, and None where it is there already."""
    (town, site), (from_us, to_us) = place, span_us
    with at.ledger.begin() as conn:
        profile, where = code_of(conn, at.registry, town), at.registry.zone(town)
        found = checked(profile, where, kind, fields, from_us, to_us, under=under, first=first)
        made = approvals.add_approval(
            conn,
            found.body,
            municipality=town,
            site=site,
            from_us=from_us,
            to_us=found.to_us,
            by=who,
            now_us=now_us,
            replaces=replaces,
        )
        if made is not None:
            log_book.append(conn, "approval", who, log_body(made), now_us)
    return found.clause, made


def _say(at: Opened, clause: Provision, made: approvals.Approval | None, who: str, as_json: bool) -> None:
    """What was entered, under which clause, its clocks, and what it still waits for."""
    if made is None:
        print(json.dumps(None) if as_json else "The register has this already; nothing was added.")
        return
    if as_json:
        print_json(as_data(made))
        return
    print(f"Approval {made.id}: {said(made)}, {span(made, at)}.")
    print(f"Under {clause.citation} ({clause.confidence_text}); entered by {who}.")
    for deadline in clause.deadlines:
        print(f"Clock, {words.clock_name(clause, deadline.name)}: {words.clock(deadline)}.")
    for line in waits(at, made):
        print(line)


def _first(at: Opened, kind: str, told: str | None, filed: str | None) -> tuple[str, int] | None:
    """The step that is entered with a row."""
    for name, text, of in (("told", told, "dye_test"), ("filed", filed, "state_permit")):
        if text is None:
            continue
        if kind != of:
            raise InputError(f"{kind.replace('_', ' ')} has no --{name}")
        return name, parse_time(text, at.zone, f"--{name}")
    return None


def _instant(at: Opened, text: str | None, option: str) -> int | None:
    return None if text is None else parse_time(text, at.zone, option)
