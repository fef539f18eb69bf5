"""What goes down to boards, over a real mosquitto with TLS and ACL: kept until they have it, said when they refuse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.clock import SystemClock
from headwall.downlink import commands, configs, delivery
from headwall.downlink.updates import UpdateView, update_views
from headwall.ingest.dead_letters import dead_letters
from headwall.ingest.service import IngestService
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.wire.command import PIECE_BYTES
from headwall_sim.broker import Broker
from support import ingest_rig
from support.fleet import pack, state
from support.ingest_rig import Board, mqtt_settings, until

pytestmark = pytest.mark.mosquitto
HOUR = 3_600_000_000
GOOD = b'{"node":"gauge-a","version":1}'
BETTER = b'{"node":"gauge-a","version":2,"report_s":60}'
BUNDLE = bytes(n * 7 % 251 for n in range(5 * PIECE_BYTES + 300))
NAME = hashlib.sha256(BUNDLE).hexdigest()[:16]


@pytest.fixture
def gateway(broker: Broker, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[IngestService]:
    monkeypatch.setattr(delivery, "_LOOK_S", 0.1)
    service = ingest_rig.service(mqtt_settings(broker.host, broker.port_5, broker.ca.cert), ledger)
    service.start()
    until(lambda: service.healthy() is None, "healthy")
    yield service
    service.stop()


def connect(broker: Broker, node: str = "gauge-a") -> Board:
    return Board(broker.host, broker.port_311, broker.ca.cert, node)


@pytest.fixture
def board(broker: Broker, gateway: IngestService) -> Iterator[Board]:  # noqa: ARG001 - it is to run
    with closing(connect(broker)) as opened:
        yield opened


_nonces = iter(range(10**6))


def online(board: Board, **said: Any) -> None:
    """Say an online state with a nonce of its own."""
    board.send(state(nonce=f"{next(_nonces):016x}", **said), "state", retain=True)


def configure(ledger: Ledger, payload: bytes, version: int) -> None:
    with ledger.begin() as conn:
        configs.add(conn, "gauge-a", version, payload, "Sam", SystemClock().now_us())


def order(ledger: Ledger, do: str = "sample", within_us: int = HOUR, **fields: Any) -> commands.Command:
    now_us = SystemClock().now_us()
    with ledger.begin() as conn:
        return commands.queue(conn, "gauge-a", do, fields, by="Sam", until_us=now_us + within_us, now_us=now_us)


def answer(board: Board, command: commands.Command, **said: Any) -> None:
    board.send(json.dumps({"v": 1, "id": command.name, "do": command.do, "ok": True, **said}).encode(), "reply")


def now(ledger: Ledger, command: commands.Command) -> commands.Command:
    with ledger.read() as conn:
        return commands.get(conn, command.name)


def config_state(ledger: Ledger) -> tuple[str, str]:
    with ledger.read() as conn:
        body = conn.execute(sa.select(schema.node_states.c.body)).scalar()
        view = configs.config_views(conn, {"gauge-a": body})["gauge-a"]
    return view.state, view.why


def update_state(ledger: Ledger) -> UpdateView:
    with ledger.read() as conn:
        body = conn.execute(sa.select(schema.node_states.c.body)).scalar()
        return update_views(conn, {"gauge-a": body})["gauge-a"]


# --- configurations ---


def test_a_board_gets_the_very_bytes_of_its_newest_configuration(board: Board, ledger: Ledger) -> None:
    online(board)
    configure(ledger, GOOD, 1)
    until(lambda: board.of("config") == [GOOD], "the first version")
    assert config_state(ledger) == ("pending", "")
    configure(ledger, BETTER, 2)
    until(lambda: board.of("config") == [GOOD, BETTER], "the second")
    online(board, config=configs.config_hash(BETTER))
    until(lambda: config_state(ledger) == ("applied", ""), "applied")


@pytest.mark.usefixtures("gateway")
def test_a_board_that_was_away_finds_its_configuration_when_it_connects(broker: Broker, ledger: Ledger) -> None:
    configure(ledger, GOOD, 1)
    until(lambda: _published(ledger), "the broker has it")
    with closing(connect(broker)) as late:
        until(lambda: late.of("config") == [GOOD], "kept by the broker")


def test_a_configuration_that_the_broker_lost_is_published_again_to_a_board_that_says_another(
    broker: Broker, gateway: IngestService, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(ledger, GOOD, 1)
    until(lambda: _published(ledger), "the broker has it")
    broker.kill()
    for kept in (broker.folder / "data").iterdir():
        kept.unlink()
    broker.start()
    until(lambda: gateway.healthy() is None, "healthy again")
    monkeypatch.setattr(delivery, "_CONFIG_AGAIN_US", 0)
    with closing(connect(broker)) as board:
        assert board.of("config") == []
        online(board, config="another")
        until(lambda: GOOD in board.of("config"), "published again")
    with closing(connect(broker)) as board:
        until(lambda: GOOD in board.of("config"), "and retained again")


def test_a_refused_configuration_is_shown_with_the_reason_and_not_sent_again(
    board: Board, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_CONFIG_AGAIN_US", 0)
    configure(ledger, GOOD, 1)
    until(lambda: GOOD in board.of("config"), "the configuration")
    refused = {"config": "another", "config_error": "sensors is missing"}
    online(board, **refused, config_refused="0123456789abcdef")
    until(lambda: len(board.custody) == 1, "the state was taken")
    assert config_state(ledger) == ("pending", ""), "that was about an older one"
    online(board, **refused, config_refused=configs.config_hash(GOOD))
    until(lambda: config_state(ledger) == ("refused", "sensors is missing"), "refused")
    board.heard.clear()
    online(board, **refused, config_refused=configs.config_hash(GOOD))
    marker = order(ledger)
    until(lambda: board.of("command"), f"command {marker.name}, sent after whatever was due before it")
    assert board.of("config") == []


def _published(ledger: Ledger) -> bool:
    with ledger.read() as conn:
        return conn.execute(sa.select(schema.node_configs.c.published_us)).scalar() is not None


# --- commands ---


def test_a_command_goes_to_an_online_board_and_its_answer_ends_it(board: Board, ledger: Ledger) -> None:
    online(board)
    command = order(ledger, "calibrate", sensor="stage", count=3)
    until(lambda: board.of("command"), "the command")
    said = json.loads(board.of("command")[0])
    assert said == {"v": 1, "id": command.name, "do": "calibrate", "until": command.until_us // 1000,
                    "sensor": "stage", "count": 3}  # fmt: skip
    until(lambda: now(ledger, command).state == "sent", "noted as sent")
    answer(board, command, result=[1.25, None, 1.5])
    until(lambda: now(ledger, command).state == "done", "done")
    assert now(ledger, command).result == [1.25, None, 1.5]
    answer(board, command, ok=False, why="too late")
    board.send(pack(1))
    until(lambda: _stored(ledger) == 1, "what came after the second answer")
    assert now(ledger, command).state == "done", "the first answer stands"


@pytest.mark.usefixtures("gateway")
def test_a_command_waits_for_a_board_that_sleeps_and_goes_out_in_answer_to_its_state(
    broker: Broker, ledger: Ledger
) -> None:
    with closing(connect(broker)) as before:
        online(before)
        until(lambda: before.custody, "heard")
        before.send(b'{"v":1,"status":"offline"}', "state", retain=True)
        until(lambda: _status(ledger) == "offline", "offline")
    command = order(ledger)
    with closing(connect(broker)) as awake:
        assert now(ledger, command).state == "queued"
        online(awake)
        until(lambda: awake.of("command"), "the command")
        answer(awake, command)
        until(lambda: now(ledger, command).state == "done", "done")
    with closing(connect(broker)) as awake:
        online(awake)
        until(lambda: awake.custody, "heard once more")
        assert awake.of("command") == []


@pytest.mark.usefixtures("gateway")
def test_a_command_that_went_to_a_sleeping_board_goes_out_anew_when_it_speaks(broker: Broker, ledger: Ledger) -> None:
    with closing(connect(broker)) as before:
        online(before)
        until(lambda: _status(ledger) == "online", "online, and so it stays: nobody says otherwise")
    command = order(ledger)
    until(lambda: now(ledger, command).state == "sent", "sent to nobody")
    with closing(connect(broker)) as awake:
        online(awake)
        until(lambda: awake.of("command"), "the command")


def test_a_command_is_sent_again_until_it_is_answered(
    board: Board, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_COMMAND_AGAIN_US", 200_000)
    online(board)
    command = order(ledger)
    until(lambda: len(board.of("command")) >= 3, "three of them")
    assert len(set(board.of("command"))) == 1
    answer(board, command, ok=False, why="no such sensor")
    until(lambda: now(ledger, command).state == "refused", "refused")
    assert now(ledger, command).why == "no such sensor"
    assert now(ledger, command).sends >= 3


def test_a_command_whose_time_is_over_is_not_sent(board: Board, ledger: Ledger) -> None:
    command = order(ledger, within_us=1)
    until(lambda: now(ledger, command).state == "expired", "expired")
    online(board)
    until(lambda: board.custody, "heard")
    assert board.of("command") == []
    answer(board, command)
    until(lambda: now(ledger, command).state == "done", "a late answer still counts")


def test_of_many_commands_a_board_gets_no_more_than_it_remembers_to_have_done(
    board: Board, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose answer is lost must come again before the board has forgotten it."""
    monkeypatch.setattr(delivery, "_COMMAND_AGAIN_US", 100_000)
    queued = [order(ledger) for _ in range(3 * commands.WINDOW)]
    online(board)
    until(lambda: _heard(board) >= {command.name for command in queued[: commands.WINDOW]}, "the first ones")
    for command in queued[1 : commands.WINDOW]:
        answer(board, command)
    until(lambda: now(ledger, queued[3]).state == "done", "the answers are in")
    board.heard.clear()
    until(lambda: len(board.of("command")) >= 8, "more, which are the one without an answer again")
    assert not _heard(board) & {command.name for command in queued[commands.WINDOW :]}
    answer(board, queued[0])
    until(lambda: _heard(board) >= {command.name for command in queued[4:8]}, "the next ones")
    assert not _heard(board) & {command.name for command in queued[8:]}


