"""What goes down to boards now. The ledger says what they are to have; this decides when a message is worth sending.

A board on a battery is there for seconds: what waits for it goes out in answer to its state. One on mains gets what
is new within a second or two, and again every half minute until it answers. Whatever was handed to a broker that lost
it, or to a board that slept, is sent again; boards do nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import sqlalchemy as sa

from headwall.clock import Clock
from headwall.downlink import commands, configs
from headwall.downlink.commands import Command
from headwall.downlink.configs import NodeConfig
from headwall.downlink.updates import bundle_data
from headwall.ledger.ledger import Ledger
from headwall.wire.command import update_piece
from headwall.wire.contract import topic
from headwall.wire.reply import Reply

_SECOND_US = 1_000_000
#: how often the ledger is looked at for what a person has entered, on the machine's own clock
_LOOK_S = 1.0
#: and, less often, for configurations that should be in force by now
_LOOK_AT_ALL_S = 60.0
_COMMAND_AGAIN_US = 30 * _SECOND_US
#: a configuration is published again to a board that says another one, at most so often
_CONFIG_AGAIN_US = 60 * _SECOND_US
_BUNDLES_HELD = 2


class Outgoing(msgspec.Struct, frozen=True):
    """A message for a board, and what it carries (None: a piece of an update, which the board asks for again)."""

    topic: str
    payload: bytes
    retain: bool = False
    carries: Command | NodeConfig | None = None


class Delivery:
    """Used by one thread, that of the connection to the broker."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._look_s = 0.0
        self._look_at_all_s = 0.0
        self._bundles: dict[str, bytes] = {}
        self._told: dict[str, str] = {}  # unanswered command → nonce of the state that it was sent in answer to

    def answer(self, online: Mapping[str, str], replies: Sequence[tuple[str, Reply]]) -> list[Outgoing]:
        """What boards that have just spoken are to have.

        Args:
            online: nonce of each node's newest state.
            replies: by node, already recorded.
        """
        wanting = [(node, reply) for node, reply in replies if reply.want is not None]
        for _, reply in replies:
            self._told.pop(reply.id, None)
        if online:
            self._look_s = 0.0  # one of them may be asleep again in a second
        if not online and not wanting:
            return []
        with self._ledger.read() as conn:
            going = [_config(each) for each in configs.not_in_force(conn, online, self._ago_us(_CONFIG_AGAIN_US))]
            for command in commands.waiting(conn, online):
                if self._told.get(command.name) != online[command.node] and command.until_us > self._clock.now_us():
                    self._told[command.name] = online[command.node]
                    going.append(_command(command))
            pieces = [self._piece(conn, node, reply) for node, reply in wanting]
        return going + [piece for piece in pieces if piece is not None]

    def due(self) -> list[Outgoing]:
        """What is to be sent without a word from a board; looks at most once a second."""
        if time.monotonic() < self._look_s:
            return []
        self._look_s = time.monotonic() + _LOOK_S
        with self._ledger.read() as conn:
            overdue = commands.overdue(conn, self._clock.now_us())
            going = [_config(each) for each in self._configs(conn)]
            going += [_command(each) for each in commands.to_be_sent(conn, self._ago_us(_COMMAND_AGAIN_US))]
        if overdue:
            with self._ledger.begin() as conn:
                for command in overdue:
                    commands.mark_expired(conn, command)
                    self._told.pop(command.name, None)
        gone = {command.id for command in overdue}
        return [each for each in going if not isinstance(each.carries, Command) or each.carries.id not in gone]

    def sent(self, messages: Iterable[Outgoing]) -> None:
        """Note what the broker was handed."""
        carried = [message.carries for message in messages if message.carries is not None]
        if not carried:
            return
        now_us = self._clock.now_us()
        with self._ledger.begin() as conn:
            for each in carried:
                if isinstance(each, Command):
                    commands.mark_sent(conn, each, now_us)
                else:
                    configs.mark_published(conn, each, now_us)

    def _configs(self, conn: sa.Connection) -> list[NodeConfig]:
        found = configs.unpublished(conn)
        if time.monotonic() >= self._look_at_all_s:
            self._look_at_all_s = time.monotonic() + _LOOK_AT_ALL_S
            found += configs.not_in_force(conn, None, self._ago_us(_CONFIG_AGAIN_US))
        return found

    def _ago_us(self, us: int) -> int:
        return self._clock.now_us() - us

    def _piece(self, conn: sa.Connection, node: str, reply: Reply) -> Outgoing | None:
        name = str(commands.get(conn, reply.id).fields["bundle"])
        data = self._bundles.get(name) or bundle_data(conn, name)
        assert reply.want is not None
        if data is None or reply.want >= len(data):
            return None  # it has all of it
        self._bundles[name] = data
        while len(self._bundles) > _BUNDLES_HELD:
            del self._bundles[next(iter(self._bundles))]
        return Outgoing(topic(node, "update"), update_piece(name, data, reply.want))


def _config(config: NodeConfig) -> Outgoing:
    return Outgoing(topic(config.node, "config"), config.payload, retain=True, carries=config)


def _command(command: Command) -> Outgoing:
    return Outgoing(topic(command.node, "command"), command.payload, carries=command)
