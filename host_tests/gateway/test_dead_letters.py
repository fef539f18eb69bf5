"""Dead letters run again, from Python and from the command line."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.errors import InputError, UnknownThingError
from headwall.ingest.batch import Intake
from headwall.ingest.dead_letters import DeadLetter, dead_letter, dead_letters
from headwall.ingest.sorting import Message
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry
from headwall.settings import IngestSettings
from support import desk as desks
from support.fleet import JID, MACS, T0, message, pack, registry, registry_toml, state
from support.set_clock import SetClock

LEVEL = f"urn:dev:mac:{MACS['gauge-a']}:tank.level"


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://")
    yield opened
    opened.close()


def intake(ledger: Ledger, known: Registry) -> Intake:
    return Intake(ledger, known, IngestSettings(), SetClock(T0 + 3600_000_000))


def letters(ledger: Ledger, state: str | None = "open") -> list[DeadLetter]:
    with ledger.read() as conn:
        return dead_letters(conn, state=state)


def seqs(ledger: Ledger) -> list[int]:
    with ledger.read() as conn:
        return list(conn.execute(sa.select(schema.readings.c.seq).order_by(schema.readings.c.seq)).scalars())


def test_rerun_after_the_node_was_registered_takes_the_whole_message(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(1, 5))])
    (letter,) = letters(ledger)
    assert intake(ledger, registry("gauge-b")).rerun(letter) == "unknown_node"
    assert letters(ledger) == [letter]
    mended = intake(ledger, registry())
    assert mended.rerun(letter) == "taken"
    assert seqs(ledger) == [1, 2, 3, 4, 5]
    assert [each.state for each in letters(ledger, None)] == ["taken"]


def test_rerun_twice_changes_nothing(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(1, 5))])
    (letter,) = letters(ledger)
    mended = intake(ledger, registry())
    assert [mended.rerun(letter), mended.rerun(letter)] == ["taken", "taken"]
    assert seqs(ledger) == [1, 2, 3, 4, 5]


def test_rerun_keeps_the_time_of_arrival(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(1))])
    mended = intake(ledger, registry())
    mended.rerun(letters(ledger)[0])
    with ledger.read() as conn:
        assert conn.execute(sa.select(schema.readings.c.received_us)).scalar() == T0
        assert conn.execute(sa.select(schema.node_states.c.last_data_us)).scalar() == T0  # nothing was heard just now


def test_rerun_of_a_record_whose_datastream_was_registered_takes_it(ledger: Ledger) -> None:
    tips_only = registry(streams={"rain.tips": "tips"})
    intake(ledger, tips_only).store([message(pack(1)), message(pack(2, bn=LEVEL, bu="m", v=0.25))])
    (letter,) = letters(ledger)
    assert intake(ledger, tips_only).rerun(letter) == "unknown_datastream"
    assert intake(ledger, registry()).rerun(letter) == "taken"
    with ledger.read() as conn:
        row = conn.execute(sa.select(schema.readings).where(schema.readings.c.seq == 2)).one()
    assert (row.stream, row.value, row.jid) == ("tank.level", 0.25, JID)


def test_rerun_of_a_whole_message_leaves_records_that_are_still_wrong_under_their_numbers(ledger: Ledger) -> None:
    intake(ledger, registry("gauge-b")).store([message(pack(2, bn=LEVEL, bu="m", v=0.25))])
    (letter,) = letters(ledger)
    assert intake(ledger, registry(streams={"rain.tips": "tips"})).rerun(letter) == "taken"
    (left,) = letters(ledger)
    assert (left.reason, left.seq) == ("unknown_datastream", 2)
    assert intake(ledger, registry()).rerun(left) == "taken"
    assert letters(ledger) == []


def test_rerun_of_a_conflict_stays_open_and_the_first_stays(ledger: Ledger) -> None:
    taker = intake(ledger, registry())
    taker.store([message(pack(1))])
    taker.store([message(pack(1, v=0))])
    (letter,) = letters(ledger)
    assert taker.rerun(letter) == "identity_conflict"
    assert letters(ledger) == [letter]
    with ledger.read() as conn:
        assert conn.execute(sa.select(schema.readings.c.value)).scalars().all() == [1.0]


@pytest.mark.parametrize(
    ("inside", "result"),
    [
        (pack(2, bn=LEVEL, bu="m", v=0.25), "taken"),
        (pack(3, bn=LEVEL, bu="m", v=0.25), "raw_record"),  # another number
        (pack(2, jid="ffeeddccbbaa0099"), "raw_record"),  # another journal
        (pack(2, v="soon"), "wrong_type"),
        (b"unreadable", "not_json"),
    ],
)
def test_rerun_of_a_raw_record_takes_the_pack_inside_if_it_is_that_very_record(
    ledger: Ledger, inside: bytes, result: str
) -> None:
    taker = intake(ledger, registry())
    raw = {"n": "raw", "vd": base64.urlsafe_b64encode(inside).decode().rstrip("=")}
    taker.store(
        [message(pack(2, bn=f"urn:dev:mac:{MACS['gauge-a']}:", bu=None, bt=None, t=None, v=None, s=None, **raw))]
    )
    (letter,) = letters(ledger)
    assert letter.reason == "raw_record"
    assert taker.rerun(letter) == result
    assert seqs(ledger) == ([2] if result == "taken" else [])
    assert len(letters(ledger)) == (0 if result == "taken" else 1)


def test_rerun_of_what_cannot_be_parsed_stays_open(ledger: Ledger) -> None:
    taker = intake(ledger, registry())
    taker.store([message(b"junk"), message(b"\x00\xff", "event")])
    assert [taker.rerun(letter) for letter in letters(ledger)] == ["not_json", "not_json"]
    assert len(letters(ledger)) == 2


def test_rerun_of_a_state_does_not_overwrite_a_later_one(ledger: Ledger) -> None:
    taker = intake(ledger, registry())
    taker.store_as_letter(message(state(nonce="0" * 16), "state"), "handler_error", "a fault that was mended")
    taker.store([message(state(nonce="f" * 16), "state")])
    assert taker.rerun(letters(ledger)[0]) == "taken"
    with ledger.read() as conn:
        assert conn.execute(sa.select(schema.node_states.c.nonce)).scalar() == "f" * 16


def test_dead_letter_that_was_taken_and_comes_again_is_open_again(ledger: Ledger) -> None:
    bad = message(pack(1, 2))
    intake(ledger, registry("gauge-b")).store([bad])
    intake(ledger, registry()).rerun(letters(ledger)[0])
    intake(ledger, registry("gauge-b")).store([bad])
    assert [(letter.state, letter.count) for letter in letters(ledger)] == [("open", 2)]


def test_dead_letter_of_an_unknown_number_is_named(ledger: Ledger) -> None:
    with ledger.read() as conn, pytest.raises(UnknownThingError, match="no dead letter 77"):
        dead_letter(conn, 77)


class Desk(desks.Desk):
    """With a registry of boards that come and go."""

    def __init__(self, folder: Path, *nodes: str) -> None:
        super().__init__(folder)
        self._registry = folder / "registry.toml"
        self.register(*nodes)

    def register(self, *nodes: str) -> None:
        self._registry.write_text(registry_toml(*nodes))

    def letters(self, *arguments: str) -> str:
        return self.run("dead-letters", *arguments)

    def receive(self, *sent: Message) -> None:
        ledger = Ledger.open(self.url)
        intake(ledger, load_registry(self._registry)).store(list(sent))
        ledger.close()


def test_command_lists_shows_and_runs_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "gauge-b")
    desk.receive(message(pack(1, 3)), message(pack(4, 2)), message(b"\x00junk", node="gauge-b"))
    listed = json.loads(desk.letters("list", "--json"))
    assert [(each["reason"], each["node"]) for each in listed] == [
        ("unknown_node", "gauge-a"),
        ("unknown_node", "gauge-a"),
        ("not_json", "gauge-b"),
    ]
    assert "unknown_node" in desk.letters("list")
    shown = desk.letters("show", "3")
    assert "dead letter 3: not_json, open, came 1 times" in shown
    assert r"b'\x00junk'" in shown
    assert pack(1, 3).decode() in desk.letters("show", "1")
    assert desk.letters("rerun", "--all") == "0 taken, 3 left open (2 unknown_node, 1 not_json)\n"
    desk.register("gauge-a", "gauge-b")
    assert desk.letters("rerun", "1") == "1 taken, 0 left open\n"
    assert desk.letters("rerun", "--reason", "unknown_node") == "1 taken, 0 left open\n"
    assert desk.letters("rerun", "3") == "dead letter 3 stays open: not_json\n0 taken, 1 left open (1 not_json)\n"
    assert [each["id"] for each in json.loads(desk.letters("list", "--json"))] == [3]
    assert len(json.loads(desk.letters("list", "--json", "--all"))) == 3
    ledger = Ledger.open(desk.url)
    assert seqs(ledger) == [1, 2, 3, 4, 5]
    ledger.close()


def test_a_list_that_is_cut_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "gauge-b")
    desk.receive(message(pack(1, 3)), message(pack(4, 2)))
    desk.letters("list", "--limit", "2")
    assert "There are more" not in desk.said
    desk.letters("list", "--limit", "1")
    assert "There are more than these 1: see --limit" in desk.said


@pytest.mark.parametrize("arguments", [[], ["1", "--all"], ["--all", "--reason", "not_json"]])
def test_command_rerun_asks_which(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(InputError, match="say which to run again"):
        Desk(tmp_path, "gauge-a").letters("rerun", *arguments)
