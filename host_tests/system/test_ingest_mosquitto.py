"""Ingest over a real mosquitto with TLS and ACL: nothing lost, nothing twice, and every trouble named."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import headwall.ingest.mqtt
import pytest
import sqlalchemy as sa
from headwall.ingest.dead_letters import dead_letters
from headwall.ingest.service import IngestService
from headwall.ingest.sorting import Message, Sorted, Sorter
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.wire.topics import subscriptions
from headwall_board.certs import Authority, make_ca
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Broker
from support import ingest_rig
from support.fleet import JID, pack, state
from support.ingest_rig import Board, mqtt_settings, until

pytestmark = pytest.mark.mosquitto

TESTS = Path(__file__).parents[1]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    opened = Ledger.open(url)
    yield opened
    opened.close()


@pytest.fixture
def start(broker: Broker, ledger: Ledger) -> Iterator[Callable[..., IngestService]]:
    started: list[IngestService] = []

    def go(protocol: str = "5", **change: object) -> IngestService:
        settings = mqtt_settings(broker.host, broker.port_5, broker.ca.cert, protocol=protocol, **change)
        service = ingest_rig.service(settings, ledger)
        service.start()
        started.append(service)
        return service

    yield go
    for service in started:
        service.stop()


@pytest.fixture
def board(broker: Broker) -> Iterator[Board]:
    with closing(Board(broker.host, broker.port_311, broker.ca.cert, "gauge-a")) as opened:
        yield opened


def seqs(ledger: Ledger) -> list[int]:
    with ledger.read() as conn:
        return list(conn.execute(sa.select(schema.readings.c.seq).order_by(schema.readings.c.seq)).scalars())


def well(service: IngestService) -> None:
    until(lambda: service.healthy() is None, f"healthy; it says {service.healthy()}")


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_readings_are_stored_and_custody_comes_back(
    start: Callable[..., IngestService], ledger: Ledger, board: Board, protocol: str
) -> None:
    well(start(protocol))
    board.send(state(next=1), "state", retain=True)
    until(lambda: board.through(JID) == 0, "custody in answer to the state")
    for seq in range(1, 100, 5):
        board.send(pack(seq, 5))
    until(lambda: board.through(JID) == 100, "custody of all")
    assert seqs(ledger) == list(range(1, 101))
    assert {said["ledger"] for said in board.custody} == {ledger.id}


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_readings_sent_while_the_gateway_is_away_come_when_it_is_back(
    start: Callable[..., IngestService], ledger: Ledger, board: Board, protocol: str
) -> None:
    first = start(protocol)
    well(first)
    first.stop()
    for seq in range(1, 51):
        board.send(pack(seq))
    well(start(protocol))
    until(lambda: len(seqs(ledger)) == 50, "all 50")


def test_the_same_pack_three_times_with_a_restart_between_counts_once(
    start: Callable[..., IngestService], ledger: Ledger, board: Board
) -> None:
    board.send(state(next=1), "state", retain=True)
    for attempt in range(3):
        service = start()
        well(service)
        board.custody.clear()
        board.send(pack(1, 10))
        until(lambda: board.through(JID) == 10, f"custody, attempt {attempt}")
        service.stop()
    assert seqs(ledger) == list(range(1, 11))


def test_overlapping_subscriptions_count_once(
    start: Callable[..., IngestService], ledger: Ledger, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = [*subscriptions(), "headwall/v1/gauge-a/+", "headwall/#"]
    monkeypatch.setattr(headwall.ingest.mqtt, "subscriptions", lambda: filters)
    well(start("3.1.1"))
    board.send(state(next=1), "state")
    board.send(pack(1, 10))
    board.send(pack(11))
    until(lambda: board.through(JID) == 11, "custody")
    assert seqs(ledger) == list(range(1, 12))
    with ledger.read() as conn:
        assert dead_letters(conn) == []


def test_gateway_killed_between_commit_and_acknowledgement_loses_and_repeats_nothing(
    broker: Broker, ledger: Ledger, url: str, board: Board
) -> None:
    arguments = [broker.host, str(broker.port_5), str(broker.ca.cert), url]
    with _gateway(*arguments, "live"):
        pass  # makes the session
    for seq in range(1, 301):
        board.send(pack(seq))
    deaths = 0
    for _ in range(3):
        with _gateway(*arguments, "die") as process:
            deaths += process.wait(20) == -9
    assert deaths == 3
    stored_before = seqs(ledger)
    assert stored_before, "killed after a commit"
    with _gateway(*arguments, "live"):
        until(lambda: len(seqs(ledger)) == 300, "all 300")
    assert seqs(ledger) == list(range(1, 301))


def _gateway(*arguments: str) -> _Process:
    return _Process([sys.executable, "-m", "support.ingest_rig", *arguments])


class _Process:
    """The gateway of ingest_rig.main, ended when the block ends."""

    def __init__(self, command: list[str]) -> None:
        self._command = command

    def __enter__(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(self._command, text=True, cwd=TESTS, env=environment, **pipes)  # type: ignore[call-overload]
        assert self._process.stdout is not None
        # the log comes there too, from another thread, and may share the line
        assert any("running" in line for line in iter(self._process.stdout.readline, "")), "it ended at once"
        return self._process

    def __exit__(self, *exc: object) -> None:
        if self._process.poll() is None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(20)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def test_broker_killed_is_named_and_ingest_goes_on_afterwards(
    start: Callable[..., IngestService], broker: Broker, ledger: Ledger, board: Board
) -> None:
    service = start()
    well(service)
    board.send(pack(1, 3))
    until(lambda: len(seqs(ledger)) == 3, "the first three")
    broker.kill()
    until(lambda: service.healthy() is not None, "unhealthy")
    assert broker.host in str(service.healthy())
    broker.start()
    well(service)
    board.send(pack(4, 3))
    until(lambda: len(seqs(ledger)) == 6, "the next three")


def test_ledger_that_does_not_take_is_named_and_nothing_is_acknowledged(
    start: Callable[..., IngestService], ledger: Ledger, board: Board
) -> None:
    service = start()
    well(service)
    board.send(state(next=1), "state")
    until(lambda: board.through(JID) == 0, "custody of the state")
    with ledger.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE readings RENAME TO readings_away")
    board.send(pack(1, 4))
    until(lambda: service.healthy() is not None, "unhealthy")
    assert "the ledger does not take readings" in str(service.healthy())
    assert board.through(JID) == 0
    with ledger.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE readings_away RENAME TO readings")
    until(lambda: board.through(JID) == 4, "custody once it takes them")
    well(service)


def test_message_that_this_program_fails_on_goes_alone_to_the_dead_letters(
    start: Callable[..., IngestService], ledger: Ledger, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    sort = Sorter.sort

    def stumbles(self: Sorter, messages: list[Message]) -> Sorted:
        if any(b"stumble" in message.payload for message in messages):
            raise RuntimeError("a fault of this program")
        return sort(self, messages)

    monkeypatch.setattr(Sorter, "sort", stumbles)
    service = start()
    well(service)
    board.send(pack(1, 3))
    board.send(pack(4, 1, stumble=1))
    board.send(pack(5, 3))
    until(lambda: seqs(ledger) == [1, 2, 3, 5, 6, 7], "the good ones")
    with ledger.read() as conn:
        (letter,) = dead_letters(conn)
    assert (letter.reason, letter.detail) == ("handler_error", "RuntimeError: a fault of this program")
    assert service.healthy() is None


def test_faults_are_told(broker: Broker, ledger: Ledger, board: Board) -> None:
    told: list[tuple[str, str]] = []
    settings = mqtt_settings(broker.host, broker.port_5, broker.ca.cert)
    service = ingest_rig.service(settings, ledger, lambda node, fault, _detail: told.append((node, fault)))
    service.start()
    well(service)
    board.send(pack(1))
    board.send(pack(1, v=0))
    until(lambda: told == [("gauge-a", "identity_conflict")], f"the conflict; told {told}")
    service.stop()


@pytest.mark.parametrize("size", [1_000_000])
def test_a_megabyte_goes_to_the_dead_letters_whole(
    start: Callable[..., IngestService], ledger: Ledger, board: Board, size: int
) -> None:
    well(start())
    board.send(pack(1) + b" " * size)
    board.send(pack(2))
    until(lambda: seqs(ledger) == [2], "the good one")
    with ledger.read() as conn:
        (letter,) = dead_letters(conn)
    assert (letter.reason, len(letter.payload)) == ("too_large", size + len(pack(1)))


def test_wrong_password_is_named(start: Callable[..., IngestService]) -> None:
    service = start(password="not that")
    until(lambda: "refuses the connection" in str(service.healthy()), "the reason")


def test_wrong_authority_is_named(start: Callable[..., IngestService], tmp_path: Path, ca: Authority) -> None:
    other = make_ca(tmp_path, "other", NOT_BEFORE, NOT_AFTER)
    assert other.cert != ca.cert
    service = start(ca_file=other.cert)
    until(lambda: "cannot connect" in str(service.healthy()), "the reason")


def test_second_gateway_with_the_same_client_id_is_named(start: Callable[..., IngestService]) -> None:
    first = start()
    well(first)
    start()
    until(lambda: "another client uses the id 'headwall-gateway'" in str(first.healthy()), "the clash")


def test_stop_without_a_broker_is_quick(ledger: Ledger, broker: Broker) -> None:
    broker.stop()
    service = ingest_rig.service(mqtt_settings(broker.host, broker.port_5, broker.ca.cert), ledger)
    service.start()
    until(lambda: "cannot connect" in str(service.healthy()), "the reason")
    service.stop()
    assert not any(thread.name == "ingest" and thread.is_alive() for thread in threading.enumerate())
