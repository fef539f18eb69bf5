# The board's folder on the machine that simulates it; stays reachable when the board's own flash is mounted at "/".
import os

import vfs

_folder = vfs.VfsPosix(os.getenv("SIM_FOLDER"))
_folder.mount(False, False)


def open(name, mode):
    return _folder.open("/" + name, mode)


def rename(old, new):
    # Relative to the process's own folder, which is the same: VfsPosix builds both absolute paths in one buffer.
    _folder.rename(old, new)


def open_flat(name, size=0):
    # A file of at least `size` bytes, filled with zeros, for reading and writing in place.
    try:
        file = open(name, "r+b")
    except OSError:
        open(name, "wb").close()
        file = open(name, "r+b")
    missing = size - file.seek(0, 2)
    if missing > 0:
        file.write(bytes(missing))
    file.seek(0)
    return file
