"""The watchdog: a thread that has ended or hangs withholds its feed, an outage that the parts survive does not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall import pulse
from headwall.clock import SystemClock
from headwall.errors import HeadwallError
from headwall.ingest.mqtt import Link
from headwall.ledger import log_book
from headwall.ledger.ledger import Ledger
from headwall.ops.service import Service
from headwall.pulse import Pulse
from headwall.settings import load_settings
from support.fleet import registry_toml
from support.ingest_rig import until
from support.set_clock import SetClock

_NOBODY = 'host = "127.0.0.1"\nport = 1\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings of a gateway without broker, mail server and InfluxDB: nobody listens on port 1."""
    (tmp_path / "registry.toml").write_text(registry_toml())
    (tmp_path / "headwall.toml").write_text(
        f'registry = "registry.toml"\n[mqtt]\n{_NOBODY}[smtp]\n{_NOBODY}sender = "a@b.example"\n'
        '[web]\nenabled = false\n[influx]\nurl = "http://127.0.0.1:1"\norg = "o"\nbucket = "b"\n'
    )
    return tmp_path / "headwall.toml"


@pytest.fixture
def service(config: Path) -> Iterator[Service]:
    made = Service(load_settings(config), SystemClock())
    made.start()
    yield made
    made.stop()


@pytest.fixture
def hung() -> Iterator[threading.Thread]:
    """A thread that waits where it should not."""
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="worker")
    thread.start()
    yield thread
    release.set()
    thread.join()


def test_pulse_names_a_thread_that_does_not_get_on(hung: threading.Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    beating = Pulse()
    beating.beat()
    assert beating.stuck(hung) is None
    monkeypatch.setattr(pulse, "LIMIT_S", 0)
    assert "worker has not got on" in (beating.stuck(hung) or "")


def test_pulse_lets_a_thread_rest_without_end(hung: threading.Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "LIMIT_S", 0)
    resting = Pulse()
    with resting.resting():
        assert resting.stuck(hung) is None
    assert resting.stuck(hung) is not None


def test_pulse_names_a_thread_that_has_ended_but_none_that_was_not_started() -> None:
    thread = threading.Thread(target=lambda: None, name="worker")
    assert Pulse().stuck(thread) is None
    thread.start()
    thread.join()
    assert Pulse().stuck(thread) == "the thread worker has ended"


def test_outage_of_everything_longer_than_the_limit_makes_unhealthy_and_still_feeds(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "LIMIT_S", 2)  # each try of a connection that is refused takes far less
    stop, fed = threading.Event(), threading.Semaphore(0)
    watch = threading.Thread(target=service.watch, args=(stop, fed.release, 0.1))
    watch.start()
    for _ in range(40):
        assert fed.acquire(timeout=5), service.stuck()
    stop.set()
    watch.join()
    assert "ingest" in service.health()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_thread_that_has_ended_makes_unhealthy_and_withholds_the_feed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(Link, "turn", end)
    until(service.stuck, "a stuck part")
    assert set(service.stuck()) == {"ingest"} <= set(service.health())
    stop, fed = threading.Event(), threading.Event()
    watch = threading.Thread(target=service.watch, args=(stop, fed.set, 0.01))
    watch.start()
    assert not fed.wait(0.5)
    stop.set()
    watch.join()


def test_gateway_whose_clock_was_never_set_does_not_start_and_take_readings_for_future_ones(config: Path) -> None:
    with pytest.raises(HeadwallError, match="clock shows 1970-01-01"):
        Service(load_settings(config), SetClock(0))


def test_run_tells_systemd_ready_then_feeds_through_an_outage_then_stops(config: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        running = subprocess.Popen(
            [sys.executable, "-m", "headwall", "run", "--config", str(config)],
            env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")},
            stderr=subprocess.DEVNULL,
        )
        try:
            assert [systemd.recv(100) for _ in range(2)] == [b"READY=1", b"WATCHDOG=1"]
            running.send_signal(signal.SIGTERM)
            assert running.wait(10) == 0
        finally:
            running.kill()
            running.wait()
        assert systemd.recv(100) == b"STOPPING=1"


def test_what_a_person_enters_in_another_process_wakes_the_parts_within_a_look(config: Path) -> None:
    service = Service(load_settings(config), SystemClock())
    service.ledger.announce_rows()  # nothing is in the log book yet
    woken = service.ledger.listen()
    service.ledger.announce_rows()
    assert not woken.is_set()
    other = Ledger.open(load_settings(config).ledger.url)  # as a command has it
    with other.begin() as conn:
        log_book.append(conn, "maintenance", "Ruth Adler", {}, 1)
    other.close()
    stop = threading.Event()
    watch = threading.Thread(target=service.watch, args=(stop, lambda: None, 0.05))
    watch.start()
    try:
        assert woken.wait(10)
        woken.clear()
        assert not woken.wait(0.3)  # and once alone
    finally:
        stop.set()
        watch.join()
        service.ledger.close()
