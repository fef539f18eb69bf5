"""`headwall record escrow|cost-statement|cost-payment`: money of projects, for its clocks; nothing is accounted."""

from __future__ import annotations

from typing import Annotated

import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note
from headwall.cli.entering import By, Replaces, SiteArgument, When, clause_at, enter, past
from headwall.cli.opened import named, opened
from headwall.errors import InputError
from headwall.ledger import entries

Reference = Annotated[str, typer.Option("--reference", help="by which it is found")]
Amount = Annotated[str, typer.Option("--amount", help='dollars: "1200" or "1200.50"')]


def register(record: typer.Typer) -> None:
    """Adds them to the commands of entries."""
    record.command("escrow")(escrow)
    record.command("cost-statement")(cost_statement)
    record.command("cost-payment")(cost_payment)


def escrow(
    site: SiteArgument,
    move: Annotated[str, typer.Argument(metavar="MOVE", help="deposit, withdrawal, or refund of what is left")],
    dollars: Annotated[str, typer.Argument(metavar="DOLLARS", help='"1200" or "1200.50"')],
    reference: Reference,
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Money went into a project's review escrow or out of it; the first deposit stands in the registry."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        clause_at(at, place, "escrow", done_us)
        project = at.registry.project_at(place.id, done_us)
        if project is None or project.entry.escrow is None:
            raise InputError(
                f"{site} has no project with an `escrow` in the registry then; write its first deposit there"
            )
        fields = {"move": move, "amount": dollars, "reference": named(reference, "--reference")}
        enter(
            at, entries.checked(entries.Escrow, **fields, note=note), place.id, done_us, by, replaces, as_json=as_json
        )


def cost_statement(
    site: SiteArgument,
    amount: Amount,
    lots: Annotated[list[str], typer.Option("--lot", help="that bears an equal share; for each lot")],
    reference: Reference,
    by: By,
    means: Annotated[str, typer.Option("--means", help="in the code's words")] = "",
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Statements of what the municipality's maintenance cost were issued to the lots."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        clause = clause_at(at, place, "unpaid_costs", done_us)
        if clause.means and means not in clause.means:
            raise InputError(f"{clause.citation} asks for it {' or '.join(clause.means)}; say so in --means")
        fields = {"amount": amount, "lots": [each.strip() for each in lots], "means": means}
        body = entries.checked(entries.CostStatement, **fields, reference=reference.strip(), note=note)
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)


def cost_payment(
    site: SiteArgument,
    statement: Annotated[str, typer.Option("--statement", help="reference of the statement")],
    lot: Annotated[str, typer.Option("--lot", help="which has paid")],
    amount: Amount,
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A lot has paid its share or a part of it."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        with at.ledger.read() as conn:
            found = entries.standing(conn, entries.CostStatement, place.id)
        lots = {each.body.reference: each.body.lots for each in found}
        if lot not in lots.get(statement, ()):
            known = "; ".join(f"{reference}: {', '.join(own)}" for reference, own in lots.items()) or "none"
            raise InputError(f"{site} has no statement {statement!r} with a lot {lot!r}; it has {known}")
        body = entries.checked(entries.CostPayment, statement=statement, lot=lot, amount=amount, note=note)
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)
