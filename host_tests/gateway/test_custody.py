"""How far custody goes: everything durable, nothing that is not."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.ingest.batch import Intake, Outcome
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.settings import IngestSettings
from headwall.wire.contract import contract
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fleet import JID, MACS, T0, message, pack, registry, state
from support.set_clock import SetClock

OTHER = "ffeeddccbbaa0099"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://" if request.param == "sqlite" else request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


def intake_of(ledger: Ledger) -> Intake:
    return Intake(ledger, registry(), IngestSettings(), SetClock(T0))


@pytest.fixture
def intake(ledger: Ledger) -> Intake:
    return intake_of(ledger)


def through(outcome: Outcome) -> dict[str, int]:
    return {due.jid: due.through for due in outcome.custody}


def gaps(ledger: Ledger, jid: str = JID) -> list[tuple[int, int]]:
    table = schema.gaps
    with ledger.read() as conn:
        rows = conn.execute(sa.select(table).where(table.c.jid == jid).order_by(table.c.first_seq)).all()
    assert {row.reason for row in rows} <= {"below_floor"}
    return [(row.first_seq, row.last_seq) for row in rows]


def test_custody_answers_a_state_at_once(intake: Intake) -> None:
    (due,) = intake.store([message(state(next=9), "state")]).custody
    assert (due.node, due.jid, due.through) == ("gauge-a", JID, 0)
    topic, payload = intake.custody_payload(due)
    assert topic == "headwall/v1/gauge-a/custody"
    assert set(contract()["custody"]["fields"]) == set(json.loads(payload))


def test_custody_echoes_the_boot_and_nonce_of_the_newest_state(intake: Intake) -> None:
    intake.store([message(state(), "state")])
    newer = state(boot="0badcafe", nonce="fedcba9876543210")
    (due,) = intake.store([message(newer, "state"), message(pack(1))]).custody
    assert (due.address.boot, due.address.nonce) == ("0badcafe", "fedcba9876543210")


def test_custody_waits_until_the_node_has_spoken(intake: Intake) -> None:
    assert intake.store([message(pack(1, 5))]).custody == []
    assert through(intake.store([message(state(next=6), "state")])) == {JID: 5}


def test_custody_is_one_message_a_journal_and_batch(intake: Intake) -> None:
    packs = [message(pack(seq)) for seq in range(1, 40)]
    assert through(intake.store([message(state(), "state"), *packs])) == {JID: 39}


def test_custody_stops_before_a_number_that_has_not_come(intake: Intake) -> None:
    intake.store([message(state(next=30), "state")])
    assert through(intake.store([message(pack(1, 4)), message(pack(6, 4))])) == {JID: 4}
    assert through(intake.store([message(pack(5))])) == {JID: 9}


def test_custody_passes_urgent_readings_only_once_the_backlog_is_in(intake: Intake) -> None:
    intake.store([message(state(next=1000), "state")])
    assert through(intake.store([message(pack(900, 100), "event")])) == {JID: 0}
    for seq in range(1, 900, 100):
        last = intake.store([message(pack(seq, min(100, 900 - seq)))])
    assert through(last) == {JID: 999}


def test_custody_of_a_duplicate_is_said_again(intake: Intake) -> None:
    intake.store([message(state(next=4), "state"), message(pack(1, 3))])
    assert through(intake.store([message(pack(1, 3))])) == {JID: 3}


def test_custody_covers_quarantined_readings(intake: Intake) -> None:
    intake.store([message(state(next=3), "state")])
    assert through(intake.store([message(pack(1, t=2_085_978_496, bt=0)), message(pack(2))])) == {JID: 2}


def test_custody_covers_a_record_that_was_refused_under_its_number(intake: Intake) -> None:
    intake.store([message(state(next=4), "state")])
    unknown = pack(2, bn=f"urn:dev:mac:{MACS['gauge-a']}:other.level", bu="m")
    assert through(intake.store([message(pack(1)), message(unknown), message(pack(3))])) == {JID: 3}


def test_custody_covers_a_poison_record_sent_raw(intake: Intake) -> None:
    intake.store([message(state(next=4), "state"), message(pack(1))])
    poison = message(pack(2, v="soon"))
    assert intake.store([poison]).custody == []  # the node halves the pack, then sends the record raw
    raw = pack(
        2, bn=f"urn:dev:mac:{MACS['gauge-a']}:", bu=None, bt=None, t=None, v=None, s=None, n="raw", vd="c29vbg=="
    )
    assert through(intake.store([message(raw), message(pack(3))])) == {JID: 3}


def test_custody_covers_a_conflict(intake: Intake) -> None:
    intake.store([message(state(next=3), "state"), message(pack(1))])
    assert through(intake.store([message(pack(1, v=0)), message(pack(2))])) == {JID: 2}


def test_custody_passes_a_recorded_gap_below_the_floor(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(state(next=3), "state"), message(pack(1, 2)), message(pack(5, 2)), message(pack(12))])
    assert through(intake.store([message(state(floor=10, next=13), "state")])) == {JID: 9}
    assert gaps(ledger) == [(3, 4), (7, 9)]
    assert through(intake.store([message(pack(10, 2))])) == {JID: 12}


def test_custody_never_gives_up_a_number_at_or_above_the_floor(ledger: Ledger, intake: Intake) -> None:
    outcome = intake.store([message(state(floor=10, next=50), "state"), message(pack(11, 10))])
    assert through(outcome) == {JID: 9}
    assert gaps(ledger) == [(1, 9)]


def test_custody_of_a_lower_floor_said_by_an_old_state_changes_nothing(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(state(floor=10, next=20), "state"), message(pack(10, 10))])
    assert through(intake.store([message(state(floor=1, next=5), "state", retain=True)])) == {JID: 19}
    assert gaps(ledger) == [(1, 9)]


def test_custody_of_a_ledger_restored_from_a_backup_falls(tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    intake_of(ledger).store([message(state(next=1), "state"), message(pack(1, 10))])
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as source, closing(sqlite3.connect(backup)) as copy:
        source.backup(copy)
    assert through(intake_of(ledger).store([message(pack(11, 30))])) == {JID: 40}
    ledger.close()

    restored = Ledger.open(f"sqlite:///{backup}")
    intake = intake_of(restored)
    # the node has erased 1 to 20 on the old promise, and holds 21 to 45
    assert through(intake.store([message(state(floor=21, next=46), "state")])) == {JID: 20}
    assert gaps(restored) == [(11, 20)]
    assert through(intake.store([message(pack(21, 25))])) == {JID: 45}
    restored.close()


def test_custody_of_a_reformatted_flash_starts_a_journal_of_its_own(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(state(next=1), "state"), message(pack(1, 20))])
    outcome = intake.store([message(state(next=3, jid=OTHER), "state"), message(pack(1, 2, jid=OTHER))])
    assert through(outcome) == {OTHER: 2}
    assert gaps(ledger) == []


def test_custody_of_a_node_with_two_journals_is_said_for_each(intake: Intake) -> None:
    both = [{"jid": JID, "floor": 1, "next": 5}, {"jid": OTHER, "floor": 3, "next": 9}]
    assert through(intake.store([message(state(journals=both), "state")])) == {JID: 0, OTHER: 2}


def test_custody_is_never_given_to_an_unclaimed_node(ledger: Ledger) -> None:
    intake = Intake(ledger, registry("gauge-b"), IngestSettings(), SetClock(T0))
    outcome = intake.store([message(state(next=3), "state"), message(pack(1, 2))])
    assert outcome.custody == []
    assert [letter.reason for letter in outcome.letters] == ["unknown_node"]
    with ledger.read() as conn:
        row = conn.execute(sa.select(schema.node_states)).one()
        assert (row.node, row.status, row.nonce, row.body["fw"]) == ("gauge-a", "unclaimed", None, "0.1.0")
        assert conn.execute(sa.select(schema.journals)).all() == []
    # once the registry knows it, the node sends again and is answered
    claimed = intake_of(ledger).store([message(state(next=3), "state"), message(pack(1, 2))])
    assert through(claimed) == {JID: 2}


def test_custody_is_not_given_for_a_pack_of_another_board(intake: Intake) -> None:
    intake.store([message(state(next=3), "state")])
    assert intake.store([message(pack(1, 2, node="gauge-b"), node="gauge-a")]).custody == []


_packs = st.tuples(st.integers(1, 40), st.integers(1, 8))
_steps = st.lists(st.lists(_packs | st.integers(1, 40), max_size=4), min_size=1, max_size=8)


_jids = (f"{number:016x}" for number in itertools.count())


@pytest.fixture(scope="module")
def shared() -> Iterator[Ledger]:
    """One ledger for many examples, each with a journal of its own."""
    opened = Ledger.open("sqlite://")
    yield opened
    opened.close()


@settings(max_examples=200, deadline=None)
@given(steps=_steps)
def test_custody_any_sequence_equals_the_definition(shared: Ledger, steps: list[list[tuple[int, int] | int]]) -> None:
    """A step is a batch of packs (first, count) and states (a floor); `through` follows from sets alone."""
    jid = next(_jids)
    intake = intake_of(shared)
    intake.store([message(state(next=50, jid=jid), "state")])
    held: set[int] = set()
    lost: set[int] = set()
    floor = 1
    for step in steps:
        batch = []
        for item in step:
            if isinstance(item, int):
                batch.append(message(state(floor=item, next=50, jid=jid), "state"))
            else:
                batch.append(message(pack(*item, jid=jid)))
                held |= set(range(item[0], item[0] + item[1]))
        said = [item for item in step if isinstance(item, int)]
        floor = max(floor, said[-1]) if said else floor  # of several states in a batch the last one counts
        outcome = intake.store(batch)
        reached = 0
        while reached + 1 in held | lost or reached + 1 < floor:
            reached += 1
            if reached not in held:
                lost.add(reached)
        assert through(outcome) == ({jid: reached} if batch else {})
        recorded = {n for first, last in gaps(shared, jid) for n in range(first, last + 1)}
        assert recorded == lost
