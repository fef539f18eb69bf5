"""Packs made on the node, read by Python's JSON parser and resolved as RFC 8428 says."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import mp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MAC = "240ac4000001"
JID = "0123456789abcdef"
T = 1781000000123
Record = tuple[Any, ...]


@pytest.fixture
def session(form: Path) -> Iterator[mp.Session]:
    session = mp.Session(mp.SCRIPTS / "senml_ops.py", lib=form)
    yield session
    session.close()


def pack(session: mp.Session, records: list[Record], **limits: int) -> tuple[str, list[dict[str, Any]], list[bool]]:
    text, taken = session.ask(["pack", MAC, JID, records, limits.get("size", 8192), limits.get("most", 200)])
    return text, json.loads(text, parse_float=Decimal) if text else [], taken


def tip(seq: int, time_ms: int | None, total: int) -> Record:
    boot = (None, None) if time_ms is not None else ("0badcafe", 1 << 41)
    return (seq, "rain.tips", time_ms, *boot, 1, total, None)


def test_run_of_tips_is_written_as_the_contract_shows(session: mp.Session) -> None:
    text, _, _ = pack(session, [tip(7, T, 40), tip(8, T + 12345, 41), tip(9, T + 13000, 42), tip(10, T - 1, 43)])
    assert text == (
        '[{"bn":"urn:dev:mac:240ac4000001:rain.tips","bu":"count","jid":"0123456789abcdef","seq":7,'
        '"bt":1781000000.123,"v":1,"s":40},'
        '{"t":12.345,"v":1,"s":41},{"t":13,"v":1,"s":42},{"t":-0.001,"v":1,"s":43}]'
    )


def test_record_without_clock_carries_boot_and_uptime_and_the_base_time_comes_later(session: mp.Session) -> None:
    _, records, _ = pack(session, [tip(1, None, 1), tip(2, T, 2), tip(3, None, 3), tip(4, T + 1000, 4)])
    assert records[0] == {
        "bn": f"urn:dev:mac:{MAC}:rain.tips",
        "bu": "count",
        "jid": JID,
        "seq": 1,
        "boot": "0badcafe",
        "up": Decimal("2199023255.552"),
        "v": 1,
        "s": 1,
    }
    assert records[1:] == [
        {"bt": Decimal("1781000000.123"), "v": 1, "s": 2},
        {"boot": "0badcafe", "up": Decimal("2199023255.552"), "v": 1, "s": 3},
        {"t": 1, "v": 1, "s": 4},
    ]


def test_null_and_another_stream_set_names_anew(session: mp.Session) -> None:
    null = (2, "tank.level", T, None, None, None, None, "no_echo")
    level = (3, "tank.level", T, None, None, "1.250", None, None)
    _, records, _ = pack(session, [tip(1, T, 1), null, level, tip(4, T, 2)])
    assert records[1:] == [
        {"bn": f"urn:dev:mac:{MAC}:tank.level", "bu": "m", "n": ":null", "vs": "no_echo"},
        {"v": Decimal("1.250")},
        {"bn": f"urn:dev:mac:{MAC}:rain.tips", "bu": "count", "v": 1, "s": 2},
    ]


def test_record_of_maintenance_mode_carries_the_mark_alone(session: mp.Session) -> None:
    _, records, _ = pack(session, [tip(1, T, 1), (*tip(2, T, 2), True), tip(3, T, 3)])
    assert [record.get("mnt") for record in records] == [None, 1, None]


def test_pack_stops_at_its_limits_and_at_a_number_out_of_turn(session: mp.Session) -> None:
    tips = [tip(i, T + i, i) for i in range(1, 9)]
    assert pack(session, tips, most=3)[2] == [True] * 3 + [False]
    assert pack(session, [tip(1, T, 1), tip(3, T, 2)])[2] == [True, False]
    for size in range(160, 260):
        text, records, taken = pack(session, tips, size=size)
        assert len(text) <= size
        assert len(records) == sum(taken)


def test_raw_form_carries_the_refused_record_as_a_pack_of_its_own(session: mp.Session) -> None:
    text = session.ask(["raw", MAC, JID, tip(7, T, 40)])
    (record,) = json.loads(text)
    assert {k: record[k] for k in ("bn", "n", "jid", "seq")} == {
        "bn": f"urn:dev:mac:{MAC}:",
        "n": "raw",
        "jid": JID,
        "seq": 7,
    }
    inner = base64.urlsafe_b64decode(record["vd"] + "=" * (-len(record["vd"]) % 4))
    assert inner.decode() == pack(session, [tip(7, T, 40)])[0]


def test_unreadable_record_goes_alone_in_the_raw_form(session: mp.Session) -> None:
    unreadable = (8, None, None, None, None, None, None, "bad_frame")
    assert pack(session, [tip(7, T, 1), unreadable])[2] == [True, False]
    _, records, taken = pack(session, [unreadable, tip(9, T, 1)])
    assert taken == [True, False]
    assert (records[0]["n"], records[0]["seq"]) == ("raw", 8)


VALUES = st.tuples(
    st.integers(-(10**12), 10**12) | st.decimals(-9999, 9999, places=4).map(lambda d: f"{d:f}"), st.none()
) | st.tuples(st.none(), st.sampled_from(["stuck", "fault"]))


@st.composite
def packs(draw: st.DrawFn) -> list[Record]:
    first = draw(st.integers(1, 2**32 - 300))
    records = []
    for i in range(draw(st.integers(1, 30))):
        value, reason = draw(VALUES)
        when: tuple[Any, ...] = (draw(st.integers(1_700_000_000_000, 4_000_000_000_000)), None, None)
        if draw(st.booleans()):
            when = (None, f"{draw(st.integers(0, 2**32 - 1)):08x}", draw(st.integers(0, 2**47)))
        stream = draw(st.sampled_from(["rain.tips", "tank.level", "yard.temperature"]))
        total = draw(st.none() | st.integers(0, 2**32 - 1)) if reason is None else None
        records.append((first + i, stream, *when, value, total, reason))
    return records


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=packs())
def test_any_records_come_back_exactly(session: mp.Session, records: list[Record]) -> None:
    _, written, taken = pack(session, records)
    assert all(taken)
    assert _resolve(written) == [_expected(record) for record in records]


def _expected(record: Record) -> tuple[Any, ...]:
    seq, stream, time_ms, boot, up_ms, value, total, reason = record
    name = f"urn:dev:mac:{MAC}:{stream}" + (":null" if reason else "")
    when = Decimal(time_ms) / 1000 if time_ms is not None else (boot, Decimal(up_ms) / 1000)
    return (seq, name, when, None if value is None else Decimal(value), total, reason)


def _resolve(written: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Base fields carried forward, times made absolute (RFC 8428, 4.6)."""
    base = {"bn": "", "bt": Decimal(0)}
    resolved = []
    for i, record in enumerate(written):
        base.update({k: record[k] for k in base if k in record})
        when = (record["boot"], record["up"]) if "boot" in record else base["bt"] + record.get("t", 0)
        resolved.append(
            (
                written[0]["seq"] + i,
                base["bn"] + record.get("n", ""),
                when,
                Decimal(record["v"]) if "v" in record else None,
                record.get("s"),
                record.get("vs"),
            )
        )
    return resolved


def test_pack_of_200_records_needs_little_memory(tmp_path: Path) -> None:
    said = mp.run(
        """
        import gc
        from headwall_node.senml import Pack
        pack = Pack("240ac4000001")
        pack.begin("0123456789abcdef")
        gc.collect(); free = gc.mem_free(); least = free
        for i in range(200):
            pack.add((i + 1, "rain.tips", 1781000000000 + i * 61007, None, None, 1, i + 1, None, False))
            gc.collect(); least = min(least, gc.mem_free())
        print(free - least, len(pack.payload()), pack.count)
        """,
        cwd=tmp_path,
    )
    memory, size, count = (int(word) for word in said.split())
    assert memory < 2048
    assert count == 200
    assert size <= 8192
