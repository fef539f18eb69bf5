"""`headwall board …` against a simulated board on a serial port: what it does, and what it says when it cannot.

Each command runs as a program of its own through the real mpremote transport. Boards that are busy, missing, silent,
full or start over and over are made for real.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import serial
from headwall_board.certs import Authority, issue_node, make_ca
from headwall_board.release import build_release
from headwall_sim.simulated_board import BLOCK, Board
from headwall_sim.timeline import Edge, Timeline
from headwall_sim.wiring import Fault, Wired
from support.bench import FIRMWARE, HEADWALL, Bench, headwall_board, mpremote_says, refused, says, told, wait_for
from support.terminal import typed

_SECRET, _WIFI_KEY = "kept-from-everybody", "the-key-of-the-works"
_GOOD: dict[str, Any] = {
    "node": "gauge-a",
    "broker_host": "127.0.0.1",
    "ntp_host": "",
    "sensors": [{"kind": "tipping_bucket", "pin": 4}],
}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a board that has the program, and is off."""
    with Bench(tmp_path_factory.mktemp("deployed") / "boards") as bench:
        board = bench.board()
        told("deploy", "--port", board.device)
        board.power_cut()
        wait_for(lambda: board.state == "off", "the cut")
        return board.folder


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path / "boards") as made:
        yield made


def _write(path: Path, given: object, mode: int = 0o600) -> str:
    path.write_text(json.dumps(given))
    path.chmod(mode)
    return str(path)


def _listed(board: Board) -> dict[str, str]:
    """Path → SHA-256 of every file, told by mpremote alone."""
    program = (
        "import os, hashlib\n"
        "def w(d):\n"
        " for e in os.ilistdir(d or '/'):\n"
        "  p = d + '/' + e[0]\n"
        "  if e[1] & 0x4000: w(p)\n"
        "  else: print(p, hashlib.sha256(open(p, 'rb').read()).digest().hex())\n"
        "w('')"
    )
    return dict(line.split() for line in mpremote_says(board.device, "exec", program).splitlines())


# --- deploy ---


def test_deploy_puts_every_file_of_the_release_on_an_empty_board(bench: Bench) -> None:
    board = bench.board()
    release = build_release(FIRMWARE)
    said = told("deploy", "--port", board.device)
    assert sorted(said["written"]) == sorted(release.files)
    assert _listed(board) == {path: hashlib.sha256(data).hexdigest() for path, data in release.files.items()}
    assert {"/lib/adafruit_bme280/basic.mpy", "/lib/adafruit_bus_device/i2c_device.mpy"} <= set(release.files)


def test_program_runs_after_deploy_and_configuration(bench: Bench, deployed: Path, tmp_path: Path) -> None:
    board = bench.board(like=deployed)
    headwall_board("config", _write(tmp_path / "config.json", _GOOD), "--port", board.device)
    says(board, "gauge-a starts after hard")


def test_deploy_writes_only_what_differs_and_removes_what_is_no_more(bench: Bench, deployed: Path) -> None:
    board = bench.board(like=deployed, files={"lib/headwall_node/log.mpy": b"old", "lib/headwall_node/gone.mpy": b"x"})
    before = _listed(board)
    assert told("deploy", "--port", board.device, "--dry-run")["dry_run"] is True
    assert _listed(board) == before
    said = told("deploy", "--port", board.device)
    assert said["written"] == ["/lib/headwall_node/log.mpy", "/main.py"]
    assert said["removed"] == ["/main.py", "/lib/headwall_node/gone.mpy"]
    again = told("deploy", "--port", board.device)
    assert (again["written"], again["removed"]) == ([], [])


def test_deploy_keeps_what_is_not_of_the_program(bench: Bench, deployed: Path) -> None:
    mine = {"config.json": b"{}", "secrets.json": b"{}", "ca.der": b"ca", "update.key": b"k", "lib/other.py": b"x = 1"}
    board = bench.board(like=deployed, files={**mine, "lib/headwall_node/log.mpy": b"old"})
    told("deploy", "--port", board.device)
    there = _listed(board)
    assert {f"/{name}": hashlib.sha256(data).hexdigest() for name, data in mine.items()}.items() <= there.items()


