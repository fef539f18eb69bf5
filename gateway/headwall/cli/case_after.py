"""`headwall case notify|request|answer|warrant|enter|settle|instalments|pay|lien`: correction, entry and costs."""

from __future__ import annotations

from typing import Annotated

import typer

from headwall.cases.states import MOVES
from headwall.cli.case_step import At, By, Number, plain, take
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, Reason


def register(case: typer.Typer) -> None:
    """Adds them to the commands of cases."""
    case.command("notify")(notify)
    plain(case, "request", "The owner was asked for permission to enter and correct.")
    _outcome(case, "answer", "The owner's answer to that request.")
    _outcome(case, "warrant", "A warrant or an order of a court was asked for, issued or denied.")
    plain(case, "enter", "The municipality entered; the reason says under which permission or warrant.")
    case.command("settle")(settle)
    case.command("instalments")(instalments)
    _outcome(case, "pay", "The owner paid; Headwall keeps the date and no account.")
    plain(case, "lien", "What is unpaid became a lien; --by is who decided that.")


def _outcome(group: typer.Typer, action: str, about: str) -> None:
    """The command of a step that has an outcome and nothing else."""

    def command(
        number: Number,
        outcome: Annotated[str, typer.Argument(metavar="OUTCOME", help="one of those above")],
        by: By,
        note: Note = "",
        when: At = None,
        config: ConfigOption = DEFAULT_CONFIG,
        as_json: AsJson = False,
    ) -> None:
        take(action, number, by, when, config, as_json, note=note, outcome=outcome)

    group.command(action, help=f"{about} OUTCOME: {', '.join(MOVES[action].outcomes)}.")(command)


def notify(
    number: Number,
    by: By,
    means: Annotated[str, typer.Option("--means", help="how the person was told")],
    when: At = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A person was told that what he does contaminates stormwater: from then on he corrects it."""
    take("notify", number, by, when, config, as_json, note=note, means=means)


def settle(
    number: Number,
    by: By,
    reason: Reason,
    pay_by: Annotated[
        str | None, typer.Option("--pay-by", help="until when it is to be paid then; a day: to its end")
    ] = None,
    when: At = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The protest against the cost was decided; --by is who decided."""
    take("settle", number, by, when, config, as_json, note=reason, times={"pay_by": (pay_by, "--pay-by")})


def instalments(
    number: Number,
    payments: Annotated[int, typer.Argument(metavar="PAYMENTS", min=1, help="how many equal ones")],
    first: Annotated[str, typer.Option("--first", help="day of the first")],
    by: By,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The cost is paid in parts: the days of the payments."""
    times: dict[str, tuple[str | None, str]] = {"first_payment": (first, "--first")}
    take("instalments", number, by, None, config, as_json, note=note, details={"payments": str(payments)}, times=times)
