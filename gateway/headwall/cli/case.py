"""`headwall case`: suspected conditions, the steps that persons take, and the clocks of the municipality's code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from headwall.cases import steps
from headwall.cases.kinds import KINDS, kind_of
from headwall.cases.running import Running
from headwall.cases.states import ENDED
from headwall.cli import case_after, case_letter, case_spill, case_text
from headwall.cli.case_step import At, By, Number, plain, take, told
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, Reason, print_json
from headwall.cli.lists import Limit, most, say_rest
from headwall.cli.opened import Opened, minute, named, opened, parse_time
from headwall.ledger import cases
from headwall.ledger.unreadable import Unreadable

Means = Annotated[str, typer.Option("--means", help="how: certified mail, posting, in person")]
Dated = Annotated[str | None, typer.Option("--dated", help="date of the notice, where the code counts from it")]
Issued = Annotated[str | None, typer.Option("--issued", help="when it was issued, where the code counts from it")]
CorrectBy = Annotated[
    str | None, typer.Option("--correct-by", help="until when the notice wants it corrected; a day: to its end")
]
Received = Annotated[
    str | None, typer.Option("--received", help="when it was received, where the code counts from that")
]
Copied = Annotated[str | None, typer.Option("--copied", help="when the decision was filed and its copy sent")]
Outcome = Annotated[str, typer.Argument(metavar="OUTCOME", help="upheld, changed, set-aside, withdrawn")]
Abater = Annotated[str, typer.Argument(metavar="WHO", help="owner, or municipality: then its cost is told and paid")]


def register(app: typer.Typer) -> None:
    case = typer.Typer(no_args_is_help=True, help="Suspected conditions, what persons decide of them, and the clocks.")
    case.command("list")(list_cases)
    case.command("show")(show)
    case.command("open")(open_case)
    plain(case, "review", "You look into it; nothing is decided by that.")
    case.command("confirm")(confirm)
    plain(case, "dismiss", "You find that it is not there, or is none of the code's.")
    case.command("serve")(serve)
    plain(case, "correct", "Correction is under way.")
    case.command("appeal")(appeal)
    plain(case, "hear", "The appeal was heard.")
    case.command("decide")(decide)
    case.command("abate")(abate)
    case.command("cost")(cost)
    plain(case, "protest", "The owner protested against the cost; --by is who took it in.")
    case.command("close")(close)
    case.command("note")(note_)
    case_spill.register(case)
    case_after.register(case)
    case_letter.register(case)
    app.add_typer(case, name="case")


def list_cases(
    everything: Annotated[bool, typer.Option("--all", help="all there are, those that have ended too")] = False,
    limit: Limit = None,
    site: Annotated[str | None, typer.Option("--site", help="only those of this site")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="only those of this kind")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Cases that wait for something: by the clock that has passed or ends first, then those without one."""
    first, unreadable = most(limit, everything=everything, as_json=as_json), list[Unreadable]()
    with opened(config) as at:
        if site is not None:
            at.registry.require_site(site)
        if kind is not None:
            kind_of(kind)
        without = () if everything else ENDED
        with at.ledger.read() as conn:
            found = cases.listed(conn, site=site, kind=kind, without=without, unreadable=unreadable)
        clocks = {each.id: case_text.pressing(at, each) for each in found}
        found.sort(key=lambda each: case_text.soonest_first(each, clocks[each.id]))
        there_are, found = len(found), found[:first]
        if as_json:
            print_json([case_text.data(at, each) for each in found])
        elif found:
            case_text.call_first(found)
            Console(markup=False, highlight=False).print(_table(at, found, clocks))
        elif not unreadable:
            print("No case is open. What no sensor sees is not excluded by that.")
        say_rest(len(found), there_are, "the most pressing first", unreadable, as_json=as_json)


def _table(at: Opened, found: list[cases.Case], clocks: Mapping[int, list[Running]]) -> Table:
    table = Table("ID", "Site", "Seen", "State", "Clocks")
    for each in found:
        table.add_row(
            str(each.id),
            each.site,
            f"{minute(each.from_us, case_text.zone_of(at, each))}\n{case_text.in_words(each.kind)}",
            case_text.state(each),
            case_text.pressing_text(at, each, clocks[each.id]),
        )
    return table


