"""What a node answers to a command: done, refused, or which piece of an update it wants next."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from headwall.wire.contract import contract
from headwall.wire.errors import ReplyError
from headwall.wire.objects import json_object

_ID = re.compile(r"[0-9a-f]{8}")
#: no bundle reaches it: boards have 4 to 16 MB of flash
_MOST_WANTED = 2**32


class Reply(msgspec.Struct, frozen=True):
    """A reply that holds together.

    Attributes:
        ok: done (for an update: begun), or refused.
        why: of a refusal.
        result: what the command was to find out.
        want: the offset of the next piece of the update.
    """

    v: int
    id: str
    do: str
    ok: bool
    why: str | None = None
    result: Any = None
    want: int | None = None


def parse_reply(payload: bytes) -> Reply:
    """The reply in a payload of topic kind "reply".

    Raises:
        ReplyError: reasons too_large, not_json, bad_reply.
    """
    body = json_object(payload, ReplyError, "bad_reply")
    try:
        reply = msgspec.convert(body, Reply)
    except msgspec.ValidationError as error:
        raise ReplyError("bad_reply", str(error)) from None
    if reply.v != contract()["version"] or not _ID.fullmatch(reply.id) or reply.do not in contract()["command"]["do"]:
        said = f"version {reply.v}, id {reply.id[:20]!r} or do {reply.do[:20]!r} is none of the contract"
        raise ReplyError("bad_reply", said)
    if reply.want is not None and not (reply.do == "update" and reply.ok and 0 <= reply.want < _MOST_WANTED):
        raise ReplyError("bad_reply", f"want {reply.want} in a reply to {reply.do!r}")
    return reply
