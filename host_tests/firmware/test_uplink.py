"""The uplink in the real MicroPython over a real mosquitto with TLS, against a gateway that the tests script."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from headwall.wire.contract import contract
from headwall_sim.broker import Account, Broker
from node_runner import LIBRARY, FakeBroker, Node, hold_open
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


def wait_until(board: Board, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask the board until a condition on what it tells holds."""
    for _ in range(500):
        told = board.tell()
        if condition(told):
            return told
    raise AssertionError(told)


def settled(board: Board, through: int) -> dict[str, Any]:
    """Wait until the board knows that everything up to `through` is safe and has nothing outstanding."""
    return wait_until(board, lambda told: told["through"] == through and not told["holds"])


def said(board: Board, part: str) -> int:
    return sum(part in line for line in board.lines)


def faults(gateway: ScriptedGateway) -> list[str]:
    """What the newest state message complains of."""
    said = gateway.online()
    return said[-1]["faults"] if said else ["nothing said yet"]


def test_tips_reach_the_gateway_and_custody_comes_back(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with Board(broker, tmp_path / "n") as board:
        board.do("run")
        gateway.wait_for(lambda: len(gateway.online()) >= 1)
        board.do("tip 3")
        gateway.wait_for(lambda: len(gateway.held) == 3)
        told = settled(board, 3)
        assert told["synced"], "custody may set an unset clock"
        assert list(gateway.held.values()) == [1, 1, 1]
        assert gateway.twice == 0
        assert gateway.packs == [("event", 1, 3)]
        state = gateway.online()[-1]
        assert state["synced"] and state["anchors"][0][0] == state["boot"], "the new clock is told at once"
        assert set(contract()["state"]["online"]) <= set(state)
        assert not set(state) - {*contract()["state"]["online"], *contract()["state"]["optional"], "v", "status"}


def test_backlog_goes_in_order_and_is_not_sent_again_after_a_new_connection(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with Board(broker, tmp_path / "n", heap="200K") as board:
        board.do("zero 250", "run")
        gateway.wait_for(lambda: len(gateway.held) == 250)
        settled(board, 250)
        assert [pack[1] for pack in gateway.packs] == sorted(pack[1] for pack in gateway.packs)
        assert {pack[0] for pack in gateway.packs} == {"tele"}
        broker.kill()
        broker.start()
        board.do("tip 1")
        gateway.wait_for(lambda: len(gateway.held) == 251)
        settled(board, 251)
        assert gateway.twice == 0, "the answer to the state message tells what need not be sent again"
        assert said(board, "memory allocation failed") == 0


def test_fresh_tip_passes_a_backlog(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    order: list[int] = []

    def slow(record: dict[str, Any]) -> bool:
        order.append(record["seq"])
        return False

    gateway.refuses = slow
    with Board(broker, tmp_path / "n", heap="300K", tuning={"sectors": 16}) as board:
        board.do("zero 1500", "tip 1", "run")
        gateway.wait_for(lambda: len(gateway.held) == 1501)
        settled(board, 1501)
    assert order.index(1501) < order.index(500), "the tip went ahead"
    assert ("event", 1501, 1) in gateway.packs[:3]


def test_nothing_is_erased_and_all_is_sent_again_when_the_ledger_falls_back(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with Board(broker, tmp_path / "n") as board:
        board.do("tip 20", "run")
        gateway.wait_for(lambda: len(gateway.held) == 20)
        settled(board, 20)
        for key in [key for key in gateway.held if key[1] > 5]:
            del gateway.held[key]  # a ledger restored from an older backup
        gateway.publish("node1", "command", {"do": "state"})
        gateway.wait_for(lambda: len(gateway.held) == 20)
        settled(board, 20)


def test_broker_killed_after_its_puback_loses_nothing(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    """The gateway is away, so the broker holds acknowledged packs that die with it."""
    with Board(broker, tmp_path / "n") as board:
        board.do("run")
        gateway.wait_for(lambda: len(gateway.online()) >= 1)
        gateway.close()
        board.do("tip 7")
        wait_until(board, lambda told: told["flight"] == 1 and told["unacked"] == 0)
        broker.kill()
        for file in (broker.folder / "data").iterdir():
            file.unlink()
        broker.start()
        with ScriptedGateway(broker) as second:
            second.wait_for(lambda: len(second.held) == 7)
            settled(board, 7)


def test_gateway_away_is_named_and_packs_are_not_piled_up(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    gateway.silent = True
    with Board(broker, tmp_path / "n") as board:
        board.do("tip 5", "run")
        board.wait_for_line("no gateway took custody")
        gateway.wait_for(lambda: "custody_missing" in faults(gateway))
        assert gateway.packs == [("event", 1, 5)], "what the broker holds needs no second copy"
        wait_until(board, lambda told: told["holds"] == {})  # waiting for a gateway that is away is not work under way
        gateway.silent = False
        gateway.publish("node1", "command", {"do": "state"})
        settled(board, 5)
        gateway.wait_for(lambda: faults(gateway) == [])


@pytest.mark.parametrize(
    "forgery",
    [
        {"nonce": "0123456789abcdef"},
        {"jid": "0123456789abcdef"},
        {"boot": "01234567"},
        {"through": 4},
        {"through": 1000000},
        {"through": -1},
        {"through": "3"},
        {"through": True},
        {"through": 2.0},
        {"through": None},
        {"v": 2},
    ],
)
def test_custody_not_for_this_journal_and_connection_is_ignored(
    forgery: dict[str, Any], broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    gateway.refuses = lambda _: True
    gateway.forge = lambda custody: {**custody, "through": 3, "time": 1893456000000, **forgery}
    with Board(broker, tmp_path / "n") as board:
        board.do("tip 3", "run")  # next is 4
        board.wait_for_line("debug custody: ignored")
        gateway.publish("node1", "custody", b"\xff not json")
        gateway.publish("node1", "custody", [1])
        board.wait_for_line("custody message is no JSON object")
        told = board.tell()
        assert told["through"] == 0
        assert not told["synced"], "nor may it set the clock"


def test_poison_record_is_narrowed_down_and_goes_raw_alone(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    gateway.refuses = lambda record: record["seq"] == 7 and "vd" not in record
    with Board(broker, tmp_path / "n", custody_timeout_s=1) as board:
        board.do("tip 12", "run")
        gateway.wait_for(lambda: len(gateway.held) == 12, 120)
        settled(board, 12)
    by_number = {seq: value for (_, seq), value in gateway.held.items()}
    assert by_number.pop(7).startswith("raw [{")
    assert set(by_number.values()) == {1}, "no good record goes raw"


def test_gateway_that_takes_nothing_is_named_and_gets_good_readings_whole_once_mended(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    gateway.refuses = lambda _: True
    with Board(broker, tmp_path / "n") as board:
        board.do("tip 2", "run")
        gateway.wait_for(lambda: "custody_missing" in faults(gateway), 60)
        said = len(gateway.states)
        gateway.publish("node1", "command", {"do": "state"})
        gateway.wait_for(lambda: len(gateway.states) > said)
        assert "custody_missing" in faults(gateway), "an answer alone does not end it"
        gateway.refuses = lambda _: False
        gateway.wait_for(lambda: len(gateway.held) == 2, 60)
        assert list(gateway.held.values()) == [1, 1]


def test_mute_broker_costs_no_memory_for_a_hundred_waiting_readings(broker: Broker, tmp_path: Path) -> None:
    with (
        FakeBroker(hold_open) as slow,
        Board(broker, tmp_path / "n", broker_port=slow.port, connect_timeout_s=1) as board,
    ):
        board.do("run")
        board.wait_for_line("warn uplink: timeout")
        before = board.tell()
        board.do("tip 100")
        after = board.tell()
        assert after["next"] == 101, "sensors go on"
        assert after["alloc"] - before["alloc"] < 2000
        assert after["beats"] > before["beats"], "and the loop turns"


def test_broker_that_comes_back_is_used_again(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    broker.stop()
    with Board(broker, tmp_path / "n") as board:
        board.do("tip 2", "run")
        board.wait_for_line("warn uplink: refused")
        assert board.tell()["holds"] == {}, "backing off is no reason to stay awake"
        broker.start()
        gateway.wait_for(lambda: len(gateway.held) == 2)
        settled(board, 2)
        assert said(board, "connection refused") == 1, "one line for a trouble, however long it lasts"


def test_after_a_restart_of_the_broker_custody_and_configuration_still_arrive(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with Board(broker, tmp_path / "n") as board:
        board.do("tip 2", "run")
        settled(board, 2)
        broker.stop()
        board.do("tip 1")
        broker.start()
        settled(board, 3)
        gateway.publish("node1", "config", '{"node": "node1"}', retain=True)
        wait_until(board, lambda told: told["config"] == ['{"node": "node1"}'])


def test_two_nodes_with_one_client_id_are_named(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    with Board(broker, tmp_path / "a") as first, Board(broker, tmp_path / "b") as second:
        first.do("run")
        second.do("run")
        gateway.wait_for(lambda: any("client_id_clash" in state["faults"] for state in gateway.online()))
        assert said(first, "is the node id node1 used twice?") + said(second, "is the node id node1 used twice?")


def test_wrong_password_is_named_without_showing_it(broker: Broker, tmp_path: Path) -> None:
    with Board(broker, tmp_path / "n", password="not-the-secret") as board:
        board.do("run")
        board.wait_for_line("warn uplink: bad_credentials")
        assert said(board, "not-the-secret") == 0


def test_connection_for_battery_mode_ends_when_all_is_safe(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with Board(broker, tmp_path / "n") as board:
        board.do("tip 4", "once 20000")
        assert board.wait_for_line("SAY once").endswith("True {}")
        assert board.tell()["through"] == 4
        assert gateway.online() == gateway.states, "no last will: it said good-bye"
        gateway.silent = True
        board.do("tip 1", "once 3000")
        assert board.wait_for_line("SAY once False").endswith("{}")


def test_configuration_and_commands_arrive(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    gateway.publish("node1", "config", '{"node": "node1"}', retain=True)
    with Board(broker, tmp_path / "n") as board:
        board.do("run")
        gateway.wait_for(lambda: len(gateway.online()) >= 1)
        gateway.publish("node1", "command", {"do": "dance"})
        board.wait_for_line("SAY command dance")
        gateway.publish("node1", "config", "x" * 5000)
        board.wait_for_line("a config message was too large")
        assert board.tell()["config"] == ['{"node": "node1"}']


def test_last_will_is_said_when_the_board_loses_power(broker: Broker, gateway: ScriptedGateway, tmp_path: Path) -> None:
    with Board(broker, tmp_path / "n") as board:
        board.do("run")
        gateway.wait_for(lambda: len(gateway.online()) >= 1)
        board.kill()
        gateway.wait_for(lambda: gateway.states[-1] == {"v": 1, "status": "offline"})
