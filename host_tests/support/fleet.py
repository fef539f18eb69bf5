"""A small registry and the messages of its boards, for tests that feed the gateway without boards."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from headwall.ingest.sorting import Message
from headwall.registry.model import RegistryFile
from headwall.registry.registry import Registry
from headwall.wire.contract import topic

#: 2026-06-10T00:00:00Z
T0 = 1_781_049_600_000_000
JID = "00112233445566aa"
BOOT = "00c0ffee"
NONCE = "0123456789abcdef"
MACS = {"gauge-a": "240ac4000001", "gauge-b": "240ac4000002"}


def registry(*nodes: str, streams: dict[str, str] | None = None, since: str = "2026-01-01") -> Registry:
    """A registry of one municipality with these nodes; `streams` are their datastreams by quantity."""
    return Registry(RegistryFile.model_validate(tomllib.loads(registry_toml(*nodes, streams=streams, since=since))))


def registry_toml(*nodes: str, streams: dict[str, str] | None = None, since: str = "2026-01-01") -> str:
    """The same as a registry.toml."""
    return """
sites = []
[[municipalities]]
id = "elmsford"
name = "Village of Elmsford"
profile = "elmsford"
[[people]]
id = "ines"
name = "Ines"
email = "ines@example.org"
""" + "".join(_node(node, streams or {"rain.tips": "tips", "tank.level": "level"}, since) for node in nodes or MACS)


def _node(node: str, streams: dict[str, str], since: str) -> str:
    head = f"""
[[nodes]]
id = "{node}"
mac = "{MACS[node]}"
from = {since}
place = "by the shed"
legal_basis = "municipal_land"
legal_reference = "none"
installer = "ines"
"""
    return head + "".join(
        f"""
[[nodes.datastreams]]
name = "{name}"
quantity = "{quantity}"
from = {since}
{'tip = "0.01 in"' if quantity == "tips" else ""}
"""
        for name, quantity in streams.items()
    )


def pack(seq: int, count: int = 1, *, node: str = "gauge-a", jid: str = JID, **change: Any) -> bytes:
    """A pack of tips numbered from `seq`, one a second before T0; `change` alters the first record."""
    start_s = T0 // 1_000_000 - 100_000
    first: dict[str, Any] = {"bn": f"urn:dev:mac:{MACS[node]}:rain.tips", "bu": "count", "bt": start_s, "jid": jid}
    first |= {"seq": seq, "t": seq, "v": 1, "s": seq, **change}
    rest = [{"t": n, "v": 1, "s": n} for n in range(seq + 1, seq + count)]
    return json.dumps([{key: value for key, value in first.items() if value is not None}, *rest]).encode()


def state(*, floor: int = 1, next: int = 1, jid: str = JID, boot: str = BOOT, nonce: str = NONCE, **more: Any) -> bytes:
    """An online state with one journal."""
    body = {"v": 1, "status": "online", "fw": "0.1.0", "boot": boot, "nonce": nonce, "uptime_s": 5}
    body |= {"journals": [{"jid": jid, "floor": floor, "next": next}], "reset": "power_on", "heap_free": 60000}
    return json.dumps({**body, "config": "ab", "synced": True, "time": T0 // 1000, "mode": "mains", **more}).encode()


def message(
    payload: bytes, kind: str = "tele", *, node: str = "gauge-a", at_us: int = T0, retain: bool = False
) -> Message:
    return Message(topic(node, kind), payload, at_us, retain)
