"""`headwall law`: what the codes ask, how they differ, how far the rules go, and confirming a section number."""

from __future__ import annotations

import json
from datetime import tzinfo
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from headwall.cli import law_choices
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, print_json
from headwall.cli.law_choices import gateway_if_any
from headwall.cli.opened import Opened, named, opened, parse_time
from headwall.errors import InputError, UnknownThingError
from headwall.law import localtime, words
from headwall.law.ambiguities import questions
from headwall.law.compare import differences
from headwall.law.coverage import coverage
from headwall.law.deadlines import START_TEXT, Start
from headwall.law.page import code_page, coverage_page
from headwall.law.profile import Profile, load_profile, profile_names
from headwall.law.provision import Provision
from headwall.law.words import doubt_rows, head_rows, matter_rows
from headwall.rules import citations
from headwall.rules.judges import judges

#: kinds of provisions that a rule judges
JUDGED = frozenset(judges())
_NEW_YORK = "America/New_York"

Code = Annotated[str, typer.Argument(metavar="CODE", help="name of a profile, or the path of one (….toml)")]
Known = Annotated[str, typer.Argument(metavar="PROVISION", help="id of a provision; see headwall law list CODE")]


def register(app: typer.Typer) -> None:
    law = typer.Typer(no_args_is_help=True, help="The codes as data: provisions, clocks, differences.")
    law.command("list")(list_provisions)
    law.command("show")(show)
    law.command("due")(due)
    law.command("diff")(diff)
    law.command("coverage")(coverage_table)
    law.command("confirm")(confirm)
    law.command("page")(page)
    law_choices.register(law)
    app.add_typer(law, name="law")


def list_provisions(
    code: Annotated[str | None, typer.Argument(metavar="[CODE]", help="a profile; without one, the profiles")] = None,
    as_json: AsJson = False,
) -> None:
    """The profiles, or the provisions of one."""
    if code is None:
        profiles = {name: load_profile(name) for name in profile_names()}
        heads = [
            {"code": name, "municipality": each.municipality, "provisions": len(each.provisions)}
            for name, each in profiles.items()
        ]
        _print(heads, ["Code", "Municipality", "Provisions"], as_json)
        return
    rows = [
        {"id": each.id, "kind": each.kind, "citation": f"{each.citation} ({each.confidence})", "subject": each.subject}
        for each in load_profile(code).provisions
    ]
    _print(rows, ["Provision", "Kind", "Section", "Subject"], as_json)


