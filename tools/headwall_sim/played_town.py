"""Ledger, rule engine and mailer of a registry, played in process: the clock goes from one instant at which something
happens to the next, those of rules and mails among them.

Nothing is faked but the clock, the SMTP server, and the picture of a storm, which takes longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from threading import Event
from typing import Any, Final
from unittest.mock import patch

from headwall.clock import from_us
from headwall.law.profile import load_profile
from headwall.ledger import schema
from headwall.ledger.append import NewReading
from headwall.ledger.ledger import Ledger
from headwall.notify import hyetograph
from headwall.notify.mailer import Mailer
from headwall.notify.smtp import Outcome
from headwall.registry import Registry
from headwall.rules.engine import RuleEngine
from headwall.settings import Settings

#: rules that sweep every few minutes for what has fallen silent: they would be most steps of a play
_SWEEP: Final = frozenset({"gauge_silent", "rain_missing", "sensor_faults", "node_faults", "device_neglect"})
#: a timer that comes again and again without the clock going on is a fault
_MOST_TIMERS: Final = 5000


class _Clock:
    """Stands where the play puts it."""

    def __init__(self, now_us: int) -> None:
        self.now = now_us

    def now_us(self) -> int:
        return self.now

    def wait(self, wake: Event, until_us: int | None) -> bool:
        raise NotImplementedError("nothing waits in a play: it calls each part")

    def busy(self, what: str) -> Any:
        raise NotImplementedError("nothing waits in a play: it calls each part")


class _Inbox:
    """Takes every mail at once, as a good SMTP server does."""

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def send(self, _sender: str, _recipient: str, _message: bytes) -> Outcome:
        return Outcome("sent")


def no_pictures() -> AbstractContextManager[object]:
    """Within it a mail's picture of a storm is not drawn."""
    return patch.object(hyetograph, "draw", lambda _: b"a picture")


class PlayedTown:
    """Every datastream is accepted.

    Args:
        name: what an error calls the play.
        ledger: without rows; whoever has opened it closes it.
        sweeps: with the timers of the rules that look for what has fallen silent.

    Attributes:
        judge_at_us: an instant at which all is judged if nothing else comes before.
        steps: passes of the rule engine so far.
    """

    def __init__(
        self, name: str, ledger: Ledger, settings: Settings, registry: Registry, begins_us: int, *, sweeps: bool = False
    ) -> None:
        self._name = name
        self.registry = registry
        self.clock = _Clock(begins_us)
        self.ledger = ledger
        self.profiles = {each.profile: load_profile(each.profile) for each in registry.municipalities}
        self._engine = RuleEngine(self.ledger, registry, self.profiles, self.clock, settings.rules, settings.notify)
        self._mailer = Mailer(settings.smtp, settings.notify, self.ledger, registry, self.profiles, self.clock)
        self._mailer._sender = _Inbox()  # type: ignore[assignment]
        self._timed = [rule for rule in self._engine._rules if sweeps or rule.name not in _SWEEP]
        self._mail_us: int | None = None
        self._seq = 0
        self.judge_at_us: int | None = None
        self.steps = 0
        with self.ledger.begin() as conn:
            for datastream in registry.datastream_ids():
                node, _, stream = datastream.partition("/")
                conn.execute(schema.acceptances.insert().values(node=node, stream=stream, by="Olive Officer", at_us=0))

    def go_on(self, until_us: int) -> None:
        """Let the clock go to an instant; what rules and mails wait for happens on the way."""
        for _ in range(_MOST_TIMERS):
            next_us = min(self._timers(), default=until_us + 1)
            self.clock.now = min(next_us, until_us)
            if next_us > until_us:
                return
            self.judge()
        raise AssertionError(f"{self._where()}: timers do not let the clock go on")

    def _timers(self) -> list[int]:
        found = [*(rule.next_us() for rule in self._timed), self._mail_us, self.judge_at_us]
        return [each for each in found if each is not None and each > self.clock.now]

    def judge(self) -> None:
        """All is judged and mailed that there is by now; AssertionError where a rule or a mail fails."""
        self.judge_at_us = None
        more = True
        while more:
            self.steps += 1
            judged = self._engine.step()
            due = (rule.next_us() for rule in self._timed)
            more = bool(judged) or any(each is not None and each <= self.clock.now for each in due)
        assert self._engine.healthy() is None, f"{self._where()}: {self._engine.healthy()}"
        self._mail_us = self._mailer.step()
        assert self._mailer.healthy() is None, f"{self._where()}: {self._mailer.healthy()}"

    def _where(self) -> str:
        return f"{self._name} at {from_us(self.clock.now)}"

    def readings(
        self, datastream: str, measured: Iterable[tuple[int, float | None]], null: str = ""
    ) -> Iterator[NewReading]:
        """Readings (measured at, value) that come in now; without a value for the reason `null`."""
        node, _, stream = datastream.partition("/")
        for time_us, value in measured:
            self._seq += 1
            yield NewReading(
                node=node, stream=stream, jid="0123456789abcdef", seq=self._seq, time_us=time_us, boot=None,
                uptime_ms=None, value=value, total=None, null_reason=null if value is None else None, quality=1,
                quarantine=None, source="node", received_us=self.clock.now,
            )  # fmt: skip
