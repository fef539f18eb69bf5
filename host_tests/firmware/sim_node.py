"""A whole node on a simulated board, with a real mosquitto and the scripted gateway behind a proxy."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headwall.clock import to_us
from headwall_sim.broker import Account, Broker
from headwall_sim.simulated_board import Board
from headwall_sim.supervisor import Supervisor
from headwall_sim.timeline import Edge, Timeline
from scripted_gateway import ScriptedGateway

START_US = to_us(datetime(2026, 6, 9, tzinfo=UTC))
MINUTE_US = 60_000_000
ACCOUNTS = [Account("node1", "pw1"), Account("gateway", "gpw", "gateway")]
FIRMWARE = Path(__file__).parents[2] / "firmware"
PIN = 4


class SimNode:
    """One board, its clock and its way to `broker`; `settings` over those that a test wants quick.

    tips: minutes after the start at which the bucket tips
    """

    def __init__(
        self,
        folder: Path,
        broker: Broker,
        tips: Sequence[float] = (),
        board: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.sim = Supervisor(folder / "sim", start_us=START_US, firmware=FIRMWARE)
        self.proxy = self.sim.proxy(("127.0.0.1", broker.port_311))
        given = {
            "node": "node1",
            "broker_host": "127.0.0.1",
            "broker_port": self.proxy.port,
            "broker_name": "localhost",
            "username": "node1",
            "password": "pw1",
            "ntp_host": "127.0.0.1",
            "ntp_port": self.sim.sntp.port,
            "wifi": [{"ssid": "site"}],
            "connect_timeout_s": 2,
            "reply_timeout_s": 2,
            "keepalive_s": 1200,
            "sensors": [{"kind": "tipping_bucket", "pin": PIN}],
            **settings,
        }
        self.config = json.dumps(given).encode()
        self.secrets = (b"pw1",)
        instants = [START_US + int(minute * MINUTE_US) for minute in tips]
        edges = [edge for t in instants for edge in (Edge(t, PIN, 0), Edge(t + 100_000, PIN, 1))]
        made: dict[str, Any] = {
            "files": {"config.json": self.config, "ca.der": broker.ca.der.read_bytes()},
            "timeline": Timeline(edges, {PIN: 1}),
            "tips": instants,
            "mac": "240ac4000001",
            **(board or {}),
        }
        self.board: Board = self.sim.board("node1", **made)

    def __enter__(self) -> SimNode:
        self.board.power_on()
        return self

    def __exit__(self, *exc: object) -> None:
        self.sim.stop()
        if exc[0] is not None:
            print(self.console()[-6000:])  # pytest shows it with the failure

    def run_to(self, minute: float) -> None:
        """Let simulated time pass until so many minutes after the start."""
        self.sim.clock.run_until(START_US + int(minute * MINUTE_US))

    def run_until(self, condition: Callable[[], bool], limit: float) -> None:
        """Let time pass in steps until a condition holds, at most until minute `limit`."""
        while not condition():
            now = (self.sim.clock.now_us() - START_US) / MINUTE_US
            assert now < limit, "it did not come about in the simulated time allowed"
            self.run_to(now + 0.5)

    def console(self) -> str:
        """All that the board printed."""
        return self.board.console.read_text()

    def use_clock(self, gateway: ScriptedGateway) -> None:
        """Have the gateway tell simulated time."""
        gateway.now_ms = lambda: self.sim.clock.now_us() // 1000
