"""`headwall check` against real parts: all well, and each fault named with its remedy."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from headwall.clock import SystemClock
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.ops.check import check
from headwall.ops.checks.finding import Finding
from headwall_board.certs import Authority, issue_server
from headwall_sim.broker import Account, Broker, open_broker
from headwall_sim.influx_server import InfluxServer
from headwall_sim.mailbox import Mailbox, refuse
from paho.mqtt.enums import CallbackAPIVersion
from support.readings import append, tip

HEADWALL = Path(sys.executable).with_name("headwall")
GATEWAY = Account("headwall-gateway", "gateway secret", "gateway")
NODE = Account("gauge-a", "node secret")
REGISTRY = """
nodes = []
sites = []
[[municipalities]]
id = "elmsford"
name = "Village of Elmsford"
profile = "elmsford"
[[people]]
id = "op"
name = "Olive Operator"
email = "op@example.org"
roles = [{ role = "operator", from = 2024-01-01 }]
"""


class Site:
    """A folder with a configuration in which everything works, until a test changes it."""

    def __init__(self, folder: Path, broker: Broker, smtp: Mailbox) -> None:
        self.folder = folder
        folder.mkdir()
        ca = str(broker.ca.cert)
        self.sections: dict[str, dict[str, Any]] = {
            "mqtt": {
                "host": "localhost", "port": broker.port_5, "ca_file": ca,
                "username": GATEWAY.name, "password": GATEWAY.password,
            },
            "smtp": {
                "host": "localhost", "port": smtp.port, "ca_file": ca, "sender": "headwall@example.org",
                "username": smtp.username, "password": smtp.password,
            },
        }  # fmt: skip
        self.registry = REGISTRY

    def write(self) -> Path:
        """Write the files; returns headwall.toml."""
        (self.folder / "registry.toml").write_text(self.registry)
        lines = ['registry = "registry.toml"']
        for name, values in self.sections.items():
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
        config = self.folder / "headwall.toml"
        config.write_text("\n".join(lines))
        return config

    def check(self, *, mail: bool = False) -> list[Finding]:
        return list(check(self.write(), mail=mail))

    def failing(self, *, mail: bool = False) -> dict[str, str]:
        """What was said of each part that fails."""
        return {found.part: f"{found.what} -> {found.mend}" for found in self.check(mail=mail) if not found.ok}

    def command(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [str(HEADWALL), "check", "--config", str(self.write()), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def broker(mosquitto: Callable[[Sequence[Account]], Broker]) -> Broker:
    return mosquitto([GATEWAY, NODE])


@pytest.fixture
def site(tmp_path: Path, broker: Broker, mailbox: Mailbox) -> Site:
    return Site(tmp_path / "site", broker, mailbox)


@pytest.fixture
def aged_broker(tmp_path: Path, ca: Authority) -> Iterator[Callable[..., Broker]]:
    """A broker whose certificate has other names or another window."""
    started: list[Broker] = []

    def start(names: list[str], first_day: int, last_day: int) -> Broker:
        now = datetime.now(UTC)
        window = (now + timedelta(days=first_day), now + timedelta(days=last_day))
        server = issue_server(tmp_path / "aged", ca, names, *window)
        started.append(open_broker(tmp_path / "aged", [GATEWAY], "mosquitto", ca=ca, server=server))
        started[-1].start()
        return started[-1]

    yield start
    for running in started:
        running.stop()


pytestmark = pytest.mark.mosquitto


@pytest.mark.influxdb
def test_everything_well_exits_0_and_tries_every_part(site: Site, influx: InfluxServer) -> None:
    site.sections["influx"] = {
        "url": influx.url, "org": influx.org, "bucket": influx.bucket, "token": influx.token,
    }  # fmt: skip
    run = site.command("--json")
    said = json.loads(run.stdout)
    assert (run.returncode, said["ok"], [f for f in said["findings"] if not f["ok"]]) == (0, True, [])
    assert [found["part"] for found in said["findings"]] == [
        "settings", "registry", "profile", "ledger", "log book", "ledger disk", "clock", "broker address", "broker TLS",
        "broker login", "broker publish", "InfluxDB", "clock and InfluxDB", "InfluxDB write", "SMTP",
    ]  # fmt: skip


def test_failure_exits_1_with_part_fault_and_remedy(site: Site) -> None:
    site.sections["smtp"]["port"] = 1
    run = site.command()
    assert run.returncode == 1
    assert "FAILS  SMTP" in run.stdout
    assert "-> correct [smtp]" in run.stdout
    assert run.stdout.splitlines()[-1] == "1 of 12 trials failed"


def test_test_mail_reaches_the_operator(site: Site, mailbox: Mailbox) -> None:
    assert site.failing(mail=True) == {}
    (mail,) = mailbox.mails()
    assert (mail.message["To"], mail.message["Subject"]) == ("op@example.org", "Headwall: test mail")


def test_test_mail_without_an_operator_fails(site: Site) -> None:
    site.registry = site.registry.replace("from = 2024-01-01", "from = 2024-01-01, to = 2024-02-01")
    assert "no operator" in site.failing(mail=True)["test mail"]


def test_refused_test_mail_fails_with_the_answer(site: Site, mailbox: Mailbox) -> None:
    mailbox.then(refuse("554 not today"))
    assert "554 not today" in site.failing(mail=True)["test mail"]


def test_every_fault_of_the_settings_is_a_finding(site: Site) -> None:
    site.sections["mqtt"] |= {"port": 0, "tpyo": 1}
    assert [(found.part, found.what.split(":")[0]) for found in site.check()] == [
        ("settings", "mqtt.port"),
        ("settings", "mqtt.tpyo"),
    ]


def test_faulty_registry_is_named_and_the_rest_tried(site: Site) -> None:
    site.registry = site.registry.replace('profile = "elmsford"', 'profile = "atlantis"')
    failed = site.failing()
    assert "atlantis" in str(failed)
    assert not {"SMTP", "broker login", "ledger"} & failed.keys()


def test_absent_broker_is_named(site: Site, broker: Broker) -> None:
    broker.stop()
    assert "start the broker" in site.failing()["broker address"]


def test_unknown_host_is_named(site: Site) -> None:
    site.sections["mqtt"]["host"] = "no-such-host.invalid"
    assert "mqtt.host" in site.failing()["broker address"]


def test_port_without_tls_is_named(site: Site, mailbox: Mailbox) -> None:
    site.sections["mqtt"]["port"] = mailbox.port
    assert "TLS listener" in site.failing()["broker TLS"]


@pytest.mark.parametrize(
    "names, first_day, last_day, says",
    [
        (["localhost"], -9, -1, ["expired", "issue a new certificate"]),
        (["localhost"], 1, 9, ["not yet valid", "clock"]),
        (["broker.elsewhere"], -1, 90, ["It is for broker.elsewhere", "set mqtt.host"]),
        (["localhost"], -9, 5, ["ends in 4 days"]),
    ],
    ids=["expired", "not yet valid", "other name", "soon over"],
)
def test_unfit_certificate_is_named(
    site: Site, aged_broker: Callable[..., Broker], names: list[str], first_day: int, last_day: int, says: list[str]
) -> None:
    site.sections["mqtt"]["port"] = aged_broker(names, first_day, last_day).port_5
    said = site.failing()["broker TLS"]
    assert [word for word in says if word not in said] == [], said


def test_certificate_of_another_authority_is_named(site: Site) -> None:
    del site.sections["mqtt"]["ca_file"]
    assert "set mqtt.ca_file" in site.failing()["broker TLS"]


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_wrong_broker_password_is_named(site: Site, protocol: str) -> None:
    site.sections["mqtt"] |= {"password": "guess", "protocol": protocol}
    assert "mqtt.password_file" in site.failing()["broker login"]


def test_account_that_may_not_publish_custody_is_named(site: Site) -> None:
    site.sections["mqtt"] |= {"username": NODE.name, "password": NODE.password}
    assert "Not authorized" in site.failing()["broker publish"]


def test_running_gateway_keeps_its_connection(site: Site, broker: Broker) -> None:
    """With the gateway's own client id the trial would take its session over."""
    connected, ended = threading.Event(), threading.Event()
    gateway = paho.Client(CallbackAPIVersion.VERSION2, client_id="headwall-gateway", protocol=paho.MQTTv5)
    gateway.username_pw_set(GATEWAY.name, GATEWAY.password)
    gateway.tls_set(ca_certs=str(broker.ca.cert))
    gateway.on_connect = lambda *_: connected.set()
    gateway.on_disconnect = lambda *_: ended.set()
    gateway.connect(broker.host, broker.port_5)
    gateway.loop_start()
    assert connected.wait(5)
    site.sections["mqtt"]["client_id"] = "headwall-gateway"
    assert site.failing() == {}
    assert not ended.is_set()
    gateway.disconnect()
    gateway.loop_stop()


