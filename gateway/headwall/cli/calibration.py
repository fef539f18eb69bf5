"""`headwall calibration`: what was measured of sensors, kept dated beside their readings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import sqlalchemy as sa
import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, print_json
from headwall.cli.opened import Opened, minute, opened
from headwall.derive.calibrated import line_of
from headwall.derive.calibration_due import Due, calibration_due
from headwall.derive.tip_depth import check_tip
from headwall.errors import InputError
from headwall.ledger import attachments, log_book
from headwall.ledger.calibrations import (
    Calibration,
    Point,
    Recorded,
    add_calibration,
    listed_calibrations,
    parse_calibrations,
)
from headwall.wire.contract import UNIT_OF


def register(app: typer.Typer) -> None:
    calibration = typer.Typer(no_args_is_help=True, help="What was measured of sensors, and when.")
    calibration.command("add")(add)
    calibration.command("list")(list_calibrations)
    calibration.command("due")(due)
    app.add_typer(calibration, name="calibration")


def add(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="records of `headwall board calibrate`")],
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="of the reference (PDF, photo), kept with the log book"),
    ] = None,
    as_json: AsJson = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Put calibration records into the ledger: all of the files or none. Any number of times: each is kept once."""
    with opened(config) as at:
        records = [(file, record) for file in files for record in _read(file)]
        for file, record in records:
            _check(at, file, record)
        kept = None if certificate is None else attachments.store(at.settings.ledger.attachments, certificate)
        now_us, new = at.clock.now_us(), []
        with at.ledger.begin() as conn:
            for _, record in records:
                digest = add_calibration(conn, record, now_us)
                if digest is not None:
                    body = {"datastream": record.datastream, "kind": record.kind, "digest": digest}
                    log_book.append(conn, "calibration", record.by, {**body, "done_us": record.done_us}, now_us)
                    new.append(record)
            if kept is not None and certificate is not None and new:
                _attach(conn, at, certificate, kept, new, now_us)
    if as_json:
        print(json.dumps({"added": len(new), "known": len(records) - len(new)}))
        return
    for record in new:
        print(f"{record.datastream}: {record.kind.replace('_', ' ')} of {record.at:%Y-%m-%d}, by {record.by}, added.")
    if len(new) < len(records):
        print(f"{len(records) - len(new)} in the ledger already.")


def _attach(
    conn: sa.Connection, at: Opened, file: Path, kept: attachments.Stored, records: list[Calibration], now_us: int
) -> None:
    """A row of the log book for the certificate, about the sensors that were calibrated by it."""
    node = at.registry.require_node(records[0].datastream.partition("/")[0])
    town = node.municipality or at.registry.municipalities[0].id
    about = "certificate for the calibration of " + ", ".join(sorted({each.datastream for each in records}))
    body = {"site": None, "municipality": town, "digest": kept.digest, "type": kept.type, "size": kept.size}
    body |= {"of_us": records[0].done_us, "under": "", "counts_from_us": None}
    personal = {"name": file.name, "about": about}
    log_book.append(conn, attachments.KIND, records[0].by, body, now_us, personal)


def due(
    as_json: AsJson = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Sensors that are to be calibrated at intervals (`calibrate_every_days` of the registry), soonest due first."""
    with opened(config) as at:
        now_us = at.clock.now_us()
        with at.ledger.read() as conn:
            found = calibration_due(conn, at.registry, now_us)
        if as_json:
            print(json.dumps([{**each._asdict(), "overdue": each.overdue(now_us)} for each in found]))
        else:
            print("\n".join(_due_line(each, at, now_us) for each in found) or "No sensor has calibrate_every_days.")


def _due_line(each: Due, at: Opened, now_us: int) -> str:
    last = "never, as far as is known" if each.last_us is None else minute(each.last_us, at.zone)[:10]
    when = minute(each.due_us, at.zone)[:10]
    said = f"overdue since {when}" if each.overdue(now_us) else f"due {when}"
    return f"{each.datastream}: {said}; last {last}, every {each.every_days} days"


def list_calibrations(
    node: Annotated[str | None, typer.Argument(metavar="[NODE]", help="only of this node")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, each whole")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Calibrations by day; those of registry.toml stand there."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            found = listed_calibrations(conn, node)
        if node is not None and not found:
            at.registry.require_node(node)
        if as_json:
            print_json([msgspec.to_builtins(each.calibration) for each in found])
        else:
            print("\n".join(_lines(found, at)) or "No calibration is in the ledger.")


def _read(file: Path) -> list[Calibration]:
    try:
        return parse_calibrations(file.read_bytes(), str(file))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None


def _check(at: Opened, file: Path, record: Calibration) -> None:
    """InputError for a record of a datastream that was not there on that day, or of a day that has not come."""
    at.registry.require_datastream(record.datastream)
    if at.registry.datastream(record.datastream, record.done_us) is None:
        raise InputError(f"{file}: {record.datastream} was not in force at {record.at.isoformat()}: see the registry")
    try:
        line_of(record, UNIT_OF[record.datastream.rpartition(".")[2]])
        check_tip(record)
    except InputError as error:
        raise InputError(f"{file}: {record.datastream}: {error}") from None
    if record.done_us > at.clock.now_us():
        raise InputError(f"{file}: {record.at.isoformat()} is in the future: set the clock of whoever wrote it")


def _lines(found: list[Recorded], at: Opened) -> Iterator[str]:
    for each in found:
        record = each.calibration
        how = f"{record.kind.replace('_', ' ')}, by {record.by}"
        verdict = f": {record.verdict}" if record.verdict else ""
        yield f"{minute(record.done_us, at.zone)}  {record.datastream}  {how}{verdict}"
        yield f"    as found: {_points(record, record.as_found) or 'not read'}"
        yield f"    as left: {_points(record, record.as_left) or 'as found'}"


def _points(record: Calibration, points: list[Point]) -> str:
    return ", ".join(f"{point.reading} for {point.reference} {record.unit}" for point in points)
