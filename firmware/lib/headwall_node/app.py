"""The start of the program: settings first, then the node that they describe."""

import asyncio
import gc

from . import log, settings

ROOM = 10240  # kept free in one piece, while the modules are loaded, for the buffers that the node takes then


def run():
    """What main.py calls. Returns only when there are no settings; a fault comes as an exception."""
    given, in_force, refused = settings.load()
    if given is None:
        log.error("settings", refused or "there are none")
        return
    room = bytearray(ROOM)
    from .node import Node  # only now: the check of the settings and the node do not fit the heap together

    del room
    gc.collect()
    node = Node(given, in_force, refused)
    try:
        asyncio.run(node.main())
    finally:
        node.retain()
