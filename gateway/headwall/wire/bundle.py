"""The head of a bundle: a new program for boards, signed, as docs/updates.md lays it out.

Boards check all of it themselves, the signature first (firmware: headwall_node/bundle.py). Here it is read to tell a
person what a file holds, and to refuse one that no board would take.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from headwall.errors import InputError

MAGIC: Final = b"HWB1"
PRODUCT: Final = "headwall-node"
#: of the signature: RSA-3072
SIGNATURE_BYTES: Final = 384
_PATH = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\.mpy")
_TEXT = re.compile(r"[\x21-\x7e]{1,32}")


@dataclass(frozen=True)
class BundleFile:
    """One file of a bundle: where it goes in a slot, its size, its SHA-256."""

    path: str
    size: int
    sha256: bytes


@dataclass(frozen=True)
class Head:
    """What stands before the files.

    Attributes:
        version: of the program.
        chip: which boards it is for, e.g. "esp32".
        mpy: the version of the .mpy files.
        size: of the whole bundle in bytes.
        files: in the order in which they follow.
    """

    version: str
    chip: str
    mpy: int
    size: int
    files: tuple[BundleFile, ...]
    product: str = PRODUCT

    def pack(self) -> bytes:
        """The bytes that are signed.

        Raises:
            InputError: a text or a path that boards would not take.
        """
        for name in ("product", "version", "chip"):
            if not _TEXT.fullmatch(getattr(self, name)):
                raise InputError(f"{name} {getattr(self, name)!r}: 1 to 32 printable characters without blanks")
        for file in self.files:
            if not _PATH.fullmatch(file.path) or len(file.path) > 100:
                raise InputError(f"{file.path}: a path in a bundle has small letters, digits, _ and / and ends in .mpy")
        body = b"".join(_text(text) for text in (self.product, self.version, self.chip))
        body += bytes([self.mpy]) + self.size.to_bytes(4, "big") + len(self.files).to_bytes(2, "big")
        for file in self.files:
            body += _text(file.path) + file.size.to_bytes(4, "big") + file.sha256
        return MAGIC + (len(MAGIC) + 2 + len(body)).to_bytes(2, "big") + body


@dataclass(frozen=True)
class Bundle:
    """A bundle that is whole.

    Attributes:
        name: 16 hex digits, the start of the SHA-256 of all of it: commands and pieces carry it.
    """

    name: str
    head: Head
    signed: bytes
    signature: bytes


def read_bundle(data: bytes, source: str) -> Bundle:
    """Take a bundle apart, and see that every file in it has the size and the hash that its head tells.

    The signature is not judged: that needs the key, which boards have.

    Raises:
        InputError: it is no bundle, or not a whole one; names `source`.
    """
    head_bytes = int.from_bytes(data[4:6], "big")
    if data[:4] != MAGIC or head_bytes > len(data) - SIGNATURE_BYTES:
        raise InputError(f"{source} is no bundle; make one with: headwall board bundle make")
    signed, signature = data[:head_bytes], data[head_bytes : head_bytes + SIGNATURE_BYTES]
    try:
        head = _read_head(signed)
        if head.pack() != signed:
            raise ValueError("bytes that no bundle has")
    except (ValueError, IndexError, InputError) as error:
        raise InputError(f"{source} has a damaged head: {error}") from None
    if head.size != len(data):
        raise InputError(f"{source} has {len(data)} bytes, and its head says {head.size}: copy it again")
    at = head_bytes + SIGNATURE_BYTES
    for file in head.files:
        if hashlib.sha256(data[at : at + file.size]).digest() != file.sha256:
            raise InputError(f"{source}: {file.path} in it is damaged: copy it again")
        at += file.size
    if at != len(data):
        raise InputError(f"{source} has {len(data) - at} bytes behind its last file")
    return Bundle(hashlib.sha256(data).hexdigest()[:16], head, signed, signature)


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode("ascii")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise ValueError("it ends early")
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def text(self) -> str:
        return self.take(self.number(1)).decode("ascii")


def _read_head(signed: bytes) -> Head:
    reader = _Reader(signed)
    reader.take(len(MAGIC) + 2)
    product, version, chip = reader.text(), reader.text(), reader.text()
    mpy, size, count = reader.number(1), reader.number(4), reader.number(2)
    files = tuple(BundleFile(reader.text(), reader.number(4), reader.take(32)) for _ in range(count))
    return Head(version, chip, mpy, size, files, product)
