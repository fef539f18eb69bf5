"""The node's MQTT client over TLS against a real mosquitto: it talks only to a broker that proves who it is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from headwall_board.certs import issue_server, make_ca
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Account, Broker, open_broker
from node_runner import FakeBroker, Node, hold_open

pytestmark = pytest.mark.mosquitto
ACCOUNTS = [Account("node1", "pw1"), Account("node2", "pw2"), Account("gateway", "gpw", "gateway")]
NOW = datetime.now(UTC)

CONNECT = """
import asyncio, gc, sys
from headwall_node import mqtt
from headwall_node.mqtt_error import MqttError
from headwall_node.mqtt_tls import tls_context
port, ca, name, password = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
with open(ca, "rb") as f:
    ca = f.read()

async def main():
    client = mqtt.Client("node1", "node1", password, timeout_ms=1500)
    client.on_message = lambda topic, payload: print(topic, payload)
    try:
        await client.connect("127.0.0.1", port, tls_context(ca), name)
        await client.subscribe(["headwall/v1/node1/custody"])
        await client.publish("headwall/v1/node1/tele", bytes(8000))
        await client.until(lambda: not client.unacked, "PUBACK")
        gc.collect()
        print("connected", gc.mem_alloc() < 64000)
    except MqttError as error:
        print(error.kind, error)
    await client.disconnect()

asyncio.run(main())
"""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with open_broker(tmp_path / "broker", ACCOUNTS, "mosquitto") as broker:
        yield broker


def connect(port: int, ca: Path, folder: Path, *, name: str = "localhost", password: str = "pw1") -> list[str]:
    with Node(CONNECT, str(port), str(ca), name, password, folder=folder) as node:
        return node.finish()


def test_right_broker_is_accepted_and_takes_a_large_message(broker: Broker, tmp_path: Path) -> None:
    assert connect(broker.port_311, broker.ca.der, tmp_path) == ["connected True"]


def test_wrong_ca_is_refused_with_its_name(broker: Broker, tmp_path: Path) -> None:
    other = make_ca(tmp_path / "other", "ca", NOT_BEFORE, NOT_AFTER)
    assert connect(broker.port_311, other.der, tmp_path)[0].startswith("wrong_ca")


def test_wrong_host_name_is_refused_with_its_name(broker: Broker, tmp_path: Path) -> None:
    assert connect(broker.port_311, broker.ca.der, tmp_path, name="broker.example")[0].startswith("wrong_name")


@pytest.mark.parametrize(
    ("begin", "end", "kind"),
    [
        (NOW - timedelta(days=20), NOW - timedelta(days=1), "expired"),
        (NOW + timedelta(days=1), NOW + timedelta(days=20), "not_yet_valid"),
    ],
)
def test_certificate_out_of_its_time_is_refused(begin: datetime, end: datetime, kind: str, tmp_path: Path) -> None:
    ca = make_ca(tmp_path / "ca", "ca", NOT_BEFORE, NOT_AFTER)
    server = issue_server(tmp_path / "ca", ca, ["localhost", "127.0.0.1"], begin, end)
    with open_broker(tmp_path / "broker", ACCOUNTS, "mosquitto", ca=ca, server=server) as broker:
        assert connect(broker.port_311, broker.ca.der, tmp_path)[0].startswith(f"{kind}")


def test_ca_file_that_is_no_certificate_is_named(broker: Broker, tmp_path: Path) -> None:
    bad = tmp_path / "bad.der"
    bad.write_bytes(b"not a certificate")
    assert connect(broker.port_311, bad, tmp_path)[0].startswith("wrong_ca the CA file is not a certificate")


def test_wrong_password_is_named(broker: Broker, tmp_path: Path) -> None:
    assert connect(broker.port_311, broker.ca.der, tmp_path, password="no")[0].startswith("bad_credentials")


def test_server_without_tls_is_not_talked_to(broker: Broker, tmp_path: Path) -> None:
    heard = []

    def script(c: socket.socket) -> None:
        heard.append(c.recv(1000))
        c.sendall(b"\x20\x02\x00\x00" + b"\x90\x03\x00\x01\x01")
        hold_open(c)

    with FakeBroker(script) as fake:
        lines = connect(fake.port, broker.ca.der, tmp_path)
    assert lines[0].startswith("tls")
    assert b"pw1" not in heard[0] and b"node1" not in heard[0]


def test_mute_server_times_out_in_the_handshake(broker: Broker, tmp_path: Path) -> None:
    with FakeBroker(hold_open) as fake:
        assert connect(fake.port, broker.ca.der, tmp_path)[0].startswith("timeout")
