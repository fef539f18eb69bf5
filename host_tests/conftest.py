"""Real servers as fixtures, and what to do about those that are not on this machine.

A test names the parts it needs by marker (mosquitto, influxdb, chromium, postgresql) and is skipped where one is
absent; the end of the run names them and how to get them. With HEADWALL_REQUIRE_PARTS=1 it fails instead, and so
does the run. HEADWALL_HIDE=mosquitto,influxdb treats parts as absent.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from headwall_board.certs import Authority, issue_server, make_ca
from headwall_sim import parts
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Account, Broker, open_broker
from headwall_sim.influx_server import InfluxServer
from headwall_sim.mailbox import Mailbox
from support.postgres_server import PostgresServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REQUIRE_PARTS = os.environ.get("HEADWALL_REQUIRE_PARTS") == "1"
#: files that take longest, the longest first: a worker that began one of them late would end long after the others
LONGEST = (
    "test_demo.py",
    "test_thirty_days.py",
    "test_chaos.py",
    "test_update.py",
    "test_board_bench.py",
    "test_docs_commands.py",
    "test_scenarios.py",
    "test_custody_end_to_end.py",
    "test_memory.py",
    "test_certs_command.py",
    "test_calibrate.py",
    "test_app.py",
    "test_power_cuts.py",
    "test_power_budget.py",
    "test_backlog.py",
    "test_commands_to_boards.py",
    "test_downlink_board.py",
    "test_sim_board.py",
    "test_influx_forwarder.py",
    "test_serial_board.py",
    "test_settings_trial.py",
    "test_journal_cuts.py",
    "test_wired_board.py",
    "test_status.py",
    "test_page.py",
)

# how long an example takes is the machine's affair; the whole check tries the same examples each time
hypothesis.settings.register_profile("headwall", deadline=None, derandomize=REQUIRE_PARTS)
hypothesis.settings.load_profile("headwall")


def need(part: str) -> Path:
    """The program of a part; skips the test where it is absent (fails it under HEADWALL_REQUIRE_PARTS=1)."""
    found = parts.find(part)
    if found is None:
        if REQUIRE_PARTS:
            pytest.fail(parts.why_absent(part), pytrace=False)
        pytest.skip(parts.why_absent(part))
    return found


@pytest.fixture
def needed() -> Callable[[str], Path]:
    """need(), for tests that learn only as they run which part they need."""
    return need


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers():
        if marker.name in parts.PARTS:
            need(marker.name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if REQUIRE_PARTS and _absent() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    wanted = _wanted(terminalreporter)
    missing = _absent() if REQUIRE_PARTS else sorted(wanted)
    if not missing:
        return
    terminalreporter.section("parts that are not on this machine", red=REQUIRE_PARTS, yellow=not REQUIRE_PARTS)
    for part in missing:
        did = "failed" if REQUIRE_PARTS else "skipped"
        terminalreporter.line(f"{part}: {wanted[part]} tests {did}; {parts.why_absent(part)}")
    then = "this run needs them all (HEADWALL_REQUIRE_PARTS=1)" if REQUIRE_PARTS else "everything else was run"
    terminalreporter.line(f"{then}. Next: make system-deps, then make test")


def _wanted(reporter: pytest.TerminalReporter) -> Counter[str]:
    """Part → tests that could not run for want of it; from the reports, as the tests may run in other processes."""
    told = [
        str(report.longrepr) for outcome in ("skipped", "failed", "error") for report in reporter.stats.get(outcome, [])
    ]
    return Counter(part for part in parts.PARTS for text in told if parts.why_absent(part) in text)


def _absent() -> list[str]:
    return [part for part in parts.PARTS if parts.find(part) is None]


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A certificate authority for this run, valid 2000 to 2049."""
    return make_ca(tmp_path_factory.mktemp("ca"), "ca", NOT_BEFORE, NOT_AFTER)


@pytest.fixture
def mosquitto(tmp_path: Path, ca: Authority) -> Iterator[Callable[[Sequence[Account]], Broker]]:
    """Start a mosquitto with TLS and ACL for some accounts: `broker = mosquitto([Account("gauge-a", "x")])`."""
    need("mosquitto")
    started: list[Broker] = []

    def start(accounts: Sequence[Account]) -> Broker:
        broker = open_broker(tmp_path / f"broker{len(started)}", accounts, "mosquitto", ca=ca)
        started.append(broker)
        broker.start()
        return broker

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture(scope="session")
def _shared_influx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxServer]:
    need("influxdb")
    with InfluxServer(tmp_path_factory.mktemp("influx")) as server:
        yield server


@pytest.fixture
def influx(_shared_influx: InfluxServer) -> InfluxServer:
    """The run's InfluxDB with a new bucket, `influx.bucket`. Not for tests that stop it: `own_influx`."""
    _shared_influx.bucket = _shared_influx.make_bucket(f"b{secrets.token_hex(6)}")
    return _shared_influx


@pytest.fixture
def own_influx(tmp_path: Path) -> Iterator[InfluxServer]:
    """An InfluxDB for one test, running, to be stopped, killed and started at will."""
    need("influxdb")
    with InfluxServer(tmp_path / "influx") as server:
        yield server


@pytest.fixture(scope="session")
def _postgres() -> Iterator[PostgresServer]:
    need("postgresql")
    server = PostgresServer()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def postgres_url(_postgres: PostgresServer) -> str:
    """The SQLAlchemy URL of a new empty database on a real PostgreSQL."""
    return _postgres.make_database()


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """The real Chromium's program, for Playwright's executable_path."""
    return need("chromium")


@pytest.fixture(scope="module")
def chromium(chromium_path: Path) -> Iterator[Browser]:
    """It, running without a window."""
    from playwright.sync_api import sync_playwright  # slow to load, for the few tests of pages

    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium_path), args=flags)
        yield browser
        browser.close()


@pytest.fixture
def mailbox(tmp_path: Path, ca: Authority) -> Iterator[Mailbox]:
    """A real SMTP server for localhost with STARTTLS and AUTH, running; clients trust `ca.cert`."""
    certificate = issue_server(tmp_path, ca, ["localhost", "127.0.0.1"], NOT_BEFORE, NOT_AFTER, stem="smtp")
    with Mailbox(tmp_path / "mails", certificate=certificate) as mailbox:
        yield mailbox
