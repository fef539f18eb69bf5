"""A real MQTT broker with TLS, accounts and ACL on loopback, for demo and tests: mosquitto where it is on the
PATH, else iotcore (rumqttd in a wheel from PyPI), behind one interface.

What iotcore 0.4 cannot do (tried with paho 2.2): it has no ACL, so that any account reaches every topic; it
serves MQTT 3.1.1 and 5 on a port each; it answers a wrong password by closing the connection, without a reason
code; it keeps sessions and queues in memory alone and drops the oldest silently when full. Custody covers the
losses; tests of the ACL need mosquitto.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from headwall_board.certs import Authority, ServerCertificate, issue_server, make_ca
from headwall_board.mosquitto import acl_text, check_account, hashed
from headwall_board.private_file import write_private

from headwall_sim import parts
from headwall_sim.server_process import HOST, ServerProcess, accepts, free_port

#: wide enough for any simulated date; 2049 is the last year of the short form of time in certificates
NOT_BEFORE = datetime(2000, 1, 1, tzinfo=UTC)
NOT_AFTER = datetime(2049, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Account:
    """An account of the broker. For a node, `name` is the node's id."""

    name: str
    password: str
    role: Literal["node", "gateway"] = "node"


class Broker(ABC):
    """A broker process. Ports and certificates stay the same over stop, kill and start.

    Attributes:
        kind: "mosquitto" or "iotcore".
        ca: the authority that clients trust (`ca.cert` PEM, `ca.der` DER).
        port_311: TLS port for MQTT 3.1.1 (boards).
        port_5: TLS port for MQTT 5 (the gateway); the same as port_311 on mosquitto.
        has_acl: whether an account is kept to its own topics.
    """

    kind: str
    host = HOST
    has_acl: bool

    def __init__(self, folder: Path, accounts: Sequence[Account], ca: Authority, server: ServerCertificate) -> None:
        self.folder = folder
        self.accounts = tuple(accounts)
        self.ca = ca
        self.server = server
        self.port_311 = free_port()
        self.port_5 = self.port_311
        self._process: ServerProcess | None = None

    @property
    def pid(self) -> int | None:
        """Process id, None when it does not run."""
        return self._process.pid if self._process is not None else None

    @property
    def log_file(self) -> Path:
        """What the broker prints."""
        return self.folder / f"{self.kind}.log"

    def start(self) -> None:
        """Start and return once every port accepts connections. Does nothing when it runs already.

        Raises:
            RuntimeError: it ended at once or does not listen; carries the end of its log.
        """
        if self._process is None:
            self._process = ServerProcess(self.kind, self._command(), self.log_file, self._listens)
        self._process.start()

    def stop(self) -> None:
        """Ask it to end (SIGTERM), which saves what it can, and wait."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL)."""
        if self._process is not None:
            self._process.kill()

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @abstractmethod
    def _command(self) -> list[str]: ...

    def _listens(self) -> bool:
        return accepts(self.port_311) and accepts(self.port_5)


class MosquittoBroker(Broker):
    """mosquitto with the settings of deploy/mosquitto.conf, but for places and ports."""

    kind = "mosquitto"
    has_acl = True

    def __init__(
        self, folder: Path, accounts: Sequence[Account], ca: Authority, server: ServerCertificate, program: Path
    ) -> None:
        super().__init__(folder, accounts, ca, server)
        self._program = program
        (folder / "data").mkdir(exist_ok=True)
        write_private(folder / "passwords", "".join(f"{a.name}:{hashed(a.password)}\n" for a in accounts))
        write_private(folder / "acl", acl_text([a.name for a in accounts if a.role == "gateway"]))
        (folder / "mosquitto.conf").write_text(self._conf())

    def _command(self) -> list[str]:
        return [str(self._program), "-c", str(self.folder / "mosquitto.conf")]

    def _conf(self) -> str:
        lines = [
            f"listener {self.port_311} {HOST}",
            f"certfile {self.server.cert}",
            f"keyfile {self.server.key}",
            "allow_anonymous false",
            f"password_file {self.folder / 'passwords'}",
            f"acl_file {self.folder / 'acl'}",
            "persistence true",
            f"persistence_location {self.folder / 'data'}/",
            "autosave_interval 1",
            # not 0 for "no limit": 2.0.11 then closes the connection of whoever publishes where the ACL forbids
            "max_queued_messages 10000000",
            "max_inflight_messages 1000",
            "set_tcp_nodelay true",
            "log_type error",
            "log_type warning",
            "log_type notice",
        ]
        if os.geteuid() == 0:
            lines.append("user root")  # else it becomes "mosquitto", who may not read this folder
        return "\n".join(lines) + "\n"


