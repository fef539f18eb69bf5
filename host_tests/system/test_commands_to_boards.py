"""A person orders, the gateway delivers, a board that sleeps obeys when it connects; test tips are never judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from headwall.clock import to_us
from headwall_board.certs import Authority
from headwall_sim.storms import rain
from headwall_sim.supervisor import Supervisor
from headwall_sim.village import Village
from support.village import FIRMWARE, MINUTE, SECOND, in_ledger, registry

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]

_START = to_us(datetime(2026, 6, 9, tzinfo=UTC))
_NODE, _MAC = "board-a", "240ac400000a"


class _Scene:
    def __init__(self, sim: Supervisor, village: Village) -> None:
        self.sim = sim
        self.village = village
        proxy = sim.proxy((village.broker.host, village.broker.port_311))
        poured = rain([_START + start * MINUTE + tip * 10 * SECOND for start in (40, 100) for tip in range(60)], pin=4)
        files = village.flash_files(
            _NODE, proxy.port, sim.sntp.port, mode="battery", uplink_s=900, report_s=3600, led_pin=2
        )
        self.board = sim.board(_NODE, files=files, mac=_MAC, timeline=poured.timeline, tips=poured.tips)

    def order(self, do: str, *words: str) -> str:
        """Order it as a person does; the command's id."""
        said = self.village.command("node", "command", _NODE, do, "--by", "Sam Okafor", "--json", *words)
        return str(json.loads(said)["command"])

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.village.command("node", "show", _NODE, "--json"))
        return found

    def stands(self, command: str) -> str:
        """queued, sent, done, refused or expired"""
        return next(str(each["state"]) for each in self.shown()["commands"] if each["command"] == command)

    def duties(self) -> list[Any]:
        found: list[Any] = json.loads(self.village.command("duty", "list", "--json"))
        return found

    def run_to(self, minute: float) -> None:
        self.sim.clock.run_until(_START + int(minute * MINUTE))


@pytest.fixture
def scene(tmp_path: Path, ca: Authority) -> Iterator[_Scene]:
    with (
        Supervisor(tmp_path / "boards", start_us=_START, firmware=FIRMWARE) as sim,
        Village(tmp_path, sim.clock_setting, [_NODE], registry({_NODE: _MAC}), ca=ca, influx=False) as village,
    ):
        village.command("node", "accept", _NODE, "--by", "Sam Okafor")
        yield _Scene(sim, village)


def test_orders_reach_a_board_that_sleeps_and_the_rain_it_is_given_in_maintenance_opens_no_duty(scene: _Scene) -> None:
    scene.board.power_on()
    scene.run_to(20)
    assert scene.board.state == "deep_sleep"
    into = scene.order("maintenance", "--on", "--minutes", "30")
    assert scene.stands(into) in ("queued", "sent")
    scene.run_to(31)
    assert scene.stands(into) == "done"
    assert scene.shown()["in_maintenance"]
    too_much = scene.order("calibrate", "--sensor", "stage", "--count", "5")
    sample = scene.order("sample")
    scene.run_to(80)
    assert (scene.stands(too_much), scene.stands(sample)) == ("refused", "done")
    assert not scene.shown()["in_maintenance"], "it ends by itself"
    scene.run_to(97)  # what an acknowledgement came too late for, on a busy machine, goes with the next connection
    tips = [content for content in in_ledger(scene.village, _NODE).values() if content[0] == "rain.tips"]
    assert [content[2] for content in tips if content[2]] == [1] * 60, f"0.6 in of test tips are recorded: {tips}"
    assert scene.duties() == []
    scene.run_to(130)
    assert len(scene.duties()) == 1, "the same rain out of maintenance mode"
