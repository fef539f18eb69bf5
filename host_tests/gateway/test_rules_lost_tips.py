"""A jump of the running count is a loss that is told and noted, once it cannot still be on its way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from headwall.ingest.batch import Intake
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.rules.engine import RuleEngine
from headwall.rules.facts import NodeFault, from_body
from headwall.settings import IngestSettings
from support.fleet import T0, message, pack, registry, state
from support.set_clock import SetClock


class Rig:
    """Ingest and rules on one ledger."""

    def __init__(self, url: str = "sqlite://") -> None:
        self.ledger = Ledger.open(url)
        self.clock = SetClock(T0)
        self.intake = Intake(self.ledger, registry(), IngestSettings(), self.clock)
        self.restart()

    def restart(self) -> None:
        self.engine = RuleEngine(self.ledger, registry(), {}, self.clock)

    def take(self, *payloads: bytes, kind: str = "tele") -> None:
        """Store payloads and let the rules judge."""
        self.intake.store([message(payload, kind) for payload in payloads])
        while self.engine.step():
            pass
        assert self.engine.healthy() is None

    def lost(self) -> list[tuple[int, int]]:
        """Number of the reading and tips, as the log book has them."""
        table = schema.records.c
        with self.ledger.read() as conn:
            assert log_book.verify(conn) is None
            bodies = conn.execute(sa.select(table.body).where(table.kind == "tips_lost").order_by(table.n)).scalars()
            return [(body["seq"], body["tips"]) for body in bodies]

    def told(self) -> list[str]:
        with self.ledger.read() as conn:
            facts = [from_body(body) for body in conn.execute(sa.select(schema.outbox.c.body)).scalars()]
        return [fact.detail for fact in facts if isinstance(fact, NodeFault) and fact.fault == "tips_lost"]


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.ledger.close()


def test_count_that_rises_with_its_tips_is_no_loss(rig: Rig) -> None:
    rig.take(pack(1, 5), pack(6, 5))
    rig.take(pack(11, v=0, s=10))
    assert (rig.lost(), rig.told()) == ([], [])


def test_jump_of_the_count_is_noted_and_told_with_its_size(rig: Rig) -> None:
    rig.take(pack(1, 5))
    rig.take(pack(6, s=9))  # 6, 7 and 8 were never written
    assert rig.lost() == [(6, 3)]
    (told,) = rig.told()
    assert told.startswith("3 tips that the board counted before its reading 6")


def test_jump_shown_by_a_report_of_zero_counts(rig: Rig) -> None:
    rig.take(pack(1, 5), pack(6, v=0, s=7))
    assert rig.lost() == [(6, 2)]


def test_readings_on_their_way_are_no_loss_until_the_board_has_given_them_up(rig: Rig) -> None:
    rig.take(pack(1, 5))
    rig.take(state(next=21), kind="state")
    rig.take(pack(16, 5), kind="event")  # 6 to 15 are still in the journal
    assert rig.lost() == []
    rig.take(state(floor=16, next=21), kind="state")  # now they are not
    assert rig.lost() == [(16, 10)]


def test_backlog_that_fills_the_hole_leaves_no_loss(rig: Rig) -> None:
    rig.take(pack(1, 5))
    rig.take(pack(16, 5), kind="event")
    rig.take(pack(6, 10))
    assert rig.lost() == []


def test_loss_is_noted_once_over_restarts_and_repeats(rig: Rig) -> None:
    rig.take(pack(1, 5), pack(6, s=9))
    rig.restart()
    rig.take(pack(1, 5), pack(6, s=9))
    rig.take(pack(7, s=10))
    assert rig.lost() == [(6, 3)]
    assert len(rig.told()) == 1


def test_tips_before_the_first_reading_that_came_are_counted(rig: Rig) -> None:
    rig.take(state(floor=4, next=5), kind="state")
    rig.take(pack(4))
    assert rig.lost() == [(4, 3)]


@pytest.mark.postgresql
def test_postgresql_counts_the_loss_alike(postgres_url: str) -> None:
    rig = Rig(postgres_url)
    rig.take(pack(1, 5))
    rig.take(pack(6, s=9), pack(7, v=0, s=12))
    assert rig.lost() == [(6, 3), (7, 3)]
    rig.ledger.close()
