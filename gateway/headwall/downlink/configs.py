"""Configurations for boards: every version is kept, the newest of a node is the one it is to have.

A board names the configuration in force by its hash. So what became of the newest one follows from the state: the
same hash means applied; `config_refused` with this hash means refused, with the reason in `config_error`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from headwall.ledger import schema

_C = schema.node_configs.c
_Newer = schema.node_configs.alias("newer")
_IS_NEWEST = _C.version == (
    sa.select(sa.func.max(_Newer.c.version)).where(_Newer.c.node == _C.node).correlate(schema.node_configs)
).scalar_subquery()  # fmt: skip
ConfigState = Literal["pending", "applied", "refused"]


class NodeConfig(msgspec.Struct, frozen=True):
    """One version of a node's configuration, as the bytes that it gets."""

    node: str
    version: int
    hash: str
    payload: bytes
    by: str
    published_us: int | None
    at_us: int

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration as data."""
        found: dict[str, Any] = msgspec.json.decode(self.payload)
        return found


class ConfigView(msgspec.Struct, frozen=True):
    """The newest configuration of a node and what became of it; `why` of a refusal."""

    version: int
    state: ConfigState
    why: str
    by: str
    at_us: int


_COLUMNS = [_C[name] for name in NodeConfig.__struct_fields__]


def config_hash(payload: bytes) -> str:
    """16 hex digits by which a node names these bytes."""
    return hashlib.sha256(payload).hexdigest()[:16]


def newest(conn: sa.Connection, node: str) -> NodeConfig | None:
    """The configuration that a node is to have; None if it never got one from here."""
    row = conn.execute(sa.select(*_COLUMNS).where(_C.node == node, _IS_NEWEST)).first()
    return None if row is None else NodeConfig(*row)


def by_hash(conn: sa.Connection, node: str, name: object) -> NodeConfig | None:
    """The version that a node names in its state; None where it did not come from here."""
    if not isinstance(name, str):
        return None
    query = sa.select(*_COLUMNS).where(_C.node == node, _C.hash == name).order_by(_C.version.desc())
    row = conn.execute(query).first()
    return None if row is None else NodeConfig(*row)


def add(conn: sa.Connection, node: str, version: int, payload: bytes, by: str, now_us: int) -> None:
    """Make `payload` what the node is to have; the service sends it."""
    row = {"node": node, "version": version, "hash": config_hash(payload), "payload": payload, "by": by}
    conn.execute(schema.node_configs.insert().values(**row, at_us=now_us))


def unpublished(conn: sa.Connection) -> list[NodeConfig]:
    """Newest configurations that the broker has not had yet."""
    query = sa.select(*_COLUMNS).where(_C.published_us.is_(None), _IS_NEWEST).order_by(_C.node)
    return [NodeConfig(*row) for row in conn.execute(query)]


def not_in_force(conn: sa.Connection, nodes: Iterable[str] | None, before_us: int) -> list[NodeConfig]:
    """Newest configurations that their nodes, online, have neither taken nor refused, last published before an instant.

    Args:
        nodes: only these; None: all.
    """
    s = schema.node_states.c
    query = (
        sa.select(*_COLUMNS, s.body)
        .join_from(schema.node_configs, schema.node_states, s.node == _C.node)
        .where(_IS_NEWEST, s.status == "online", _C.published_us <= before_us)
    )
    if nodes is not None:
        query = query.where(_C.node.in_(list(nodes)))
    found = [(NodeConfig(*row[:-1]), row.body) for row in conn.execute(query)]
    return [config for config, body in found if _state(config.hash, body)[0] == "pending"]


def mark_published(conn: sa.Connection, config: NodeConfig, now_us: int) -> None:
    """Note that the broker was handed a version."""
    this = (_C.node == config.node, _C.version == config.version)
    conn.execute(schema.node_configs.update().where(*this).values(published_us=now_us))


def config_views(conn: sa.Connection, bodies: Mapping[str, Any]) -> dict[str, ConfigView]:
    """What became of the newest configuration of each node that has one.

    Args:
        bodies: what nodes last said of themselves.
    """
    query = sa.select(_C.node, _C.version, _C.hash, _C.by, _C.at_us).where(_IS_NEWEST)
    views = {}
    for node, version, name, by, at_us in conn.execute(query):
        state, why = _state(name, bodies.get(node))
        views[node] = ConfigView(version, state, why, by, at_us)
    return views


def _state(name: str, body: Any) -> tuple[ConfigState, str]:
    said = body if isinstance(body, dict) else {}
    if said.get("config") == name:
        return "applied", ""
    if said.get("config_refused") == name:
        return "refused", str(said.get("config_error") or "the board does not say why")
    return "pending", ""
