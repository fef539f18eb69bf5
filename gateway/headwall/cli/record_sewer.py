"""`headwall record sewer-job|sewer-step|sewer-test|variance`: new sanitary sewers, from notice to acceptance."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Final

import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note
from headwall.cli.entering import By, Replaces, SiteArgument, When, clause_at, enter, past
from headwall.cli.opened import Opened, named, opened, parse_time
from headwall.errors import InputError
from headwall.hydrology.sewer_leakage import LeakageTest, Pipe
from headwall.law.provisions import SewerTest as SewerTestClause
from headwall.ledger import entries
from headwall.registry.model import Site
from headwall.rules.clauses import Look
from headwall.rules.clauses.sewers import allowed
from headwall.units import decimal_text, parse_quantity

_PIPE: Final = re.compile(r"(\d{1,9}(?:\.\d{1,12})?) ?x ?(\d{1,9}(?:\.\d{1,12})?)")
Sewer = Annotated[str, typer.Argument(metavar="SEWER", help="which sewer, in words; the same in each entry about it")]


def register(record: typer.Typer) -> None:
    """Adds them to the commands of entries."""
    record.command("sewer-job")(sewer_job)
    record.command("sewer-step")(sewer_step)
    record.command("sewer-test")(sewer_test)
    record.command("variance")(variance)


def sewer_job(
    site: SiteArgument,
    sewer: Sewer,
    starts: Annotated[str, typer.Option("--starts", help="when the job is to start")],
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The job of a new sanitary sewer is planned; of several entries of a sewer the last counts."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        clause_at(at, place, "sewer_start", done_us)
        starts_us = parse_time(starts, at.zone, "--starts")
        body = entries.checked(entries.SewerJob, sewer=sewer.strip(), starts_us=starts_us, note=note)
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)


def sewer_step(
    site: SiteArgument,
    sewer: Sewer,
    step: Annotated[str, typer.Argument(metavar="STEP", help="notice or cut-sheets")],
    to: Annotated[str, typer.Option("--to", help="who got it")],
    by: By,
    means: Annotated[str, typer.Option("--means", help="by email, by telephone, …")] = "",
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Notice of a sewer job was given, or its cut-sheets came."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        clause_at(at, place, "sewer_start", done_us)
        fields = {"sewer": sewer.strip(), "step": step.replace("-", "_"), "to": named(to, "--to"), "means": means}
        enter(
            at,
            entries.checked(entries.SewerStep, **fields, note=note),
            place.id,
            done_us,
            by,
            replaces,
            as_json=as_json,
        )


def sewer_test(
    sewer: Sewer,
    method: Annotated[str, typer.Option("--method", help="infiltration or exfiltration")],
    pipes: Annotated[list[str], typer.Option("--pipe", help='inner diameter in x length ft: "8x1320"; for each run')],
    hours: Annotated[str, typer.Option("--hours", help="how long the test lasted")],
    leaked: Annotated[str, typer.Option("--leaked", help='what came in or went out: "52.5 gal"')],
    certified_by: Annotated[str, typer.Option("--certified-by", help="the licensed engineer")],
    by: By,
    site: Annotated[str | None, typer.Option("--site", help="of whose sewer job; default: a record by itself")] = None,
    allowance: Annotated[
        str | None,
        typer.Option("--allowance", help="gallons per inch, mile and day; default: the code's or a variance's"),
    ] = None,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """The leakage test of a new sewer: what the code allows, what leaked, and the record of both."""
    with opened(config) as at:
        name, done_us = named(sewer, "SEWER"), past(at, when, "--at")
        place = None if site is None else at.registry.require_site(site)
        runs = [_pipe(text) for text in pipes]
        gallons = parse_quantity(leaked, "m3") / parse_quantity("1 gal", "m3")
        may = _allowance(at, place, name, done_us, allowance)
        test = LeakageTest(
            pipes=[Pipe(Decimal(run["diameter_in"]), Decimal(run["length_ft"])) for run in runs],
            hours=_number(hours, "--hours"),
            leaked_gal=gallons,
            allowance=may,
        )
        body = entries.checked(
            entries.SewerTest,
            method=method,
            pipes=runs,
            hours=hours.strip(),
            leaked_gal=decimal_text(gallons),
            allowance=str(may),
            allowed_gal=decimal_text(test.allowed_gal),
            passed=test.passed,
            certified_by=named(certified_by, "--certified-by"),
            sewer="" if place is None else name,
            note=note,
        )
        enter(at, body, name if place is None else place.id, done_us, by, replaces, as_json=as_json)


def variance(
    site: SiteArgument,
    sewer: Sewer,
    under: Annotated[str, typer.Option("--under", help="the clause whose number it is, see headwall law list")],
    value: Annotated[str, typer.Option("--value", help="the number in the stead of the code's, in its unit")],
    decided_by: Annotated[str, typer.Option("--decided-by", help="by the body that the code lets vary it")],
    reference: Annotated[str, typer.Option("--reference", help="minutes, resolution or file number")],
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A number of the code was varied for one sewer: its start and its test are judged by that."""
    with opened(config) as at:
        place, done_us = at.registry.require_site(site), past(at, when, "--at")
        allows = clause_at(at, place, "variance", done_us)
        known = [each.id for each in at.code_of(place.municipality).provisions if each.article == allows.article]
        if under not in known:
            raise InputError(
                f"--under {under!r} is nothing that {allows.citation} lets vary; it has {', '.join(known)}"
            )
        fields = {"provision": under, "sewer": sewer.strip(), "value": str(_number(value, "--value"))}
        fields |= {"decided_by": named(decided_by, "--decided-by"), "reference": named(reference, "--reference")}
        enter(
            at, entries.checked(entries.Variance, **fields, note=note), place.id, done_us, by, replaces, as_json=as_json
        )


def _allowance(at: Opened, site: Site | None, sewer: str, done_us: int, text: str | None) -> Decimal:
    """As given, else that of the site's code or of a variance; InputError where the codes name none, or several."""
    if text is not None:
        return _number(text, "--allowance")
    if site is not None:
        clause = clause_at(at, site, "sewer_test", done_us)
        assert isinstance(clause, SewerTestClause)
        with at.ledger.read() as conn:
            look = Look(conn, at.registry, at.code_of(site.municipality), site, at.clock.now_us())
            return allowed(look, clause, sewer)
    clauses = [clause for profile in at.codes.values() for clause in profile.of(SewerTestClause)]
    found = {clause.gallons_per_inch_mile_day for clause in clauses}
    if len(found) != 1:
        raise InputError(
            f"--allowance is needed: the codes of the registry name {len(found) or 'no'} amounts; write the gallons "
            "per inch of diameter, mile and day that hold for this sewer"
        )
    return Decimal(found.pop())


def _number(text: str, option: str) -> Decimal:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,12})?", text.strip()):
        raise InputError(f"{option} {text!r} is no number; write it in digits, such as 24 or 0.5")
    return Decimal(text.strip())


def _pipe(text: str) -> dict[str, str]:
    match = _PIPE.fullmatch(text.strip())
    if match is None:
        raise InputError(f'--pipe {text!r} is no pipe; write inner diameter in inches x length in feet: "8x1320"')
    return {"diameter_in": match[1], "length_ft": match[2]}
