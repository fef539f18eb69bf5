"""What becomes of each message: readings, states, dead letters. Looks at messages and registry, writes nothing."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

import msgspec

from headwall.clock import from_us, to_us
from headwall.errors import ConfigurationError
from headwall.ingest.quality import FAIL, quality_of
from headwall.ledger.append import NewReading
from headwall.ledger.dead_letters import Letter
from headwall.registry.registry import Registry
from headwall.settings import IngestSettings
from headwall.wire.errors import PackError, ReplyError, StateError, TopicError
from headwall.wire.reply import Reply, parse_reply
from headwall.wire.senml import Pack, Record, decode, encode_record
from headwall.wire.state import NodeState, parse_state
from headwall.wire.topics import split_topic

_NEVER_US = 2**63
#: the quarantine of readings that a board took in maintenance mode
MAINTENANCE = "maintenance"
#: (node, jid)
JournalKey = tuple[str, str]


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message as the broker handed it over; `retain` if it is one that the broker had kept."""

    topic: str
    payload: bytes
    received_us: int
    retain: bool = False


class Sorted(msgspec.Struct):
    """What a batch of messages holds.

    Attributes:
        origins: topic and MAC of each of `readings`.
        numbers: first and last number of each pack of a claimed node, by journal.
        heard_us: when the newest pack of each claimed node came.
        unclaimed: nodes that the registry does not know, with what they said of themselves ({} for data).
        faults: what somebody must mend, by node and name, with the latest detail.
    """

    readings: list[NewReading] = msgspec.field(default_factory=list)
    origins: list[tuple[str, str]] = msgspec.field(default_factory=list)
    letters: list[Letter] = msgspec.field(default_factory=list)
    numbers: dict[JournalKey, list[tuple[int, int]]] = msgspec.field(default_factory=lambda: defaultdict(list))
    heard_us: dict[str, int] = msgspec.field(default_factory=dict)
    states: list[tuple[str, NodeState, Message]] = msgspec.field(default_factory=list)
    replies: list[tuple[str, Reply, Message]] = msgspec.field(default_factory=list)
    unclaimed: dict[str, dict[str, object]] = msgspec.field(default_factory=dict)
    faults: dict[tuple[str, str], str] = msgspec.field(default_factory=dict)


