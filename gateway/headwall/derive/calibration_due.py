"""When sensors are to be calibrated again: by the last time on record, in ledger or registry, and the interval."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from headwall.ledger.calibrations import last_calibration
from headwall.registry import Registry
from headwall.registry.spans import instant_us

_DAY_US = 86_400_000_000


class Due(NamedTuple):
    """A sensor that is calibrated at intervals.

    Attributes:
        last_us: when it was last; None: never, as far as is known.
        due_us: when it is again; without a last time, when it was put up.
    """

    datastream: str
    every_days: int
    last_us: int | None
    due_us: int

    def overdue(self, now_us: int) -> bool:
        return self.due_us <= now_us


def calibration_due(conn: sa.Connection, registry: Registry, at_us: int) -> list[Due]:
    """Every datastream in force at an instant that has an interval, soonest due first."""
    found = (due_of(conn, registry, name, at_us) for name in registry.datastream_ids())
    return sorted((due for due in found if due is not None), key=lambda due: (due.due_us, due.datastream))


def due_of(conn: sa.Connection, registry: Registry, datastream: str, at_us: int) -> Due | None:
    """When a datastream is to be calibrated; None without an interval, or where it is not in force."""
    span = next((each for each in registry.datastream_spans(datastream) if each.holds(at_us)), None)
    if span is None or span.entry.calibrate_every_days is None:
        return None
    every = span.entry.calibrate_every_days
    in_ledger, listed = last_calibration(conn, datastream, at_us), registry.last_calibration(datastream, at_us)
    node = registry.require_node(datastream.partition("/")[0])
    known = [in_ledger.done_us] if in_ledger is not None else []
    known += [instant_us(listed.on, registry.zone_of_node(node))] if listed is not None else []
    last_us = max(known, default=None)
    return Due(datastream, every, last_us, span.start_us if last_us is None else last_us + every * _DAY_US)
