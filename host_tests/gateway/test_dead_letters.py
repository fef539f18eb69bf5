"""Dead letters run again, from Python and from the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from headwall.errors import UnknownThingError
from headwall.ingest.batch import Intake
from headwall.ingest.dead_letters import DeadLetter, dead_letter, dead_letters
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.registry.registry import Registry
from headwall.settings import IngestSettings
from support.fleet import JID, MACS, T0, FixedClock, message, pack, registry, state

LEVEL = f"urn:dev:mac:{MACS['gauge-a']}:tank.level"


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://")
    yield opened
    opened.close()


def intake(ledger: Ledger, known: Registry) -> Intake:
    return Intake(ledger, known, IngestSettings(), FixedClock(T0 + 3600_000_000))


def letters(ledger: Ledger, state: str | None = "open") -> list[DeadLetter]:
    with ledger.read() as conn:
        return dead_letters(conn, state=state)


def seqs(ledger: Ledger) -> list[int]:
    with ledger.read() as conn:
        return list(conn.execute(sa.select(schema.readings.c.seq).order_by(schema.readings.c.seq)).scalars())


def test_rerun_after_the_node_was_registered_takes_the_whole_message(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(1, 5))])
    (letter,) = letters(ledger)
    assert intake(ledger, registry("gauge-b")).rerun(letter) == "unknown_node"
    assert letters(ledger) == [letter]
    mended = intake(ledger, registry())
    assert mended.rerun(letter) == "taken"
    assert seqs(ledger) == [1, 2, 3, 4, 5]
    assert [each.state for each in letters(ledger, None)] == ["taken"]


def test_rerun_twice_changes_nothing(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(1, 5))])
    (letter,) = letters(ledger)
    mended = intake(ledger, registry())
    assert [mended.rerun(letter), mended.rerun(letter)] == ["taken", "taken"]
    assert seqs(ledger) == [1, 2, 3, 4, 5]


def test_rerun_keeps_the_time_of_arrival(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(1))])
    mended = intake(ledger, registry())
    mended.rerun(letters(ledger)[0])
    with ledger.read() as conn:
        assert conn.execute(sa.select(schema.readings.c.received_us)).scalar() == T0
        assert conn.execute(sa.select(schema.node_states.c.last_data_us)).scalar() == T0  # nothing was heard just now


def test_rerun_of_a_record_whose_datastream_was_registered_takes_it(ledger: Ledger) -> None:
    tips_only = registry(streams={"rain.tips": "tips"})
    intake(ledger, tips_only).store([message(pack(1)), message(pack(2, bn=LEVEL, bu="m", v=0.25))])
    (letter,) = letters(ledger)
    assert intake(ledger, tips_only).rerun(letter) == "unknown_datastream"
    assert intake(ledger, registry()).rerun(letter) == "taken"
    with ledger.read() as conn:
        row = conn.execute(sa.select(schema.readings).where(schema.readings.c.seq == 2)).one()
    assert (row.stream, row.value, row.jid) == ("tank.level", 0.25, JID)


def test_rerun_of_a_whole_message_leaves_records_that_are_still_wrong_under_their_numbers(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(2, bn=LEVEL, bu="m", v=0.25))])
    (letter,) = letters(ledger)
    assert intake(ledger, registry(streams={"rain.tips": "tips"})).rerun(letter) == "taken"
    (left,) = letters(ledger)
    assert (left.reason, left.seq) == ("unknown_datastream", 2)
    assert intake(ledger, registry()).rerun(left) == "taken"
    assert letters(ledger) == []


def test_rerun_of_a_conflict_stays_open_and_the_first_stays(ledger: Ledger) -> None:
    taker = intake(ledger, registry())
    taker.store([message(pack(1))])
    taker.store([message(pack(1, v=0))])
    (letter,) = letters(ledger)
    assert taker.rerun(letter) == "identity_conflict"
    assert letters(ledger) == [letter]
    with ledger.read() as conn:
        assert conn.execute(sa.select(schema.readings.c.value)).scalars().all() == [1.0]


def test_rerun_of_what_cannot_be_parsed_stays_open(ledger: Ledger) -> None:
    taker = intake(ledger, registry())
    taker.store([message(b"junk"), message(b"\x00\xff", "event")])
    assert [taker.rerun(letter) for letter in letters(ledger)] == ["not_json", "not_json"]
    assert len(letters(ledger)) == 2


def test_rerun_of_a_state_does_not_overwrite_a_later_one(ledger: Ledger) -> None:
    taker = intake(ledger, registry())
    taker.store_as_letter(message(state(nonce="0" * 16), "state"), "handler_error", "a fault that was mended")
    taker.store([message(state(nonce="f" * 16), "state")])
    assert taker.rerun(letters(ledger)[0]) == "taken"
    with ledger.read() as conn:
        assert conn.execute(sa.select(schema.node_states.c.nonce)).scalar() == "f" * 16


def test_dead_letter_that_was_taken_and_comes_again_is_open_again(ledger: Ledger) -> None:
    bad = message(pack(1, 2))
    intake(ledger, registry("gauge-b")).store([bad])
    intake(ledger, registry()).rerun(letters(ledger)[0])
    intake(ledger, registry("gauge-b")).store([bad])
    assert [(letter.state, letter.count) for letter in letters(ledger)] == [("open", 2)]


def test_dead_letter_of_an_unknown_number_is_named(ledger: Ledger) -> None:
    with ledger.read() as conn, pytest.raises(UnknownThingError, match="no dead letter 77"):
        dead_letter(conn, 77)
