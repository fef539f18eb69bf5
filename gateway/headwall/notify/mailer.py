"""The mailer: follows the outbox, composes what is due, hands it to the SMTP server, and says what became of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

import sqlalchemy as sa
import structlog

from headwall.clock import Clock
from headwall.law.localtime import HOUR_US
from headwall.law.profile import Profile
from headwall.ledger.ledger import Ledger
from headwall.notify import outbox, pace
from headwall.notify.compose import Composer
from headwall.notify.grouping import Batch, plan, settled
from headwall.notify.smtp import Outcome, SmtpSender, SmtpUnavailableError
from headwall.pulse import Pulse
from headwall.registry import Registry
from headwall.settings import NotifySettings, SmtpSettings

log = structlog.get_logger("mail")

_NEVER_US = 2**62
_FIRST_RETRY_US = 30_000_000
_FINISH_WITHIN_S = 5.0  # a dialogue under way may end by itself; then it is cut
_CUT_WITHIN_S = 4.0
_AFTER_FAULT_US = 30_000_000
#: looked at again after so long even if nobody announced anything: a person may have had failed mails tried again
_POLL_US = 300_000_000


@dataclass(frozen=True)
class _Waits:
    """What a pass has seen that made no mail: another pass would see the same until a row comes or goes, or an instant.

    What a waiting row says may change meanwhile, which nearly always lets it wait longer: it is read again in an hour.
    """

    newest: tuple[int | None, int]
    at_us: int
    next_us: int | None

    def still(self, newest: tuple[int | None, int], now_us: int) -> bool:
        until_us = min(self.at_us + HOUR_US, _NEVER_US if self.next_us is None else self.next_us)
        return newest == self.newest and self.at_us <= now_us < until_us


class Mailer:
    """Turns outbox rows into mails and mails into SMTP hand-overs. `step` is one pass; `start` runs it in a thread.

    Args:
        smtp: the server and the account.
        notify: digest time, grouping, the address of the page.
        profiles: law profiles by file name.
    """

    def __init__(
        self,
        smtp: SmtpSettings,
        notify: NotifySettings,
        ledger: Ledger,
        registry: Registry,
        profiles: Mapping[str, Profile],
        clock: Clock,
    ) -> None:
        self._smtp = smtp
        self._notify = notify
        self._ledger = ledger
        self._clock = clock
        self._composer = Composer(smtp, notify, ledger, registry, profiles)
        self._sender = SmtpSender(smtp)
        self._wake = ledger.listen()
        self._stopping = threading.Event()
        self._pulse = Pulse()
        self._thread: threading.Thread | None = None
        self._server_fault: str | None = None
        self._fault: str | None = None
        self._logged: set[str] = set()
        self._waits: _Waits | None = None

    # --- running ---

    def start(self) -> None:
        """Run in a thread of its own, until `stop`."""
        if self._thread is not None:
            raise RuntimeError("the mailer already runs; stop() it first")
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="mailer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop within ten seconds. A dialogue that does not end by then is cut, its mail marked as possibly sent."""
        thread, self._thread = self._thread, None
        self._stopping.set()
        self._wake.set()
        if thread is None:
            return
        thread.join(_FINISH_WITHIN_S)
        if thread.is_alive():
            self._sender.abort()
            thread.join(_CUT_WITHIN_S)
        if thread.is_alive():
            log.warning("the SMTP server does not let go; left behind, its mail counts as possibly sent")

    def healthy(self) -> str | None:
        """None, or why mails do not go out."""
        if self._thread is not None and not self._thread.is_alive():
            return "the mailer's thread has ended; restart the service and report its log"
        return self._fault or self._server_fault

    def stuck(self) -> str | None:
        return self._pulse.stuck(self._thread)

    def _run(self) -> None:
        self._pulse.beat()
        while not self._stopping.is_set():
            self._wake.clear()
            next_us = self._guarded_step()
            if not self._stopping.is_set():
                with self._pulse.resting():
                    self._clock.wait(self._wake, next_us)

    def _guarded_step(self) -> int:
        """A pass whose failure (a full disk, a locked ledger) is said and tried again, so that mail never just ends."""
        try:
            with self._clock.busy("mail"):
                next_us = min(self.step() or _NEVER_US, self._clock.now_us() + _POLL_US)
        except Exception as error:
            self._fault = f"a pass over the outbox failed: {type(error).__name__}: {error}"
            log.exception("pass failed")
            return self._clock.now_us() + _AFTER_FAULT_US
        return next_us

    # --- one pass ---

    def step(self) -> int | None:
        """Compose and send all that is due now. Returns the instant of the next pass, None for "when told"."""
        compose_next_us = self._compose_due()
        self._send_due()
        with self._ledger.read() as conn:
            send_next_us = outbox.next_try_us(conn)
        known = [instant for instant in (compose_next_us, send_next_us) if instant is not None]
        return min(known, default=None)

    def _compose_due(self) -> int | None:
        now_us, group_us = self._clock.now_us(), round(self._notify.group_s * 1e6)
        with self._ledger.read() as conn:
            newest = outbox.newest_waiting(conn)
            if self._waits is not None and self._waits.still(newest, now_us):
                return self._waits.next_us
            waiting = outbox.waiting(conn)
            last_urgent = outbox.last_urgent_us(conn, now_us - group_us) if waiting else {}
            rows, held_us = self._paced(conn, waiting, now_us) if waiting else ([], None)
        found = plan(rows, last_urgent, now_us, group_us, self._composer.digest_after)
        self._fault = self._waits = None
        results = [self._compose(batch, now_us) for batch in found.batches]
        soon_us = None if all(results) else now_us + _AFTER_FAULT_US
        next_us = min((instant for instant in (soon_us, held_us, found.next_us) if instant is not None), default=None)
        if not found.batches:
            self._waits = _Waits(newest, now_us, next_us)
        return next_us

    def _paced(self, conn: sa.Connection, waiting: list[outbox.Waiting], now_us: int) -> pace.Held:
        """The rows that may go now: what flaps goes into the digest, what can wait has waited."""
        notify = self._notify
        flap_us, apart_us = _us(notify.flap_h), _us(notify.storm_apart_h)
        flapping = [row for row in waiting if row.kind in pace.FLAPS]
        since_us = min((row.at_us for row in flapping), default=now_us) - flap_us
        written = outbox.written_us(conn, {row.person for row in flapping}, pace.FLAPS, since_us)
        rows = pace.calmed(waiting, pace.by_matter(written), flap_us)
        rows, settled_us = settled(rows, now_us, notify.late_after_us, round(notify.late_settle_s * 1e6))
        rows, morning_us = pace.hold_at_night(rows, now_us, _us(notify.urgent_h), self._composer.quiet_until(now_us))
        storms = outbox.storm_mails_us(conn, {row.person for row in rows}, pace.first_rain_us(rows, now_us) - apart_us)
        before_due_us = _us(notify.storm_due_h)
        rows, storm_us = pace.hold_for_storm(
            rows, storms, now_us, most=notify.storm_mails, apart_us=apart_us, before_due_us=before_due_us
        )
        held = [instant for instant in (settled_us, morning_us, storm_us) if instant is not None]
        return rows, min(held, default=None)

    def _compose(self, batch: Batch, now_us: int) -> bool:
        """Compose and queue one mail. A fact that cannot be told is said and must not hold up the others."""
        self._pulse.beat()
        try:
            mail = self._composer.mail(batch, now_us)
        except Exception as error:
            if len(batch.rows) > 1 and not isinstance(error, sa.exc.DBAPIError):
                half = len(batch.rows) // 2
                parts = [replace(batch, rows=rows) for rows in (batch.rows[:half], batch.rows[half:])]
                composed = [self._compose(part, now_us) for part in parts]
                return all(composed)
            self._note_uncomposed(batch, error)
            return False
        if mail.undeliverable:
            log.error("mail failed", message_id=mail.message_id, to=mail.recipient, reason=mail.undeliverable)
        return outbox.queue(self._ledger, mail, batch.rows, now_us)

    def _note_uncomposed(self, batch: Batch, error: Exception) -> None:
        """Keep the reason for `healthy`, and log it once, not at every try."""
        facts = ", ".join(row.fact for row in batch.rows)
        self._fault = f"no mail could be composed for {batch.person} ({facts}): {type(error).__name__}: {error}"
        if self._fault not in self._logged:
            self._logged.add(self._fault)
            log.error("compose failed", person=batch.person, facts=facts, exc_info=error)

    def _send_due(self) -> None:
        try:
            while not self._stopping.is_set():
                with self._ledger.read() as conn:
                    mails = outbox.due_mails(conn, self._clock.now_us())
                if not mails:
                    return
                self._send_all(mails)
        finally:
            self._sender.close()

    def _send_all(self, mails: list[outbox.Queued]) -> None:
        """Hand mails over on one connection; if there is none, one attempt at it stands for all."""
        for i, mail in enumerate(mails):
            if self._stopping.is_set():
                return
            self._pulse.beat()
            try:
                self._sender.open()
            except SmtpUnavailableError as error:
                self._server_fault = str(error)
                for each in mails[i:]:
                    self._retry(each, str(error), dialogue=False)
                return
            self._send(mail)

    def _send(self, mail: outbox.Queued) -> None:
        outbox.begin_hand_over(self._ledger, mail)
        outcome = self._sender.send(self._smtp.sender, mail.recipient, mail.eml)
        self._server_fault = None if outcome.result in ("sent", "refused") else outcome.reason
        self._record(mail, outcome)

    def _record(self, mail: outbox.Queued, outcome: Outcome) -> None:
        if outcome.result == "sent":
            outbox.mark_sent(self._ledger, mail, self._clock.now_us())
            log.info("mail sent", message_id=mail.message_id, to=mail.recipient, tries=mail.tries + 1)
        elif outcome.result == "refused":
            self._give_up(mail, outcome.reason)
        else:
            self._retry(mail, outcome.reason, maybe_sent=outcome.result == "unknown")

    def _retry(self, mail: outbox.Queued, reason: str, *, dialogue: bool = True, maybe_sent: bool = False) -> None:
        now_us = self._clock.now_us()
        if now_us - mail.at_us >= self._smtp.give_up_after_h * 3.6e9:
            self._give_up(mail, f"gave up after {self._smtp.give_up_after_h:g} h; last: {reason}")
            return
        next_us = now_us + retry_after_us(mail.tries + 1)
        if dialogue:
            outbox.mark_later(self._ledger, mail, reason, next_us, maybe_sent=maybe_sent)
        else:
            outbox.count_try(self._ledger, mail, reason, next_us)
        log.warning("mail not taken, will be tried again", message_id=mail.message_id, to=mail.recipient, reason=reason)

    def _give_up(self, mail: outbox.Queued, reason: str) -> None:
        outbox.mark_failed(self._ledger, mail, reason)
        log.error("mail failed", message_id=mail.message_id, to=mail.recipient, reason=reason)


def retry_after_us(tries: int) -> int:
    """How long to wait after so many tries: 30 s, doubling, at most an hour."""
    return min(_FIRST_RETRY_US << min(tries - 1, 20), outbox.LONGEST_RETRY_US)


def _us(hours: float) -> int:
    return round(hours * HOUR_US)
