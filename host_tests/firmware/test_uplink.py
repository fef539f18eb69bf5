"""The uplink in the real MicroPython over a real mosquitto with TLS, against a gateway that the tests script."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from headwall_sim.broker import Account, Broker
from node_runner import LIBRARY, Node
from scripted_gateway import ScriptedGateway

pytestmark = pytest.mark.mosquitto
HERE = Path(__file__).parent
ACCOUNTS = [Account("node1", "pw1"), Account("node2", "pw2"), Account("gateway", "gpw", "gateway")]
#: real waits are long; the tests shorten those that they sit through
FAST = {"ANSWER_MS": 1000}


sys.path.insert(0, str(LIBRARY))  # the node's check of its settings runs under CPython too
from headwall_node import config as node_config  # noqa: E402


class Board(Node):
    """The uplink on a board of its own process; `do` tells it what to do. 12 KB of the heap play the flash."""

    def __init__(self, broker: Broker, folder: Path, heap: str = "140K", **settings: Any) -> None:
        folder.mkdir(exist_ok=True)
        self._do = folder / "do.txt"
        self._do.write_text("")
        self._told = 0
        given = {
            "node": "node1",
            "broker_host": "127.0.0.1",
            "broker_name": "localhost",
            "broker_port": broker.port_311,
            "ca_file": str(broker.ca.der),
            "username": "node1",
            "password": "pw1",
            "ntp_host": "",
            "custody_timeout_s": 1,
            "backoff_min_s": 1,
            "backoff_max_s": 2,
            "reply_timeout_s": 2,
            "connect_timeout_s": 3,
            "sensors": [{"kind": "tipping_bucket", "pin": 4}],
            **settings,
        }
        tuning = {**FAST, **given.pop("tuning", {})}
        assert not node_config.validate(given)
        given = {**node_config.complete(given), "tuning": tuning}
        (folder / "settings.json").write_text(json.dumps(given))
        program = (HERE / "scripts" / "uplink_program.py").read_text()
        super().__init__(program, folder=folder, path=[HERE / "stubs"], heap=heap)

    def do(self, *lines: str) -> None:
        with self._do.open("a") as file:
            file.writelines(line + "\n" for line in lines)

    def tell(self) -> dict[str, Any]:
        self._told += 1
        self.do(f"tell {self._told}")
        line = self.wait_for_line(f"SAY {self._told} ")
        return json.loads(line.split(" ", 2)[2])


@pytest.fixture
def broker(mosquitto: Callable[[Sequence[Account]], Broker]) -> Broker:
    return mosquitto(ACCOUNTS)


@pytest.fixture
def gateway(broker: Broker) -> Iterator[ScriptedGateway]:
    with ScriptedGateway(broker) as gateway:
        yield gateway


def settled(board: Board, through: int) -> dict[str, Any]:
    """Wait until the board knows that everything up to `through` is safe."""
    for _ in range(200):
        told = board.tell()
        if told["through"] == through and not told["holds"]:
            return told
    raise AssertionError(f"{told}; the node said:\n" + "\n".join(board.lines))


def test_tips_reach_the_gateway_and_custody_comes_back(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with Board(broker, tmp_path / "n") as board:
        board.do("run")
        gateway.wait_for(lambda: len(gateway.states) >= 1)
        board.do("tip 3")
        gateway.wait_for(lambda: len(gateway.held) == 3)
        told = settled(board, 3)
        assert told["synced"], "custody may set an unset clock"
        assert list(gateway.held.values()) == [1, 1, 1]
        assert gateway.twice == 0
        state = gateway.states[-1]
        assert re.fullmatch("[0-9a-f]{16}", state["nonce"]) and state["synced"]
        assert gateway.packs == [("event", 1, 3)]
