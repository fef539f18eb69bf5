"""A MicroPython image for an ESP32 as a file: what it is for, whether it is whole, and which parts of it to write.

The file is what lies on flash from the bootloader on: bootloader, 0xFF, partition table at 0x8000, 0xFF, program. It
is never written in one piece: the 0xFF in between would erase NVS, which holds the journal's mark, and with it a
journal that the new program could have gone on with.

Bootloader and program are images of their own: a header of 24 bytes (magic 0xE9, number of segments, flash size,
chip id), segments, a checksum, and where the header says so a SHA-256 of all before it.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Final

from headwall.errors import InputError

from headwall_board import partitions
from headwall_board.partitions import APP, DATA, OTA_DATA, SECTOR, TABLE_BYTES, TABLE_OFFSET, Partition


@dataclass(frozen=True)
class Chip:
    """A kind of ESP32: as esptool calls it, and where its bootloader lies on flash."""

    name: str
    boot_offset: int


#: by the id in an image's header; those with Wi-Fi that MicroPython is built for
CHIPS: Final = {
    0: Chip("ESP32", 0x1000),
    2: Chip("ESP32-S2", 0x1000),
    5: Chip("ESP32-C3", 0x0),
    9: Chip("ESP32-S3", 0x0),
    13: Chip("ESP32-C6", 0x0),
}
_MAGIC: Final = 0xE9
_HEADER_BYTES: Final = 24
_CHECKSUM_SEED: Final = 0xEF
_SHA_BYTES: Final = 32
#: esp_app_desc_t, at the beginning of a program's first segment: magic, version, project name
_DESCRIPTION: Final = struct.Struct("<I12x32s32s")
_DESCRIPTION_MAGIC: Final = 0xABCD5432


@dataclass(frozen=True)
class Image:
    """A whole image that was found good.

    Attributes:
        flash_bytes: size of flash that it was made for.
        table: its partitions as they came.
        program: "micropython v1.27.0" as the program says, or "" where it says nothing.
    """

    path: Path
    data: bytes
    chip: Chip
    flash_bytes: int
    table: list[Partition]
    program: str

    def parts(self, table: list[Partition]) -> list[tuple[int, bytes]]:
        """(offset on flash, bytes) of what is to be written, with `table` in place of its own."""
        found = [(self.chip.boot_offset, self._at(self.chip.boot_offset, TABLE_OFFSET).rstrip(b"\xff"))]
        found.append((TABLE_OFFSET, partitions.table_bytes(table)))
        for row in self.table:
            content = self._at(row.offset, row.end)
            if content.strip(b"\xff"):
                found.append((row.offset, content))
            elif row.kind == DATA and row.subtype == OTA_DATA:  # an old choice of program would outlive its program
                found.append((row.offset, b"\xff" * row.size))
        return [(offset, data.ljust(-(-len(data) // 16) * 16, b"\xff")) for offset, data in found]

    def _at(self, start: int, end: int) -> bytes:
        return self.data[start - self.chip.boot_offset : end - self.chip.boot_offset]


def read_image(path: Path) -> Image:
    """Read and check an image file.

    Raises:
        InputError: it is none, is cut short or damaged, or is for a chip that is not known here.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    chip_id = _chip_id(data, f"{path}")
    chip = CHIPS.get(chip_id)
    if chip is None:
        known = ", ".join(f"{one.name}" for one in CHIPS.values())
        raise InputError(f"{path} is for a chip with the id {chip_id}; boards can have: {known}")
    table_at = TABLE_OFFSET - chip.boot_offset
    if len(data) < table_at + TABLE_BYTES:
        raise InputError(
            f"{path} ends after {len(data)} bytes, before its partition table: it is cut short, or holds a program "
            "alone (.app-bin). Take the .bin of micropython.org"
        )
    table = partitions.parse_table(data[table_at : table_at + TABLE_BYTES], f"{path}")
    _check_image(data[:table_at], chip_id, f"the bootloader in {path}")
    app = next((row for row in table if row.kind == APP), None)
    if app is None:
        raise InputError(f"{path}: its partition table has no place for a program")
    program = data[app.offset - chip.boot_offset :]
    length = _check_image(program, chip_id, f"the program in {path}")
    if length > app.size:
        raise InputError(f"the program in {path} has {length} bytes; its partition {app} is too small")
    flash_bytes = 1024 * 1024 << (data[3] >> 4)
    if max(row.end for row in table) > flash_bytes:
        raise InputError(f"{path}: its partition table goes beyond the {flash_bytes >> 20} MiB of flash that it is for")
    return Image(path, data, chip, flash_bytes, table, _description(program))


def _chip_id(data: bytes, what: str) -> int:
    if len(data) < _HEADER_BYTES:
        raise InputError(f"{what} ends within its header: it is cut short")
    if data[0] != _MAGIC:
        raise InputError(f"{what} is no image for an ESP32: it begins with 0x{data[0]:02x}, not 0x{_MAGIC:02x}")
    found: int = struct.unpack_from("<H", data, 12)[0]
    return found


def _check_image(data: bytes, chip_id: int, what: str) -> int:
    """Length of the bootloader or program that `data` begins with; InputError if it is not whole."""
    found = _chip_id(data, what)
    if found != chip_id:
        raise InputError(f"{what} is for another chip (id {found}) than the rest (id {chip_id})")
    at, checksum = _HEADER_BYTES, _CHECKSUM_SEED
    for _ in range(data[1]):
        (size,) = struct.unpack("<4xI", data[at : at + 8].ljust(8, b"\0"))
        segment = data[at + 8 : at + 8 + size]
        if len(segment) < size or not size:
            raise InputError(f"{what} is cut short: it has no segment of {size} bytes at {at:#x}")
        # eight bytes at a time: a program has more than a million
        words = struct.unpack(f"<{len(segment) // 8}Q", segment[: len(segment) // 8 * 8])
        folded = struct.pack("<Q", reduce(xor, words, 0)) + segment[len(segment) // 8 * 8 :]
        checksum = reduce(xor, folded, checksum)
        at += 8 + size
    at = (at + 16) // 16 * 16  # the checksum is the last byte of a block of 16
    if len(data) < at:
        raise InputError(f"{what} is cut short: its checksum is missing")
    if data[at - 1] != checksum:
        raise InputError(f"{what} is damaged: checksum 0x{checksum:02x}, not 0x{data[at - 1]:02x}")
    if data[23]:
        if data[at : at + _SHA_BYTES] != hashlib.sha256(data[:at]).digest():
            raise InputError(f"{what} is cut short or damaged: its SHA-256 does not fit")
        at += _SHA_BYTES
    return at


def _description(program: bytes) -> str:
    begin = _HEADER_BYTES + 8
    magic, version, project = _DESCRIPTION.unpack(program[begin : begin + _DESCRIPTION.size])
    if magic != _DESCRIPTION_MAGIC:
        return ""
    return " ".join(text.rstrip(b"\0").decode("ascii", "replace") for text in (project, version)).strip()


def blank(row: Partition, sectors: int | None = None) -> tuple[int, bytes]:
    """What to write so that a partition, or its first sectors, is erased."""
    return row.offset, b"\xff" * (row.size if sectors is None else min(row.size, sectors * SECTOR))