def test_deploy_ends_an_update_over_the_air_and_what_its_program_had_prepared(bench: Bench, deployed: Path) -> None:
    over_the_air = {"slots.json": b'{"active": "slot_a"}', "slot_a/headwall_node/app.mpy": b"x", "config.run": b"{}"}
    board = bench.board(like=deployed, files=over_the_air)
    told("deploy", "--port", board.device)
    assert not any(path.startswith(("/slot", "/config.run")) for path in _listed(board))


def test_deploy_cut_by_loss_of_power_goes_on_where_it_was(bench: Bench) -> None:
    board = bench.board()
    board.power_cut_at_operation(250, off_us=2_000_000)
    assert "Run the command again" in refused("deploy", "--port", board.device)
    said = told("deploy", "--port", board.device)
    assert said["same"] > 5 and said["written"][-1] == "/main.py"
    assert told("deploy", "--port", board.device)["written"] == []


def test_deploy_killed_midway_leaves_a_board_at_its_prompt(bench: Bench, deployed: Path) -> None:
    board = bench.board(like=deployed, files={"lib/headwall_node/log.mpy": b"old", "lib/headwall_node/app.mpy": b"old"})
    before = board.flash().vfs_programs
    command = [str(HEADWALL), "board", "deploy", "--port", board.device]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
        wait_for(lambda: board.flash().vfs_programs > before, "the first change")
        tool.send_signal(signal.SIGKILL)
    board.press_reset()
    assert "/main.py" not in _listed(board)
    assert told("deploy", "--port", board.device)["written"][-1] == "/main.py"
    assert told("deploy", "--port", board.device)["written"] == []


def test_a_file_that_reads_back_otherwise_is_an_error_and_the_old_one_stands(bench: Bench, deployed: Path) -> None:
    garbling = (
        b"import builtins\n_open = open\n"
        b"class F:\n"
        b" def __init__(self, f): self.f = f; self.close = f.close; self.readinto = f.readinto\n"
        b" def write(self, d): return self.f.write(d[:-1] + b'?')\n"
        b"builtins.open = lambda p, m='r': F(_open(p, m)) if m == 'wb' else _open(p, m)\n"
    )
    board = bench.board(like=deployed, files={"boot.py": garbling, "lib/headwall_node/log.mpy": b"old"})
    assert "read back something else" in refused("deploy", "--port", board.device)
    board.power_cut()
    wait_for(lambda: board.state == "off", "the cut")
    board.put_files({"boot.py": b""})
    board.power_on()
    assert _listed(board)["/lib/headwall_node/log.mpy"] == hashlib.sha256(b"old").hexdigest()


def test_deploy_says_that_the_board_is_full(bench: Bench) -> None:
    board = bench.board(vfs_blocks=16)
    said = refused("deploy", "--port", board.device)
    assert "is full" in said and "did not fit" in said and "fs rm" in said
    assert not any(path.endswith(".part") for path in _listed(board))


def test_deploy_refuses_a_board_without_the_journals_partition(bench: Bench) -> None:
    board = bench.board(journal_blocks=0)
    said = refused("deploy", "--port", board.device)
    assert "no partition for the journal" in said and "headwall board flash IMAGE" in said
    assert _listed(board) == {}


# --- boards that cannot be reached ---


def test_a_port_that_is_not_there_is_said() -> None:
    assert "there is no port /dev/ttyNONE" in refused("verify", "--port", "/dev/ttyNONE")


def test_a_port_in_use_is_said(bench: Bench) -> None:
    board = bench.board()
    with serial.Serial(board.device, exclusive=True):
        assert "in use by another program" in refused("logs", "--port", board.device)
        assert "in use by another program" in refused("console", "--port", board.device, "--for", "1")


