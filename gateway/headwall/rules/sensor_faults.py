"""Sensors that give no value, and boards without a rain gauge that give nothing at all: told to who mends them.

A null with the reason "stuck", or `null_limit` nulls in a row, is a fault of the sensor until it gives a value again.
Only what is new counts: the nulls of a backlog from last week may be over long since. Rain gauges are left out: the
board names a contact that is stuck, and the silent-gauge rule tells of one that says nothing valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from headwall.clock import from_us
from headwall.ledger import schema
from headwall.ledger.reads import maintenance_windows
from headwall.registry import Registry
from headwall.registry.model import Node
from headwall.rules.base import Step
from headwall.rules.node_faults import NodeFaultRule, Report

_MINUTE_US = 60_000_000
_LOOK_AGAIN_US = 5 * _MINUTE_US
#: after a start boards get this long before their silence is believed
_GRACE_US = 2 * _MINUTE_US
#: origins of the faults
SENSOR, _SILENT = "sensor", "silence"
_R, _S = schema.readings.c, schema.node_states.c


class SensorFaultRule:
    """Opens and closes notices through the rule of faults, see the head of this module."""

    name = "sensor_faults"

    def __init__(self, registry: Registry, faults: NodeFaultRule, started_us: int) -> None:
        self._registry = registry
        self._faults = faults
        self._started_us = started_us
        self._next_us = 0

    def next_us(self) -> int | None:
        return self._next_us

    def forget(self) -> None:
        self._next_us = 0
        self._faults.forget()  # what it knows of open notices may have been undone

    def judge(self, step: Step) -> None:
        for datastream in sorted(step.sensors):
            self._look_at_sensor(step, datastream)
        if step.now_us >= self._next_us:
            self._next_us = step.now_us + _LOOK_AGAIN_US
            self._look_at_silence(step)

    def _look_at_sensor(self, step: Step, datastream: str) -> None:
        node, _, stream = datastream.partition("/")
        found = self._registry.datastream(datastream, step.now_us)
        newest = _newest(step, node, stream, found.null_limit) if found is not None else []
        if found is None or not newest or newest[0].value is not None:
            self._faults.close(step, node, SENSOR, stream)
            return
        if step.now_us - newest[0].time_us > found.silent_after_min * _MINUTE_US:
            return  # old news: what it is like now comes behind it
        nulls = len(newest) == found.null_limit and all(row.value is None for row in newest)
        reason = newest[0].null_reason or "fault"
        if nulls or reason == "stuck":
            place = self._registry.place_of(datastream, step.now_us)
            detail = (
                f"{datastream} ({place}) gives no value: {reason.replace('_', ' ')}, "
                f"since {from_us(newest[-1].time_us):%Y-%m-%d %H:%M} UTC or before"
                if nulls
                else f"{datastream} ({place}) is stuck: it gave the same value over and over"
            )
            fault = f"{stream} {'stuck' if reason == 'stuck' else 'gives no value'}"
            self._faults.open(step, Report(node, fault, detail), SENSOR, stream)

    def _look_at_silence(self, step: Step) -> None:
        """Boards without a rain gauge, by the age of their data: a retained "online" says nothing."""
        last = {row.node: row.last_data_us for row in step.conn.execute(sa.select(_S.node, _S.last_data_us))}
        for node in self._registry.nodes:
            limit_us = self._limit_us(node, step.now_us)
            if limit_us is None:
                self._faults.close(step, node.id, _SILENT, _SILENT)
                continue
            last_us = last.get(node.id)
            due_us = max((last_us or self._started_us) + limit_us, self._started_us + _GRACE_US)
            if step.now_us < due_us:
                self._faults.close(step, node.id, _SILENT, _SILENT)
                continue
            since = "yet" if last_us is None else f"since {from_us(last_us):%Y-%m-%d %H:%M} UTC"
            detail = f"no data {since}; it should come every {limit_us // _MINUTE_US} minutes at least"
            self._faults.open(step, Report(node.id, "silent", detail), _SILENT, _SILENT)

    def _limit_us(self, node: Node, at_us: int) -> int | None:
        """How long the board may be silent; None for one that has no sensor now, or whose gauge has a rule."""
        streams = [
            found
            for name in {stream.name for stream in node.datastreams}
            if (found := self._registry.datastream(f"{node.id}/{name}", at_us)) is not None
        ]
        if not streams or any(stream.quantity == "tips" for stream in streams):
            return None
        return min(stream.silent_after_min for stream in streams) * _MINUTE_US


def _newest(step: Step, node: str, stream: str, count: int) -> Sequence[Any]:
    """The newest readings by time, outside maintenance, newest first: value, null_reason, time_us."""
    good = sa.and_(_R.time_us.is_not(None), _R.quarantine.is_(None), _R.pos <= step.through)
    query = sa.select(_R.value, _R.null_reason, _R.time_us).where(_R.node == node, _R.stream == stream, good)
    for start_us, end_us in maintenance_windows(step.conn, node):
        query = query.where(sa.or_(_R.time_us < start_us, _R.time_us >= end_us))
    return step.conn.execute(query.order_by(_R.time_us.desc(), _R.pos.desc()).limit(count)).all()
