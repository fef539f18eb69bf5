"""Running `headwall storms` in this process, and reading its JSON with exact decimals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from headwall.cli.main import build
from typer.testing import CliRunner, Result


def run(path: Path, *options: str) -> Result:
    """The result of the command; errors raised on purpose stand in `exception`."""
    return CliRunner().invoke(build("storms"), ["storms", str(path), *options])


def run_json(path: Path, *options: str) -> dict[str, Any]:
    """What `--json` prints, numbers as Decimals."""
    result = run(path, *options, "--json")
    if result.exception is not None:
        raise result.exception
    loaded: dict[str, Any] = json.loads(result.stdout, parse_float=Decimal, parse_int=Decimal)
    return loaded


@dataclass(frozen=True)
class Event:
    start: datetime
    end: datetime
    depth_mm: Decimal
    depth_in: Decimal
    duration_s: Decimal
    peak_mm_h: dict[str, Decimal | None]
    triggered: bool


def events_of(found: dict[str, Any]) -> list[Event]:
    """The events of the JSON with times as datetimes."""
    made = []
    for event in found["events"]:
        start, end = datetime.fromisoformat(event["start"]), datetime.fromisoformat(event["end"])
        assert start.tzinfo is not None
        assert end.tzinfo is not None
        made.append(Event(**{**event, "start": start, "end": end}))
    return made
