"""`headwall approval`: what is allowed or suspended at a place, as named persons granted it."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from headwall.cli import approval_add
from headwall.cli.approval_text import ENDS, By, SiteOption, TownOption, as_data, log_body, said, span, waits
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, print_json, wrapped
from headwall.cli.lists import Limit, most, say_rest
from headwall.cli.opened import minute, named, opened, parse_time, place_of
from headwall.codes import code_of
from headwall.errors import UnknownThingError
from headwall.ledger import approvals, log_book
from headwall.ledger.unreadable import Unreadable
from headwall.rules.approvals import check_step

Number = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="see headwall approval list")]


def register(app: typer.Typer) -> None:
    approval = typer.Typer(no_args_is_help=True, help="What is allowed or suspended at a place, and by whom.")
    approval.command("add")(approval_add.add)
    approval.command("step")(step)
    approval.command("end")(end)
    approval.command("list")(list_approvals)
    approval.command("show")(show)
    app.add_typer(approval, name="approval")


def step(
    number: Number,
    name: Annotated[
        str,
        typer.Argument(
            metavar="STEP",
            help="what was done: " + ", ".join(dict.fromkeys(one for each in approvals.STEPS.values() for one in each)),
        ),
    ],
    by: By,
    done_by: Annotated[str | None, typer.Option("--done-by", help="who did it; default: who enters it")] = None,
    when: Annotated[str | None, typer.Option("--at", help="when it was done; default: now")] = None,
    means: Annotated[str, typer.Option("--means", help="as the code asks: in writing, by word of mouth")] = "",
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Say what followed: a notice, a filing, written reasons, a hearing, a cost, work seen under an order."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        did = who if done_by is None else named(done_by, "--done-by")
        at_us = now_us if when is None else parse_time(when, at.zone, "--at")
        followed = approvals.Followed(step=name.replace("-", "_"), at_us=at_us, by=did, means=means, note=note)
        with at.ledger.begin() as conn:
            found = approvals.newest(conn, number)
            if followed.step in approvals.STEPS.get(found.kind, {}):
                profile = code_of(conn, at.registry, found.municipality)
                check_step(profile, at.registry.zone(found.municipality), found, followed, now_us)
            made = approvals.add_step(conn, number, followed, by=who, now_us=now_us)
            log_book.append(conn, "approval_step", who, {**log_body(made), "step": followed.step}, now_us)
        if as_json:
            print_json(as_data(made))
            return
        what = approvals.STEPS[made.kind][followed.step]
        print(f"Approval {number}: {what}, {minute(at_us, at.zone)}, by {did}; {made.id} stands in its stead.")
        for line in waits(at, made):
            print(line)


def end(
    number: Number,
    reason: Annotated[str, typer.Option("--reason", help="why it ends, or why access is restored")],
    by: By,
    ended_by: Annotated[
        str | None, typer.Option("--ended-by", help="who decided that; default: the person who enters it")
    ] = None,
    when: Annotated[str | None, typer.Option("--at", help="since when; its very beginning: as if never given")] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """End an approval, reinstate access that was suspended or cut, lift a hold, release an order."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        decided = who if ended_by is None else named(ended_by, "--ended-by")
        at_us = now_us if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.begin() as conn:
            made = approvals.end_approval(
                conn,
                number,
                at_us=at_us,
                reason=named(reason, "--reason"),
                ended_by=decided,
                by=who,
                now_us=now_us,
            )
            kind = ENDS.get(made.kind, ("approval_ended", ""))[0]
            log_book.append(conn, kind, who, log_body(made), now_us)
        if as_json:
            print_json(as_data(made))
            return
        what = ENDS.get(made.kind, ("", "ended"))[1]
        print(f"Approval {number}: {what} as of {minute(at_us, at.zone)} by {decided}; {made.id} stands in its stead.")


def list_approvals(
    site: SiteOption = None,
    municipality: TownOption = None,
    when: Annotated[str | None, typer.Option("--at", help="what holds then; default: all that is not replaced")] = None,
    everything: Annotated[bool, typer.Option("--all", help="all there are, replaced ones too")] = False,
    limit: Limit = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The register: of a site (with what holds for its whole municipality), of a municipality, or all.

    By the time from which each holds, the newest at the end.
    """
    last, unreadable = most(limit, everything=everything, as_json=as_json), list[Unreadable]()
    with opened(config) as at:
        town, place = (None, None) if site is None and municipality is None else place_of(at, site, municipality)
        at_us = None if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.read() as conn:
            rows = approvals.listed(conn, unreadable)
            replaced = approvals.replacements(conn)
        found = [
            each
            for each in rows
            if (everything or each.id not in replaced)
            and town in (None, each.municipality)
            and (place is None or each.site in (None, place))
            and (at_us is None or (each.from_us <= at_us and (each.to_us is None or at_us < each.to_us)))
        ]
        there_are, found = len(found), found if last is None else found[-last:]
        if as_json:
            print_json([as_data(each, replaced.get(each.id)) for each in found])
        elif not found and not unreadable:
            print("Nothing stands in the register for that.")
        else:
            for each in found:
                parts = [each.site or each.municipality, said(each), span(each, at)]
                parts += [f"granted by {each.body.granted_by}", each.body.reference]
                parts += [f"replaced by {replaced[each.id]}"] if each.id in replaced else []
                print(wrapped(f"{each.id:>5}  ", "; ".join(parts)))
        say_rest(len(found), there_are, "the newest", unreadable, as_json=as_json)


def show(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """All that is known of one."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            found, instead = approvals.approval(conn, number), approvals.replaced_by(conn, number)
        if found is None:
            raise UnknownThingError(f"there is no approval {number}; `headwall approval list` shows them")
        if as_json:
            print_json(as_data(found, instead))
            return
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_row("Approval", f"{number}" + ("" if instead is None else f", for which {instead} stands now"))
        table.add_row("Where", found.site or f"all of {found.municipality}")
        table.add_row("When", span(found, at))
        for name, value in msgspec.to_builtins(found.body).items():
            if value not in ("", None, False) and name != "followed":
                text = minute(value, at.zone) if name.endswith("_us") else "yes" if value is True else str(value)
                table.add_row(name.removesuffix("_us").replace("_", " ").capitalize(), text)
        for each in found.body.followed:
            told = "; ".join(filter(None, (f"{minute(each.at_us, at.zone)} by {each.by}", each.means, each.note)))
            table.add_row(each.step.replace("_", " ").capitalize(), told)
        for line in waits(at, found) if instead is None else ():
            table.add_row("Waits", line)
        table.add_row("Entered", f"{minute(found.at_us, at.zone)} by {found.by}")
        Console(markup=False, emoji=False, highlight=False).print(table)
