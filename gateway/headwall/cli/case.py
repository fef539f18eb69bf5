"""`headwall case`: suspected conditions, the steps that persons take, and the clocks of the municipality's code."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import tzinfo
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa
import typer
from rich.console import Console
from rich.table import Table

from headwall.cases import steps, suspicion
from headwall.cases.clocks import Running
from headwall.cases.states import ENDED, STATES
from headwall.cli.common import DEFAULT_CONFIG, ConfigOption, wrapped
from headwall.cli.opened import Opened, minute, named, opened, parse_time
from headwall.ledger import cases, schema
from headwall.ledger.cases import Case
from headwall.rules.facts import SuspectedDischarge, from_body

Number = Annotated[int, typer.Argument(metavar="CASE", min=1, help="see headwall case list")]
By = Annotated[str, typer.Option("--by", help="name of who decides or did it")]
At = Annotated[str | None, typer.Option("--at", help="when it was done; default: now")]
Reason = Annotated[str, typer.Option("--reason", help="why; it stands in the log book")]
Note = Annotated[str, typer.Option("--note", help="what else is to be known")]
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
AsJson = Annotated[bool, typer.Option("--json", help="as JSON")]


def register(app: typer.Typer) -> None:
    case = typer.Typer(no_args_is_help=True, help="Suspected conditions, what persons decide of them, and the clocks.")
    commands: tuple[tuple[str, Callable[..., None]], ...] = (
        ("list", list_cases),
        ("show", show),
        ("open", open_case),
        ("review", review),
        ("confirm", confirm),
        ("dismiss", dismiss),
        ("serve", serve),
        ("correct", correct),
        ("appeal", appeal),
        ("hear", hear),
        ("decide", decide),
        ("abate", abate),
        ("cost", cost),
        ("protest", protest),
        ("close", close),
        ("note", note_),
    )
    for name, command in commands:
        case.command(name)(command)
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
            found = [
                each
                for each in cases.listed(conn)
                if (everything or each.state not in ENDED) and site in (None, each.site)
            ]
        if as_json:
            print(json.dumps([_data(at, each) for each in found], indent=2, ensure_ascii=False))
            return
        if not found:
            print("No case is open. What no sensor sees is not excluded by that.")
            return
        table = Table("ID", "Site", "Seen", "State", "Next clock")
        for each in found:
            table.add_row(str(each.id), each.site, minute(each.from_us, _zone(at, each)), _state(each), _next(at, each))
        Console(markup=False, highlight=False).print(table)


def show(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """What was seen, every step, and the clocks under both readings."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            case = cases.case(conn, number)
            fact = _fact(conn, case)
        if as_json:
            seen = None if fact is None else msgspec.to_builtins(fact)
            print(json.dumps({**_data(at, case), "seen": seen}, indent=2, ensure_ascii=False))
            return
        _print(at, case, fact)


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
        seen_us = now_us if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.begin() as conn:
            case = steps.open_by_person(
                conn, at.registry, site, kind=suspicion.KIND, by=who, seen_us=seen_us, note=reason, now_us=now_us
            )
        _told(at, case, as_json)


