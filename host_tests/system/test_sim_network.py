"""The simulated network: proxies that fail as networks do, the time server, outages."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from headwall.clock import to_us
from headwall_sim.net_thread import NetThread
from headwall_sim.proxy import Proxy
from headwall_sim.sntp_server import SntpServer
from headwall_sim.supervisor import Supervisor

_START = to_us(datetime(2026, 6, 9, 12, 0, 0, 250_000, tzinfo=UTC))
_S = 1_000_000


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(100):
            self.request.sendall(data)


@pytest.fixture
def net() -> Iterator[NetThread]:
    made = NetThread()
    yield made
    made.stop()


@pytest.fixture
def proxy(net: NetThread) -> Iterator[Proxy]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made = Proxy(net, ("127.0.0.1", server.server_address[1]))
        yield made
        made.stop()
        server.shutdown()


def _connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((proxy.host, proxy.port), timeout=5)


def test_open_proxy_passes_both_ways(proxy: Proxy) -> None:
    with _connect(proxy) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"


def test_cut_proxy_resets_old_and_new_connections(proxy: Proxy) -> None:
    with _connect(proxy) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"
        proxy.set_mode("cut")
        with pytest.raises(ConnectionResetError):
            client.recv(100)
    with pytest.raises(ConnectionResetError), _connect(proxy) as client:
        client.recv(100)
    proxy.set_mode("open")
    with _connect(proxy) as client:
        client.sendall(b"again")
        assert client.recv(100) == b"again"
    assert proxy.connections == 3


def test_black_hole_takes_bytes_and_never_answers(proxy: Proxy) -> None:
    with _connect(proxy) as old:
        old.sendall(b"hello")
        assert old.recv(100) == b"hello"
        proxy.set_mode("black_hole")
        with _connect(proxy) as new:
            for client in (old, new):
                client.sendall(b"anybody?")
                client.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    client.recv(100)


def test_proxy_without_anybody_behind_it_resets(net: NetThread) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        proxy = Proxy(net, free.getsockname())
        with pytest.raises(ConnectionResetError), _connect(proxy) as client:
            client.recv(100)
        proxy.stop()


def _ask(server: SntpServer) -> tuple[bytes, bytes] | None:
    request = struct.pack(">B39x8s", 0x23, b"mynonce!")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.3)
        client.sendto(request, (server.host, server.port))
        try:
            answer = client.recv(100)
        except TimeoutError:
            return None
    return answer[24:32], answer[40:48]


def test_time_server_tells_the_given_time_and_echoes_the_nonce(net: NetThread) -> None:
    server = SntpServer(net, lambda: _START)
    assert _ask(server) == (b"mynonce!", struct.pack(">II", _START // _S + 2_208_988_800, 2**30))
    server.wrong_by_s = -86400
    answer = _ask(server)
    assert answer is not None
    assert struct.unpack(">I", answer[1][:4])[0] == _START // _S + 2_208_988_800 - 86400
    server.answering = False
    assert _ask(server) is None
    assert server.asked == 3
    server.stop()


def test_outage_follows_its_timetable(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import network, time\n"
        "wlan = network.WLAN(network.STA_IF); wlan.active(True); wlan.connect('site', 'key')\n"
        "was = None\n"
        "while True:\n"
        "    now = wlan.isconnected()\n"
        "    if now != was: print(now, time.time() // 60)\n"
        "    was = now; time.sleep(60)\n"
    )
    with Supervisor(tmp_path / "sim", start_us=_START, firmware=tmp_path) as sim:
        proxy = sim.proxy(("127.0.0.1", 9))
        board = sim.board("a", files={"config.json": b"{}"}, boot_ms=0)
        board.power_on()
        sim.outage(board, proxy, from_us=_START + 3600 * _S, to_us=_START + 7200 * _S)
        sim.clock.run_until(_START + 3700 * _S)
        assert proxy.mode == "cut"
        sim.clock.run_until(_START + 3 * 3600 * _S)
        assert proxy.mode == "open"
        said = [line.split(" ", 1)[1] for line in board.console.read_text().splitlines() if "---" not in line]
        assert said == ["True 0", "False 60", "True 120"]
        assert [event["event"] for event in sim.events] == ["power_on", "boot", "network_down", "network_up"]
