"""The real parts around simulated boards: broker, mailbox, InfluxDB where it is here, and the gateway process.

with Supervisor(folder / "boards", …) as sim, Village(folder, sim.clock_setting, ["board-a"], registry) as village:
    board = sim.board("board-a", files=village.flash_files("board-a", proxy.port, sim.sntp.port, pins=[4]), …)
    village.gateway.kill()                   # as a power cut would
    village.gateway.start(READY_S)           # over the same ledger
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwall.errors import HeadwallError
from headwall_board.certs import Authority, issue_server

from headwall_sim import parts
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Account, Broker, open_broker
from headwall_sim.influx_server import InfluxServer
from headwall_sim.mailbox import Mailbox
from headwall_sim.server_process import ServerProcess, free_port

GATEWAY = "gateway"
#: real seconds that the gateway may take to serve its page
READY_S = 60.0


class VillageError(HeadwallError):
    """A simulation cannot go on; the message says what to look at."""


class Village:
    """Starts and stops what boards talk to. Files and logs are all in `folder`; nothing changes its port.

    Args:
        clock_setting: what the gateway gets as `clock`.
        nodes: ids of the boards that have an account at the broker, whether or not the registry knows them.
        registry: text of registry.toml.
        web_port: of the page; None takes a free one.
        ca: signs the certificates of broker and mailbox; None makes one.
        influx: whether to run InfluxDB where it is here.

    Attributes:
        gateway: the process of `headwall run`.
        influx: None without.
    """

    def __init__(
        self,
        folder: Path,
        clock_setting: str,
        nodes: Sequence[str],
        registry: str,
        *,
        web_port: int | None = None,
        ca: Authority | None = None,
        influx: bool = True,
    ) -> None:
        self.folder = folder
        self.passwords = {name: secrets.token_hex(12) for name in (GATEWAY, *nodes)}
        accounts = [Account(GATEWAY, self.passwords[GATEWAY], role="gateway")]
        accounts += [Account(node, self.passwords[node]) for node in nodes]
        self.broker: Broker = open_broker(folder / "broker", accounts, ca=ca)
        certificate = issue_server(folder / "mail", self.broker.ca, ["localhost", "127.0.0.1"], NOT_BEFORE, NOT_AFTER)
        self.mailbox = Mailbox(folder / "mails", certificate=certificate, password=secrets.token_hex(12))
        self.influx = InfluxServer(folder / "influxdb") if influx and parts.find("influxdb") is not None else None
        self.web_port = web_port or free_port()
        self.config = folder / "headwall.toml"
        self.ledger_file = folder / "headwall.db"
        self._clock_setting = clock_setting
        self._registry = registry
        command = [sys.executable, "-m", "headwall", "run", "--config", str(self.config)]
        self.gateway = ServerProcess("the gateway", command, folder / "gateway.log", self._serves)

    @property
    def page(self) -> str:
        """Address of the web page."""
        return f"http://127.0.0.1:{self.web_port}"

    def start(self) -> None:
        """Start everything and return once the gateway serves its page."""
        self.broker.start()
        self.mailbox.start()
        if self.influx is not None:
            self.influx.start()
        self.write_registry(self._registry)
        self.config.write_text(self._settings(), encoding="utf-8")
        self.gateway.start(READY_S)

    def stop(self) -> None:
        """Stop the gateway first, so that it can say goodbye to the others."""
        self.gateway.stop()
        if self.influx is not None:
            self.influx.stop()
        self.mailbox.stop()
        self.broker.stop()

    def __enter__(self) -> Village:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def write_registry(self, text: str) -> None:
        """Put another registry in place; the gateway reads it when it starts."""
        (self.folder / "registry.toml").write_text(text, encoding="utf-8")

    def command(self, *words: str) -> str:
        """Run a headwall command as a person would; its output.

        Raises:
            VillageError: it failed.
        """
        done = subprocess.run(
            [sys.executable, "-m", "headwall", *words, "--config", str(self.config)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "120"},
        )
        if done.returncode:
            raise VillageError(f"headwall {' '.join(words)} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def status(self) -> dict[str, Any]:
        """The gateway's status as its page's JSON has it."""
        with urllib.request.urlopen(f"{self.page}/api/status", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def check_alive(self) -> None:
        """VillageError if the gateway process has ended."""
        if self.gateway.pid is None:
            tail = self.gateway.log_file.read_text(errors="replace").strip().splitlines()[-5:]
            raise VillageError("the gateway has ended; its log says:\n" + "\n".join(tail))

    def revive_broker(self) -> bool:
        """Start a broker anew that has ended by itself; whether it had. What it held is lost, boards send it again."""
        if self.broker.pid is not None:
            return False
        self.broker.start()
        return True

    def flash_files(self, node: str, broker_port: int, ntp_port: int, **settings: object) -> dict[str, bytes]:
        """What stands on a board's flash beside the program.

        Args:
            broker_port, ntp_port: on 127.0.0.1, usually of proxies.
            settings: more keys of config.json, or others than those here.
        """
        config = {
            "node": node,
            "broker_host": "127.0.0.1",
            "broker_port": broker_port,
            "broker_name": "localhost",
            "ntp_host": "127.0.0.1",
            "ntp_port": ntp_port,
            "keepalive_s": 1200,
            "watchdog_s": 180,
            "sensors": [{"kind": "tipping_bucket", "pin": 4}],
            **settings,
        }
        hidden = {
            "username": node,
            "password": self.passwords[node],
            "wifi": [{"ssid": "village", "password": "not-a-secret"}],
        }
        return {
            "config.json": json.dumps(config).encode(),
            "secrets.json": json.dumps(hidden).encode(),
            "ca.der": self.broker.ca.der.read_bytes(),
        }

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.page}/healthz", timeout=2):
                return True
        except urllib.error.HTTPError:
            return True  # 503: it serves, and says that another part is not well
        except (urllib.error.URLError, OSError):
            return False

    def _settings(self) -> str:
        influx = ""
        if self.influx is not None:
            influx = (
                f'[influx]\nurl = "{self.influx.url}"\norg = "{self.influx.org}"\n'
                f'bucket = "{self.influx.bucket}"\ntoken = "{self.influx.token}"\n'
            )
        return f"""# Written for a simulation. The one thing that a real installation never has is the line `clock`.
registry = "registry.toml"
clock = "{self._clock_setting}"

[mqtt]
host = "localhost"
port = {self.broker.port_5}
protocol = "5"
username = "{GATEWAY}"
password = "{self.passwords[GATEWAY]}"
ca_file = "{self.broker.ca.cert}"

[ledger]
url = "sqlite:///{self.ledger_file.name}"

[smtp]
host = "localhost"
port = {self.mailbox.port}
security = "starttls"
username = "{self.mailbox.username}"
password = "{self.mailbox.password}"
ca_file = "{self.broker.ca.cert}"
sender = "headwall@elmsford.example"

[notify]
digest_at = "07:00"
public_url = "{self.page}"

[web]
port = {self.web_port}

{influx}"""