class _Verdict(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a record, and of others of its stream with a time from `start_us` up to `end_us`.

    Attributes:
        quarantine: why it must not be judged.
        refusal: reason and detail of its dead letter; None for one that is stored.
    """

    stream: str
    start_us: int
    end_us: int
    quarantine: str | None
    refusal: tuple[str, str] | None

    def holds(self, record: Record) -> bool:
        time_us = record.time_us
        return time_us is not None and self.start_us <= time_us < self.end_us and record.stream == self.stream


class Sorter:
    """Sorts messages by contract, registry and clock. Keeps a cache of the registry, which is immutable."""

    def __init__(self, registry: Registry, settings: IngestSettings) -> None:
        self._registry = registry
        self._oldest_us = _oldest_us(settings.oldest)
        self._tolerance_us = round(settings.future_tolerance_s * 1_000_000)
        self._spans: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def sort(self, messages: list[Message]) -> Sorted:
        """What the messages hold, in their order. No message can make it raise but by a fault of this program."""
        out = Sorted()
        for message in messages:
            try:
                node, kind = split_topic(message.topic)
            except TopicError as error:
                out.letters.append(whole(message, error.reason, error.detail, None))
                continue
            if kind == "state":
                self._state(out, node, message)
            elif kind == "reply":
                self._reply(out, node, message)
            else:
                self._pack(out, node, message)
        return out

    def in_window(self, time_us: int, received_us: int) -> str | None:
        """None for a time that a reading may have; else why it must not be judged."""
        if time_us > received_us + self._tolerance_us:
            return "clock_future"
        return "clock_past" if time_us < self._oldest_us else None

    def _state(self, out: Sorted, node: str, message: Message) -> None:
        if not message.payload:
            return  # how MQTT clears a retained message
        try:
            state = parse_state(message.payload)
        except StateError as error:
            out.letters.append(whole(message, error.reason, error.detail, node))
            out.faults[node, "bad_state"] = str(error)
            return
        if self._registry.node(node) is None:
            out.unclaimed[node] = state.body
            return
        out.states.append((node, state, message))

    def _reply(self, out: Sorted, node: str, message: Message) -> None:
        if self._registry.node(node) is None:
            _unknown_node(out, node, message)
            return
        try:
            out.replies.append((node, parse_reply(message.payload), message))
        except ReplyError as error:
            out.letters.append(whole(message, error.reason, error.detail, node))
            out.faults[node, "bad_reply"] = str(error)

    def _pack(self, out: Sorted, node: str, message: Message) -> None:
        known = self._registry.node(node)
        if known is None:
            _unknown_node(out, node, message)
            return
        try:
            pack = decode(message.payload)
        except PackError as error:
            out.letters.append(whole(message, error.reason, error.detail, node))
            out.faults[node, "bad_pack"] = str(error)
            return
        if pack.mac != known.mac:
            detail = f"the pack is of board {pack.mac}, the registry has {known.mac} as {node}"
            out.letters.append(whole(message, "mac_mismatch", detail, node))
            out.faults[node, "mac_mismatch"] = detail
            return
        out.heard_us[node] = max(out.heard_us.get(node, 0), message.received_us)
        out.numbers[node, pack.jid].append((pack.seq, pack.seq + len(pack.records) - 1))
        self._records(out, node, message, pack)

    def _records(self, out: Sorted, node: str, message: Message, pack: Pack) -> None:
        origin = (message.topic, pack.mac)
        verdict: _Verdict | None = None
        for seq, record in enumerate(pack.records, pack.seq):
            if verdict is None or not verdict.holds(record):
                verdict = self._judge(node, record, message.received_us)
            if verdict.refusal is not None:
                payload = encode_record(pack.mac, pack.jid, seq, record)
                out.letters.append(
                    Letter(message.topic, payload, *verdict.refusal, message.received_us, node, pack.jid, seq)
                )
                out.faults[node, verdict.refusal[0]] = verdict.refusal[1]
                continue
            if verdict.quarantine is not None:
                out.faults[node, "clock_wrong"] = f"{record.stream} has a time that cannot be: {verdict.quarantine}"
            quarantine = verdict.quarantine or (MAINTENANCE if record.maintenance else None)
            quality = quality_of(record.stream, record.value)
            if quality == FAIL and not record.maintenance:
                out.faults[node, "impossible_value"] = f"{record.stream} says {record.value:g}, which cannot be"
            out.origins.append(origin)
            out.readings.append(
                NewReading(
                    node, pack.jid, seq, record.stream, record.time_us, record.boot, record.uptime_ms, record.value,
                    record.total, record.null_reason, quality, quarantine,
                    "node", message.received_us,
                )
            )  # fmt: skip

    def _judge(self, node: str, record: Record, received_us: int) -> _Verdict:
        if record.raw is not None:
            refusal = ("raw_record", f"{len(record.raw)} bytes that the gateway would not take as a reading")
            return _Verdict("", 0, 0, None, refusal)
        time_us = record.time_us
        quarantine = None if time_us is None else self.in_window(time_us, received_us)
        at_us = received_us if time_us is None or quarantine is not None else time_us
        span = next(
            (span for span in self._spans_of(node, record.stream) if span[0] <= at_us < span[1]),
            None,
        )  # fmt: skip
        if span is None:
            detail = f"the registry has no datastream {node}/{record.stream} in force at {from_us(at_us).isoformat()}"
            return _Verdict("", 0, 0, quarantine, ("unknown_datastream", detail))
        if time_us is None or quarantine is not None:
            return _Verdict("", 0, 0, quarantine, None)
        newest_us = received_us + self._tolerance_us
        return _Verdict(record.stream, max(span[0], self._oldest_us), min(span[1], newest_us + 1), None, None)

    def _spans_of(self, node: str, stream: str) -> list[tuple[int, int]]:
        spans = self._spans.get((node, stream))
        if spans is None:
            found = self._registry.datastream_spans(f"{node}/{stream}")
            spans = [(span.start_us, _NEVER_US if span.end_us is None else span.end_us) for span in found]
            self._spans[node, stream] = spans
        return spans


def conflict_letter(reading: NewReading, topic: str, mac: str) -> Letter:
    """The dead letter of a reading whose identity the ledger holds with other content."""
    record = Record(
        reading.stream, reading.time_us, reading.boot, reading.uptime_ms, reading.value, reading.total,
        reading.null_reason, None, reading.quarantine == MAINTENANCE,
    )  # fmt: skip
    detail = f"number {reading.seq} of journal {reading.jid} is in the ledger with other content; the first stays"
    payload = encode_record(mac, reading.jid, reading.seq, record)
    return Letter(
        topic, payload, "identity_conflict", detail, reading.received_us, reading.node, reading.jid, reading.seq
    )  # fmt: skip


def _unknown_node(out: Sorted, node: str, message: Message) -> None:
    out.unclaimed.setdefault(node, {})
    out.letters.append(whole(message, "unknown_node", f"the registry has no node {node!r}", node))


def whole(message: Message, reason: str, detail: str, node: str | None) -> Letter:
    """The dead letter of a message as it came."""
    return Letter(message.topic, message.payload, reason, detail, message.received_us, node)


def _oldest_us(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigurationError("settings", [f'ingest.oldest: "{text}" is no date; write e.g. "2020-01-01"']) from None
    return to_us(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
