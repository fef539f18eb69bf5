"""Commands for boards, kept until they are answered: queued, sent (again and again), then done, refused or expired."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec
import sqlalchemy as sa

from headwall.errors import UnknownThingError
from headwall.ledger import schema
from headwall.wire.command import check_command, command_message
from headwall.wire.reply import Reply

_C = schema.commands.c
_WAITING = ("queued", "sent")
#: of a node, only so many are under way, counted from the oldest without an answer: more would not fit its queue, and
#: it remembers twice as many as done (firmware: node.py, commands.py), so that none whose answer was lost is done again
WINDOW: Final = 4
CommandState = Literal["queued", "sent", "done", "refused", "expired"]


class Command(msgspec.Struct, frozen=True):
    """A row of `commands`.

    Attributes:
        name: its id on the wire.
        until_us: a board ignores it afterwards, and it is not sent any more.
        wanted: of an update, the newest offset that the board asked for.
        replied_us: when it was done or refused; of an update, when it was begun.
    """

    id: int
    name: str
    node: str
    do: str
    fields: dict[str, Any]
    by: str
    until_us: int
    state: CommandState
    sends: int
    sent_us: int | None
    why: str | None
    result: Any
    wanted: int | None
    replied_us: int | None
    at_us: int

    @property
    def payload(self) -> bytes:
        """As it goes to the board."""
        return command_message(id=self.name, do=self.do, until_us=self.until_us, fields=self.fields)

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it by itself."""
        return self.state not in _WAITING


_COLUMNS = [_C[name] for name in Command.__struct_fields__]


def queue(
    conn: sa.Connection, node: str, do: str, fields: Mapping[str, Any], *, by: str, until_us: int, now_us: int
) -> Command:
    """Note a command; the service sends it when the node can hear it.

    Raises:
        InputError: the node would not understand it.
    """
    check_command(do, fields)
    row = {"name": secrets.token_hex(4), "node": node, "do": do, "fields": dict(fields), "by": by, "until_us": until_us}
    conn.execute(schema.commands.insert().values(**row, state="queued", sends=0, at_us=now_us))
    return get(conn, row["name"])


def get(conn: sa.Connection, name: object) -> Command:
    """The command with this id; UnknownThingError if there is none."""
    row = conn.execute(sa.select(*_COLUMNS).where(_C.name == name)).first()
    if row is None:
        raise UnknownThingError(f"no command {name!r} in the ledger; see `headwall node show NODE`")
    return Command(*row)


def listed(conn: sa.Connection, node: str, limit: int) -> list[Command]:
    """The newest commands of a node, newest first."""
    query = sa.select(*_COLUMNS).where(_C.node == node).order_by(_C.id.desc()).limit(limit)
    return [Command(*row) for row in conn.execute(query)]


def waiting(conn: sa.Connection, nodes: Iterable[str]) -> list[Command]:
    """Unanswered commands of some nodes that may be under way, oldest first."""
    return _under_way(conn, _C.node.in_(list(nodes)))


def to_be_sent(conn: sa.Connection, before_us: int) -> list[Command]:
    """Those of nodes that are online that were not sent since an instant, oldest first."""
    s = schema.node_states.c
    online = sa.select(s.node).where(s.status == "online")
    found = _under_way(conn, _C.node.in_(online))
    return [command for command in found if command.sent_us is None or command.sent_us <= before_us]


def _under_way(conn: sa.Connection, of_nodes: sa.ColumnElement[bool]) -> list[Command]:
    """Unanswered commands, of each node those among the WINDOW that begins with its oldest one."""
    w = schema.commands.alias("unanswered").c
    oldest = sa.select(w.node, sa.func.min(w.id).label("id")).where(w.state.in_(_WAITING)).group_by(w.node).subquery()
    place = sa.func.row_number().over(partition_by=_C.node, order_by=_C.id).label("place")
    since = sa.and_(oldest.c.node == _C.node, oldest.c.id <= _C.id)
    placed = sa.select(*_COLUMNS, place).join_from(schema.commands, oldest, since).where(of_nodes).subquery()
    query = sa.select(*(placed.c[each.name] for each in _COLUMNS)).where(
        placed.c.place <= WINDOW, placed.c.state.in_(_WAITING)
    )
    return [Command(*row) for row in conn.execute(query.order_by(placed.c.id))]


def overdue(conn: sa.Connection, now_us: int) -> list[Command]:
    """Unanswered commands whose time is over."""
    query = sa.select(*_COLUMNS).where(_C.state.in_(_WAITING), _C.until_us <= now_us)
    return [Command(*row) for row in conn.execute(query)]


def mark_sent(conn: sa.Connection, command: Command, now_us: int) -> None:
    """Note that the broker was handed a command; one that was answered meanwhile stays so."""
    this = (_C.id == command.id, _C.state.in_(_WAITING))
    conn.execute(schema.commands.update().where(*this).values(state="sent", sends=_C.sends + 1, sent_us=now_us))


def mark_expired(conn: sa.Connection, command: Command) -> None:
    """Give up a command that was not answered in its time. A reply that comes later still counts."""
    this = (_C.id == command.id, _C.state.in_(_WAITING))
    conn.execute(schema.commands.update().where(*this).values(state="expired"))


def record(conn: sa.Connection, node: str, reply: Reply, now_us: int) -> bool:
    """Note a reply; False if the node got no such command. Any number of times: the first answer stands.

    A board answers an update with one reply when it begins and one for each piece that it wants; it may refuse
    later, when it has seen the bundle.
    """
    row = conn.execute(sa.select(*_COLUMNS).where(_C.name == reply.id, _C.node == node, _C.do == reply.do)).first()
    if row is None:
        return False
    command = Command(*row)
    values: dict[str, Any] = {}
    refused_later = command.do == "update" and command.state == "done" and not reply.ok
    if refused_later or command.state not in ("done", "refused"):
        values = {"state": "done" if reply.ok else "refused", "result": reply.result, "replied_us": now_us}
        values["why"] = None if reply.ok else (reply.why or "the board does not say why").replace("\0", " ")
    if reply.want is not None:
        values["wanted"] = reply.want
    if values:
        conn.execute(schema.commands.update().where(_C.id == command.id).values(values))
    return True
