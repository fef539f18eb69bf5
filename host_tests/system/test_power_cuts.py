"""Power cuts in the middle of flash operations of a whole simulated board, with the real gateway's ingest behind it.

The whole kind of fault (a cut at every operation) is tested in process with the journal alone; here the board's
own program boots after each cut, over its flash as the cut left it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.clock import to_us
from headwall.ingest.service import IngestService
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall_sim.broker import Broker
from headwall_sim.journal_reader import JournalRecord
from headwall_sim.simulated_board import Board
from headwall_sim.storms import rain
from headwall_sim.supervisor import Supervisor
from support.fleet import MACS, registry
from support.ingest_rig import PASSWORD, running_ingest

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]

_FIRMWARE = Path(__file__).parents[2] / "firmware"
_START = to_us(datetime(2026, 6, 9, tzinfo=UTC))
_S = 1_000_000
_NODE = "gauge-a"
_CUTS = 20
_OFF_S = 20
#: so often that most cuts fall into an append
_TIP_EVERY_S = 7
_TIPS = 500


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "sim", start_us=_START, firmware=_FIRMWARE) as made:
        yield made


@pytest.fixture
def ingest(broker: Broker, ledger: Ledger, sim: Supervisor) -> Iterator[IngestService]:
    with running_ingest(broker, ledger, registry(_NODE), sim.clock) as running:
        yield running


def _board(sim: Supervisor, broker: Broker) -> Board:
    config = {
        "node": _NODE,
        "broker_host": broker.host,
        "broker_port": broker.port_311,
        "broker_name": "localhost",
        "ntp_host": sim.sntp.host,
        "ntp_port": sim.sntp.port,
        "keepalive_s": 600,
        "sensors": [{"kind": "tipping_bucket", "pin": 4}],
    }
    secrets = {"username": _NODE, "password": PASSWORD, "wifi": [{"ssid": "site", "password": "not a secret"}]}
    fallen = rain([_START + (60 + _TIP_EVERY_S * i) * _S for i in range(_TIPS)], pin=4)
    files = {
        "config.json": json.dumps(config).encode(),
        "secrets.json": json.dumps(secrets).encode(),
        "ca.der": broker.ca.der.read_bytes(),
    }
    return sim.board(_NODE, files=files, timeline=fallen.timeline, tips=fallen.tips, mac=MACS[_NODE], journal_blocks=3)


def _cut(sim: Supervisor, board: Board, operation: int) -> None:
    """Cut the power at an operation to come, and wait until the program runs again."""
    cuts = len(board.powered())
    board.power_cut_at_operation(operation, off_us=_OFF_S * _S)
    assert sim.clock.run_while(lambda: len(board.powered()) == cuts, sim.clock.now_us() + 900 * _S, 5 * _S), (
        "no cut came"
    )
    assert sim.clock.run_while(lambda: board.state != "running", sim.clock.now_us() + 60 * _S), "it did not start"
    sim.clock.run_until(sim.clock.now_us() + 10 * _S)


def _ledger_rows(ledger: Ledger, jid: str) -> dict[int, tuple[int | None, float | None, int | None]]:
    r = schema.readings.c
    with ledger.read() as conn:
        rows = conn.execute(sa.select(r.seq, r.time_us, r.value, r.total).where(r.node == _NODE, r.jid == jid))
        return {row.seq: (row.time_us, row.value, row.total) for row in rows}


def _last_state(ledger: Ledger) -> dict[str, Any]:
    with ledger.read() as conn:
        body = conn.execute(sa.select(schema.node_states.c.body).where(schema.node_states.c.node == _NODE)).scalar_one()
    told: dict[str, Any] = body if isinstance(body, dict) else json.loads(body)
    return told


def _as_row(record: JournalRecord) -> tuple[int | None, float | None, int | None]:
    time_us = None if record.time_ms is None else record.time_ms * 1000
    return time_us, None if record.value is None else float(record.value), record.total


def test_twenty_cuts_leave_a_valid_prefix_and_lose_at_most_the_reading_in_hand(
    sim: Supervisor, broker: Broker, ledger: Ledger, ingest: IngestService
) -> None:
    chance = random.Random(20260609)
    board = _board(sim, broker)
    board.power_on()
    sim.clock.run_until(_START + 120 * _S)
    jid = board.journal().jid
    known: dict[int, JournalRecord] = {}
    for number in range(_CUTS):
        before = board.journal()
        _cut(sim, board, chance.randint(1, 25))
        after = board.journal()
        where = f"after cut {number + 1}"
        assert after.jid == jid, where
        assert after.next >= before.next, where
        assert [record.seq for record in after.records] == list(range(after.floor, after.next)), where
        held = {record.seq: record for record in after.records}
        assert all(held[r.seq] == r for r in before.records if r.seq >= after.floor), where
        known.update(held)
        assert "Traceback" not in board.console.read_text(), where
    assert board.flash().journal_erases > 2  # sectors were changed too
    sim.clock.run_until(sim.clock.now_us() + 120 * _S)
    known.update({record.seq: record for record in board.journal().records})
    stored = _ledger_rows(ledger, jid)
    assert ingest.healthy() is None
    assert stored.keys() >= known.keys()
    assert {seq: stored[seq] for seq in known} == {seq: _as_row(record) for seq, record in known.items()}
    assert set(stored) == set(range(1, board.taken() + 1))
    tips = sum(value == 1 for _, value, _ in stored.values())
    settled = [tip for tip in board.tips_driven() if tip < sim.clock.now_us() - 5 * _S]
    assert 0 <= len(settled) - tips <= _CUTS
    told = _last_state(ledger)
    assert told["reset"] == "power_on"  # that power was lost, and how many tips it may have cost, is at the gateway
    assert told["tips_at_risk"] >= 1
