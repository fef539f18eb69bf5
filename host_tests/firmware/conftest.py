"""Fixtures of the tests that run the board's files in the real MicroPython."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import mp
import pytest
from headwall_sim.broker import Account, Broker
from scripted_gateway import ScriptedGateway
from sim_node import ACCOUNTS
from support.long import LONG


@pytest.fixture(params=["mpy", "py"] if LONG else ["mpy"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The board's files as compiled for a release; HEADWALL_LONG=1: as text too. Gives their folder."""
    folder = mp.FIRMWARE if request.param == "py" else mp.compiled()
    monkeypatch.setattr(mp, "library", folder)
    return folder


@pytest.fixture
def broker(mosquitto: Callable[[Sequence[Account]], Broker]) -> Broker:
    """mosquitto with the accounts of a SimNode and its gateway."""
    return mosquitto(ACCOUNTS)


@pytest.fixture
def gateway(broker: Broker) -> Iterator[ScriptedGateway]:
    """The gateway behind it."""
    with ScriptedGateway(broker) as gateway:
        yield gateway
