"""How the commands of a case's steps are made: what they share, and what they say when a step was taken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Final

import typer

from headwall.cases import steps
from headwall.cases.kinds import SPILL
from headwall.cases.states import MOVES
from headwall.cli import case_text
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, Reason, print_json, wrapped
from headwall.cli.opened import Opened, named, opened, parse_time
from headwall.law import localtime
from headwall.ledger import cases
from headwall.ledger.cases import Case

Number = Annotated[int, typer.Argument(metavar="CASE", min=1, help="see headwall case list")]
By = Annotated[str, typer.Option("--by", help="name of who decides or did it")]
At = Annotated[str | None, typer.Option("--at", help="when it was done; default: now")]
#: steps after which it is said what is to be known before the next
_ADVISED: Final = frozenset({"request", "answer", "warrant", "enter", "lien"})
#: a day without a time is over with its end
_LAST_DAYS: Final = frozenset({"correct_by", "pay_by"})


def plain(group: typer.Typer, action: str, about: str) -> None:
    """The command of a step of which nothing is told but who took it, when, and a note: its reason, if it needs one."""

    def noted(
        number: Number,
        by: By,
        note: Note = "",
        when: At = None,
        config: ConfigOption = DEFAULT_CONFIG,
        as_json: AsJson = False,
    ) -> None:
        take(action, number, by, when, config, as_json, note=note)

    def reasoned(
        number: Number,
        by: By,
        reason: Reason,
        when: At = None,
        config: ConfigOption = DEFAULT_CONFIG,
        as_json: AsJson = False,
    ) -> None:
        noted(number, by, reason, when, config, as_json)

    group.command(action.replace("_", "-"), help=about)(reasoned if MOVES[action].why else noted)


def take(
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
    details: Mapping[str, str | None] | None = None,
    times: dict[str, tuple[str | None, str]] | None = None,
) -> None:
    """Take a step as it was told on the command line.

    Args:
        times: further instants by name, as text, with the option that gave it.
    """
    with opened(config) as at:
        now_us, who = at.clock.now_us(), named(by)
        with at.ledger.read() as conn:
            zone = case_text.zone_of(at, cases.case(conn, number))
        done_us = now_us if when is None else parse_time(when, zone, "--at")
        given = {
            name: (last_instant if name in _LAST_DAYS else parse_time)(text, zone, option)
            for name, (text, option) in (times or {}).items()
            if text is not None
        }
        said = {name: text.strip() for name, text in (details or {}).items() if text is not None and text.strip()}
        what = steps.Told(who, done_us, note.strip(), means.strip(), outcome, said, given)
        with at.ledger.begin() as conn:
            case = steps.take(conn, at.registry, number, action, what, now_us=now_us)
        told(at, case, as_json)


def last_instant(text: str, where: tzinfo, option: str) -> int:
    """The instant by which something is to be done: of a day that is given without a time, its end."""
    instant_us = parse_time(text, where, option)
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return instant_us
    return localtime.midnight_us(day + timedelta(days=1), where)


def told(at: Opened, case: Case, as_json: bool) -> None:
    """What a step, or the opening of a case, has changed."""
    if as_json:
        print_json(case_text.data(at, case))
        return
    case_text.call_first([case])
    last = case.steps[-1]
    print(f"Case {case.id} ({case.site}): {case_text.state(case)}; {case_text.in_words(last.action)} by {last.by}.")
    set_now = {(each.provision, each.name) for each in last.clocks}
    for each in case_text.running(at, case):
        if (each.clock.provision, each.clock.name) in set_now:
            print(wrapped("  - ", case_text.clock_text(at, case, each)))
    for line in case_text.advice_of(at, case) if case.kind == SPILL or last.action in _ADVISED else ():
        print(wrapped("  * ", line))
