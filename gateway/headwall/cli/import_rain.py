"""`headwall import`: any rain file into the ledger, idempotent; duties learned by it are historical."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, print_json
from headwall.cli.opened import Opened, minute, opened
from headwall.cli.storms import (
    DateOrderOption,
    Interval,
    KindOption,
    Modulus,
    RepeatedOption,
    TimeColumn,
    TimeZone,
    Tip,
    Unit,
    ValueColumn,
    file_options,
)
from headwall.hydrology.rain_file import RainFile, read_rain_file
from headwall.law.profile import load_profile
from headwall.rules import rain_import
from headwall.rules.duties import Duty
from headwall.rules.engine import RuleEngine
from headwall.rules.facts import StormDuty, to_body


def register(app: typer.Typer) -> None:
    app.command("import")(import_rain)


def import_rain(
    file: Annotated[Path, typer.Argument(help="CSV or TSV of a logger, a spreadsheet or a service")],
    datastream: Annotated[str, typer.Option(help="the gauge it is of, NODE/STREAM of the registry")],
    time_column: TimeColumn = None,
    value_column: ValueColumn = None,
    kind: KindOption = None,
    tip: Tip = None,
    unit: Unit = None,
    tz: TimeZone = None,
    repeated: RepeatedOption = None,
    date_order: DateOrderOption = "mdy",
    interval: Interval = None,
    modulus: Modulus = None,
    overlap: Annotated[
        bool, typer.Option("--overlap", help="add to rain that the node itself reported for the same time")
    ] = False,
    notify: Annotated[bool, typer.Option("--notify", help="tell the duties learned in one digest")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Put a rain file into the ledger. Read twice, it is stored once.

    Duties learned from it are historical: summed up here, and mailed only with --notify, in one digest.
    """
    options = file_options(
        time_column=time_column,
        value_column=value_column,
        kind=kind,
        tip=tip,
        unit=unit,
        tz=tz,
        repeated=repeated,
        date_order=date_order,
        interval=interval,
        modulus=modulus,
    )
    with opened(config) as at:
        at.registry.require_datastream(datastream)
        rain_file = read_rain_file(file, options)
        before = rain_import.newest_duty(at.ledger)
        stored = rain_import.store(
            at.ledger,
            at.registry,
            rain_file,
            datastream,
            by=getpass.getuser(),
            now_us=at.clock.now_us(),
            overlap=overlap,
        )
        _judge(at)
        learned = rain_import.duties_learned(at.ledger, datastream, before)
        if notify:
            rain_import.tell_summary(at.ledger, at.registry, datastream, str(file), learned, at.clock.now_us())
        if as_json:
            print_json(_as_json(rain_file, datastream, stored, learned, told=notify))
            return
        _print(at, rain_file, datastream, stored, learned, notify=notify)


def _judge(at: Opened) -> None:
    profiles = {entry.profile: load_profile(entry.profile) for entry in at.registry.municipalities}
    engine = RuleEngine(at.ledger, at.registry, profiles, at.clock, at.settings.rules)
    while engine.step():
        pass


def _as_json(
    file: RainFile, datastream: str, stored: rain_import.Stored, learned: list[Duty[StormDuty]], *, told: bool
) -> dict[str, Any]:
    return {
        "file": file.source,
        "datastream": datastream,
        "stored": stored.new,
        "known": stored.known,
        "depth_in": file.total.text_in,
        "notes": list(file.notes),
        "duties": [{"id": duty.id, **to_body(duty.body)} for duty in learned],
        "told": told and bool(learned),
    }


def _print(
    at: Opened,
    file: RainFile,
    datastream: str,
    stored: rain_import.Stored,
    learned: list[Duty[StormDuty]],
    *,
    notify: bool,
) -> None:
    for note in file.notes:
        print(f"  {note}")
    print(
        f"{file.source} -> {datastream}: {stored.new} readings stored, {stored.known} known before, "
        f"{file.total.text_in} in ({file.total.text_mm} mm) in all."
    )
    if not learned:
        print("No duty was learned from it.")
        return
    told = "told in the next digest" if notify else "not mailed"
    print(f"{len(learned)} historical duties learned, {told}:")
    table = Table("ID", "Site", "Storm", "Rain", "Was due")
    for duty in learned:
        body, zone = duty.body, at.registry.zone(duty.body.municipality)
        start, due = minute(body.storm.start_us, zone), minute(body.due_us, zone)
        table.add_row(str(duty.id), body.site, start, f"{body.storm.depth_in} in", due)
    Console().print(table)
