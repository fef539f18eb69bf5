"""A station's work: read, keep, send, and forget what the gateway says it has.

It speaks the contract of any node (docs/wire.md), a pack a reading: three in five minutes need no more. It takes no
configurations, commands or updates: its settings are a file on its own machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import secrets
import threading
from importlib.metadata import version
from typing import Any, Final, Protocol

import paho.mqtt.client as paho
import structlog
from paho.mqtt.enums import CallbackAPIVersion

from headwall.clock import Clock
from headwall.settings import StationSettings
from headwall.station.sensor import Found
from headwall.station.store import Reading, Store
from headwall.wire.contract import contract, topic
from headwall.wire.senml import Record, encode_record

log = structlog.get_logger("station")

_AT_ONCE: Final = 100  # readings under way together
_CUSTODY_US: Final = 60_000_000  # what is without custody for so long is sent again, with a new question
_KEEPALIVE_S: Final = 60
_OFFLINE: Final = json.dumps({"v": contract()["version"], "status": "offline"})


class Sensor(Protocol):
    def read(self) -> list[Found]: ...


class Station:
    """settings: of station.toml · sensor: what is read · clock: whose time readings have"""

    def __init__(self, settings: StationSettings, store: Store, sensor: Sensor, clock: Clock) -> None:
        self._settings = settings
        self._store = store
        self._sensor = sensor
        self._clock = clock
        self._boot = secrets.token_hex(4)
        said = settings.model_dump_json(exclude={"mqtt": {"password"}})
        self._config = hashlib.sha256(said.encode()).hexdigest()[:16]
        self._nonce = ""
        self._begun_us = clock.now_us()
        self._wake = threading.Event()
        self._heard: queue.Queue[bytes | None] = queue.Queue()  # custody messages; None: the connection is ready
        self._ready = False
        self._sent = 0  # through this number packs are under way
        self._asked_us = 0
        self._client = self._build()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop`, which `wake` must follow."""
        mqtt = self._settings.mqtt
        self._client.connect_async(mqtt.host, mqtt.port, _KEEPALIVE_S)
        self._client.loop_start()
        due_us = self._clock.now_us()
        while not stop.is_set():
            if self._clock.now_us() >= due_us:
                self._read()
                due_us = max(due_us + self._settings.period_s * 1_000_000, self._clock.now_us())
            self._listen()
            self._send()
            again_us = self._asked_us + _CUSTODY_US if self._ready and self._sent >= self._store.floor else due_us
            self._clock.wait(self._wake, min(due_us, again_us))
            self._wake.clear()
        if self._ready:
            self._client.publish(topic(self._settings.node, "state"), _OFFLINE, qos=1, retain=True).wait_for_publish(5)
        self._client.disconnect()
        self._client.loop_stop()

    def wake(self) -> None:
        """Look at once what is to be done; for any thread."""
        self._wake.set()

    def _read(self) -> None:
        found = self._sensor.read()
        name = self._settings.name
        readings = [(f"{name}.{quantity}", value, reason) for quantity, value, reason in found]
        self._store.append(self._clock.now_us() // 1000, readings)

    # ---- the broker; callbacks run in paho's thread

    def _build(self) -> paho.Client:
        mqtt = self._settings.mqtt
        client = paho.Client(CallbackAPIVersion.VERSION2, client_id=self._settings.node)
        if mqtt.username is not None:
            client.username_pw_set(mqtt.username, mqtt.password.get_secret_value() if mqtt.password else None)
        if mqtt.tls:
            client.tls_set(ca_certs=None if mqtt.ca_file is None else str(mqtt.ca_file))
        client.will_set(topic(self._settings.node, "state"), _OFFLINE, qos=1, retain=True)
        client.on_connect = self._on_connect
        client.on_subscribe = lambda *_: self._hear(None)
        client.on_message = lambda _client, _data, message: self._hear(bytes(message.payload))
        client.on_disconnect = self._on_disconnect
        return client

    def _on_connect(self, client: paho.Client, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            log.warning("broker refuses", reason=str(reason), do="check mqtt.username and the password")
            return
        client.subscribe(topic(self._settings.node, "custody"), 1)

    def _on_disconnect(self, _client: paho.Client, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        self._ready = False
        if reason.is_failure:
            log.warning("disconnected", reason=str(reason))

    def _hear(self, message: bytes | None) -> None:
        self._heard.put(message)
        self.wake()

    # ---- what follows runs in the station's own thread

    def _listen(self) -> None:
        while not self._heard.empty():
            message = self._heard.get()
            if message is None:
                self._ready = True
                self._ask()
            else:
                self._custody(message)
        if self._ready and self._sent >= self._store.floor and self._clock.now_us() >= self._asked_us + _CUSTODY_US:
            log.warning("no custody", through=self._sent, do="is the gateway running, and the node in its registry?")
            self._ask()

    def _ask(self) -> None:
        """Say the state with a new nonce; whatever was under way counts as not sent."""
        self._nonce = secrets.token_hex(8)
        self._sent = self._store.floor - 1
        self._asked_us = self._clock.now_us()
        self._publish("state", self._state(), retain=True)

    def _custody(self, message: bytes) -> None:
        try:
            told = json.loads(message)
            mine = (told["boot"], told["nonce"], told["jid"]) == (self._boot, self._nonce, self._store.jid)
            through = told["through"]
        except (ValueError, KeyError, TypeError):
            log.warning("bad custody", message=message[:200])
            return
        if mine and isinstance(through, int) and through < self._store.next:
            self._store.forget(through)
            self._sent = max(self._sent, through)

    def _send(self) -> None:
        """The next readings, once those before them are in custody."""
        if not self._ready or self._sent >= self._store.floor:
            return
        for reading in self._store.after(self._sent, _AT_ONCE):
            self._publish("tele", encode_record(self._settings.mac, self._store.jid, reading.seq, _record(reading)))
            self._sent = reading.seq
            self._asked_us = self._clock.now_us()

    def _publish(self, kind: str, payload: str | bytes, *, retain: bool = False) -> None:
        self._client.publish(topic(self._settings.node, kind), payload, qos=1, retain=retain)

    def _state(self) -> str:
        now_us = self._clock.now_us()
        journal = {"jid": self._store.jid, "floor": self._store.floor, "next": self._store.next}
        said = {
            "v": contract()["version"],
            "status": "online",
            "fw": f"station {version('headwall')}",
            "boot": self._boot,
            "nonce": self._nonce,
            "journals": [journal],
            "uptime_s": (now_us - self._begun_us) // 1_000_000,
            "reset": "power_on",
            "heap_free": os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            "config": self._config,
            "synced": True,
            "time": now_us // 1000,
            "mode": "mains",
        }
        return json.dumps(said)


def _record(reading: Reading) -> Record:
    value = None if reading.value is None else float(reading.value)
    return Record(reading.stream, reading.time_ms * 1000, None, None, value, None, reading.reason)
