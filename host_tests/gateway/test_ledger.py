"""The ledger, one suite over SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from headwall.ledger import schema, upgrade
from headwall.ledger.append import AppendResult, NewReading, append_readings
from headwall.ledger.ledger import Ledger, LedgerUnavailableError
from headwall.ledger.reads import Reading, readings_after, readings_of
from headwall.ledger.resolve import add_anchor, time_by_anchors
from headwall.ledger.upgrade import LedgerTooNewError
from hypothesis import given, settings
from hypothesis import strategies as st

T0 = 1_780_000_000_000_000
JID = "00000000000000aa"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    opened = Ledger.open(url)
    yield opened
    opened.close()


def tip(seq: int, *, time_us: int | None = T0, node: str = "gauge-a", jid: str = JID, value: float = 1.0) -> NewReading:
    at = None if time_us is None else time_us + seq * 1_000_000
    boot, uptime_ms = (None, None) if at is not None else ("b0071234", seq * 1000)
    return NewReading(
        node=node,
        jid=jid,
        seq=seq,
        stream="rain.tips",
        time_us=at,
        boot=boot,
        uptime_ms=uptime_ms,
        value=value,
        total=seq,
        null_reason=None,
        quality=2,
        quarantine=None,
        source="node",
        received_us=T0 + 3600_000_000,
    )


def append(ledger: Ledger, *new: NewReading) -> AppendResult:
    with ledger.begin() as conn:
        return append_readings(ledger, conn, new)


def everything(ledger: Ledger, after: int = 0) -> list[Reading]:
    with ledger.read() as conn:
        return readings_after(conn, after, 1000)


def test_migrations_lead_to_the_tables_of_the_schema(ledger: Ledger) -> None:
    with ledger.read() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, schema.metadata) == []
        made = {index["name"] for index in sa.inspect(conn).get_indexes("readings")}
    assert {index.name for index in schema.readings.indexes} <= made


def test_revisions_are_named_in_the_order_of_their_migrations() -> None:
    scripts = ScriptDirectory(str(Path(upgrade.__file__).with_name("migrations")))
    assert [script.revision for script in scripts.walk_revisions()][::-1] == upgrade.revisions()


def test_open_again_keeps_the_id_and_the_readings(ledger: Ledger, url: str) -> None:
    append(ledger, tip(1))
    again = Ledger.open(url)
    assert again.id == ledger.id
    assert len(everything(again)) == 1
    again.close()


def test_open_a_ledger_of_a_newer_program_is_refused(ledger: Ledger, url: str) -> None:
    with ledger.begin() as conn:
        conn.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(LedgerTooNewError, match=r"revision 9999, this program knows up to .*run that version"):
        Ledger.open(url)


def test_append_the_same_readings_three_times_stores_them_once(ledger: Ledger) -> None:
    new = [tip(i) for i in range(700)]
    assert append(ledger, *new) == AppendResult(700, 0, [])
    assert append(ledger, *new) == AppendResult(0, 700, [])
    assert append(ledger, *new[650:], tip(700)) == AppendResult(1, 50, [])
    assert [r.seq for r in everything(ledger)] == list(range(701))


def test_append_twice_in_one_list_stores_once(ledger: Ledger) -> None:
    assert append(ledger, tip(1), tip(2), tip(1)) == AppendResult(2, 1, [])


def test_append_other_content_under_a_known_identity_keeps_the_first(ledger: Ledger) -> None:
    append(ledger, tip(1), tip(2))
    assert append(ledger, tip(1), tip(2, value=0.0), tip(3)) == AppendResult(1, 1, [1])
    assert [(r.seq, r.value) for r in everything(ledger)] == [(1, 1.0), (2, 1.0), (3, 1.0)]


def test_append_conflict_inside_one_list_keeps_the_first(ledger: Ledger) -> None:
    assert append(ledger, tip(1), tip(1, value=0.0)) == AppendResult(1, 0, [1])


def test_append_the_same_number_in_another_journal_or_node_is_another_reading(ledger: Ledger) -> None:
    assert append(ledger, tip(1), tip(1, jid="00000000000000bb"), tip(1, node="gauge-b")).stored == 3


def test_append_rolled_back_leaves_nothing(ledger: Ledger) -> None:
    with pytest.raises(RuntimeError), ledger.begin() as conn:
        append_readings(ledger, conn, [tip(1)])
        raise RuntimeError("power")
    assert everything(ledger) == []
    assert append(ledger, tip(1)).stored == 1


def test_readings_after_goes_on_from_a_cursor(ledger: Ledger) -> None:
    append(ledger, *(tip(i) for i in range(5)))
    append(ledger, tip(0), tip(5))
    with ledger.read() as conn:
        page = readings_after(conn, 0, 3)
        rest = readings_after(conn, page[-1].pos, 100)
    assert [r.seq for r in page + rest] == [0, 1, 2, 3, 4, 5]


def test_readings_of_a_time_range_come_in_order_of_time(ledger: Ledger) -> None:
    append(ledger, tip(3), tip(1), tip(2), tip(4), tip(2, node="gauge-b"))
    with ledger.read() as conn:
        found = readings_of(conn, "gauge-a", "rain.tips", T0 + 1_000_000, T0 + 4_000_000)
    assert [r.seq for r in found] == [1, 2, 3]
    assert not any(r.resolved for r in found)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (sa.select(schema.notices).where(schema.notices.c.kind == "x", schema.notices.c.subject == "y"), "ix_notices"),
        (sa.select(schema.records).where(schema.records.c.kind == "x"), "ix_records"),
    ],
)
def test_notices_and_kinds_of_records_are_found_without_reading_all(ledger: Ledger, query: Any, index: str) -> None:
    with ledger.read() as conn:
        if conn.dialect.name != "sqlite":
            pytest.skip("PostgreSQL reads a small table whole")
        text = query.compile(conn, compile_kwargs={"literal_binds": True})
        plan = " ".join(row.detail for row in conn.execute(sa.text(f"EXPLAIN QUERY PLAN {text}")))
    assert index in plan


def test_untimed_reading_reaches_followers_again_once_its_anchor_comes(ledger: Ledger) -> None:
    append(ledger, tip(1, time_us=None), tip(2, time_us=None), tip(3))
    seen = everything(ledger)
    assert [(r.seq, r.time_us, r.judgeable) for r in seen][:2] == [(1, None, False), (2, None, False)]
    with ledger.begin() as conn:
        anchor = {"node": "gauge-a", "boot": "b0071234", "uptime_ms": 10_000, "time_us": T0, "received_us": T0}
        assert add_anchor(ledger, conn, **anchor) == 2
        assert add_anchor(ledger, conn, **anchor) == 0  # re-sent
    again = everything(ledger, after=seen[-1].pos)
    assert [(r.seq, r.time_us, r.resolved) for r in again] == [(1, T0 - 9_000_000, True), (2, T0 - 8_000_000, True)]
    assert [r.reading_pos for r in again] == [seen[0].pos, seen[1].pos]
    assert everything(ledger, after=again[-1].pos) == []
    with ledger.read() as conn:
        assert [r.seq for r in readings_of(conn, "gauge-a", "rain.tips", T0 - 9_000_000, T0)] == [1, 2]


def test_untimed_reading_with_a_known_anchor_is_met_once_with_its_time(ledger: Ledger) -> None:
    with ledger.begin() as conn:
        add_anchor(ledger, conn, node="gauge-a", boot="b0071234", uptime_ms=0, time_us=T0, received_us=T0)
    append(ledger, tip(7, time_us=None))
    assert [(r.seq, r.time_us, r.resolved) for r in everything(ledger)] == [(7, T0 + 7_000_000, True)]


def test_untimed_reading_that_an_anchor_puts_after_its_arrival_stays_without_time(ledger: Ledger) -> None:
    append(ledger, tip(1, time_us=None))
    with ledger.begin() as conn:
        late = T0 + 10 * 3600_000_000
        assert (
            add_anchor(ledger, conn, node="gauge-a", boot="b0071234", uptime_ms=0, time_us=late, received_us=late) == 0
        )


def test_anchor_of_another_boot_or_node_resolves_nothing(ledger: Ledger) -> None:
    append(ledger, tip(1, time_us=None))
    with ledger.begin() as conn:
        for node, boot in (("gauge-a", "ffffffff"), ("gauge-b", "b0071234")):
            assert add_anchor(ledger, conn, node=node, boot=boot, uptime_ms=0, time_us=T0, received_us=T0) == 0


def test_time_by_anchors_takes_the_nearest() -> None:
    anchors = [(0, T0), (100_000, T0 + 100_500_000)]
    assert time_by_anchors(anchors, 10_000) == T0 + 10_000_000
    assert time_by_anchors(anchors, 90_000) == T0 + 90_500_000
    assert time_by_anchors([], 5) is None


def test_positions_of_two_writers_become_visible_in_order(ledger: Ledger, url: str) -> None:
    """A follower that reads all the while never finds a reading behind its cursor."""
    done = threading.Event()
    met: list[int] = []

    def write(node: str) -> None:
        own = Ledger.open(url)
        for i in range(60):
            append(own, tip(2 * i, node=node), tip(2 * i + 1, node=node))
        own.close()

    def follow() -> None:
        while True:
            last_round = done.is_set()
            met.extend(r.pos for r in everything(ledger, after=met[-1] if met else 0))
            if last_round:
                return

    writers = [threading.Thread(target=write, args=(node,)) for node in ("gauge-a", "gauge-b")]
    follower = threading.Thread(target=follow)
    for thread in (follower, *writers):
        thread.start()
    for writer in writers:
        writer.join()
    done.set()
    follower.join()
    assert met == sorted(met)
    assert len(met) == 240
    assert [r.pos for r in everything(ledger)] == met


def test_cursor_moves_only_with_its_transaction(ledger: Ledger) -> None:
    with ledger.begin() as conn:
        assert ledger.cursor(conn, "rules") == 0
        ledger.set_cursor(conn, "rules", 7)
    with pytest.raises(RuntimeError), ledger.begin() as conn:
        ledger.set_cursor(conn, "rules", 9)
        raise RuntimeError("power")
    with ledger.read() as conn:
        assert ledger.cursor(conn, "rules") == 7


def test_announce_wakes_every_listener(ledger: Ledger) -> None:
    first, second = ledger.listen(), ledger.listen()
    ledger.announce()
    assert first.is_set()
    assert second.is_set()


@settings(max_examples=40, deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.0, 1.0])), max_size=6), min_size=1, max_size=6
    )
)
def test_append_any_sequence_equals_a_dictionary_that_keeps_the_first(batches: list[list[tuple[int, float]]]) -> None:
    ledger = Ledger.open("sqlite://")
    kept: dict[int, float] = {}
    order: list[int] = []
    for batch in batches:
        result = append(ledger, *(tip(seq, value=value) for seq, value in batch))
        conflicts = []
        before = len(kept)
        for i, (seq, value) in enumerate(batch):
            if seq not in kept:
                order.append(seq)
            if kept.setdefault(seq, value) != value:
                conflicts.append(i)
        stored = len(kept) - before
        assert result == AppendResult(stored, len(batch) - stored - len(conflicts), conflicts)
    assert [(r.seq, r.value) for r in everything(ledger)] == [(seq, kept[seq]) for seq in order]
    ledger.close()


@pytest.mark.parametrize(
    ("database", "reason"),
    [
        ("sqlite:///{}/garbage.db", "file is not a database"),
        ("sqlite:///{}/foreign.db", "already exists"),
        ("sqlite:///{}/absent/headwall.db", "unable to open database file"),
        ("sqlite:///{}/folder", "unable to open database file"),
        ("hidden nonsense", "Could not parse"),
        ("oracle://headwall:hidden@nowhere.invalid/x", "oracledb"),
        ("postgresql+psycopg://headwall:hidden@127.0.0.1:1/x", "refused"),
    ],
)
def test_open_what_is_no_ledger_says_where_and_why_and_no_password(tmp_path: Path, database: str, reason: str) -> None:
    (tmp_path / "garbage.db").write_bytes(b"no database " * 500)
    (tmp_path / "folder").mkdir()
    with sa.create_engine(f"sqlite:///{tmp_path}/foreign.db").begin() as conn:
        conn.exec_driver_sql("CREATE TABLE readings (x)")
    with pytest.raises(LedgerUnavailableError) as caught:
        Ledger.open(database.format(tmp_path))
    said = str(caught.value)
    assert reason in said and "ledger.url" in said and "hidden" not in said and "\n" not in said


def _modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.iterdir() if path.name.startswith("ledger.db")}


def test_a_ledger_in_a_file_is_readable_by_its_account_alone(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    append(ledger, tip(1))
    assert len(list(tmp_path.iterdir())) == 3  # with -wal and -shm
    assert _modes(tmp_path) == {0o600}
    for path in tmp_path.iterdir():
        path.chmod(0o644)  # as an older program, or a restored backup, left them
    second = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    assert _modes(tmp_path) == {0o600}
    second.close()
    ledger.close()


@pytest.mark.parametrize("place", ["missing/ledger.db", ""])
def test_a_ledger_that_cannot_be_made_is_named(tmp_path: Path, place: str) -> None:
    with pytest.raises(LedgerUnavailableError, match="cannot be opened"):
        Ledger.open(f"sqlite:///{tmp_path / place}")
