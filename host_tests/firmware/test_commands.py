"""Commands to a whole node on a simulated board: each is done once, and answered with what came of it or why not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mp
import pytest
from headwall_sim.broker import Broker
from headwall_sim.wiring import Wired
from scripted_gateway import ScriptedGateway
from sim_node import START_US, SimNode

pytestmark = pytest.mark.mosquitto
SENSORS = [
    {"kind": "tipping_bucket", "pin": 4},
    {"kind": "a02yyuw", "tx": 17, "rx": 16, "period_s": 3600},
]
STAGE = Wired("a02yyuw", "A02yyuw", "uart", 1, [(START_US, 1250)])


class Desk:
    """A node with a gauge and a stage, and who commands it."""

    def __init__(self, folder: Path, broker: Broker, tips: Sequence[float] = (), **settings: Any) -> None:
        self.gateway = ScriptedGateway(broker)
        settings = {"sensors": SENSORS, "led_pin": 2, "report_s": 3600, **settings}
        self.node = SimNode(folder, broker, tips, {"wired": [STAGE]}, **settings)
        self._ids = itertools.count(1)

    def __enter__(self) -> Desk:
        self.node.__enter__()
        self.node.use_clock(self.gateway)
        self.node.run_until(lambda: len(self.gateway.held) >= 2, 10)
        self._begun = self.node.board.boots
        return self

    @property
    def starts(self) -> int:
        """How often the board has started since the test began."""
        return self.node.board.boots - self._begun

    def __exit__(self, *exc: object) -> None:
        self.node.__exit__(*exc)
        self.gateway.close()

    @property
    def minute(self) -> float:
        return (self.node.sim.clock.now_us() - START_US) / 60_000_000

    def send(self, do: str, *, name: str | None = None, **fields: Any) -> str:
        name = name or f"{next(self._ids):08x}"
        self.gateway.publish("node1", "command", {"v": 1, "id": name, "do": do, **fields})
        return name

    def replies(self, name: str) -> list[dict[str, Any]]:
        return [reply for reply in self.gateway.replies if reply["id"] == name]

    def command(self, do: str, *, name: str | None = None, **fields: Any) -> dict[str, Any]:
        """Send it, and the answer; one that comes again counts again."""
        before = len(self.replies(name)) if name else 0
        name = self.send(do, name=name, **fields)
        self.node.run_until(lambda: len(self.replies(name)) > before, self.minute + 10)
        reply = self.replies(name)[-1]
        assert (reply["v"], reply["do"]) == (1, do)
        return reply

    def state(self) -> dict[str, Any]:
        return [said for said in self.gateway.states if said["status"] == "online"][-1]

    def records(self, stream: str) -> list[Any]:
        return [record for record in self.node.board.journal().records if record.stream == stream]


@pytest.fixture
def desk(broker: Broker, tmp_path: Path) -> Iterator[Desk]:
    with Desk(tmp_path, broker) as desk:
        yield desk


def test_sample_reads_every_sensor_at_once_whatever_its_period(desk: Desk) -> None:
    assert desk.command("sample")["ok"]
    assert len(desk.records("stage.distance")) == 2
    assert len(desk.records("rain.tips")) == 2
    assert desk.records("stage.distance")[-1].value == "1.250"


def test_state_is_said_again(desk: Desk) -> None:
    before = len(desk.gateway.states)
    assert desk.command("state")["ok"]
    desk.node.run_until(lambda: len(desk.gateway.states) > before, desk.minute + 1)


def test_calibrate_gives_readings_in_a_row_that_are_not_recorded(desk: Desk) -> None:
    taken = desk.node.board.taken()
    reply = desk.command("calibrate", sensor="stage", count=7)
    assert reply["result"] == {"stage.distance": [1.25] * 7}
    assert desk.node.board.taken() == taken
    again = desk.command("calibrate", name=reply["id"], sensor="stage", count=7)
    assert again["result"] == reply["result"], "its answer was lost: it only reads, and does so again"


def test_identify_blinks_the_led_for_the_seconds_asked_for_and_keeps_the_board_awake() -> None:
    said = mp.run(
        """
        import asyncio, machine, time
        from headwall_node import commands

        levels, awake = [], []
        class Led:
            OUT = 3
            def __init__(self, number, mode): levels.append((number, mode))
            def value(self, level): levels.append(level)
        commands.Pin = Led

        class Node:
            given, retained, clock = {"led_pin": 2}, machine, machine
            stay_awake = staticmethod(awake.append)
        machine.orders, machine.save, machine.utc_ms = b"", lambda: None, lambda: None

        async def main():
            print(await commands.obey({"id": "00000001", "do": "identify", "seconds": 2}, Node))
            await asyncio.sleep_ms(2300)
        asyncio.run(main())
        print(levels, awake)
        """
    )
    answer, rest = said.splitlines()
    assert "'ok': True" in answer
    assert rest == "[(2, 3), 1, 0, 1, 0, 1, 0, 1, 0] [2000]"


def test_identify_is_answered_when_it_begins(desk: Desk) -> None:
    assert desk.command("identify", seconds=600)["ok"]


@pytest.mark.parametrize(
    ("do", "fields", "why"),
    [
        ("calibrate", {"sensor": "tank", "count": 3}, "no sensor of that name is sampled; there are: stage"),
        ("calibrate", {"sensor": "stage", "count": 81}, "count must be a whole number from 1 to 80"),
        ("calibrate", {"sensor": "stage", "count": True}, "count must be a whole number from 1 to 80"),
        ("identify", {}, "seconds must be a whole number from 1 to 600"),
        ("maintenance", {"on": 1}, "on must be true or false"),
        ("maintenance", {"on": True, "minutes": 1441}, "minutes must be a whole number from 1 to 1440"),
        ("maintenance", {"on": True, "minutes": 0}, "minutes must be a whole number from 1 to 1440"),
        ("explode", {}, "this version knows no such command"),
        ("update", {}, "bundle, size and version are needed"),
        ("reboot", {"until": START_US // 1000 - 90_000}, "s too late"),
        ("reboot", {"name": "xyz"}, "the id is no 8 hex digits"),
    ],
)
def test_command_that_cannot_be_done_is_refused_with_the_reason(
    desk: Desk, do: str, fields: dict[str, Any], why: str
) -> None:
    reply = desk.command(do, **fields)
    assert not reply["ok"]
    assert why in reply["why"]
    assert desk.starts == 0


def test_board_without_an_led_says_so(broker: Broker, tmp_path: Path) -> None:
    with Desk(tmp_path, broker, led_pin=-1) as desk:
        assert "led_pin is not set" in desk.command("identify", seconds=3)["why"]


def test_command_that_comes_again_is_answered_again_and_not_done_again(desk: Desk) -> None:
    name = desk.command("reboot")["id"]
    desk.node.run_until(lambda: desk.starts == 1, desk.minute + 5)
    desk.node.run_until(lambda: desk.state()["reset"] == "hard", desk.minute + 5)
    assert desk.command("reboot", name=name)["ok"], "the gateway missed the first answer"
    desk.node.run_to(desk.minute + 10)
    assert desk.starts == 1
    assert "starts anew: a command" in desk.node.console()
    for n in range(8):  # so many are remembered, and this one goes
        assert desk.command("state", name=f"000000f{n}")["ok"]
    assert desk.command("reboot", name=name)["ok"]
    desk.node.run_until(lambda: desk.starts == 2, desk.minute + 5)


def test_flood_of_commands_is_answered_as_far_as_it_is_taken_and_harms_nothing(desk: Desk) -> None:
    names = [desk.send("state") for _ in range(30)]
    desk.node.run_to(desk.minute + 2)
    answered = [name for name in names if desk.replies(name)]
    assert answered
    for name in names:
        assert desk.command("state", name=name)["ok"], "the gateway sends again what was not answered"
    assert desk.starts == 0


def test_test_tips_of_maintenance_mode_are_kept_and_marked_and_it_ends_by_itself(
    broker: Broker, tmp_path: Path
) -> None:
    with Desk(tmp_path, broker, [5, 15.5, 18.5, 40]) as desk:
        desk.node.run_to(10)
        assert desk.command("maintenance", on=True, minutes=20)["ok"]
        desk.node.run_until(lambda: "maintenance" in desk.state(), 11)
        assert 0 < desk.state()["maintenance"] <= 1200
        desk.node.run_to(17)
        desk.node.board.press_reset()
        desk.node.run_to(45)
        tips = [record for record in desk.records("rain.tips") if record.value == "1"]
        assert [record.marked for record in tips] == [False, True, True, False]
        assert "maintenance" not in desk.state(), "it says so when it ends"


def test_maintenance_mode_ends_when_told(desk: Desk) -> None:
    desk.command("maintenance", on=True)
    desk.command("sample")
    desk.command("maintenance", on=False)
    desk.command("sample")
    assert [record.marked for record in desk.records("stage.distance")] == [False, True, False]


def test_sleeping_board_does_what_waits_for_it_when_it_connects(broker: Broker, tmp_path: Path) -> None:
    with Desk(tmp_path, broker, mode="battery", uplink_s=1800, report_s=7200) as desk:
        desk.node.run_to(40)
        desk.gateway.waiting.append({"v": 1, "id": "0000abcd", "do": "sample"})
        desk.node.run_until(lambda: bool(desk.replies("0000abcd")), 80)
        assert desk.replies("0000abcd")[0]["ok"]
        readings = len(desk.records("stage.distance"))
        desk.node.run_to(desk.minute + 1)
        assert desk.node.board.state == "deep_sleep"
        assert len(desk.gateway.held) == desk.node.board.taken(), "what it read then went the same way"
        assert readings == 3
