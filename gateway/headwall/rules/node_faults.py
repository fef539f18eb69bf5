"""Faults that a person must mend, each told once: by the node itself, by ingest and forwarder, in the dead letters."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Set
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
#: how often faults that nobody reports any more are looked for
_SWEEP_US = 3_600_000_000
#: origins of a fault, in its key: who says that it is there, and when it is over
_GATEWAY = "gateway"  # a part of it reports, again and again; over after a day without
_STATE = "state"  # the node's state names it; over when it no longer does
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
        self._told = 0  # how many of the reports the step under way has told
        self._lock = threading.Lock()
        self._states_us = 0
        self._letters = 0  # the newest dead letter that was looked at
        self._sweep_us = 0
        self._reported: dict[str, int] = {}  # beginning of the key → when last
        self._standing: set[str] | None = None  # beginnings of the keys of open notices; a cache

    def report(self, report: Report) -> None:
        """From any thread: take a report for the next step."""
        with self._lock:
            self._reports.append(report)

    def next_us(self) -> int | None:
        return self._sweep_us or None

    def forget(self) -> None:
        self._states_us = self._letters = 0
        self._standing = None

    def judge(self, step: Step) -> None:
        self._told = 0
        with self._lock:
            reports = list(self._reports)
        for report in [*reports, *self._from_dead_letters(step)]:
            self._reported[_beginning(report.node, _GATEWAY, report.fault)] = step.now_us
            self.open(step, report, _GATEWAY, report.fault)
        self._from_states(step)
        self._sweep(step)
        self._told = len(reports)

    def settle(self) -> None:
        """The step has been committed: what it has told is told. One that was rolled back has told nothing."""
        with self._lock:
            for _ in range(self._told):
                self._reports.popleft()
            self._told = 0

    def _from_dead_letters(self, step: Step) -> list[Report]:
        if step.newest.dead_letters == self._letters:
            return []
        self._letters = step.newest.dead_letters
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
            said = _said(body)
            for fault, detail in sorted(said.items()):
                self.open(step, Report(node, fault, detail), _STATE, fault)
            self._close_unnamed(step, node, said.keys())

    def _close_unnamed(self, step: Step, node: str, named: Set[str]) -> None:
        for beginning in sorted(self._open_keys(step.conn)):
            of, origin, fault = _parts(beginning)
            if (of, origin) == (node, _STATE) and fault not in named:
                self.close(step, node, origin, fault)

    def _sweep(self, step: Step) -> None:
        """Close what no part of the gateway has reported for a day."""
        if step.now_us < self._sweep_us:
            return
        first, self._sweep_us = not self._sweep_us, step.now_us + _SWEEP_US
        for beginning in sorted(self._open_keys(step.conn)):
            node, origin, fault = _parts(beginning)
            if origin != _GATEWAY:
                continue
            last_us = self._reported.setdefault(beginning, step.now_us)  # after a start: it may still be so
            if not first and step.now_us - last_us >= _REMIND_US:
                self.close(step, node, origin, fault)

    def open(self, step: Step, report: Report, origin: str, name: str) -> None:
        """Tell a fault, unless it stands already. One of the gateway's is told again after a day.

        Args:
            origin: who says so; `close` takes the same.
            name: names it among those of its node and origin.
        """
        beginning = _beginning(report.node, origin, name)
        if beginning in self._open_keys(step.conn):
            query = sa.select(sa.func.max(_N.opened_us)).where(_N.key.startswith(beginning, autoescape=True))
            opened_us = step.conn.execute(query).scalar() or 0
            if origin != _GATEWAY or step.now_us - opened_us < _REMIND_US:
                return
            self.close(step, report.node, origin, name)
        fact = NodeFault(report.node, report.fault, report.detail, step.now_us)
        key = f"{beginning}{step.now_us}"
        values = {"kind": _KIND, "subject": report.node, "key": key, "body": to_body(fact), "opened_us": step.now_us}
        step.conn.execute(schema.notices.insert().values(**values))
        self._open_keys(step.conn).add(beginning)
        tell(step.conn, key, fact, self._menders(report.node, step.now_us), "now", step.now_us)
        log.warning("fault", node=report.node, fault=report.fault, detail=report.detail)

    def close(self, step: Step, node: str, origin: str, name: str) -> None:
        """Note that a fault is over; nothing where it does not stand."""
        beginning = _beginning(node, origin, name)
        if beginning in self._open_keys(step.conn):
            this = (_N.key.startswith(beginning, autoescape=True), _N.closed_us.is_(None))
            step.conn.execute(schema.notices.update().where(*this).values(closed_us=step.now_us))
            self._open_keys(step.conn).discard(beginning)
            log.info("fault over", node=node, fault=name)

    def stands(self, conn: sa.Connection, node: str, origin: str, name: str) -> bool:
        """Whether a fault is open."""
        return _beginning(node, origin, name) in self._open_keys(conn)

    def _open_keys(self, conn: sa.Connection) -> set[str]:
        if self._standing is None:
            rows = conn.execute(sa.select(_N.key).where(_N.kind == _KIND, _N.closed_us.is_(None)))
            self._standing = {key[: key.rindex("/") + 1] for key in rows.scalars()}
        return self._standing

    def _menders(self, node: str, at_us: int) -> list[Person]:
        installer = self._registry.installer_of(node)
        if installer is not None:
            return [installer]
        found = (p for m in self._registry.municipalities for p in self._registry.operators(m.id, at_us))
        return list({person.id: person for person in found}.values())


def _beginning(node: str, origin: str, name: str) -> str:
    """What the keys of one fault's notices begin with; the time follows."""
    return f"{_KIND}/{node}/{origin}/{name}/"


def _parts(beginning: str) -> tuple[str, str, str]:
    """Node, origin and name, the other way round."""
    _, node, origin, name = beginning.removesuffix("/").split("/", 3)
    return node, origin, name


def _said(body: Any) -> dict[str, str]:
    """The faults that a node's state tells, each with a detail: those it names, what it refused or took back."""
    if not isinstance(body, dict):
        return {}
    said = dict.fromkeys(_named(body.get("faults")), "the node says so in its state")
    if body.get("config_error"):
        said["config_refused"] = f"it keeps the last good configuration: {_short(body['config_error'])}"
    update = body.get("update")
    if isinstance(update, dict) and update.get("state") in ("refused", "rolled_back"):
        why = f"update to {_short(update.get('version'))}: {_short(update.get('why') or 'no reason given')}"
        said[f"update_{update['state']}"] = why
    return said


def _named(faults: Any) -> set[str]:
    """The names in a list of faults; whatever is no name, since a board may say anything, is `unnamed_fault`."""
    listed = faults if isinstance(faults, list) else []
    return {each if isinstance(each, str) and _FAULT.fullmatch(each) else "unnamed_fault" for each in listed}


def _short(text: Any) -> str:
    return str(text)[:400]
