"""The loader in an ESP32's ROM, and the stub that esptool puts in its place, on a pseudo terminal.

It speaks the serial protocol that Espressif documents (SLIP frames; commands to write RAM and flash and to tell the
MD5 of a region), so that the real esptool flashes it. Its flash behaves as NOR flash does: programming can only clear
bits, so that a region that was not erased before shows in the content.

Written from the protocol as esptool sends it. The stub is not run: once it is loaded, the loader answers as the stub
would. There are no DTR and RTS lines on a pseudo terminal: esptool is run with --before no-reset --after no-reset.
"""

from __future__ import annotations

import hashlib
import os
import select
import struct
import termios
import threading
import tty
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_SECTOR: Final = 4096
_END, _ESC, _ESC_END, _ESC_ESC = 0xC0, 0xDB, b"\xdc", b"\xdd"
_RAM_PACKET: Final = 65536

# commands
_FLASH_BEGIN, _FLASH_DATA, _FLASH_END = 0x02, 0x03, 0x04
_MEM_BEGIN, _MEM_END, _MEM_DATA = 0x05, 0x06, 0x07
_SYNC, _WRITE_REG, _READ_REG = 0x08, 0x09, 0x0A
_SPI_SET_PARAMS, _SPI_ATTACH, _READ_SLOW, _BAUD = 0x0B, 0x0D, 0x0E, 0x0F
_DEFL_BEGIN, _DEFL_DATA, _DEFL_END, _MD5, _SECURITY = 0x10, 0x11, 0x12, 0x13, 0x14
_ERASE_FLASH, _ERASE_REGION, _READ_FLASH = 0xD0, 0xD1, 0xD2

_OK: Final = b"\0\0"
_UNKNOWN: Final = b"\x01\x05"
_BAD_CHECKSUM: Final = b"\x01\x07"
_JEDEC: Final = 0x9F


@dataclass(frozen=True)
class ChipRegisters:
    """What tells one chip from another at the serial line.

    Attributes:
        chip_id: in the answer about security; None where the ROM knows no such command (ESP32).
        magic: word at 0x40001000, by which such a chip is told.
        spi: base of the SPI controller's registers; `usr2`, `w0`: two of them.
        extra: other words that esptool looks at, e.g. fuses; every other register is 0 until written.
    """

    chip_id: int | None
    magic: int
    spi: int
    usr2: int
    w0: int
    extra: dict[int, int] = field(default_factory=dict)


#: MACs 24:0a:c4:00:00:01 in the fuses
CHIPS: Final = {
    "ESP32": ChipRegisters(
        None,
        0x00F01D83,
        0x3FF42000,
        0x24,
        0x80,
        # fuses; what the ROM measured of the crystal, and the divider of the line: both say 40 MHz
        {0x3FF5A004: 0xC4000001, 0x3FF5A008: 0x0000240A, 0x3FF5A010: 0xA3, 0x3FF5F06C: 0x276 << 7, 0x3FF40014: 347},
    ),
    "ESP32-S3": ChipRegisters(9, 0, 0x60002000, 0x20, 0x58, {0x60007044: 0xC4000001, 0x60007048: 0x0000240A}),
    "ESP32-C3": ChipRegisters(5, 0, 0x60002000, 0x20, 0x58, {0x60008844: 0xC4000001, 0x60008848: 0x0000240A}),
}


