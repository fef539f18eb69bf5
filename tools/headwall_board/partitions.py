"""The partition table of an ESP32's flash: read, checked, and given the journal's partition.

A table is up to 95 rows of 32 bytes at 0x8000, then a row with the MD5 of those before, then 0xFF. Written from the
format itself: mp-image-tool-esp32 names no subtype of our own (the journal's), warns where a table must be refused,
and calls functions inside esptool that its version 5 calls by other names.

Tables of MicroPython up to 1.25 name the file system ("vfs"); later ones leave it out, and the program makes it of
what follows the last partition. So a journal may only be added together with a named "vfs": else it would be the
last partition, and no room for files would be left.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from headwall.errors import InputError

TABLE_OFFSET: Final = 0x8000
TABLE_BYTES: Final = 0xC00
SECTOR: Final = 4096
JOURNAL: Final = "journal"
#: 256 KiB: some 5,000 readings
JOURNAL_BYTES: Final = 0x40000
#: the program in two slots, its configuration and room to write them anew
FILES_MIN_BYTES: Final = 0x80000

APP: Final = 0
DATA: Final = 1
#: subtypes of data; 0x40 and up are free for one's own
OTA_DATA: Final = 0x00
_FAT: Final = 0x81
_OURS: Final = 0x40
#: what MicroPython calls the partition of its file system, by board
_FILES: Final = ("vfs", "ffat")

_ROW: Final = struct.Struct("<2sBBII16sI")
_MAGIC: Final = b"\xaa\x50"
_MD5_ROW: Final = b"\xeb\xeb" + b"\xff" * 14


@dataclass(frozen=True)
class Partition:
    """One row: `kind` is APP or DATA; offset and size in bytes."""

    label: str
    kind: int
    subtype: int
    offset: int
    size: int
    flags: int = 0

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.size

    def __str__(self) -> str:
        return f"{self.label} at {self.offset:#x}, {self.size // 1024} KiB"


def parse_table(data: bytes, where: str) -> list[Partition]:
    """The partitions of a table's bytes, by offset.

    Args:
        where: what the bytes are of, for the error.

    Raises:
        InputError: no table, no or a wrong MD5, or partitions that overlap or do not begin with a sector.
    """
    rows: list[Partition] = []
    at = 0
    while data[at : at + 2] == _MAGIC and at + _ROW.size <= len(data):
        _, kind, subtype, offset, size, label, flags = _ROW.unpack_from(data, at)
        rows.append(Partition(label.rstrip(b"\0").decode("ascii", "replace"), kind, subtype, offset, size, flags))
        at += _ROW.size
    if not rows:
        raise InputError(f"{where} has no partition table at {TABLE_OFFSET:#x}")
    if data[at : at + 32] != _MD5_ROW + hashlib.md5(data[:at]).digest():
        raise InputError(f"{where}: the MD5 of the partition table does not fit it; it is damaged")
    rows.sort(key=lambda row: row.offset)
    _check(rows, where)
    return rows


def _check(rows: Sequence[Partition], where: str) -> None:
    for row in rows:
        if row.offset % SECTOR or row.size % SECTOR or not row.size:
            raise InputError(f"{where}: partition {row} does not begin and end with a sector of {SECTOR} bytes")
    for before, row in pairwise(rows):
        if before.end > row.offset:
            raise InputError(f"{where}: partitions {before} and {row} overlap")
    if rows[0].offset <= TABLE_OFFSET:
        raise InputError(f"{where}: partition {rows[0]} lies over the table itself")


def table_bytes(rows: Iterable[Partition]) -> bytes:
    """A table as it is written at TABLE_OFFSET: a whole sector."""
    body = b"".join(
        _ROW.pack(_MAGIC, row.kind, row.subtype, row.offset, row.size, row.label.encode(), row.flags) for row in rows
    )
    return (body + _MD5_ROW + hashlib.md5(body).digest()).ljust(SECTOR, b"\xff")


def find(rows: Iterable[Partition], *labels: str) -> Partition | None:
    """The first data partition of one of these labels."""
    return next((row for row in rows if row.label in labels and row.kind == DATA), None)


def files_of(rows: Iterable[Partition]) -> Partition | None:
    """The partition of the file system where the table names it."""
    return find(rows, *_FILES)


def with_journal(rows: Sequence[Partition], flash_bytes: int, journal_bytes: int = JOURNAL_BYTES) -> list[Partition]:
    """The same table with a journal at the end of the flash; a table that has one stays as it is.

    The file system gives up the room, or gets what is left before the journal where the table does not name it.

    Args:
        flash_bytes: what the image says of the flash: its bootloader refuses a table that goes beyond.

    Raises:
        InputError: there is no room.
    """
    if journal_bytes % SECTOR or journal_bytes < 2 * SECTOR:
        raise InputError(f"a journal of {journal_bytes} bytes: it needs two sectors of {SECTOR} bytes at least")
    if find(rows, JOURNAL) is not None:
        return list(rows)
    begin = flash_bytes - journal_bytes
    files = files_of(rows)
    others = [row for row in rows if row is not files]
    start = files.offset if files is not None else max(row.end for row in rows)
    if any(row.end > begin or (files is not None and row.offset > start) for row in others):
        raise InputError(f"no room for a journal: {max(rows, key=lambda row: row.end)} is where it would go")
    if begin - start < FILES_MIN_BYTES:
        raise InputError(
            f"no room for a journal of {journal_bytes // 1024} KiB: {(begin - start) // 1024} KiB would be left for "
            f"files; {FILES_MIN_BYTES // 1024} KiB are needed. Take an image for at least 4 MiB of flash"
        )
    room = (
        replace(files, size=begin - start)
        if files is not None
        else Partition(_FILES[0], DATA, _FAT, start, begin - start)
    )
    return [*others, room, Partition(JOURNAL, DATA, _OURS, begin, journal_bytes)]
