"""SenML packs (RFC 8428) as our nodes send them: bytes in, checked records with exact instants out.

A pack is taken whole or refused whole with a `PackError`; a node then halves it and at last sends the record that
is at fault alone as `raw`. Beyond the RFC: `jid` and `seq` on the first record give each record its number, `boot`
and `up` stand in for a time that was not known. Unknown fields are ignored unless they end in "_" (section 4.4).
"""

from __future__ import annotations

import binascii
import json
import math
import re
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from headwall.wire.contract import NULL_REASONS, PACK_BYTES, PACK_RECORDS, SEQ_LIMIT, UNIT_OF, contract
from headwall.wire.errors import PackError

#: RFC 8428 section 4.5.3: smaller times are relative to now
_ABSOLUTE_FROM_S: Final = 2**28
#: up to here a double holds every decimal with six places well enough to give its microsecond back (see `_to_us`)
_TIME_LIMIT_S: Final = 2**32
_FIRST_US: Final = _ABSOLUTE_FROM_S * 1_000_000
_LIMIT_US: Final = _TIME_LIMIT_S * 1_000_000
_SENML_VERSION: Final = 10  # of RFC 8428
_INTEGERS: Final = 2**53  # doubles hold every integer below
#: how large a count can be: tips come one by one, a meter's pulses are all that it counted since it began
_MOST: Final = {"tips": 1_000_000, "pulses": _INTEGERS}
_NULL_SUFFIX: Final[str] = contract()["senml"]["null_suffix"]
_RAW_NAME: Final[str] = contract()["senml"]["raw_name"]
_NAME_CHARS: Final[int] = contract()["limits"]["name_chars"]

_NAME = re.compile(r"urn:dev:mac:([0-9a-f]{12}):(.+)")
_STREAM = re.compile(r"[a-z0-9][a-z0-9_]*\.([a-z0-9_]+)")
_HEX8 = re.compile(r"[0-9a-f]{8}")
_HEX16 = re.compile(r"[0-9a-f]{16}")


class Record(msgspec.Struct, frozen=True, gc=False):
    """One reading of a pack.

    Attributes:
        stream: e.g. "rain.tips"; "raw" for a record that the gateway would not take, then `raw` holds its bytes.
        time_us: UTC; None where the node's clock was not known, then boot and uptime_ms stand.
        value: in the contract's unit; None for a null (with null_reason) or a raw record.
        total: the journal's running count of tips, if sent.
        maintenance: taken in maintenance mode: kept, never judged.
    """

    stream: str
    time_us: int | None
    boot: str | None
    uptime_ms: int | None
    value: float | None
    total: int | None
    null_reason: str | None
    raw: bytes | None = None
    maintenance: bool = False


class Pack(msgspec.Struct, frozen=True, gc=False):
    """A pack: its records have the numbers seq, seq + 1, … of journal `jid` of the board with this MAC."""

    mac: str
    jid: str
    seq: int
    records: list[Record]


class _Item(msgspec.Struct, gc=False):
    # first what most records have and nothing else: see `_repeat`
    t: float | UnsetType = UNSET
    v: float | UnsetType = UNSET
    s: float | UnsetType = UNSET
    n: str | UnsetType = UNSET
    bn: str | UnsetType = UNSET
    bt: float | UnsetType = UNSET
    bu: str | UnsetType = UNSET
    bver: int | UnsetType = UNSET
    u: str | UnsetType = UNSET
    vs: str | UnsetType = UNSET
    vd: str | UnsetType = UNSET
    jid: str | UnsetType = UNSET
    seq: int | UnsetType = UNSET
    boot: str | UnsetType = UNSET
    up: float | UnsetType = UNSET
    mnt: int | UnsetType = UNSET
    # of the RFC, with a meaning that the contract leaves out
    vb: bool | UnsetType = UNSET
    bv: float | UnsetType = UNSET
    bs: float | UnsetType = UNSET


class _Name(msgspec.Struct, frozen=True):
    mac: str
    stream: str
    unit: str
    is_null: bool
    most: int | None = None  # of a count


_FIELDS = len(_Item.__struct_fields__)
_NO_MORE = (UNSET,) * (_FIELDS - 3)
_decoder = msgspec.json.Decoder(list[_Item])


