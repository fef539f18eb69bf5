"""Custody over a real mosquitto with its ACL: from the gateway alone, true after a restore, none for strangers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.wire.custody import custody_message
from headwall_sim.broker import Account, Broker
from support import ingest_rig
from support.fleet import BOOT, JID, NONCE, T0, pack, state
from support.ingest_rig import PASSWORD, Board, mqtt_settings, until

pytestmark = pytest.mark.mosquitto

FORGED = custody_message(boot=BOOT, nonce=NONCE, ledger="feedfeedfeedfeed", jid=JID, through=999, time_us=T0)


@pytest.fixture
def broker(mosquitto: Callable[[Sequence[Account]], Broker]) -> Broker:
    accounts = [Account(name, PASSWORD) for name in ("gauge-a", "gauge-b", "gauge-x")]
    return mosquitto([*accounts, Account("gateway", PASSWORD, "gateway")])


@pytest.fixture
def board(broker: Broker) -> Iterator[Board]:
    with closing(Board(broker.host, broker.port_311, broker.ca.cert, "gauge-a")) as opened:
        yield opened


@pytest.fixture
def serve(broker: Broker, tmp_path: Path) -> Iterator[Callable[[str], Ledger]]:
    """Run ingest on the ledger of this name; the one before is stopped."""
    closers: list[Callable[[], None]] = []

    def stop() -> None:
        while closers:
            closers.pop()()

    def go(name: str) -> Ledger:
        stop()
        ledger = Ledger.open(f"sqlite:///{tmp_path / name}")
        service = ingest_rig.service(mqtt_settings(broker.host, broker.port_5, broker.ca.cert), ledger)
        service.start()
        closers.extend((ledger.close, service.stop))
        until(lambda: service.healthy() is None, "healthy")
        return ledger

    yield go
    stop()


@pytest.mark.parametrize("forger", ["gauge-b", "gauge-a"])
def test_forged_custody_does_not_reach_the_board(
    broker: Broker, board: Board, serve: Callable[[str], Ledger], forger: str
) -> None:
    ledger = serve("ledger.db")
    with closing(Board(broker.host, broker.port_311, broker.ca.cert, "gauge-a", account=forger)) as other:
        other.send(FORGED, "custody")
    board.send(state(next=1), "state")
    board.send(pack(1, 5))
    until(lambda: board.through(JID) == 5, "the gateway's own custody")
    assert {said["ledger"] for said in board.custody} == {ledger.id}
    assert 999 not in {said["through"] for said in board.custody}


def test_readings_in_the_name_of_another_board_do_not_reach_the_ledger(
    broker: Broker, board: Board, serve: Callable[[str], Ledger]
) -> None:
    ledger = serve("ledger.db")
    with closing(Board(broker.host, broker.port_311, broker.ca.cert, "gauge-b")) as other:
        other.send(pack(1, 5), node="gauge-a")
    board.send(pack(6))
    until(lambda: _seqs(ledger), "the board's own reading")
    assert _seqs(ledger) == [6]


def test_ledger_restored_from_a_backup_asks_again_for_what_the_board_still_holds(
    board: Board, serve: Callable[[str], Ledger], tmp_path: Path
) -> None:
    serve("ledger.db")
    board.send(state(next=1), "state", retain=True)
    board.send(pack(1, 10))
    until(lambda: board.through(JID) == 10, "custody up to the backup")
    with (
        closing(sqlite3.connect(tmp_path / "ledger.db")) as source,
        closing(sqlite3.connect(tmp_path / "backup.db")) as copy,
    ):
        source.backup(copy)
    board.send(pack(11, 30))
    until(lambda: board.through(JID) == 40, "custody after the backup")
    # by now the board has erased up to 20, and holds 21 to 40
    restored = serve("backup.db")
    board.send(state(floor=21, next=41, nonce="fedcba9876543210"), "state", retain=True)
    until(lambda: board.through(JID) == 20, "custody falls to what the restored ledger has, or has noted as lost")
    board.send(pack(21, 20))
    until(lambda: board.through(JID) == 40, "custody of what was sent again")
    assert _seqs(restored) == [*range(1, 11), *range(21, 41)]
    with restored.read() as conn:
        gaps = conn.execute(sa.select(schema.gaps.c.first_seq, schema.gaps.c.last_seq)).all()
    assert [tuple(gap) for gap in gaps] == [(11, 20)]


def test_unclaimed_board_gets_no_custody_and_is_listed(broker: Broker, serve: Callable[[str], Ledger]) -> None:
    ledger = serve("ledger.db")
    with closing(Board(broker.host, broker.port_311, broker.ca.cert, "gauge-x")) as stranger:
        stranger.send(state(next=3), "state")
        stranger.send(pack(1, 2))
        until(lambda: _dead(ledger) == ["unknown_node"], "the dead letter")
        with ledger.read() as conn:
            nodes = conn.execute(sa.select(schema.node_states.c.node, schema.node_states.c.status)).all()
        assert [tuple(row) for row in nodes] == [("gauge-x", "unclaimed")]
        assert stranger.custody == []


def _seqs(ledger: Ledger) -> list[int]:
    with ledger.read() as conn:
        return list(conn.execute(sa.select(schema.readings.c.seq).order_by(schema.readings.c.seq)).scalars())


def _dead(ledger: Ledger) -> list[str]:
    with ledger.read() as conn:
        return list(conn.execute(sa.select(schema.dead_letters.c.reason)).scalars())
