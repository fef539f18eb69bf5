"""Photos and documents of the log book: files outside the chain, named by their SHA-256, which a row of it holds."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import log_book

KIND = "attachment"
#: a named person has disposed of the file of a row after its time
DISPOSAL = "disposal"
_MOST_BYTES = 64 * 1024 * 1024
#: how a file begins → how its name ends
_TYPES = {b"%PDF-": "pdf", b"\xff\xd8\xff": "jpg", b"\x89PNG\r\n\x1a\n": "png"}


@dataclass(frozen=True)
class Stored:
    """A file in the folder of attachments."""

    digest: str
    type: str
    size: int


def store(folder: Path, file: Path) -> Stored:
    """Copy a photo (JPEG, PNG) or a PDF into the folder, durable before the row that names it is committed.

    Raises:
        InputError: it cannot be read or written, is too large, or is of another type.
    """
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe or a device may have no end
            raise InputError(f"{file} is no file")
        if found.st_size > _MOST_BYTES:
            raise InputError(f"{file} has {found.st_size:,} bytes, more than the {_MOST_BYTES:,} that are taken")
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    kind = next((name for start, name in _TYPES.items() if data.startswith(start)), None)
    if kind is None:
        raise InputError(f"{file} is no JPEG, PNG or PDF; save it as one of them")
    stored = Stored(hashlib.sha256(data).hexdigest(), kind, len(data))
    try:
        _write(place(folder, stored.digest, kind), data)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}; see ledger.attachments") from None
    return stored


def place(folder: Path, digest: str, kind: str) -> Path:
    """Where the file of that SHA-256 is."""
    return folder / f"{digest}.{kind}"


def check(conn: sa.Connection, folder: Path) -> Iterator[log_book.Broken]:
    """Each attachment that is gone or no longer what it was, but for those that were redacted or disposed of."""
    let_go = {row.body["row"] for row in log_book.rows(conn, (log_book.REDACTION, DISPOSAL))}
    for row in log_book.rows(conn, (KIND,)):
        file = place(folder, row.body["digest"], row.body["type"])
        if not file.is_file():
            if row.n not in let_go:
                yield log_book.Broken(row.n, f"has lost its attachment: there is no {file}")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != row.body["digest"]:
            yield log_book.Broken(row.n, f"has an attachment that was changed: {file}")


def _write(target: Path, data: bytes) -> None:
    if target.is_file() and target.read_bytes() == data:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(".part")
    with draft.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
