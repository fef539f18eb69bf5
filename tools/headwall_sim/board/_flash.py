# The board's flash: one image, in it a region for files ("vfs") and one for the journal, with power that can fail.
#
# Programming can only clear bits; erasing sets 4 KiB to ones. Every program, erase and NVS commit is one operation.
# At operation number _link.fail_at, counted since the image was made, half of it is done and the power fails.
import os
import struct

import _host
import _link
import _pins
import micropython

BLOCK = 4096
#: of a 4 KiB sector, typical (W25Q32JV data sheet, AC characteristics: 45 ms, at most 400 ms)
_ERASE_US = int(os.getenv("SIM_ERASE_US"))
_BLANK = b"\xff" * 256

# in the file of counts, 64-bit numbers: all operations; then programs, bytes, erases of vfs and of journal; commits
OPERATIONS, PROGRAMS, BYTES, ERASES, COMMITS = 0, 1, 2, 3, 7
_counts_file = _host.open_flat("flash.counts", 64)
_raw = bytearray(_counts_file.read(64))
_counts = list(struct.unpack("<8q", _raw))
_image = _host.open("flash.bin", "r+b")


@micropython.viper
def _clear_bits(kept: ptr8, wanted: ptr8, size: int):  # noqa: F821 - a type of viper
    for i in range(size):
        kept[i] = kept[i] & wanted[i]


def fails_now():
    # Count one operation; True if the power fails in the middle of it.
    _counts[OPERATIONS] += 1
    return _counts[OPERATIONS] == _link.fail_at


def count(index, by=1):
    _counts[index] += by


def finish(failed):
    # Keep the counts; end the run where the power fails.
    struct.pack_into("<8q", _raw, 0, *_counts)
    _counts_file.seek(0)
    _counts_file.write(_raw)
    if failed:
        _link.end_of_process(ord("C"))


class Region:
    # A part of the image with the block calls of esp32.Partition.
    def __init__(self, label, first_block, blocks, base):
        self.label, self.blocks, self.start, self._base = label, blocks, first_block * BLOCK, base

    def readblocks(self, block, buf, offset=0):
        _image.seek(self.start + block * BLOCK + offset)
        _image.readinto(buf)

    def writeblocks(self, block, buf, offset=None):
        if offset is None:  # as the port does it: erase, then program
            for i in range(len(buf) // BLOCK):
                self._erase(block + i)
            offset = 0
        self._program(self.start + block * BLOCK + offset, memoryview(buf))

    def ioctl(self, op, arg):
        if op == 4:
            return self.blocks
        if op == 5:
            return BLOCK
        if op == 6:
            self._erase(arg)
        return 0

    def _program(self, at, data):
        fails = fails_now()
        if fails:
            data = data[: len(data) // 2]
        kept = bytearray(min(256, len(data)))
        for start in range(0, len(data), 256):
            part = data[start : start + 256]
            view = memoryview(kept)[: len(part)]
            _image.seek(at + start)
            _image.readinto(view)
            _clear_bits(view, part, len(part))
            _image.seek(at + start)
            _image.write(view)
        count(self._base + PROGRAMS)
        count(self._base + BYTES, len(data))
        finish(fails)

    def _erase(self, block):
        fails = fails_now()
        _image.seek(self.start + block * BLOCK)
        for _ in range(BLOCK // len(_BLANK) // (2 if fails else 1)):
            _image.write(_BLANK)
        count(self._base + ERASES)
        finish(fails)
        if _ERASE_US:
            _pins.blind_until(_link.now_us() + _ERASE_US)


_vfs_blocks, _journal_blocks = (int(n) for n in os.getenv("SIM_BLOCKS").split())
regions = {
    "vfs": Region("vfs", 0, _vfs_blocks, 0),
    "journal": Region("journal", _vfs_blocks, _journal_blocks, 3),
}
