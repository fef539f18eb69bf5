"""What the node says of itself: the state message, its nonce, and the faults it names."""

import os
from binascii import hexlify

from . import overlay, slots

#: the last will: the broker says it for a node that went without a word
OFFLINE = b'{"v":1,"status":"offline"}'


class Report:
    """What the state message says and when it is worth saying; state.py has the message itself.

    config_hash: of the configuration in force · config_error: why the last one received was refused, or None ·
    mode: "mains" or "battery" · reset: a word of the contract · faults: names of those that stand
    """

    def __init__(self, journal, clock, config_hash, mode, reset):
        self._journal = journal
        self._clock = clock
        self.faults = set()
        self.config_hash = config_hash
        self.config_error = None
        self.node = None  # node.Node, once there is one
        self._asked = 0  # how often somebody wanted another message
        self.mode = mode
        self.reset = reset
        self.new_nonce()

    def new_nonce(self):
        """From now on custody must echo this one: it proves that the gateway saw what was sent before it."""
        self.nonce = hexlify(os.urandom(8)).decode()

    def fault(self, name, present=True):
        """Name a standing fault, or take it back."""
        if present:
            self.faults.add(name)
        else:
            self.faults.discard(name)

    def again(self):
        """Somebody wants the state message once more."""
        self._asked += 1

    def material(self):
        """What is worth another state message when it changes."""
        return (
            self._journal.jid,
            self._clock.synced,
            self.config_hash,
            self.config_error,
            self._asked,
            self.node is not None and self.node.maintenance.left_ms > 0,
            tuple(sorted(self.faults)),
            slots.state["update"] and slots.state["update"]["state"],
        )

    def message(self, buf):
        """The state message as JSON text in `buf`, good as long as that is not used for another."""
        return overlay.call("state", "message", self, self._journal, self._clock, self.node, buf)
