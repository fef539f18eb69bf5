"""Quality as a layer over the ledger: what the tests of QARTOD say of readings, and a person's word on top of that.

A stretch is judged as in the whole series, so each test is given what it needs from before and behind it:

| test | before the stretch | behind it |
|---|---|---|
| gross range | nothing | nothing |
| spike | one reading | one reading |
| rate of change, gap | one reading | nothing |
| flat line | its longer time, and one reading before that | nothing |
| stuck | one value fewer than its larger count, nulls left out | nothing |
| neighbour | the neighbour's readings within its time | the same |

Readings that are quarantined, fall into a maintenance window, or have no known time are no part of the series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace

from headwall.hydrology.qartod import MISSING, Settings, Values, Verdict, judge, settings_for
from headwall.ledger.quality_edits import QualityEdit, edit_at, edits_of
from headwall.ledger.reads import (
    Reading,
    Windows,
    maintenance_windows,
    newest_before,
    oldest_from,
    readings_of,
)
from headwall.registry import Registry
from headwall.registry.model import Datastream
from headwall.registry.spans import span_of

_US = 1_000_000


class Judged(NamedTuple):
    """A reading with what the tests say of it, and the edit of a person that counts for it."""

    reading: Reading
    verdict: Verdict
    edit: QualityEdit | None

    @property
    def flag(self) -> int:
        """The person's word where there is one, else the tests'. A null stays missing, whatever anyone says."""
        if self.reading.value is None:
            return MISSING
        return self.verdict.flag if self.edit is None or self.edit.flag is None else self.edit.flag


def judged(
    conn: sa.Connection,
    registry: Registry,
    datastream: str,
    start_us: int,
    end_us: int,
    *,
    neighbour: str | None = None,
) -> list[Judged]:
    """Readings of a datastream with start_us <= time < end_us, in order of time, each with its flags.

    Args:
        neighbour: NODE/STREAM of another sensor of the same water or air, for the test of neighbours.
    """
    node, _, stream = datastream.partition("/")
    edits = edits_of(conn, node, stream, start_us=start_us, end_us=end_us)
    found: list[Judged] = []
    for since_us, until_us, settings in _settings(registry, datastream, start_us, end_us):
        series = usable(conn, datastream, since_us, until_us)
        if series:
            verdicts = _verdicts(conn, datastream, series, settings, neighbour)
            found += (
                Judged(reading, verdict, edit_at(edits, reading.time_us or 0) if edits else None)
                for reading, verdict in zip(series, verdicts, strict=True)
            )
    return found


def usable(conn: sa.Connection, datastream: str, start_us: int, end_us: int) -> list[Reading]:
    """Readings of a stretch that are part of the series, see the head of this module."""
    node, _, stream = datastream.partition("/")
    return list(_taken(readings_of(conn, node, stream, start_us, end_us), maintenance_windows(conn, node)))


def _taken(readings: Sequence[Reading], windows: Windows) -> Iterator[Reading]:
    for reading in readings:
        time_us = reading.time_us or 0
        if reading.judgeable and not any(start_us <= time_us < end_us for start_us, end_us in windows):
            yield reading


def _settings(registry: Registry, datastream: str, start_us: int, end_us: int) -> Iterator[tuple[int, int, Settings]]:
    """The stretch with its settings, cut where the sensor moves to a site of another kind or is set up anew."""
    quantity = datastream.rpartition(".")[2]
    kinds = [
        (span_of(sensor, registry.zone(site.municipality)), site.kind)
        for site in registry.sites
        for sensor in site.sensors
        if sensor.datastream == datastream
    ]
    edges = {edge for span, _ in kinds for edge in (span.start_us, span.end_us)}
    edges |= {edge for span in registry.datastream_spans(datastream) for edge in (span.start_us, span.end_us)}
    inside = sorted(edge for edge in edges if edge is not None and start_us < edge < end_us)
    for since_us, until_us in pairwise([start_us, *inside, end_us]):
        kind = next((kind for span, kind in kinds if span.holds(since_us)), "any")
        yield since_us, until_us, _with_gap(settings_for(quantity, kind), registry.datastream(datastream, since_us))


def _with_gap(settings: Settings, stream: Datastream | None) -> Settings:
    """A gap begins no sooner than the registry lets the sensor be silent: it may read once a day."""
    gap = settings.gap
    if gap is None or gap.suspect is None or stream is None or stream.silent_after_min * 60 <= gap.suspect:
        return settings
    return replace(settings, gap=replace(gap, suspect=stream.silent_after_min * 60.0))


def _verdicts(
    conn: sa.Connection, datastream: str, series: Sequence[Reading], settings: Settings, neighbour: str | None
) -> list[Verdict]:
    first_us, last_us = series[0].time_us or 0, series[-1].time_us or 0
    before = _before(conn, datastream, first_us, settings)
    node, _, stream = datastream.partition("/")
    windows = maintenance_windows(conn, node)
    behind = _some(lambda count: oldest_from(conn, node, stream, last_us + 1, count), windows, bool)
    whole = [*before, *series, *behind[:1]]
    other = None
    if neighbour is not None and settings.neighbour is not None:
        within_us = round(settings.neighbour.within_s * _US)
        other = _columns(usable(conn, neighbour, first_us - within_us, last_us + within_us + 1))
    times_us, values = _columns(whole)
    return judge(settings, times_us, values, other)[len(before) : len(before) + len(series)]


def _before(conn: sa.Connection, datastream: str, first_us: int, settings: Settings) -> list[Reading]:
    """What the tests need from before a stretch that begins with a reading of that time."""
    node, _, stream = datastream.partition("/")
    windows = maintenance_windows(conn, node)
    flat, same = settings.flat_line, settings.stuck
    reach_us = first_us - round(max(flat.suspect_s, flat.fail_s or 0) * _US) if flat is not None else first_us
    values = max(same.suspect, same.fail or 0) - 1 if same is not None else 0

    def enough(found: Sequence[Reading]) -> bool:
        back = any((reading.time_us or 0) < reach_us for reading in found)
        return back and sum(reading.value is not None for reading in found) >= values

    return _some(lambda count: newest_before(conn, node, stream, first_us, count), windows, enough)


def _some(
    read: Callable[[int], list[Reading]], windows: Windows, enough: Callable[[Sequence[Reading]], bool]
) -> list[Reading]:
    """More and more readings until those of the series suffice, or there are no more."""
    count = 16
    while True:
        found = read(count)
        taken = list(_taken(found, windows))
        if enough(taken) or len(found) < count:
            return taken
        count *= 4


def _columns(series: Sequence[Reading]) -> tuple[list[int], Values]:
    return [reading.time_us or 0 for reading in series], [reading.value for reading in series]
