"""Packs made by the board's own code in MicroPython, read by the gateway's own decoder: nothing changes on the way."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headwall.wire.contract import NULL_REASONS
from headwall.wire.senml import Record, decode
from hypothesis import given, settings
from hypothesis import strategies as st

MAC = "240ac4000001"
JID = "0123456789abcdef"
FIRMWARE_TESTS = Path(__file__).parents[1] / "firmware"

_spec = importlib.util.spec_from_file_location("mp", FIRMWARE_TESTS / "mp.py")
assert _spec is not None
assert _spec.loader is not None
mp = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(mp)


@pytest.fixture(scope="module")
def board() -> Iterator[Any]:
    session = mp.Session(mp.SCRIPTS / "senml_ops.py")
    yield session
    session.close()


_time = st.one_of(
    st.tuples(st.integers(1_700_000_000_000, 4_200_000_000_000), st.none(), st.none()),
    st.tuples(st.none(), st.sampled_from(["0badcafe", "ffffffff"]), st.integers(0, 2**41)),
)
_tips = st.tuples(st.just("rain.tips"), st.integers(0, 1), st.integers(0, 2**32 - 1), st.none())
_level = st.tuples(
    st.just("tank.level"), st.integers(-(10**6), 10**6).map(lambda mm: f"{mm / 1000}"), st.none(), st.none()
)
_null = st.tuples(st.just("tank.level"), st.none(), st.none(), st.sampled_from(sorted(NULL_REASONS)))
_records = st.lists(st.tuples(_tips | _level | _null, _time), min_size=1, max_size=30)


@settings(max_examples=150, deadline=None)
@given(records=_records, first=st.integers(1, 2**32 - 100))
def test_pack_of_the_board_is_read_as_it_was_meant(board: Any, records: list[Any], first: int) -> None:
    journal = [
        (first + n, stream, *time, value, total, reason)
        for n, ((stream, value, total, reason), time) in enumerate(records)
    ]
    text, taken = board.ask(["pack", MAC, JID, journal, 8192, 200])
    assert all(taken)
    got = decode(text.encode())
    assert (got.mac, got.jid, got.seq) == (MAC, JID, first)
    assert got.records == [
        Record(
            stream,
            None if time_ms is None else time_ms * 1000,
            boot,
            up_ms,
            None if value is None else float(value),
            total,
            reason,
        )
        for _, stream, time_ms, boot, up_ms, value, total, reason in journal
    ]