def decode(payload: bytes) -> Pack:
    """The pack in a payload of topic kind "tele" or "event".

    Raises:
        PackError: the reason is one of too_large, not_json, wrong_type, duplicate_key, unsupported_field,
            empty_pack, too_many_records, bad_version, missing_identity, bad_identity, bad_name, mixed_devices,
            unknown_quantity, missing_unit, wrong_unit, missing_value, bad_value, bad_null_reason, missing_time,
            relative_time, bad_time, bad_unsynced, bad_maintenance, bad_raw.
    """
    items = _items(payload)
    jid, seq = _identity(items)
    name_base = unit_base = mac = ""
    time_base: int | None = None
    run: _Name | None = None
    records = []
    for index, item in enumerate(items):
        if run is not None and (record := _repeat(item, run, time_base or 0)) is not None:
            records.append(record)
            continue
        if item.bn is not UNSET:
            name_base = item.bn
        if item.bu is not UNSET:
            unit_base = item.bu
        try:
            if item.bt is not UNSET:
                time_base = _to_us(item.bt)
            name = _parse_name(name_base + item.n if item.n is not UNSET else name_base)
            if name.mac != mac:
                _check_device(mac, name)
                mac = name.mac
            records.append(_record(item, name, item.u if item.u is not UNSET else unit_base, time_base))
        except PackError as error:
            raise PackError(error.reason, f"record {index + 1} of {len(items)}: {error.detail}") from None
        run = _run(name_base, unit_base)
    return Pack(mac, jid, seq, records)


def encode_record(mac: str, jid: str, seq: int, record: Record) -> bytes:
    """One record as a pack of its own that decodes to the same: what is kept of a record refused alone."""
    item: dict[str, Any] = {"bn": f"urn:dev:mac:{mac}:", "jid": jid, "seq": seq, "n": record.stream}
    if record.raw is not None:
        item["vd"] = binascii.b2a_base64(record.raw, newline=False).decode()
        return msgspec.json.encode([item])
    if record.null_reason is not None:
        item |= {"n": record.stream + _NULL_SUFFIX, "vs": record.null_reason}
    else:
        item |= {"u": UNIT_OF[record.stream.partition(".")[2]], "v": record.value}
    if record.total is not None:
        item["s"] = record.total
    if record.maintenance:
        item["mnt"] = 1
    if record.time_us is not None:
        item["t"] = _decimal(record.time_us, 6)
    else:
        item |= {"boot": record.boot, "up": _decimal(record.uptime_ms or 0, 3)}
    return msgspec.json.encode([item])


def _decimal(scaled: int, places: int) -> msgspec.Raw:
    whole, rest = divmod(scaled, 10**places)
    return msgspec.Raw(f"{whole}.{rest:0{places}d}".encode())


# --- the pack as a whole ---