def show(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """What was seen, every step, and the clocks under both readings."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            case = cases.case(conn, number)
            fact = case_text.fact_of(conn, case)
        if as_json:
            seen = None if fact is None else msgspec.to_builtins(fact)
            print_json({**case_text.data(at, case), "seen": seen})
            return
        case_text.print_case(at, case, fact)


def open_case(
    site: Annotated[str, typer.Option("--site", help="a site of the registry")],
    by: By,
    reason: Reason,
    kind: Annotated[str, typer.Option("--kind", help=", ".join(KINDS))] = "suspected_discharge",
    when: Annotated[str | None, typer.Option("--at", help="when it was first seen or known; default: now")] = None,
    condition: Annotated[str | None, typer.Option("--condition", help="of a failing system: which")] = None,
    connection: Annotated[str | None, typer.Option("--connection", help="entry of an illicit connection")] = None,
    alarm: Annotated[str | None, typer.Option("--alarm", help="of a spill: the case that was its first sign")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Open a case for what a person has seen. Of a spill: call first, then write."""
    given = {"condition": condition, "connection": connection, "alarm": alarm}
    details = {name: text for name, text in given.items() if text is not None}
    with opened(config) as at:
        now_us, who = at.clock.now_us(), named(by)
        zone = at.registry.zone(at.registry.require_site(site).municipality)
        seen_us = now_us if when is None else parse_time(when, zone, "--at")
        with at.ledger.begin() as conn:
            case = steps.open_by_person(
                conn,
                at.registry,
                site,
                kind=kind,
                by=who,
                seen_us=seen_us,
                note=reason,
                now_us=now_us,
                details=details,
            )
        told(at, case, as_json)


def confirm(
    number: Number,
    by: By,
    reason: Reason,
    breaks: Annotated[str | None, typer.Option("--breaks", help="the clause, where the case may break several")] = None,
    attributed: Annotated[
        str | None, typer.Option("--attributed", help="of ground water: why it can be put down to the system")
    ] = None,
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """You find that the condition is there."""
    take(
        "confirm", number, by, when, config, as_json, note=reason, details={"breaks": breaks, "attributed": attributed}
    )


def serve(
    number: Number,
    by: By,
    means: Means,
    when: Annotated[str | None, typer.Option("--at", help="when it was served; default: now")] = None,
    dated: Dated = None,
    issued: Issued = None,
    correct_by: CorrectBy = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The notice of violation was served. Entered again, it stands in the stead of the one before."""
    times = {"dated": (dated, "--dated"), "issued": (issued, "--issued"), "correct_by": (correct_by, "--correct-by")}
    take("serve", number, by, when, config, as_json, note=note, means=means, times=times)


def appeal(
    number: Number,
    by: By,
    when: Annotated[str | None, typer.Option("--at", help="when it was filed; default: now")] = None,
    received: Received = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """An appeal was filed; --by is who took it in."""
    take("appeal", number, by, when, config, as_json, note=note, times={"received": (received, "--received")})


def decide(
    number: Number,
    outcome: Outcome,
    by: By,
    when: At = None,
    copied: Copied = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The appeal was decided, or withdrawn; --by is who decided."""
    outcome, times = outcome.replace("-", "_"), {"copied": (copied, "--copied")}
    take("decide", number, by, when, config, as_json, note=note, outcome=outcome, times=times)


def abate(
    number: Number,
    outcome: Abater,
    by: By,
    note: Note = "",
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The condition was abated; --by is who saw that."""
    take("abate", number, by, when, config, as_json, note=note, outcome=outcome)


def cost(
    number: Number,
    by: By,
    when: Annotated[str | None, typer.Option("--at", help="when the owner was told the cost; default: now")] = None,
    received: Annotated[str | None, typer.Option("--received", help="when the owner received it")] = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The owner was told what the abatement cost."""
    take("cost", number, by, when, config, as_json, note=note, times={"cost_received": (received, "--received")})


def close(
    number: Number,
    by: By,
    reason: Reason,
    leaves: Annotated[
        str,
        typer.Option("--leaves", help="what is still owed and stays undone, by the names that it asks for: serve,tell"),
    ] = "",
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """You close it for good: nothing reminds of it any more. While something is owed under the code it is refused."""
    take("close", number, by, when, config, as_json, note=reason, details={"leaves": leaves})


def note_(
    number: Number,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="what is to be known")],
    by: By,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Write something to it; its state stays."""
    take("note", number, by, None, config, as_json, note=text)
