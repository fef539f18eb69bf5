"""Cuts power at every flash operation of a settings update on a real LittleFS; prints what stood after each cut.

No exception is thrown into LittleFS: a snapshot with the operation half done is kept of each, and mounted later.
"""

import json
import os

import vfs
from flash import BLOCK, Flash
from headwall_node import config

OLD = json.dumps({"node": "old", "broker_host": "h", "sensors": [{"kind": "tipping_bucket", "pin": 4}]}).encode()
NEW = json.dumps({"node": "new", "broker_host": "h" * 200, "sensors": [{"kind": "tipping_bucket", "pin": 4}]}).encode()


class Recorder(Flash):
    """Keeps a snapshot of the flash as each operation would leave it if the power went half-way."""

    def __init__(self, image):
        super().__init__(len(image) // BLOCK, None, image)
        self.torn = []

    def writeblocks(self, block, buf, offset=None):
        if offset is not None:
            half = bytearray(self.image)
            at = block * BLOCK + offset
            half[at : at + len(buf) // 2] = bytes(buf)[: len(buf) // 2]
            self.torn.append(bytes(half))
        super().writeblocks(block, buf, offset)

    def ioctl(self, op, arg=0):
        if op == 6:
            for at in (arg * BLOCK, arg * BLOCK + BLOCK // 2):
                half = bytearray(self.image)
                half[at : at + BLOCK // 2] = b"\xff" * (BLOCK // 2)
                self.torn.append(bytes(half))
        return super().ioctl(op, arg)


def on(image, act):
    """Do `act` with the image mounted; returns its result and the recorder."""
    flash = Recorder(image)
    vfs.mount(vfs.VfsLfs2(flash), "/board")
    os.chdir("/board")
    result = act()
    os.chdir("/")
    vfs.umount("/board")
    return result, flash


def update():
    assert config.store(NEW) == []
    settings, _, faults = config.load()
    assert faults == [] and settings["node"] == "new"


def found():
    settings, digest, faults = config.load()
    assert faults == [] and digest == config.config_hash(OLD if settings["node"] == "old" else NEW), faults
    return settings["node"]


blank = Flash(16)
vfs.VfsLfs2.mkfs(blank)
_, before = on(bytes(blank.image), lambda: (config.store(OLD), config.load()))
_, whole = on(bytes(before.image), update)
seen = []
for image in whole.torn:
    node, _ = on(image, found)
    seen.append(node)
    _, again = on(image, update)
    for second in again.torn:
        on(second, found)
print("held", len(whole.torn), *seen)