def _heard(board: Board) -> set[str]:
    return {json.loads(said)["id"] for said in board.of("command")}


def test_a_board_hears_nothing_that_is_for_another(board: Board, broker: Broker, ledger: Ledger) -> None:
    with closing(connect(broker, "gauge-b")) as other:
        online(other)
        online(board)
        command = order(ledger)
        until(lambda: board.of("command"), "the command")
        other.send(
            json.dumps({"v": 1, "id": command.name, "do": "sample", "ok": True}).encode(), "reply", node="gauge-a"
        )
        answer(other, command)
        until(lambda: _letters(ledger) == ["unknown_command"], "the answer of the wrong board")
        assert now(ledger, command).state == "sent"
        assert other.of("command") == []


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"nonsense", "not_json"),
        (b"[]", "bad_reply"),
        (b'{"v":1,"id":"00000000","do":"sample","ok":true}', "unknown_command"),
        (b'{"v":1,"id":"00000000","do":"dance","ok":true}', "bad_reply"),
        (b'{"v":1,"id":"0","do":"sample","ok":true}', "bad_reply"),
        (b'{"v":1,"id":"00000000","do":"sample","ok":1}', "bad_reply"),
        (b'{"v":1,"id":"00000000","do":"update","ok":true,"want":-1}', "bad_reply"),
        (b'{"v":1,"id":"00000000","do":"sample","ok":true,"want":5}', "bad_reply"),
        (b'{"v":1,"id":"00000000","do":"sample","ok":true,"result":"' + b"x" * 9000 + b'"}', "too_large"),
    ],
)
def test_a_reply_that_cannot_be_taken_is_a_dead_letter_and_ingest_goes_on(
    board: Board, ledger: Ledger, payload: bytes, reason: str
) -> None:
    board.send(payload, "reply")
    board.send(pack(1))
    until(lambda: _stored(ledger) == 1, "the reading")
    assert _letters(ledger) == [reason]


