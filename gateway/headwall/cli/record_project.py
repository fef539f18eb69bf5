"""`headwall record training|certification|stage|step|monitoring-order|monitoring`: what a project owes."""

from __future__ import annotations

from typing import Annotated

import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note
from headwall.cli.entering import By, Replaces, SiteArgument, When, clause_at, enter, past
from headwall.cli.opened import named, opened, parse_time
from headwall.errors import InputError, UnknownThingError
from headwall.law.provisions import StageNotice
from headwall.ledger import entries
from headwall.rules.clauses.milestones import STEPS

Reference = Annotated[str, typer.Option("--reference", help="by which it is found: letter, plan, certificate, order")]
Means = Annotated[str, typer.Option("--means", help="by email, by hand, …")]


def register(record: typer.Typer) -> None:
    """Adds them to the commands of entries."""
    record.command("training")(training)
    record.command("certification")(certification)
    record.command("stage")(stage)
    record.command("step")(step)
    record.command("monitoring-order")(monitoring_order)
    record.command("monitoring")(monitoring)


def training(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="id of the registry")],
    reference: Reference,
    by: By,
    hours: Annotated[str, typer.Option("--hours", help="how many it had")] = "0",
    endorsed_by: Annotated[str, typer.Option("--endorsed-by", help="who endorsed the training")] = "",
    credential: Annotated[
        str, typer.Option("--credential", help="in its stead: license of a qualified inspector")
    ] = "",
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Somebody had training in erosion control, at --at; it counts at each site where he has a part."""
    with opened(config) as at:
        if at.registry.person(person) is None:
            raise UnknownThingError(f"no person {person!r} in the registry; write the id under `people`")
        if (hours == "0") == (not credential):
            raise InputError("say --hours of the training, or the --credential of who needs none; one of the two")
        fields = {"hours": hours, "endorsed_by": endorsed_by, "credential": credential.strip()}
        body = entries.checked(entries.Training, **fields, reference=named(reference, "--reference"), note=note)
        enter(at, body, person, past(at, when, "--at"), by, replaces, as_json=as_json)


def certification(
    site: SiteArgument,
    person: Annotated[str, typer.Option("--person", help="who signed: id of the registry, or the name")],
    title: Annotated[str, typer.Option("--title", help="as what")],
    firm: Annotated[str, typer.Option("--firm", help="with address and telephone")],
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A contractor has signed the certification of the SWPPP, dated --at."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        clause_at(at, place, "contractor_certification", done_us)
        fields = {"person": named(person, "--person"), "title": named(title, "--title"), "firm": named(firm, "--firm")}
        body = entries.checked(entries.Certification, **fields, note=note)
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)


def stage(
    site: SiteArgument,
    which: Annotated[str, typer.Option("--stage", help="in the words of the code")],
    told_to: Annotated[str, typer.Option("--told-to", help="who got the notice")],
    by: By,
    means: Means = "",
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Notice of a stage of work was given, at --at."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        clause = clause_at(at, place, "stage_notice", done_us)
        assert isinstance(clause, StageNotice)
        if which not in clause.stages:
            raise InputError(f"{clause.citation} has no stage {which!r}; it has {'; '.join(clause.stages)}")
        body = entries.checked(
            entries.StageTold, stage=which, told_to=named(told_to, "--told-to"), means=means, note=note
        )
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)


def step(
    site: SiteArgument,
    name: Annotated[str, typer.Argument(metavar="STEP", help="such as plan-received; a wrong one lists them all")],
    reference: Reference,
    by: By,
    certified_by: Annotated[str, typer.Option("--certified-by", help="who certified or decided it")] = "",
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A step of a project or of premises that the code looks for: a plan, an acceptance, an order, a hold."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        taken = name.replace("-", "_")
        kind = next((kind for kind, steps in STEPS.items() if taken in steps), None)
        if kind is None:
            known = "; ".join(
                f"{each.replace('_', '-')}, {says}" for own in STEPS.values() for each, says in own.items()
            )
            raise InputError(f"there is no step {name!r}; there is {known}")
        clause_at(at, place, kind, done_us)
        fields = {"step": taken, "reference": named(reference, "--reference"), "certified_by": certified_by.strip()}
        enter(
            at,
            entries.checked(entries.Milestone, **fields, note=note),
            place.id,
            done_us,
            by,
            replaces,
            as_json=as_json,
        )


def monitoring_order(
    site: SiteArgument,
    what: Annotated[str, typer.Option("--what", help="what is monitored and reported")],
    order: Annotated[str, typer.Option("--order", help="number or date of the order, the same in each report")],
    every_days: Annotated[int, typer.Option("--every-days", min=1, help="how often a report is due")],
    by: By,
    until: Annotated[str | None, typer.Option("--until", help="when it ends; default: open")] = None,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The officer orders monitoring and reports; the period is the order's, since the code has none."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        clause_at(at, place, "monitoring_reports", done_us)
        until_us = None if until is None else parse_time(until, at.zone, "--until")
        fields = {"what": what.strip(), "order": order.strip(), "every_days": every_days, "until_us": until_us}
        body = entries.checked(entries.MonitoringOrder, **fields, note=note)
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)


def monitoring(
    site: SiteArgument,
    order: Annotated[str, typer.Option("--order", help="of the order")],
    reference: Reference,
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A report of monitoring came, at --at."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        with at.ledger.read() as conn:
            known = {each.body.order for each in entries.standing(conn, entries.MonitoringOrder, place.id)}
        if order not in known:
            raise InputError(
                f"{site} has no order {order!r} of monitoring; it has {', '.join(sorted(known)) or 'none'}"
            )
        body = entries.checked(
            entries.MonitoringReport, order=order, reference=named(reference, "--reference"), note=note
        )
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)
