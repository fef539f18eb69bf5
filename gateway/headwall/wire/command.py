"""Commands as a node takes them, and the pieces of an update."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headwall.errors import InputError
from headwall.wire.contract import contract

#: bytes of a bundle that go in one message
PIECE_BYTES: Final[int] = contract()["limits"]["update_bytes"]
_HEX16 = re.compile(r"[0-9a-f]{16}")
_SENSOR = re.compile(r"[a-z0-9][a-z0-9_]{0,30}")
_TEXT = re.compile(r"[\x20-\x7e]{1,32}")


def _number(low: int, high: int) -> tuple[str, Any]:
    said = f"a whole number from {low} to {high}"
    return said, lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _text(pattern: re.Pattern[str], said: str) -> tuple[str, Any]:
    return said, lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


_ON = ("true or false", lambda value: isinstance(value, bool))
#: do → field → what it must be, in words and as a test
FIELDS: Final[dict[str, dict[str, tuple[str, Any]]]] = {
    "state": {},
    "sample": {},
    "identify": {"seconds": _number(1, 600)},
    "calibrate": {"sensor": _text(_SENSOR, "the name of a sensor"), "count": _number(1, 80)},
    "maintenance": {"on": _ON, "minutes": _number(1, 1440)},
    "reboot": {},
    "update": {
        "bundle": _text(_HEX16, "16 hex digits"),
        "size": _number(1, 2**32 - 1),
        "version": _text(_TEXT, "1 to 32 characters"),
    },
}
#: fields that may be absent
_OPTIONAL: Final = {("maintenance", "minutes")}


def check_command(do: str, fields: Mapping[str, Any]) -> None:
    """See that a node would understand a command.

    Raises:
        InputError: it would not; says which field and what it must be.
    """
    if do not in FIELDS:
        raise InputError(f"no command {do!r}; there are {', '.join(FIELDS)}")
    known = FIELDS[do]
    for name in fields.keys() - known.keys():
        raise InputError(f"{do} takes no {name}; it takes {', '.join(known) or 'nothing'}")
    for name, (said, fits) in known.items():
        if name not in fields and (do, name) in _OPTIONAL:
            continue
        if not fits(fields.get(name)):
            raise InputError(f"{do} needs {name}, {said}, not {fields.get(name)!r}")


def command_message(*, id: str, do: str, until_us: int, fields: Mapping[str, Any]) -> bytes:
    """The payload for topic kind "command"; a node that knows the time refuses it after `until_us`."""
    head = {"v": contract()["version"], "id": id, "do": do, "until": until_us // 1000}
    return msgspec.json.encode({**head, **fields})


def update_piece(bundle: str, data: bytes, offset: int) -> bytes:
    """The payload for topic kind "update": what stands at `offset` of the bundle named by 16 hex digits."""
    return bytes.fromhex(bundle) + offset.to_bytes(4, "big") + data[offset : offset + PIECE_BYTES]
