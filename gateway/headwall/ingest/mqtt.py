"""The connection to the broker: what comes in goes to a callback, unacknowledged until `ack` is called.

MQTT 5 keeps a session of 7 days at the broker and limits what it may send ahead (receive maximum); MQTT 3.1.1 keeps
a session for as long as the broker likes. A message is acknowledged only on the connection it came by: its number
means nothing to the next one, where the broker sends it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import paho.mqtt.client as paho
import structlog
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headwall.clock import Clock
from headwall.ingest.sorting import Message
from headwall.settings import MqttSettings
from headwall.wire.topics import subscriptions

log = structlog.get_logger("ingest")

_SESSION_S = 7 * 24 * 3600
_KEEPALIVE_S = 30
_RECONNECT_S = (1, 30)
#: custody messages that may be under way at once
_CUSTODY_WINDOW = 1000
#: mosquitto 2.0.11 does not say "session taken over": so many connections in a row that each last less than so long
_CLASH = 3
_BRIEF_S = 5.0


class Arrived(msgspec.Struct, frozen=True, gc=False):
    """A message with what its acknowledgement needs."""

    message: Message
    mid: int
    qos: int
    connection: int


class Link:
    """One client of the broker. `on_arrival` is called on the network thread, and may block to slow the broker."""

    def __init__(self, settings: MqttSettings, clock: Clock, on_arrival: Callable[[Arrived], None]) -> None:
        self._settings = settings
        self._clock = clock
        self._on_arrival = on_arrival
        self._lock = threading.Lock()
        self._connection = 0  # number of the present connection; odd while connected
        self._problem: str | None = "not connected yet"
        self._connected_s = 0.0  # on the machine's own clock, when the present connection began
        self._brief = 0  # connections in a row that did not last
        self._network: threading.Thread | None = None
        self._client = self._build()

    def start(self) -> None:
        """Connect, and keep connecting until `stop`."""
        s = self._settings
        if s.protocol == "5":
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = _SESSION_S
            properties.ReceiveMaximum = s.receive_maximum
            self._client.connect_async(s.host, s.port, _KEEPALIVE_S, clean_start=False, properties=properties)
        else:
            self._client.connect_async(s.host, s.port, _KEEPALIVE_S)
        self._client.loop_start()

    def stop(self) -> None:
        """Disconnect in good order; the broker keeps what is not acknowledged."""
        self._client.disconnect()
        self._client.loop_stop()

    def ack(self, arrived: Arrived) -> None:
        """Tell the broker that a message is durable here, if the connection it came by still stands."""
        with self._lock:
            if arrived.connection == self._connection:
                self._client.ack(arrived.mid, arrived.qos)

    def publish(self, topic: str, payload: bytes) -> bool:
        """Send at QoS 1; False, and nothing is kept, while there is no connection."""
        if self._connection % 2 == 0:
            return False
        self._client.publish(topic, payload, qos=1)
        return True

    def problem(self) -> str | None:
        """Why messages do not come in; None when they can."""
        if self._network is not None and not self._network.is_alive():
            return "the network thread has ended"
        if self._brief >= _CLASH and time.monotonic() - self._connected_s < _BRIEF_S:
            return (
                f"the broker ends every connection within seconds: another client uses the id "
                f"{self._settings.client_id!r}; give each gateway its own mqtt.client_id"
            )
        return self._problem

    def _build(self) -> paho.Client:
        s = self._settings
        five = s.protocol == "5"
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=s.client_id,
            clean_session=None if five else False,
            protocol=paho.MQTTv5 if five else paho.MQTTv311,
            manual_ack=True,
        )
        if s.username is not None:
            client.username_pw_set(s.username, s.password.get_secret_value() if s.password is not None else None)
        if s.tls:
            client.tls_set(ca_certs=str(s.ca_file) if s.ca_file is not None else None)
        client.reconnect_delay_set(*_RECONNECT_S)
        client.max_inflight_messages_set(_CUSTODY_WINDOW)
        client.on_pre_connect = self._on_pre_connect
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        return client

    def _on_pre_connect(self, _client: paho.Client, _userdata: Any) -> None:
        self._network = threading.current_thread()

    def _on_connect(self, client: paho.Client, _userdata: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            self._unavailable(f"the broker refuses the connection: {reason}; check mqtt.username and the password")
            return
        with self._lock:
            self._connection += 1
        self._connected_s = time.monotonic()
        client.subscribe([(filter_, 1) for filter_ in subscriptions()])

    def _on_connect_fail(self, _client: paho.Client, _userdata: Any) -> None:
        self._unavailable("cannot connect; check host, port, TLS and whether the broker runs (`headwall check`)")

    def _on_disconnect(self, _client: paho.Client, _userdata: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        with self._lock:
            was_connected = self._connection % 2 == 1
            self._connection += was_connected
        if not was_connected or not reason.is_failure:
            return  # said already, or our own doing
        self._brief = self._brief + 1 if time.monotonic() - self._connected_s < _BRIEF_S else 0
        self._unavailable(f"disconnected: {reason}")

    def _on_subscribe(self, _client: paho.Client, _userdata: Any, _mid: int, reasons: Any, _properties: Any) -> None:
        refused = [str(reason) for reason in reasons if reason.is_failure]
        if refused:
            self._unavailable(f"the broker refuses a subscription ({refused[0]}); its ACL must let the gateway read")
            return
        self._problem = None
        if self._brief < _CLASH:
            log.info("connected to the broker", host=self._settings.host, port=self._settings.port)

    def _on_message(self, _client: paho.Client, _userdata: Any, raw: paho.MQTTMessage) -> None:
        try:
            message = Message(raw.topic, bytes(raw.payload), self._clock.now_us(), raw.retain)
            self._on_arrival(Arrived(message, raw.mid, raw.qos, self._connection))
        except Exception as error:  # paho would end its thread and nobody would know
            self._problem = f"a message could not be queued: {type(error).__name__}: {error}"
            log.exception("message could not be queued")

    def _unavailable(self, problem: str) -> None:
        where = f"{self._settings.host}:{self._settings.port}"
        known = self._problem is not None and self._problem.endswith(problem)
        if not known and self._brief <= _CLASH:
            log.warning("no messages from the broker", broker=where, reason=problem)
        self._problem = f"broker {where}: {problem}"
