"""mosquitto's files for Headwall: the access list, from the contract, and passwords, one account a node.

For an installation (`headwall certs acl`, `headwall certs passwords`) and for the brokers of demo and tests alike.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from headwall.errors import InputError
from headwall.wire.contract import TOPIC_ROOT, contract

from headwall_board.private_file import write_private


def acl_text(gateways: Sequence[str]) -> str:
    """mosquitto's ACL file: a node writes and reads its own tree, a gateway the other halves.

    %u is the account, so that a new node needs a password and no line here.
    """
    from_node = [kind for kind, spec in contract()["topics"].items() if spec["from"] == "node"]
    from_gateway = [kind for kind, spec in contract()["topics"].items() if spec["from"] == "gateway"]
    lines = [f"pattern write {TOPIC_ROOT}/%u/{kind}" for kind in from_node]
    lines += [f"pattern read {TOPIC_ROOT}/%u/{kind}" for kind in from_gateway]
    for gateway in gateways:
        lines.append(f"user {gateway}")
        lines += [f"topic read {TOPIC_ROOT}/+/{kind}" for kind in from_node]
        lines += [f"topic write {TOPIC_ROOT}/+/{kind}" for kind in from_gateway]
    return "\n".join(lines) + "\n"


def check_account(name: str, password: str) -> None:
    """Raises InputError for a name or password that the broker's files cannot hold."""
    for text in (name, password):
        if not text or any(character in text for character in ':"\\\r\n'):
            raise InputError(f"account {name!r}: names and passwords take no quotes, colons or line ends")


def hashed(password: str) -> str:
    """A password as mosquitto 2 stores it: PBKDF2 with SHA-512 (man mosquitto_passwd), type 7."""
    salt, rounds = secrets.token_bytes(12), 101
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, rounds)
    return f"$7${rounds}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


def write_passwords(file: Path, passwords: dict[str, str | None]) -> list[str]:
    """Set the passwords of accounts in a password file, or remove those of None; the others stay as they are.

    Returns:
        The accounts that the file has afterwards.

    Raises:
        InputError: a name or password that the file cannot hold, an account to remove that it does not have, or a
            file that is no password file.
    """
    kept = _read(file)
    for name, password in passwords.items():
        if password is None:
            if kept.pop(name, None) is None:
                raise InputError(f"{file} has no account {name!r}; it has: {', '.join(kept) or 'none'}")
            continue
        check_account(name, password)
        kept[name] = hashed(password)
    write_private(file, "".join(f"{name}:{value}\n" for name, value in kept.items()))
    return list(kept)


def _read(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    found: dict[str, str] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(r"([^:]+):(\$[67]\$\S+)", line)
        if match is None:
            raise InputError(f"{file}, line {number}, is no account of mosquitto's; was the file written by hand?")
        found[match[1]] = match[2]
    return found
