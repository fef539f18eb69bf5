"""The real parts around the demo's boards: broker, mailbox, InfluxDB where it is here, and the gateway process."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.resources import files
from pathlib import Path
from typing import Any

from headwall.errors import HeadwallError
from headwall_board.certs import issue_server

from headwall_sim import parts
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Account, Broker, open_broker
from headwall_sim.demo.scenario import BOARDS, DemoBoard
from headwall_sim.influx_server import InfluxServer
from headwall_sim.mailbox import Mailbox
from headwall_sim.server_process import free_port

GATEWAY = "gateway"
_READY_S = 60.0


class DemoError(HeadwallError):
    """The demo cannot go on; the message says what to look at."""


class DemoParts:
    """Starts and stops what the boards talk to. Files and logs are all in `folder`.

    Args:
        web_port: of the page; another free one is taken where it is in use.
    """

    def __init__(self, folder: Path, clock_setting: str, web_port: int) -> None:
        self.folder = folder
        self.passwords = {name: secrets.token_hex(12) for name in (GATEWAY, *(board.name for board in BOARDS))}
        accounts = [Account(GATEWAY, self.passwords[GATEWAY], role="gateway")]
        accounts += [Account(board.name, self.passwords[board.name]) for board in BOARDS]
        self.broker: Broker = open_broker(folder / "broker", accounts)
        certificate = issue_server(folder / "mail", self.broker.ca, ["localhost", "127.0.0.1"], NOT_BEFORE, NOT_AFTER)
        self.mailbox = Mailbox(folder / "mails", certificate=certificate, password=secrets.token_hex(12))
        self.influx = InfluxServer(folder / "influxdb") if parts.find("influxdb") is not None else None
        self.web_port = web_port if _is_free(web_port) else free_port()
        self.config = folder / "headwall.toml"
        self._clock_setting = clock_setting
        self._gateway: subprocess.Popen[bytes] | None = None

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
        registry = files("headwall_sim.demo").joinpath("registry.toml").read_text(encoding="utf-8")
        (self.folder / "registry.toml").write_text(registry, encoding="utf-8")
        self.config.write_text(self._settings(), encoding="utf-8")
        with (self.folder / "gateway.log").open("ab") as log:
            self._gateway = subprocess.Popen(
                [sys.executable, "-m", "headwall", "run", "--config", str(self.config)], stdout=log, stderr=log
            )
        self._await_page()

    def stop(self) -> None:
        """Stop the gateway first, so that it can say goodbye to the others."""
        if self._gateway is not None:
            self._gateway.terminate()
            try:
                self._gateway.wait(15)
            except subprocess.TimeoutExpired:
                self._gateway.kill()
        if self.influx is not None:
            self.influx.stop()
        self.mailbox.stop()
        self.broker.stop()

    def command(self, *words: str) -> str:
        """Run a headwall command as a person would; its output.

        Raises:
            DemoError: it failed.
        """
        done = subprocess.run(
            [sys.executable, "-m", "headwall", *words, "--config", str(self.config)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "120"},
        )
        if done.returncode:
            raise DemoError(f"headwall {' '.join(words)} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def status(self) -> dict[str, Any]:
        """The gateway's status as its page's JSON has it."""
        with urllib.request.urlopen(f"{self.page}/api/status", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def check_alive(self) -> None:
        """DemoError if the gateway process has ended."""
        if self._gateway is not None and self._gateway.poll() is not None:
            tail = (self.folder / "gateway.log").read_text(errors="replace").strip().splitlines()[-5:]
            raise DemoError(f"the gateway ended with {self._gateway.returncode}; its log says:\n" + "\n".join(tail))

    def board_files(self, board: DemoBoard, broker_port: int, ntp_port: int) -> dict[str, bytes]:
        """What stands on a board's flash beside the program."""
        config = {
            "node": board.name,
            "mode": board.mode,
            "broker_host": "127.0.0.1",
            "broker_port": broker_port,
            "broker_name": "localhost",
            "ntp_host": "127.0.0.1",
            "ntp_port": ntp_port,
            "keepalive_s": 600,
            "uplink_s": 1800,
            "report_s": 900 if board.mode == "mains" else 1800,
            "sensors": [{"kind": "tipping_bucket", "stream": "rain.tips", "pin": 4}],
        }
        hidden = {
            "username": board.name,
            "password": self.passwords[board.name],
            "wifi": [{"ssid": "village", "password": "not-a-secret"}],
        }
        return {
            "config.json": json.dumps(config).encode(),
            "secrets.json": json.dumps(hidden).encode(),
            "ca.der": self.broker.ca.der.read_bytes(),
        }

    def _await_page(self) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            self.check_alive()
            try:
                with urllib.request.urlopen(f"{self.page}/healthz", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise DemoError(f"the gateway does not serve {self.page}; see {self.folder / 'gateway.log'}")

    def _settings(self) -> str:
        influx = ""
        if self.influx is not None:
            influx = (
                f'[influx]\nurl = "{self.influx.url}"\norg = "{self.influx.org}"\n'
                f'bucket = "{self.influx.bucket}"\ntoken = "{self.influx.token}"\n'
            )
        return f"""# Written by `headwall demo`. The one thing that a real installation never has is the line `clock`.
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
url = "sqlite:///headwall.db"

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


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
