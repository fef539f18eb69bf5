"""The head of a bundle: for whom it is, which files follow, and the signature of who made it.

docs/updates.md lays the format out. A head may name a hundred files, so it is read from flash entry by entry. The
signature is RSA-3072, PKCS#1 v1.5 over SHA-256; `update.key` on the board is the modulus, 384 bytes, and came by cable.
"""

import asyncio
import sys
from binascii import unhexlify
from hashlib import sha256

from micropython import const

PRODUCT = "headwall-node"
_MAGIC = b"HWB1"
_KEY_BYTES = const(384)
_HEAD_MAX = const(16384)
_DIGEST_INFO = unhexlify("3031300d060960864801650304020105000420")  # RFC 8017, 9.2: what follows is a SHA-256


class Refused(Exception):
    """A bundle that this board does not take; the text says why."""


def chip():
    """This board's kind, as bundles name it: "esp32", "esp32s3", …; "linux" in simulation."""
    machine = sys.implementation._machine
    at = machine.rfind(" with ")  # "Generic ESP32 module with ESP32"
    return machine[at + 6 :].lower() if at >= 0 else sys.platform


def head_bytes(start):
    """Length of head and signature together, from the first bytes of the bundle."""
    length = start[4] << 8 | start[5] if len(start) > 5 and start[:4] == _MAGIC else 0
    if not 6 < length <= _HEAD_MAX:
        raise Refused("it is no bundle of Headwall's")
    return length + _KEY_BYTES


async def check(path, key_path, size):
    """See that the head in the file `path` is signed, and is for this board; gives the version it names."""
    with open(path, "rb") as file:
        length = head_bytes(file.read(6)) - _KEY_BYTES
        file.seek(0)
        digest = sha256()
        left = length
        while left:
            part = file.read(min(left, 256))
            digest.update(part)
            left -= len(part)
        await _verify(file.read(_KEY_BYTES), digest.digest(), key_path)
        file.seek(6)
        product, version, wanted = _text(file), _text(file), _text(file)
        mpy, told = file.read(1)[0], _number(file, 4)
    if product != PRODUCT:
        raise Refused("it is for %s, this is a %s" % (product, PRODUCT))
    if wanted != chip():
        raise Refused("it is for the chip %s, this board has %s" % (wanted, chip()))
    if mpy != sys.implementation._mpy & 0xFF:
        raise Refused(".mpy version %d, this MicroPython reads %d" % (mpy, sys.implementation._mpy & 0xFF))
    whole = length + _KEY_BYTES
    for name, part, _ in files(path):
        if name[:1] == "/" or ".." in name or not part:
            raise Refused("it has a file %s of %d bytes" % (name, part))
        whole += part
    if told != whole or told != size:
        raise Refused("wrong size: %d ordered, %d by its head, %d by its files" % (size, told, whole))
    return version


def files(path):
    """(path, size, SHA-256) of each file that a checked head names, one after the other."""
    with open(path, "rb") as file:
        file.seek(6)
        for _ in range(3):
            _text(file)
        file.read(5)
        for _ in range(_number(file, 2)):
            yield _text(file), _number(file, 4), file.read(32)


async def _verify(signature, digest, key_path):
    try:
        with open(key_path, "rb") as file:
            key = file.read()
    except OSError:
        raise Refused("this board has no %s: put it there by cable" % key_path)
    if len(key) != _KEY_BYTES or not key[0] & 0x80 or not key[-1] & 1:
        raise Refused("%s on this board is no key" % key_path)
    modulus = int.from_bytes(key, "big")
    signed = int.from_bytes(signature, "big")
    tail = b"\x00" + _DIGEST_INFO + digest
    wanted = b"\x00\x01" + b"\xff" * (_KEY_BYTES - 2 - len(tail)) + tail
    if signed >= modulus or (await _power(signed, modulus)).to_bytes(_KEY_BYTES, "big") != wanted:
        raise Refused("bad signature")


async def _power(base, modulus):
    """base ** 65537 % modulus, in 17 steps: all at once would keep tips waiting for most of a second on an ESP32."""
    power = base
    for _ in range(16):
        power = power * power % modulus
        await asyncio.sleep_ms(0)
    return power * base % modulus


def _text(file):
    return file.read(file.read(1)[0]).decode()


def _number(file, size):
    return int.from_bytes(file.read(size), "big")
