"""`headwall certs`: what it writes is taken by real mosquitto and by MicroPython's TLS, and secrets stay secret."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from headwall_board.certs import Authority, issue_server
from headwall_board.mosquitto import acl_text
from headwall_sim import parts
from headwall_sim.server_process import ServerProcess, accepts, free_port
from support.terminal import typed

MICROPYTHON = Path(sys.executable).with_name("micropython")
DEPLOY = Path(__file__).parents[2] / "deploy"
FIRMWARE = Path(__file__).parents[2] / "firmware" / "lib"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def certs(folder: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headwall", "certs", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


def made(folder: Path, *words: str, stdin: str = "") -> str:
    done = certs(folder, *words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with an authority, certificates for localhost and two boards, an access list and passwords."""
    made(tmp_path, "ca")
    made(tmp_path, "broker", "localhost", "127.0.0.1")
    made(tmp_path, "node", "gauge-a", "gauge-b")
    made(tmp_path, "acl", "--out", "acl")
    made(tmp_path, "passwords", "headwall-gateway", "gauge-a", "gauge-b", "--generate", "secrets")
    return tmp_path


@pytest.fixture
def broker(installed: Path, needed: Callable[[str], Path]) -> Iterator[int]:
    """Port of a mosquitto that runs with these files and asks boards for their certificates."""
    program, port = needed("mosquitto"), free_port()
    conf = installed / "mosquitto.conf"
    conf.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous false\n"
        f"cafile {installed / 'certs/ca.pem'}\nrequire_certificate true\n"
        f"certfile {installed / 'certs/server.pem'}\nkeyfile {installed / 'certs/server.key'}\n"
        f"password_file {installed / 'passwords'}\nacl_file {installed / 'acl'}\n"
        + ("user root\n" if os.geteuid() == 0 else "")
    )
    running = ServerProcess("mosquitto", [str(program), "-c", str(conf)], installed / "log", lambda: accepts(port))
    running.start()
    yield port
    running.stop()


#: connects as the node's program does, with the files that its configuration names; prints what came of it
NODE = """
import asyncio, sys
from headwall_node import mqtt
from headwall_node.mqtt_error import MqttError
from headwall_node.room import Room

async def main():
    with open("secrets/gauge-a.password") as file:
        client = mqtt.Client("gauge-a", "gauge-a", file.read().strip(), timeout_ms=5000)
    client.on_message = print
    try:
        await client.connect("127.0.0.1", int(sys.argv[1]), Room("certs/ca.der", sys.argv[2]).tls(), "localhost")
        await client.publish("headwall/v1/gauge-a/tele", b"x")
        await client.until(lambda: not client.unacked, "PUBACK")
        print("connected")
    except MqttError as error:
        print(error.kind, error)

asyncio.run(main())
"""


