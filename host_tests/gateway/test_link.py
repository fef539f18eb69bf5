"""The connection to a broker that passes on what MQTT forbids: bytes on a socket, since no good broker sends them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.clock import SystemClock
from headwall.ingest.dead_letters import dead_letters
from headwall.ingest.service import IngestService
from headwall.ledger.ledger import Ledger
from headwall.settings import IngestSettings, MqttSettings
from support.fleet import registry

_CONNACK = b"\x20\x03\x00\x00\x00"
_PUBACK = b"\x40\x02\x00\x07"


def publish(topic: bytes, payload: bytes) -> bytes:
    """A PUBLISH of MQTT 5, QoS 1, number 7, shorter than 128 bytes."""
    body = len(topic).to_bytes(2, "big") + topic + b"\x00\x07" + b"\x00" + payload
    return bytes([0x32, len(body)]) + body


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    yield opened
    opened.close()


@pytest.fixture
def broker(ledger: Ledger) -> Iterator[socket.socket]:
    """The broker's end of the connection of an ingest service that has subscribed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        mqtt = MqttSettings(host="127.0.0.1", port=listening.getsockname()[1], tls=False)
        service = IngestService(mqtt, IngestSettings(), ledger, registry(), SystemClock())
        service.start()
        connection, _ = listening.accept()
        connection.settimeout(20)
        with connection:
            connection.recv(4096)
            connection.sendall(_CONNACK)
            subscribe = connection.recv(4096)
            connection.sendall(b"\x90\x06" + subscribe[2:4] + b"\x00\x01\x01\x01")
            yield connection
            service.stop()


def test_topic_that_is_not_utf8_becomes_a_dead_letter_and_is_acknowledged(
    broker: socket.socket, ledger: Ledger
) -> None:
    broker.sendall(publish(b"headwall/v1/\xff\xfe/tele", b"[]"))
    assert broker.recv(4096).startswith(_PUBACK)
    with ledger.read() as conn:
        (letter,) = dead_letters(conn)
    assert (letter.topic, letter.reason, letter.payload) == ("headwall/v1/\\xff\\xfe/tele", "bad_topic", b"[]")
