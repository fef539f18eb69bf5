"""What most tests of whole paths stand on; a test that wants it otherwise has a fixture of its own by that name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from headwall.ledger.ledger import Ledger
from headwall_sim.broker import Account, Broker
from support.ingest_rig import PASSWORD


@pytest.fixture
def broker(mosquitto: Callable[[Sequence[Account]], Broker]) -> Broker:
    """A mosquitto with accounts for two boards and the gateway."""
    boards = [Account(name, PASSWORD) for name in ("gauge-a", "gauge-b")]
    return mosquitto([*boards, Account("gateway", PASSWORD, "gateway")])


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger on SQLite, in the test's folder as ledger.db."""
    with closing(Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")) as opened:
        yield opened
