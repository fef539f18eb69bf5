"""The silent-gauge rule: no valid data for too long, by the gateway's clock, is told once a silence.

Silence is not dryness: while a gauge is silent a qualifying storm cannot be ruled out. A notice closes when valid
readings are up to date again. A backlog that fills the gap later does not make the notice untold. A gauge that the
registry has as off is no fault; its silence is counted from when it is on again.
"""

from __future__ import annotations

import sqlalchemy as sa
import structlog

from headwall.ledger import schema
from headwall.registry import Registry
from headwall.registry.model import Datastream
from headwall.rules import notices
from headwall.rules.base import Step
from headwall.rules.facts import GaugeSilent, to_body
from headwall.rules.layers import FOREVER_US, Stretch
from headwall.rules.rain import neighbour_us
from headwall.rules.tell import accepted, active_by_municipality, tell, to_be_told

log = structlog.get_logger("rules")
_KIND = "gauge_silent"
_MINUTE_US = 60_000_000
#: after a start the node's broker session and backlog get this long before silence is believed
_GRACE_US = 2 * _MINUTE_US
#: how often gauges without an active site are looked at again, since a site's status can begin without a reading
_LOOK_AGAIN_US = 60 * _MINUTE_US
_FIRST_START = "rules_first_start_us"
_N = schema.notices.c


class SilentGauges:
    """The gauges with an open notice of silence, with its key; a cache of the notices table."""

    def __init__(self) -> None:
        self._keys: dict[str, str] | None = None

    def open_keys(self, conn: sa.Connection) -> dict[str, str]:
        """Key of the open notice by datastream; the caller may change it along with the table."""
        if self._keys is None:
            rows = conn.execute(sa.select(_N.subject, _N.key).where(_N.kind == _KIND, _N.closed_us.is_(None)))
            self._keys = {row.subject: row.key for row in rows}
        return self._keys

    def holds(self, conn: sa.Connection, datastream: str) -> bool:
        return datastream in self.open_keys(conn)

    def forget(self) -> None:
        self._keys = None


class GaugeSilentRule:
    """Opens and closes notices of silence, see the head of this module."""

    name = "gauge_silent"

    def __init__(self, registry: Registry, silent: SilentGauges, started_us: int) -> None:
        self._registry = registry
        self._silent = silent
        self._started_us = started_us
        self._last: dict[str, int | None] = {}
        self._next_us: int | None = 0
        self._first_start_us: int | None = None

    def next_us(self) -> int | None:
        return self._next_us

    def forget(self) -> None:
        self._silent.forget()
        self._last.clear()
        self._next_us = 0

    def judge(self, step: Step) -> None:
        for stretch in step.again:
            self._last.pop(stretch.datastream, None)  # valid readings may have become invalid, or the reverse
        for datastream, readings in step.rain.items():
            newest_us = max(reading.time_us for reading in readings)
            known_us = self._last_valid(step, datastream)
            self._last[datastream] = newest_us if known_us is None else max(known_us, newest_us)
        everything = bool(step.again) or self._next_us is None or step.now_us >= self._next_us
        candidates = self._registry.datastream_ids() if everything else step.rain
        names = [name for name in candidates if everything or self._silent.holds(step.conn, name)]
        for name in names:
            self._judge_gauge(step, name)
        if names:
            self._plan(step)

    def _judge_gauge(self, step: Step, name: str) -> None:
        stream = self._gauge(name, step.now_us)
        keys = self._silent.open_keys(step.conn)
        due_us = None if stream is None else self._due_us(step, name, stream)
        if due_us is None or due_us > step.now_us:
            if name in keys:
                self._close(step, keys.pop(name))
        elif name not in keys and stream is not None:
            self._open(step, name, stream)

    def _gauge(self, name: str, at_us: int) -> Datastream | None:
        stream = self._registry.datastream(name, at_us)
        return stream if stream is not None and stream.quantity == "tips" else None

    def _due_us(self, step: Step, name: str, stream: Datastream) -> int | None:
        """When the gauge has been silent for too long, if nothing valid comes; None while it is off."""
        off = self._registry.off_times(name)
        if any(span.holds(step.now_us) for span in off):
            return None
        since_us = self._last_valid(step, name)
        if since_us is None:
            begin_us = max(span.start_us for span in self._registry.datastream_spans(name) if span.entry is stream)
            since_us = max(begin_us, self._first_start(step))
        on_us = (span.end_us for span in off if span.end_us is not None and span.end_us <= step.now_us)
        since_us = max([since_us, *on_us])
        return max(since_us + stream.silent_after_min * _MINUTE_US, self._started_us + _GRACE_US)

    def _last_valid(self, step: Step, name: str) -> int | None:
        if name not in self._last:
            layers = step.layers.of(step.conn, name)
            self._last[name] = neighbour_us(step.conn, layers, FOREVER_US, step.through, before=True)
        return self._last[name]

    def _first_start(self, step: Step) -> int:
        """When rules first ran on this ledger: a gauge that never spoke is silent from then on at the earliest."""
        if self._first_start_us is None:
            table = schema.meta
            found = step.conn.execute(sa.select(table.c.value).where(table.c.key == _FIRST_START)).scalar()
            if found is None:
                found = str(step.now_us)
                step.conn.execute(table.insert().values(key=_FIRST_START, value=found))
            self._first_start_us = int(found)
        return self._first_start_us

    def _open(self, step: Step, name: str, stream: Datastream) -> None:
        sites = active_by_municipality(self._registry, self._registry.sites_of_gauge(name, step.now_us), step.now_us)
        if not sites and accepted(step.conn, name):
            return  # nobody's duty can hang on it; looked at again later
        last_us = self._last_valid(step, name)
        key = f"{_KIND}/{name}/{last_us or 0}"
        facts = [
            GaugeSilent(municipality, of_it, name, last_us, step.now_us, stream.silent_after_min)
            for municipality, of_it in sites.items()
        ]
        home = self._registry.municipalities[0].id
        facts = facts or [GaugeSilent(home, [], name, last_us, step.now_us, stream.silent_after_min)]
        if step.conn.execute(schema.notices.update().where(_N.key == key).values(closed_us=None)).rowcount == 0:
            values = {"kind": _KIND, "subject": name, "key": key, "body": to_body(facts[0]), "opened_us": step.now_us}
            step.conn.execute(schema.notices.insert().values(**values))
        for fact in facts:
            told = to_be_told(step.conn, self._registry, name, fact.municipality, step.now_us)
            tell(step.conn, key, fact, told, "now", step.now_us)
        log.warning("gauge silent", datastream=name, last_valid_us=last_us)
        self._silent.open_keys(step.conn)[name] = key
        if last_us is not None:
            step.again.append(Stretch(name, last_us, last_us))  # its storm now has a gap

    def _close(self, step: Step, key: str) -> None:
        notices.close(step.conn, key, step.now_us)
        log.info("gauge heard again", notice=key)

    def _plan(self, step: Step) -> None:
        """When to look at every gauge again: when the next one falls silent, or a site may have become active."""
        keys = self._silent.open_keys(step.conn)
        due = [step.now_us + _LOOK_AGAIN_US]
        for name in self._registry.datastream_ids():
            stream = self._gauge(name, step.now_us)
            if stream is not None and name not in keys:
                due_us = self._due_us(step, name, stream)
                due.append(due_us if due_us and due_us > step.now_us else step.now_us + _LOOK_AGAIN_US)
        self._next_us = min(due)
