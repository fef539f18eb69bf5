"""The node's MQTT client in the real MicroPython against a scripted server: exact bytes, bad manners."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from node_runner import FakeBroker, Node, expect, expect_end, hold_open, read_exactly

CONNECT = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a"
CONNACK = b"\x20\x02\x00\x00"

HEAD = """
import asyncio, sys
from headwall_node import mqtt
from headwall_node.mqtt_error import MqttError
port = int(sys.argv[1])

async def outcome(work):
    try:
        print("ok", await work)
    except MqttError as error:
        print(error.kind, error)

def run(work):
    async def limited():
        await asyncio.wait_for(work, 20)
        client_tasks_gone = await asyncio.sleep_ms(50)
        print("done")
    asyncio.run(limited())
"""


def run(body: str, broker: FakeBroker, folder: Path) -> list[str]:
    with Node(HEAD + body, str(broker.port), folder=folder) as node:
        return node.finish()


def test_connect_sends_will_and_credentials_byte_by_byte(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        body = b"\x00\x04MQTT\x04\xee\x00\x1e\x00\x05node1\x00\x07t/state\x00\x07offline\x00\x04user\x00\x06secret"
        expect(c, b"\x10" + bytes([len(body)]) + body)
        c.sendall(CONNACK)
        expect(c, b"\xe0\x00")
        expect_end(c)

    body = """
async def main():
    client = mqtt.Client("node1", "user", "secret", keepalive_s=30)
    await client.connect("127.0.0.1", port, will=("t/state", "offline"))
    await client.disconnect()
    print(client.error.kind)
run(main())
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path) == ["closed", "done"]