class RomLoader:
    """A chip in download mode. Use as a context manager; `port` is what esptool is given.

    Args:
        chip: a key of CHIPS.
        flash: its content; the length is the flash's size, a power of two.
        spoil: called with (offset, bytes) of each program of flash; what it returns is programmed instead. For tests
            of verification.

    Attributes:
        flash: content, to be looked at while no command runs.
        stub: whether the stub has taken over.
        commands: the numbers of all commands it was sent.
    """

    def __init__(
        self,
        chip: str = "ESP32",
        flash: bytes | int = 4 << 20,
        spoil: Callable[[int, bytes], bytes] | None = None,
    ) -> None:
        self.chip = CHIPS[chip]
        self.flash = bytearray(b"\xff" * flash) if isinstance(flash, int) else bytearray(flash)
        self.stub = False
        self.commands: list[int] = []
        self._spoil = spoil or (lambda _, data: data)
        self._registers = {0x40001000: self.chip.magic, **self.chip.extra}
        self._at = 0
        self._inflate = zlib.decompressobj()
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave, termios.TCSANOW)
        self._stop, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._serve, name="rom-loader", daemon=True)

    @property
    def port(self) -> Path:
        """The pseudo terminal's path."""
        return Path(os.ttyname(self._slave))

    def __enter__(self) -> RomLoader:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        os.write(self._wake, b"x")
        self._thread.join()
        for each in (self._master, self._slave, self._stop, self._wake):
            os.close(each)

    # -- the line

    def _serve(self) -> None:
        buffer = bytearray()
        while True:
            ready, _, _ = select.select([self._master, self._stop], [], [])
            if self._stop in ready:
                return
            buffer += os.read(self._master, _RAM_PACKET)
            while (frame := _take_frame(buffer)) is not None:
                self._command(frame)

    def _send(self, frame: bytes) -> None:
        escaped = frame.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc")
        waiting = b"\xc0" + escaped + b"\xc0"
        while waiting:
            waiting = waiting[os.write(self._master, waiting) :]

    def _answer(self, command: int, data: bytes = b"", status: bytes = _OK, value: int = 0) -> None:
        # the ROM's status is followed by two reserved bytes
        body = data + status + (b"" if self.stub else b"\0\0")
        self._send(struct.pack("<BBHI", 1, command, len(body), value) + body)

    # -- commands

    def _command(self, frame: bytes) -> None:
        if len(frame) < 8 or frame[0] != 0:
            if self._reading is not None:
                self._acknowledged(frame)
            return
        _, command, _, checksum = struct.unpack_from("<BBHI", frame)
        data = frame[8:]
        self.commands.append(command)
        if command == _SYNC:
            for _ in range(8):
                self._answer(_SYNC, value=0 if self.stub else 0x20120707)
        elif command in (_FLASH_DATA, _DEFL_DATA, _MEM_DATA):
            self._data(command, data[16:], checksum)
        elif command in _SIMPLE:
            _SIMPLE[command](self, command, data)
        elif command in _STUB_ONLY and self.stub:
            _STUB_ONLY[command](self, command, data)
        else:
            self._answer(command, status=_UNKNOWN)

    def _data(self, command: int, data: bytes, checksum: int) -> None:
        folded = 0xEF
        for byte in data:
            folded ^= byte
        if folded != checksum & 0xFF:
            self._answer(command, status=_BAD_CHECKSUM)
            return
        if command == _FLASH_DATA:
            self._program(data)
        elif command == _DEFL_DATA:
            self._program(self._inflate.decompress(data))
        self._answer(command)

    def _program(self, data: bytes) -> None:
        data = self._spoil(self._at, data)[: len(self.flash) - self._at]
        end = self._at + len(data)
        old = int.from_bytes(self.flash[self._at : end], "little")
        self.flash[self._at : end] = (old & int.from_bytes(data, "little")).to_bytes(len(data), "little")
        self._at = end

    def _erase(self, offset: int, size: int) -> None:
        end = min(-(-(offset + size) // _SECTOR) * _SECTOR, len(self.flash))
        start = offset // _SECTOR * _SECTOR
        if size:
            self.flash[start:end] = b"\xff" * (end - start)

    def _begin(self, command: int, data: bytes) -> None:
        size, _, _, self._at = struct.unpack_from("<IIII", data)
        self._inflate = zlib.decompressobj()
        self._erase(self._at, size)  # the stub erases as it goes; what is erased in the end is the same
        self._answer(command)

    def _end(self, command: int, data: bytes) -> None:
        self._answer(command)
        if self.stub and struct.unpack_from("<I", data)[0] == 0:  # "reboot": back to the ROM
            self.stub = False

    def _mem_end(self, command: int, _: bytes) -> None:
        self._answer(command)
        self.stub = True
        self._send(b"OHAI")

    def _read_register(self, command: int, data: bytes) -> None:
        (address,) = struct.unpack_from("<I", data)
        self._answer(command, value=self._registers.get(address, 0))

    def _write_registers(self, command: int, data: bytes) -> None:
        for at in range(0, len(data) - 15, 16):
            address, value, mask, _ = struct.unpack_from("<IIII", data, at)
            self._registers[address] = self._registers.get(address, 0) & ~mask | value & mask
            if address == self.chip.spi:  # a command to the flash chip: done at once
                self._registers[address] = 0
                asked = self._registers.get(self.chip.spi + self.chip.usr2, 0) & 0xFF
                self._registers[self.chip.spi + self.chip.w0] = self._flash_id() if asked == _JEDEC else 0
        self._answer(command)

    def _flash_id(self) -> int:
        return 0xEF | 0x40 << 8 | (len(self.flash).bit_length() - 1) << 16

    def _security(self, command: int, _: bytes) -> None:
        if self.chip.chip_id is None:
            self._answer(command, status=_UNKNOWN)
        else:
            self._answer(command, struct.pack("<IB7BII", 0, 0, *[0] * 7, self.chip.chip_id, 0))

    def _md5(self, command: int, data: bytes) -> None:
        offset, size = struct.unpack_from("<II", data)
        found = hashlib.md5(self.flash[offset : offset + size])
        self._answer(command, found.digest() if self.stub else found.hexdigest().encode())

    def _read_slow(self, command: int, data: bytes) -> None:
        offset, size = struct.unpack_from("<II", data)
        self._answer(command, bytes(self.flash[offset : offset + size]).ljust(64, b"\0"))

    def _done(self, command: int, _: bytes) -> None:
        self._answer(command)

    # -- the stub's own

    _reading: tuple[int, int, int, int] | None = None

    def _erase_flash(self, command: int, _: bytes) -> None:
        self._erase(0, len(self.flash))
        self._answer(command)

    def _erase_region(self, command: int, data: bytes) -> None:
        self._erase(*struct.unpack_from("<II", data))
        self._answer(command)

    def _read_flash(self, command: int, data: bytes) -> None:
        offset, size, block, _ = struct.unpack_from("<IIII", data)
        self._answer(command)
        self._reading = (offset, size, block, 0)
        self._send_block()

    def _send_block(self) -> None:
        assert self._reading is not None
        offset, size, block, sent = self._reading
        piece = bytes(self.flash[offset + sent : offset + min(size, sent + block)])
        self._reading = (offset, size, block, sent + len(piece))
        self._send(piece)

    def _acknowledged(self, frame: bytes) -> None:
        assert self._reading is not None
        offset, size, _, sent = self._reading
        if struct.unpack("<I", frame)[0] != sent:
            return
        if sent < size:
            self._send_block()
            return
        self._reading = None
        self._send(hashlib.md5(self.flash[offset : offset + size]).digest())


def _take_frame(buffer: bytearray) -> bytes | None:
    """Take the first whole SLIP frame out of the buffer; None where there is none yet."""
    while True:
        start = buffer.find(_END)
        end = buffer.find(_END, start + 1)
        if start < 0 or end < 0:
            return None
        frame = bytes(buffer[start + 1 : end])
        del buffer[: end + 1 if frame else end]  # between two frames there may be two ends
        if frame:
            return frame.replace(bytes([_ESC]) + _ESC_END, b"\xc0").replace(bytes([_ESC]) + _ESC_ESC, b"\xdb")


_SIMPLE: Final[dict[int, Callable[[RomLoader, int, bytes], None]]] = {
    _FLASH_BEGIN: RomLoader._begin,
    _DEFL_BEGIN: RomLoader._begin,
    _FLASH_END: RomLoader._end,
    _DEFL_END: RomLoader._end,
    _MEM_BEGIN: RomLoader._done,
    _MEM_END: RomLoader._mem_end,
    _READ_REG: RomLoader._read_register,
    _WRITE_REG: RomLoader._write_registers,
    _SPI_ATTACH: RomLoader._done,
    _SPI_SET_PARAMS: RomLoader._done,
    _BAUD: RomLoader._done,
    _MD5: RomLoader._md5,
    _SECURITY: RomLoader._security,
    _READ_SLOW: RomLoader._read_slow,
}
_STUB_ONLY: Final[dict[int, Callable[[RomLoader, int, bytes], None]]] = {
    _ERASE_FLASH: RomLoader._erase_flash,
    _ERASE_REGION: RomLoader._erase_region,
    _READ_FLASH: RomLoader._read_flash,
}
