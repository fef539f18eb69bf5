"""What the wire decoders raise: always with a short stable reason, under which dead letters are kept and counted."""

from __future__ import annotations

from headwall.errors import HeadwallError


class WireError(HeadwallError):
    """A message that the contract does not allow.

    Attributes:
        reason: one word, at most 32 characters, e.g. "wrong_unit".
        detail: where and why, for a person.
    """

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")


class PackError(WireError):
    """A SenML pack that cannot be taken."""


class StateError(WireError):
    """A node's state message that cannot be taken."""


class ReplyError(WireError):
    """A node's reply that cannot be taken."""


class TopicError(WireError):
    """A topic outside the contract."""
