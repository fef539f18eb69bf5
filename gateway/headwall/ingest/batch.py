"""A batch of messages into the ledger, all or nothing, and the custody that it earns."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from headwall.clock import Clock
from headwall.downlink import commands
from headwall.ingest import nodes
from headwall.ingest.dead_letters import DeadLetter, mark_taken
from headwall.ingest.journals import settle
from headwall.ingest.nodes import Address
from headwall.ingest.sorting import JournalKey, Message, Sorted, Sorter, conflict_letter, whole
from headwall.ledger import dead_letters
from headwall.ledger.append import append_readings
from headwall.ledger.dead_letters import Letter
from headwall.ledger.ledger import Ledger
from headwall.registry.registry import Registry
from headwall.settings import IngestSettings
from headwall.wire.contract import topic
from headwall.wire.custody import custody_message
from headwall.wire.reply import Reply
from headwall.wire.senml import decode


class Custody(msgspec.Struct, frozen=True):
    """A custody message that is due: every number of the journal up to `through` is durable."""

    node: str
    jid: str
    through: int
    address: Address


class Outcome(msgspec.Struct):
    """What became of a batch. Everything in it is committed.

    Attributes:
        stored: new readings.
        duplicates: readings that the ledger held already.
        letters: dead letters, those seen before included.
        custody: due messages, one a journal.
        faults: what somebody must mend, by node and name, with a detail.
        online: nonce of the newest state of each node that said one.
        replies: to commands, by node.
    """

    stored: int
    duplicates: int
    letters: list[Letter]
    custody: list[Custody]
    faults: dict[tuple[str, str], str]
    online: dict[str, str]
    replies: list[tuple[str, Reply]]


class Intake:
    """The way into the ledger for what nodes send; needs no broker."""

    def __init__(self, ledger: Ledger, registry: Registry, settings: IngestSettings, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._sorter = Sorter(registry, settings)

    def store(self, messages: list[Message]) -> Outcome:
        """Store a batch in one transaction. Any number of times: re-sent messages change nothing.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the ledger did not take it; nothing of the batch is in it.
        """
        batch = self._sorter.sort(messages)
        with self._ledger.begin() as conn:
            outcome = self._write(conn, batch)
        self._ledger.announce()
        return outcome

    def store_as_letter(self, message: Message, reason: str, detail: str) -> None:
        """Keep a message whole as a dead letter, without looking into it."""
        with self._ledger.begin() as conn:
            dead_letters.keep(conn, [Letter(message.topic, message.payload, reason, detail, message.received_us)])

    def rerun(self, letter: DeadLetter) -> str:
        """Try to take a dead letter again, in a transaction of its own.

        What a node sent raw is looked into: it holds the record as it would have been sent (see firmware, senml).

        Returns:
            "taken", or the reason why it stays open. Records of a whole message that are refused again become
            dead letters of their own, under their numbers.
        """
        batch = self._sorter.sort([_unwrapped(letter)])
        if letter.seq is not None and batch.numbers and _numbers(batch) != {(letter.node, letter.jid, letter.seq)}:
            return letter.reason  # raw bytes that are a pack, but of something else
        refused = next((each.reason for each in batch.letters if each.seq is None or letter.seq is not None), None)
        if refused is not None or batch.unclaimed:
            return refused or "unknown_node"
        batch.states.clear()  # later ones have taken its place
        with self._ledger.begin() as conn:
            if self._unknown_replies(conn, batch):
                return "unknown_command"
            if letter.seq is not None and self._conflicts(conn, batch):
                return "identity_conflict"
            self._write(conn, batch)
            mark_taken(conn, letter)
        self._ledger.announce()
        return "taken"

    def custody_payload(self, due: Custody) -> tuple[str, bytes]:
        """Topic and payload of a custody message."""
        payload = custody_message(
            boot=due.address.boot,
            nonce=due.address.nonce,
            ledger=self._ledger.id,
            jid=due.jid,
            through=due.through,
            time_us=self._clock.now_us(),
        )
        return topic(due.node, "custody"), payload

    def _write(self, conn: sa.Connection, batch: Sorted) -> Outcome:
        now_us = self._clock.now_us()
        self._ledger.take_positions(conn, 0)  # one writer at a time from here on, on any database
        stored = append_readings(self._ledger, conn, batch.readings)
        for index in stored.conflicts:
            reading = batch.readings[index]
            letter = conflict_letter(reading, *batch.origins[index])
            batch.letters.append(letter)
            batch.faults[reading.node, "identity_conflict"] = letter.detail
        batch.letters += self._unknown_replies(conn, batch)
        left_out = nodes.note_unclaimed(conn, batch.unclaimed, now_us)
        if left_out:
            batch.letters = [letter for letter in batch.letters if letter.node not in left_out]
            batch.faults["gateway", "too_many_unclaimed"] = (
                f"more than {nodes.MOST_UNCLAIMED} nodes that the registry does not know, such as {min(left_out)}; "
                "who has accounts at the broker, and does its access list hold?"
            )
        dead_letters.keep(conn, batch.letters)
        said = nodes.hear(self._ledger, conn, self._sorter, batch)
        nodes.note_data(conn, batch.heard_us)
        through = settle(conn, batch.numbers, said, now_us)
        custody = _custody(conn, through)
        online = {node: state.nonce for node, state, _ in batch.states if state.nonce is not None}
        replies = [(node, reply) for node, reply, _ in batch.replies]
        return Outcome(stored.stored, stored.duplicates, batch.letters, custody, batch.faults, online, replies)

    def _unknown_replies(self, conn: sa.Connection, batch: Sorted) -> list[Letter]:
        """Note the replies; those to commands that their node never got are taken out and become dead letters."""
        known, letters = [], []
        for node, reply, message in batch.replies:
            if commands.record(conn, node, reply, message.received_us):
                known.append((node, reply, message))
            else:
                detail = f"{node} got no command {reply.id} to {reply.do} from here"
                letters.append(whole(message, "unknown_command", detail, node))
        batch.replies = known
        return letters

    def _conflicts(self, conn: sa.Connection, batch: Sorted) -> bool:
        with conn.begin_nested() as trial:
            result = append_readings(self._ledger, conn, batch.readings)
            trial.rollback()
        return bool(result.conflicts)


def _custody(conn: sa.Connection, through: dict[JournalKey, int]) -> list[Custody]:
    if not through:
        return []
    known = nodes.addresses(conn, (node for node, _ in through))
    return [Custody(node, jid, mark, known[node]) for (node, jid), mark in through.items() if node in known]


def _unwrapped(letter: DeadLetter) -> Message:
    if letter.reason != "raw_record":
        return letter.message
    return Message(letter.topic, decode(letter.payload).records[0].raw or b"", letter.at_us)


def _numbers(batch: Sorted) -> set[tuple[str | None, str | None, int | None]]:
    """Node, journal and number of every record of the packs."""
    return {(node, jid, n) for (node, jid), ranges in batch.numbers.items() for a, b in ranges for n in range(a, b + 1)}
