"""Bad input on the whole way in: each a dead letter or quarantined with its reason, and nothing else is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from headwall.ingest.batch import Intake
from headwall.ingest.dead_letters import dead_letters
from headwall.ingest.sorting import Message
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.settings import IngestSettings
from headwall.wire.contract import topic
from support.bad_packs import FIRST, REFUSED, without
from support.bad_packs import pack as spelled
from support.fleet import MACS, T0, message, pack, registry
from support.set_clock import SetClock

LEVEL = f"urn:dev:mac:{MACS['gauge-a']}:barrel.level"
RAW = {**without("bu", "bt", "t", "v", "s"), "bn": f"urn:dev:mac:{MACS['gauge-a']}:raw", "vd": "AAEC"}
#: refused by registry or topic rather than by the decoder
_MORE: list[tuple[str, Message, str]] = [
    ("unknown node", message(pack(1), node="gauge-x"), "unknown_node"),
    ("another board under this name", message(pack(1, node="gauge-b"), node="gauge-a"), "mac_mismatch"),
    ("a datastream that the node has not", message(pack(1, bn=LEVEL, bu="m")), "unknown_datastream"),
    ("a reading from before the gauge stood there", message(pack(1, bt=1_600_000_000, t=0)), "unknown_datastream"),
    ("a raw record", message(spelled(RAW)), "raw_record"),
    ("a state that is none", message(b"online", "state"), "not_json"),
    ("a state without its boot", message(b'{"v":1,"status":"online"}', "state"), "bad_state"),
    ("a topic of nobody", Message("weather/station7", pack(1), T0), "bad_topic"),
    ("a topic longer than the column", Message("headwall/v1/" + "x" * 500, pack(1), T0), "bad_topic"),
]  # fmt: skip
BAD = [(name, message(payload), reason) for name, payload, reason in REFUSED] + _MORE
#: kept, but never judged
QUARANTINED = [
    ("seconds since 2000", message(pack(1, bt=834_364_800, t=0)), "clock_past"),
    ("2036", message(pack(1, bt=2_085_978_496, t=0)), "clock_future"),
]


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://")
    yield opened
    opened.close()


@pytest.fixture
def intake(ledger: Ledger) -> Intake:
    return Intake(ledger, registry(), IngestSettings(oldest="2019-01-01"), SetClock(T0))


def test_there_are_at_least_forty_ways_to_be_wrong() -> None:
    assert len(BAD) + len(QUARANTINED) >= 40


@pytest.mark.parametrize(("bad", "reason"), [(m, r) for _, m, r in BAD], ids=[name for name, _, _ in BAD])
def test_bad_message_is_a_dead_letter_and_its_neighbours_are_stored(
    ledger: Ledger, intake: Intake, bad: Message, reason: str
) -> None:
    good = message(pack(100, 3))
    outcome = intake.store([good, bad, message(pack(200, 2))])
    with ledger.read() as conn:
        (letter,) = dead_letters(conn)
        seqs = [row.seq for row in conn.execute(sa.select(schema.readings.c.seq).order_by(schema.readings.c.seq))]
    assert (letter.reason, letter.state, letter.count) == (reason, "open", 1)
    assert letter.detail
    if letter.seq is None:
        assert letter.payload == bad.payload  # whole, to the byte
    assert seqs == [100, 101, 102, 200, 201]
    assert outcome.stored == 5


@pytest.mark.parametrize(("bad", "reason"), [(m, r) for _, m, r in QUARANTINED], ids=[n for n, _, _ in QUARANTINED])
def test_bad_time_is_quarantined_and_its_neighbours_are_good(
    ledger: Ledger, intake: Intake, bad: Message, reason: str
) -> None:
    intake.store([message(pack(100)), bad, message(pack(200))])
    with ledger.read() as conn:
        rows = conn.execute(sa.select(schema.readings.c.quarantine).order_by(schema.readings.c.seq)).scalars().all()
        assert dead_letters(conn) == []
    assert rows == [reason, None, None]


def test_all_bad_messages_in_one_batch_are_all_kept_and_the_good_ones_stored(ledger: Ledger, intake: Intake) -> None:
    batch = []
    for number, (_, bad, _) in enumerate(BAD):
        batch += [bad, message(pack(1000 + number))]
    outcome = intake.store(batch)
    with ledger.read() as conn:
        counts = Counter(letter.reason for letter in dead_letters(conn))
    assert outcome.stored == len(BAD)
    assert counts == Counter(reason for _, _, reason in BAD)


def test_bad_message_again_is_counted_not_kept_twice(ledger: Ledger, intake: Intake) -> None:
    for _ in range(3):
        intake.store([message(spelled({**FIRST, "v": "1"}))])
    with ledger.read() as conn:
        (letter,) = dead_letters(conn)
    assert letter.count == 3


def test_bad_record_among_good_ones_takes_only_its_own_number(ledger: Ledger, intake: Intake) -> None:
    mixed = spelled(
        {**FIRST, "bn": f"urn:dev:mac:{MACS['gauge-a']}:rain.tips"},
        {"bn": LEVEL, "bu": "m", "t": 1, "v": 0.5},
        {"bn": f"urn:dev:mac:{MACS['gauge-a']}:rain.tips", "bu": "count", "t": 2, "v": 1},
    )
    intake.store([Message(topic("gauge-a", "tele"), mixed, T0)])
    with ledger.read() as conn:
        (letter,) = dead_letters(conn)
        seqs = conn.execute(sa.select(schema.readings.c.seq)).scalars().all()
    assert (letter.reason, letter.seq) == ("unknown_datastream", 8)
    assert sorted(seqs) == [7, 9]
