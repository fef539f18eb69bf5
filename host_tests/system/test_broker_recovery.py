"""What docs/operator.md says of a corrupt broker database holds: mosquitto refuses it, and serves once it is away."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from headwall_sim.broker import Account, Broker

pytestmark = pytest.mark.mosquitto


def test_corrupt_database_is_refused_and_broker_serves_without_it(
    mosquitto: Callable[[Sequence[Account]], Broker],
) -> None:
    broker = mosquitto([Account("gauge-a", "x"), Account("gateway", "x", "gateway")])
    broker.stop()
    database = broker.folder / "data" / "mosquitto.db"
    database.write_bytes(b"\xff" * database.stat().st_size)
    with pytest.raises(RuntimeError, match="Unable to restore persistent database"):
        broker.start()
    database.unlink()
    broker.start()
    assert broker.pid is not None
