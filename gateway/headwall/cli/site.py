"""`headwall site show`: what stands at a site now, in the officer's units: readings, what follows, entries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Final, NamedTuple

import sqlalchemy as sa
import typer

from headwall.cli import site_basin, site_clocks, site_construction, site_outfall, site_septic
from headwall.cli.common import DEFAULT_CONFIG, ConfigOption, wrapped
from headwall.cli.opened import Opened, minute, opened, parse_time
from headwall.cli.site_parts import WITHIN_DAYS, WITHIN_US, Found, read_text, value_data
from headwall.derive.explanation import explain
from headwall.errors import UnknownThingError
from headwall.registry.model import Site, SiteKind
from headwall.registry.spans import in_force

_KINDS: Final[dict[SiteKind, str]] = {
    "construction": "construction site",
    "outfall": "outfall",
    "septic": "septic system",
    "basin": "sediment basin",
    "station": "gateway station",
}


class Section(NamedTuple):
    """What one kind of site has beside its sensors' readings: how it is gathered for scripts, and told to people."""

    gathered: Callable[[sa.Connection, Opened, Site, int], Found]
    lines: Callable[[Found, Opened], Iterator[str]]


_SECTIONS: Final[dict[SiteKind, Section]] = {
    "construction": Section(site_construction.gathered, site_construction.lines),
    "septic": Section(site_septic.gathered, site_septic.lines),
    "outfall": Section(site_outfall.gathered, site_outfall.lines),
    "basin": Section(site_basin.gathered, site_basin.lines),
}


def register(app: typer.Typer) -> None:
    site = typer.Typer(no_args_is_help=True, help="What stands at a site: readings and entries.")
    site.callback()(_group)
    site.command("show")(show)
    app.add_typer(site, name="site")


def _group() -> None:
    """What stands at a site: readings and entries."""


def show(
    site: Annotated[str, typer.Argument(metavar="SITE", help="site id of the registry")],
    when: Annotated[str | None, typer.Option("--at", help="as of 2026-06-10 15:42, local time; default: now")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, SI units")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """The newest readings of a site's sensors, what follows from them, and what persons measured and did there."""
    with opened(config) as at:
        place = at.registry.require_site(site)
        at_us = at.clock.now_us() if when is None else parse_time(when, at.zone, "--at")
        with at.ledger.read() as conn:
            found = _gather(conn, at, place, at_us)
        print(json.dumps(found, indent=2, ensure_ascii=False) if as_json else "\n".join(_lines(found, place, at)))


def _gather(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found:
    status = at.registry.status_of(site.id, at_us)
    found: Found = {
        "site": site.id,
        "kind": site.kind,
        "name": site.name,
        "place": site.place,
        "municipality": at.registry.municipality(site.municipality).name,
        "status": None if status is None else status.status,
        "at_us": at_us,
        "sensors": _sensors(conn, at, site, at_us),
    }
    section = _SECTIONS.get(site.kind)
    if section is not None:
        found[site.kind] = section.gathered(conn, at, site, at_us)
    if site.kind != "construction":  # where they stand among what the site is
        found["clocks"] = site_clocks.gathered(conn, at, site, at_us)
    return found


def _lines(found: Found, site: Site, at: Opened) -> Iterator[str]:
    yield f"{site.id}: {site.name}, {_KINDS[site.kind]} in {found['municipality']}"
    status = "no status in force" if found["status"] is None else found["status"].replace("_", " ")
    yield f"  {site.place}; {status}; as of {minute(found['at_us'], at.zone)}"
    yield from _sensor_lines(found["sensors"], at)
    section = _SECTIONS.get(site.kind)
    if section is not None:
        yield from section.lines(found[site.kind], at)
    if found.get("clocks"):
        yield from site_clocks.lines(found["clocks"], at)


def _sensors(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> list[Found]:
    return [
        _newest(conn, at, entry.datastream, f"{site.id}/{entry.of}" if entry.of else entry.datastream, at_us)
        for entry in in_force(at.registry.measures(site.id).sensors, at_us)
    ]


def _newest(conn: sa.Connection, at: Opened, datastream: str, name: str, at_us: int) -> Found:
    try:
        value = explain(conn, at.registry, name, at_us, WITHIN_US)
    except UnknownThingError:
        return {"name": name, "datastream": datastream, "time_us": None}
    return {
        "name": name,
        "datastream": datastream,
        "time_us": value.time_us,
        **value_data(value.value, value.unit),
        "flag": value.flag,
        "flag_why": value.flag_why,
    }


def _sensor_lines(sensors: list[Found], at: Opened) -> Iterator[str]:
    if not sensors:
        return
    yield "Newest readings"
    width = max(len(sensor["name"]) for sensor in sensors)
    for sensor in sensors:
        head = f"  {sensor['name']:{width}}  "
        if sensor["time_us"] is None:
            yield f"{head}none in {WITHIN_DAYS} days"
        else:
            yield wrapped(head, f"{sensor['shown']}, {read_text(sensor, at)}")
