#!/usr/bin/env python3
"""Ingest: readings/s of the way in without a broker, then messages/s and readings/s of the whole path over a real
mosquitto with TLS (MQTT 5, QoS 1, manual acknowledgement; parse, checks, commit, custody, and the rules that follow)
beside a bare paho receiver that puts the same payloads into SQLite unread, in the same run.

The messages wait in the broker when the clock starts, so that no publisher takes part. Medians of RUNS. The goal of
the design is 100,000 readings/s on 2 cores in packs of 50.

    python tools/bench/bench_ingest.py [READINGS] [RUNS]
"""

from __future__ import annotations

import logging
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import headwall_sim.demo
import msgspec
import paho.mqtt.client as paho
import sqlalchemy as sa
import structlog
from headwall.clock import SystemClock, to_us
from headwall.ingest.batch import Intake
from headwall.ingest.service import IngestService
from headwall.ingest.sorting import Message
from headwall.law.profile import load_profile
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry
from headwall.rules.engine import CURSOR, RuleEngine
from headwall.settings import IngestSettings, MqttSettings
from headwall.wire.contract import topic
from headwall_sim import parts
from headwall_sim.broker import Account, Broker, open_broker
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

GOAL = 100_000
REGISTRY = Path(headwall_sim.demo.__file__).with_name("registry.toml")
#: every reading is before it, and the demo's boards stand by then
NOW_US = to_us(datetime(2026, 11, 1, tzinfo=UTC))
START_S = int(datetime(2026, 5, 1, tzinfo=UTC).timestamp())
PASSWORD = "bench"
COMMIT_EVERY = 500  # messages, in both


class BenchClock(SystemClock):
    """The machine's clock, put where the registry of the demo holds."""

    def __init__(self) -> None:
        self._offset_us = NOW_US - super().now_us()

    def now_us(self) -> int:
        return super().now_us() + self._offset_us


