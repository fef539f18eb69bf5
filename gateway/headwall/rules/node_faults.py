"""Faults that a person must mend, each told once: by the node itself, by ingest and forwarder, in the dead letters."""

from __future__ import annotations

import re
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
import structlog

from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry
from headwall.registry.model import Person
from headwall.rules.base import Step
from headwall.rules.facts import NodeFault, to_body
from headwall.rules.tell import tell

log = structlog.get_logger("rules")
_KIND = "node_fault"
_DEAD_LETTERS = "rules.dead_letters"
#: a fault that is reported again after so long is told again
_REMIND_US = 24 * 3_600_000_000
#: dead letters that mean a node at fault rather than one bad payload
_ALARMS = ("identity_conflict",)
#: how the contract writes the name of a fault; it is part of a notice's key
_FAULT = re.compile(r"[a-z][a-z0-9_]{0,31}")
_N = schema.notices.c


@dataclass(frozen=True)
class Report:
    """What a part of the gateway says is wrong with a node ("gateway": with the gateway itself)."""

    node: str
    fault: str
    detail: str


class NodeFaultRule:
    """Opens a notice for each fault and tells who mends it: the node's installer, else the operators."""

    name = "node_faults"

    def __init__(self, ledger: Ledger, registry: Registry) -> None:
        self._ledger = ledger
        self._registry = registry
        self._reports: deque[Report] = deque()
        self._lock = threading.Lock()
        self._states_us = 0

    def report(self, report: Report) -> None:
        """From any thread: take a report for the next step."""
        with self._lock:
            self._reports.append(report)

    def next_us(self) -> int | None:
        return None

    def forget(self) -> None:
        self._states_us = 0

    def judge(self, step: Step) -> None:
        with self._lock:
            reports = list(self._reports)
        for report in [*reports, *self._from_dead_letters(step)]:
            self._open(step, report)
        self._from_states(step)
        with self._lock:
            for _ in reports:
                self._reports.popleft()

    def _from_dead_letters(self, step: Step) -> list[Report]:
        table = schema.dead_letters.c
        after = self._ledger.cursor(step.conn, _DEAD_LETTERS)
        query = sa.select(table.id, table.node, table.reason, table.detail).where(table.id > after).order_by(table.id)
        rows = step.conn.execute(query).all()
        if rows:
            self._ledger.set_cursor(step.conn, _DEAD_LETTERS, rows[-1].id)
        return [Report(row.node or "gateway", row.reason, row.detail) for row in rows if row.reason in _ALARMS]

    def _from_states(self, step: Step) -> None:
        """Faults that nodes name in their state; one that is no longer named is over."""
        table = schema.node_states.c
        query = sa.select(table.node, table.body, table.received_us).where(table.received_us > self._states_us)
        for node, body, received_us in step.conn.execute(query.order_by(table.received_us)).all():
            self._states_us = received_us
            if self._registry.node(node) is None:
                continue
            named = _named(body)
            for fault in sorted(named):
                self._open(step, Report(node, fault, "the node says so in its state"), said_by_node=True)
            self._close_unnamed(step, node, named)

    def _close_unnamed(self, step: Step, node: str, named: set[str]) -> None:
        query = sa.select(_N.id, _N.key).where(_N.kind == _KIND, _N.subject == node, _N.closed_us.is_(None))
        for notice, key in step.conn.execute(query).all():
            _, _, origin, fault, *_ = key.split("/")
            if origin == "state" and fault not in named:
                self._close(step, notice)

    def _open(self, step: Step, report: Report, *, said_by_node: bool = False) -> None:
        prefix = f"{_KIND}/{report.node}/{'state' if said_by_node else 'gateway'}/{report.fault}/"
        query = sa.select(_N.id, _N.opened_us).where(_N.key.startswith(prefix, autoescape=True), _N.closed_us.is_(None))
        standing = step.conn.execute(query).first()
        if standing is not None:
            if said_by_node or step.now_us - standing.opened_us < _REMIND_US:
                return
            self._close(step, standing.id)
        fact = NodeFault(report.node, report.fault, report.detail, step.now_us)
        key = f"{prefix}{step.now_us}"
        values = {"kind": _KIND, "subject": report.node, "key": key, "body": to_body(fact), "opened_us": step.now_us}
        step.conn.execute(schema.notices.insert().values(**values))
        tell(step.conn, key, fact, self._menders(report.node, step.now_us), "now", step.now_us)
        log.warning("fault", node=report.node, fault=report.fault, detail=report.detail)

    def _close(self, step: Step, notice: int) -> None:
        step.conn.execute(schema.notices.update().where(_N.id == notice).values(closed_us=step.now_us))

    def _menders(self, node: str, at_us: int) -> list[Person]:
        installer = self._registry.installer_of(node)
        if installer is not None:
            return [installer]
        found = (p for m in self._registry.municipalities for p in self._registry.operators(m.id, at_us))
        return list({person.id: person for person in found}.values())


def _named(body: Any) -> set[str]:
    """The faults that a node's state names; whatever is no name, since a board may say anything, is `unnamed_fault`."""
    said = body.get("faults") if isinstance(body, dict) else None
    faults = said if isinstance(said, list) else []
    return {each if isinstance(each, str) and _FAULT.fullmatch(each) else "unnamed_fault" for each in faults}
