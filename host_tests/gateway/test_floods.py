"""What a node gone wild, or somebody with its password, can cost the ledger: limits, and nothing lost by them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from headwall.ingest import nodes
from headwall.ingest.batch import Intake
from headwall.ledger import dead_letters, schema
from headwall.ledger.ledger import Ledger
from headwall.settings import IngestSettings
from headwall.web.status import build_status
from support.fleet import JID, T0, message, pack, registry, state
from support.set_clock import SetClock


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://")
    yield opened
    opened.close()


@pytest.fixture
def intake(ledger: Ledger) -> Intake:
    return Intake(ledger, registry(), IngestSettings(), SetClock(T0))


def letters(ledger: Ledger) -> dict[tuple[str, str], tuple[int, int]]:
    """Rows and messages by node and reason."""
    c = schema.dead_letters.c
    query = sa.select(c.node, c.reason, sa.func.count(), sa.func.sum(c.count)).group_by(c.node, c.reason)
    with ledger.read() as conn:
        return {(node, reason): (rows, count) for node, reason, rows, count in conn.execute(query)}


def test_dead_letters_beyond_the_limit_of_a_node_are_counted_not_kept(
    ledger: Ledger, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_LETTERS", 10)
    for start in range(0, 100, 20):  # across batches and within one
        intake.store([message(b"junk %d" % n) for n in range(start, start + 20)])
    intake.store([message(b"junk", node="gauge-b")])
    assert letters(ledger) == {
        ("gauge-a", "not_json"): (10, 10),
        ("gauge-a", "beyond_limit"): (1, 90),
        ("gauge-b", "not_json"): (1, 1),
    }


def test_large_dead_letters_stop_at_the_limit_of_bytes(
    ledger: Ledger, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 3_000_000)
    for n in range(10):
        intake.store([message(b"%d" % n * 1_000_000)])
    assert letters(ledger) == {("gauge-a", "too_large"): (3, 3), ("gauge-a", "beyond_limit"): (1, 7)}


def test_record_under_its_number_is_kept_whatever_the_limit(
    ledger: Ledger, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_LETTERS", 0)
    raw = pack(1, bn="urn:dev:mac:240ac4000001:raw", bu=None, bt=None, t=None, v=None, s=None, vd="eHl6")
    outcome = intake.store([message(state(next=2), "state"), message(b"junk"), message(raw)])
    assert letters(ledger) == {("gauge-a", "raw_record"): (1, 1), ("gauge-a", "beyond_limit"): (1, 1)}
    assert [due.through for due in outcome.custody] == [1]


def test_unknown_nodes_beyond_the_limit_leave_nothing_and_are_a_fault(
    ledger: Ledger, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "MOST_UNCLAIMED", 5)
    outcome = intake.store([message(pack(1), node=f"stranger-{n}") for n in range(9)])
    assert ("gateway", "too_many_unclaimed") in outcome.faults
    known = {f"stranger-{n}" for n in range(5)}
    assert {node for node, _ in letters(ledger)} == known
    again = intake.store([message(pack(2), node=node) for node in known])
    assert not again.faults
    with ledger.read() as conn:
        assert set(conn.execute(sa.select(schema.node_states.c.node)).scalars()) == known


def test_gaps_of_the_largest_size_still_add_up_on_the_page(ledger: Ledger, intake: Intake) -> None:
    absurd = [state(floor=2**40 - 1, next=2**40 - 1, jid=f"{n:016x}") for n in range(2_000)]
    intake.store([message(each, "state") for each in absurd])
    found = build_status(ledger, registry(), {}, T0, {})
    assert found.counts.lost == 2_000 * (2**40 - 2)


@pytest.mark.parametrize("change", [{"next": 2**40}, {"floor": 2**62, "next": 2**62}, {"next": 2**63}])
def test_journal_of_absurd_length_is_a_bad_state(ledger: Ledger, intake: Intake, change: dict[str, int]) -> None:
    intake.store([message(state(**change), "state")])
    assert letters(ledger) == {("gauge-a", "bad_state"): (1, 1)}


def test_state_with_more_journals_than_a_node_holds_is_a_bad_state(ledger: Ledger, intake: Intake) -> None:
    journals = [{"jid": f"{n:016x}", "floor": 1, "next": 1} for n in range(17)]
    intake.store([message(state(journals=journals), "state")])
    assert letters(ledger) == {("gauge-a", "bad_state"): (1, 1)}


def test_number_at_the_end_of_all_numbers_does_not_stop_custody_of_the_others(intake: Intake) -> None:
    intake.store([message(state(next=3), "state"), message(pack(2**40 - 1))])
    outcome = intake.store([message(pack(1, 2))])
    assert [(due.jid, due.through) for due in outcome.custody] == [(JID, 2)]
