"""In MicroPython: journal and packs at work, to find the smallest heap in which that passes. Flash lies in a file."""

from headwall_node.journal import Journal
from headwall_node.senml import Pack

SECTORS = 64
BLANK = b"\xff" * 256


class NVS:
    kept = None

    def get_blob(self, key, buf):
        if self.kept is None:
            raise OSError(-4354)
        buf[:] = self.kept

    def set_blob(self, key, value):
        self.kept = bytes(value)

    def commit(self):
        pass


class Flash:
    def __init__(self):
        self.file = open("flash.bin", "w+b")
        for sector in range(SECTORS):
            self.ioctl(6, sector)

    def readblocks(self, block, buf, offset=0):
        self.file.seek(block * 4096 + offset)
        self.file.readinto(buf)

    def writeblocks(self, block, buf, offset):
        self.file.seek(block * 4096 + offset)
        self.file.write(buf)

    def ioctl(self, op, arg=0):
        if op == 6:
            self.file.seek(arg * 4096)
            for _ in range(16):
                self.file.write(BLANK)
        return {4: SECTORS, 5: 4096}.get(op, 0)


flash, nvs = Flash(), NVS()
journal = Journal(flash, nvs, b"uid")
for i in range(9000):
    journal.append_tip("rain.tips", 1781000000000 + i * 61007, None, None)
journal = Journal(flash, nvs, b"uid")
pack, seq = Pack("240ac4000001"), journal.floor
while seq < journal.next:
    pack.begin(journal.jid)
    for record in journal.read(seq, 200):
        if not pack.add(record):
            break
    seq += pack.count
    pack.payload()
print("passed", seq)
