"""Pulls the bundle that was ordered, piece by piece, into a file. install.py judges it at the next start.

Each piece is on flash before the next is asked for, so that the pull goes on where it was after a lost connection or a
reset. A node with a bundle to pull has little memory to spare for this; one without does without it.
"""

import json
import os
from binascii import hexlify
from time import ticks_add, ticks_ms

from . import slots

BUNDLE = "update.bundle"
PIECE_MS = 10000  # how long to wait for a piece
QUIET_MS = 600000  # after some that did not come: the gateway cannot just now


def loaded():
    """How many bytes of the bundle are here."""
    try:
        return os.stat(BUNDLE)[6]
    except OSError:  # none yet
        return 0


class Update:
    """The session calls connected() once, receive() for each piece, and ask() when `due` (a tick) has come."""

    def __init__(self):
        self.connected()

    def connected(self):
        """A new connection: whatever was asked before is lost."""
        self.due = ticks_ms()
        self._silent = 0  # questions in a row without a piece

    def busy(self):
        """Whether a piece is expected soon: the board must not sleep."""
        return self._silent < 3 and not slots.restart

    def receive(self, payload):
        """A piece from the gateway: 8 bytes that name the bundle, 4 of offset, then what stands there."""
        order = slots.state["update"]
        if slots.restart or not payload or hexlify(payload[:8]).decode() != order["bundle"]:
            return
        if int.from_bytes(payload[8:12], "big") != loaded():
            return  # a piece that was asked for twice
        try:
            with open(BUNDLE, "ab") as file:
                file.write(payload[12:])
        except OSError as error:  # the flash is full
            os.remove(BUNDLE)
            from .order import save

            save(None, "the update is refused", state="refused", why="flash: %s" % error)
        self.connected()
        if loaded() >= order["size"]:
            slots.restart = "a bundle is to be installed"

    def ask(self):
        """The reply that asks for the next piece, or says that all of it is here."""
        self.due = ticks_add(ticks_ms(), PIECE_MS if self.busy() else QUIET_MS)
        self._silent += 1
        return json.dumps({"v": 1, "id": slots.state["update"]["id"], "do": "update", "ok": True, "want": loaded()})