def packs(registry: Registry, readings: int, per_pack: int) -> list[tuple[str, bytes]]:
    """Topic and payload of each message: a minute report of each board in turn, one in 20 a tip."""
    nodes = registry.nodes
    made = []
    for number in range(readings // per_pack):
        node, seq = nodes[number % len(nodes)], number // len(nodes) * per_pack + 1
        first = {
            "bn": f"urn:dev:mac:{node.mac}:rain.tips",
            "bu": "count",
            "bt": START_S,
            "jid": f"{int(node.mac, 16):016x}",
        }
        records = [{"t": 60 * n, "v": int(n % 20 == 0), "s": n // 20} for n in range(seq, seq + per_pack)]
        made.append((topic(node.id, "tele"), msgspec.json.encode([{**first, "seq": seq, **records[0]}, *records[1:]])))
    return made


def core(folder: Path, registry: Registry, sent: list[tuple[str, bytes]]) -> float:
    """Seconds from the payloads to the last commit, without a broker."""
    ledger = Ledger.open(f"sqlite:///{folder / 'core.db'}")
    intake = Intake(ledger, registry, IngestSettings(), BenchClock())
    messages = [Message(name, payload, NOW_US) for name, payload in sent]
    started = time.perf_counter()
    for first in range(0, len(messages), COMMIT_EVERY):
        intake.store(messages[first : first + COMMIT_EVERY])
    took = time.perf_counter() - started
    ledger.close()
    return took


# --- over the broker ---


def publish(broker: Broker, sent: list[tuple[str, bytes]]) -> None:
    """Hand the messages to the broker, each by the account of its board."""
    for node in sorted({name.split("/")[2] for name, _ in sent}):
        client = paho.Client(CallbackAPIVersion.VERSION2, client_id=f"bench-{node}")
        client.username_pw_set(node, PASSWORD)
        client.tls_set(ca_certs=str(broker.ca.cert))
        client.max_inflight_messages_set(500)
        client.connect(broker.host, broker.port_311)
        client.loop_start()
        infos = [client.publish(name, payload, qos=1) for name, payload in sent if name.split("/")[2] == node]
        for info in infos:
            info.wait_for_publish(60)
        client.disconnect()
        client.loop_stop()


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not true():
        if time.monotonic() > end:
            raise RuntimeError("not done within 300 s")
        time.sleep(0.005)


def headwall(
    broker: Broker, folder: Path, registry: Registry, sent: list[tuple[str, bytes]], readings: int, rules: bool
) -> float:
    """Seconds from the start of the gateway until every reading is stored and, with `rules`, judged."""
    ledger = Ledger.open(f"sqlite:///{folder / 'headwall.db'}")
    clock = BenchClock()
    service = _service(broker, ledger, registry, clock)
    service.start()  # makes the session
    wait_for(lambda: service.healthy() is None)
    service.stop()
    publish(broker, sent)
    service = _service(broker, ledger, registry, clock)
    profiles = {each.profile: load_profile(each.profile) for each in registry.municipalities}
    engine = RuleEngine(ledger, registry, profiles, clock)
    started = time.perf_counter()
    if rules:
        engine.start()
    service.start()
    wait_for(lambda: _through(ledger, rules) >= readings)
    took = time.perf_counter() - started
    service.stop()
    engine.stop()
    ledger.close()
    return took


def _service(broker: Broker, ledger: Ledger, registry: Registry, clock: BenchClock) -> IngestService:
    settings = MqttSettings.model_validate(
        {
            "host": broker.host,
            "port": broker.port_5,
            "username": "gateway",
            "password": PASSWORD,
            "ca_file": broker.ca.cert,
        }
    )
    return IngestService(settings, IngestSettings(batch_messages=COMMIT_EVERY), ledger, registry, clock)


def _through(ledger: Ledger, rules: bool) -> int:
    with ledger.read() as conn:
        if rules:
            return ledger.cursor(conn, CURSOR)
        return conn.execute(sa.select(schema.append_position.c.pos)).scalar_one()


class Bare:
    """paho and SQLite (WAL, FULL): each payload a row, a commit every so many, then the acknowledgements."""

    def __init__(self, broker: Broker, file: Path) -> None:
        self._broker = broker
        self._file = file
        self.stored = 0
        self._waiting: list[paho.MQTTMessage] = []

    def start(self, subscribed: threading.Event) -> None:
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id="bare", protocol=paho.MQTTv5, manual_ack=True)
        self._client.username_pw_set("gateway", PASSWORD)
        self._client.tls_set(ca_certs=str(self._broker.ca.cert))
        self._client.on_connect = lambda client, *_: client.subscribe("headwall/v1/+/tele", 1)
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.on_message = self._on_message
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 3600
        properties.ReceiveMaximum = 2000
        self._client.connect(self._broker.host, self._broker.port_5, clean_start=False, properties=properties)
        self._client.loop_start()

    def stop(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _on_message(self, client: paho.Client, _userdata: Any, message: paho.MQTTMessage) -> None:
        if not hasattr(self, "_db"):
            self._db = sqlite3.connect(self._file, isolation_level=None)
            self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE m (topic, payload)")
        self._waiting.append(message)
        if len(self._waiting) < COMMIT_EVERY:
            return
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO m VALUES (?, ?)", [(m.topic, m.payload) for m in self._waiting])
        self._db.execute("COMMIT")
        for each in self._waiting:
            client.ack(each.mid, each.qos)
        self.stored += len(self._waiting)
        self._waiting.clear()


def bare(broker: Broker, folder: Path, sent: list[tuple[str, bytes]]) -> float:
    """Seconds of the bare receiver for the same messages."""
    subscribed = threading.Event()
    first = Bare(broker, folder / "unused.db")
    first.start(subscribed)
    subscribed.wait(30)
    first.stop()
    publish(broker, sent)
    receiver = Bare(broker, folder / "bare.db")
    started = time.perf_counter()
    receiver.start(threading.Event())
    wait_for(lambda: receiver.stored >= len(sent))
    took = time.perf_counter() - started
    receiver.stop()
    return took


def whole_path(registry: Registry, sent: list[tuple[str, bytes]], readings: int, runs: int) -> None:
    """All receivers, turn by turn, each with a new broker and ledger."""
    receivers: dict[str, Callable[[Broker, Path], float]] = {
        "bare paho + SQLite, unread": lambda broker, folder: bare(broker, folder, sent),
        "headwall ingest": lambda broker, folder: headwall(broker, folder, registry, sent, readings, False),
        "headwall ingest and rules": lambda broker, folder: headwall(broker, folder, registry, sent, readings, True),
    }
    took: dict[str, list[float]] = {name: [] for name in receivers}
    for _ in range(runs):
        for name, receive in receivers.items():
            took[name].append(_with_broker(registry, receive))
    first = statistics.median(next(iter(took.values())))
    for name, seconds in took.items():
        middle = statistics.median(seconds)
        report(name, len(sent), readings, middle, f"{first / middle:6.2f} of bare")


def _with_broker(registry: Registry, receive: Callable[[Broker, Path], float]) -> float:
    accounts = [*(Account(node.id, PASSWORD) for node in registry.nodes), Account("gateway", PASSWORD, "gateway")]
    with tempfile.TemporaryDirectory() as name, open_broker(Path(name) / "broker", accounts, "mosquitto") as broker:
        return receive(broker, Path(name))


def report(name: str, messages: int, readings: int, seconds: float, note: str) -> None:
    print(
        f"  {name:28}{messages / seconds:10,.0f} messages/s{readings / seconds:10,.0f} readings/s  {note}", flush=True
    )


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    readings = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    registry = load_registry(REGISTRY)
    for per_pack, total in ((50, readings), (1, readings // 10)):
        total -= total % (COMMIT_EVERY * per_pack)
        sent = packs(registry, total, per_pack)
        print(f"packs of {per_pack}: {len(sent):,} messages, {total:,} readings, median of {runs}")
        took = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as name:
                took.append(core(Path(name), registry, sent))
        goal = f"goal {GOAL:,}" if per_pack == 50 else ""
        report("parse + commit, no broker", len(sent), total, statistics.median(took), goal)
        if parts.find("mosquitto") is None:
            print(f"  over the broker: left out, {parts.why_absent('mosquitto')}")
            continue
        whole_path(registry, sent, total, runs)


if __name__ == "__main__":
    main()
