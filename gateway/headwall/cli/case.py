"""`headwall case`: suspected conditions, the steps that persons take, and the clocks of the municipality's code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from headwall.cases import steps
from headwall.cases.states import ENDED, MOVES
from headwall.cli import case_letter, case_text
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, Reason, wrapped
from headwall.cli.opened import Opened, minute, named, opened, parse_time
from headwall.ledger import cases
from headwall.ledger.cases import Case

Number = Annotated[int, typer.Argument(metavar="CASE", min=1, help="see headwall case list")]
By = Annotated[str, typer.Option("--by", help="name of who decides or did it")]
At = Annotated[str | None, typer.Option("--at", help="when it was done; default: now")]
Means = Annotated[str, typer.Option("--means", help="how: certified mail, posting, in person")]
Dated = Annotated[str | None, typer.Option("--dated", help="date of the notice, where the code counts from it")]
Issued = Annotated[str | None, typer.Option("--issued", help="when it was issued, where the code counts from it")]
CorrectBy = Annotated[str | None, typer.Option("--correct-by", help="until when the notice wants it corrected")]
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
    _plain(case, "review", "You look into it; nothing is decided by that.")
    _plain(case, "confirm", "You find that the condition is there.")
    _plain(case, "dismiss", "You find that it is not there, or is none of the code's.")
    case.command("serve")(serve)
    _plain(case, "correct", "Correction is under way.")
    case.command("appeal")(appeal)
    _plain(case, "hear", "The appeal was heard.")
    case.command("decide")(decide)
    case.command("abate")(abate)
    case.command("cost")(cost)
    _plain(case, "protest", "The owner protested against the cost; --by is who took it in.")
    _plain(case, "close", "You close it for good.")
    case.command("note")(note_)
    case_letter.register(case)
    app.add_typer(case, name="case")


def list_cases(
    everything: Annotated[bool, typer.Option("--all", help="those that have ended, too")] = False,
    site: Annotated[str | None, typer.Option("--site", help="only those of this site")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Cases that wait for something, oldest first."""
    with opened(config) as at:
        if site is not None:
            at.registry.require_site(site)
        with at.ledger.read() as conn:
            found = cases.listed(conn, site=site, without=() if everything else ENDED)
        if as_json:
            print(json.dumps([case_text.data(at, each) for each in found], indent=2, ensure_ascii=False))
            return
        if not found:
            print("No case is open. What no sensor sees is not excluded by that.")
            return
        table = Table("ID", "Site", "Seen", "State", "Next clock")
        for each in found:
            table.add_row(
                str(each.id),
                each.site,
                minute(each.from_us, case_text.zone_of(at, each)),
                case_text.state(each),
                case_text.next_clock(at, each),
            )
        Console(markup=False, highlight=False).print(table)


def show(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """What was seen, every step, and the clocks under both readings."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            case = cases.case(conn, number)
            fact = case_text.fact_of(conn, case)
        if as_json:
            seen = None if fact is None else msgspec.to_builtins(fact)
            print(json.dumps({**case_text.data(at, case), "seen": seen}, indent=2, ensure_ascii=False))
            return
        case_text.print_case(at, case, fact)


def open_case(
    site: Annotated[str, typer.Option("--site", help="a site of the registry")],
    by: By,
    reason: Reason,
    when: Annotated[str | None, typer.Option("--at", help="when it was seen; default: now")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Open a case for a suspected discharge that a person has seen."""
    with opened(config) as at:
        now_us, who = at.clock.now_us(), named(by)
        zone = at.registry.zone(at.registry.require_site(site).municipality)
        seen_us = now_us if when is None else parse_time(when, zone, "--at")
        with at.ledger.begin() as conn:
            case = steps.open_by_person(
                conn, at.registry, site, kind="suspected_discharge", by=who, seen_us=seen_us, note=reason, now_us=now_us
            )
        _told(at, case, as_json)


def _plain(group: typer.Typer, action: str, about: str) -> None:
    """The command of a step of which nothing is told but who took it, when, and a note: its reason, if it needs one."""

    def noted(
        number: Number,
        by: By,
        note: Note = "",
        when: At = None,
        config: ConfigOption = DEFAULT_CONFIG,
        as_json: AsJson = False,
    ) -> None:
        _take(action, number, by, when, config, as_json, note=note)

    def reasoned(
        number: Number,
        by: By,
        reason: Reason,
        when: At = None,
        config: ConfigOption = DEFAULT_CONFIG,
        as_json: AsJson = False,
    ) -> None:
        noted(number, by, reason, when, config, as_json)

    group.command(action, help=about)(reasoned if MOVES[action].why else noted)


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
    _take("serve", number, by, when, config, as_json, note=note, means=means, times=times)


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
    _take("appeal", number, by, when, config, as_json, note=note, times={"received": (received, "--received")})


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
    _take("decide", number, by, when, config, as_json, note=note, outcome=outcome, times=times)


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
    _take("abate", number, by, when, config, as_json, note=note, outcome=outcome)


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
    _take("cost", number, by, when, config, as_json, note=note, times={"cost_received": (received, "--received")})


def note_(
    number: Number,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="what is to be known")],
    by: By,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Write something to it; its state stays."""
    _take("note", number, by, None, config, as_json, note=text)


def _take(
    action: str,
    number: int,
    by: str,
    when: str | None,
    config: Path,
    as_json: bool,
    *,
    note: str = "",
    means: str = "",
    outcome: str = "",
    times: dict[str, tuple[str | None, str]] | None = None,
) -> None:
    with opened(config) as at:
        now_us, who = at.clock.now_us(), named(by)
        with at.ledger.read() as conn:
            zone = case_text.zone_of(at, cases.case(conn, number))
        done_us = now_us if when is None else parse_time(when, zone, "--at")
        given = {
            name: parse_time(text, zone, option) for name, (text, option) in (times or {}).items() if text is not None
        }
        told = steps.Told(who, done_us, note.strip(), means.strip(), outcome, times=given)
        with at.ledger.begin() as conn:
            case = steps.take(conn, at.registry, number, action, told, now_us=now_us)
        _told(at, case, as_json)


def _told(at: Opened, case: Case, as_json: bool) -> None:
    if as_json:
        print(json.dumps(case_text.data(at, case), indent=2, ensure_ascii=False))
        return
    last = case.steps[-1]
    print(f"Case {case.id} ({case.site}): {case_text.state(case)}; {case_text.in_words(last.action)} by {last.by}.")
    set_now = {(each.provision, each.name) for each in last.clocks}
    for each in case_text.running(at, case):
        if (each.clock.provision, each.clock.name) in set_now:
            print(wrapped("  - ", case_text.clock_text(at, case, each)))
