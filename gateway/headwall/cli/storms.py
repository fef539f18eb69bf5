"""`headwall storms FILE`: storm events and the inspections they would have triggered, from any rain file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwall import units
from headwall.cli import storms_output
from headwall.cli.common import parse_duration_us
from headwall.errors import InputError
from headwall.hydrology.rain_file import Kind, RainFile, RainFileOptions, Repeated, read_rain_file
from headwall.hydrology.storms import ClockStart, StormRule, Window, fold
from headwall.hydrology.timestamps import DateOrder
from headwall.law import localtime

# Options that say what a rain file holds; `headwall import` takes the same.
TimeColumn = Annotated[str | None, typer.Option(help='name of the time column, or of two: "Date+Time"')]
ValueColumn = Annotated[str | None, typer.Option(help="name of the rain column")]
KindOption = Annotated[Kind | None, typer.Option(help="rain per row, tips per row, or a counter that rises")]
Tip = Annotated[str | None, typer.Option(help="depth of one tip: 0.01in, 0.2mm")]
Unit = Annotated[str | None, typer.Option(help="in or mm")]
TimeZone = Annotated[
    str | None,
    typer.Option(help="zone of the days, and of times whose zone the file does not say: America/New_York, UTC-6"),
]
RepeatedOption = Annotated[
    Repeated | None,
    typer.Option(help="rows of one time; error unless given, but keep for tips and counters", show_default=False),
]
DateOrderOption = Annotated[DateOrder, typer.Option(help="how dates like 10/3/2013 are read")]
Interval = Annotated[
    str | None, typer.Option(help="what each increment is the total of: 1min; or 0min, rain at its time")
]
Modulus = Annotated[int | None, typer.Option(min=2, help="where a counter of tips starts again: 65536")]


def register(app: typer.Typer) -> None:
    app.command("storms")(storms)


def storms(
    file: Annotated[Path, typer.Argument(help="CSV or TSV of a logger, a spreadsheet or a service")],
    time_column: TimeColumn = None,
    value_column: ValueColumn = None,
    kind: KindOption = None,
    tip: Tip = None,
    unit: Unit = None,
    tz: TimeZone = None,
    mit: Annotated[str, typer.Option(help="minimum inter-event time: the dry gap that ends a storm")] = "6h",
    depth: Annotated[str, typer.Option(help="depth that triggers an inspection")] = "0.5in",
    window: Annotated[Window, typer.Option(help="what must reach the depth")] = "cautious",
    clock: Annotated[ClockStart, typer.Option(help="where a trigger's clock starts")] = "crossing",
    repeated: RepeatedOption = None,
    date_order: DateOrderOption = "mdy",
    interval: Interval = None,
    modulus: Modulus = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="events as CSV")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="events and triggers as JSON")] = False,
) -> None:
    """Storm events and triggered inspections from any rain file; no service needed, nothing stored.

    What the file says of itself is used; what it leaves open must be given.
    """
    if as_csv and as_json:
        raise InputError("give --csv or --json, not both")
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
    threshold, mit_us = units.parse_depth(depth), parse_duration_us(mit, "--mit")
    if threshold.mm == 0:
        raise InputError("--depth must be more than 0")
    rain_file = read_rain_file(file, options)
    analysis = _analyse(rain_file, threshold, window, mit_us, clock)
    storms_output.write_notes(analysis)
    write = storms_output.write_json if as_json else storms_output.write_csv if as_csv else storms_output.write_table
    write(analysis)


def file_options(
    *,
    time_column: str | None,
    value_column: str | None,
    kind: Kind | None,
    tip: str | None,
    unit: str | None,
    tz: str | None,
    repeated: Repeated | None,
    date_order: DateOrder,
    interval: str | None,
    modulus: int | None,
) -> RainFileOptions:
    """The options of a command line, read; InputError names the one that cannot be."""
    return RainFileOptions(
        time_column=time_column,
        value_column=value_column,
        kind=kind,
        tip=_tip(tip) if tip else None,
        unit=units.depth_unit(unit) if unit else None,
        zone=localtime.zone(tz) if tz else None,
        repeated=repeated,
        date_order=date_order,
        interval_us=parse_duration_us(interval, "--interval", zero=True) if interval else None,
        modulus=modulus,
    )


def _tip(text: str) -> units.Depth:
    tip = units.parse_depth(text)
    if tip.mm == 0:
        raise InputError("--tip must be more than 0")
    return tip


def _analyse(
    file: RainFile, threshold: units.Depth, window: Window, mit_us: int, clock: ClockStart
) -> storms_output.Analysis:
    rule = StormRule(
        depth=units.quanta_to_reach(threshold, file.quantum),
        day_bounds=lambda instant_us: localtime.day_bounds(instant_us, file.zone),
        window=window,
        mit_us=mit_us,
        interval_us=file.interval_us,
    )
    return storms_output.Analysis(file, threshold, rule, fold(file.rain, rule), clock)
