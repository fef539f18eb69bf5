"""What `headwall storms` prints: a table for people, CSV, or JSON with exact decimals and times with offset."""

from __future__ import annotations

import csv
import sys
from bisect import bisect_left, bisect_right
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from headwall.hydrology.intensity import MINUTE_US, PEAK_MINUTES, peak_mm_h
from headwall.hydrology.rain_file import RainFile
from headwall.hydrology.storms import ClockStart, Folded, Storm, StormRule, Trigger
from headwall.law import localtime
from headwall.units import Depth, convert, to_decimal

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
_READING_TEXT: Final = {"event": "storm", "rolling24h": "24 h", "day": "day"}
_TABLE_WIDTH: Final = 80


class Analysis(NamedTuple):
    """A rain file, what was asked of it, and what was found."""

    file: RainFile
    threshold: Depth
    rule: StormRule
    folded: Folded
    clock: ClockStart

    def iso(self, instant_us: int) -> str:
        return localtime.iso(instant_us, self.file.zone)

    def depth(self, storm: Storm) -> Depth:
        return self.file.quantum * storm.amount

    def peaks(self) -> list[dict[str, Decimal | None]]:
        """Peak intensities in mm/h of each storm by minutes, to 0.001; None for a shorter storm."""
        rain, interval_us = self.file.rain, self.file.interval_us
        times = [each.time_us for each in rain]
        found = []
        for storm in self.folded.storms:
            of_storm = rain[bisect_left(times, storm.start_us + interval_us) : bisect_right(times, storm.end_us)]
            rates = (
                peak_mm_h(of_storm, minutes * MINUTE_US, self.file.quantum, interval_us=interval_us)
                for minutes in PEAK_MINUTES
            )
            found.append({str(m): _rounded(rate) for m, rate in zip(PEAK_MINUTES, rates, strict=True)})
        return found


def _rounded(rate: Fraction | None) -> Decimal | None:
    return None if rate is None else _plain(round(rate, 3))


def _plain(value: Fraction) -> Decimal:
    """A Decimal that is written without exponent or trailing zeros."""
    decimal = to_decimal(value)
    return decimal.quantize(Decimal(1)) if decimal == decimal.to_integral_value() else decimal.normalize()


class Event(msgspec.Struct):
    """A storm in the JSON; `triggered`: its own total reached the depth."""

    start: str
    end: str
    depth_mm: Decimal
    depth_in: Decimal
    duration_s: Decimal
    peak_mm_h: dict[str, Decimal | None]
    triggered: bool


class TriggerTime(msgspec.Struct):
    """A trigger in the JSON: where its clock starts, and what reached the depth."""

    time: str
    reading: str


class Report(msgspec.Struct):
    """The whole JSON."""

    events: list[Event]
    triggers: list[TriggerTime]


def report(analysis: Analysis) -> Report:
    """The events and triggers as data."""
    storms = analysis.folded.storms
    events = [_event(analysis, storm, peaks) for storm, peaks in zip(storms, analysis.peaks(), strict=True)]
    return Report(events, [_trigger_time(analysis, trigger) for trigger in analysis.folded.triggers])


def _event(analysis: Analysis, storm: Storm, peaks: dict[str, Decimal | None]) -> Event:
    depth = analysis.depth(storm)
    return Event(
        start=analysis.iso(storm.start_us),
        end=analysis.iso(storm.end_us),
        depth_mm=_plain(depth.mm),
        depth_in=_plain(depth.inches),
        duration_s=_plain(Fraction(storm.end_us - storm.start_us, 1_000_000)),
        peak_mm_h=peaks,
        triggered=storm.reached_us is not None,
    )


def _trigger_time(analysis: Analysis, trigger: Trigger) -> TriggerTime:
    return TriggerTime(analysis.iso(trigger.clock_start_us(analysis.clock)), trigger.reading)


def write_json(analysis: Analysis) -> None:
    """One JSON object; numbers are exact, so read them as decimals where that matters."""
    sys.stdout.write(msgspec.json.format(_ENCODER.encode(report(analysis)), indent=2).decode() + "\n")


def write_csv(analysis: Analysis) -> None:
    """One line an event."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    peaks = [f"peak_{minutes}min_mm_h" for minutes in PEAK_MINUTES]
    writer.writerow(["start", "end", "depth_mm", "depth_in", "duration_s", *peaks, "triggered"])
    for event in report(analysis).events:
        rates = ["" if rate is None else str(rate) for rate in event.peak_mm_h.values()]
        depths = [str(event.depth_mm), str(event.depth_in), str(event.duration_s)]
        writer.writerow([event.start, event.end, *depths, *rates, str(event.triggered).lower()])


def write_table(analysis: Analysis) -> None:
    """A table for people, narrow enough for any terminal; CSV and JSON have more of each storm."""
    console = Console()
    console.width = max(console.width, _TABLE_WIDTH)  # a narrower table would cut its figures
    triggers = {id(trigger.storm): trigger for trigger in reversed(analysis.folded.triggers)}
    table = Table(title=_title(analysis), title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in ("start", "end", "in", "peak in/h", "triggered at", "by"):
        table.add_column(name, justify="right" if name in ("in", "peak in/h") else "left", no_wrap=True)
    for storm, peaks in zip(analysis.folded.storms, analysis.peaks(), strict=True):
        table.add_row(*_cells(analysis, storm, peaks, triggers.get(id(storm))))
    console.print(table)
    console.print(_summary(analysis), soft_wrap=True)


def write_notes(analysis: Analysis) -> None:
    """How the file was understood and what was odd in it, on standard error."""
    for note in analysis.file.notes:
        print(f"{analysis.file.source}: {note}", file=sys.stderr)


def _title(analysis: Analysis) -> str:
    mit_h = f"{analysis.rule.mit_us / 3.6e9:g}"
    return (
        f"Storms, {mit_h} h without rain between them; triggers at {analysis.threshold} by window "
        f"{analysis.rule.window!r}, clock {analysis.clock!r}; peaks of 15 min; times in "
        f"{localtime.zone_name(analysis.file.zone)}"
    )


def _cells(
    analysis: Analysis, storm: Storm, peaks: dict[str, Decimal | None], trigger: Trigger | None
) -> tuple[str, ...]:
    depth, peak = analysis.depth(storm), peaks["15"]
    return (
        _wall(analysis, storm.start_us),
        _wall(analysis, storm.end_us),
        depth.text_in,
        "" if peak is None else f"{float(convert(peak, 'mm/h', 'in/h')):.2f}",
        "" if trigger is None else _wall(analysis, trigger.clock_start_us(analysis.clock)),
        "" if trigger is None else _READING_TEXT[trigger.reading],
    )


def _wall(analysis: Analysis, instant_us: int) -> str:
    return f"{localtime.to_local(instant_us, analysis.file.zone):%Y-%m-%d %H:%M}"


def _summary(analysis: Analysis) -> str:
    storms, triggers = analysis.folded
    reached = sum(storm.reached_us is not None for storm in storms)
    return (
        f"{len(storms)} storms, {analysis.file.total} in all; {reached} reach {analysis.threshold.text_in} in by "
        f"themselves; {len(triggers)} triggers. Gauge data, not a finding: a person decides."
    )
