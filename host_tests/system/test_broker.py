"""The brokers that demo and tests use: TLS, accounts, ACL, restart."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from headwall.errors import InputError
from headwall_sim.broker import Account, Broker, open_broker

NODE = Account("gauge-a", "node secret")
OTHER = Account("gauge-b", "other secret")
GATEWAY = Account("headwall-gateway", "gateway secret", "gateway")


class Client:
    """A paho client that verifies the broker and remembers what it was told."""

    def __init__(
        self, broker: Broker, account: Account, version: int = mqtt.MQTTv311, password: str | None = None
    ) -> None:
        self.messages: list[mqtt.MQTTMessage] = []
        self.connected = threading.Event()
        self.ended = threading.Event()
        self.arrived = threading.Condition()
        self.puback: list[Any] = []
        self._subscribed = threading.Event()
        self.paho = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, client_id=f"{account.name}-{version}", protocol=version
        )
        self.paho.tls_set_context(ssl.create_default_context(cafile=str(broker.ca.cert)))
        self.paho.username_pw_set(account.name, password or account.password)
        self.paho.on_connect = lambda _c, _u, _f, reason, _p: None if reason.is_failure else self.connected.set()
        self.paho.on_disconnect = lambda *_: self.ended.set()
        self.paho.on_subscribe = lambda *_: self._subscribed.set()
        self.paho.on_publish = lambda _c, _u, _m, reason, _p: self.puback.append(reason)
        self.paho.on_message = self._on_message
        self.paho.connect(broker.host, broker.port_5 if version == mqtt.MQTTv5 else broker.port_311)
        self.paho.loop_start()

    def _on_message(self, _client: object, _user: object, message: mqtt.MQTTMessage) -> None:
        with self.arrived:
            self.messages.append(message)
            self.arrived.notify_all()

    def subscribe(self, topic: str) -> None:
        assert self.connected.wait(5)
        self.paho.subscribe(topic, 1)
        assert self._subscribed.wait(5)

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        assert self.connected.wait(5)
        self.paho.publish(topic, payload, 1, retain).wait_for_publish(5)

    def wait_for(self, count: int) -> list[tuple[str, bytes]]:
        with self.arrived:
            self.arrived.wait_for(lambda: len(self.messages) >= count, 5)
        return [(m.topic, m.payload) for m in self.messages]

    def close(self) -> None:
        self.paho.disconnect()
        self.paho.loop_stop()


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    opened: list[Client] = []
    yield opened
    for client in opened:
        client.close()


@pytest.fixture(params=[pytest.param("mosquitto", marks=pytest.mark.mosquitto), "iotcore"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    with open_broker(tmp_path, [NODE, OTHER, GATEWAY], kind=request.param) as running:
        yield running


@pytest.fixture
def acl_broker(tmp_path: Path) -> Iterator[Broker]:
    with open_broker(tmp_path, [NODE, OTHER, GATEWAY], kind="mosquitto") as running:
        yield running


def test_node_on_311_reaches_gateway_on_5(broker: Broker, clients: list[Client]) -> None:
    gateway = Client(broker, GATEWAY, mqtt.MQTTv5)
    node = Client(broker, NODE)
    clients += [gateway, node]
    gateway.subscribe("headwall/v1/+/tele")
    node.subscribe("headwall/v1/gauge-a/custody")
    node.publish("headwall/v1/gauge-a/tele", b"x" * 8192)
    gateway.publish("headwall/v1/gauge-a/custody", b"{}")
    assert gateway.wait_for(1) == [("headwall/v1/gauge-a/tele", b"x" * 8192)]
    assert node.wait_for(1) == [("headwall/v1/gauge-a/custody", b"{}")]


def test_payload_of_a_megabyte_passes(broker: Broker, clients: list[Client]) -> None:
    gateway = Client(broker, GATEWAY, mqtt.MQTTv5)
    node = Client(broker, NODE)
    clients += [gateway, node]
    gateway.subscribe("headwall/v1/+/tele")
    node.publish("headwall/v1/gauge-a/tele", b"y" * 2**20)
    assert [len(payload) for _topic, payload in gateway.wait_for(1)] == [2**20]


@pytest.mark.parametrize("version", [mqtt.MQTTv311, mqtt.MQTTv5])
def test_wrong_password_is_refused(broker: Broker, clients: list[Client], version: int) -> None:
    stranger = Client(broker, NODE, version, password="guess")
    clients.append(stranger)
    assert stranger.ended.wait(5)
    assert not stranger.connected.is_set()


def test_client_without_the_authority_does_not_connect(broker: Broker) -> None:
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.tls_set_context(ssl.create_default_context())
    with pytest.raises(ssl.SSLCertVerificationError):
        client.connect(broker.host, broker.port_311)


def test_retained_state_is_given_to_a_later_subscriber(broker: Broker, clients: list[Client]) -> None:
    node = Client(broker, NODE)
    clients.append(node)
    node.publish("headwall/v1/gauge-a/state", b"online", retain=True)
    gateway = Client(broker, GATEWAY, mqtt.MQTTv5)
    clients.append(gateway)
    gateway.subscribe("headwall/v1/+/state")
    assert gateway.wait_for(1) == [("headwall/v1/gauge-a/state", b"online")]


def test_killed_broker_starts_again_on_the_same_ports(broker: Broker, clients: list[Client]) -> None:
    ports, first = (broker.port_311, broker.port_5), broker.pid
    broker.kill()
    assert broker.pid is None
    broker.start()
    assert (broker.port_311, broker.port_5) == ports
    assert broker.pid not in (None, first)
    clients.append(Client(broker, NODE))
    assert clients[0].connected.wait(5)


@pytest.mark.mosquitto
@pytest.mark.parametrize("kind", ["custody", "config", "command"])
def test_node_cannot_publish_what_only_the_gateway_may(acl_broker: Broker, clients: list[Client], kind: str) -> None:
    victim = Client(acl_broker, NODE)
    forger = Client(acl_broker, OTHER, mqtt.MQTTv5)
    gateway = Client(acl_broker, GATEWAY, mqtt.MQTTv5)
    clients += [victim, forger, gateway]
    victim.subscribe(f"headwall/v1/gauge-a/{kind}")
    forger.publish(f"headwall/v1/gauge-a/{kind}", b"forged")
    assert forger.puback[0].getName() == "Not authorized"
    gateway.publish(f"headwall/v1/gauge-a/{kind}", b"true")
    assert victim.wait_for(1) == [(f"headwall/v1/gauge-a/{kind}", b"true")]


@pytest.mark.mosquitto
def test_node_is_kept_to_its_own_tree(acl_broker: Broker, clients: list[Client]) -> None:
    gateway = Client(acl_broker, GATEWAY, mqtt.MQTTv5)
    node = Client(acl_broker, NODE)
    curious = Client(acl_broker, OTHER, mqtt.MQTTv5)
    clients += [gateway, node, curious]
    gateway.subscribe("headwall/v1/+/tele")
    curious.subscribe("headwall/v1/#")
    curious.publish("headwall/v1/gauge-a/tele", b"not mine")
    node.publish("headwall/v1/gauge-a/tele", b"mine")
    gateway.publish("headwall/v1/gauge-a/custody", b"not for others")
    gateway.publish("headwall/v1/gauge-b/custody", b"for b")
    assert gateway.wait_for(1) == [("headwall/v1/gauge-a/tele", b"mine")]
    assert curious.wait_for(1) == [("headwall/v1/gauge-b/custody", b"for b")]


@pytest.mark.mosquitto
def test_denied_publish_on_311_is_acknowledged_all_the_same(acl_broker: Broker, clients: list[Client]) -> None:
    """Why custody, not PUBACK, is the proof: MQTT 3.1.1 has no way to say "denied"."""
    gateway = Client(acl_broker, GATEWAY, mqtt.MQTTv5)
    node = Client(acl_broker, NODE)
    stranger = Client(acl_broker, OTHER)
    clients += [gateway, node, stranger]
    gateway.subscribe("headwall/v1/+/tele")
    stranger.publish("headwall/v1/gauge-a/tele", b"not mine")
    assert not stranger.puback[0].is_failure
    stranger.publish("headwall/v1/gauge-b/tele", b"the connection goes on")
    node.publish("headwall/v1/gauge-a/tele", b"mine")
    assert gateway.wait_for(2) == [
        ("headwall/v1/gauge-b/tele", b"the connection goes on"),
        ("headwall/v1/gauge-a/tele", b"mine"),
    ]
    assert not stranger.ended.is_set()


@pytest.mark.mosquitto
def test_more_than_a_thousand_messages_wait_for_an_absent_gateway_over_a_restart(
    acl_broker: Broker, clients: list[Client]
) -> None:
    session = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="lasting", clean_session=False)
    got: list[bytes] = []
    all_came, subscribed = threading.Event(), threading.Event()

    def on_message(_c: object, _u: object, message: mqtt.MQTTMessage) -> None:
        got.append(message.payload)
        if len(got) == 1500:
            all_came.set()

    session.on_message = on_message
    session.on_subscribe = lambda *_: subscribed.set()
    session.tls_set_context(ssl.create_default_context(cafile=str(acl_broker.ca.cert)))
    session.username_pw_set(GATEWAY.name, GATEWAY.password)
    session.connect(acl_broker.host, acl_broker.port_311)
    session.loop_start()
    session.subscribe("headwall/v1/+/tele", 1)
    assert subscribed.wait(5)
    session.disconnect()
    session.loop_stop()
    node = Client(acl_broker, NODE)
    clients.append(node)
    for number in range(1500):
        node.publish("headwall/v1/gauge-a/tele", str(number).encode())
    acl_broker.stop()
    acl_broker.start()
    session.connect(acl_broker.host, acl_broker.port_311)
    session.loop_start()
    assert all_came.wait(20)
    session.disconnect()
    session.loop_stop()
    assert got == [str(number).encode() for number in range(1500)]


def test_auto_falls_back_to_iotcore_where_mosquitto_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWALL_HIDE", "mosquitto")
    assert open_broker(tmp_path, [NODE]).kind == "iotcore"
    with pytest.raises(RuntimeError, match="mosquitto"):
        open_broker(tmp_path, [NODE], kind="mosquitto")


def test_account_that_the_files_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="colons"):
        open_broker(tmp_path, [Account("a:b", "x")])
