"""Images and partition tables: what is taken, and what is refused before anything is written."""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from headwall.errors import InputError
from headwall_board.image import read_image
from headwall_board.partitions import (
    APP,
    DATA,
    JOURNAL,
    TABLE_BYTES,
    TABLE_OFFSET,
    Partition,
    find,
    parse_table,
    table_bytes,
    with_journal,
)
from mp_image_tool_esp32.partition_table import PartitionTable
from support.esp_image import FACTORY, NVS, PHY, VFS, WITH_VFS, WITHOUT_VFS, binary, micropython

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "partitions-4MiB.csv"
FLASH = 4 << 20


def image_file(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "micropython.bin"
    path.write_bytes(data)
    return path


def test_image_says_chip_flash_size_and_program(tmp_path: Path) -> None:
    image = read_image(image_file(tmp_path, micropython()))
    assert (image.chip.name, image.flash_bytes, image.program) == ("ESP32", FLASH, "micropython v1.27.0")
    assert image.table == list(WITHOUT_VFS)


def test_esptool_finds_the_images_of_these_tests_valid(tmp_path: Path) -> None:
    for name, data in (("boot", micropython()[: TABLE_OFFSET - 0x1000]), ("app", micropython()[0xF000:])):
        file = tmp_path / f"{name}.bin"
        file.write_bytes(data)
        said = subprocess.run(
            [sys.executable, "-m", "esptool", "image-info", str(file)], capture_output=True, text=True, check=True
        ).stdout
        assert said.count("(valid)") == 2, said


@pytest.mark.parametrize("removed", [1, 33, 20_000, 60_000, 0xF000, 0x13000])
def test_image_cut_short_is_refused(tmp_path: Path, removed: int) -> None:
    whole = micropython()
    with pytest.raises(InputError, match=r"cut short|no segment"):
        read_image(image_file(tmp_path, whole[: len(whole) - removed]))


@pytest.mark.parametrize("at", [0x800, 0x7004, 0x7050, 0x7060, 0x7074, 0xF000 + 600, 0xF000 + 30_000])
def test_image_with_one_wrong_bit_is_refused(tmp_path: Path, at: int) -> None:
    data = bytearray(micropython())
    data[at] ^= 0x10
    with pytest.raises(InputError):
        read_image(image_file(tmp_path, bytes(data)))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cut short"),
        (b"\x7fELF" + bytes(100), "begins with 0x7f"),
        (binary(0, [bytes(512)]), "program alone"),
        (micropython(chip_id=77), "id 77"),
        (micropython(program_chip=9), "another chip"),
        (micropython(flash_mib=1), "beyond the 1 MiB"),
        (micropython(table=[NVS, PHY, replace(FACTORY, size=0x9000)]), "too small"),
        (micropython(table=[NVS, replace(PHY, offset=0x9000), FACTORY]), "overlap"),
    ],
    ids=["empty", "ELF", "program alone", "unknown chip", "two chips", "flash too small", "app too large", "overlap"],
)
def test_file_that_is_no_whole_image_is_refused_with_the_reason(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_image(image_file(tmp_path, data))


def test_missing_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_image(tmp_path / "absent.bin")


@pytest.mark.parametrize("table", [WITH_VFS, WITHOUT_VFS], ids=["vfs named", "vfs not named"])
def test_journal_is_taken_from_the_file_system(table: tuple[Partition, ...]) -> None:
    assert with_journal(table, FLASH) == [
        NVS,
        PHY,
        FACTORY,
        replace(VFS, size=0x1C0000),
        Partition(JOURNAL, DATA, 0x40, 0x3C0000, 0x40000),
    ]


def test_table_with_journal_is_that_of_the_example() -> None:
    rows = [line.split(",") for line in EXAMPLE.read_text().splitlines() if not line.startswith("#")]
    example = [(row[0].strip(), int(row[3], 16), int(row[4], 16)) for row in rows]
    assert [(row.label, row.offset, row.size) for row in with_journal(WITH_VFS, FLASH)] == example


def test_table_that_has_a_journal_stays() -> None:
    own = with_journal(WITH_VFS, FLASH, 0x80000)
    assert with_journal(own, FLASH) == own


@pytest.mark.parametrize(
    ("table", "flash_bytes", "journal"),
    [
        (WITHOUT_VFS, 2 << 20, 0x40000),
        (WITHOUT_VFS, FLASH, 0x1C0000),
        ((*WITHOUT_VFS, Partition("user", APP, 0x10, 0x200000, 0x200000)), FLASH, 0x40000),
        (
            (*WITHOUT_VFS, replace(VFS, size=0x100000), Partition("romfs", DATA, 0x8F, 0x300000, 0x100000)),
            FLASH,
            0x40000,
        ),
        (WITHOUT_VFS, FLASH, 1000),
    ],
    ids=["small flash", "large journal", "no room", "vfs not last", "no whole sectors"],
)
def test_no_room_for_a_journal_is_refused(table: tuple[Partition, ...], flash_bytes: int, journal: int) -> None:
    with pytest.raises(InputError, match="journal"):
        with_journal(table, flash_bytes, journal)


def test_written_table_is_read_by_another_implementation() -> None:
    rows = with_journal(WITH_VFS, FLASH)
    read = PartitionTable.from_bytes(table_bytes(rows), FLASH)
    assert [(p.name, p.type, p.subtype, p.offset, p.size) for p in read] == [
        (row.label, row.kind, row.subtype, row.offset, row.size) for row in rows
    ]


def test_table_comes_back_as_written_and_its_md5_counts() -> None:
    rows = with_journal(WITH_VFS, FLASH)
    data = table_bytes(rows)
    assert parse_table(data[:TABLE_BYTES], "here") == rows
    # a size that still fits, so that the MD5 alone can tell
    damaged = bytearray(data)
    struct.pack_into("<I", damaged, 4 * 32 + 8, 0x30000)
    with pytest.raises(InputError, match="MD5"):
        parse_table(bytes(damaged), "here")


def test_nvs_is_not_written_so_that_the_journal_goes_on(tmp_path: Path) -> None:
    image = read_image(image_file(tmp_path, micropython()))
    for offset, data in image.parts(with_journal(image.table, FLASH)):
        assert offset + len(data) <= NVS.offset or offset >= NVS.end
    assert find(image.table, "nvs") == NVS


def test_choice_of_program_is_erased_where_the_table_has_one(tmp_path: Path) -> None:
    otadata = Partition("otadata", DATA, 0x00, 0xD000, 0x2000)
    table = [replace(NVS, size=0x4000), otadata, PHY, replace(FACTORY, label="ota_0", subtype=0x10)]
    image = read_image(image_file(tmp_path, micropython(table=table)))
    assert (otadata.offset, b"\xff" * otadata.size) in image.parts(table)
