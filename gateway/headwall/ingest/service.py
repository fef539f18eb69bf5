"""Ingest as a running part: broker → ledger → acknowledgement → custody, and what else goes down to nodes.

Order of every batch: commit, then acknowledge to the broker, then what waits for the nodes, then custody to them: a
node on a battery sleeps as soon as it has custody of everything.
Killed at any point, what was not acknowledged comes again and is stored once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import sqlalchemy as sa
import structlog

from headwall.clock import Clock
from headwall.downlink.delivery import Delivery, Outgoing
from headwall.ingest.batch import Intake, Outcome
from headwall.ingest.mqtt import Arrived, Link
from headwall.ingest.sorting import Message
from headwall.ledger.ledger import Ledger
from headwall.pulse import Pulse
from headwall.registry.registry import Registry
from headwall.settings import IngestSettings, MqttSettings

log = structlog.get_logger("ingest")

#: node (or "gateway"), name of the fault, detail
OnFault = Callable[[str, str, str], None]

#: how long a wait for messages lasts before the stop flag is seen
_LOOK_S = 0.25
_STOP_S = 8.0
_RETRY_S = (1.0, 30.0)


class IngestService:
    """Takes what nodes send into the ledger and answers with custody.

    Args:
        on_fault: told, from the ingest thread, of what somebody must mend: identity_conflict, mac_mismatch,
            clock_wrong, bad_pack, unknown_datastream, … The same fault may be told many times.
    """

    def __init__(
        self,
        mqtt: MqttSettings,
        settings: IngestSettings,
        ledger: Ledger,
        registry: Registry,
        clock: Clock,
        on_fault: OnFault | None = None,
    ) -> None:
        self._intake = Intake(ledger, registry, settings, clock)
        self._clock = clock
        self._batch_messages = settings.batch_messages
        self._on_fault = on_fault
        self._link = Link(mqtt, clock)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ingest", daemon=True)
        self._pulse = Pulse()
        self._failure: str | None = None
        self._delivery = Delivery(ledger, clock)
        self._undelivered: str | None = None

    def start(self) -> None:
        """Start receiving; returns at once, whether or not the broker is there yet."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch in hand and disconnect, in at most 10 seconds. The broker keeps the rest."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)

    def healthy(self) -> str | None:
        """None, or why messages do not reach the ledger."""
        if self._thread.ident is not None and not self._thread.is_alive() and not self._stopping.is_set():
            return f"the ingest thread has ended: {self._failure}"
        return self._failure or self._link.problem() or self._undelivered

    def stuck(self) -> str | None:
        return self._pulse.stuck(self._thread)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._pulse.beat()
                batch = self._link.turn(_LOOK_S, self._batch_messages)
                if batch:
                    with self._clock.busy("ingest"):
                        self._handle(batch)
                self._deliver([])
            self._link.close()
        except BaseException as error:
            self._failure = f"{type(error).__name__}: {error}"
            log.exception("ingest has ended")
            raise

    def _handle(self, batch: list[Arrived]) -> None:
        delay_s = _RETRY_S[0]
        while not self._stopping.is_set():
            self._pulse.beat()
            try:
                outcomes = self._store([arrived.message for arrived in batch])
            except sa.exc.SQLAlchemyError as error:
                # the broker keeps them; nothing is acknowledged until the ledger takes them
                self._fail(f"the ledger does not take readings: {getattr(error, 'orig', None) or error}")
                self._stopping.wait(delay_s)
                delay_s = min(2 * delay_s, _RETRY_S[1])
                continue
            self._recover()
            for outcome in outcomes:
                self._tell(outcome)
            for arrived in batch:
                self._link.ack(arrived)
            self._deliver(outcomes)
            for outcome in outcomes:
                for due in outcome.custody:
                    self._link.publish(*self._intake.custody_payload(due))
            return

    def _deliver(self, outcomes: list[Outcome]) -> None:
        """Send what waits for nodes. What fails here must not hold up readings: it is said and tried again."""
        try:
            for outcome in outcomes:
                self._send(self._delivery.answer(outcome.online, outcome.replies))
            self._send(self._delivery.due())
        except Exception as error:
            said = f"commands and configurations do not go out: {type(error).__name__}: {error}"
            if self._undelivered is None:
                log.error("downlink waits", reason=said, exc_info=not isinstance(error, sa.exc.SQLAlchemyError))
            self._undelivered = said
            return
        self._undelivered = None

    def _send(self, messages: list[Outgoing]) -> None:
        if messages:
            with self._clock.busy("downlink"):
                taken = [each for each in messages if self._link.publish(each.topic, each.payload, retain=each.retain)]
                self._delivery.sent(taken)

    def _store(self, messages: list[Message]) -> list[Outcome]:
        """Store a batch; a message that this program fails on goes alone to the dead letters."""
        try:
            return [self._intake.store(messages)]
        except Exception as error:
            if ledger_is_out(error):
                raise
            if len(messages) > 1:
                half = len(messages) // 2
                return self._store(messages[:half]) + self._store(messages[half:])
            log.exception("a message could not be handled", topic=messages[0].topic)
            detail = f"{type(error).__name__}: {error}"
            self._intake.store_as_letter(messages[0], "handler_error", detail)
            self._report("gateway", "handler_error", f"{messages[0].topic}: {detail}")
            return []

    def _tell(self, outcome: Outcome) -> None:
        for (node, fault), detail in outcome.faults.items():
            self._report(node, fault, detail)

    def _report(self, node: str, fault: str, detail: str) -> None:
        log.warning("fault", node=node, fault=fault, detail=detail)
        if self._on_fault is not None:
            self._on_fault(node, fault, detail)

    def _fail(self, reason: str) -> None:
        if self._failure is None:
            log.error("ingest waits", reason=reason)
        self._failure = reason

    def _recover(self) -> None:
        if self._failure is not None:
            log.info("ingest goes on")
        self._failure = None


def ledger_is_out(error: Exception) -> bool:
    """Whether the database itself fails (locked, full, gone), as against what was asked of it."""
    if isinstance(error, sa.exc.TimeoutError):
        return True
    asked = (sa.exc.IntegrityError, sa.exc.DataError, sa.exc.ProgrammingError, sa.exc.NotSupportedError)
    return isinstance(error, sa.exc.DBAPIError) and not isinstance(error, asked)
