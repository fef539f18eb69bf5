"""A real InfluxDB 2 on loopback with one organisation and a token, for tests and benchmarks."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from headwall_sim import parts
from headwall_sim.server_process import HOST, ServerProcess, free_port

ORG = "headwall"


class InfluxServer:
    """influxd with all its files in one folder; address and token stay the same over stop, kill and start.

    Attributes:
        url: where it serves.
        token: may do everything.

    Raises:
        RuntimeError: there is no influxd here.
    """

    org = ORG
    bucket = "first"

    def __init__(self, folder: Path) -> None:
        program = parts.find("influxdb")
        if program is None:
            raise RuntimeError(parts.why_absent("influxdb"))
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.url = f"http://{HOST}:{port}"
        self.token = "token-of-the-test-server"
        command = [
            str(program),
            *("--bolt-path", str(folder / "influxd.bolt"), "--engine-path", str(folder / "engine")),
            *("--sqlite-path", str(folder / "influxd.sqlite"), "--http-bind-address", f"{HOST}:{port}"),
            *("--reporting-disabled", "--log-level", "error"),
        ]
        self._process = ServerProcess("influxd", command, folder / "influxd.log", self._serves)
        self._is_set_up = False

    @property
    def pid(self) -> int | None:
        """Process id, None when it does not run."""
        return self._process.pid

    def start(self) -> None:
        """Start and return once it serves; the first time with organisation, bucket "first" and token."""
        self._process.start()
        if not self._is_set_up:
            body = {"username": "headwall", "password": "headwall-password", "org": ORG, "bucket": self.bucket}
            self.call("POST", "/api/v2/setup", {**body, "token": self.token}, token=None)
            self._is_set_up = True

    def stop(self) -> None:
        """Ask it to end and wait."""
        self._process.stop()

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL)."""
        self._process.kill()

    def __enter__(self) -> InfluxServer:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def make_bucket(self, name: str, retention_days: int | None = None) -> str:
        """Make a bucket, which keeps its points for ever unless told otherwise; returns its name."""
        org_id = self.call("GET", f"/api/v2/orgs?org={ORG}")["orgs"][0]["id"]
        rules = [{"type": "expire", "everySeconds": retention_days * 86400}] if retention_days else []
        self.call("POST", "/api/v2/buckets", {"orgID": org_id, "name": name, "retentionRules": rules})
        return name

    def call(self, method: str, path: str, body: object = None, token: str | None = "") -> Any:
        """One call of its HTTP interface with JSON either way."""
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Token {token or self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else {}

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
