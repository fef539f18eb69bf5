"""The start of the program, and its end."""

import asyncio
import gc

from micropython import const

from . import overlay

#: collect after so many bytes: the less garbage lies about, the fewer holes it leaves between what stays
_LOADING = const(1024)
_RUNNING = const(2048)


def run():
    """What main.py calls. Returns only when there are no settings; a fault comes as an exception."""
    gc.threshold(_LOADING)
    node = overlay.install("build", "start")
    if node is None:
        return
    gc.threshold(_RUNNING)
    try:
        asyncio.run(node.main())
    finally:
        node.retain()
