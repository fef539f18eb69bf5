"""Monitoring equipment that its owner has to keep working, and that may be tampered with or neglected: a proposal.

Only devices that stand by an order count: what the municipality has put up itself it mends itself. A fault that its
board or the gateway has named, or a calibration that is overdue, for so long that it looks like nobody minds, makes a
case, which ends by itself when the fault does and nobody has looked at it. Whether it is either, a person finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from headwall.cases import suspicion
from headwall.derive.calibration_due import due_of
from headwall.law import localtime
from headwall.ledger import schema
from headwall.registry import Registry
from headwall.registry.model import Site
from headwall.rules import notices
from headwall.rules.base import Step
from headwall.rules.layers import Stretch
from headwall.rules.sensor_faults import SENSOR

_KIND: Final = "device_neglect"
#: Headwall's own
_LASTS_US: Final = 14 * 24 * localtime.HOUR_US
_LOOK_AGAIN_US: Final = localtime.HOUR_US
_N = schema.notices.c


class DeviceNeglectRule:
    """Looks at the devices of orders from time to time."""

    name = "device_neglect"

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._next_us = 0

    def next_us(self) -> int | None:
        return self._next_us

    def forget(self) -> None:
        self._next_us = 0

    def judge(self, step: Step) -> None:
        if step.now_us < self._next_us:
            return
        self._next_us = step.now_us + _LOOK_AGAIN_US
        for site in self._registry.sites:
            boards: dict[str, list[str]] = defaultdict(list)
            for datastream in sorted({sensor.datastream for sensor in site.sensors}):
                boards[datastream.partition("/")[0]].append(datastream)
            for node, datastreams in boards.items():
                with step.guarded(f"care of {node} at {site.id}", Stretch(datastreams[0], step.now_us, step.now_us)):
                    self._look_at(step, site, node, datastreams)

    def _look_at(self, step: Step, site: Site, node: str, datastreams: list[str]) -> None:
        found = min((each for name in datastreams for each in self._neglected(step, node, name)), default=None)
        open_now = [key for key, body in notices.open_ones(step.conn, _KIND, site.id) if body["node"] == node]
        if found is None:
            for key in open_now:
                notices.close(step.conn, key, step.now_us)
                self._follow(step, site, key, (step.now_us, step.now_us), stands=False)
        elif not open_now:
            since_us, why = found
            key = f"{_KIND}/{node}/{site.id}/{since_us}"
            notices.put(step.conn, _KIND, site.id, key, {"node": node, "why": why}, step.now_us)
            self._follow(step, site, key, (since_us, step.now_us), stands=True)

    def _follow(self, step: Step, site: Site, key: str, span: tuple[int, int], *, stands: bool) -> None:
        suspicion.follow(
            step.conn,
            key,
            kind="device",
            municipality=site.municipality,
            site=site.id,
            span=span,
            stands=stands,
            historical=False,
            now_us=step.now_us,
        )

    def _neglected(self, step: Step, name: str, datastream: str) -> Iterator[tuple[int, str]]:
        """Since when something has been wrong for too long, and what; nothing where no order binds anybody."""
        node, found = self._registry.node(name), self._registry.datastream(datastream, step.now_us)
        if node is None or found is None or (found.legal_basis or node.legal_basis) != "order":
            return
        until_us = step.now_us - _LASTS_US
        is_open = (_N.kind == "node_fault", _N.subject == name, _N.closed_us.is_(None))
        for key, opened_us in step.conn.execute(sa.select(_N.key, _N.opened_us).where(*is_open)):
            _, _, origin, fault, _ = key.split("/", 4)
            if opened_us <= until_us and (origin != SENSOR or fault == datastream.partition("/")[2]):
                yield opened_us, fault.replace("_", " ")
        due = due_of(step.conn, self._registry, datastream, step.now_us)
        if due is not None and due.due_us <= until_us:
            yield due.due_us, f"the calibration of {datastream} is overdue"
