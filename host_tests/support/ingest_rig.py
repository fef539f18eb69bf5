"""An ingest service on a real broker, and a board's MQTT client in Python, for tests of the way between them."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from headwall.clock import Clock, SystemClock
from headwall.ingest.mqtt import Arrived, Link
from headwall.ingest.service import IngestService, OnFault
from headwall.ledger.ledger import Ledger
from headwall.registry.registry import Registry
from headwall.settings import IngestSettings, MqttSettings
from headwall.wire.contract import topic
from headwall_sim.broker import Broker
from paho.mqtt.enums import CallbackAPIVersion

from support.fleet import registry

PASSWORD = "for this test"


def until(true: Callable[[], object], what: str, within_s: float = 20) -> None:
    """Wait for something to become true; AssertionError that names it otherwise."""
    end = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end, f"not within {within_s} s: {what}"
        time.sleep(0.02)


def mqtt_settings(host: str, port: int, ca: Path, **change: Any) -> MqttSettings:
    """Settings of the gateway's account on a test broker."""
    given = {"host": host, "port": port, "ca_file": ca, "username": "gateway", "password": PASSWORD, **change}
    return MqttSettings.model_validate(given)


def service(mqtt: MqttSettings, ledger: Ledger, on_fault: OnFault | None = None, **change: Any) -> IngestService:
    """An ingest service for the two boards of `fleet`."""
    return IngestService(mqtt, IngestSettings(**change), ledger, registry(), SystemClock(), on_fault=on_fault)


@contextmanager
def running_ingest(broker: Broker, ledger: Ledger, boards: Registry, clock: Clock) -> Iterator[IngestService]:
    """An ingest service for these boards on a test broker, running."""
    settings = mqtt_settings(broker.host, broker.port_5, broker.ca.cert)
    running = IngestService(settings, IngestSettings(), ledger, boards, clock)
    running.start()
    yield running
    running.stop()


class Board:
    """What a board does on the broker: publishes in its own tree and hears the gateway. MQTT 3.1.1, QoS 1, TLS.

    custody: what it was told of custody · heard: kind and payload of everything else, in order
    """

    def __init__(self, host: str, port: int, ca: Path, node: str, account: str | None = None) -> None:
        self.node = node
        self.custody: list[dict[str, Any]] = []
        self.heard: list[tuple[str, bytes]] = []
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id=secrets.token_hex(8))
        self._client.username_pw_set(account or node, PASSWORD)
        self._client.tls_set(ca_certs=str(ca))
        filters = [(topic(node, kind), 1) for kind in ("custody", "config", "command", "update")]
        self._client.on_connect = lambda client, *_: client.subscribe(filters)
        self._client.on_subscribe = lambda *_: self._ready.set()
        self._client.on_message = self._on_message
        self._ready = threading.Event()
        self._client.connect(host, port)
        self._client.loop_start()
        assert self._ready.wait(10), f"{node} cannot subscribe"

    def _on_message(self, _client: paho.Client, _userdata: Any, message: paho.MQTTMessage) -> None:
        kind = message.topic.rpartition("/")[2]
        if kind == "custody":
            self.custody.append(json.loads(message.payload))
        else:
            self.heard.append((kind, bytes(message.payload)))

    def of(self, kind: str) -> list[bytes]:
        """What it heard of one kind."""
        return [payload for each, payload in self.heard if each == kind]

    def send(self, payload: bytes, kind: str = "tele", *, retain: bool = False, node: str | None = None) -> None:
        """Publish and wait for the broker's acknowledgement, which it gives for refused messages too."""
        until(self._client.is_connected, f"{self.node} connected")
        sent = self._client.publish(topic(node or self.node, kind), payload, qos=1, retain=retain)
        sent.wait_for_publish(10)
        assert sent.is_published()

    def through(self, jid: str) -> int | None:
        """The newest custody mark of a journal."""
        marks = [said["through"] for said in self.custody if said["jid"] == jid]
        return marks[-1] if marks else None

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def main() -> None:
    """A gateway's ingest as a process: host, port, CA, ledger URL, and "die" to be killed before its first ack."""
    host, port, ca, url, how = sys.argv[1:]
    running = service(mqtt_settings(host, int(port), Path(ca)), Ledger.open(url))
    if how == "die":
        _kill_before_ack()
    running.start()
    if how == "live":
        until(lambda: running.healthy() is None, "healthy")
    print("running", flush=True)
    sys.stdin.read()
    running.stop()


def _kill_before_ack() -> None:
    def die(_link: Link, _arrived: Arrived) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    Link.ack = die  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