def test_a_board_without_power_is_silent_and_said_to_be(bench: Bench) -> None:
    board = bench.board()
    board.power_cut()
    wait_for(lambda: board.state == "off", "the cut")
    assert "nothing answers" in refused("logs", "--port", board.device, "--wait", "1")


def test_a_sleeping_board_is_caught_when_its_button_is_pressed(bench: Bench) -> None:
    program = b"import machine, time\ntime.sleep(1)\nmachine.deepsleep(3600000)\n"
    board = bench.board(files={"main.py": program})
    wait_for(lambda: board.state == "deep_sleep", "sleep")
    assert "deep sleep" in refused("logs", "--port", board.device, "--wait", "1")
    later = threading.Timer(2, board.press_reset)
    later.start()
    assert told("logs", "--port", board.device, "--wait", "30")["lines"] is None
    later.join()


def test_a_board_that_starts_over_and_over_is_said_to(bench: Bench) -> None:
    board = bench.board()
    over = threading.Event()

    def sag() -> None:  # a supply too weak for the radio: it never comes up
        while not over.wait(0.2):
            board.press_reset()

    weak = threading.Thread(target=sag)
    weak.start()
    try:
        said = refused("verify", "--port", board.device, "--wait", "4")
    finally:
        over.set()
        weak.join()
    assert "starts over and over" in said and "another cable" in said


def test_a_program_that_crashes_in_a_loop_is_stopped_and_mended(bench: Bench, deployed: Path) -> None:
    board = bench.board(like=deployed, files={"lib/headwall_node/app.py": b"1 / 0", "lib/headwall_node/app.mpy": b"x"})
    says(board, "the node's program has ended")
    assert "/lib/headwall_node/app.mpy" in told("deploy", "--port", board.device)["written"]


def test_several_boards_need_a_name_and_none_is_said() -> None:
    done = headwall_board("logs")
    assert done.returncode == 1 and "--port" in done.stderr


