"""The custody message: the gateway's word that readings are durable, on which a node may erase them."""

from __future__ import annotations

import msgspec

from headwall.wire.contract import contract


class Custody(msgspec.Struct, frozen=True):
    """Every number up to `through` that is at or above the journal's floor is durable in the ledger.

    Attributes:
        v: version of the contract.
        boot, nonce: echo of the node's newest state; it acts on nothing else.
        ledger: id of the ledger; another one means that an older promise may not hold.
        time: UTC in milliseconds; the node may set its clock by it.
    """

    v: int
    boot: str
    nonce: str
    ledger: str
    jid: str
    through: int
    time: int


def custody_message(*, boot: str, nonce: str, ledger: str, jid: str, through: int, time_us: int) -> bytes:
    """The payload for topic kind "custody"."""
    return msgspec.json.encode(Custody(contract()["version"], boot, nonce, ledger, jid, through, time_us // 1000))
