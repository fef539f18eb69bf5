"""What a node says of itself: the retained state message and its last will."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from headwall.wire.contract import SEQ_LIMIT, contract
from headwall.wire.errors import StateError
from headwall.wire.objects import json_object

_HEX8 = re.compile(r"[0-9a-f]{8}")
_HEX16 = re.compile(r"[0-9a-f]{16}")
#: no uptime nor time reaches it, and every JSON parser holds it exactly
_LIMIT = 2**53

_MOST_JOURNALS = 16


class JournalState(msgspec.Struct, frozen=True):
    """One journal of a node: it holds the numbers floor to next - 1."""

    jid: str
    floor: int
    next: int


class Anchor(msgspec.Struct, frozen=True):
    """At `uptime_ms` of boot `boot` it was `time_ms` UTC (on the wire a list of the three)."""

    boot: str
    uptime_ms: int
    time_ms: int


class NodeState(msgspec.Struct, frozen=True):
    """A state message that holds together. An offline one (the last will) carries the status alone.

    Attributes:
        body: the whole message, for those who show it.
    """

    status: str
    boot: str | None
    nonce: str | None
    journals: list[JournalState]
    anchors: list[Anchor]
    body: dict[str, Any]


class _Message(msgspec.Struct):
    v: int
    status: str
    boot: str | None = None
    nonce: str | None = None
    journals: list[JournalState] = []
    anchors: list[tuple[str, int, int]] = []


def parse_state(payload: bytes) -> NodeState:
    """The state that a payload of topic kind "state" tells.

    Raises:
        StateError: reasons too_large, not_json, bad_state.
    """
    body = json_object(payload, StateError, "bad_state")
    try:
        message = msgspec.convert(body, _Message)
    except msgspec.ValidationError as error:
        raise StateError("bad_state", str(error)) from None
    spec = contract()["state"]
    if message.v != contract()["version"] or message.status not in spec["status"]:
        raise StateError("bad_state", f"version {message.v} or status {message.status[:20]!r} is none of the contract")
    if message.status == "offline":
        return NodeState("offline", None, None, [], [], body)
    missing = [name for name in spec["online"] if name not in body]
    if missing:
        raise StateError("bad_state", f"an online state must say {', '.join(missing)}")
    anchors = [Anchor(*anchor) for anchor in message.anchors]
    _check(message, anchors)
    return NodeState("online", message.boot, message.nonce, message.journals, anchors, body)


def _check(message: _Message, anchors: list[Anchor]) -> None:
    if not _HEX8.fullmatch(message.boot or ""):
        raise StateError("bad_state", f"boot {message.boot!r} is not 8 hex digits")
    if not _HEX16.fullmatch(message.nonce or ""):
        raise StateError("bad_state", f"nonce {message.nonce!r} is not 16 hex digits")
    if len(message.journals) > _MOST_JOURNALS:
        raise StateError("bad_state", f"{len(message.journals)} journals; a node holds at most {_MOST_JOURNALS}")
    for journal in message.journals:
        if not _HEX16.fullmatch(journal.jid) or not 0 <= journal.floor <= journal.next < SEQ_LIMIT:
            raise StateError("bad_state", f"journal {journal.jid!r} with floor {journal.floor}, next {journal.next}")
    for anchor in anchors:
        if not _HEX8.fullmatch(anchor.boot) or not (0 <= anchor.uptime_ms < _LIMIT and 0 <= anchor.time_ms < _LIMIT):
            raise StateError("bad_state", f"anchor {anchor}")
