"""The demo's folder: emptied before each run, so it must be the demo's own, and no other demo may run in it."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwall.errors import HeadwallError

#: says that everything beside it may be deleted; locked while a demo runs
MARK = ".headwall-demo"


@contextmanager
def own_folder(folder: Path) -> Iterator[None]:
    """Make the folder, or empty the one of an earlier demo, and keep others out of it.

    Raises:
        HeadwallError: it holds something else, is in use by another demo, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / MARK).exists() and any(folder.iterdir()):
            raise HeadwallError(f"{folder} holds files that are not the demo's and would be deleted: give --folder")
        lock = (folder / MARK).open("a")
    except OSError as error:
        raise HeadwallError(f"{folder} cannot be the demo's folder: {error.strerror}; give --folder") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HeadwallError(f"another demo runs in {folder}: end it, or give --folder") from error
        _empty(folder)
        yield


def _empty(folder: Path) -> None:
    for found in folder.iterdir():
        if found.is_dir() and not found.is_symlink():
            shutil.rmtree(found)
        elif found.name != MARK:
            found.unlink()
