"""The simulated clock: when it jumps, when it must not, over threads and processes."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.clock import SystemClock
from headwall.errors import ConfigurationError
from headwall_sim.simclock import ClockGoneError, RemoteClock, SimClock, clock_from

_START = 1_780_963_200_000_000  # 2026-06-09T00:00:00Z
_HOUR = 3600 * 10**6


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[SimClock]:
    made = SimClock(_START)
    made.serve(tmp_path / "clock.sock")
    yield made
    made.stop()


def _remote(tmp_path: Path) -> RemoteClock:
    return RemoteClock(tmp_path / "clock.sock")


def _waiter(clock: SimClock | RemoteClock, until_us: int, log: list[int]) -> threading.Thread:
    thread = threading.Thread(target=lambda: (clock.wait(threading.Event(), until_us), log.append(clock.now_us())))
    thread.start()
    return thread


def test_wait_of_a_day_jumps_when_alone(clock: SimClock) -> None:
    began = time.monotonic()
    clock.run_until(_START + 24 * _HOUR)
    assert clock.now_us() >= _START + 24 * _HOUR
    assert time.monotonic() - began < 60  # a day has not been waited for


def test_time_stands_at_one_to_one_between_waits(clock: SimClock) -> None:
    clock.run_until(_START + _HOUR)
    time.sleep(0.05)
    assert _START + _HOUR <= clock.now_us() < _START + 2 * _HOUR


def test_waits_of_two_processes_end_in_the_order_of_their_instants(clock: SimClock, tmp_path: Path) -> None:
    remote = _remote(tmp_path)
    log: list[int] = []
    thread = _waiter(remote, _START + 2 * _HOUR, log)
    clock.run_until(_START + _HOUR)
    assert log == []
    clock.run_until(_START + 3 * _HOUR)
    thread.join(10)
    assert len(log) == 1
    assert _START + 2 * _HOUR <= log[0] < _START + 3 * _HOUR


def test_wait_that_slept_through_a_jump_ends_on_time_though_its_process_is_busy(
    clock: SimClock, tmp_path: Path
) -> None:
    remote = _remote(tmp_path)
    log: list[int] = []
    thread = _waiter(remote, _START + _HOUR, log)
    clock.run_until(_START + _HOUR - 200_000)
    with remote.busy("a commit"):
        thread.join(20)
        assert len(log) == 1


def test_busy_process_holds_the_clock(clock: SimClock, tmp_path: Path) -> None:
    remote = _remote(tmp_path)
    done = threading.Event()
    clock.leave()  # another thread drives it here
    with remote.busy("a commit"):
        thread = threading.Thread(target=lambda: (clock.run_until(_START + _HOUR), done.set()))
        thread.start()
        assert not done.wait(0.2)
        assert remote.now_us() < _START + _HOUR
    remote.leave()
    assert done.wait(10)
    thread.join()


def test_event_set_from_outside_wakes_at_the_time_it_was_set(clock: SimClock, tmp_path: Path) -> None:
    remote = _remote(tmp_path)
    wake = threading.Event()
    result: list[tuple[bool, int]] = []

    def wait_then_end() -> None:
        result.append((remote.wait(wake, _START + 9 * _HOUR), remote.now_us()))
        remote.leave()

    thread = threading.Thread(target=wait_then_end)
    thread.start()
    clock.run_until(_START + _HOUR)
    wake.set()
    thread.join(10)
    assert result[0][0] is True
    assert _START + _HOUR <= result[0][1] < _START + 2 * _HOUR


def test_thread_back_from_wait_holds_the_clock_until_it_waits_again(clock: SimClock, tmp_path: Path) -> None:
    remote = _remote(tmp_path)
    slow = threading.Event()
    seen: list[int] = []

    def work() -> None:
        remote.wait(threading.Event(), _START + _HOUR)
        slow.wait(0.2)  # work outside of busy()
        seen.append(remote.now_us())

    thread = threading.Thread(target=work)
    thread.start()
    clock.run_until(_START + 5 * _HOUR)  # the thread ends without a word; the clock finds out
    thread.join()
    assert seen[0] < _START + 2 * _HOUR


def test_killed_process_does_not_stall_the_clock(clock: SimClock, tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from headwall_sim.simclock import RemoteClock\n"
        "clock = RemoteClock(Path(sys.argv[1]), 'doomed')\n"
        "with clock.busy('for ever'): print('busy', flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "clock.sock")], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"busy\n"
    assert "doomed" in clock.names()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    clock.run_until(_START + _HOUR)
    assert "doomed" not in clock.names()


def test_timers_are_called_at_their_instants_in_order(clock: SimClock) -> None:
    called: list[tuple[str, int]] = []
    clock.keeper.at(_START + 2 * _HOUR, lambda: called.append(("second", clock.keeper.now_us())))
    clock.keeper.at(_START + _HOUR, lambda: called.append(("first", clock.keeper.now_us())))
    clock.keeper.at(_START + _HOUR, lambda: called.append(("never", 0))).cancel()
    clock.run_until(_START + 3 * _HOUR)
    assert [name for name, _ in called] == ["first", "second"]
    assert _START + _HOUR <= called[0][1] < _START + 2 * _HOUR <= called[1][1] < _START + 3 * _HOUR


def test_clock_without_jumps_runs_one_to_one() -> None:
    clock = SimClock(_START, jumps=False)
    try:
        assert not clock.wait(threading.Event(), clock.now_us() + 50_000)
        assert clock.now_us() < _START + 60 * 10**6
        assert clock.keeper.jump_count == 0
    finally:
        clock.stop()


def test_stalling_participant_is_named_with_its_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = SimClock(_START, stall_s=0.1)
    clock.serve(tmp_path / "clock.sock")
    remote = RemoteClock(tmp_path / "clock.sock", "slow gateway")
    with caplog.at_level(logging.WARNING), remote.busy("a long commit"):
        for _ in range(100):
            if "a long commit" in caplog.text:
                break
            time.sleep(0.05)
    clock.stop()
    assert "slow gateway has kept the simulated clock at 1:1" in caplog.text
    assert "busy with a long commit" in caplog.text


def test_clock_that_ends_raises_in_those_who_wait(tmp_path: Path) -> None:
    clock = SimClock(_START)
    clock.serve(tmp_path / "clock.sock")
    remote = RemoteClock(tmp_path / "clock.sock")
    threading.Timer(0.1, clock.stop).start()
    with pytest.raises(ClockGoneError):
        remote.wait(threading.Event(), None)


def test_call_that_fails_ends_the_simulation_for_those_who_wait(
    clock: SimClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.keeper.at(_START + _HOUR, lambda: [].pop())
    with pytest.raises(ClockGoneError):
        clock.run_until(_START + 2 * _HOUR)
    assert "pop from empty list" in caplog.text


def test_setting_names_the_clock(clock: SimClock, tmp_path: Path) -> None:
    assert isinstance(clock_from("system"), SystemClock)
    remote = clock_from(f"simulation:{tmp_path / 'clock.sock'}")
    assert abs(remote.now_us() - clock.now_us()) < _HOUR
    with pytest.raises(ConfigurationError, match="sundial"):
        clock_from("sundial")
    with pytest.raises(ClockGoneError, match="start the simulation first"):
        clock_from(f"simulation:{tmp_path / 'nobody.sock'}")
