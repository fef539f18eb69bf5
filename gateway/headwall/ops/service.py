"""The service: builds the parts from the settings, starts them in order, watches them, stops them.

Parts follow the ledger on their own, so none of them calls another: ingest commits, and rules, forwarder
and mailer read on from where their cursors stand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa
import structlog

from headwall.clock import Clock, from_us
from headwall.errors import HeadwallError
from headwall.influx.forwarder import Forwarder
from headwall.ingest.service import IngestService
from headwall.law.profile import load_profile
from headwall.ledger.ledger import Ledger
from headwall.notify.mailer import Mailer
from headwall.ops.check import is_unset
from headwall.registry.load import load_registry
from headwall.rules.engine import RuleEngine
from headwall.settings import Settings
from headwall.web.app import WebServer, create_app

log = structlog.get_logger("service")


class Part(Protocol):
    """What the service needs of each part.

    `healthy` is None or the reason why it is not, an outage of what it talks to included; `stuck` is None or why
    nothing but a restart would help: its thread has ended, or hangs.
    """

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def healthy(self) -> str | None: ...

    def stuck(self) -> str | None: ...


@dataclass
class _Named:
    name: str
    part: Part


class Service:
    """One gateway. `start`, `stop`, and `health` by part; everything durable is in the ledger."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        if is_unset(settings, clock):  # it would quarantine every reading as one from the future
            raise HeadwallError(f"this machine's clock shows {from_us(clock.now_us()):%Y-%m-%d}: set it, by NTP")
        self._settings = settings
        self._clock = clock
        self.ledger = Ledger.open(settings.ledger.url)
        self.registry = load_registry(settings.registry)
        self.profiles = {m.profile: load_profile(m.profile) for m in self.registry.municipalities}
        self._parts = self._build()
        self._started: list[_Named] = []

    def _build(self) -> list[_Named]:
        s, common = self._settings, (self.ledger, self.registry)
        engine = RuleEngine(*common, self.profiles, self._clock, s.rules, s.notify)
        parts = [_Named("mail", Mailer(s.smtp, s.notify, *common, self.profiles, self._clock))]
        parts.append(_Named("rules", engine))
        if s.influx is not None:
            parts.append(_Named("influx", Forwarder(s.influx, self.ledger, self._clock, on_fault=engine.report_fault)))
        if s.web.enabled:
            app = create_app(*common, self.profiles, self._clock, self.health, s.notify)
            parts.append(_Named("web", WebServer(app, s.web.host, s.web.port)))
        ingest = IngestService(s.mqtt, s.ingest, *common, self._clock, on_fault=engine.report_fault)
        parts.append(_Named("ingest", ingest))  # last: nothing comes in before everything listens
        return parts

    def start(self) -> None:
        """Start every part; if one cannot start, those before it are stopped again and its error is raised."""
        try:
            for named in self._parts:
                named.part.start()
                self._started.append(named)
                log.info("started", part=named.name)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop in reverse order, ingest first. Whatever was not done is done after the next start."""
        while self._started:
            named = self._started.pop()
            named.part.stop()
            log.info("stopped", part=named.name)
        self.ledger.close()

    def health(self) -> dict[str, str]:
        """The parts that are unhealthy, with the reason; empty when all is well."""
        found = {named.name: named.part.healthy() for named in self._started}
        return {name: reason for name, reason in found.items() if reason is not None}

    def stuck(self) -> dict[str, str]:
        """The parts that only a restart can help, with the reason."""
        found = {named.name: named.part.stuck() for named in self._started}
        return {name: reason for name, reason in found.items() if reason is not None}

    def watch(self, stop: threading.Event, feed: Callable[[], None], every_s: float = 5.0) -> None:
        """Until `stop` is set: look at every part, log each change once, and call `feed` unless one is stuck.

        What a person has entered by a command is announced here, so that it is judged within seconds.

        An outage of the broker, of InfluxDB or of the mail server, or a full disk, does not withhold `feed`: the
        parts survive it, and a restart over and over would only add to it.
        """
        health: dict[str, str] = {}
        stuck: dict[str, str] = {}
        while not stop.wait(every_s):
            health = _log_changes("unhealthy", "healthy again", health, self.health())
            stuck = _log_changes("stuck", "gets on again", stuck, self.stuck())
            with suppress(sa.exc.SQLAlchemyError):  # the parts that follow the ledger say so
                self.ledger.announce_rows()
            if not stuck:
                feed()


def _log_changes(bad: str, good: str, before: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    for name in now.keys() - before.keys():
        log.error(bad, part=name, reason=now[name])
    for name in before.keys() - now.keys():
        log.info(good, part=name)
    return now
