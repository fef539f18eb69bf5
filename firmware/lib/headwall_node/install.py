"""Judges a bundle that was pulled, and puts its files into the slot that does not run; then that version is on trial.

Runs at start, before the node is built: only then is there memory for it, and it is forgotten with the reset that
follows. Signature, chip, size and every hash are checked, each file is read back, and only then is slots.json changed.
Power may fail anywhere: the next start begins again, and a file that is there and right stays.

docs/updates.md lays the bundle out. The signature is RSA-3072, PKCS#1 v1.5 over SHA-256; `update.key` on the board is
the modulus, 384 bytes, and came by cable.
"""

import os
import sys
from binascii import unhexlify
from hashlib import sha256

from micropython import const

from . import log, slots
from .chip import chip
from .order import save
from .update import BUNDLE

PRODUCT = "headwall-node"
KEY = "update.key"
_MAGIC = b"HWB1"
_KEY_BYTES = const(384)
_HEAD_MAX = const(16384)
_SPARE_BLOCKS = const(8)  # of flash, for folders and settings
_ENOSPC = const(28)  # the port's errno names it not
_DIGEST_INFO = unhexlify("3031300d060960864801650304020105000420")  # RFC 8017, 9.2: what follows is a SHA-256


class Refused(Exception):
    """A bundle that this board does not take; the text says why."""


def install():
    """Put the bundle on trial or refuse it; the board must start anew then. Never raises."""
    try:
        with open(BUNDLE, "rb") as file:
            version = _install(file, slots.state["update"])
        why = save(version=version, state="trial")
    except Refused as error:
        why = str(error)
    except OSError as error:
        why = "no room: the flash is full" if error.errno == _ENOSPC else "flash: %s" % error
    except Exception as error:
        why = "%s: %s" % (type(error).__name__, error)
    try:
        os.remove(BUNDLE)  # where power goes before, headwall_start does it
    except OSError:
        pass
    if why:
        log.warn("update", "refused: " + why)
        save(state="refused", why=why[:200])


def _install(file, order):
    """Check the head, write the files; gives the version."""
    start = file.read(6)
    head = start[4] << 8 | start[5] if start[:4] == _MAGIC and len(start) == 6 else 0
    if not 6 < head <= _HEAD_MAX:
        raise Refused("it is no bundle of Headwall's")
    file.seek(0)
    digest = _digest(file, head)
    _verify(file.read(_KEY_BYTES), digest)
    file.seek(6)
    version = _judge(file, order, head + _KEY_BYTES)
    files = file.tell()
    slot = order["slot"]
    _prepare(slot, order["bundle"])
    _need_room(file, files, slot)
    at = head + _KEY_BYTES
    for path, size, wanted, back in _entries(file, files):
        path = slot + "/" + path
        if not _right(path, size, wanted):
            file.seek(at)
            _copy(file, path, size)
            if not _right(path, size, wanted):
                raise Refused("%s is not what the head says" % path)
            file.seek(back)
        at += size
    return version


def _verify(signature, digest):
    """Refused unless the owner of this board's key has signed."""
    try:
        with open(KEY, "rb") as file:
            key = file.read()
    except OSError:
        raise Refused("this board has no %s: put it there by cable" % KEY)
    if len(key) != _KEY_BYTES or not key[0] & 0x80 or not key[-1] & 1:
        raise Refused("%s on this board is no key" % KEY)
    tail = b"\x00" + _DIGEST_INFO + digest
    wanted = b"\x00\x01" + b"\xff" * (_KEY_BYTES - 2 - len(tail)) + tail
    modulus, signed = int.from_bytes(key, "big"), int.from_bytes(signature, "big")
    if signed >= modulus or pow(signed, 65537, modulus).to_bytes(_KEY_BYTES, "big") != wanted:
        raise Refused("bad signature")


def _judge(file, order, size):
    """Refused unless this board can run it and all of it is here; gives the version. `size`: of what is not files."""
    product, version, wanted = _text(file), _text(file), _text(file)
    mpy, told = file.read(1)[0], _number(file, 4)
    if product != PRODUCT:
        raise Refused("it is for %s, this is a %s" % (product, PRODUCT))
    if wanted != chip():
        raise Refused("it is for the chip %s, this board has %s" % (wanted, chip()))
    if mpy != sys.implementation._mpy & 0xFF:
        raise Refused(".mpy version %d, this MicroPython reads %d" % (mpy, sys.implementation._mpy & 0xFF))
    files = file.tell()
    for path, part, _, _ in _entries(file, files):
        if path[:1] == "/" or ".." in path:
            raise Refused("it has a file " + path)
        size += part
    file.seek(files)
    there = os.stat(BUNDLE)[6]
    if not order["size"] == told == size == there:
        said = (order["size"], told, size, there)
        raise Refused("wrong size: %d ordered, %d by its head, %d by its files, %d came" % said)
    return version


def _entries(file, at):
    """(path, size, SHA-256, where to go on) of each file that the head names from `at`; read one by one."""
    file.seek(at)
    for _ in range(_number(file, 2)):
        path, size, digest = _text(file), _number(file, 4), file.read(32)
        yield path, size, digest, file.tell()


def _prepare(slot, bundle):
    """Empty the slot unless it holds files of this bundle; its `name` tells."""
    name = slot + "/name"
    try:
        with open(name) as file:
            if file.read() == bundle:
                return
    except OSError:  # empty, or half emptied
        pass
    _empty(slot)
    os.mkdir(slot)
    with open(name, "w") as file:
        file.write(bundle)


def _need_room(file, files, slot):
    stats = os.statvfs("/")
    blocks = _SPARE_BLOCKS
    for path, size, _, _ in _entries(file, files):
        try:
            there = os.stat(slot + "/" + path)[6] == size
        except OSError:
            there = False
        if not there:
            blocks += -(-size // stats[0])
    if blocks > stats[3]:
        raise Refused("no room: %d blocks of flash are needed, %d are free" % (blocks, stats[3]))


def _right(path, size, digest):
    """Whether a file is there, whole and sound."""
    try:
        with open(path, "rb") as file:
            return os.stat(path)[6] == size and _digest(file, size) == digest
    except OSError:  # not there
        return False


def _copy(file, path, size):
    for at in range(len(path)):
        if path[at] == "/":
            _make_folder(path[:at])
    buf = bytearray(512)
    with open(path, "wb") as out:
        while size:
            count = file.readinto(buf, min(size, len(buf)))
            out.write(memoryview(buf)[:count])
            size -= count


def _digest(file, size):
    found = sha256()
    while size:
        part = file.read(min(size, 512))
        if not part:
            break  # shorter than told: the hash will differ
        found.update(part)
        size -= len(part)
    return found.digest()


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


def _text(file):
    return file.read(file.read(1)[0]).decode()


def _number(file, size):
    return int.from_bytes(file.read(size), "big")