def _items(payload: bytes) -> list[_Item]:
    if len(payload) > PACK_BYTES:
        raise PackError("too_large", f"{len(payload)} bytes; the contract allows {PACK_BYTES}")
    try:
        items = _decoder.decode(payload)
    except msgspec.ValidationError as error:
        raise PackError("wrong_type", str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise PackError("not_json", str(error)) from None
    if not items:
        raise PackError("empty_pack", "no record in the pack")
    if len(items) > PACK_RECORDS:
        raise PackError("too_many_records", f"{len(items)} records; the contract allows {PACK_RECORDS}")
    if not _every_key_is_known(payload, items):
        _check_keys(payload)
    return items


def _every_key_is_known(payload: bytes, items: list[_Item]) -> bool:
    """Whether the colons of the payload are those of the known keys and of the names, so that no key came twice.

    msgspec keeps the last of two equal keys; this finds them without a second parse. With escapes in strings the
    count means nothing.
    """
    if b"\\" in payload:
        return False
    colons = _FIELDS * len(items)
    for item in items:
        fields = msgspec.structs.astuple(item)
        colons -= fields.count(UNSET)
        if fields[3:] != _NO_MORE:
            colons += item.bn.count(":") if item.bn is not UNSET else 0
            colons += item.n.count(":") if item.n is not UNSET else 0
    return colons == payload.count(b":")


def _check_keys(payload: bytes) -> None:
    def check(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise PackError("duplicate_key", f"{twice[:40]!r} stands twice in one record")
        must = next((key for key in keys if key.endswith("_")), None)
        if must is not None:
            raise PackError("unsupported_field", f"{must[:40]!r} must be understood (RFC 8428) and is not known here")

    try:
        json.loads(payload, object_pairs_hook=check)
    except (ValueError, RecursionError) as error:
        raise PackError("not_json", str(error)) from None


def _identity(items: list[_Item]) -> tuple[str, int]:
    first = items[0]
    if first.jid is UNSET or first.seq is UNSET:
        raise PackError("missing_identity", "the first record needs jid and seq")
    if not _HEX16.fullmatch(first.jid) or not 0 <= first.seq < SEQ_LIMIT:
        raise PackError(
            "bad_identity", f"jid {first.jid[:40]!r} with seq {first.seq}; wanted 16 hex digits and a number"
        )
    for item in items[1:]:
        if item.jid is not UNSET or item.seq is not UNSET:
            raise PackError("bad_identity", "jid and seq stand on the first record alone")
    return first.jid, first.seq


# --- one record ---


@lru_cache(maxsize=8192)
def _parse_name(name: str) -> _Name:
    match = _NAME.fullmatch(name)
    if match is None:
        raise PackError("bad_name", f"{name[:80]!r} is not urn:dev:mac:<12 hex digits>:<name>")
    mac, rest = match.groups()
    if rest == _RAW_NAME:
        return _Name(mac, rest, "", is_null=False)
    stream = rest.removesuffix(_NULL_SUFFIX)
    parts = _STREAM.fullmatch(stream)
    if parts is None or len(stream) > _NAME_CHARS:
        raise PackError("bad_name", f"{rest[:80]!r} is not <sensor>.<quantity> of at most {_NAME_CHARS} characters")
    if parts[1] not in UNIT_OF:
        raise PackError("unknown_quantity", f"{stream!r}: the contract has no quantity {parts[1]!r}")
    return _Name(mac, stream, UNIT_OF[parts[1]], stream != rest, _MOST.get(parts[1]))


@lru_cache(maxsize=8192)
def _run(name_base: str, unit_base: str) -> _Name | None:
    """The stream of records that say no name nor unit of their own; None where the base values do not give one."""
    try:
        name = _parse_name(name_base)
    except PackError:
        return None
    return name if name.unit == unit_base and not name.is_null else None


def _repeat(item: _Item, run: _Name, time_base: int) -> Record | None:
    """A record that has a time and a value, perhaps a sum, and nothing else: most have. None for every other.

    What it returns is what `_record` would, in a third of the time; whatever looks amiss is left to that.
    """
    fields = msgspec.structs.astuple(item)
    time, value, total = fields[:3]
    if time is UNSET or value is UNSET or fields[3:] != _NO_MORE or not -_TIME_LIMIT_S < time < _TIME_LIMIT_S:
        return None
    time_us = time_base + round(time * 1_000_000)
    if not _FIRST_US <= time_us < _LIMIT_US or not math.isfinite(value):
        return None
    if run.most is not None and not (0 <= value <= run.most and value.is_integer()):
        return None
    if total is UNSET:
        return Record(run.stream, time_us, None, None, value, None, None)
    if not (0 <= total < _INTEGERS and total.is_integer()):
        return None
    return Record(run.stream, time_us, None, None, value, int(total), None)


def _check_device(mac: str, name: _Name) -> None:
    if mac:
        raise PackError("mixed_devices", f"boards {mac} and {name.mac} in one pack")


def _record(item: _Item, name: _Name, unit: str, time_base: int | None) -> Record:
    if item.bver is not UNSET and item.bver > _SENML_VERSION:
        raise PackError("bad_version", f"SenML version {item.bver}; this is {_SENML_VERSION}")
    if item.vb is not UNSET or item.bv is not UNSET or item.bs is not UNSET:
        raise PackError("unsupported_field", "vb, bv and bs are not in the contract")
    if name.stream == _RAW_NAME:
        return _raw(item)
    time_us, boot, uptime_ms = _when(item, time_base)
    total = _total(item.s) if item.s is not UNSET else None
    value, reason = (None, _null_reason(item)) if name.is_null else (_value(item, name, unit), None)
    return Record(name.stream, time_us, boot, uptime_ms, value, total, reason, None, _maintenance(item))


def _raw(item: _Item) -> Record:
    if item.vd is UNSET or item.v is not UNSET or item.vs is not UNSET:
        raise PackError("bad_raw", "a raw record has its bytes in vd and no other value")
    text = item.vd.replace("-", "+").replace("_", "/")  # base64url of the RFC, and the plain alphabet of binascii
    try:
        data = binascii.a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise PackError("bad_raw", f"vd is no base64: {error}") from None
    return Record(_RAW_NAME, None, None, None, None, None, None, data)


def _when(item: _Item, time_base: int | None) -> tuple[int | None, str | None, int | None]:
    if item.boot is not UNSET or item.up is not UNSET:
        return None, *_unsynced(item)
    if item.t is not UNSET:
        time_us = _to_us(item.t) + (time_base or 0)
    elif time_base is not None:
        time_us = time_base
    else:
        raise PackError("missing_time", "neither t nor bt, nor boot and up")
    if time_us < _FIRST_US:
        raise PackError(
            "relative_time", f"{time_us / 1e6} s is relative to now (below 2^28 s); send UTC, or boot and up"
        )
    if time_us >= _LIMIT_US:
        raise PackError("bad_time", f"{time_us / 1e6} s is past the year 2106; are these milliseconds?")
    return time_us, None, None


def _unsynced(item: _Item) -> tuple[str, int]:
    if item.boot is UNSET or item.up is UNSET or item.t is not UNSET:
        raise PackError("bad_unsynced", "boot and up stand together, without t")
    if not _HEX8.fullmatch(item.boot) or not 0 <= item.up < _TIME_LIMIT_S:
        raise PackError("bad_unsynced", f"boot {item.boot[:40]!r} with up {item.up}; wanted 8 hex digits and seconds")
    return item.boot, round(item.up * 1000)


def _to_us(seconds: float) -> int:
    """Microseconds of a time in seconds.

    Exact for decimals of at most six places below 2^32: the nearest double is off by at most 0.24 µs, its product
    with a million by 0.25 µs more, together less than the half that rounding takes back.
    """
    if not -_TIME_LIMIT_S < seconds < _TIME_LIMIT_S:
        raise PackError("bad_time", f"{seconds} s is past the year 2106; are these milliseconds?")
    return round(seconds * 1_000_000)


def _total(count: float) -> int:
    if not (0 <= count < _INTEGERS and count.is_integer()):
        raise PackError("bad_value", f"s {count} is no count")
    return int(count)


def _maintenance(item: _Item) -> bool:
    if item.mnt is not UNSET and item.mnt not in (0, 1):
        raise PackError("bad_maintenance", f"mnt {item.mnt}; it is 1 in maintenance mode, else absent")
    return item.mnt == 1


def _null_reason(item: _Item) -> str:
    if item.vs is UNSET or item.v is not UNSET or item.vd is not UNSET:
        raise PackError("missing_value", "a null has its reason in vs and no value")
    if item.vs not in NULL_REASONS:
        raise PackError("bad_null_reason", f"{item.vs[:40]!r} is none of {', '.join(sorted(NULL_REASONS))}")
    return item.vs


def _value(item: _Item, name: _Name, unit: str) -> float:
    if item.v is UNSET:
        raise PackError("missing_value", f"{name.stream} without v")
    if item.vs is not UNSET or item.vd is not UNSET:
        raise PackError("bad_value", f"{name.stream} with more than one value")
    if unit != name.unit:
        if not unit:
            raise PackError("missing_unit", f"{name.stream} is sent in {name.unit!r}: say so in u or bu")
        raise PackError("wrong_unit", f"{name.stream} in {unit[:20]!r}; the contract asks for {name.unit!r}")
    value = item.v
    if not math.isfinite(value):
        raise PackError("bad_value", f"{name.stream} is not finite")
    if name.most is not None and not (0 <= value <= name.most and value.is_integer()):
        raise PackError("bad_value", f"{name.stream} {value} is no count")
    return value
