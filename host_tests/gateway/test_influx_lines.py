"""Line protocol: what stands in a line, and that any reading can be read back from it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from headwall.influx.feed import Row
from headwall.influx.lines import encode, point_time_ns
from hypothesis import given
from hypothesis import strategies as st


def reading(**changes: Any) -> Row:
    fields: dict[str, Any] = {
        "pos": 1, "node": "gauge-a", "jid": "0123456789abcdef", "seq": 45, "stream": "rain.tips",
        "time_us": 1_717_243_200_000_000, "value": 1.0, "total": 123, "null_reason": None, "quarantine": None,
    }  # fmt: skip
    return tuple({**fields, **changes}.values())  # type: ignore[return-value]


@pytest.mark.parametrize(
    "changes, line",
    [
        ({}, 'tips,node=gauge-a,sensor=rain value=1.0,total=123,jid="0123456789abcdef",seq=45 1717243200000000045'),
        (
            {"value": None, "null_reason": "no_echo", "total": None, "stream": "tank.level"},
            'level,node=gauge-a,sensor=tank reason="no_echo",jid="0123456789abcdef",seq=45 1717243200000000045',
        ),
        (
            {"quarantine": "clock_future", "total": None},
            "tips,node=gauge-a,sensor=rain quarantined_value=1.0,"
            'quarantine="clock_future",jid="0123456789abcdef",seq=45 1717243200000000045',
        ),
        (
            {"node": "a b,c=d", "stream": "odd", "value": -0.25, "total": None},
            r'odd,node=a\ b\,c\=d,sensor=odd value=-0.25,jid="0123456789abcdef",seq=45 1717243200000000045',
        ),
    ],
    ids=["tip", "null", "quarantined", "escaped"],
)
def test_line_of_a_reading(changes: dict[str, Any], line: str) -> None:
    assert encode([reading(**changes)]) == [line]


def test_two_readings_of_one_instant_have_two_times() -> None:
    assert point_time_ns(5, 7) != point_time_ns(5, 8)


def test_reading_without_a_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no time"):
        encode([reading(time_us=None)])


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    seq=st.integers(0, 2**40),
    time_us=st.integers(0, 4_102_444_800_000_000),
)
def test_number_and_identity_survive_the_line(value: float, seq: int, time_us: int) -> None:
    (line,) = encode([reading(value=value, seq=seq, time_us=time_us)])
    found = re.fullmatch(r'tips,node=gauge-a,sensor=rain value=(\S+),total=123,jid="(\w+)",seq=(\d+) (\d+)', line)
    assert found is not None
    assert float(found[1]) == value
    assert int(found[3]) == seq
    assert int(found[4]) // 1000 == time_us


def test_every_number_is_a_float_field() -> None:
    (line,) = encode([reading()])
    assert not re.search(r"=-?\d+[iu][, ]", line)