def test_ledger_that_cannot_be_written_is_named(site: Site) -> None:
    site.sections["ledger"] = {"url": "sqlite:////proc/headwall.db"}
    assert "cannot be opened" in site.failing()["ledger"]


def test_log_book_whose_row_was_changed_is_named(site: Site) -> None:
    ledger = Ledger.open(f"sqlite:///{site.folder}/headwall.db")
    with ledger.begin() as conn:
        for name in ("a", "b"):
            log_book.append(conn, "accepted", "Olive Operator", {"node": name}, 1)
        conn.execute(schema.records.update().where(schema.records.c.n == 1).values(by="Somebody Else"))
    ledger.close()
    assert "row 1 was changed" in site.failing()["log book"]


def test_clock_behind_the_ledger_is_named(site: Site) -> None:
    assert site.failing() == {}
    ledger = Ledger.open(f"sqlite:///{site.folder}/headwall.db")
    tomorrow_us = SystemClock().now_us() + 86_400_000_000
    append(ledger, [tip(1, received_us=tomorrow_us)])
    ledger.close()
    assert "let NTP keep it" in site.failing()["clock"]


@pytest.mark.influxdb
@pytest.mark.parametrize(
    "change, part, says",
    [
        ({"token": "wrong"}, "InfluxDB write", "influx.token_file"),
        ({"bucket": "nowhere"}, "InfluxDB write", "influx.bucket"),
        ({"org": "nobody"}, "InfluxDB write", "influx.org"),
        ({"url": "http://127.0.0.1:1"}, "InfluxDB", "start InfluxDB"),
        ({"url": "nonsense"}, "InfluxDB", "influx.url"),
    ],
    ids=["token", "bucket", "organisation", "address", "no address"],
)
def test_unfit_influx_is_named(site: Site, influx: InfluxServer, change: dict[str, str], part: str, says: str) -> None:
    fields = {"url": influx.url, "org": influx.org, "bucket": influx.bucket, "token": influx.token}
    site.sections["influx"] = {**fields, **change}
    failed = site.failing()
    assert list(failed) == [part]
    assert says in failed[part]


def test_wrong_smtp_password_is_named(site: Site) -> None:
    site.sections["smtp"]["password"] = "guess"
    assert "535" in site.failing()["SMTP"]