def show(provision: Known, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """All that is known of one provision, with who confirmed its section number."""
    with gateway_if_any(config) as at:
        profile, found = _found(provision, at)
        if at is not None:
            with at.ledger.read() as conn:
                found = citations.with_confirmation(conn, profile, found, at.zone)
    if as_json:
        body = {"municipality": profile.municipality, "confidence_text": found.confidence_text}
        print_json({**body, **found.model_dump(mode="json", by_alias=True)})
        return
    console = Console(markup=False, emoji=False, highlight=False)
    console.print(f"{profile.municipality}: {found.subject}", style="bold")
    console.print(f"\n{found.requirement}\n")
    table = Table(show_header=False, box=None, pad_edge=False)
    for label, text in (*head_rows(found), *matter_rows(found), *doubt_rows(found)):
        table.add_row(label, text)
    console.print(table)
    for number in found.questions:
        console.print(f"{number}: {questions()[number].asks} {questions()[number].taken}")


def due(
    provision: Known,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start", help='what a clock starts with, and when: "issuance=2026-06-26 10:00"; several if need be'
        ),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """When the clocks of a provision fall, under the strict and the lenient reading."""
    with gateway_if_any(config) as at:
        profile, found = _found(provision, at)
        where = _zone(profile, at)
    if not found.deadlines:
        raise InputError(f"{found.id} has no clock of its own; see headwall law show {found.id}")
    starts = _starts(start or [], found, where)
    rows = []
    for each in found.deadlines:
        falls = profile.due(found, each, starts, where)
        times = (falls.strict_us, falls.lenient_us, falls.taken_us)
        told = [None if instant is None else localtime.iso(instant, where) for instant in times]
        name = each.name if as_json else words.clock_name(found, each.name)
        rows.append({"clock": name, "rule": each.text, "strict": told[0], "lenient": told[1], "counts": told[2]})
    _print(rows, ["Clock", "Rule", "Strict", "Lenient", "Counts"], as_json)


def diff(first: Code, second: Code, as_json: AsJson = False) -> None:
    """What two codes have otherwise."""
    found = differences(load_profile(first), load_profile(second))
    rows = [{"kind": each.kind, "what": each.what, "first": each.first, "second": each.second} for each in found]
    _print(rows, ["Kind", "What", first, second], as_json)


def coverage_table(as_json: AsJson = False) -> None:
    """Which clauses of the codes a rule judges."""
    rows = [
        {
            "row": each.row,
            "what": each.told,
            "decided_by": ", ".join(each.decided_by),
            "state": f"{each.state}: {each.why}" if each.why else each.state,
            "provisions": ", ".join(provision.id for provision in each.provisions),
        }
        for each in coverage(map(load_profile, profile_names()), JUDGED)
    ]
    _print(rows, ["Row", "What", "Decided by", "State", "Provisions"], as_json)


def confirm(
    provision: Known,
    by: Annotated[str, typer.Option("--by", help="name of the person who looked it up in the municipality's code")],
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Say that a section number is right; it stands in the log book with the name."""
    with opened(config) as at:
        profile, found = _found(provision, at)
        with at.ledger.begin() as conn:
            citations.confirm(conn, profile, found, named(by), at.clock.now_us())
            found = citations.with_confirmation(conn, profile, found, at.zone)
    if as_json:
        print(json.dumps({"provision": found.id, "citation": found.citation, "confidence": found.confidence_text}))
    else:
        print(f"{profile.municipality}, {found.citation}: {found.confidence_text}.")


def page(
    code: Annotated[str, typer.Argument(metavar="CODE", help='name or path of a profile, or "coverage"')],
) -> None:
    """A code as a page in Markdown; "coverage" for how far the rules go."""
    if code == "coverage":
        print(coverage_page(map(load_profile, profile_names()), JUDGED), end="")
    else:
        print(code_page(code, load_profile(code)), end="")


def _found(provision_id: str, at: Opened | None) -> tuple[Profile, Provision]:
    """A provision by its id, of the gateway's own profiles first."""
    own = at.codes if at else {}
    for name in dict.fromkeys([*own, *profile_names()]):
        profile = own.get(name) or load_profile(name)
        for each in profile.provisions:
            if each.id == provision_id:
                return profile, each
    raise UnknownThingError(f"no profile has a provision {provision_id!r}; `headwall law list CODE` shows them")


def _zone(profile: Profile, at: Opened | None) -> tzinfo:
    """The municipality's zone in the registry; without one there New York's, whose law the clocks follow."""
    found = [each for each in at.registry.municipalities if at.code_of(each.id) == profile] if at else []
    return localtime.zone(found[0].time_zone if found else _NEW_YORK)


def _starts(given: list[str], provision: Provision, where: tzinfo) -> dict[Start, int]:
    """The instants that a person gave, by what starts with them."""
    read = [each.read(reading) for each in provision.deadlines for reading in (each.strict, each.lenient)]
    known = {each.starts: each.starts for each in read}
    found: dict[Start, int] = {}
    if not given:
        told = ", ".join(f"{name} ({START_TEXT[name]})" for name in sorted(known.values()))
        raise InputError(f"say when its clocks start: --start NAME=TIME; those of {provision.id} start with {told}")
    for text in given:
        name, _, moment = text.partition("=")
        if name not in known or not moment:
            wanted = ", ".join(sorted(known))
            raise InputError(f"--start {text!r}: write NAME=TIME; the clocks of {provision.id} start with {wanted}")
        found[known[name]] = parse_time(moment, where, f"--start {name}")
    return found


def _print(rows: list[dict[str, Any]], heads: list[str], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    table = Table(*heads)
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    Console(markup=False, emoji=False, highlight=False).print(table)
