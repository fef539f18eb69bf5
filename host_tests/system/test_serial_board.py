"""A simulated board's serial port, as the real mpremote sees it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bench import Bench, mpremote, mpremote_says, says, wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path / "boards") as made:
        yield made


def test_prompt_runs_code_and_knows_nothing_of_the_simulation(bench: Bench) -> None:
    board = bench.board()
    assert mpremote_says(board.device, "exec", "print(6 * 7, sorted(n for n in dir() if n[0] != '_'))") == "42 []\n"


def test_files_go_there_and_back_whole(bench: Bench, tmp_path: Path) -> None:
    board = bench.board()
    data = bytes(range(256)) * 40
    (tmp_path / "there").write_bytes(data)
    mpremote_says(board.device, "fs", "mkdir", ":lib")
    mpremote_says(board.device, "fs", "cp", str(tmp_path / "there"), ":lib/it")
    assert hashlib.sha256(data).hexdigest() in mpremote_says(board.device, "fs", "sha256sum", ":lib/it")
    mpremote_says(board.device, "fs", "cp", ":lib/it", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data
    assert "it" in mpremote_says(board.device, "fs", "ls", ":lib")
    mpremote_says(board.device, "fs", "rm", ":lib/it")
    assert "it" not in mpremote_says(board.device, "fs", "ls", ":lib")


def test_files_outlive_loss_of_power(bench: Bench) -> None:
    board = bench.board(files={"kept": b"x"})
    board.power_cut()
    wait_for(lambda: board.state == "off", "the cut")
    board.power_on()
    assert mpremote_says(board.device, "exec", "print(open('/kept').read())") == "x\n"


def test_ctrl_c_stops_the_program_and_reset_starts_it_again(bench: Bench) -> None:
    board = bench.board(files={"main.py": b"import time\nprint('begins')\nwhile True: time.sleep(1)\n"})
    says(board, "begins")
    assert mpremote_says(board.device, "exec", "print('stopped')") == "stopped\n"
    mpremote_says(board.device, "reset")
    says(board, "begins", times=2)


def test_ctrl_c_stops_a_program_that_never_waits(bench: Bench) -> None:
    board = bench.board(files={"main.py": b"print('begins')\nwhile True: pass\n"})
    says(board, "begins")
    assert mpremote_says(board.device, "exec", "print('stopped')") == "stopped\n"


def test_raw_soft_reset_runs_boot_py_alone(bench: Bench) -> None:
    board = bench.board(files={"boot.py": b"print('boot runs')\n", "main.py": b"print('main runs')\n"})
    says(board, "main runs")
    mpremote_says(board.device, "exec", "print(1)")  # begins with a soft reset
    said = board.console.read_text(errors="replace")
    assert (said.count("boot runs"), said.count("main runs")) == (2, 1)
    mpremote_says(board.device, "soft-reset")
    says(board, "boot runs", times=3)


def test_deep_sleep_hears_nothing_and_ends_by_the_timer(bench: Bench) -> None:
    program = b"import machine\nprint('awake after', machine.reset_cause())\nmachine.deepsleep(2000)\n"
    board = bench.board(files={"main.py": program})
    wait_for(lambda: board.state == "deep_sleep", "sleep")
    says(board, "awake after 4")  # machine.DEEPSLEEP_RESET


def test_watchdog_bites_at_the_prompt_too(bench: Bench) -> None:
    program = b"import machine\nprint('starts after', machine.reset_cause())\nmachine.WDT(timeout=1000)\n"
    board = bench.board(files={"main.py": program})
    says(board, "starts after 3")  # machine.WDT_RESET


def test_a_full_flash_is_told_as_enospc(bench: Bench, tmp_path: Path) -> None:
    board = bench.board(vfs_blocks=16)
    (tmp_path / "big").write_bytes(bytes(70_000))
    done = mpremote(board.device, "fs", "cp", str(tmp_path / "big"), ":big")
    assert done.returncode != 0
    assert "ENOSPC" in done.stdout + done.stderr or "No space" in done.stdout + done.stderr


def test_output_to_a_slow_reader_is_whole(bench: Bench) -> None:
    board = bench.board()
    said = mpremote_says(board.device, "exec", "for i in range(4000): print('line', i)")
    assert said.splitlines() == [f"line {i}" for i in range(4000)]
