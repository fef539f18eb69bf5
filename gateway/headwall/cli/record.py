"""`headwall record`: what a person measured or did at a place, kept dated beside the readings."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headwall.cli import record_money, record_offence, record_premises, record_project, record_sewer, record_site
from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, print_json
from headwall.cli.entering import By, Replaces, SiteArgument, When, enter, past, site_of
from headwall.cli.entry_text import as_data, said
from headwall.cli.lists import Limit, most, say_rest
from headwall.cli.opened import Opened, minute, named, opened, parse_time
from headwall.errors import InputError
from headwall.hydrology.field_sample import UNITS, result
from headwall.hydrology.septic import scum_clearance_m, sludge_clearance_m
from headwall.law.provisions import DesignCertificate
from headwall.ledger import entries
from headwall.ledger.unreadable import Unreadable
from headwall.units import parse_quantity

#: deeper than any tank, basin or snow
_MOST_M = 100


def register(app: typer.Typer) -> None:
    record = typer.Typer(no_args_is_help=True, help="What a person measured or did at a place.")
    record.command("snow")(snow)
    record.command("pump-out")(pump_out)
    record.command("septic")(septic)
    record.command("septic-repair")(septic_repair)
    record.command("septic-certificate")(septic_certificate)
    record.command("sediment")(sediment)
    record.command("sediment-removed")(sediment_removed)
    record.command("sample")(sample)
    record_offence.register(record)
    record_site.register(record)
    record_premises.register(record)
    record_project.register(record)
    record_money.register(record)
    record_sewer.register(record)
    record.command("withdraw")(withdraw)
    record.command("list")(list_entries)
    app.add_typer(record, name="record")


# ---- the entries


def snow(
    gauge: Annotated[str, typer.Argument(metavar="DATASTREAM", help="the gauge, NODE/STREAM")],
    depth: Annotated[str, typer.Option("--depth", help='water, not snow: "0.42 in"')],
    start: Annotated[str, typer.Option("--from", help="since when it fell or melted")],
    end: Annotated[str, typer.Option("--to", help="until when; what it came to is judged as of then")],
    by: By,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Water of snow or melt, measured by hand at a gauge that cannot; it counts as rain does."""
    with opened(config) as at:
        at.registry.require_datastream(gauge)
        start_us, end_us = parse_time(start, at.zone, "--from"), past(at, end, "--to")
        if start_us >= end_us:
            raise InputError(f"--from {start!r} is not before --to {end!r}")
        stream = at.registry.datastream(gauge, end_us)
        if stream is None or stream.quantity != "tips":
            raise InputError(f"{gauge} was no rain gauge in force at --to {end!r}; see the registry")
        fields = {"depth": _measure(depth, "m", "--depth", above=0), "start_us": start_us, "end_us": end_us}
        enter(at, entries.checked(entries.SnowWater, **fields, note=note), gauge, end_us, by, replaces, as_json=as_json)


