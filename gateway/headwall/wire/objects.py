"""One JSON object out of a payload: what state and reply begin with."""

from __future__ import annotations

from typing import Any

import msgspec

from headwall.wire.contract import PACK_BYTES
from headwall.wire.errors import WireError


def json_object(payload: bytes, error: type[WireError], reason: str) -> dict[str, Any]:
    """The object in a payload; `error` with too_large, not_json or `reason` for anything else."""
    if len(payload) > PACK_BYTES:
        raise error("too_large", f"{len(payload)} bytes; the contract allows {PACK_BYTES}")
    try:
        body = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as fault:
        raise error("not_json", str(fault)) from None
    if not isinstance(body, dict):
        raise error(reason, f"a JSON object is wanted, this is a {type(body).__name__}")
    return body
