"""What the node says of itself: the state message, its nonce, and the faults it names."""

import gc
import json
import os
from binascii import hexlify

from . import VERSION, settings, slots

#: the last will: the broker says it for a node that went without a word
OFFLINE = b'{"v":1,"status":"offline"}'


class Report:
    """The state message. `extra` is called for the optional fields that others know (battery_v, counts and so on).

    config_hash: of the configuration in force · config_error: why the last one received was refused, or None ·
    mode: "mains" or "battery" · reset: one of contract.RESETS
    """

    def __init__(self, journal, clock, config_hash, mode, reset, extra=None):
        self._journal = journal
        self._clock = clock
        self._extra = extra
        self._faults = set()
        self.config_hash = config_hash
        self.config_error = None
        self.mode = mode
        self.reset = reset
        self.new_nonce()

    def new_nonce(self):
        """From now on custody must echo this one: it proves that the gateway saw what was sent before it."""
        self.nonce = hexlify(os.urandom(8)).decode()

    def fault(self, name, present=True):
        """Name a standing fault, or take it back."""
        if present:
            self._faults.add(name)
        else:
            self._faults.discard(name)

    def material(self):
        """What is worth another state message when it changes."""
        return (
            self._journal.jid,
            self._clock.synced,
            self.config_hash,
            self.config_error,
            tuple(sorted(self._faults)),
            slots.state["update"] and slots.state["update"]["state"],
        )

    def message(self):
        """The state message as JSON text."""
        gc.collect()
        said = {
            "v": 1,
            "status": "online",
            "fw": VERSION,
            "boot": self._clock.boot_id,
            "nonce": self.nonce,
            "journals": [{"jid": self._journal.jid, "floor": self._journal.floor, "next": self._journal.next}],
            "uptime_s": self._clock.uptime_ms() // 1000,
            "reset": self.reset,
            "heap_free": gc.mem_free(),
            "config": self.config_hash,
            "synced": self._clock.synced,
            "time": self._clock.utc_ms(),
            "mode": self.mode,
            "faults": sorted(self._faults),
            "counts": {"taken": self._journal.next - 1, "lost": self._journal.lost},
        }
        if self._clock.anchor is not None:
            said["anchors"] = [self._clock.anchor]
        if self.config_error is not None:
            said["config_error"] = self.config_error
            said["config_refused"] = settings.refused().get("hash")  # none: the file was put there by cable
        if slots.state["update"]:
            said["update"] = slots.state["update"]
        if self._extra is not None:
            said.update(self._extra())
        return json.dumps(said)
