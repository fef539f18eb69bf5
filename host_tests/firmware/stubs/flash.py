"""NOR flash and NVS in RAM, with a power cut at a chosen operation. Programming can only clear bits."""

BLOCK = 4096


class PowerCut(Exception):
    pass


class Power:
    """Counts the operations of everything that it feeds; the `cut`-th one is done by half, then PowerCut."""

    def __init__(self, cut=0, torn_head=False):
        self.ops, self.cut, self.torn_head = 0, cut, torn_head

    def step(self):
        self.ops += 1
        if self.cut and self.ops > self.cut:
            raise PowerCut("no power")
        return self.ops == self.cut


class Flash:
    """Block device of `count` sectors (the calls of esp32.Partition; also serves VfsLfs2)."""

    def __init__(self, count, power=None, image=None):
        self.power = power or Power()
        self.image = bytearray(image) if image is not None else bytearray(b"\xff" * (count * BLOCK))
        self.count = count
        self.erases = self.programs = self.programmed = 0

    def readblocks(self, block, buf, offset=0):
        at = block * BLOCK + offset
        buf[:] = memoryview(self.image)[at : at + len(buf)]

    def writeblocks(self, block, buf, offset=None):
        if offset is None:
            self.ioctl(6, block)
            offset = 0
        assert offset + len(buf) <= BLOCK, "a program must not cross its sector"
        at = block * BLOCK + offset
        cut = self.power.step()
        length = len(buf) // 2 if cut else len(buf)
        for i in range(length):
            self.image[at + i] &= buf[i]
        self.programs += 1
        self.programmed += length
        if cut:
            raise PowerCut("program torn")
        assert self.image[at : at + length] == bytes(buf), "programmed over bits that were already clear"

    def ioctl(self, op, arg=0):
        if op == 4:
            return self.count
        if op == 5:
            return BLOCK
        if op == 6:
            cut = self.power.step()
            at, length = arg * BLOCK, BLOCK
            if cut:
                length //= 2
                at += 0 if self.power.torn_head else length
            self.image[at : at + length] = b"\xff" * length
            self.erases += 1
            if cut:
                raise PowerCut("erase torn")
        return 0


class NVS:
    """One namespace; a value counts when `commit` has returned. A cut commit leaves the old value."""

    def __init__(self, power=None, kept=None):
        self.power = power or Power()
        self.kept = dict(kept or {})
        self._new = {}
        self.commits = 0

    def get_blob(self, key, buf):
        if key not in self.kept:
            raise OSError(-4354, "ESP_ERR_NVS_NOT_FOUND")
        buf[:] = self.kept[key]
        return len(buf)

    def set_blob(self, key, value):
        self._new[key] = bytes(value)

    def commit(self):
        if self.power.step():
            raise PowerCut("commit cut")
        self.kept.update(self._new)
        self._new = {}
        self.commits += 1
