"""`headwall case call|know|classify|confirm-written|site-record|strike`: a spill, and calls of every case."""

from __future__ import annotations

from typing import Annotated

import typer

from headwall.cases.advice import PREMISES
from headwall.cases.states import MEANS
from headwall.cli.case_step import At, By, Number, plain, take
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, Reason
from headwall.errors import InputError


def register(case: typer.Typer) -> None:
    """Adds them to the commands of cases."""
    case.command("call")(call)
    plain(case, "know", "Spill: it was known at --at, before anything else here says so.")
    case.command("classify")(classify)
    plain(case, "confirm_written", "Spill: what was told by mouth was confirmed in writing, and mailed.")
    plain(case, "site_record", "Spill: the record that stays at the place was written.")
    case.command("strike")(strike)


def call(
    number: Number,
    to: Annotated[
        str, typer.Option("--to", help="who was called; of a spill dispatch, hotline, or whom the code names")
    ],
    by: Annotated[str, typer.Option("--by", help="name of who called")],
    means: Annotated[str, typer.Option("--means", help=", ".join(MEANS))] = "telephone",
    reached: Annotated[str, typer.Option("--reached", help="who answered")] = "",
    phone: Annotated[str, typer.Option("--number", help="number that was called, or number that was given")] = "",
    when: At = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Log a call or a notice that a person made. Headwall calls nobody."""
    details: dict[str, str | None] = {"to": to, "reached": reached, "number": phone}
    take("call", number, by, when, config, as_json, note=note, means=means.replace("-", "_"), details=details)


def classify(
    number: Number,
    outcome: Annotated[str, typer.Argument(metavar="KIND", help="hazardous or nonhazardous; if in doubt: hazardous")],
    by: By,
    reason: Reason,
    premises: Annotated[str, typer.Option("--premises", help=", ".join(PREMISES))] = "",
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Spill: you say whether it is hazardous. Until somebody does, both ways are timed."""
    if premises and premises not in PREMISES:
        raise InputError(f"--premises {premises!r} is none of {', '.join(PREMISES)}")
    take("classify", number, by, when, config, as_json, note=reason, outcome=outcome, details={"premises": premises})


def strike(
    number: Number,
    step: Annotated[str, typer.Argument(metavar="STEP", help="number of a step that led to no state")],
    by: By,
    reason: Reason,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A call or another such step was entered wrongly: it counts no more, and stays on record."""
    take("strike", number, by, None, config, as_json, note=reason, details={"step": step})
