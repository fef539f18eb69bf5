"""`headwall board flash` with the real esptool against a chip's loader on a pseudo terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import serial
from headwall_board.partitions import (
    JOURNAL,
    SECTOR,
    TABLE_OFFSET,
    find,
    parse_table,
    table_bytes,
    with_journal,
)
from headwall_sim.rom_loader import RomLoader
from support.esp_image import NVS, VFS, WITH_VFS, WITHOUT_VFS, micropython
from support.terminal import typed

FIRMWARE = Path(__file__).parents[2] / "firmware" / "lib"
MICROPYTHON = Path(sys.executable).with_name("micropython")
FLASH = 4 << 20
#: the board's own code fills a journal in memory and prints it as hex
FILL = """
import sys
from headwall_node.journal import Journal

class Memory:
    def __init__(self, size):
        self.data = bytearray(b"\\xff" * size)
    def ioctl(self, op, arg):
        return {4: len(self.data) // 4096, 5: 4096, 6: 0}[op] if op != 6 else self.writeblocks(arg, b"\\xff" * 4096, 0)
    def readblocks(self, block, buf, offset=0):
        at = block * 4096 + offset
        buf[:] = self.data[at : at + len(buf)]
    def writeblocks(self, block, buf, offset=0):
        at = block * 4096 + offset
        self.data[at : at + len(buf)] = buf

class Nvs:
    def get_blob(self, key, buf):
        raise OSError(0)
    def set_blob(self, key, value):
        pass
    def commit(self):
        pass

memory = Memory(int(sys.argv[1]))
journal = Journal(memory, Nvs(), b"uid")
for n in range(300):
    journal.append("rain.tips", 0, 1750000000000 + n * 900000, total=n)
print(memory.data.hex())
"""
TABLE = with_journal(WITHOUT_VFS, FLASH)


def flash(tmp_path: Path, loader: RomLoader, image: bytes, *more: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "micropython.bin"
    file.write_bytes(image)
    command = [sys.executable, "-m", "headwall", "board", "flash", str(file), "--port", str(loader.port), "--no-reset"]
    return subprocess.run(
        [*command, *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "120"},
    )


def used_board(journal: bytes = b"") -> bytearray:
    """A flash with this layout: NVS, files and a journal that are not empty."""
    content = bytearray(b"\xff" * FLASH)
    content[TABLE_OFFSET : TABLE_OFFSET + SECTOR] = table_bytes(TABLE)
    content[NVS.offset : NVS.offset + 4] = b"nvs!"
    content[VFS.offset : VFS.offset + SECTOR * 3] = b"f" * (SECTOR * 3)
    row = find(TABLE, JOURNAL)
    assert row is not None
    content[row.offset : row.offset + len(journal)] = journal
    return content


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    row = find(TABLE, JOURNAL)
    assert row is not None
    script = tmp_path_factory.mktemp("journal") / "fill.py"
    script.write_text(FILL)
    done = subprocess.run(
        [str(MICROPYTHON), "-X", "heapsize=4M", str(script), str(row.size)],
        env={"MICROPYPATH": f"{FIRMWARE}:.frozen"},
        capture_output=True,
        text=True,
        check=True,
    )
    return bytes.fromhex(done.stdout)


@pytest.mark.parametrize(
    ("chip", "chip_id", "boot"), [("ESP32", 0, 0x1000), ("ESP32-S3", 9, 0), ("ESP32-C3", 5, 0)], ids=lambda v: str(v)
)
@pytest.mark.parametrize("stub", ["--stub", "--no-stub"])
def test_empty_board_holds_every_byte_afterwards(tmp_path: Path, chip: str, chip_id: int, boot: int, stub: str) -> None:
    image = micropython(chip_id, boot, WITH_VFS)
    with RomLoader(chip) as loader:
        done = flash(tmp_path, loader, image, stub, "--json")
        assert done.returncode == 0, done.stderr
        wanted = bytearray(b"\xff" * FLASH)
        wanted[boot : boot + len(image)] = image
        wanted[TABLE_OFFSET : TABLE_OFFSET + SECTOR] = table_bytes(with_journal(WITH_VFS, FLASH))
        assert loader.flash == wanted
    said = json.loads(done.stdout)
    assert (said["chip"], said["program"], said["lost"]) == (chip, "micropython v1.27.0", [])
    assert [row["label"] for row in said["partitions"]] == ["nvs", "phy_init", "factory", "vfs", "journal"]


def test_board_of_the_same_layout_keeps_nvs_files_and_journal(tmp_path: Path, journal: bytes) -> None:
    before = used_board(journal)
    with RomLoader(flash=bytes(before)) as loader:
        done = flash(tmp_path, loader, micropython(seed=2))
        assert done.returncode == 0, done.stderr
        assert loader.flash[NVS.offset : NVS.end] == before[NVS.offset : NVS.end]
        assert loader.flash[VFS.offset :] == before[VFS.offset :]
        assert loader.flash[0x10000:0x11000] != before[0x10000:0x11000]


def test_readings_in_the_journal_are_told_before_they_are_lost(tmp_path: Path, journal: bytes) -> None:
    before = bytes(used_board(journal))
    with RomLoader(flash=before) as loader:
        refused = flash(tmp_path, loader, micropython(), "--erase")
        assert (refused.returncode, loader.flash) == (1, before)
        assert "300 readings in its journal, numbers 1 to 300" in refused.stderr
        assert "all files on the board" in refused.stderr
        assert "nothing was written" in refused.stderr
        done = flash(tmp_path, loader, micropython(), "--erase", "--yes")
        assert done.returncode == 0, done.stderr
        row = find(TABLE, JOURNAL)
        assert row is not None
        for offset, size in ((row.offset, row.size), (NVS.offset, NVS.size), (VFS.offset, 2 * SECTOR)):
            assert loader.flash[offset : offset + size] == b"\xff" * size


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_a_person_is_asked_before_readings_are_lost(tmp_path: Path, journal: bytes, answer: str, code: int) -> None:
    before = bytes(used_board(journal))
    (tmp_path / "micropython.bin").write_bytes(micropython())
    with RomLoader(flash=before) as loader:
        command = [sys.executable, "-m", "headwall", "board", "flash", "micropython.bin", "--port", str(loader.port)]
        ended, seen = typed([*command, "--no-reset", "--erase"], tmp_path, [("Go on?", answer)])
        assert (ended, loader.flash == before) == (code, answer == "n")
    assert "300 readings" in seen


def test_journal_of_another_size_is_told_as_lost(tmp_path: Path, journal: bytes) -> None:
    with RomLoader(flash=bytes(used_board(journal))) as loader:
        refused = flash(tmp_path, loader, micropython(), "--journal-kib", "512")
    assert refused.returncode == 1
    assert "300 readings" in refused.stderr


def test_stock_micropython_makes_room_and_its_files_are_told_as_lost(tmp_path: Path) -> None:
    before = used_board()
    before[TABLE_OFFSET : TABLE_OFFSET + SECTOR] = table_bytes(WITH_VFS)
    with RomLoader(flash=bytes(before)) as loader:
        refused = flash(tmp_path, loader, micropython())
        assert refused.returncode == 1
        assert "all files on the board" in refused.stderr
        assert "readings" not in refused.stderr
        assert flash(tmp_path, loader, micropython(), "--yes").returncode == 0
        found = parse_table(bytes(loader.flash[TABLE_OFFSET : TABLE_OFFSET + SECTOR]), "board")
        assert find(found, JOURNAL) is not None
        assert loader.flash[VFS.offset : VFS.offset + 2 * SECTOR] == b"\xff" * (2 * SECTOR)


def test_flash_that_cannot_be_understood_is_not_overwritten_unasked(tmp_path: Path) -> None:
    before = used_board()
    before[TABLE_OFFSET + 8] ^= 1
    with RomLoader(flash=bytes(before)) as loader:
        refused = flash(tmp_path, loader, micropython())
        assert (refused.returncode, loader.flash) == (1, before)
    assert "its partition table cannot be read" in refused.stderr


@pytest.mark.parametrize(
    ("chip", "flash_bytes", "image", "why"),
    [
        ("ESP32-S3", FLASH, micropython(), "is for ESP32, but the board at"),
        ("ESP32", 2 << 20, micropython(), "is for 4 MiB of flash, but the board at"),
        ("ESP32", FLASH, micropython()[:50_000], "cut short"),
        ("ESP32", FLASH, b"\x7fELF" + bytes(5000), "no image for an ESP32"),
    ],
    ids=["other chip", "smaller flash", "truncated", "no image"],
)
def test_image_that_does_not_fit_the_board_is_refused_before_anything_is_written(
    tmp_path: Path, chip: str, flash_bytes: int, image: bytes, why: str
) -> None:
    with RomLoader(chip, flash_bytes) as loader:
        done = flash(tmp_path, loader, image, "--yes")
        assert loader.flash == b"\xff" * flash_bytes
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_flash_that_does_not_keep_a_byte_is_an_error(tmp_path: Path) -> None:
    def spoil(offset: int, data: bytes) -> bytes:
        return b"\0" + data[1:] if offset <= 0x10000 < offset + len(data) else data

    with RomLoader(spoil=spoil) as loader:
        done = flash(tmp_path, loader, micropython())
    assert done.returncode == 1
    assert "does not keep what is written" in done.stderr


def test_silent_port_is_told_with_what_to_do(tmp_path: Path) -> None:
    loader = RomLoader()  # never served
    done = flash(tmp_path, loader, micropython())
    assert done.returncode == 1
    assert "hold the button BOOT" in done.stderr


def test_missing_port_is_told_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "micropython.bin"
    file.write_bytes(micropython())
    command = [sys.executable, "-m", "headwall", "board", "flash", str(file), "--port", str(tmp_path / "ttyUSB9")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is it plugged in" in done.stderr


def test_busy_port_is_told_with_what_to_do(tmp_path: Path) -> None:
    with RomLoader() as loader, serial.Serial(str(loader.port), exclusive=True):
        done = flash(tmp_path, loader, micropython())
    assert done.returncode == 1
    assert "does no other program" in done.stderr
