"""Answers that the real InfluxDB cannot be brought to give here: a strict server that gives them by script."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from headwall.influx.delivery import deliver
from headwall.influx.forwarder import Forwarder
from headwall.influx.writer import Answer, Meaning
from headwall.ledger.ledger import Ledger
from headwall.settings import InfluxSettings
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from support.readings import append, tip

#: status and headers; "close" ends the connection without an answer
Scripted = tuple[int, dict[str, str]] | str


class ScriptedInflux(ThreadingHTTPServer):
    """Takes writes as InfluxDB's API says; `script` comes first, then 204. Bodies over `largest` bytes get 413."""

    daemon_threads = True

    def __init__(self) -> None:
        self.script: list[Scripted] = []
        self.largest = 1 << 20
        self.lines: list[str] = []
        self.requests = 0
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedInflux

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        assert self.path.startswith("/api/v2/write?org=headwall&bucket=b&precision=ns"), self.path
        assert self.headers["Authorization"] == "Token secret"
        self.server.requests += 1
        answer: Scripted = self.server.script.pop(0) if self.server.script else (204, {})
        if len(body) > self.server.largest:
            answer = (413, {})
        if isinstance(answer, str):
            self.close_connection = True
            return
        status, headers = answer
        if status == 204:
            self.server.lines += body.split("\n")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class FastClock:
    """Every wait ends at once unless the event is set; remembers how long the waits would have been, in seconds."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self._now_us = 1_717_300_000_000_000

    def now_us(self) -> int:
        return self._now_us

    def wait(self, wake: threading.Event, until_us: int | None) -> bool:
        assert until_us is not None
        self.waits.append((until_us - self._now_us) / 1e6)
        self._now_us = until_us
        return wake.wait(0.01)

    def busy(self, _what: str) -> Any:
        return threading.Lock()


@pytest.fixture
def server() -> Iterator[ScriptedInflux]:
    serving = ScriptedInflux()
    threading.Thread(target=serving.serve_forever, args=(0.05,), daemon=True).start()
    yield serving
    serving.shutdown()
    serving.server_close()


@pytest.fixture
def run(server: ScriptedInflux, tmp_path: Path) -> Iterator[Callable[[int], tuple[Forwarder, FastClock, list[str]]]]:
    """Forward so many tips until all are through; returns forwarder, clock and the faults told."""
    ledger = Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    running: list[Forwarder] = []

    def go(count: int) -> tuple[Forwarder, FastClock, list[str]]:
        clock, faults = FastClock(), list[str]()
        settings = InfluxSettings(url=server.url, org="headwall", bucket="b", token=SecretStr("secret"))
        append(ledger, [tip(seq) for seq in range(count)])
        forwarder = Forwarder(settings, ledger, clock, on_fault=lambda _node, fault, _detail: faults.append(fault))
        running.append(forwarder)
        forwarder.start()
        for _ in range(1000):
            if forwarder.lag() == 0:
                break
            threading.Event().wait(0.02)
        return forwarder, clock, faults

    yield go
    for forwarder in running:
        forwarder.stop()
    ledger.close()


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_is_given_the_time_it_asks_for(server: ScriptedInflux, run: Any, status: int) -> None:
    server.script = [(status, {"Retry-After": "17"}), (status, {"Retry-After": "4"})]
    forwarder, clock, faults = run(5)
    assert clock.waits[:2] == [17.0, 4.0]
    assert (len(server.lines), forwarder.lag(), forwarder.healthy(), faults) == (5, 0, None, [])


def test_wait_without_a_time_grows_to_a_minute(server: ScriptedInflux, run: Any) -> None:
    server.script = [(500, {})] * 9
    _, clock, _ = run(1)
    waits = clock.waits[:9]
    assert all(
        0.75 * wanted <= wait <= wanted for wait, wanted in zip(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60], strict=True)
    )


@pytest.mark.parametrize("told", ["Wed, 21 Oct 2026 07:28:00 GMT", "soon", "-3"])
def test_retry_after_that_is_no_number_of_seconds_falls_back_to_our_own_wait(
    server: ScriptedInflux, run: Any, told: str
) -> None:
    server.script = [(503, {"Retry-After": told})]
    _, clock, _ = run(1)
    assert 0.75 <= clock.waits[0] <= 1


def test_absurd_retry_after_is_cut_to_an_hour(server: ScriptedInflux, run: Any) -> None:
    server.script = [(503, {"Retry-After": "999999999"})]
    _, clock, _ = run(1)
    assert clock.waits[0] == 3600


def test_too_large_body_is_halved_and_later_ones_are_smaller(server: ScriptedInflux, run: Any) -> None:
    server.largest = 3000
    forwarder, _, _ = run(200)
    assert (len(set(server.lines)), len(server.lines), forwarder.lag()) == (200, 200, 0)


def test_readings_that_came_twice_are_no_lag_and_no_request(server: ScriptedInflux, run: Any) -> None:
    run(20)
    forwarder, _, _ = run(20)
    assert (forwarder.lag(), server.requests) == (0, 1)


def test_connection_closed_without_an_answer_is_tried_again(server: ScriptedInflux, run: Any) -> None:
    server.script = ["close", (204, {}), "close"]
    forwarder, _, faults = run(3)
    assert (len(server.lines), forwarder.lag(), faults) == (3, 0, [])


def test_refusal_is_told_once_and_looked_at_again(server: ScriptedInflux, run: Any) -> None:
    server.script = [(401, {}), (403, {}), (404, {})]
    forwarder, clock, faults = run(2)
    assert clock.waits[:3] == [300.0] * 3
    assert faults == ["influx_refused"]
    assert (len(server.lines), forwarder.healthy()) == (2, None)


@pytest.mark.parametrize(("minutes", "told"), [(14, []), (40, ["influx_away"])])
def test_server_away_for_a_quarter_of_an_hour_is_told_once(
    server: ScriptedInflux, run: Any, minutes: int, told: list[str]
) -> None:
    server.script = [(503, {"Retry-After": "60"})] * minutes
    forwarder, _, faults = run(1)
    assert (faults, forwarder.healthy()) == (told, None)


def test_bad_request_that_is_not_about_a_line_condemns_no_point(server: ScriptedInflux, run: Any) -> None:
    server.script = [(400, {})]
    _, _, faults = run(2)
    assert faults == ["influx_refused"]
    assert len(server.lines) == 2


@given(
    st.lists(st.sampled_from(["good", "unparsable", "dropped"]), min_size=1, max_size=60),
    st.integers(1, 70),
)
def test_every_good_line_gets_in_and_every_bad_one_is_named(kinds: list[str], largest: int) -> None:
    """A model of InfluxDB's answers to any mix of lines."""
    stored: set[int] = set()

    def write(lines: list[str]) -> Answer:
        if len(lines) > largest:
            return Answer(Meaning.TOO_LARGE, "413")
        if any("unparsable" in line for line in lines):
            return Answer(Meaning.UNPARSED, "400")
        stored.update(int(line.split()[1]) for line in lines if "good" in line)
        dropped = sum("dropped" in line for line in lines)
        return Answer(Meaning.PARTIAL, "422", dropped=dropped) if dropped else Answer(Meaning.DONE)

    rejected = deliver(write, [f"{kind} {index}" for index, kind in enumerate(kinds)])
    assert stored == {index for index, kind in enumerate(kinds) if kind == "good"}
    assert sorted(found.index for found in rejected) == [i for i, kind in enumerate(kinds) if kind != "good"]
