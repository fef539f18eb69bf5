"""The connection to the broker, worked by one thread: what arrives stays unacknowledged until `ack` is called.

MQTT 5 keeps a session of 7 days at the broker and limits what it may send ahead (receive maximum); MQTT 3.1.1 keeps
a session for as long as the broker likes. A message is acknowledged only on the connection it came by: its number
means nothing to the next one, where the broker sends it again.

paho is used without a thread of its own: with one, every packet makes two threads hand the interpreter's lock to
and fro, which halves the messages/s.
"""

from __future__ import annotations

import select
import time
from typing import Any

import msgspec
import paho.mqtt.client as paho
import structlog
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headwall.clock import Clock
from headwall.errors import ConfigurationError
from headwall.ingest.sorting import Message
from headwall.settings import MqttSettings
from headwall.wire.topics import subscriptions

log = structlog.get_logger("ingest")

_SESSION_S = 7 * 24 * 3600
_KEEPALIVE_S = 30
_RECONNECT_S = (1.0, 30.0)
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
    """One client of the broker. Every method but `problem` is for one thread alone."""

    def __init__(self, settings: MqttSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._where = f"broker {settings.host}:{settings.port}"
        self._arrived: list[Arrived] = []
        self._connection = 0  # number of the present connection; odd while connected
        self._problem: str | None = "not connected yet"
        self._connected_s = 0.0  # this and the next on the machine's own clock
        self._retry_s = 0.0
        self._delay_s = _RECONNECT_S[0]
        self._brief = 0  # connections in a row that did not last
        self._client = self._build()

    def turn(self, timeout_s: float, limit: int) -> list[Arrived]:
        """Connect, write and read for up to `timeout_s`; returns what has arrived, about `limit` at most."""
        sock = self._client.socket()
        if sock is None:
            self._reconnect(timeout_s)
            return []
        buffered = getattr(sock, "pending", int)  # bytes that TLS has read ahead, which select does not see
        select.select([sock], [sock] if self._client.want_write() else [], [], 0 if buffered() else timeout_s)
        if self._client.want_write():
            self._client.loop_write()
        while len(self._arrived) < limit and self._client.socket() is not None:
            known = len(self._arrived)
            self._client.loop_read()
            if len(self._arrived) == known and not (self._client.socket() is sock and buffered()):
                break
        self._client.loop_misc()
        arrived, self._arrived = self._arrived, []
        return arrived

    def close(self) -> None:
        """Disconnect in good order; the broker keeps what is not acknowledged."""
        self._client.disconnect()
        if self._client.socket() is not None:
            self._client.loop_write()

    def ack(self, arrived: Arrived) -> None:
        """Tell the broker that a message is durable here, if the connection it came by still stands."""
        if arrived.connection == self._connection:
            self._client.ack(arrived.mid, arrived.qos)

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Send at QoS 1; False, and nothing is kept, while there is no connection."""
        if self._connection % 2 == 0:
            return False
        self._client.publish(topic, payload, qos=1, retain=retain)
        return True

    def problem(self) -> str | None:
        """Why messages do not come in; None when they can. For any thread."""
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
            _trust(client, s)
        client.max_inflight_messages_set(_CUSTODY_WINDOW)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_socket_register_write = lambda *_: None  # told to queue packets; `turn` writes them together
        properties = None
        if five:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = _SESSION_S
            properties.ReceiveMaximum = s.receive_maximum
        client.connect_async(s.host, s.port, _KEEPALIVE_S, clean_start=False, properties=properties)
        return client

    def _reconnect(self, timeout_s: float) -> None:
        wait_s = self._retry_s - time.monotonic()
        if wait_s > 0:
            time.sleep(min(wait_s, timeout_s))
            return
        self._retry_s = time.monotonic() + self._delay_s
        self._delay_s = min(2 * self._delay_s, _RECONNECT_S[1])
        try:
            self._client.reconnect()
        except OSError as error:
            self._unavailable(f"cannot connect: {error}; check mqtt.host, port and ca_file, and that the broker runs")

    def _on_connect(self, client: paho.Client, _userdata: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            self._unavailable(f"the broker refuses the connection: {reason}; check mqtt.username and the password")
            return
        self._connection += 1
        self._connected_s = time.monotonic()
        client.subscribe([(filter_, 1) for filter_ in subscriptions()])

    def _on_disconnect(self, _client: paho.Client, _userdata: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if self._connection % 2 == 0:
            return  # it never stood; said already
        self._connection += 1
        if reason.is_failure:
            self._brief = self._brief + 1 if time.monotonic() - self._connected_s < _BRIEF_S else 0
            self._unavailable(f"disconnected: {reason}")

    def _on_subscribe(self, _client: paho.Client, _userdata: Any, _mid: int, reasons: Any, _properties: Any) -> None:
        refused = [str(reason) for reason in reasons if reason.is_failure]
        if refused:
            self._unavailable(f"the broker refuses a subscription ({refused[0]}); its ACL must let the gateway read")
            return
        self._problem = None
        self._delay_s = _RECONNECT_S[0]
        if self._brief < _CLASH:
            log.info("connected", broker=self._where)

    def _on_message(self, _client: paho.Client, _userdata: Any, raw: paho.MQTTMessage) -> None:
        message = Message(_topic(raw), bytes(raw.payload), self._clock.now_us(), raw.retain)
        self._arrived.append(Arrived(message, raw.mid, raw.qos, self._connection))

    def _unavailable(self, problem: str) -> None:
        known = self._problem is not None and self._problem.endswith(problem)
        self._problem = f"{self._where}: {problem}"
        if not known and self._brief <= _CLASH:
            log.warning("no messages from the broker", reason=self._problem)


def _topic(raw: paho.MQTTMessage) -> str:
    """The topic; one that is not UTF-8, which not every broker refuses, with its bytes spelt out."""
    try:
        return raw.topic
    except UnicodeDecodeError as error:
        return bytes(error.object).decode("utf-8", "backslashreplace")


def _trust(client: paho.Client, settings: MqttSettings) -> None:
    ca = str(settings.ca_file) if settings.ca_file is not None else None
    try:
        client.tls_set(ca_certs=ca)
    except OSError as error:
        fault = f"mqtt.ca_file: {ca} holds no certificate ({error}); put the authority's PEM file there"
        raise ConfigurationError("settings", [fault]) from error
