"""A ledger without rows as a file, made once: making one takes longer than many a test."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from headwall.ledger.ledger import Ledger


@cache
def empty_ledger() -> bytes:
    """The file of a ledger without rows."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "empty.db"
        Ledger.open(f"sqlite:///{file}").close()
        return file.read_bytes()
