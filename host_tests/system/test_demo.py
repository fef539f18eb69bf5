"""The demo, whole: real firmware, broker with TLS, ledger, rules and SMTP, over one simulated day.

Its mails are compared whole with golden texts; HEADWALL_UPDATE_GOLDEN=1 writes them anew: then read the difference.
"""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
from email import policy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from headwall_sim.demo.scenario import BOARDS
from headwall_sim.server_process import free_port

GOLDEN = Path(__file__).parent / "golden" / "demo"
UPDATE = os.environ.get("HEADWALL_UPDATE_GOLDEN") == "1"


class Run(NamedTuple):
    code: int
    output: str
    report: dict[str, Any]
    mails: list[email.message.EmailMessage]


def run_demo(folder: Path, hidden: str = "") -> Run:
    """`headwall demo --once --report`, as `make demo ONCE=1 REPORT=…` runs it."""
    report = folder / "report.json"
    words = ["--once", "--report", str(report), "--folder", str(folder / "run"), "--port", str(free_port())]
    done = subprocess.run(
        [sys.executable, "-m", "headwall", "demo", *words],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "HEADWALL_HIDE": hidden or os.environ.get("HEADWALL_HIDE", "")},
    )
    output = done.stdout + done.stderr
    assert report.exists(), output
    files = sorted((folder / "run" / "mails").glob("*.eml"))
    mails = [email.message_from_bytes(file.read_bytes(), policy=policy.default) for file in files]
    return Run(done.returncode, output, json.loads(report.read_text()), mails)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_demo(tmp_path_factory.mktemp("demo"))


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_demo_ends_well_and_loses_nothing(demo: Run) -> None:
    assert demo.code == 0, demo.output
    report = demo.report
    assert report["faults"] == []
    assert (report["lost"], report["stored_twice"], report["reported_lost"]) == (0, 0, 0)
    assert report["taken"] == report["stored"] > 700


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_demo_stores_every_driven_tip_but_those_at_risk_in_power_cuts(demo: Run) -> None:
    boards = demo.report["boards"]
    for name, driven in (("board-a", 120), ("board-b", 49), ("board-d", 75)):
        assert boards[name]["tips_driven"] == boards[name]["tips_stored"] == driven
    c = boards["board-c"]
    assert c["tips_at_risk"] == 24  # three cuts, eight tips each as the node states it
    assert 50 <= c["tips_driven"] <= 60
    assert 0 <= c["tips_driven"] - c["tips_stored"] <= c["tips_at_risk"]


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_demo_opens_the_duties_and_notices_of_its_scenario(demo: Run) -> None:
    found = {name: (board["duties"], board["notices"]) for name, board in demo.report["boards"].items()}
    assert found == {
        "board-a": (1, {"gauge_silent": 1}),
        "board-b": (0, {"near_threshold": 1}),
        "board-c": (1, {}),
        "board-d": (1, {}),
    }
    assert {board.name for board in BOARDS} == set(found)


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_demo_mails_are_the_golden_ones(demo: Run) -> None:
    texts = {f"{number:02}.{kind}": text for number, mail in enumerate(demo.mails, 1) for kind, text in _texts(mail)}
    if UPDATE:
        GOLDEN.mkdir(parents=True, exist_ok=True)
        for old in GOLDEN.iterdir():
            old.unlink()
        for name, text in texts.items():
            (GOLDEN / name).write_text(text, encoding="utf-8")
    golden = {file.name: file.read_text(encoding="utf-8") for file in GOLDEN.iterdir()}
    assert texts == golden


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_demo_without_any_system_package_comes_out_the_same(tmp_path: Path) -> None:
    run = run_demo(tmp_path, hidden="mosquitto,influxdb,chromium,postgresql")
    assert "Broker iotcore, without InfluxDB" in run.output
    assert run.code == 0, run.output
    assert run.report["lost"] == run.report["stored_twice"] == 0
    assert [mail["subject"] for mail in run.report["mails"]] == _golden_subjects()


def _golden_subjects() -> list[str]:
    return [
        file.read_text(encoding="utf-8").splitlines()[1].removeprefix("Subject: ")
        for file in sorted(GOLDEN.glob("*.txt"))
    ]


def _texts(mail: email.message.EmailMessage) -> list[tuple[str, str]]:
    """The mail as text and HTML, with its headers; what differs from run to run is masked."""
    head = f"To: {mail['To']}\nSubject: {mail['Subject']}\nFrom: {mail['From']}\n\n"
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None and html is not None
    return [("txt", _masked(head + plain.get_content())), ("html", _masked(html.get_content()))]


def _masked(text: str) -> str:
    text = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:8080", text)
    text = re.sub(r"/seen/[\w.-]+", "/seen/LINK", text)  # signed with a key of its own
    text = re.sub(r"\b[0-9a-f]{16}\b", "0123456789abcdef", text)  # the ledger's id
    # how fast this machine is: packs that were judged together, seconds between a tip and its mail
    text = re.sub(r"version \d+", "version N", text)
    text = re.sub(r"last tip \d min before", "last tip N min before", text)
    return re.sub(r"cid:[^\"]+", "cid:picture", text)