def review(
    number: Number,
    by: By,
    note: Note = "",
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """You look into it; nothing is decided by that."""
    _take("review", number, by, when, config, as_json, note=note)


def confirm(
    number: Number,
    by: By,
    reason: Reason,
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """You find that the condition is there."""
    _take("confirm", number, by, when, config, as_json, note=reason)


def dismiss(
    number: Number,
    by: By,
    reason: Reason,
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """You find that it is not there, or is none of the code's."""
    _take("dismiss", number, by, when, config, as_json, note=reason)


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


def correct(
    number: Number,
    by: By,
    note: Note = "",
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Correction is under way."""
    _take("correct", number, by, when, config, as_json, note=note)


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


def hear(
    number: Number,
    by: By,
    note: Note = "",
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The appeal was heard."""
    _take("hear", number, by, when, config, as_json, note=note)


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


def protest(
    number: Number,
    by: By,
    note: Note = "",
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The owner protested against the cost; --by is who took it in."""
    _take("protest", number, by, when, config, as_json, note=note)


def close(
    number: Number,
    by: By,
    reason: Reason,
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """You close it for good."""
    _take("close", number, by, when, config, as_json, note=reason)


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
    config: Any,
    as_json: bool,
    *,
    note: str = "",
    means: str = "",
    outcome: str = "",
    times: dict[str, tuple[str | None, str]] | None = None,
) -> None:
    with opened(config) as at:
        now_us, who = at.clock.now_us(), named(by)
        done_us = now_us if when is None else parse_time(when, at.zone, "--at")
        told = {
            name: parse_time(text, at.zone, option)
            for name, (text, option) in (times or {}).items()
            if text is not None
        }
        with at.ledger.begin() as conn:
            case = steps.take(
                conn,
                at.registry,
                number,
                action,
                by=who,
                done_us=done_us,
                now_us=now_us,
                note=note.strip(),
                means=means.strip(),
                outcome=outcome,
                times=told,
            )
        _told(at, case, as_json)


def _told(at: Opened, case: Case, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_data(at, case), indent=2, ensure_ascii=False))
        return
    last = case.steps[-1]
    print(f"Case {case.id} ({case.site}): {_state(case)}; {last.action.replace('_', ' ')} by {last.by}.")
    set_now = {(each.provision, each.name) for each in last.clocks}
    for each in _running(at, case):
        if (each.clock.provision, each.clock.name) in set_now:
            print(wrapped("  ", _clock_text(at, case, each)))


def _print(at: Opened, case: Case, fact: SuspectedDischarge | None) -> None:
    zone, code = _zone(at, case), steps.code_of(at.registry, case)
    print(f"Case {case.id}: {case.kind.replace('_', ' ')} at {case.site}, {code.profile.municipality}")
    print(wrapped("State      ", f"{STATES[case.state]}{', historical' if case.historical else ''}"))
    print(wrapped("Seen       ", f"{minute(case.from_us, zone)} to {minute(case.until_us, zone)}"))
    if fact is not None:
        told = f"{fact.likeness.replace('_', ' ')}, confidence {fact.confidence}, by {fact.datastream}: a proposal"
        print(wrapped("Looks like ", told))
        for name, value in sorted(fact.evidence.items()):
            print(wrapped("           ", f"{name.replace('_', ' ')} {value}"))
    if suspicion.is_taken_back(case):
        print(wrapped("Note       ", "readings or approvals that came later explain what was seen; a person decides"))
    if code.broken is not None:
        print(wrapped("Clause     ", f"{code.broken.citation} ({code.broken.confidence_text}): {code.broken.subject}"))
    for kind in ("notice_of_violation", "appeal"):
        clause = code.clause(kind)
        if clause is not None:
            print(wrapped("           ", f"{clause.citation} ({clause.confidence_text}): {clause.requirement}"))
    print("Steps")
    for step in case.steps:
        parts = [f"{minute(step.done_us, zone)} {step.action.replace('_', ' ')} by {step.by}"]
        parts += [step.outcome.replace("_", " ")] if step.outcome else []
        parts += [each for each in (step.means, step.note) if each]
        print(wrapped("  ", "; ".join(parts)))
    running = _running(at, case)
    print("Clocks" if running else "Clocks: none runs yet")
    for each in running:
        print(wrapped("  ", _clock_text(at, case, each)))
    print(wrapped("", f"{code.profile.disclaimer} A person decides."))


def _clock_text(at: Opened, case: Case, each: Running) -> str:
    zone, clock = _zone(at, case), each.clock
    strict, lenient = (
        "not known yet" if instant is None else minute(instant, zone) for instant in (clock.strict_us, clock.lenient_us)
    )
    told = f"{clock.name.replace('_', ' ')}: {minute(clock.taken_us or 0, zone)}"
    if strict != lenient:
        told += f" (strict {strict}, lenient {lenient}; the {each.takes} counts)"
    told += f"; {each.rule}; {each.citation} ({each.confidence})"
    if each.met_us is not None:
        late = each.met_us > (clock.taken_us or 0)
        told += f"; done {minute(each.met_us, zone)}, {'after' if late else 'in'} its time"
    return told


def _running(at: Opened, case: Case) -> list[Running]:
    return steps.code_of(at.registry, case).running(case)


def _next(at: Opened, case: Case) -> str:
    waiting = [each for each in _running(at, case) if each.met_us is None and case.state not in ENDED]
    now_us, zone = at.clock.now_us(), _zone(at, case)
    ahead = [each for each in waiting if (each.clock.taken_us or 0) >= now_us] or waiting[-1:]
    return f"{ahead[0].clock.name.replace('_', ' ')} {minute(ahead[0].clock.taken_us or 0, zone)}" if ahead else ""


def _state(case: Case) -> str:
    state = case.state.replace("_", " ")
    if case.state != "taken_back" and suspicion.is_taken_back(case):
        state += ", suspicion taken back"
    return state + (", historical" if case.historical else "")


def _data(at: Opened, case: Case) -> dict[str, Any]:
    clocks = [
        {**msgspec.to_builtins(each.clock), **{k: v for k, v in dataclasses.asdict(each).items() if k != "clock"}}
        for each in _running(at, case)
    ]
    body = {name: getattr(case, name) for name in _COLUMNS}
    said = [msgspec.to_builtins(each) for each in case.steps]
    return {**body, "suspicion_taken_back": suspicion.is_taken_back(case), "clocks": clocks, "steps": said}


_COLUMNS = ("id", "kind", "municipality", "site", "notice", "state", "historical", "from_us", "until_us", "at_us")


def _fact(conn: sa.Connection, case: Case) -> SuspectedDischarge | None:
    """What the notice says of it."""
    c = schema.notices.c
    body = conn.execute(sa.select(c.body).where(c.key == case.notice)).scalar() if case.notice else None
    found = None if body is None else from_body(body)
    return found if isinstance(found, SuspectedDischarge) else None


def _zone(at: Opened, case: Case) -> tzinfo:
    return at.registry.zone(case.municipality)