def test_readings_are_taken_while_commands_cannot_go_out(board: Board, ledger: Ledger, gateway: IngestService) -> None:
    with ledger.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE commands RENAME TO commands_away")
    until(lambda: "commands and configurations do not go out" in str(gateway.healthy()), "said in the health")
    board.send(pack(1))
    until(lambda: _stored(ledger) == 1, "the reading")
    with ledger.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE commands_away RENAME TO commands")
    until(lambda: gateway.healthy() is None, "healthy again")


def _stored(ledger: Ledger) -> int:
    with ledger.read() as conn:
        return conn.execute(sa.select(sa.func.count()).select_from(schema.readings)).scalar_one()


def _letters(ledger: Ledger) -> list[str]:
    with ledger.read() as conn:
        return [letter.reason for letter in dead_letters(conn)]


def _status(ledger: Ledger) -> str | None:
    with ledger.read() as conn:
        return conn.execute(sa.select(schema.node_states.c.status)).scalar()


# --- updates ---


def offer(ledger: Ledger) -> commands.Command:
    with ledger.begin() as conn:
        row = {"name": NAME, "digest": hashlib.sha256(BUNDLE).hexdigest(), "version": "0.2.0", "size": len(BUNDLE)}
        conn.execute(schema.bundles.insert().values(**row, data=BUNDLE, by="Sam", at_us=0))
    return order(ledger, "update", bundle=NAME, size=len(BUNDLE), version="0.2.0")


