"""Packs that must be refused, with the reason of each: for the decoder and for the whole way in."""

from __future__ import annotations

import json
from typing import Any

MAC = "240ac4000001"
BN = f"urn:dev:mac:{MAC}:rain.tips"
JID = "00112233445566aa"
FIRST: dict[str, Any] = {"bn": BN, "bu": "count", "bt": 1780000000, "jid": JID, "seq": 7, "t": 0.25, "v": 1, "s": 12}


def pack(*records: dict[str, Any]) -> bytes:
    return json.dumps(list(records)).encode()


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in FIRST.items() if key not in keys}


#: what it is, the payload, the reason
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
    ("no value", pack(without("v", "s")), "missing_value"),
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
