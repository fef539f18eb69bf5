"""Certificates as the parts that rely on them see them: MicroPython's TLS and OpenSSL through Python."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from headwall_board.certs import Authority, issue_server, make_ca
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Account, Broker, open_broker

MICROPYTHON = Path(sys.executable).with_name("micropython")
#: connects as a board does, with the authority as DER and the name checked; prints what came of it
BOARD = """
import socket, sys, tls
port, name, ca = int(sys.argv[1]), sys.argv[2], sys.argv[3]
context = tls.SSLContext(tls.PROTOCOL_TLS_CLIENT)
context.verify_mode = tls.CERT_REQUIRED
with open(ca, "rb") as f:
    context.load_verify_locations(f.read())
s = socket.socket()
s.connect(socket.getaddrinfo("127.0.0.1", port)[0][-1])
try:
    context.wrap_socket(s, server_hostname=name)
    print("verified")
except Exception as e:
    print("refused", e)
"""


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_ca(tmp_path_factory.mktemp("ca"), "ca", NOT_BEFORE, NOT_AFTER)


@pytest.fixture(params=[pytest.param("mosquitto", marks=pytest.mark.mosquitto), "iotcore"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def board_says(folder: Path, broker: Broker, ca_der: Path, name: str = "localhost") -> str:
    script = folder / "board.py"
    script.write_text(BOARD)
    command = [str(MICROPYTHON), str(script), str(broker.port_311), name, str(ca_der)]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()


@pytest.fixture
def broker(kind: str, tmp_path: Path, ca: Authority) -> Iterator[Broker]:
    with open_broker(tmp_path / "broker", [Account("gauge-a", "x")], kind=kind, ca=ca) as running:  # type: ignore[arg-type]
        yield running


def test_board_verifies_broker(broker: Broker, tmp_path: Path) -> None:
    assert board_says(tmp_path, broker, broker.ca.der) == "verified"


def test_board_refuses_another_host_name(broker: Broker, tmp_path: Path) -> None:
    assert board_says(tmp_path, broker, broker.ca.der, "broker.elsewhere").startswith("refused")


def test_board_refuses_another_authority(broker: Broker, tmp_path: Path) -> None:
    other = make_ca(tmp_path / "other", "ca", NOT_BEFORE, NOT_AFTER)
    assert board_says(tmp_path, broker, other.der).startswith("refused")


@pytest.mark.parametrize("start_day, end_day", [(-2, -1), (1, 2)], ids=["expired", "not yet valid"])
def test_board_refuses_a_certificate_outside_its_window(
    kind: str, tmp_path: Path, ca: Authority, start_day: int, end_day: int
) -> None:
    now = datetime.now(UTC)
    window = (now + timedelta(days=start_day), now + timedelta(days=end_day))
    server = issue_server(tmp_path, ca, ["localhost"], *window)
    accounts = [Account("gauge-a", "x")]
    with open_broker(tmp_path / "broker", accounts, kind=kind, ca=ca, server=server) as broker:  # type: ignore[arg-type]
        assert board_says(tmp_path, broker, ca.der).startswith("refused")


def test_private_keys_are_readable_by_their_owner_alone(ca: Authority, tmp_path: Path) -> None:
    server = issue_server(tmp_path, ca, ["localhost"], NOT_BEFORE, NOT_AFTER)
    assert [path.stat().st_mode & 0o777 for path in (ca.key, server.key)] == [0o600, 0o600]


def test_certificate_matches_its_key_and_chain(ca: Authority, tmp_path: Path) -> None:
    server = issue_server(tmp_path, ca, ["broker.example", "192.0.2.1"], NOT_BEFORE, NOT_AFTER)
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(server.cert, server.key)


def test_naive_window_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="time zone"):
        make_ca(tmp_path, "ca", datetime(2020, 1, 1), datetime(2030, 1, 1))


def test_server_without_a_name_is_refused(ca: Authority, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one"):
        issue_server(tmp_path, ca, [], NOT_BEFORE, NOT_AFTER)
