"""Ledger → InfluxDB: follows the append position and moves its cursor only behind what InfluxDB has taken.

Killed anywhere, it sends the batch in hand again after the restart; a point sent again overwrites itself.
InfluxDB is never needed for a reading to be safe: while it is away the readings wait in the ledger.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import sqlalchemy as sa
import structlog

from headwall.clock import Clock
from headwall.influx.delivery import NotNowError, Rejected, deliver
from headwall.influx.feed import Row, rows_after
from headwall.influx.lines import encode
from headwall.influx.writer import Answer, InfluxWriter, Meaning
from headwall.ledger import dead_letters, schema
from headwall.ledger.dead_letters import Letter
from headwall.ledger.ledger import Ledger
from headwall.pulse import Pulse
from headwall.settings import InfluxSettings

CURSOR = "influx"
#: another process (an import) may append without our hearing of it
_POLL_S = 30.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
#: after a refusal (token, bucket) somebody must act; look again this often all the same
_REFUSED_WAIT_S = 300.0
#: away for so long, InfluxDB is a matter for a person; shorter outages are told by the health alone
_AWAY_US = 15 * 60_000_000
#: how long stop() still sends, seconds; with the timeouts of a request (writer.py) below ten
_LAST_EFFORT_S = 2.0
#: requests under way at once: with two, InfluxDB need not wait while we read and encode
_IN_FLIGHT = 2

log = structlog.get_logger("influx")

#: told of what a person must mend: node (here "gateway"), fault, detail
OnFault = Callable[[str, str, str], None]


@dataclass(frozen=True)
class _Batch:
    rows: list[Row]  # those with a time; the others come again when they are resolved
    lines: list[str]
    through: int  # append position behind the batch
    count: int  # rows read, with and without a time


class Forwarder:
    """Forwards readings in a thread of its own.

    Args:
        settings: where to, and how many points a request.
        ledger: followed from its cursor "influx".
        clock: paces the waits.
        on_fault: told once of each fault that a person must mend (influx_refused, influx_away, influx_rejected,
            influx_retention).
    """

    def __init__(
        self,
        settings: InfluxSettings,
        ledger: Ledger,
        clock: Clock,
        on_fault: OnFault | None = None,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._clock = clock
        self._on_fault = on_fault
        self._writer = InfluxWriter(settings)
        self._limit = settings.batch
        self._wake = ledger.listen()
        self._stopping = threading.Event()
        self._deadline = math.inf  # of time.monotonic(): nothing is sent after it
        self._trouble: str | None = None
        self._away_since_us: int | None = None
        self._told: set[str] = set()
        self._failures = 0
        self._pulse = Pulse()
        self._thread = threading.Thread(target=self._run, name="influx", daemon=True)

    def start(self) -> None:
        """Begin to forward; the server need not be there."""
        self._thread.start()

    def stop(self) -> None:
        """End within ten seconds, database or not; what is not sent is sent after the next start."""
        self._deadline = time.monotonic() + _LAST_EFFORT_S
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(10)
        self._writer.close()

    def healthy(self) -> str | None:
        """None, or why readings are not reaching InfluxDB."""
        if self._thread.ident is not None and not self._thread.is_alive() and not self._stopping.is_set():
            return "the forwarder's thread has ended; restart the service"
        return self._trouble

    def stuck(self) -> str | None:
        return self._pulse.stuck(self._thread)

    def lag(self) -> int:
        """How many append positions wait to be forwarded; 0 when all is sent."""
        newest = [sa.select(sa.func.max(c.pos)).scalar_subquery() for c in (schema.readings.c, schema.resolutions.c)]
        with self._ledger.read() as conn:
            positions = conn.execute(sa.select(*newest)).one()
            return max(0, *(int(pos or 0) - self._ledger.cursor(conn, CURSOR) for pos in positions))

    def _run(self) -> None:
        with ThreadPoolExecutor(_IN_FLIGHT, "influx-write") as pool:
            while not self._stopping.is_set():
                wait_s = self._burst(pool)
                if wait_s is not None:
                    self._pause(wait_s)
                elif not self._stopping.is_set():  # else a stop may have set the event that _forward cleared
                    with self._pulse.resting():
                        self._clock.wait(self._wake, self._now() + int(_POLL_S * 1e6))
            if self._trouble is None:  # an orderly stop with InfluxDB there: send what came last
                self._burst(pool)

    def _burst(self, pool: ThreadPoolExecutor) -> float | None:
        """Forward what there is; None, or how long to wait before going on from the cursor, seconds."""
        try:
            with self._clock.busy("forwarding to InfluxDB"):
                self._forward(pool)
        except NotNowError as error:
            return self._hold(error.answer)
        except Exception as error:  # never silent, never the end: say so and go on from the cursor
            log.exception("forwarding failed, trying again")
            self._trouble = f"forwarding failed ({error}); see the log"
            return self._backoff_s()
        return None

    def _forward(self, pool: ThreadPoolExecutor) -> None:
        """Batch by batch until nothing is left, or time is over and what is under way has arrived.

        The next batch is read and sent while InfluxDB takes the one before it; the cursor moves in order.
        """
        self._wake.clear()
        with self._ledger.read() as conn:
            after = self._ledger.cursor(conn, CURSOR)
        flying: deque[tuple[_Batch, Future[list[Rejected]]]] = deque()
        try:
            while True:
                while len(flying) < _IN_FLIGHT and not self._is_over() and (batch := self._read(after)).count:
                    flying.append((batch, pool.submit(deliver, self._write, batch.lines)))
                    after = batch.through
                if not flying:
                    return
                batch, delivery = flying.popleft()
                self._settle(batch, delivery.result())
        finally:
            futures.wait([delivery for _, delivery in flying])

    def _read(self, after: int) -> _Batch:
        with self._ledger.read() as conn:
            found = rows_after(conn, after, self._limit)
        timed = [row for row in found if row[5] is not None]
        return _Batch(timed, encode(timed), found[-1][0] if found else after, len(found))

    def _is_over(self) -> bool:
        return time.monotonic() > self._deadline

    def _write(self, lines: list[str]) -> Answer:
        self._pulse.beat()
        if self._is_over():  # a search for bad points may take many requests
            return Answer(Meaning.BUSY, "the service is stopping")
        answer = self._writer.write(lines)
        if answer.meaning is Meaning.TOO_LARGE and len(lines) > 1:
            self._limit = max(1, min(self._limit, len(lines) // 2))
            log.warning("request too large, sending fewer points at once", points=self._limit, said=answer.detail)
        return answer

    def _settle(self, batch: _Batch, rejected: list[Rejected]) -> None:
        refused = [found for found in rejected if not found.is_too_old]
        with self._ledger.begin() as conn:
            dead_letters.keep(conn, [self._letter(batch, found) for found in refused])
            self._ledger.set_cursor(conn, CURSOR, batch.through)
        if refused:
            log.error("points rejected", count=len(refused), said=refused[0].detail)
            self._tell("influx_rejected", f"InfluxDB rejects points, kept as dead letters: {refused[0].detail}")
        if len(refused) < len(rejected):
            self._warn_too_old(len(rejected) - len(refused))
        if self._trouble is not None:
            log.info("forwarding again", to=self._writer.where)
        self._trouble, self._away_since_us, self._failures = None, None, 0
        self._told -= {"influx_refused", "influx_away"}

    def _letter(self, batch: _Batch, found: Rejected) -> Letter:
        """Without jid and seq: the reading is durable in the ledger, only its point is nowhere."""
        node, line = batch.rows[found.index][1], batch.lines[found.index]
        return Letter("influx", line.encode(), "influx_rejected", found.detail, self._now(), node)

    def _hold(self, answer: Answer) -> float:
        """Say once what is wrong; returns how long to wait, as told or as prudence asks, seconds."""
        trouble = f"InfluxDB ({self._writer.where}): {answer.detail}; readings wait in the ledger"
        if self._trouble is None:
            log.warning("not forwarding", reason=trouble)
        self._trouble = trouble
        if answer.meaning is Meaning.REFUSED:
            self._tell("influx_refused", f"{trouble}; check url, org, bucket and token of [influx]")
            return _REFUSED_WAIT_S
        self._away_since_us = self._away_since_us or self._now()
        if self._now() - self._away_since_us >= _AWAY_US:
            self._tell("influx_away", f"{trouble}; start it, or look at its log")
        return self._backoff_s() if answer.wait_s is None else answer.wait_s

    def _backoff_s(self) -> float:
        """Doubles up to a minute, with jitter, so that several gateways do not return at once."""
        self._failures += 1
        longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 10))
        return longest * random.uniform(0.75, 1.0)

    def _pause(self, seconds: float) -> None:
        with self._pulse.resting():
            self._clock.wait(self._stopping, self._now() + int(seconds * 1e6))

    def _warn_too_old(self, count: int) -> None:
        kept = self._settings.retention_days
        keeps = f"keeps {kept} days" if kept else "does not keep for ever"
        detail = f"{count} points lie before what the bucket keeps (it {keeps}); they are in the ledger alone"
        log.warning("points older than the bucket's retention", count=count)
        self._tell("influx_retention", detail)

    def _tell(self, fault: str, detail: str) -> None:
        if fault not in self._told and self._on_fault is not None:
            self._on_fault("gateway", fault, detail)
        self._told.add(fault)

    def _now(self) -> int:
        return self._clock.now_us()
