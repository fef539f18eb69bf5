"""Tips that a board counted and that never came: told, and noted in the log book.

Each tip carries the journal's running count, so a count that rises by more than the tips between two readings says how
many were lost (a full journal, more tips than the board could note during an erase). It is looked at only up to where
the journal is durable without a hole: what is merely on its way is no loss.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
import structlog

from headwall.clock import from_us
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.reads import readings_of
from headwall.rules.base import Step
from headwall.rules.node_faults import NodeFaultRule, Report

log = structlog.get_logger("rules")
_J, _R = schema.journals.c, schema.readings.c
_BESIDE_US = 2 * 3_600_000_000  # the reading before a rise may stand so long before the time that is asked of


class LostTips(NamedTuple):
    """Tips that a board counted between two readings and that never came.

    Attributes:
        overrun: the board's journal was full, and readings were given up.
    """

    start_us: int
    end_us: int
    tips: int
    overrun: bool


class LostTipsRule:
    """Follows `through` of each journal. Must be called before the rule that tells its reports."""

    name = "lost_tips"

    def __init__(self, ledger: Ledger, faults: NodeFaultRule) -> None:
        self._ledger = ledger
        self._faults = faults
        self._seen_us = 0

    def next_us(self) -> int | None:
        return None

    def forget(self) -> None:
        self._seen_us = 0

    def judge(self, step: Step) -> None:
        query = sa.select(_J.node, _J.jid, _J.through, _J.last_seen_us).where(_J.last_seen_us >= self._seen_us)
        for node, jid, through, seen_us in step.conn.execute(query.order_by(_J.last_seen_us)).all():
            self._seen_us = seen_us
            cursor = _cursor_name(node, jid)
            after = self._ledger.cursor(step.conn, cursor)
            if through > after:
                self._look(step, node, jid, after, through)
                self._ledger.set_cursor(step.conn, cursor, through)

    def _look(self, step: Step, node: str, jid: str, after: int, through: int) -> None:
        for seq, time_us, tips in step.conn.execute(_jumps(step.conn, node, jid, after, through)).all():
            when = f"{from_us(time_us):%Y-%m-%d %H:%M} UTC" if time_us is not None else "a time not known"
            detail = (
                f"{tips} tips that the board counted before its reading {seq}, of {when}, never came: rain is missing"
            )
            log.warning("tips lost", node=node, journal=jid, seq=seq, tips=tips)
            body = {"node": node, "journal": jid, "seq": seq, "tips": tips}
            log_book.append(step.conn, "tips_lost", log_book.HEADWALL, body, step.now_us)
            self._faults.report(Report(node, "tips_lost", detail))


def lost_between(conn: sa.Connection, datastream: str, start_us: int, end_us: int) -> list[LostTips]:
    """Tips of a gauge lost in a stretch, or in a pair of readings that reaches into it, in order of time."""
    node, _, stream = datastream.partition("/")
    journals: dict[str, dict[int, int]] = defaultdict(dict)
    for each in readings_of(conn, node, stream, start_us - _BESIDE_US, end_us + _BESIDE_US):
        if each.total is not None and each.time_us is not None:
            journals[each.jid][each.seq] = each.time_us
    found = sorted(lost for jid, times in journals.items() for lost in _lost_of(conn, node, jid, times))
    return [lost for lost in found if lost.start_us <= end_us and start_us <= lost.end_us]


def _lost_of(conn: sa.Connection, node: str, jid: str, times: dict[int, int]) -> Iterator[LostTips]:
    """The losses of one journal among readings, given by number and time."""
    durable = conn.execute(sa.select(_J.through).where(_J.node == node, _J.jid == jid)).scalar() or 0
    for seq, _, tips in conn.execute(_jumps(conn, node, jid, min(times), min(durable, max(times)))).all():
        before = max(each for each in times if each < seq)
        first_us, last_us = sorted((times[before], times.get(seq, times[before])))
        g = schema.gaps.c
        inside = sa.and_(g.node == node, g.jid == jid, g.first_seq > before, g.first_seq < seq)
        yield LostTips(first_us, last_us, tips, conn.execute(sa.select(g.id).where(inside)).first() is not None)


def _jumps(conn: sa.Connection, node: str, jid: str, after: int, through: int) -> sa.Select[Any]:
    """Readings behind `after` whose count rose by more than their own tips, and by how much."""
    counted = sa.and_(_R.node == node, _R.jid == jid, _R.total.is_not(None))
    known = conn.execute(sa.select(sa.func.max(_R.seq)).where(counted, _R.seq <= after)).scalar() or 0
    own = sa.cast(sa.func.coalesce(_R.value, 0), sa.BigInteger)
    before = sa.func.coalesce(sa.func.lag(_R.total).over(order_by=_R.seq), 0)
    rows = sa.select(_R.seq, _R.time_us, (_R.total - own - before).label("lost"))
    each = rows.where(counted, _R.seq >= known, _R.seq <= through).subquery()
    return sa.select(each.c.seq, each.c.time_us, each.c.lost).where(each.c.seq > after, each.c.lost > 0).order_by("seq")


def _cursor_name(node: str, jid: str) -> str:
    """Within the width of the column."""
    return f"lost:{hashlib.sha256(f'{node}/{jid}'.encode()).hexdigest()[:24]}"
