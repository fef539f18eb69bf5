"""Cuts power at every flash operation of a whole update on a real LittleFS, and boots what is left until it rests.

The board's own main.py, headwall_start, slots, order, update and install run; around them is a node of a few lines
(update_app.py) in two versions, whose gateway is this script. Each operation is torn in the ways that flash has, the
image is mounted anew and booted as often as it resets; then the order is sent again where it had not come through.

Arguments: folder with the files of the board · bundle · update.key · what must stand at the end, e.g. "new confirmed" ·
the first operation that is cut · each so many-th from there on is.
"""

import gc
import json
import os
import sys
import time
from binascii import hexlify
from hashlib import sha256

import machine
import vfs

BLOCK = 4096
BLOCKS = 64


class Reset(BaseException):
    """The board starts anew; no `except Exception` of the program sees it."""


class Rest(BaseException):
    """Nothing is left to do."""


class Flash:
    """Block device over an image; `log` gets each operation as (offset, bytes) or, for an erase, (offset, None)."""

    def __init__(self, image):
        self.image = image
        self.log = []

    def readblocks(self, block, buf, offset=0):
        at = block * BLOCK + offset
        buf[:] = memoryview(self.image)[at : at + len(buf)]

    def writeblocks(self, block, buf, offset=0):
        at = block * BLOCK + offset
        self.log.append((at, bytes(buf)))
        apply(self.image, at, buf)

    def ioctl(self, op, arg=0):
        if op == 6:
            self.log.append((arg * BLOCK, None))
            apply(self.image, arg * BLOCK, None)
        return {4: BLOCKS, 5: BLOCK}.get(op, 0)


def apply(image, at, data, first=0, last=None):
    """One operation, or bytes `first` to `last` of it: programming clears bits, erasing sets a block to ones."""
    if data is None:
        last = BLOCK if last is None else last
        image[at + first : at + last] = b"\xff" * (last - first)
        return
    size = len(data) if last is None else last
    there = int.from_bytes(image[at : at + size], "big")
    image[at : at + size] = (there & int.from_bytes(data[:size], "big")).to_bytes(size, "big")


def torn(at, data):
    """The ways in which an operation can be half done, as arguments of apply()."""
    if data is None:
        return ((at, None, 0, BLOCK // 2), (at, None, BLOCK // 2, BLOCK))
    return ((at, data, 0, len(data) // 2),)


def reset():
    raise Reset


class Time:
    """The module time without waiting."""

    ticks_ms, ticks_add = time.ticks_ms, time.ticks_add

    @staticmethod
    def sleep(seconds):
        pass


class World:
    """What the node of update_app.py sees of the world around it."""

    Rest = Rest
    ran = []
    order = bundle = name = None


def boot():
    """One start, as the port makes it; whether the board then rests."""
    for module in [each for each in sys.modules if each.startswith("headwall_")]:
        del sys.modules[module]
    sys.path[:] = ["", ".frozen", "/lib"]
    gc.collect()
    try:
        exec(MAIN, {"__name__": "__main__"})
    except Reset:
        return False
    except Rest:
        return True


def settle(image, order):
    """Boot until the board rests, with `order` to be given or None; (what it rests in, operations)."""
    flash = Flash(image)
    vfs.mount(vfs.VfsLfs2(flash), "/")
    os.chdir("/")
    World.order = order
    rests = 0
    for _ in range(20):
        rests += boot()
        if rests == 2:  # what a version notes of itself is judged by the next start
            break
    else:
        raise Exception("it starts anew for ever: %s" % World.ran[-20:])
    try:
        with open("/slots.json") as file:
            update = json.load(file)["update"]["state"]
    except OSError:
        update = "none"
    left = [name for name in os.listdir("/") if name in ("slots.verdict", "update.bundle")]
    assert not left, "left behind: %s" % left
    vfs.umount("/")
    return World.ran[-1] + " " + update, flash.log


def read(path):
    with open(path, "rb") as file:
        return file.read()


def put(folder, files):
    """Blank flash with files on it."""
    image = bytearray(b"\xff" * (BLOCKS * BLOCK))
    vfs.VfsLfs2.mkfs(Flash(image))
    vfs.mount(vfs.VfsLfs2(Flash(image)), "/")
    for path, data in files:
        for at in range(1, len(path)):
            if path[at] == "/":
                try:
                    os.mkdir(path[:at])
                except OSError:
                    pass
        with open(path, "wb") as file:
            file.write(data)
    vfs.umount("/")
    return image


folder, bundle, key, wanted, first, every = sys.argv[1:]
names = ["headwall_start.mpy"] + ["headwall_node/" + name for name in os.listdir(folder + "/lib/headwall_node")]
files = [("/lib/" + name, read(folder + "/lib/" + name)) for name in names] + [("/update.key", read(key))]
World.bundle = read(bundle)
World.name = sha256(World.bundle).digest()[:8]
ORDER = {"id": "00c0ffee", "bundle": hexlify(World.name).decode(), "size": len(World.bundle), "version": "new"}
MAIN = compile(read(folder + "/main.py").decode(), "main.py", "exec")
machine.reset = reset
sys.modules["world"] = World
sys.modules["time"] = Time
vfs.umount("/")
start = put(folder, files)
assert settle(bytearray(start), None)[0] == "old none"
end, log = settle(bytearray(start), ORDER)
assert end == wanted, end
seen = {}
image = bytearray(start)
cuts = 0
for number, operation in enumerate(log):
    for half in torn(*operation) if number % int(every) == int(first) else ():
        cuts += 1
        cut = bytearray(image)
        apply(cut, *half)
        World.ran.clear()
        rests, _ = settle(cut, None)
        assert World.ran and rests in ("old none", wanted), (cuts, World.ran, rests)
        seen[rests] = seen.get(rests, 0) + 1
        again, _ = settle(cut, ORDER)
        assert again == wanted, (cuts, again)
    apply(image, *operation)
print("held", cuts, "cuts of", len(log), "operations;", " · ".join("%d %s" % (n, r) for r, n in sorted(seen.items())))