def pump_out(
    site: SiteArgument,
    by: By,
    when: When = None,
    hauler: Annotated[str, typer.Option("--hauler", help="who took it away")] = "",
    volume: Annotated[str | None, typer.Option("--volume", help='"1000 gal"')] = None,
    found: Annotated[str, typer.Option("--found", help="cracks, leaks, blockages, as the hauler saw it empty")] = "",
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A septic tank was emptied: the forecast of its next pump-out begins anew."""
    with opened(config) as at:
        place = site_of(at, site, "septic")
        pumped = None if volume is None else _measure(volume, "m3", "--volume", above=0)
        body = entries.checked(entries.PumpOut, hauler=hauler, volume=pumped, found=found, note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)


def septic(
    site: SiteArgument,
    by: By,
    when: When = None,
    scum_clearance: Annotated[
        str | None, typer.Option(help='bottom of the scum above the end of the outlet baffle: "3 in"; "-1 in" below it')
    ] = None,
    scum_bottom: Annotated[str | None, typer.Option(help="or: bottom of the scum below the outlet invert")] = None,
    no_scum: Annotated[bool, typer.Option("--no-scum", help="or: there is none")] = False,
    sludge: Annotated[str | None, typer.Option(help='how thick it is: "12 in"')] = None,
    liquid: Annotated[str | None, typer.Option(help='above the outlet invert: "0.5 in"; "-2 in" below it')] = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """What a stick found in a septic tank: any of scum, sludge and liquid."""
    with opened(config) as at:
        place, done_us = site_of(at, site, "septic"), past(at, when, "--at")
        lengths = (
            ("scum_clearance", scum_clearance, None),
            ("scum_bottom", scum_bottom, None),
            ("sludge", sludge, 0),
            ("liquid", liquid, None),
        )
        fields = {
            name: _measure(text, "m", f"--{name.replace('_', '-')}", least=least)
            for name, text, least in lengths
            if text is not None
        }
        body = entries.checked(entries.SepticMeasurement, **fields, no_scum=no_scum, note=note)
        tank = next((span.entry for span in at.registry.measures(place.id).tanks if span.holds(done_us)), None)
        for measured, fits in ((body.scum_bottom, scum_clearance_m), (body.sludge, sludge_clearance_m)):
            if tank is not None and measured is not None:
                fits(tank.depths, float(parse_quantity(measured, "m")))  # says so if it does not fit
        enter(at, body, place.id, done_us, by, replaces, as_json=as_json)


def septic_repair(
    site: SiteArgument,
    work: Annotated[str, typer.Argument(metavar="WORK", help="repair or replacement")],
    by: By,
    when: Annotated[str | None, typer.Option("--at", help="when it was completed; default: now")] = None,
    designer: Annotated[str, typer.Option("--designer", help="the design professional")] = "",
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A septic system was repaired or replaced: the code may ask for certificates at completion."""
    with opened(config) as at:
        place = site_of(at, site, "septic")
        body = entries.checked(entries.SepticRepair, work=work, designer=designer, note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)


def septic_certificate(
    site: SiteArgument,
    certificate: Annotated[str, typer.Argument(metavar="CERTIFICATE", help="its name in the code's clause")],
    issued_by: Annotated[str, typer.Option("--issued-by", help="who signed it")],
    reference: Annotated[str, typer.Option("--reference", help="by which it is found: number, file")],
    by: By,
    when: Annotated[str | None, typer.Option("--at", help="when it came in; default: now")] = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A certificate for a repaired or replaced septic system came in."""
    with opened(config) as at:
        place, done_us = site_of(at, site, "septic"), past(at, when, "--at")
        profile = at.code_of(place.municipality)
        known = {each.name for clause in profile.of(DesignCertificate) for each in clause.certificates}
        if certificate not in known:
            told = ", ".join(sorted(known)) or "none"
            raise InputError(f"{profile.municipality} knows no certificate {certificate!r}; it knows {told}")
        fields = {"certificate": certificate, "issued_by": named(issued_by, "--issued-by")}
        fields |= {"reference": named(reference, "--reference"), "note": note}
        enter(
            at, entries.checked(entries.SepticCertificate, **fields), place.id, done_us, by, replaces, as_json=as_json
        )


def sediment_removed(
    site: SiteArgument,
    by: By,
    when: When = None,
    volume: Annotated[str | None, typer.Option("--volume", help='"30 yd3"')] = None,
    taken_to: Annotated[str, typer.Option("--taken-to", help="where it went")] = "",
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Sediment was taken out of a trap or basin: survey it afterwards, so that it is known what is left."""
    with opened(config) as at:
        place = site_of(at, site, "basin")
        taken = None if volume is None else _measure(volume, "m3", "--volume", above=0)
        body = entries.checked(entries.SedimentRemoved, volume=taken, taken_to=taken_to, note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)


def sediment(
    site: SiteArgument,
    depth: Annotated[str, typer.Option("--depth", help='of the sediment above the floor, a mean: "1.5 ft"')],
    by: By,
    when: When = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Sediment of a basin, surveyed by hand: also after it was cleaned out."""
    with opened(config) as at:
        place = site_of(at, site, "basin")
        body = entries.checked(entries.SedimentSurvey, depth=_measure(depth, "m", "--depth", least=0), note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)


def sample(
    site: SiteArgument,
    by: By,
    when: When = None,
    ammonia: Annotated[
        str | None, typer.Option("--ammonia", help='as nitrogen (NH3-N), mg/L: "3.2"; "<0.05": none detected')
    ] = None,
    potassium: Annotated[str | None, typer.Option("--potassium", help="mg/L")] = None,
    fluoride: Annotated[str | None, typer.Option("--fluoride", help="mg/L")] = None,
    detergents: Annotated[str | None, typer.Option("--detergents", help="mg/L")] = None,
    ph: Annotated[str | None, typer.Option("--ph", help="7.2")] = None,
    conductivity: Annotated[str | None, typer.Option("--conductivity", help="µS/cm")] = None,
    turbidity: Annotated[str | None, typer.Option("--turbidity", help="NTU")] = None,
    note: Note = "",
    replaces: Replaces = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Water of an outfall, taken and tested by hand: any of the results."""
    told = (ammonia, potassium, fluoride, detergents, ph, conductivity, turbidity)
    with opened(config) as at:
        place, fields = site_of(at, site, "outfall"), {}
        for of, text in zip(UNITS, told, strict=True):
            if text is None:
                continue
            try:
                result(of, text)
            except InputError as error:
                raise InputError(f"--{of}: {error}") from None
            fields[of] = "".join(text.split())
        body = entries.checked(entries.FieldSample, **fields, note=note)
        enter(at, body, place.id, past(at, when, "--at"), by, replaces, as_json=as_json)


def withdraw(
    number: Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="number of the entry")],
    by: By,
    reason: Annotated[str, typer.Option("--reason", help="why it is taken back")],
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Take an entry back that was a mistake: it stays on record and counts no more."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            found = entries.entry(conn, number)
        if found is None:
            raise InputError(f"there is no entry {number}; `headwall record list` shows them")
        if isinstance(found.body, entries.Withdrawal):
            raise InputError(f"entry {number} is itself a withdrawal; enter again what it took back")
        body = entries.checked(entries.Withdrawal, reason=reason.strip())
        enter(at, body, found.subject, at.clock.now_us(), by, number, as_json=as_json)


def list_entries(
    subject: Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="only of this site or gauge")] = None,
    everything: Annotated[bool, typer.Option("--all", help="all there are, those that stand no more too")] = False,
    limit: Limit = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, each whole")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Entries by the time at which something was measured or done, the newest at the end."""
    last, unreadable = most(limit, everything=everything, as_json=as_json), list[Unreadable]()
    with opened(config) as at:
        with at.ledger.read() as conn:
            found = entries.listed(conn, subject, everything=everything, last=last, unreadable=unreadable)
            there_are, instead = entries.count(conn, subject, everything=everything), entries.replacements(conn)
        if as_json:
            print_json([as_data(each, instead.get(each.id)) for each in found])
        elif found:
            Console(markup=False, emoji=False).print(_table(found, instead, at))
        elif not unreadable:
            print("No entry stands." if not everything else "There is no entry.")
        say_rest(len(found), there_are, "the newest", unreadable, as_json=as_json)


def _table(found: list[entries.Entry[entries.Body]], instead: dict[int, int], at: Opened) -> Table:
    table = Table("ID", "Done", "Of", "What", "By")
    for each in found:
        text = said(each.body)
        if each.id in instead:
            text += f" [replaced by {instead[each.id]}]"
        table.add_row(str(each.id), minute(each.done_us, at.zone), each.subject, text, each.by)
    return table


# ---- reading what a person wrote


def _measure(text: str, base: str, option: str, *, above: int | None = None, least: int | None = None) -> str:
    """The number as it was written, a space, and the unit; InputError that names the option."""
    try:
        value = parse_quantity(text, base)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    if (above is not None and value <= above) or (least is not None and value < least):
        raise InputError(f"{option} {text!r} must {'be more than 0' if above is not None else 'not be below 0'}")
    if base == "m" and abs(value) > _MOST_M:
        raise InputError(f"{option} {text!r} must be at most {_MOST_M} m")
    number = re.match(r"-?[\d.]+", text.strip())
    assert number is not None  # parse_quantity took it
    return f"{number[0]} {text.strip()[number.end() :].strip()}"
