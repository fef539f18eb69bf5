"""What nodes say of themselves, kept in `node_states` and `anchors`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import sqlalchemy as sa

from headwall.ingest.journals import Said
from headwall.ingest.sorting import JournalKey, Message, Sorted, Sorter
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.resolve import add_anchor
from headwall.wire.state import NodeState

#: unknown nodes that are listed; with an account each at the broker there can be no more than accounts
MOST_UNCLAIMED = 1_000


class Address(msgspec.Struct, frozen=True):
    """What a custody message must echo so that the node heeds it."""

    boot: str
    nonce: str


def hear(ledger: Ledger, conn: sa.Connection, sorter: Sorter, batch: Sorted) -> dict[JournalKey, Said]:
    """Write the batch's states; returns what the nodes said of their journals."""
    said: dict[JournalKey, Said] = {}
    for node, state, message in batch.states:
        _keep(conn, node, state, message)
        said.update({(node, j.jid): Said(j.floor, j.next) for j in state.journals})
        for anchor in state.anchors:
            time_us = anchor.time_ms * 1000
            wrong = sorter.in_window(time_us, message.received_us)
            if wrong is not None:
                batch.faults[node, "clock_wrong"] = f"an anchor of boot {anchor.boot} cannot be: {wrong}"
                continue
            add_anchor(
                ledger,
                conn,
                node=node,
                boot=anchor.boot,
                uptime_ms=anchor.uptime_ms,
                time_us=time_us,
                received_us=message.received_us,
            )
    return said


def note_data(conn: sa.Connection, heard_us: dict[str, int]) -> None:
    """Note when data came from claimed nodes: what tells a live node from a stale "online"."""
    table = schema.node_states
    for node, at_us in sorted(heard_us.items()):
        newest = sa.case((table.c.last_data_us > at_us, table.c.last_data_us), else_=at_us)
        claimed = sa.case((table.c.status == "unclaimed", "online"), else_=table.c.status)
        done = conn.execute(table.update().where(table.c.node == node).values(last_data_us=newest, status=claimed))
        if done.rowcount == 0:
            conn.execute(
                table.insert().values(node=node, status="online", body={}, received_us=at_us, last_data_us=at_us)
            )


def note_unclaimed(conn: sa.Connection, unclaimed: dict[str, dict[str, object]], now_us: int) -> set[str]:
    """List nodes that the registry does not know; they get no custody and so keep what they hold.

    Returns:
        those that are one too many to be listed.
    """
    if not unclaimed:
        return set()
    table = schema.node_states
    listed = sa.select(sa.func.count()).where(table.c.status == "unclaimed")
    room = MOST_UNCLAIMED - conn.execute(listed).scalar_one()
    left_out = set()
    for node, body in sorted(unclaimed.items()):
        heard: dict[str, object] = {"status": "unclaimed", "received_us": now_us, "boot": None, "nonce": None}
        if body:
            heard["body"] = body
        if conn.execute(table.update().where(table.c.node == node).values(heard)).rowcount:
            continue
        if room <= 0:
            left_out.add(node)
            continue
        conn.execute(table.insert().values({"node": node, "body": body, **heard}))
        room -= 1
    return left_out


def addresses(conn: sa.Connection, nodes: Iterable[str]) -> dict[str, Address]:
    """Where custody of each node goes; a node that has not yet spoken is left out."""
    c = schema.node_states.c
    wanted = sorted(set(nodes))
    found = {}
    for start in range(0, len(wanted), 500):
        query = sa.select(c.node, c.boot, c.nonce).where(c.node.in_(wanted[start : start + 500]), c.nonce.is_not(None))
        found.update({row.node: Address(row.boot, row.nonce) for row in conn.execute(query)})
    return found


def _keep(conn: sa.Connection, node: str, state: NodeState, message: Message) -> None:
    table = schema.node_states
    row = conn.execute(sa.select(table.c.body, table.c.status).where(table.c.node == node)).first()
    if row is not None and message.retain and row.status == state.status and row.body == state.body:
        return  # the broker's copy of what we know: it says nothing about now
    if state.status == "offline":  # the last will; what the node last said of itself stays
        heard: dict[str, object] = {"status": "offline"}
    else:
        heard = {"status": "online", "boot": state.boot, "nonce": state.nonce, "body": state.body}
    heard["received_us"] = message.received_us
    if row is None:
        conn.execute(table.insert().values({"node": node, "body": state.body, **heard}))
    else:
        conn.execute(table.update().where(table.c.node == node).values(heard))