class IotcoreBroker(Broker):
    """iotcore: rumqttd in a child process that ends when this process does."""

    kind = "iotcore"
    has_acl = False

    #: iotcore.Broker does the same but hides the process, which tests must be able to kill
    _CHILD = (
        "import os, sys, threading\n"
        "from iotcore import IotCoreBroker\n"
        "threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()\n"
        "IotCoreBroker(config_path=sys.argv[1]).run_forever()\n"
    )

    def __init__(self, folder: Path, accounts: Sequence[Account], ca: Authority, server: ServerCertificate) -> None:
        super().__init__(folder, accounts, ca, server)
        self.port_5 = free_port()
        write_private(folder / "rumqttd.toml", self._toml())

    def _command(self) -> list[str]:
        return [sys.executable, "-c", self._CHILD, str(self.folder / "rumqttd.toml")]

    def _toml(self) -> str:
        router = (
            "id = 0\n[router]\nid = 0\nmax_connections = 1000\nmax_outgoing_packet_count = 200\n"
            "max_segment_size = 104857600\nmax_segment_count = 10\n"
        )
        return router + self._listener("v4", self.port_311) + self._listener("v5", self.port_5)

    def _listener(self, version: str, port: int) -> str:
        auth = "".join(f'"{a.name}" = "{a.password}"\n' for a in self.accounts)
        return (
            f'[{version}.1]\nname = "{version}"\nlisten = "{HOST}:{port}"\nnext_connection_delay_ms = 1\n'
            f'[{version}.1.tls]\ncertpath = "{self.server.cert}"\nkeypath = "{self.server.key}"\n'
            f"[{version}.1.connections]\nconnection_timeout_ms = 60000\nmax_payload_size = 2097152\n"
            f"max_inflight_count = 500\ndynamic_filters = true\n"
            f"[{version}.1.connections.auth]\n{auth}"
        )


def open_broker(
    folder: Path,
    accounts: Sequence[Account],
    kind: Literal["auto", "mosquitto", "iotcore"] = "auto",
    *,
    ca: Authority | None = None,
    server: ServerCertificate | None = None,
) -> Broker:
    """A broker, not yet started, whose files are all in `folder`.

    Args:
        folder: made if absent; relative paths are resolved.
        accounts: nodes and gateway(s); passwords and names without quotes, colons or line ends.
        kind: "auto" takes mosquitto where it is on the PATH, else iotcore.
        ca, server: certificates to serve with; made here for localhost and 127.0.0.1, valid 2000 to 2049, if absent.
            An expired or misnamed `server` comes from certs.issue_server.

    Raises:
        RuntimeError: mosquitto was asked for by name and is not here.
        InputError: a name or password that the broker's files cannot hold.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for account in accounts:
        check_account(account.name, account.password)
    ca = ca or make_ca(folder, "ca", NOT_BEFORE, NOT_AFTER)
    server = server or issue_server(folder, ca, ["localhost", HOST], NOT_BEFORE, NOT_AFTER)
    program = parts.find("mosquitto")
    if kind == "mosquitto" and program is None:
        raise RuntimeError(parts.why_absent("mosquitto"))
    if kind != "iotcore" and program is not None:
        return MosquittoBroker(folder, accounts, ca, server, program)
    return IotcoreBroker(folder, accounts, ca, server)