def node_says(installed: Path, port: int, certificate: str) -> str:
    script = installed / "node.py"
    script.write_text(NODE)
    return subprocess.run(
        [str(MICROPYTHON), str(script), str(port), certificate],
        cwd=installed,
        env={**os.environ, "MICROPYPATH": f"{FIRMWARE}:.frozen"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout.strip()


def test_board_proves_itself_to_the_broker_with_its_certificate(installed: Path, broker: int) -> None:
    assert node_says(installed, broker, "certs/gauge-a.der") == "connected"
    assert node_says(installed, broker, "") != "connected"


def test_board_names_a_certificate_that_it_cannot_use(installed: Path, broker: int) -> None:
    assert node_says(installed, broker, "certs/absent.der").startswith("wrong_cert the file certs/absent.der")
    (installed / "certs/gauge-a.der").write_bytes(b"no certificate")
    assert node_says(installed, broker, "certs/gauge-a.der").startswith("wrong_cert the node's certificate")


def test_account_reaches_its_own_topics_alone(installed: Path, broker: int) -> None:
    password = (installed / "secrets/gauge-b.password").read_text().strip()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="gauge-b", protocol=mqtt.MQTTv5)
    client.username_pw_set("gauge-b", password)
    pair = installed / "pair.pem"  # OpenSSL reads PEM; a board's files are DER
    key = serialization.load_der_private_key((installed / "certs/gauge-b.key.der").read_bytes(), None)
    pair.write_bytes(
        ssl.DER_cert_to_PEM_cert((installed / "certs/gauge-b.der").read_bytes()).encode()
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    client.tls_set(str(installed / "certs/ca.pem"), str(pair))
    codes: list[int] = []
    client.on_publish = lambda *given: codes.append(given[3].value)
    client.connect("localhost", broker)
    client.loop_start()
    for topic in ("headwall/v1/gauge-b/tele", "headwall/v1/gauge-a/tele", "headwall/v1/gauge-b/custody"):
        client.publish(topic, b"x", qos=1).wait_for_publish(10)
    client.disconnect()
    client.loop_stop()
    assert [code < 128 for code in codes] == [True, False, False]


def test_files_with_secrets_are_readable_by_their_owner_alone(installed: Path) -> None:
    private = ["certs/ca.key", "certs/server.key", "certs/gauge-a.key.der", "passwords", "secrets/gauge-a.password"]
    assert [(installed / name).stat().st_mode & 0o777 for name in private] == [0o600] * len(private)


def test_generated_password_is_not_printed_and_stays_when_the_file_is_made_again(installed: Path) -> None:
    password = (installed / "secrets/gauge-a.password").read_text().strip()
    (installed / "passwords").unlink()
    said = made(installed, "passwords", "gauge-a", "--generate", "secrets")
    assert (installed / "secrets/gauge-a.password").read_text().strip() == password
    assert password not in said
    assert password not in (installed / "passwords").read_text()


def test_password_from_standard_input_replaces_that_account_alone(installed: Path) -> None:
    before = dict(line.split(":") for line in (installed / "passwords").read_text().splitlines())
    made(installed, "passwords", "gauge-b", stdin="another word\n")
    after = dict(line.split(":") for line in (installed / "passwords").read_text().splitlines())
    assert list(after) == list(before)
    assert {name for name in after if after[name] != before[name]} == {"gauge-b"}


def test_password_that_is_typed_is_not_to_be_seen(installed: Path) -> None:
    before = (installed / "passwords").read_text()
    command = [sys.executable, "-m", "headwall", "certs", "passwords", "gauge-b"]
    code, seen = typed(command, installed, [("password of gauge-b", "only typed"), ("again", "only typed")])
    assert (code, "only typed" in seen) == (0, False)
    assert (installed / "passwords").read_text() != before
    code, seen = typed(command, installed, [("password of gauge-b", "one"), ("again", "other")])
    assert (code, "differ" in seen) == (1, True)


def test_account_is_taken_out(installed: Path) -> None:
    said = made(installed, "passwords", "gauge-b", "--remove")
    assert "2 accounts: headwall-gateway, gauge-a" in said
    again = certs(installed, "passwords", "gauge-b", "--remove")
    assert again.returncode == 1
    assert "no account 'gauge-b'" in again.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["passwords", "gauge-a"], "no password for gauge-a"),
        (["passwords", "Gauge_A", "--generate", "secrets"], "no node id"),
        (["node", "../x"], "no node id"),
        (["ca"], "is there already"),
        (["broker", "localhost", "--days", "99999"], "goes beyond the end"),
        (["broker", "localhost", "--folder", "elsewhere"], "make an authority first"),
        (["list", "--folder", "elsewhere"], "holds no certificates"),
    ],
)
def test_what_cannot_be_done_says_why(installed: Path, words: list[str], why: str) -> None:
    done = certs(installed, *words)
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_password_file_of_another_form_is_left_alone(installed: Path) -> None:
    (installed / "passwords").write_text("gauge-a:in plain text\n")
    done = certs(installed, "passwords", "gauge-b", "--generate", "secrets")
    assert done.returncode == 1
    assert "line 1" in done.stderr
    assert (installed / "passwords").read_text() == "gauge-a:in plain text\n"


def test_list_tells_when_each_ends(installed: Path) -> None:
    found = json.loads(made(installed, "list", "--json"))
    assert [(one["for"], one["names"]) for one in found] == [
        ("broker", ["localhost", "127.0.0.1"]),
        ("node", ["gauge-a"]),
        ("node", ["gauge-b"]),
        ("ca", ["Headwall ca"]),
    ]
    assert "certs/server.pem" in made(installed, "list")


@pytest.mark.parametrize(("days", "code"), [(31, 0), (29, 1), (-1, 1)])
def test_list_fails_when_a_certificate_ends_within_a_month(installed: Path, days: int, code: int) -> None:
    folder = installed / "certs"
    authority = Authority(folder / "ca.pem", folder / "ca.der", folder / "ca.key")
    end = datetime.now(UTC) + timedelta(days=days, hours=1)
    issue_server(folder, authority, ["localhost"], LONG_AGO, end)
    done = certs(installed, "list")
    assert done.returncode == code
    assert ("renew it: headwall certs broker" in done.stderr) is bool(code)


def test_printed_access_list_is_that_of_deploy(tmp_path: Path) -> None:
    shipped = [line for line in (DEPLOY / "acl").read_text().splitlines() if line.strip() and not line.startswith("#")]
    assert sorted(made(tmp_path, "acl").splitlines()) == sorted(shipped)
    assert made(tmp_path, "acl", "--gateway", "one", "--gateway", "two") == acl_text(["one", "two"])


def test_mosquitto_tool_reads_the_password_file(installed: Path) -> None:
    tool = parts.find("mosquitto")
    if tool is None or not tool.with_name("mosquitto_passwd").exists():
        tool = Path("/usr/bin/mosquitto_passwd")
    else:
        tool = tool.with_name("mosquitto_passwd")
    if not tool.exists():
        pytest.skip("mosquitto_passwd is not here")
    subprocess.run([str(tool), "-D", str(installed / "passwords"), "gauge-a"], check=True, capture_output=True)
    left = [line.split(":")[0] for line in (installed / "passwords").read_text().splitlines()]
    assert left == ["headwall-gateway", "gauge-b"]
