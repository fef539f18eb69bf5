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

MAC = "240ac4000001"
BN = f"urn:dev:mac:{MAC}:rain.tips"
JID = "00112233445566aa"
FIRST: dict[str, Any] = {"bn": BN, "bu": "count", "bt": 1780000000, "jid": JID, "seq": 7, "t": 0.25, "v": 1, "s": 12}


def pack(*records: dict[str, Any]) -> bytes:
    return json.dumps(list(records)).encode()


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in FIRST.items() if key not in keys}


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


REFUSED: list[tuple[str, bytes, str]] = [
    ("empty payload", b"", "not_json"),
    ("words", b"rain 1", "not_json"),
    ("cut short", pack(FIRST)[:-3], "not_json"),
    ("a NUL byte behind", pack(FIRST) + b"\0", "not_json"),
    ("a second pack behind", pack(FIRST) + pack(FIRST), "not_json"),
    ("bytes that are not UTF-8", pack(FIRST).replace(b"rain", b"r\xffin"), "not_json"),
    ("a byte-order mark", b"\xef\xbb\xbf" + pack(FIRST), "not_json"),
    ("UTF-16", pack(FIRST).decode().encode("utf-16"), "not_json"),
    ("NaN", pack({**FIRST, "v": float("nan")}), "not_json"),
    ("Infinity", pack({**FIRST, "v": float("inf")}), "not_json"),
    ("a number too large for a double", pack(FIRST).replace(b'"v": 1,', b'"v": 1e999,'), "wrong_type"),
    ("deep nesting", b"[" * 8000, "wrong_type"),
    ("deep nesting in an unknown field", b'[{"x":' + b"[" * 4000 + b"]" * 4000 + b"}]", "not_json"),
    ("an object", json.dumps(FIRST).encode(), "wrong_type"),
    ("a list of numbers", b"[1,2]", "wrong_type"),
    ("JSON null", b"null", "wrong_type"),
    ("no record", b"[]", "empty_pack"),
    ("201 records", pack(FIRST, *[{"t": 1, "v": 1}] * 200), "too_many_records"),
    ("a value as text", pack({**FIRST, "v": "1"}), "wrong_type"),
    ("a value that is null", pack({**FIRST, "v": None}), "wrong_type"),
    ("a value that is true", pack({**FIRST, "v": True}), "wrong_type"),
    ("a time as text", pack({**FIRST, "t": "noon"}), "wrong_type"),
    ("a sequence number with a fraction", pack({**FIRST, "seq": 7.5}), "wrong_type"),
    ("a key twice", pack(FIRST).replace(b'"v": 1', b'"v": 1, "v": 2'), "duplicate_key"),
    ("a key twice behind an escape", pack(FIRST).replace(b'"v": 1', b'"v": 1, "\\u0076": 2'), "duplicate_key"),
    ("a field that must be understood", pack({**FIRST, "calibration_": 2}), "unsupported_field"),
    ("a boolean value", pack({**without("v"), "vb": True}), "unsupported_field"),
    ("a base value", pack({**FIRST, "bv": 100}), "unsupported_field"),
    ("a base sum", pack({**FIRST, "bs": 100}), "unsupported_field"),
    ("a newer SenML", pack({**FIRST, "bver": 11}), "bad_version"),
    ("no journal id", pack(without("jid")), "missing_identity"),
    ("no number", pack(without("seq")), "missing_identity"),
    ("a negative number", pack({**FIRST, "seq": -1}), "bad_identity"),
    ("a journal id that is none", pack({**FIRST, "jid": "journal"}), "bad_identity"),
    ("a number on the second record", pack(FIRST, {"t": 1, "v": 1, "seq": 99}), "bad_identity"),
    ("no name", pack(without("bn")), "bad_name"),
    ("a name that is no URN", pack({**FIRST, "bn": "gauge-a:rain.tips"}), "bad_name"),
    ("a MAC in capitals", pack({**FIRST, "bn": "urn:dev:mac:240AC4000001:rain.tips"}), "bad_name"),
    ("a name without a quantity", pack({**FIRST, "bn": f"urn:dev:mac:{MAC}:rain"}), "bad_name"),
    ("a name too long", pack({**FIRST, "bn": f"urn:dev:mac:{MAC}:{'r' * 28}.tips"}), "bad_name"),
    ("a name with a line end", pack({**FIRST, "bn": BN + "\n"}), "bad_name"),
    ("two boards", pack(FIRST, {"bn": "urn:dev:mac:240ac4000002:rain.tips", "t": 1, "v": 1}), "mixed_devices"),
    ("a quantity of our own", pack({**FIRST, "bn": f"urn:dev:mac:{MAC}:rain.buckets"}), "unknown_quantity"),
    ("no unit", pack(without("bu")), "missing_unit"),
    ("inches", pack({**FIRST, "bn": f"urn:dev:mac:{MAC}:tank.level", "bu": "in"}), "wrong_unit"),
    ("millimetres", pack({**FIRST, "bn": f"urn:dev:mac:{MAC}:tank.level", "bu": "mm"}), "wrong_unit"),
    ("tips in millimetres", pack({**FIRST, "u": "mm"}), "wrong_unit"),
    ("no value", pack(without("v")), "missing_value"),
    ("a sum alone", pack(without("v")), "missing_value"),
    ("a number and a text", pack({**FIRST, "vs": "no_signal"}), "bad_value"),
    ("a negative tip", pack({**FIRST, "v": -1}), "bad_value"),
    ("half a tip", pack({**FIRST, "v": 0.5}), "bad_value"),
    ("a running count with a fraction", pack({**FIRST, "s": 12.5}), "bad_value"),
    ("a null without a reason", pack({**without("v"), "n": ":null"}), "missing_value"),
    ("a null with a value", pack({**FIRST, "n": ":null", "vs": "no_echo"}), "missing_value"),
    ("a null for a reason of its own", pack({**without("v"), "n": ":null", "vs": "dunno"}), "bad_null_reason"),
    ("no time", pack(without("t", "bt")), "missing_time"),
    ("a relative time", pack({**without("bt"), "t": -30}), "relative_time"),
    ("seconds since the start", pack({**without("bt"), "t": 12345.6}), "relative_time"),
    ("milliseconds", pack({**without("bt"), "t": 1780000000000}), "bad_time"),
    ("nanoseconds", pack({**FIRST, "bt": 1780000000 * 10**9}), "bad_time"),
    ("a sum of times past 2106", pack({**FIRST, "bt": 4e9, "t": 4e9}), "bad_time"),
    ("a boot without uptime", pack({**without("t", "bt"), "boot": "00c0ffee"}), "bad_unsynced"),
    ("an uptime without boot", pack({**without("t", "bt"), "up": 5}), "bad_unsynced"),
    ("a boot with a time", pack({**FIRST, "boot": "00c0ffee", "up": 5}), "bad_unsynced"),
    ("a boot that is none", pack({**without("t"), "boot": "now", "up": 5}), "bad_unsynced"),
    ("a negative uptime", pack({**without("t"), "boot": "00c0ffee", "up": -5}), "bad_unsynced"),
    ("raw without bytes", pack({"bn": f"urn:dev:mac:{MAC}:raw", "jid": JID, "seq": 1, "v": 1}), "bad_raw"),
    ("raw in no base64", pack({"bn": f"urn:dev:mac:{MAC}:raw", "jid": JID, "seq": 1, "vd": "*"}), "bad_raw"),
    ("8 KiB and a byte", pack(FIRST) + b" " * (8193 - len(pack(FIRST))), "too_large"),
    ("a megabyte", pack(FIRST) + b" " * 2**20, "too_large"),
]


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


@given(record=_records, seq=st.integers(0, 2**53 - 1))
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
