"""`headwall duty`: what is due, and how a named person closes it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Decider, print_json
from headwall.cli.lists import Limit, most, say_rest
from headwall.cli.opened import Opened, minute, named, opened, parse_time
from headwall.errors import InputError
from headwall.law import localtime
from headwall.ledger.unreadable import Unreadable
from headwall.rules import duties
from headwall.rules.facts import ClauseDuty, StormDuty, to_body

Number = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="number of the duty")]
_STATES = {
    "not_needed": "closed as not needed",
    "received": "report received",
    "open": "open",
    "merged": "merged",
    "gone": "asked no longer",
}


def register(app: typer.Typer) -> None:
    duty = typer.Typer(no_args_is_help=True, help="What is due, and closing it.")
    duty.command("list")(list_duties)
    duty.command("show")(show)
    duty.command("received")(received)
    duty.command("not-needed")(not_needed)
    app.add_typer(duty, name="duty")


def list_duties(
    config: ConfigOption = DEFAULT_CONFIG,
    everything: Annotated[bool, typer.Option("--all", help="all there are, closed and merged ones too")] = False,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Duties by due time, the soonest first."""
    first, unreadable = most(limit, everything=everything, as_json=as_json), list[Unreadable]()
    with opened(config) as at:
        with at.ledger.read() as conn:
            found = duties.listed(conn, everything=everything, first=first, unreadable=unreadable)
            there_are = duties.count(conn, everything=everything)
        if as_json:
            print_json([_as_json(duty) for duty in found])
        elif found or not unreadable:
            Console(markup=False, emoji=False).print(_table(found, at))
        say_rest(len(found), there_are, "soonest due first", unreadable, as_json=as_json)


def show(
    number: Number,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A duty with all that is known of it: what a mail would say now, and what was known when."""
    from headwall.cli import duty_text  # with the libraries of mails, for which the other commands have no use

    with opened(config) as at:
        with at.ledger.read() as conn:
            duty, versions = duties.get(conn, number), duties.versions(conn, number)
        if as_json:
            found = {**_as_json(duty), "versions": [to_body(v) for v in versions]}
            if isinstance(duty.body, StormDuty):
                found["doubts"] = duty_text.doubts(at, duty.body)
            print_json(found)
        else:
            print(duty_text.shown(at, duty, versions, _state(duty)), end="")


def received(
    number: Number,
    by: Decider,
    at_time: Annotated[str | None, typer.Option("--at", help="when the report came; default: now")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Close a duty: its report was received."""
    with opened(config) as at:
        now_us = at.clock.now_us()
        when_us = now_us if at_time is None else parse_time(at_time, at.zone, "--at")
        if when_us > now_us:
            raise InputError(f"--at {at_time!r} is in the future; a report cannot have been received yet")
        _close(at, number, "received", by, when_us, None, as_json)


def not_needed(
    number: Number,
    by: Decider,
    reason: Annotated[str, typer.Option("--reason", help="why this person decided so")],
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Close a duty by a named person's decision, with the reason."""
    if not reason.strip():
        raise InputError("--reason must say why; it stands in the log book")
    with opened(config) as at:
        _close(at, number, "not_needed", by, at.clock.now_us(), reason.strip(), as_json)


def _close(at: Opened, number: int, state: str, by: str, when_us: int, reason: str | None, as_json: bool) -> None:
    now_us = at.clock.now_us()
    with at.ledger.begin() as conn:
        closed = duties.close_duty(conn, number, state, by=named(by), at_us=when_us, now_us=now_us, reason=reason)
    if as_json:
        print_json(_as_json(closed))
        return
    print(f"Duty {closed.id} ({closed.body.site}): {_word(closed)}, by {closed.closed_by}, {_when(when_us, at)}.")


def _when(instant_us: int, at: Opened) -> str:
    return localtime.short(instant_us, at.zone)


def _table(found: list[duties.AnyDuty], at: Opened) -> Table | str:
    if not found:
        return "No duty is open. Gauges that are silent are not dry: see `headwall node list`."
    table = Table("ID", "Due", "Site", "What", "State")  # the rest is in `duty show`: this has to fit 80 columns
    for duty in found:
        body = duty.body
        due = "no date" if body.due_us is None else minute(body.due_us, at.registry.zone(body.municipality))
        table.add_row(str(duty.id), due, body.site, body.asked, _state(duty))
    return table


def _word(duty: duties.AnyDuty) -> str:
    of_clause = duty.state == "received" and isinstance(duty.body, ClauseDuty)
    return "done" if of_clause else _STATES[duty.state]


def _state(duty: duties.AnyDuty) -> str:
    text = _word(duty)
    if duty.merged_into is not None:
        text += f" into {duty.merged_into}"
    elif duty.closed_by is not None:
        text += f", by {duty.closed_by}" + (f": {duty.closed_reason}" if duty.closed_reason else "")
    elif duty.state == "gone":
        text += f": {duty.body.trigger_gone}"
    elif duty.body.trigger_gone:
        text += ", trigger no longer stands"
    return text + (", historical" if duty.historical else "")


def _as_json(duty: duties.AnyDuty) -> dict[str, Any]:
    return {
        "id": duty.id,
        "state": duty.state,
        "historical": duty.historical,
        "merged_into": duty.merged_into,
        "closed_by": duty.closed_by,
        "closed_reason": duty.closed_reason,
        "closed_us": duty.closed_us,
        **to_body(duty.body),
    }
