"""Bundles that boards may ask for, and how far an update has come."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from headwall.downlink.commands import Command
from headwall.ledger import schema
from headwall.wire.bundle import Bundle

_B = schema.bundles.c
_C = schema.commands.c


class UpdateView(msgspec.Struct, frozen=True):
    """The newest update of a node.

    Attributes:
        state: waiting (for the board to hear of it), begun, expired; then what the board says: loading, trial,
            confirmed, refused, rolled_back.
        loaded, size: bytes that the board has, of how many; None where it was ordered elsewhere.
    """

    version: str
    state: str
    why: str
    loaded: int | None = None
    size: int | None = None
    by: str | None = None
    at_us: int | None = None


def keep_bundle(conn: sa.Connection, bundle: Bundle, data: bytes, by: str, now_us: int) -> None:
    """Take a bundle into the store; one that is there already stays."""
    if conn.execute(sa.select(_B.name).where(_B.name == bundle.name)).first() is None:
        row = {"name": bundle.name, "digest": hashlib.sha256(data).hexdigest(), "version": bundle.head.version}
        conn.execute(schema.bundles.insert().values(**row, size=len(data), data=data, by=by, at_us=now_us))


def bundle_data(conn: sa.Connection, name: str) -> bytes | None:
    """A whole bundle."""
    found = conn.execute(sa.select(_B.data).where(_B.name == name)).scalar()
    return None if found is None else bytes(found)


def update_views(conn: sa.Connection, bodies: Mapping[str, Any]) -> dict[str, UpdateView]:
    """How far the newest update of each node has come, by the order and by what the node says of itself."""
    newest = sa.select(sa.func.max(_C.id)).where(_C.do == "update").group_by(_C.node)
    columns = [_C[name] for name in Command.__struct_fields__]
    orders = [Command(*row) for row in conn.execute(sa.select(*columns).where(_C.id.in_(newest)))]
    views = {order.node: _ordered(order, _said(bodies.get(order.node))) for order in orders}
    for node, body in bodies.items():
        said = _said(body)
        if said and node not in views:
            views[node] = UpdateView(_text(said, "version"), _text(said, "state"), _text(said, "why"))
    return views


def _ordered(order: Command, said: dict[str, Any]) -> UpdateView:
    fields, size = order.fields, int(order.fields["size"])
    state = {"queued": "waiting", "sent": "waiting", "done": "begun"}.get(order.state, order.state)
    why = order.why or ""
    if said.get("bundle") == fields["bundle"] and order.state != "refused":
        state, why = _text(said, "state"), _text(said, "why")
    loaded = min(order.wanted or 0, size)
    return UpdateView(fields["version"], state, why, loaded, size, order.by, order.at_us)


def _said(body: Any) -> dict[str, Any]:
    said = body.get("update") if isinstance(body, dict) else None
    return said if isinstance(said, dict) else {}


def _text(said: Mapping[str, Any], key: str) -> str:
    return str(said.get(key) or "")[:400]
