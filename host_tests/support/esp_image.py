"""Well-formed images for an ESP32, small but whole, as MicroPython has them: bootloader, table, program."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from functools import reduce
from operator import xor

from headwall_board.partitions import APP, DATA, TABLE_OFFSET, Partition, table_bytes

NVS = Partition("nvs", DATA, 0x02, 0x9000, 0x6000)
PHY = Partition("phy_init", DATA, 0x01, 0xF000, 0x1000)
FACTORY = Partition("factory", APP, 0x00, 0x10000, 0x1F0000)
VFS = Partition("vfs", DATA, 0x81, 0x200000, 0x200000)
#: as MicroPython's tables were up to 1.25, and as they are since
WITH_VFS = (NVS, PHY, FACTORY, VFS)
WITHOUT_VFS = (NVS, PHY, FACTORY)


def binary(chip_id: int, segments: Sequence[bytes], flash_mib: int = 4, sha: bool = True) -> bytes:
    """A bootloader or program with its checksum and, where wanted, its SHA-256."""
    size_code = flash_mib.bit_length() - 1
    header = struct.pack("<BBBBI", 0xE9, len(segments), 2, size_code << 4, 0x40080000)
    header += struct.pack("<BBBBHBHHBBBBB", 0xEE, 0, 0, 0, chip_id, 0, 0, 0xFFFF, 0, 0, 0, 0, int(sha))
    body = header
    load = 0x3F400020
    for segment in segments:
        body += struct.pack("<II", load, len(segment)) + segment
        load += 0x10000
    checksum = reduce(xor, b"".join(segments), 0xEF)
    body += b"\0" * (15 - len(body) % 16) + bytes([checksum])
    return body + hashlib.sha256(body).digest() if sha else body


def description(version: str = "v1.27.0", project: str = "micropython") -> bytes:
    """The esp_app_desc_t that a program's first segment begins with."""
    packed = struct.pack("<II8x32s32s", 0xABCD5432, 0, version.encode(), project.encode())
    return packed.ljust(256, b"\0")


def micropython(
    chip_id: int = 0,
    boot_offset: int = 0x1000,
    table: Sequence[Partition] = WITHOUT_VFS,
    *,
    flash_mib: int = 4,
    size: int = 40_000,
    program_chip: int | None = None,
    seed: int = 1,
) -> bytes:
    """A whole image, as a file has it: from the bootloader's place on.

    Args:
        size: bytes of the program's second segment.
        seed: makes another program.
    """
    noise = b"".join(hashlib.sha256(struct.pack("<II", seed, n)).digest() for n in range(size // 32))
    app = binary(chip_id if program_chip is None else program_chip, [description() + noise[:512], noise], flash_mib)
    boot = binary(chip_id, [noise[:4096]], flash_mib)
    start = next(row.offset for row in table if row.kind == APP)
    whole = boot.ljust(TABLE_OFFSET - boot_offset, b"\xff") + table_bytes(table)
    return whole.ljust(start - boot_offset, b"\xff") + app
