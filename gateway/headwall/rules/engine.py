"""The rule engine: follows the ledger's append position and lets each rule judge what is new.

What the rules write and the cursor move in one transaction. A rule that raises for one site does not stop the
others: the site's stretch is kept as an open notice and tried again, and the engine is unhealthy until it succeeds.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Mapping
from datetime import date

import sqlalchemy as sa
import structlog

from headwall.clock import Clock
from headwall.codes import Codes
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.newest import newest as newest_rows
from headwall.ledger.reads import Reading, readings_after
from headwall.pulse import Pulse
from headwall.registry import Registry
from headwall.rules import notices
from headwall.rules.base import Rule, Step
from headwall.rules.case_clocks import CaseClockRule
from headwall.rules.clause_duties import ClauseDutyRule
from headwall.rules.daily_list import DailyListRule
from headwall.rules.device_neglect import DeviceNeglectRule
from headwall.rules.gauge_silent import GaugeSilentRule, SilentGauges
from headwall.rules.layers import Layers, Stretch
from headwall.rules.lost_tips import LostTipsRule
from headwall.rules.node_faults import NodeFaultRule, Report
from headwall.rules.outfalls import OutfallRule
from headwall.rules.rain import RainReading, valid
from headwall.rules.rain_missing import RainMissingRule
from headwall.rules.reminders import ReminderRule
from headwall.rules.sensor_faults import SENSOR, SensorFaultRule
from headwall.rules.site_signs import SiteSignRule
from headwall.rules.spills import SpillRule
from headwall.rules.storm import StormReportRule
from headwall.settings import NotifySettings, RulesSettings

log = structlog.get_logger("rules")
CURSOR = "rules"
# SQLite knows no FOR UPDATE and needs none: its writers queue when they begin
_LOCKED_CURSOR = sa.select(schema.cursors.c.pos).where(schema.cursors.c.name == CURSOR).with_for_update()
_NEWEST_TOLD = sa.select(sa.func.max(schema.outbox.c.id))
_CODES = "codes"
_FAILED = "rule_failed"
_RETRY_US = 60_000_000
#: looked at again after so long even if nobody announced anything: another process may have written
_POLL_US = 300_000_000
_SUBJECT_CHARS = 128  # of the column; the body holds it whole


class RuleEngine:
    """Runs the rules of this gateway; `start` and `stop` a thread, or call `step` yourself.

    Args:
        profiles: by the name that the registry's municipalities give.
        settings, notify: None for the defaults.
    """

    def __init__(
        self,
        ledger: Ledger,
        registry: Registry,
        profiles: Mapping[str, Profile],
        clock: Clock,
        settings: RulesSettings | None = None,
        notify: NotifySettings | None = None,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._settings = settings or RulesSettings()
        self._registry = registry
        self._codes = Codes(profiles)
        self._faults = NodeFaultRule(ledger, registry)
        silent = SilentGauges()
        historical_us = int(self._settings.historical_after_days * 86_400_000_000)
        self._rules: list[Rule] = [
            GaugeSilentRule(registry, silent, clock.now_us()),  # before the storms, whose gaps it makes known
            StormReportRule(registry, self._codes, silent, historical_us, self.report_fault),
            RainMissingRule(registry),
            LostTipsRule(ledger, self._faults),  # whose reports the last one tells
            OutfallRule(ledger, registry, self._codes, historical_us),
            SiteSignRule(ledger, registry, self._codes, historical_us),
            ClauseDutyRule(registry, self._codes, historical_us),
            SensorFaultRule(registry, self._faults, clock.now_us()),
            self._faults,
            DeviceNeglectRule(registry),
            SpillRule(ledger, registry),
            CaseClockRule(registry, self._codes),
            ReminderRule(registry, notify or NotifySettings()),  # of what those before have made due
            DailyListRule(registry, notify or NotifySettings()),
        ]
        self._gauges = {
            (node.id, stream.name): f"{node.id}/{stream.name}"
            for node in registry.nodes
            for stream in node.datastreams
            if stream.quantity == "tips"
        }
        self._sensors = {
            (node.id, stream.name): f"{node.id}/{stream.name}"
            for node in registry.nodes
            for stream in node.datastreams
            if stream.quantity != "tips"
        }
        self._pos: int | None = None
        self._layers = Layers(ledger, registry)
        self._failing: dict[str, str] = {}
        self._retry_us = 0
        self._outbox: int | None = None
        self._broken: str | None = None
        self._wake = ledger.listen()
        self._stopping = False
        self._pulse = Pulse()
        self._thread: threading.Thread | None = None

    # --- the thread ---

    def start(self) -> None:
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="rules", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the step under way and end the thread."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def healthy(self) -> str | None:
        """None, or what is wrong."""
        if self._broken is not None:
            return self._broken
        if self._thread is not None and not self._thread.is_alive():
            return "the thread has ended"
        if self._failing:
            return "; ".join(f"{subject}: {error}" for subject, error in sorted(self._failing.items()))
        return None

    def stuck(self) -> str | None:
        return self._pulse.stuck(self._thread)

    def report_fault(self, node: str, fault: str, detail: str) -> None:
        """From any thread: something at a node ("gateway": at this gateway) that a person must mend."""
        self._faults.report(Report(node, fault, detail))
        self._wake.set()

    def _run(self) -> None:
        self._pulse.beat()
        while not self._stopping:
            self._wake.clear()
            try:
                with self._clock.busy("rules"):
                    while self.step() and not self._stopping:
                        self._pulse.beat()
                until_us = self._next_us()
            except Exception as error:
                self._broken = f"{type(error).__name__}: {error}"
                log.exception("step failed; tried again")
                until_us = self._clock.now_us() + _RETRY_US
            if not self._stopping:
                with self._pulse.resting():
                    self._clock.wait(self._wake, until_us)

    def _next_us(self) -> int:
        named = [rule.next_us() for rule in self._rules]
        instants = [self._clock.now_us() + _POLL_US, *(each for each in named if each is not None)]
        if self._failing:
            instants.append(self._retry_us)
        return min(instants)

    # --- one step ---

    def step(self) -> int:
        """Judge the next readings, at most a batch, and what timers and persons have brought; 0 when all is judged.

        What persons have entered is judged first and by itself, so that what it changes can be told apart.
        """
        if not self._failing:
            try:
                return self._step(careful=False)
            except (sa.exc.OperationalError, sa.exc.InterfaceError):
                raise
            except Exception as error:
                log.info("step failed; done again with care", error=f"{type(error).__name__}: {error}")
        return self._step(careful=True)

    def _step(self, *, careful: bool) -> int:
        try:
            with self._ledger.begin() as conn:
                pos = self._lock_cursor(conn)
                if pos != self._pos:
                    self._forget()  # the first step, or another process has gone on
                decided, changed = self._read_codes(conn)
                newest = newest_rows(conn)
                changed += self._layers.follow(conn, newest, [*self._gauges.values(), *self._sensors.values()])
                readings = [] if changed else readings_after(conn, pos, self._settings.batch_readings)
                through = readings[-1].pos if readings else pos
                step = Step(
                    conn, self._clock.now_us(), through, newest, self._layers,
                    decided_since=decided, again=list(changed), careful=careful,
                )  # fmt: skip
                retried = self._gather(step, readings)
                for rule in self._rules:
                    self._judge(rule, step)
                failing = self._note_failures(step, retried)
                outbox = conn.execute(_NEWEST_TOLD).scalar()
                if through != pos:
                    self._ledger.set_cursor(conn, CURSOR, through)
        except BaseException:
            self._pos = None
            raise
        self._faults.settle()
        self._pos, self._failing, self._broken = through, failing, None
        if outbox != self._outbox:
            self._outbox = outbox
            self._ledger.announce()
        return len(readings) or len(changed)

    def _lock_cursor(self, conn: sa.Connection) -> int:
        """This follower's position; other engines on the same ledger wait until the step commits."""
        found = conn.execute(_LOCKED_CURSOR).scalar()
        if found is None:
            self._ledger.set_cursor(conn, CURSOR, 0)
        return int(found or 0)

    def _forget(self) -> None:
        for rule in self._rules:
            rule.forget()
        self._layers.forget()
        self._codes.forget()
        self._retry_us = 0

    def _read_codes(self, conn: sa.Connection) -> tuple[date | None, list[Stretch]]:
        """What persons have decided about the codes: since which day it holds, and what rain it touches from then on.

        Every rule forgets what it has kept, since it may have been worked out with what was before.
        """
        newest = self._codes.follow(conn)
        if newest is None:
            return None, []
        for rule in self._rules:
            rule.forget()
        judged = self._ledger.cursor(conn, _CODES)
        if newest == judged:
            return None, []
        self._ledger.set_cursor(conn, _CODES, newest)
        now_us, found = self._clock.now_us(), []
        decided = list(self._codes.since(conn, judged))
        for each in decided:
            for datastream in self._gauges.values():
                node = self._registry.node(datastream.partition("/")[0])
                assert node is not None  # the gauges are the registry's
                since_us = localtime.midnight_us(each.since, self._registry.zone_of_node(node))
                found.append(Stretch(datastream, min(since_us, now_us), now_us, each.told))
        return min((each.since for each in decided), default=None), found

    def _gather(self, step: Step, readings: list[Reading]) -> set[str]:
        """Fill the step; returns the keys of failures that are tried again."""
        rain: dict[str, list[RainReading]] = defaultdict(list)
        for reading in readings:
            datastream = self._gauges.get((reading.node, reading.stream))
            if datastream is None:
                self._note_sensor(step, reading)
                continue
            judged = valid(reading, self._layers.of(step.conn, datastream))
            if judged is not None:
                rain[datastream].append(judged)
        step.rain = dict(rain)
        return self._retry(step)

    def _note_sensor(self, step: Step, reading: Reading) -> None:
        datastream = self._sensors.get((reading.node, reading.stream))
        if datastream is not None and reading.time_us is not None:
            first_us = step.measured.get(datastream, reading.time_us)
            step.measured[datastream] = min(first_us, reading.time_us)
        over = reading.value is not None and not self._faults.stands(step.conn, reading.node, SENSOR, reading.stream)
        if datastream is not None and not over:
            step.sensors.add(datastream)

    def _judge(self, rule: Rule, step: Step) -> None:
        if not step.careful:
            rule.judge(step)
            return
        try:
            with step.conn.begin_nested():
                rule.judge(step)
        except (sa.exc.OperationalError, sa.exc.InterfaceError):
            raise
        except Exception as error:
            log.exception("rule failed", rule=rule.name)
            rule.forget()
            why = f"{type(error).__name__}: {error}"
            for stretch in _stretches(step):
                step.failures[f"rule {rule.name}, {stretch.datastream}".removesuffix(", ")] = (stretch, why)

    # --- failures ---

    def _retry(self, step: Step) -> set[str]:
        if step.now_us < self._retry_us:
            return set()
        retried = set()
        for key, body in notices.open_ones(step.conn, _FAILED):
            retried.add(key)
            if body["datastream"]:
                step.again.append(Stretch(body["datastream"], body["start_us"], body["end_us"]))
        return retried

    def _note_failures(self, step: Step, retried: set[str]) -> dict[str, str]:
        """Keep what failed, close what was tried again and did not; returns every failure that stands."""
        open_now = dict(notices.open_ones(step.conn, _FAILED))
        for subject, (stretch, error) in step.failures.items():
            key = _failure_key(subject)
            before = open_now.get(key, {"start_us": stretch.start_us, "end_us": stretch.end_us})
            body = {
                "subject": subject,
                "datastream": stretch.datastream,
                "start_us": min(stretch.start_us, before["start_us"]),
                "end_us": max(stretch.end_us, before["end_us"]),
                "error": error,
            }
            notices.put(step.conn, _FAILED, subject[:_SUBJECT_CHARS], key, body, step.now_us)
            open_now[key] = body
        for key in retried - {_failure_key(subject) for subject in step.failures}:
            notices.close(step.conn, key, step.now_us)
            open_now.pop(key, None)
        self._retry_us = step.now_us + _RETRY_US if open_now else 0
        return {body["subject"]: body["error"] for body in open_now.values()}


def _stretches(step: Step) -> list[Stretch]:
    """What a step brought of each gauge, new and to be judged again; where it brought nothing one that names none."""
    touched: dict[str, list[int]] = defaultdict(list)
    for name, readings in step.rain.items():
        touched[name] += (reading.time_us for reading in readings)
    for again in step.again:
        touched[again.datastream] += (again.start_us, again.end_us)
    touched = touched or {"": [step.now_us]}
    return [Stretch(name, min(times), max(times)) for name, times in touched.items()]


def _failure_key(subject: str) -> str:
    return f"{_FAILED}/{hashlib.sha256(subject.encode()).hexdigest()[:32]}"
