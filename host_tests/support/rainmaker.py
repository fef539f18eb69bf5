"""USGS Rainmaker's year of one-minute rain and its published storms, where the shared data folder is present.

The folder is that of HEADWALL_SHARED, else "shared" beside the checkout. Tests that need it are skipped without it.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

STANDARD_TIME = timezone(timedelta(hours=-6))


def folder() -> Path:
    """The folder of the data; skips the test where it is absent."""
    checkout = Path(__file__).resolve().parents[2]
    shared = Path(os.environ.get("HEADWALL_SHARED", checkout.parent / "shared"))
    found = shared / "data" / "rainmaker"
    if not found.is_dir():
        pytest.skip(f"no {found}: set HEADWALL_SHARED to the folder that holds data/rainmaker")
    return found


@dataclass(frozen=True)
class PublishedStorm:
    """A storm of the published table; peaks in in/h by minutes, None for the table's -9."""

    start: datetime
    end: datetime
    depth_in: Decimal
    peak_in_h: dict[str, float | None]


def published_storms() -> list[PublishedStorm]:
    """The storms of both published tables, which list the same ones."""
    summary = _rows(folder() / "rain.test.rdb.storm.summary")
    intensity = _rows(folder() / "rain.test.rdb.intensity")
    return [_published(depths, peaks) for depths, peaks in zip(summary, intensity, strict=True)]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return rows[1:]  # below the names stands a row of formats


def _published(depths: dict[str, str], peaks: dict[str, str]) -> PublishedStorm:
    rates = {minutes: float(peaks[f"p{minutes}max"]) for minutes in ("5", "10", "15", "30", "60")}
    return PublishedStorm(
        start=_time(depths["startdate"]),
        end=_time(depths["enddate"]),
        depth_in=Decimal(depths["gage01"].strip()),
        peak_in_h={minutes: None if rate == -9 else rate for minutes, rate in rates.items()},
    )


def _time(text: str) -> datetime:
    return datetime.strptime(text.strip(), "%m/%d/%y %H:%M").replace(tzinfo=STANDARD_TIME)
