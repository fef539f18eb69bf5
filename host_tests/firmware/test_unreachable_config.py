"""Configurations over the air that would leave a board unreachable: it refuses them, or goes back to the one before."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall_sim.broker import Broker
from scripted_gateway import ScriptedGateway, name_of
from sim_node import SimNode

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]


@pytest.mark.parametrize(
    ("what", "payload"),
    [
        ("more lists than memory holds", b"[" * 1400),
        ("lists nested deeper than the stack", b'{"wifi":[' + b"[" * 600 + b"]" * 600 + b"]}"),
        ("no text", b"\xff" * 1400),
    ],
)
def test_configuration_that_cannot_even_be_checked_is_refused_and_the_board_lives(
    what: str, payload: bytes, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    with SimNode(tmp_path, broker, [1, 20]) as node:
        node.use_clock(gateway)
        node.run_until(lambda: bool(gateway.states), 5)
        gateway.publish("node1", "config", payload, retain=True)
        node.run_until(lambda: gateway.online()[-1].get("config_refused") == name_of(payload), 10)
        assert gateway.online()[-1]["config"] == name_of(node.config), what
        node.run_until(lambda: gateway.tips() == 2, 30)
