"""`headwall mail`: mails that nobody got, and trying them again once the cause is mended; what was seen of others."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, print_json
from headwall.cli.opened import minute, named, opened
from headwall.errors import InputError, UnknownThingError
from headwall.ledger import acknowledgements, log_book
from headwall.notify import outbox


def register(app: typer.Typer) -> None:
    mail = typer.Typer(no_args_is_help=True, help="Mails that failed, and what was seen of others.")
    mail.command("list")(list_mails)
    mail.command("retry")(retry)
    mail.command("seen")(seen)
    app.add_typer(mail, name="mail")


def list_mails(
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Failed mails: somebody was not told."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            found = outbox.failed(conn)
        if as_json:
            names = ("id", "recipient", "subject", "last_error", "at_us")
            print_json([{name: getattr(mail, name) for name in names} for mail in found])
            return
        table = Table("ID", "Written", "To", "Subject", "Why it failed")
        for mail in found:
            table.add_row(str(mail.id), minute(mail.at_us, at.zone), mail.recipient, mail.subject, mail.last_error)
        Console().print(table if found else "No mail has failed.")


def retry(
    by: Annotated[str, typer.Option("--by", help="name of the person who has mended the cause")],
    number: Annotated[int | None, typer.Argument(metavar="[ID]", min=1, max=2**63 - 1, help="number of it")] = None,
    everything: Annotated[bool, typer.Option("--all", help="all that failed")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Have failed mails composed and sent anew, to the address that the registry has now.

    The service does it within five minutes.
    """
    if (number is None) != everything:
        raise InputError("say which to try again: a number or --all")
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        with at.ledger.begin() as conn:
            chosen = [mail for mail in outbox.failed(conn) if everything or mail.id == number]
            if number is not None and not chosen:
                raise UnknownThingError(f"no failed mail {number}; see `headwall mail list`")
            for mail in chosen:
                outbox.compose_anew(conn, mail.id)
                body = {"message_id": mail.message_id, "recipient": mail.recipient, "why": mail.last_error or ""}
                log_book.append(conn, "mail_retried", who, body, now_us)
    if as_json:
        print_json([{"id": mail.id, "recipient": mail.recipient, "subject": mail.subject} for mail in chosen])
        return
    print(f"{len(chosen)} to be sent anew by the service, within five minutes.")


def seen(
    matter: Annotated[str, typer.Argument(metavar="duty/N|case/N", help="what the mail was about")],
    by: Annotated[str, typer.Option("--by", help="name of the person who has seen it")],
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Say by name that a duty or a case was seen, as with the link of a mail: the next person is not told.

    It closes nothing and decides nothing.
    """
    with opened(config) as at:
        who = named(by)
        with at.ledger.begin() as conn:
            new = acknowledgements.add(conn, matter, by=who, now_us=at.clock.now_us())
            found = acknowledgements.of(conn, [matter])[matter]
        if as_json:
            print_json({"matter": matter, "seen": [{"by": each.by, "at_us": each.at_us} for each in found]})
            return
        print(f"{matter}: {'noted' if new else 'was noted before'}, seen by {', '.join(each.by for each in found)}.")