def pull(board: Board, command: commands.Command, offset: int) -> bytes:
    """Ask for a piece as a board does, and take it apart."""
    known = len(board.of("update"))
    answer(board, command, want=offset)
    until(lambda: len(board.of("update")) > known, f"the piece at {offset}")
    piece = board.of("update")[known]
    assert (piece[:8].hex(), int.from_bytes(piece[8:12], "big")) == (NAME, offset)
    assert len(piece) <= 12 + PIECE_BYTES
    return piece[12:]


def test_a_board_pulls_a_bundle_piece_by_piece_and_goes_on_after_a_lost_connection(
    broker: Broker, board: Board, ledger: Ledger
) -> None:
    online(board)
    command = offer(ledger)
    until(lambda: board.of("command"), "the order")
    assert update_state(ledger).state == "waiting"
    answer(board, command)
    until(lambda: update_state(ledger).state == "begun", "begun")
    got = b""
    for _ in range(3):
        got += pull(board, command, len(got))
    with closing(connect(broker)) as again:
        said = {"bundle": NAME, "version": "0.2.0", "state": "loading", "why": ""}
        online(again, update=said)
        while len(got) < len(BUNDLE):
            got += pull(again, command, len(got))
        assert got == BUNDLE
        until(lambda: update_state(ledger).state == "loading", "loading")
        answer(again, command, want=len(BUNDLE))
        until(lambda: update_state(ledger).loaded == len(BUNDLE), "all of it")
        assert again.of("command") == [], "begun once, it is not ordered again"
        online(again, update={**said, "state": "confirmed"})
        until(lambda: update_state(ledger).state == "confirmed", "confirmed")


@pytest.mark.parametrize(("said", "why"), [("refused", "bad signature"), ("rolled_back", "it crashed at its start")])
def test_what_became_of_an_update_is_what_the_board_says_of_this_bundle(
    board: Board, ledger: Ledger, said: str, why: str
) -> None:
    command = offer(ledger)
    answer(board, command)
    online(board, update={"bundle": "f" * 16, "version": "0.2.0", "state": "confirmed", "why": ""})
    until(lambda: update_state(ledger).state == "begun", "begun: that was another bundle")
    online(board, update={"bundle": NAME, "version": "0.2.0", "state": said, "why": why})
    until(lambda: (update_state(ledger).state, update_state(ledger).why) == (said, why), said)


def test_an_update_that_the_board_refuses_at_once_is_refused(board: Board, ledger: Ledger) -> None:
    online(board)
    command = offer(ledger)
    answer(board, command, ok=False, why="no key")
    until(lambda: (update_state(ledger).state, update_state(ledger).why) == ("refused", "no key"), "refused")
