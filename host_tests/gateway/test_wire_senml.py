"""SenML packs: what is taken, exactly, and what is refused, why."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from headwall.wire.errors import PackError
from headwall.wire.senml import Pack, Record, decode, encode_record
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bad_packs import BN, FIRST, JID, MAC, REFUSED, pack, without


def test_decode_a_run_of_tips_resolves_the_base_fields() -> None:
    got = decode(pack(FIRST, {"t": 1.5, "v": 1, "s": 13}, {"t": 900, "v": 0, "s": 13}))
    assert (got.mac, got.jid, got.seq) == (MAC, JID, 7)
    assert [(r.stream, r.time_us, r.value, r.total) for r in got.records] == [
        ("rain.tips", 1780000000_250000, 1.0, 12),
        ("rain.tips", 1780000001_500000, 1.0, 13),
        ("rain.tips", 1780000900_000000, 0.0, 13),
    ]


def test_decode_another_stream_in_the_pack_sets_the_base_anew() -> None:
    level = {"bn": f"urn:dev:mac:{MAC}:tank.level", "bu": "m", "t": 2, "v": 1.234}
    assert decode(pack(FIRST, level)).records[1].stream == "tank.level"
    assert decode(pack(FIRST, level)).records[1].value == 1.234


def test_decode_name_and_unit_on_each_record_is_the_same() -> None:
    spelled = {"bn": f"urn:dev:mac:{MAC}:", "n": "rain.tips", "u": "count", "t": 1780000000.25, "v": 1, "s": 12}
    assert decode(pack({**spelled, "jid": JID, "seq": 7})) == decode(pack(FIRST))


@pytest.mark.parametrize("base", [BN + ":null", BN])
def test_decode_null_keeps_the_reason_and_no_value(base: str) -> None:
    n = {} if base.endswith("null") else {"n": ":null"}
    record = decode(pack({**without("bu", "v"), "bn": base, "vs": "no_signal", **n})).records[0]
    assert (record.stream, record.value, record.null_reason) == ("rain.tips", None, "no_signal")


def test_decode_unsynced_record_keeps_boot_and_uptime() -> None:
    record = decode(pack({**without("t", "bt"), "boot": "00c0ffee", "up": 12.345})).records[0]
    assert (record.time_us, record.boot, record.uptime_ms) == (None, "00c0ffee", 12345)


def test_decode_unsynced_record_takes_no_base_time() -> None:
    got = decode(pack(FIRST, {"boot": "00c0ffee", "up": 1, "v": 1}, {"t": 1, "v": 1}))
    assert [r.time_us for r in got.records] == [1780000000_250000, None, 1780000001_000000]


@pytest.mark.parametrize("vd", ["AP+/", "AP-_", "AP8=", "AP8"])
def test_decode_raw_record_gives_its_bytes(vd: str) -> None:
    record = decode(pack({"bn": f"urn:dev:mac:{MAC}:", "n": "raw", "jid": JID, "seq": 9, "vd": vd})).records[0]
    assert record.stream == "raw"
    assert record.raw is not None
    assert record.raw.startswith(b"\x00\xff")


def test_decode_unknown_field_is_ignored() -> None:
    assert decode(pack({**FIRST, "later": {"deep": [1]}})) == decode(pack(FIRST))


def test_decode_two_tips_of_one_instant_are_two_records() -> None:
    got = decode(pack(FIRST, {"t": 0.25, "v": 1, "s": 13}))
    assert len({r.time_us for r in got.records}) == 1
    assert len(got.records) == 2


@pytest.mark.parametrize(("payload", "reason"), [(p, r) for _, p, r in REFUSED], ids=[name for name, _, _ in REFUSED])
def test_decode_refuses_with_a_reason(payload: bytes, reason: str) -> None:
    with pytest.raises(PackError) as caught:
        decode(payload)
    assert caught.value.reason == reason
    assert caught.value.detail
    assert len(reason) <= 32


def test_decode_refusal_names_the_record() -> None:
    with pytest.raises(PackError, match=r"record 2 of 3: rain\.tips without v"):
        decode(pack(FIRST, {"t": 1}, {"t": 2, "v": 1}))


_micros = st.integers(2**28 * 10**6, 2**32 * 10**6 - 1)


def _text(us: int, places: int = 6) -> str:
    return f"{Decimal(us).scaleb(-6):.{places}f}"


@given(us=_micros)
def test_decode_gives_every_microsecond_back(us: int) -> None:
    payload = pack({**without("bt", "t"), "t": 0}).replace(b'"t": 0', f'"t": {_text(us)}'.encode())
    assert decode(payload).records[0].time_us == us


@given(base=st.integers(2**28 * 10**6, 2**31 * 10**6), rest=st.integers(0, 2**31 * 10**6 - 1))
def test_decode_adds_base_and_own_time_exactly(base: int, rest: int) -> None:
    payload = pack({**FIRST, "bt": 0, "t": 0}).replace(b'"bt": 0', f'"bt": {_text(base)}'.encode())
    payload = payload.replace(b'"t": 0', f'"t": {_text(rest)}'.encode())
    assert decode(payload).records[0].time_us == int((Decimal(_text(base)) + Decimal(_text(rest))).scaleb(6))


_records = st.builds(
    Record,
    stream=st.sampled_from(["rain.tips", "tank.level", "outfall_2.temperature"]),
    time_us=_micros,
    boot=st.none(),
    uptime_ms=st.none(),
    value=st.integers(0, 1000).map(float),
    total=st.none() | st.integers(0, 2**40),
    null_reason=st.none(),
) | st.one_of(
    st.builds(Record, st.just("tank.level"), _micros, st.none(), st.none(), st.none(), st.none(), st.just("no_echo")),
    st.builds(
        Record,
        st.just("tank.level"),
        st.none(),
        st.just("0badcafe"),
        st.integers(0, 10**12),
        st.floats(allow_nan=False, allow_infinity=False),
        st.none(),
        st.none(),
    ),
    st.builds(lambda data: Record("raw", None, None, None, None, None, None, data), st.binary(min_size=1)),
)


@given(record=_records, seq=st.integers(0, 2**40 - 1))
def test_encode_record_decodes_to_the_same(record: Record, seq: int) -> None:
    assert decode(encode_record(MAC, JID, seq, record)) == Pack(MAC, JID, seq, [record])


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "v", "bn", "t", "x_"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def _pack_or_refusal(payload: bytes) -> None:
    try:
        got = decode(payload)
    except PackError as error:
        assert error.reason
        return
    assert isinstance(got, Pack)
    assert got.records


@settings(max_examples=300)
@given(payload=st.binary(max_size=300))
def test_decode_any_bytes_gives_a_pack_or_a_refusal(payload: bytes) -> None:
    _pack_or_refusal(payload)


@settings(max_examples=300)
@given(records=st.lists(st.dictionaries(st.sampled_from(list(FIRST)), _json), max_size=4))
def test_decode_any_json_gives_a_pack_or_a_refusal(records: list[dict[str, Any]]) -> None:
    _pack_or_refusal(json.dumps([{**FIRST, **(records[0] if records else {})}, *records[1:]]).encode())


@settings(max_examples=500)
@given(data=st.data())
def test_decode_a_good_pack_with_bytes_changed_gives_a_pack_or_a_refusal(data: st.DataObject) -> None:
    payload = bytearray(pack(FIRST, {"t": 1.5, "v": 1, "s": 13}, {"bn": BN + ":null", "vs": "stuck", "t": 3}))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(payload) - 1))
        end = data.draw(st.integers(at, min(len(payload), at + 3)))
        payload[at:end] = data.draw(st.binary(max_size=4))
    _pack_or_refusal(bytes(payload))


@settings(max_examples=300)
@given(data=st.data())
def test_decode_finds_every_duplicate_key(data: st.DataObject) -> None:
    """Whatever else the record holds, escapes and colons in strings included."""
    fields = [("v", "1"), ("t", "5"), ("s", "3"), ("n", '""'), ("bu", '"count"')]
    extra = [("x", '"a:b"'), ("y", '{"z":":"}'), ("n", '"\\u003anull"'), ("w", '"\\":"')]
    chosen = fields + data.draw(st.lists(st.sampled_from(extra), max_size=3))
    chosen.append(data.draw(st.sampled_from(fields)))
    head = [("bn", f'"{BN}"'), ("bt", "1780000000"), ("jid", f'"{JID}"'), ("seq", "1")]
    body = ",".join(f'"{key}":{value}' for key, value in head + data.draw(st.permutations(chosen)))
    with pytest.raises(PackError) as caught:
        decode(f"[{{{body}}}]".encode())
    assert caught.value.reason == "duplicate_key"


_number = st.sampled_from([-1, 0, 0.5, 1, 3, 12, 1e6, 1e7, -1e10, 5e9, 2**53, 1e300]) | st.floats(0, 1e5)


@given(rest=st.lists(st.fixed_dictionaries({"t": _number}, optional={"v": _number, "s": _number}), max_size=4))
def test_decode_short_records_are_taken_and_refused_as_spelled_out_ones(rest: list[dict[str, Any]]) -> None:
    """Records of time, value and sum alone go a shorter way through the decoder."""

    def outcome(payload: bytes) -> object:
        try:
            return decode(payload)
        except PackError as error:
            return error.reason, error.detail

    assert outcome(pack(FIRST, *rest)) == outcome(pack(FIRST, *({**record, "u": "count"} for record in rest)))


@pytest.mark.parametrize(
    ("value", "taken"), [(0, True), (2_000_000_000, True), (2**53, True), (1.5, False), (-1, False)]
)
def test_a_meters_count_of_pulses_may_be_large_but_is_a_count(value: float, taken: bool) -> None:
    head = {"bn": "urn:dev:mac:240ac4000001:meter.pulses", "bu": "count", "bt": 1_781_000_000, "seq": 1}
    head["jid"] = "00112233445566aa"
    for rows in ([{**head, "v": value}], [{**head, "v": 0}, {"t": 1, "v": value}]):
        if taken:
            assert decode(json.dumps(rows).encode()).records[-1].value == value
        else:
            with pytest.raises(PackError, match="is no count"):
                decode(json.dumps(rows).encode())
