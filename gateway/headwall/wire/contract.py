"""The wire contract as the gateway uses it, read from contract.json (see docs/contributor.md, "Payload")."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final


@cache
def contract() -> dict[str, Any]:
    """The whole contract as plain data."""
    text = files(__package__).joinpath("contract.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


TOPIC_ROOT: Final[str] = contract()["topic_root"]
UNIT_OF: Final[dict[str, str]] = {name: spec["unit"] for name, spec in contract()["quantities"].items()}
NULL_REASONS: Final[frozenset[str]] = frozenset(contract()["null_reasons"])
PACK_BYTES: Final[int] = contract()["limits"]["pack_bytes"]
PACK_RECORDS: Final[int] = contract()["limits"]["pack_records"]
#: no journal reaches it: a reading a second for 34,000 years. Sums of gaps stay far from what a database can add up.
SEQ_LIMIT: Final = 2**40


def topic(node: str, kind: str) -> str:
    """The topic of one kind of the contract for one node."""
    if kind not in contract()["topics"]:
        raise ValueError(f"no topic kind {kind!r} in the contract")
    return f"{TOPIC_ROOT}/{node}/{kind}"
