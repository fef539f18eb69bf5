"""Batches of messages into the ledger: readings, states, quality, the clock window, duplicates, conflicts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from headwall.errors import ConfigurationError
from headwall.ingest.batch import Intake
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.reads import Reading, readings_after
from headwall.settings import IngestSettings
from support.fleet import BOOT, JID, MACS, T0, message, pack, registry, state
from support.set_clock import SetClock


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://" if request.param == "sqlite" else request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


@pytest.fixture
def intake(ledger: Ledger) -> Intake:
    return Intake(ledger, registry(), IngestSettings(), SetClock(T0))


def everything(ledger: Ledger) -> list[Reading]:
    with ledger.read() as conn:
        return readings_after(conn, 0, 1000)


def test_store_a_pack_keeps_value_time_number_and_running_count(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(pack(7, 2))])
    got = everything(ledger)
    assert [(r.node, r.jid, r.seq, r.stream, r.value, r.total) for r in got] == [
        ("gauge-a", JID, 7, "rain.tips", 1.0, 7),
        ("gauge-a", JID, 8, "rain.tips", 1.0, 8),
    ]
    assert [r.time_us for r in got] == [T0 - 100_000_000_000 + 7_000_000, T0 - 100_000_000_000 + 8_000_000]
    assert {(r.quality, r.quarantine, r.source, r.received_us) for r in got} == {(2, None, "node", T0)}


def test_store_the_same_pack_three_times_with_a_restart_between_counts_once(ledger: Ledger) -> None:
    for _ in range(3):
        outcome = Intake(ledger, registry(), IngestSettings(), SetClock(T0)).store([message(pack(1, 5))])
    assert outcome.duplicates == 5
    assert len(everything(ledger)) == 5


def test_store_the_same_numbers_cut_into_other_packs_counts_once(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(pack(1, 6))])
    intake.store([message(pack(4, 4)), message(pack(1, 2), "event"), message(pack(1, 2), "tele")])
    assert [r.seq for r in everything(ledger)] == [1, 2, 3, 4, 5, 6, 7]


def test_store_null_keeps_the_reason_and_flag_missing(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(pack(1, n=":null", v=None, vs="no_signal"))])
    (reading,) = everything(ledger)
    assert (reading.value, reading.null_reason, reading.quality) == (None, "no_signal", 9)


def test_store_a_zero_stays_a_zero(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(pack(1, v=0))])
    assert everything(ledger)[0].value == 0.0


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        (830_000_000, "clock_past"),  # 2026 counted from the ESP32's epoch of 2000
        (2_085_978_496, "clock_future"),  # 2036-02-07: NTP's era rolls over
        (T0 // 1_000_000 + 301, "clock_future"),
        (T0 // 1_000_000 + 300, None),
    ],
)
def test_store_a_time_out_of_the_window_is_quarantined(
    ledger: Ledger, intake: Intake, seconds: int, reason: str | None
) -> None:
    outcome = intake.store([message(pack(1, bt=seconds, t=0)), message(pack(2))])
    first, second = sorted(everything(ledger), key=lambda r: r.seq)
    assert (first.quarantine, first.judgeable) == (reason, reason is None)
    assert second.judgeable
    assert (("gauge-a", "clock_wrong") in outcome.faults) == (reason is not None)


def test_store_untimed_reading_gets_its_time_from_the_nodes_anchor(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(pack(1, t=None, bt=None, boot=BOOT, up=10.5))])
    assert everything(ledger)[0].time_us is None
    intake.store([message(state(next=2, anchors=[[BOOT, 20_000, T0 // 1000]]), "state")])
    last = everything(ledger)[-1]
    assert (last.seq, last.time_us, last.resolved) == (1, T0 - 9_500_000, True)


def test_store_anchor_out_of_the_window_is_not_used(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(pack(1, t=None, bt=None, boot=BOOT, up=10.5))])
    outcome = intake.store([message(state(next=2, anchors=[[BOOT, 20_000, 2_085_978_496_000]]), "state")])
    assert [r.time_us for r in everything(ledger)] == [None]
    assert ("gauge-a", "clock_wrong") in outcome.faults


@pytest.mark.parametrize(("level", "quality"), [(1.5, 2), (-0.2, 2)])
def test_store_flags_not_evaluated_what_can_be(ledger: Ledger, intake: Intake, level: float, quality: int) -> None:
    intake.store([message(pack(1, bn=f"urn:dev:mac:{MACS['gauge-a']}:tank.level", bu="m", v=level))])
    assert everything(ledger)[0].quality == quality


def test_store_flags_fail_what_a_quantity_cannot_be(ledger: Ledger) -> None:
    streams = {"outfall.ph": "ph", "air.humidity": "humidity", "air.temperature": "temperature"}
    intake = Intake(ledger, registry("gauge-a", streams=streams), IngestSettings(), SetClock(T0))
    sent = [("outfall.ph", "pH", 14.5, 4), ("air.humidity", "%RH", 55, 2), ("air.temperature", "Cel", -300, 4)]
    for seq, (name, unit, value, _) in enumerate(sent, 1):
        intake.store([message(pack(seq, bn=f"urn:dev:mac:{MACS['gauge-a']}:{name}", bu=unit, v=value))])
    assert [(r.value, r.quality) for r in everything(ledger)] == [(float(v), q) for _, _, v, q in sent]


def test_store_conflicting_content_keeps_the_first_and_a_dead_letter(ledger: Ledger, intake: Intake) -> None:
    """A cloned flash: two boards count on from the same journal under the same name."""
    intake.store([message(pack(1, 2))])
    outcome = intake.store([message(pack(1, 3, v=0))])
    assert [(r.seq, r.value) for r in everything(ledger)] == [(1, 1.0), (2, 1.0), (3, 1.0)]
    (letter,) = outcome.letters
    assert (letter.reason, letter.jid, letter.seq) == ("identity_conflict", JID, 1)
    assert "the first stays" in outcome.faults["gauge-a", "identity_conflict"]


def test_store_a_pack_of_another_board_under_this_name_is_refused(ledger: Ledger, intake: Intake) -> None:
    outcome = intake.store([message(pack(1, node="gauge-b"), node="gauge-a")])
    assert [letter.reason for letter in outcome.letters] == ["mac_mismatch"]
    assert ("gauge-a", "mac_mismatch") in outcome.faults
    assert everything(ledger) == []


def test_store_a_datastream_of_another_time_goes_alone_to_the_dead_letters(ledger: Ledger) -> None:
    intake = Intake(ledger, registry(since="2026-06-08"), IngestSettings(), SetClock(T0))
    before = 1_780_000_000  # 2026-05-28
    outcome = intake.store([message(pack(1, t=before, bt=0)), message(pack(2))])
    assert [(letter.reason, letter.seq) for letter in outcome.letters] == [("unknown_datastream", 1)]
    assert [r.seq for r in everything(ledger)] == [2]


def test_state_is_kept_and_an_offline_will_leaves_what_the_node_said(ledger: Ledger, intake: Intake) -> None:
    intake.store([message(state(next=5), "state")])
    intake.store([message(b'{"v":1,"status":"offline"}', "state")])
    with ledger.read() as conn:
        row = conn.execute(sa.select(schema.node_states)).one()
    assert (row.status, row.boot, row.body["fw"]) == ("offline", BOOT, "0.1.0")


def test_state_retained_online_of_a_dead_node_does_not_make_it_heard_anew(ledger: Ledger) -> None:
    clock = SetClock(T0)
    intake = Intake(ledger, registry(), IngestSettings(), clock)
    online = state(next=5)
    intake.store([message(online, "state"), message(pack(1, 4))])
    hour = 3600_000_000
    clock.now += 3 * hour
    intake.store([message(online, "state", at_us=clock.now, retain=True)])  # the gateway was restarted
    with ledger.read() as conn:
        row = conn.execute(sa.select(schema.node_states)).one()
    assert (row.received_us, row.last_data_us) == (T0, T0)


def test_state_faults_that_a_node_names_are_kept_for_the_rules_and_told_by_them_alone(
    ledger: Ledger, intake: Intake
) -> None:
    outcome = intake.store([message(state(faults=["contact_stuck"]), "state")])
    assert outcome.faults == {}
    with ledger.read() as conn:
        body = conn.execute(sa.select(schema.node_states.c.body)).scalar_one()
    assert body["faults"] == ["contact_stuck"]


def test_state_cleared_at_the_broker_is_nothing(intake: Intake) -> None:
    assert intake.store([message(b"", "state")]).letters == []


def test_store_announces_to_the_followers_after_the_commit(ledger: Ledger, intake: Intake) -> None:
    heard = ledger.listen()
    intake.store([message(pack(1))])
    assert heard.is_set()


def test_store_that_the_ledger_refuses_leaves_nothing_of_the_batch(ledger: Ledger, intake: Intake) -> None:
    with ledger.begin() as conn:
        conn.exec_driver_sql("DROP TABLE journals")
    with pytest.raises(sa.exc.DBAPIError):
        intake.store([message(pack(1)), message(b"junk")])
    assert everything(ledger) == []


def test_oldest_that_is_no_date_is_named(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match=r"ingest\.oldest"):
        Intake(ledger, registry(), IngestSettings(oldest="last year"), SetClock(T0))


def test_conflicts_of_several_records_each_become_a_dead_letter_of_one_record(intake: Intake) -> None:
    intake.store([message(pack(1, 3))])
    other = pack(1, 3).replace(b'"v": 1', b'"v": 0')
    outcome = intake.store([message(other)])
    assert [(letter.seq, len(json.loads(letter.payload))) for letter in outcome.letters] == [(1, 1), (2, 1), (3, 1)]


def test_store_several_tips_in_one_reading_are_flagged_fail_and_a_fault(ledger: Ledger, intake: Intake) -> None:
    outcome = intake.store([message(pack(1, v=500))])
    assert everything(ledger)[0].quality == 4
    assert "500" in outcome.faults["gauge-a", "impossible_value"]
