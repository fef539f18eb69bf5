"""How nodes are doing, as far as the ledger can know."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from headwall.ledger import schema

Condition = Literal["online", "offline", "silent", "unclaimed"]


class NodeCondition(msgspec.Struct, frozen=True):
    """A node's condition.

    Attributes:
        condition: "silent" where it claims to be online but nothing has come for too long: a broker keeps
            the "online" of a node that lost its power for ever.
        last_heard_us: newest of its data and its own state messages.
        body: what it last said of itself, {} if nothing.
    """

    node: str
    condition: Condition
    last_heard_us: int
    last_data_us: int | None
    body: dict[str, Any]


def node_conditions(conn: sa.Connection, now_us: int, silent_after_us: int) -> list[NodeCondition]:
    """Every node that was ever heard of, judged by the age of what came from it."""
    rows = conn.execute(sa.select(schema.node_states).order_by(schema.node_states.c.node))
    return [_condition(row, now_us, silent_after_us) for row in rows]


def _condition(row: sa.Row[Any], now_us: int, silent_after_us: int) -> NodeCondition:
    last_heard_us = max(row.received_us, row.last_data_us or 0)
    condition: Condition = row.status
    if condition == "online" and now_us - last_heard_us > silent_after_us:
        condition = "silent"
    return NodeCondition(row.node, condition, last_heard_us, row.last_data_us, row.body)
