"""Pulls the bundle that was ordered into the slot that does not run, and puts it on trial once it is there and sound.

The head comes first and is judged before anything else is pulled. Then each file goes straight to its place and is read
back against its hash. A file that is there and right is not pulled again: after a reset the pull goes on with the file
that it was in. `name` in the slot says of which bundle; a slot of another one is emptied first.

Loaded at start, while the heap is whole, when a bundle is to be pulled; a node without one does without its memory.
"""

import asyncio
import gc
import json
import os
from binascii import unhexlify
from hashlib import sha256
from time import ticks_add, ticks_diff, ticks_ms

from micropython import const

from . import bundle, log, slots
from .order import save

KEY = "update.key"
_PIECE_MS = const(10000)  # how long to wait for a piece; doubled with each that did not come, up to _PIECE_MAX_MS
_PIECE_MAX_MS = const(640000)
_SPARE_BLOCKS = const(8)  # folders, and room for settings


class Update:
    """One for each start with a bundle to pull. The session calls connected(), receive(), and step() until it is over.

    over: whether nothing more is to be done
    """

    def __init__(self):
        self._slot = slots.state["update"]["slot"]
        self._id = unhexlify(slots.state["update"]["bundle"])
        self._want = None  # offset of the next piece; None: what is there was not looked at yet
        self._file = None
        self._path = self._hash = None  # of the file that is being written
        self._size = 0
        self._end = 0  # where it ends in the bundle; 0: not known yet
        self._files = None  # that are to come; None while the head is not there
        self.over = False
        self.connected()

    def connected(self):
        """A new connection: whatever was asked before is lost."""
        self._piece = None
        self._due = ticks_ms()
        self._silent = 0  # questions in a row without a piece

    def receive(self, payload):
        """A piece from the gateway; called from the MQTT client's reader."""
        if payload and payload[:8] == self._id and int.from_bytes(payload[8:12], "big") == self._want:
            self._piece = payload

    def busy(self):
        """Whether a piece is expected soon: the board must not sleep."""
        return self._silent < 3 and not self.over and not slots.restart

    def wait_ms(self):
        """How long nothing is due if no piece comes."""
        return max(1, ticks_diff(self._due, ticks_ms()))

    async def step(self, publish):
        """Do the one thing that is due, if any; True when something was done. publish: Uplink.publish."""
        if self.over or slots.restart:
            return False
        try:
            if not await self._work():
                return False
            why = None
        except asyncio.CancelledError:
            self._close()
            self._want = None  # look anew what is there
            raise
        except bundle.Refused as refused:
            why = str(refused)
        except OSError as error:
            why = "flash: %s" % error
        except MemoryError:
            why = "no memory"
        gc.collect()
        await self._tell(publish, why)
        return True

    async def _tell(self, publish, why):
        """Ask for the next piece, or say how it ended."""
        update = slots.state["update"]
        reply = {"v": 1, "id": update["id"], "do": "update", "ok": why is None}
        if why is None:
            reply["want"] = self._want
            self._due = ticks_add(ticks_ms(), min(_PIECE_MS << min(self._silent, 8), _PIECE_MAX_MS))
            self._silent += 1
        else:
            log.warn("update", "version %s is refused: %s" % (update["version"], why))
            save(state="refused", why=why[:200])
            self._close()
            self.over = True
            reply["why"] = why[:200]
        await publish("reply", json.dumps(reply))

    async def _work(self):
        """Whether there is something to tell: a piece is wanted, or the bundle is whole."""
        if self._want is None:
            await self._look()
        elif self._piece is not None:
            piece, self._piece = self._piece, None
            self._silent = 0
            await self._write(memoryview(piece)[12:])
        elif ticks_diff(self._due, ticks_ms()) > 0:
            return False
        if self._files is not None and self._file is None:
            why = save(None, "a new version is to be tried", state="trial")
            if why:
                raise bundle.Refused(why)
            self.over = True
        return True

    # ---- what is there

    async def _look(self):
        """Find out what the slot holds of this bundle, and so what is wanted next."""
        name = self._slot + "/name"
        if _read(name) != self._id:
            _empty(self._slot)
            os.mkdir(self._slot)
            with open(name, "wb") as file:
                file.write(self._id)
        try:
            await self._take_head()
        except (OSError, bundle.Refused):  # not there, or not whole
            self._files = None
            self._want = self._size = 0
            self._open("head")

    async def _take_head(self):
        """Judge the head that is in the slot, and go to the first file that is not there."""
        head = self._slot + "/head"
        version = await bundle.check(head, KEY, slots.state["update"]["size"])
        slots.state["update"]["version"] = version  # the signed word
        _need_room(self._slot, head)
        self._want = os.stat(head)[6]
        self._files = bundle.files(head)
        self._next()

    def _next(self):
        """Open the next file that is not there and right; none is open after the last."""
        for name, self._size, self._hash in self._files:
            if not _right(self._slot + "/" + name, self._size, self._hash):
                self._open(name)
                return
            self._want += self._size

    def _open(self, name):
        self._path = self._slot + "/" + name
        for at in range(len(self._path)):
            if self._path[at] == "/":
                _make_folder(self._path[:at])
        self._file = open(self._path, "wb")
        self._end = self._want + self._size

    def _close(self):
        if self._file is not None:
            self._file.close()
            self._file = None

    # ---- what comes

    async def _write(self, data):
        """Put a piece where it belongs: it may end one file and begin others."""
        if not self._end:
            self._end = bundle.head_bytes(data)
        at = self._want
        while data and self._file is not None and self._want == at:
            part = data[: self._end - at]
            self._file.write(part)
            at += len(part)
            self._want = at
            data = data[len(part) :]
            if at == self._end:
                await self._file_done()

    async def _file_done(self):
        self._close()
        if self._files is None:
            await self._take_head()
            return
        if not _right(self._path, self._size, self._hash):
            os.remove(self._path)
            raise bundle.Refused("%s is not what the head says" % self._path)
        self._next()


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # not there
        return None


def _right(path, size, digest):
    """Whether a file is there, whole and sound."""
    try:
        if os.stat(path)[6] != size:
            return False
        found = sha256()
        buf = bytearray(256)
        with open(path, "rb") as file:
            while True:
                count = file.readinto(buf)
                if not count:
                    break
                found.update(memoryview(buf)[:count])
    except OSError:  # not there
        return False
    return found.digest() == digest


def _need_room(slot, head):
    """Refused unless the flash has room for the files that are not there yet."""
    stats = os.statvfs("/")
    blocks = _SPARE_BLOCKS
    for name, size, _ in bundle.files(head):
        try:
            there = os.stat(slot + "/" + name)[6] == size
        except OSError:
            there = False
        if not there:
            blocks += -(-size // stats[0])
    if blocks > stats[3]:
        raise bundle.Refused("no room: %d blocks of flash are needed, %d are free" % (blocks, stats[3]))


def _empty(folder):
    """Remove a folder and all in it, if it is there."""
    try:
        found = list(os.ilistdir(folder))
    except OSError:
        return
    for entry in found:
        path = folder + "/" + entry[0]
        if entry[1] & 0x4000:
            _empty(path)
        else:
            os.remove(path)
    os.rmdir(folder)


def _make_folder(path):
    try:
        os.mkdir(path)
    except OSError:
        pass  # it is there; if not, opening the file will say so
