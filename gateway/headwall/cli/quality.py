"""`headwall quality`: what tests and persons say of readings. The readings stay as they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.console import Console
from rich.table import Column, Table

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Reason, print_json
from headwall.cli.opened import Opened, minute, named, opened, parse_time
from headwall.derive.explanation import FLAG_TEXT
from headwall.derive.quality import Judged, judged
from headwall.errors import InputError
from headwall.hydrology import qartod
from headwall.ledger import log_book
from headwall.ledger.quality_edits import EDIT_FLAGS, QualityEdit, add_edit, edits_of
from headwall.ledger.reads import readings_of
from headwall.wire.contract import UNIT_OF

Stream = Annotated[str, typer.Argument(metavar="DATASTREAM", help="NODE/STREAM")]
From = Annotated[str, typer.Argument(metavar="FROM", help="first instant: 2026-06-10 15:42, local time")]
To = Annotated[str, typer.Argument(metavar="TO", help="end, which is no more part of it")]


def register(app: typer.Typer) -> None:
    quality = typer.Typer(no_args_is_help=True, help="What tests and persons say of readings.")
    quality.command("flag")(flag)
    quality.command("list")(list_edits)
    quality.command("test")(test)
    app.add_typer(quality, name="quality")


def flag(
    datastream: Stream,
    start: From,
    end: To,
    word: Annotated[
        Literal["pass", "suspect", "fail", "none"],
        typer.Option("--flag", help="none takes back what persons said before; the tests speak again"),
    ],
    by: Annotated[str, typer.Option("--by", help="name of the person who says so")],
    reason: Reason,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Say what a stretch of readings is worth. The newest word counts; the readings stay as they are."""
    with opened(config) as at:
        start_us, end_us = _stretch(at, datastream, start, end)
        who, now_us = named(by), at.clock.now_us()
        node, _, stream = datastream.partition("/")
        value = EDIT_FLAGS.get(word)
        with at.ledger.begin() as conn:
            edit = add_edit(
                conn,
                node=node,
                stream=stream,
                start_us=start_us,
                end_us=end_us,
                flag=value,
                by=who,
                reason=reason,
                now_us=now_us,
            )
            body = {"edit": edit.id, "datastream": datastream, "start_us": start_us, "end_us": end_us}
            body |= {"flag": value, "reason": edit.reason}
            log_book.append(conn, "quality_edit", who, body, now_us)
            count = len(readings_of(conn, node, stream, start_us, end_us))
        if as_json:
            print_json({**msgspec.to_builtins(edit), "readings": count})
            return
        done = "are flagged by the tests alone again" if value is None else f"are flagged {word}"
        span = f"{minute(start_us, at.zone)} to {minute(end_us, at.zone)}"
        print(f"{datastream}: readings from {span} {done}, {count} at present (edit {edit.id}, by {who}).")


def list_edits(
    datastream: Annotated[str | None, typer.Argument(metavar="[DATASTREAM]", help="only of NODE/STREAM")] = None,
    as_json: AsJson = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """What persons said of readings, in the order in which they said it."""
    with opened(config) as at:
        if datastream is not None:
            at.registry.require_datastream(datastream)
        node, _, stream = (datastream or "").partition("/")
        with at.ledger.read() as conn:
            found = edits_of(conn, node or None, stream or None)
        if as_json:
            print_json([msgspec.to_builtins(each) for each in found])
        elif not found:
            print("No person has said anything of readings.")
        else:
            Console(markup=False, emoji=False).print(_edits(found, at))


def test(
    datastream: Stream,
    start: From,
    end: To,
    neighbour: Annotated[
        str | None, typer.Option("--neighbour", metavar="DATASTREAM", help="another sensor of the same water or air")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="each reading; else those that did not pass")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, each reading")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Flags of readings by the tests of QARTOD, with the tests that found it, and what persons say on top."""
    with opened(config) as at:
        start_us, end_us = _stretch(at, datastream, start, end)
        if neighbour is not None:
            _check_neighbour(at, datastream, neighbour)
        node, _, stream = datastream.partition("/")
        with at.ledger.read() as conn:
            found = judged(conn, at.registry, datastream, start_us, end_us, neighbour=neighbour)
            left_out = len(readings_of(conn, node, stream, start_us, end_us)) - len(found)
        if as_json:
            print_json([_as_json(each) for each in found])
            return
        shown = [each for each in found if everything or _worth_showing(each)]
        if shown:
            Console(markup=False, emoji=False).print(_readings(shown, datastream, at))
        print("\n".join(_summary(found, left_out)))


def _stretch(at: Opened, datastream: str, start: str, end: str) -> tuple[int, int]:
    at.registry.require_datastream(datastream)
    start_us, end_us = parse_time(start, at.zone, "FROM"), parse_time(end, at.zone, "TO")
    if start_us >= end_us:
        raise InputError(f"FROM {start!r} is not before TO {end!r}; write the earlier first")
    return start_us, end_us


def _check_neighbour(at: Opened, datastream: str, neighbour: str) -> None:
    at.registry.require_datastream(neighbour)
    if neighbour == datastream or neighbour.rpartition(".")[2] != datastream.rpartition(".")[2]:
        raise InputError(f"--neighbour {neighbour} must be another datastream of the same quantity as {datastream}")


def _worth_showing(each: Judged) -> bool:
    return each.edit is not None or each.flag not in (qartod.PASS, qartod.NOT_EVALUATED)


def _summary(found: list[Judged], left_out: int) -> Iterator[str]:
    counts = Counter(each.flag for each in found)
    by_flag = ", ".join(f"{counts[flag]} {FLAG_TEXT[flag]}" for flag in FLAG_TEXT if counts[flag])
    yield f"{len(found)} readings" + (f": {by_flag}." if found else ".")
    if left_out:
        yield f"{left_out} more are quarantined or of a maintenance window, and not judged."


def _readings(found: Iterable[Judged], datastream: str, at: Opened) -> Table:
    quantity = datastream.rpartition(".")[2]
    table = Table("Time", f"Value, {UNIT_OF[quantity]}", "Flag", "By the tests", "By a person")
    for each in found:
        reading, verdict = each.reading, each.verdict
        value = f"{reading.value:.6g}" if reading.value is not None else (reading.null_reason or "null")
        tests = ", ".join(name.replace("_", " ") for name in verdict.reasons)
        told = FLAG_TEXT[verdict.flag] + (f": {tests}" if tests else "")
        word = "" if each.edit is None else f"{each.edit.by}: {each.edit.reason}"
        table.add_row(_second(reading.time_us or 0, at), value, FLAG_TEXT[each.flag], told, word)
    return table


def _second(instant_us: int, at: Opened) -> str:
    return minute(instant_us, at.zone) + f":{instant_us // 1_000_000 % 60:02}"


def _as_json(each: Judged) -> dict[str, Any]:
    reading = each.reading
    return {
        "time_us": reading.time_us,
        "value": reading.value,
        "null_reason": reading.null_reason,
        "flag": each.flag,
        "tests_flag": each.verdict.flag,
        "tests": list(each.verdict.reasons),
        "edit": None if each.edit is None else msgspec.to_builtins(each.edit),
    }


def _edits(found: Iterable[QualityEdit], at: Opened) -> Table:
    table = Table("ID", Column("Datastream", overflow="fold"), "From", "To", "Flag", "By", "Reason")
    for each in found:
        word = "none" if each.flag is None else FLAG_TEXT[each.flag]
        span = (minute(each.start_us, at.zone), minute(each.end_us, at.zone))
        table.add_row(str(each.id), f"{each.node}/{each.stream}", *span, word, each.by, each.reason)
    return table