def test_missing_packages_are_named_with_the_way_to_get_them() -> None:
    program = (
        "import sys; sys.modules['mpremote.transport'] = None; sys.argv = ['headwall', 'board', 'verify'];"
        "from headwall.cli.main import app; app()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'headwall[board]'" in done.stderr and "Traceback" not in done.stderr


# --- provision ---


@pytest.fixture(scope="module")
def ca_pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    now = datetime.now(UTC)
    return make_ca(tmp_path_factory.mktemp("ca"), "ca", now - timedelta(days=1), now + timedelta(days=4000)).cert


def _provisioned(board: Board, ca_pem: Path, *more: str, given: str | None = None, code: int = 0) -> Any:
    return told(
        "provision", "--node", "gauge-a", "--ca", str(ca_pem), *more, "--port", board.device, given=given, code=code
    )


def test_provision_puts_name_secrets_and_authority_on_the_board(bench: Bench, ca_pem: Path, tmp_path: Path) -> None:
    board = bench.board()
    secrets = {"password": _SECRET, "wifi": [{"ssid": "works", "password": _WIFI_KEY}]}
    key = tmp_path / "update.key"
    key.write_bytes(bytes(384))
    said = _provisioned(board, ca_pem, "--secrets", _write(tmp_path / "s.json", secrets), "--update-key", str(key))
    assert said["mac"] == "240ac4000001"
    assert _listed(board)["/ca.der"] == hashlib.sha256(ca_pem.with_suffix(".der").read_bytes()).hexdigest()
    assert _listed(board)["/update.key"] == hashlib.sha256(bytes(384)).hexdigest()
    kept = json.loads(mpremote_says(board.device, "exec", "print(open('/secrets.json').read())"))
    assert kept == {"username": "gauge-a", **secrets}
    assert json.loads(mpremote_says(board.device, "exec", "print(open('/config.json').read())")) == {"node": "gauge-a"}


def test_provision_shows_no_secret_anywhere(bench: Bench, ca_pem: Path) -> None:
    board = bench.board()
    secrets = json.dumps({"password": _SECRET, "wifi": [{"ssid": "works", "password": _WIFI_KEY}]})
    words = ("provision", "--node", "gauge-a", "--ca", str(ca_pem), "--secrets", "-", "--port", board.device)
    done = headwall_board(*words, given=secrets)
    assert done.returncode == 0, done.stderr
    for where in (done.stdout, done.stderr, board.console.read_text(errors="replace")):
        assert _SECRET not in where and _WIFI_KEY not in where


def test_provision_asks_for_secrets_and_shows_none(bench: Bench, ca_pem: Path, tmp_path: Path) -> None:
    board = bench.board()
    command = [str(HEADWALL), "board", "provision", "--node", "gauge-a", "--ca", str(ca_pem), "--port", board.device]
    dialogue = [("Password", _SECRET), ("Wi-Fi name", "works"), ("Key of works", _WIFI_KEY), ("Wi-Fi name", "")]
    code, said = typed(command, tmp_path, dialogue)
    assert code == 0, said
    assert _SECRET not in said and _WIFI_KEY not in said
    kept = json.loads(mpremote_says(board.device, "exec", "print(open('/secrets.json').read())"))
    wifi = [{"ssid": "works", "password": _WIFI_KEY}]
    assert kept == {"username": "gauge-a", "password": _SECRET, "wifi": wifi}


def test_provision_quotes_no_secret_in_a_fault(ca_pem: Path) -> None:
    wrong = json.dumps({"password": _SECRET, "wifi": [_WIFI_KEY], _SECRET: 1})
    words = ("provision", "--node", "gauge-a", "--ca", str(ca_pem), "--secrets", "-", "--port", "/dev/ttyNONE")
    said = refused(*words, given=json.dumps({"password": _SECRET, "wifi": [_WIFI_KEY]}))
    assert "wifi[0]" in said and _WIFI_KEY not in said
    assert "does not belong into secrets.json" in refused(*words, given=wrong)


def test_provision_warns_of_a_secrets_file_that_others_can_read(bench: Bench, ca_pem: Path, tmp_path: Path) -> None:
    board = bench.board()
    words = ("provision", "--node", "gauge-a", "--ca", str(ca_pem), "--port", board.device, "--secrets")
    done = headwall_board(*words, _write(tmp_path / "s.json", {"password": _SECRET}, 0o644))
    assert done.returncode == 0 and "chmod 600" in done.stderr


def test_provision_puts_a_certificate_of_its_own_on_the_board_and_backup_leaves_its_key(
    bench: Bench, ca_pem: Path, tmp_path: Path
) -> None:
    board, now = bench.board(), datetime.now(UTC)
    authority = Authority(ca_pem, ca_pem.with_suffix(".der"), ca_pem.with_suffix(".key"))
    own = issue_node(tmp_path, authority, "gauge-a", now - timedelta(days=1), now + timedelta(days=1))
    _provisioned(board, ca_pem, "--secrets", "-", "--cert", str(own.cert), given="{}")
    listed = _listed(board)
    for path, source in (("/node.der", own.cert), ("/node.key.der", own.key)):
        assert listed[path] == hashlib.sha256(source.read_bytes()).hexdigest()
    config = json.loads(mpremote_says(board.device, "exec", "print(open('/config.json').read())"))
    assert config == {"node": "gauge-a", "cert_file": "node.der"}
    told("backup", str(tmp_path / "kept"), "--port", board.device)
    names = {path.name for path in (tmp_path / "kept").rglob("*")}
    assert "node.der" in names and "node.key.der" not in names


def test_provision_refuses_a_certificate_with_the_key_of_another(ca_pem: Path, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = Authority(ca_pem, ca_pem.with_suffix(".der"), ca_pem.with_suffix(".key"))
    one, other = (
        issue_node(tmp_path, authority, name, now - timedelta(days=1), now + timedelta(days=1)) for name in ("a", "b")
    )
    one.key.write_bytes(other.key.read_bytes())
    words = ("provision", "--node", "a", "--ca", str(ca_pem), "--secrets", "-", "--port", "/dev/ttyNONE", "--cert")
    assert "is not the key of" in refused(*words, str(one.cert), given="{}")


def test_provision_refuses_an_authority_that_has_ended(tmp_path: Path) -> None:
    ended = make_ca(tmp_path, "ca", datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)).cert
    words = ("provision", "--node", "a", "--secrets", "-", "--port", "/dev/ttyNONE", "--ca")
    assert "ended on 2021-01-01" in refused(*words, str(ended), given="{}")
    (tmp_path / "no.pem").write_text("no certificate")
    assert "is no certificate" in refused(*words, str(tmp_path / "no.pem"), given="{}")


# --- config ---


def test_config_tells_every_fault_and_writes_nothing(bench: Bench, deployed: Path, tmp_path: Path) -> None:
    board = bench.board(like=deployed)
    wrong = {**_GOOD, "keepalive_s": 1, "colour": "blue"}
    said = refused("config", _write(tmp_path / "c.json", wrong), "--port", board.device)
    assert "keepalive_s" in said and "colour" in said
    assert "/config.json" not in _listed(board)
    assert "colour" in refused("config", _write(tmp_path / "c.json", wrong), "--check")


def test_config_shows_what_it_changes_without_secrets(bench: Bench, deployed: Path, tmp_path: Path) -> None:
    before = {**_GOOD, "password": _SECRET, "wifi": [{"ssid": "works", "password": _WIFI_KEY}]}
    board = bench.board(like=deployed, files={"config.json": json.dumps(before).encode()})
    words = ("config", _write(tmp_path / "c.json", {**_GOOD, "report_s": 600}), "--port", board.device)
    said = told(*words, "--dry-run")
    assert {"key": "report_s", "old": "", "new": "600"} in said["changes"]
    assert {"key": "password", "old": "(secret)", "new": ""} in said["changes"]
    assert _SECRET not in json.dumps(said) and _WIFI_KEY not in json.dumps(said)
    told(*words)
    assert told(*words)["changes"] == []


def test_config_keeps_what_the_board_was_provisioned_with(bench: Bench, deployed: Path, tmp_path: Path) -> None:
    shared = {key: value for key, value in _GOOD.items() if key != "node"}
    there = b'{"node": "gauge-b", "cert_file": "node.der"}'
    board = bench.board(like=deployed, files={"config.json": there})
    assert told("config", _write(tmp_path / "c.json", shared), "--port", board.device)["node"] == "gauge-b"
    now = json.loads(mpremote_says(board.device, "exec", "print(open('/config.json').read())"))
    assert (now["node"], now["cert_file"]) == ("gauge-b", "node.der")


def test_config_that_is_wrong_with_the_boards_secrets_is_refused_by_the_board(
    bench: Bench, deployed: Path, tmp_path: Path
) -> None:
    board = bench.board(like=deployed, files={"secrets.json": b'{"wifi": "no list"}'})
    said = refused("config", _write(tmp_path / "c.json", _GOOD), "--port", board.device)
    assert "wifi must be a list" in said
    assert not any(path.startswith("/config.json") for path in _listed(board))


# --- verify ---


def test_verify_finds_nothing_wrong_with_a_board_that_is_right(bench: Bench, deployed: Path, ca_pem: Path) -> None:
    der = ca_pem.with_suffix(".der").read_bytes()
    board = bench.board(like=deployed, files={"config.json": json.dumps(_GOOD).encode(), "ca.der": der})
    said = told("verify", "--port", board.device)
    assert said["ok"] is True
    found = {finding["what"]: finding["found"] for finding in said["findings"]}
    assert found["MicroPython"].startswith("1.") and found["journal partition"] == "256 KiB"


def test_verify_names_each_file_that_is_wrong(bench: Bench, deployed: Path) -> None:
    wrong = {"lib/headwall_node/log.mpy": b"old", "lib/headwall_node/extra.mpy": b"x", "config.json": b'{"colour": 1}'}
    board = bench.board(like=deployed, files=wrong)
    mpremote_says(board.device, "fs", "rm", ":lib/headwall_node/clock.mpy")
    said = told("verify", "--port", board.device, code=1)
    found = {finding["what"]: finding["found"] for finding in said["findings"] if finding["ok"] is False}
    assert found["/lib/headwall_node/log.mpy"] == "differs"
    assert found["/lib/headwall_node/extra.mpy"] == "is not of this release"
    assert found["/lib/headwall_node/clock.mpy"] == "missing"
    assert "colour" in found["configuration"] and "provision" in found["broker's authority"]


# --- selftest ---

_TWO = {**_GOOD, "sensors": [*_GOOD["sensors"], {"kind": "a02yyuw", "uart": 1, "tx": 17, "rx": 16, "timeout_ms": 2000}]}


def _ranger(*faults: Fault) -> Wired:
    return Wired("a02yyuw", "A02yyuw", "uart", 1, [(0, 1953)], faults=faults)


def test_selftest_reads_each_sensor_and_counts_tips_by_hand(bench: Bench, deployed: Path) -> None:
    now_us = bench.sim.keeper.now_us()
    edges = [Edge(now_us + n * 100_000, 4, n % 2) for n in range(600)]  # a tip each 200 ms, for a minute
    board = bench.board(
        like=deployed,
        files={"config.json": json.dumps(_TWO).encode()},
        timeline=Timeline(edges, {4: 1}),
        wired=[_ranger()],
    )
    said = told("selftest", "--listen", "3", "--port", board.device)
    found = {one["stream"]: one for one in said["sensors"]}
    assert found["stage.distance"]["value"] == "1.953"
    assert found["rain.tips"]["value"] > 5
    assert said["ok"] is True


def test_selftest_fails_for_a_sensor_that_does_not_answer_and_reads_the_others(bench: Bench, deployed: Path) -> None:
    board = bench.board(
        like=deployed,
        files={"config.json": json.dumps(_TWO).encode()},
        timeline=Timeline([], {4: 1}),
        wired=[_ranger(Fault(0, 2**62, "unplugged"))],
    )
    said = told("selftest", "--port", board.device, code=1)
    found = {one["stream"]: one for one in said["sensors"]}
    assert found["stage.distance"]["value"] is None and "does not answer" in found["stage.distance"]["why"]
    assert found["rain.tips"]["ok"] is True


def test_selftest_tells_a_contact_that_is_closed(bench: Bench, deployed: Path) -> None:
    files = {"config.json": json.dumps(_GOOD).encode()}
    board = bench.board(like=deployed, files=files, timeline=Timeline([], {4: 0}))
    said = told("selftest", "--port", board.device, code=1)
    assert "the contact is closed" in said["sensors"][0]["why"]


def test_selftest_needs_program_and_configuration(bench: Bench, deployed: Path) -> None:
    assert "headwall board deploy" in refused("selftest", "--port", bench.board("bare").device)
    assert "cannot be read" in refused("selftest", "--port", bench.board("unset", like=deployed).device)


# --- logs, console, list ---


def test_logs_tell_troubles_and_the_cause_of_the_last_start(bench: Bench, deployed: Path) -> None:
    board = bench.board(like=deployed, files={"config.json": json.dumps(_GOOD).encode()})
    says(board, "ca.der cannot be read")
    starts = re.findall(r"--- boot: cause (\w+)", board.console.read_text(errors="replace"))
    said = told("logs", "--port", board.device)
    assert said["reset"] == starts[-1]
    assert any("ca.der cannot be read" in line for line in said["lines"])
    says(board, "gauge-a starts after hard")


def test_console_shows_what_the_board_prints_and_stops_nothing(bench: Bench) -> None:
    board = bench.board(files={"main.py": b"import time\nwhile True: print('still here'); time.sleep(0.2)\n"})
    done = headwall_board("console", "--port", board.device, "--for", "2")
    assert done.returncode == 0 and "still here" in done.stdout
    seen = board.console.read_text().count("still here")
    says(board, "still here", times=seen + 3)


def test_console_takes_what_is_typed(bench: Bench, tmp_path: Path) -> None:
    board = bench.board()
    says(board, 'Type "help()"')
    command = [str(HEADWALL), "board", "console", "--port", board.device]
    code, said = typed(command, tmp_path, [("Ctrl-]", "print(6 * 7)\r"), ("42", "\x1d")])
    assert code == 0 and "42" in said


def test_list_tells_what_answers(bench: Bench, deployed: Path) -> None:
    board = bench.board("one", like=deployed, files={"config.json": b'{"node": "gauge-a"}'})
    off = bench.board("two")
    off.power_cut()
    found = {one["port"]: one for one in told("list", "--port", board.device, "--port", off.device)}
    assert (found[board.device]["node"], found[board.device]["id"]) == ("gauge-a", "240ac4000001")
    assert found[board.device]["answers"].startswith("MicroPython 1.")
    assert "nothing answers" in found[off.device]["answers"]
    assert told("list", "--no-ask", "--port", board.device)[-1]["answers"] == ""


# --- backup ---


def test_backup_copies_files_and_journal_but_no_secrets(bench: Bench, deployed: Path, tmp_path: Path) -> None:
    given = {**_GOOD, "wifi": [{"ssid": "works", "password": _WIFI_KEY}]}
    secrets = {"secrets.json": json.dumps({"password": _SECRET}).encode(), "node.key.der": _SECRET.encode()}
    board = bench.board(like=deployed, files={"config.json": json.dumps(given).encode(), **secrets})
    says(board, "gauge-a starts after")
    wait_for(lambda: board.taken() > 0, "a record in the journal")
    said = told("backup", str(tmp_path / "kept"), "--port", board.device)
    folder = Path(said["folder"])
    copied = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert not any(secret.encode() in data for data in copied.values() for secret in (_SECRET, _WIFI_KEY))
    assert {"secrets.json", "node.key.der", "passwords in config.json"} <= set(said["left_out"])
    assert json.loads(copied["config.json"])["wifi"] == [{"ssid": "works", "password": "(secret)"}]
    assert copied["main.py"] == (FIRMWARE / "main.py").read_bytes()
    flash = (board.folder / "flash.bin").read_bytes()
    assert len(copied["journal.bin"]) == 64 * BLOCK
    written = copied["journal.bin"][:BLOCK].rstrip(b"\xff")  # the board has started anew, and may have added to it
    assert len(written) > 48 and flash[256 * BLOCK :].startswith(written)
    assert {name: hashlib.sha256(data).hexdigest() for name, data in copied.items() if name != "manifest.json"} == said[
        "files"
    ]


def test_backup_with_secrets_is_for_its_owner_alone(bench: Bench, tmp_path: Path) -> None:
    secrets = json.dumps({"password": _SECRET}).encode()
    board = bench.board(files={"secrets.json": secrets})
    said = told("backup", str(tmp_path), "--with-secrets", "--no-journal", "--port", board.device)
    folder = Path(said["folder"])
    assert (folder / "secrets.json").read_bytes() == secrets and said["left_out"] == []
    assert folder.stat().st_mode & 0o077 == 0


# --- simulate ---


def test_simulate_prints_its_port_first_and_keeps_its_flash(tmp_path: Path) -> None:
    for expected in ("False\n", "True\n"):
        command = [str(HEADWALL), "board", "simulate", "--dir", str(tmp_path / "sim")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            device = running.stdout.readline().strip()
            assert Path(device).is_char_device() and str((tmp_path / "sim" / "port").readlink()) == device
            there = "import os; print('kept' in os.listdir()); open('kept', 'w').close()"
            assert mpremote_says(device, "exec", there) == expected
            running.send_signal(signal.SIGTERM)
        assert running.returncode == 0
