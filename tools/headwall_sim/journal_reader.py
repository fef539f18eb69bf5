"""Reads a node's journal from its flash image, without the node: for counting what was taken, and checking it.

Written from the description of the format in firmware/lib/headwall_node/journal.py, not from its code, so that a
mistake there shows. A sector has a header of 48 bytes and records in steps of 16 bytes; CRCs chain from the header's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from headwall.wire.contract import contract

_SECTOR, _HEAD, _STEP, _LARGEST = 4096, 48, 16, 48
_HEADER = struct.Struct("<4sBBH8s8sIIIIII")
_MAGIC, _VERSION = b"HWJ\x1a", 1
_RECORD = struct.Struct("<IBBBBI")
_TOTAL, _TIMED, _NULL, _NAME, _MARKED = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class JournalRecord:
    """One reading as it stands on flash; `time_ms` is None where the clock was not known, `value` for a null.

    Attributes:
        marked: taken in maintenance mode.
    """

    seq: int
    stream: str
    time_ms: int | None
    boot: str | None
    up_ms: int | None
    value: str | None
    total: int | None
    reason: str | None
    marked: bool = False


@dataclass(frozen=True)
class JournalImage:
    """A journal as a whole.

    Attributes:
        jid: 16 hex digits, "" where the partition holds none.
        floor: number of the oldest record that can still be there.
        next: the number that the next append will get.
        records: all that read well, in order.
    """

    jid: str
    floor: int
    next: int
    records: list[JournalRecord]


@dataclass(frozen=True)
class _Sector:
    data: bytes
    jid: bytes
    generation: int
    first: int
    crc: int


def read_journal(image: bytes, jid: str | None = None) -> JournalImage:
    """The journal in a partition's bytes.

    Args:
        jid: which one, where an older one is still partly there; None takes the one with the newest generation.
    """
    sectors = [
        sector for at in range(0, len(image), _SECTOR) if (sector := _sector(image[at : at + _SECTOR])) is not None
    ]
    if jid is not None:
        sectors = [sector for sector in sectors if sector.jid.hex() == jid]
    if not sectors:
        return JournalImage(jid or "", 1, 1, [])
    newest = max(sectors, key=lambda sector: sector.generation)
    ring = _unbroken(sorted((s for s in sectors if s.jid == newest.jid), key=lambda s: s.generation))
    records = [record for sector in ring for record in _records(sector)]
    after = max([newest.first, *(record.seq + 1 for record in records)])
    return JournalImage(newest.jid.hex(), ring[0].first, after, records)


def _sector(data: bytes) -> _Sector | None:
    magic, version, _, _, jid, _, generation, first, _, _, _, crc = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or crc32(data[: _HEAD - 4]) != crc:
        return None
    return _Sector(data, jid, generation, first, crc)


def _unbroken(ring: list[_Sector]) -> list[_Sector]:
    """The sectors whose generations follow on each other up to the newest: an older one is a leftover."""
    kept = ring[-1:]
    for sector in reversed(ring[:-1]):
        if sector.generation != kept[0].generation - 1:
            break
        kept.insert(0, sector)
    return kept


def _records(sector: _Sector) -> Iterator[JournalRecord]:
    names: dict[int, str] = {}
    at = _HEAD
    while at + _RECORD.size <= _SECTOR:
        crc, size, kind, number, aux, seq = _RECORD.unpack_from(sector.data, at)
        fits = _STEP <= size <= min(_LARGEST, _SECTOR - at) and size % _STEP == 0
        if not fits or crc32(sector.data[at + 4 : at + size], sector.crc) != crc:
            at += _STEP
            continue
        body = sector.data[at + _RECORD.size : at + size]
        if kind & _NAME:
            names[number] = body[:aux].decode()
        else:
            yield _record(seq, names[number], kind, aux, body)
        at += size


def _record(seq: int, stream: str, kind: int, aux: int, body: bytes) -> JournalRecord:
    time_ms = up_ms = total = boot = value = reason = None
    if kind & _TIMED:
        time_ms, body = int.from_bytes(body[:6], "little"), body[6:]
    else:
        boot, up_ms, body = f"{int.from_bytes(body[:4], 'little'):08x}", int.from_bytes(body[4:10], "little"), body[10:]
    if kind & _TOTAL:
        total, body = int.from_bytes(body[:4], "little"), body[4:]
    if kind & _NULL:
        reason = str(contract()["null_reasons"][aux])
    else:
        value = body[:aux].decode()
    return JournalRecord(seq, stream, time_ms, boot, up_ms, value, total, reason, bool(kind & _MARKED))