def test_publish_and_subscribe_exact_bytes(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        c.sendall(CONNACK)
        expect(c, b"\x82\x0b\x00\x01\x00\x01x\x01\x00\x02yz\x01")
        c.sendall(b"\x90\x04\x00\x01\x01\x00")
        expect(c, b"\x32\x07\x00\x01t\x00\x02hi")
        c.sendall(b"\x40\x02\x00\x02")
        expect(c, b"\x33\xcd\x01\x00\x01t\x00\x03" + b"p" * 200)
        c.sendall(b"\x32\x08\x00\x01x\x00\x09abc\x30\x06\x00\x02yzde\x40\x02\x00\x03")
        expect(c, b"\x40\x02\x00\x09")
        c.sendall(b"\x30\x03\x00\x01x")
        expect(c, b"\xe0\x00")

    body = """
async def main():
    client = mqtt.Client("a")
    client.on_message = lambda topic, payload: print(topic, None if payload is None else bytes(payload))
    await client.connect("127.0.0.1", port)
    await client.subscribe(("x", "yz"))
    numbers = [await client.publish("t", "hi"), await client.publish("t", b"p" * 200, retain=True)]
    await client.until(lambda: not client.unacked, "PUBACK")
    await asyncio.sleep_ms(100)
    print(numbers)
    await client.disconnect()
run(main())
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path) == ["x b'abc'", "yz b'de'", "x b''", "[2, 3]", "done"]


def test_window_holds_back_the_fifth_message(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        c.sendall(CONNACK)
        for number in range(1, 5):
            expect(c, b"\x32\x06\x00\x01t\x00" + bytes([number]) + b"m")
        c.settimeout(0.3)
        with pytest.raises(TimeoutError):
            c.recv(1)
        c.settimeout(20)
        c.sendall(b"\x40\x02\x00\x03")
        expect(c, b"\x32\x06\x00\x01t\x00\x05m")
        c.sendall(b"".join(b"\x40\x02\x00" + bytes([number]) for number in (1, 2, 4, 5)))
        expect(c, b"\xe0\x00")

    body = """
async def main():
    client = mqtt.Client("a")
    await client.connect("127.0.0.1", port)
    for _ in range(5):
        await client.publish("t", "m")
    await client.until(lambda: not client.unacked, "PUBACK")
    await client.disconnect()
run(main())
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path) == ["done"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "refused"),
        (2, "refused"),
        (3, "refused"),
        (4, "bad_credentials"),
        (5, "bad_credentials"),
        (77, "refused"),
    ],
)
def test_refused_connect_names_the_reason(code: int, said: str, tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        c.sendall(b"\x20\x02\x00" + bytes([code]))
        expect_end(c)

    body = """
run(outcome(mqtt.Client("a").connect("127.0.0.1", port)))
"""
    with FakeBroker(script) as broker:
        lines = run(body, broker, tmp_path)
    assert lines[0].startswith(said)
    assert lines[1] == "done"


def test_nobody_listening_is_refused(tmp_path: Path) -> None:
    with FakeBroker(lambda _: None) as broker:
        pass  # closed again: the port is free
    lines = run('run(outcome(mqtt.Client("a").connect("127.0.0.1", port)))\n', broker, tmp_path)
    assert lines[0].startswith("refused 127.0.0.1:")


def test_unknown_host_is_refused_with_its_name(tmp_path: Path) -> None:
    with FakeBroker(lambda _: None) as broker:
        lines = run('run(outcome(mqtt.Client("a").connect("no-such-host.invalid", port)))\n', broker, tmp_path)
    assert lines[0].startswith("refused no-such-host.invalid:")


def half_connack(c: socket.socket) -> None:
    c.sendall(CONNACK[:3])
    hold_open(c)


@pytest.mark.parametrize("script", [hold_open, half_connack])
def test_mute_broker_times_out_at_connect(script, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    body = """
run(outcome(mqtt.Client("a", timeout_ms=300).connect("127.0.0.1", port)))
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path)[0].startswith("timeout 127.0.0.1")


@pytest.mark.parametrize(
    ("after_connack", "said"),
    [
        (b"\x30\x05\x00\x01", "timeout 127.0.0.1"),  # half a packet
        (b"\x30", "timeout 127.0.0.1"),
        (b"\x34\x07\x00\x01x\x00\x01ab", "protocol"),  # QoS 2
        (b"\x30\xff\xff\xff\xff\x01", "protocol"),  # a length without end
        (b"\x30\x03\x00\x09x", "protocol"),  # a topic beyond its message
        (b"\x30\x01\x00", "protocol"),
        (b"\x62\x02\x00\x01", "protocol"),  # PUBREL
        (b"\x40\x03\x00\x01\x00", "protocol"),
        (b"\x20\x02\x00\x00", "protocol"),  # a second CONNACK
    ],
)
def test_bad_packets_end_the_connection_with_a_reason(after_connack: bytes, said: str, tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT.replace(b"\x00\x3c", b"\x00\x01"))
        c.sendall(CONNACK)
        expect(c, b"\xc0\x00")  # a ping: connect() has returned
        c.sendall(b"\xd0\x00" + after_connack)
        expect_end(c)

    body = """
async def main():
    client = mqtt.Client("a", timeout_ms=300, keepalive_s=1)
    await client.connect("127.0.0.1", port)
    while client.error is None:
        await asyncio.sleep_ms(10)
    print(client.error.kind, client.error)
    await outcome(client.publish("t", "x"))
run(main())
"""
    with FakeBroker(script) as broker:
        lines = run(body, broker, tmp_path)
    assert lines[0].startswith(said)
    assert lines[1] == lines[0], "what is tried afterwards must name the first reason"


def test_missing_puback_ends_the_connection(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        c.sendall(CONNACK)
        hold_open(c)

    body = """
async def main():
    client = mqtt.Client("a", timeout_ms=200)
    await client.connect("127.0.0.1", port)
    await client.publish("t", "x")
    while client.error is None:
        await asyncio.sleep_ms(10)
    print(client.error.kind, client.error)
    await outcome(client.subscribe(["q"]))
run(main())
"""
    with FakeBroker(script) as broker:
        lines = run(body, broker, tmp_path)
    assert lines[0].startswith("timeout") and "no PUBACK" in lines[0]


def test_broker_that_stops_reading_times_out_and_frees_the_loop(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        c.sendall(CONNACK)
        time.sleep(2)  # reads nothing: the kernel's buffers fill up

    body = """
async def main():
    beats = 0
    client = mqtt.Client("a", timeout_ms=300, window=10000)
    async def flood():
        while True:
            await client.publish("t", bytes(60000))
    await client.connect("127.0.0.1", port)
    flooding = asyncio.create_task(outcome(flood()))
    while not flooding.done():
        await asyncio.sleep_ms(10)
        beats += 1
    print("beats" if beats >= 20 else beats)
run(main())
"""
    with FakeBroker(script) as broker, Node(HEAD + body, str(broker.port), folder=tmp_path, heap="512K") as node:
        lines = node.finish()
    assert lines[0].startswith("timeout")
    assert lines[1:] == ["beats", "done"]


def test_keepalive_pings_and_notices_silence(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT.replace(b"\x00\x3c", b"\x00\x01"))
        c.sendall(CONNACK)
        expect(c, b"\xc0\x00")
        c.sendall(b"\xd0\x00")
        expect(c, b"\xc0\x00")  # and this one gets no answer
        expect_end(c)

    body = """
async def main():
    client = mqtt.Client("a", keepalive_s=1, timeout_ms=300)
    client.on_ping = lambda waiting: print("ping", waiting)
    await client.connect("127.0.0.1", port)
    while client.error is None:
        await asyncio.sleep_ms(10)
    print(client.error.kind, "ping" in str(client.error))
run(main())
"""
    with FakeBroker(script) as broker:
        lines = run(body, broker, tmp_path)
    assert lines == ["ping True", "ping False", "ping True", "ping False", "timeout True", "done"]


def test_message_larger_than_the_buffer_is_acknowledged_dropped_and_named(tmp_path: Path) -> None:
    big = b"\x32\xd4\x4e\x00\x05t/big\x00\x07" + b"x" * 10059  # 10,068 bytes after the fixed header

    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        c.sendall(CONNACK)
        c.sendall(big[:3])
        time.sleep(0.05)
        c.sendall(big[3:] + b"\x32\x08\x00\x01x\x00\x09abc")
        expect(c, b"\x40\x02\x00\x07\x40\x02\x00\x09\xe0\x00")

    body = """
async def main():
    client = mqtt.Client("a", rx=bytearray(256))
    seen = []
    client.on_message = lambda topic, payload: seen.append((topic, None if payload is None else bytes(payload)))
    await client.connect("127.0.0.1", port)
    while len(seen) < 2:
        await asyncio.sleep_ms(10)
    await asyncio.sleep_ms(50)
    await client.disconnect()
    print(seen)
run(main())
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path) == ["[('t/big', None), ('x', b'abc')]", "done"]


def test_bytes_arriving_one_by_one_make_the_same_messages(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        for byte in CONNACK + b"\x32\x08\x00\x01x\x00\x09abc\x30\x06\x00\x02yzde":
            c.sendall(bytes([byte]))
            time.sleep(0.005)
        expect(c, b"\x40\x02\x00\x09\xe0\x00")

    body = """
async def main():
    client = mqtt.Client("a")
    seen = []
    client.on_message = lambda topic, payload: seen.append((topic, None if payload is None else bytes(payload)))
    await client.connect("127.0.0.1", port)
    while len(seen) < 2:
        await asyncio.sleep_ms(10)
    await client.disconnect()
    print(seen)
run(main())
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path) == ["[('x', b'abc'), ('yz', b'de')]", "done"]


def test_cancelled_connect_closes_its_socket(tmp_path: Path) -> None:
    closed = []

    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        expect_end(c)
        closed.append(True)

    body = """
async def main():
    client = mqtt.Client("a")
    task = asyncio.create_task(client.connect("127.0.0.1", port))
    await asyncio.sleep_ms(200)
    task.cancel()
    await asyncio.sleep_ms(300)
    print(client.wire.sock, client.wire.raw, client.error.kind)
run(main())
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path) == ["None None closed", "done"]
    assert closed == [True]


def test_refused_subscription_is_named(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        expect(c, CONNECT)
        c.sendall(CONNACK)
        read_exactly(c, 8)
        c.sendall(b"\x90\x03\x00\x01\x80")
        expect_end(c)

    body = """
async def main():
    client = mqtt.Client("a")
    await client.connect("127.0.0.1", port)
    await outcome(client.subscribe(["x"]))
    client.close()
run(main())
"""
    with FakeBroker(script) as broker:
        assert "refused the subscription to x" in run(body, broker, tmp_path)[0]


def test_fifty_failed_connections_leave_no_socket_and_no_memory_behind(tmp_path: Path) -> None:
    def script(c: socket.socket) -> None:
        c.recv(1000)

    body = """
import gc, os
async def main():
    client = mqtt.Client("a")
    for n in range(50):
        try:
            await client.connect("127.0.0.1", port)
        except MqttError:
            pass
        if n == 5:
            gc.collect()
            before = gc.mem_alloc(), len(os.listdir("/proc/self/fd"))
    gc.collect()
    after = gc.mem_alloc(), len(os.listdir("/proc/self/fd"))
    print(after[0] - before[0] < 200, after[1] - before[1])
run(main())
"""
    with FakeBroker(script) as broker:
        assert run(body, broker, tmp_path) == ["True 0", "done"]
