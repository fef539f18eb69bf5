"""Whatever stands in the files that a board keeps for itself, it goes on under its last good settings."""

from __future__ import annotations

import random
from pathlib import Path

import mp
import pytest
from headwall_sim.broker import Broker
from scripted_gateway import ScriptedGateway, name_of
from sim_node import SimNode

pytestmark = pytest.mark.mosquitto

OWN = ("config.run", "config.trial", "config.refused", "config.candidate", "slots.json", "slots.verdict")
GARBAGE = {
    "bytes": random.Random(1).randbytes(300),
    "nothing": b"",
    "a_list": b'[{"hash": 5, "starts": "x"}]',
    "other_types": b'{"hash": 5, "starts": "x", "why": [1], "update": {"state": 5}, "active": 5, "trial": []}',
    "deeper_than_the_stack": b"[" * 3000,
    "more_than_memory": b"[0," * 60_000,
}


def spoil(node: SimNode, minute: float, files: dict[str, bytes]) -> None:
    """Put files on the flash, without power for half a minute."""
    node.run_to(minute)
    node.board.power_cut()
    node.run_to(minute + 0.5)
    node.board.put_files(files)
    node.board.power_on()


@pytest.mark.parametrize("kind", GARBAGE)
def test_board_goes_on_with_garbage_in_all_its_own_files(
    kind: str, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [1, 3, 9, 10, 11], board={"vfs_blocks": 512}) as node:
        node.use_clock(gateway)
        spoil(node, 5, dict.fromkeys(OWN, GARBAGE[kind]))
        node.run_until(lambda: gateway.tips() == 5, 20)
        said = gateway.online()[-1]
        assert said["config"] == name_of(node.config) and "update" not in said
        assert gateway.twice == 0


@pytest.mark.parametrize("kind", ["a_list", "deeper_than_the_stack", "more_than_memory"])
def test_settings_that_are_garbage_give_way_to_the_last_good_ones(
    kind: str, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [1, 9]) as node:
        node.use_clock(gateway)
        spoil(node, 3, {"config.json": GARBAGE[kind]})
        node.run_until(lambda: gateway.tips() == 2, 20)
        said = gateway.online()[-1]
        assert said["config"] == name_of(node.config) and said["config_error"]


#: changes the prepared settings once: they stay readable, the gauge would be at another pin
SPOILS = b"""
import os

if "config.run" in os.listdir("/") and "spoilt" not in os.listdir("/"):
    with open("/config.run") as file:
        text = file.read()
    with open("/config.run", "w") as file:
        file.write(text.replace('"pin": 4', '"pin": 5'))
    with open("/spoilt", "w") as file:
        file.write(str('"pin": 4' in text))
"""


def test_prepared_settings_that_changed_on_flash_are_made_anew(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    node = SimNode(tmp_path, broker, [1, 5])
    node.board.put_files({"boot.py": SPOILS})
    with node:
        node.use_clock(gateway)
        node.run_until(lambda: gateway.tips() == 2, 15)
        assert node.console().count("settings: checked") == 2


def test_update_on_trial_is_confirmed_by_a_later_custody_when_flash_was_full(tmp_path: Path) -> None:
    said = mp.run(
        """
        import os

        from headwall_node import slots

        slots.state = {"trial": "slot_a", "update": {"state": "trial"}}
        os.mkdir("slots.verdict")  # so that it cannot be written
        slots.judge(True, 0)
        print(slots.state["update"]["state"], slots.restart)
        os.rmdir("slots.verdict")
        slots.judge(True, 0)
        print(slots.state["update"]["state"], open("slots.verdict").read())
        """,
        cwd=tmp_path,
    )
    assert said == "trial None\nconfirmed custody\n"
