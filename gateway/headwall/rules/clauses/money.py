"""Money of projects: the review escrow that is restored, and shares of costs that become a lien. Exact, in cents."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Final

from headwall.law.deadlines import Start
from headwall.law.provision import Provision
from headwall.law.provisions import Escrow as EscrowClause
from headwall.ledger.entries import CostPayment, CostStatement, Entry, Escrow
from headwall.registry.project import SiteProject
from headwall.rules.clauses.construction import who
from headwall.rules.clauses.expected import Expected, recorded
from headwall.rules.clauses.look import FOREVER_US, Look
from headwall.rules.clauses.milestones import command, steps
from headwall.units import share_of

_CENT: Final = Decimal("0.01")


def escrow(look: Look, provision: Provision) -> Iterator[Expected]:
    """Each time that the balance falls to the code's share of the first deposit, until it is whole again."""
    assert isinstance(provision, EscrowClause)
    for project in look.projects:
        look.wake(project.span.start_us)
        if project.entry.escrow is not None and project.span.start_us <= look.now_us:
            yield from _fallen(look, provision, project, Decimal(project.entry.escrow))


def _fallen(look: Look, provision: EscrowClause, project: SiteProject, first: Decimal) -> Iterator[Expected]:
    least, times = Fraction(first) * share_of(provision.share), 0
    fell: tuple[Entry[Escrow], Decimal] | None = None
    balances = moves(look, project, first)
    for entry, balance in balances:
        if entry.body.move == "refund":  # the end of the escrow: nothing is asked any more
            if fell is not None:
                yield _restore(look, provision, project, first, times + 1, fell, (entry, balance))
            return
        at_all = look.choice("escrow.trigger", entry.done_us) == "at_or_below"
        if fell is None and (balance < least or (at_all and balance == least)):
            fell = entry, balance
        elif fell is not None and balance >= first:
            times += 1
            yield _restore(look, provision, project, first, times, fell, (entry, balance))
            fell = None
    if fell is not None:
        yield _restore(look, provision, project, first, times + 1, fell, (None, balances[-1][1]))


def _restore(
    look: Look,
    provision: Provision,
    project: SiteProject,
    first: Decimal,
    times: int,
    fell: tuple[Entry[Escrow], Decimal],
    ends: tuple[Entry[Escrow] | None, Decimal],
) -> Expected:
    since_us, last = fell[0].done_us, ends[0]
    until_us = FOREVER_US if last is None else last.done_us
    told = next((each for each in steps(look, "escrow_told") if since_us <= each.done_us <= until_us), None)
    starts: dict[Start, int] = {} if told is None else {"notification": told.done_us}
    asks = f"Restore the review escrow to ${first:,}"
    return Expected(
        provision,
        name="restore",
        occurrence=f"project of {look.day(project.span.start_us)}, time {times}",
        starts=starts,
        asks=asks if told else f"Tell the applicant in writing: {asks[0].lower()}{asks[1:]}",
        owed_by=who(look, since_us, "applicant", "developer") if told else provision.owed_to,
        evidence={"balance": f"${fell[1]:,} on {look.day(since_us)}", "balance now": f"${ends[1]:,}"},
        answer=(
            f"headwall record escrow {look.site.id} deposit DOLLARS --reference TEXT --by NAME"
            if told
            else command(look, "escrow_told")
        ),
        done=recorded(last),
    )


def moves(look: Look, project: SiteProject, first: Decimal) -> list[tuple[Entry[Escrow], Decimal]]:
    """What went in or out within a project's time, with the balance after it."""
    balance, found = first, []
    until_us = project.span.end_us or FOREVER_US
    for entry in sorted(look.entries(Escrow), key=lambda each: (each.done_us, each.digest)):
        if project.span.start_us <= entry.done_us < until_us:
            amount = Decimal(entry.body.amount)
            balance += amount if entry.body.move == "deposit" else -amount
            found.append((entry, balance))
    return found


def unpaid_costs(look: Look, provision: Provision) -> Iterator[Expected]:
    """Each lot's share of the costs that were billed, and when what is unpaid becomes a lien."""
    paid = look.entries(CostPayment)
    for statement in look.latest(CostStatement, lambda body: body.reference):
        for lot, share in shares(statement.body).items():
            own = [each for each in paid if (each.body.statement, each.body.lot) == (statement.body.reference, lot)]
            yield _share(look, provision, statement, lot, share, own)


def _share(
    look: Look,
    provision: Provision,
    statement: Entry[CostStatement],
    lot: str,
    share: Decimal,
    paid: list[Entry[CostPayment]],
) -> Expected:
    sums, done = Decimal(0), None
    for each in sorted(paid, key=lambda entry: (entry.done_us, entry.digest)):
        sums += Decimal(each.body.amount)
        if done is None and sums >= share:
            done = recorded(each)
    body = statement.body
    return Expected(
        provision,
        name="lien",
        occurrence=f"{lot}, {body.reference}",
        starts={"statement": statement.done_us},
        asks=f"${share} of {lot}: what is unpaid then becomes a lien",
        owed_by=lot,
        evidence={"share": f"${share} of ${body.amount}, {len(body.lots)} lots equally", "paid": f"${sums}"},
        answer=f"headwall record cost-payment {look.site.id} --statement TEXT --lot TEXT --amount DOLLARS --by NAME",
        done=done,
    )


def shares(body: CostStatement) -> dict[str, Decimal]:
    """Equal to the cent; the cents that are left over go to the first lots."""
    total, count = Decimal(body.amount), len(body.lots)
    each = (total / count).quantize(_CENT, ROUND_DOWN)
    left = int((total - each * count) / _CENT)
    return {lot: each + (_CENT if n < left else 0) for n, lot in enumerate(body.lots)}
