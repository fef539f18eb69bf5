"""A simulated board: time, flash, power, sleep and interrupts, as a program on it sees them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from headwall.clock import to_us
from headwall_sim.simulated_board import Board, BoardError
from headwall_sim.supervisor import Supervisor
from headwall_sim.timeline import Edge, Timeline

_START = to_us(datetime(2026, 6, 9, tzinfo=UTC))
_S = 1_000_000
_HOUR = 3600 * _S

MakeBoard = Callable[..., Board]


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "sim", start_us=_START, firmware=tmp_path, stall_s=10) as made:
        yield made


@pytest.fixture
def board(sim: Supervisor, tmp_path: Path) -> MakeBoard:
    """Makes a board that runs the given program as its main.py, and switches it on."""

    def make(program: str, **options: object) -> Board:
        name = f"board-{len(sim.boards)}"
        firmware = tmp_path / f"firmware-{name}"
        firmware.mkdir()
        (firmware / "main.py").write_text(program)
        files = options.pop("files", {"config.json": b"{}"})
        made = sim.board(name, files=files, firmware=firmware, **options)  # type: ignore[arg-type]
        made.power_on()
        return made

    return make


def _said(board: Board) -> list[str]:
    """What the program printed."""
    lines = board.console.read_text().splitlines()
    return [line.split(" ", 1)[1] for line in lines if not line.split(" ", 1)[1].startswith("---")]


def test_program_sees_the_esp32_s_epoch_and_integer_time(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import time, machine\n"
        "print(time.gmtime(0)[:3], time.time(), type(time.time()) is int, len(time.gmtime()))\n"
        "machine.RTC().datetime((2026, 6, 9, 1, 12, 30, 15, 250000))\n"
        "print(time.time(), time.gmtime()[:6], machine.RTC().datetime()[:7], time.mktime(time.gmtime()) == time.time())"
    )
    sim.clock.run_until(_START + 10 * _S)
    seconds = (datetime(2026, 6, 9, 12, 30, 15, tzinfo=UTC) - datetime(2000, 1, 1, tzinfo=UTC)).days * 86400 + 45015
    assert _said(made)[:2] == [
        "(2000, 1, 1) 0 True 8",
        f"{seconds} (2026, 6, 9, 12, 30, 15) (2026, 6, 9, 1, 12, 30, 15) True",
    ]


def test_asyncio_sleeps_over_the_wrap_of_ticks(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import asyncio, time\n"
        "order = []\n"
        "async def one(s):\n"
        "    await asyncio.sleep(s); order.append(s)\n"
        "async def main():\n"
        "    first = time.ticks_ms()\n"
        "    await asyncio.gather(*[one(s) for s in (7, 3, 5, 1)])\n"
        "    last = time.ticks_ms()\n"
        "    print(order, first > 2**29, last < 2**29, time.ticks_diff(last, first) // 1000)\n"
        "    try:\n"
        "        await asyncio.wait_for(one(3600), 60)\n"
        "    except asyncio.TimeoutError:\n"
        "        print('timed out after', time.ticks_diff(time.ticks_ms(), last) // 1000)\n"
        "asyncio.run(main())",
        ticks_ms=2**30 - 4000,
    )
    sim.clock.run_until(_START + _HOUR)
    assert _said(made)[:2] == ["[1, 3, 5, 7] True True 7", "timed out after 60"]


def test_asyncio_tasks_can_be_awaited_cancelled_and_locked(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import asyncio\n"
        "async def fails(): raise ValueError('x')\n"
        "async def sleeps(log):\n"
        "    try: await asyncio.sleep(100)\n"
        "    except asyncio.CancelledError: log.append('cancelled'); raise\n"
        "async def main():\n"
        "    log = []\n"
        "    task = asyncio.create_task(sleeps(log))\n"
        "    waiter = asyncio.create_task(wait_for(task))\n"
        "    await asyncio.sleep(1)\n"
        "    waiter.cancel()\n"
        "    await asyncio.sleep(1)\n"
        "    print(log, task.done(), waiter.done(), waiter.cancel())\n"
        "    print(await asyncio.gather(fails(), wait_for(asyncio.sleep(1)), return_exceptions=True))\n"
        "    event, lock = asyncio.Event(), asyncio.Lock()\n"
        "    async def locked(): \n"
        "        async with lock: await event.wait(); log.append('event')\n"
        "    two = [asyncio.create_task(locked()) for _ in range(2)]\n"
        "    await asyncio.sleep(1); event.set()\n"
        "    for t in two: await t\n"
        "    print(log)\n"
        "    try: await asyncio.create_task(fails())\n"
        "    except ValueError as e: print('raised', e)\n"
        "async def wait_for(task): await task\n"
        "asyncio.run(main())"
    )
    sim.clock.run_until(_START + _HOUR)
    assert _said(made)[:4] == [
        "['cancelled'] True True False",
        "[ValueError('x',), None]",
        "['cancelled', 'event', 'event']",
        "raised x",
    ]


def test_interrupt_sees_the_instant_of_its_edge(sim: Supervisor, board: MakeBoard) -> None:
    edges = [Edge(_START + 100 * _S + ms * 1000, 4, level) for ms, level in ((0, 0), (3, 1), (5, 0), (90, 1))]
    made = board(
        "import machine, time, asyncio\n"
        "pin = machine.Pin(4, machine.Pin.IN, machine.Pin.PULL_UP)\n"
        "first = []\n"
        "flag = asyncio.ThreadSafeFlag()\n"
        "def handler(p):\n"
        "    first.append(time.ticks_ms()); print(time.ticks_diff(first[-1], first[0]), p.value()); flag.set()\n"
        "pin.irq(handler, machine.Pin.IRQ_FALLING | machine.Pin.IRQ_RISING)\n"
        "async def main():\n"
        "    await flag.wait(); print('flag')\n"
        "    await asyncio.sleep(1000)\n"
        "print('rest', pin.value())\n"
        "asyncio.run(main())",
        timeline=Timeline(edges, {4: 1}),
    )
    sim.clock.run_until(_START + 200 * _S)
    assert [line for line in _said(made) if line != "flag"] == ["rest 1", "0 0", "3 1", "5 0", "90 1"]
    assert "flag" in _said(made)


def test_edges_during_an_erase_come_late_and_as_one(sim: Supervisor, board: MakeBoard) -> None:
    edges = [Edge(_START + 100 * _S + ms * 1000, 4, level) for ms, level in ((0, 0), (3, 1), (5, 0))]
    made = board(
        "import machine, esp32, time\n"
        "seen = []\n"
        "pin = machine.Pin(4, machine.Pin.IN)\n"
        "pin.irq(lambda p: seen.append(p.value()))\n"
        "part = esp32.Partition.find(esp32.Partition.TYPE_DATA, label='journal')[0]\n"
        "while time.time() < 99: time.sleep_ms(100)\n"
        "while time.ticks_ms() and not seen: part.ioctl(6, 0)\n"
        "print(seen)",
        timeline=Timeline(edges, {4: 1}),
        erase_ms=2000,
    )
    sim.clock.run_until(_START + 200 * _S)
    assert _said(made)[0] == "[0]"


def test_programming_only_clears_bits_and_erasing_sets_them(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import esp32\n"
        "part = esp32.Partition.find(esp32.Partition.TYPE_DATA, label='journal')[0]\n"
        "buf = bytearray(2)\n"
        "def read(): part.readblocks(1, buf, 8); return bytes(buf)\n"
        "print(read(), part.info()[4], part.ioctl(4, 0), part.ioctl(5, 0))\n"
        "part.writeblocks(1, b'\\x0f\\xf0', 8); part.writeblocks(1, b'\\x33\\x33', 8); print(read())\n"
        "part.ioctl(6, 1); print(read())"
    )
    sim.clock.run_until(_START + 10 * _S)
    assert _said(made)[:3] == ["b'\\xff\\xff' journal 64 4096", "b'\\x030'", "b'\\xff\\xff'"]
    counts = made.flash()
    assert (counts.journal_programs, counts.journal_bytes, counts.journal_erases) == (2, 4, 1)


def test_power_cut_at_an_operation_leaves_half_of_it(sim: Supervisor, board: MakeBoard) -> None:
    program = (
        "import esp32, machine, time\n"
        "part = esp32.Partition.find(esp32.Partition.TYPE_DATA, label='journal')[0]\n"
        "buf = bytearray(8)\n"
        "part.readblocks(0, buf); print(bytes(buf), machine.reset_cause(), machine.RTC().memory())\n"
        "machine.RTC().memory(b'kept')\n"
        "time.sleep(10)\n"
        "if buf[0] == 255:\n"
        "    for i in range(4): part.writeblocks(0, bytes([i, i]), 2 * i)\n"
    )
    made = board(program)
    sim.clock.run_until(_START + 5 * _S)
    made.power_cut_at_operation(3, off_us=60 * _S)
    sim.clock.run_until(_START + 100 * _S)
    assert _said(made)[:2] == [
        "b'\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff' 1 b''",
        "b'\\x00\\x00\\x01\\x01\\x02\\xff\\xff\\xff' 1 b''",
    ]
    (on, off), (again, _) = made.powered()
    assert _START <= on < off < again  # type: ignore[operator]
    assert again - off >= 60 * _S  # type: ignore[operator]


def test_nvs_keeps_only_what_was_committed(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import esp32, machine\n"
        "nvs = esp32.NVS('headwall')\n"
        "buf = bytearray(8)\n"
        "try: print(nvs.get_i32('n'), nvs.get_blob('b', buf), bytes(buf[:3]))\n"
        "except OSError as e: print('none', e.args[0])\n"
        "try: nvs.get_i32('lost'); print('not lost')\n"
        "except OSError: print('lost')\n"
        "if machine.reset_cause() == 1:\n"
        "    nvs.set_i32('n', 7); nvs.set_blob('b', b'abc'); nvs.commit(); nvs.set_i32('lost', 1)\n"
        "    machine.reset()\n"
    )
    sim.clock.run_until(_START + 10 * _S)
    assert _said(made)[:4] == ["none -4354", "lost", "7 3 b'abc'", "lost"]


_SLEEPER = (
    "import machine, esp32, time\n"
    "print(machine.reset_cause(), machine.wake_reason(), machine.RTC().memory(), time.time())\n"
    "machine.RTC().memory(machine.RTC().memory() + b'x')\n"
    "try:\n"
    "    {arm}\n"
    "    machine.deepsleep({ms})\n"
    "except BaseException: print('caught')\n"
    "finally: print('finally')\n"
)


def test_deep_sleep_wakes_by_timer_with_memory_and_clock_kept(sim: Supervisor, board: MakeBoard) -> None:
    made = board(_SLEEPER.format(arm="", ms=600_000), boot_ms=0)
    sim.clock.run_until(_START + 1900 * _S)
    assert _said(made) == ["1 0 b'' 0", "4 4 b'x' 600", "4 4 b'xx' 1200", "4 4 b'xxx' 1800"]


@pytest.mark.parametrize(
    ("arm", "woken"),
    [
        ("esp32.wake_on_ext0(pin=machine.Pin(4, machine.Pin.IN), level=0)", "4 2 b'x' 100"),
        ("esp32.wake_on_ext1(pins=(machine.Pin(4), ), level=esp32.WAKEUP_ALL_LOW)", "4 3 b'x' 100"),
        ("esp32.wake_on_ext1(pins=(machine.Pin(5), ), level=esp32.WAKEUP_ANY_HIGH)", "4 3 b'x' 200"),
        ("esp32.wake_on_ext0(pin=None, level=0)", None),
        ("pass", None),
    ],
)
def test_deep_sleep_wakes_by_an_armed_pin_alone(sim: Supervisor, board: MakeBoard, arm: str, woken: str | None) -> None:
    edges = [Edge(_START + 100 * _S, 4, 0), Edge(_START + 101 * _S, 4, 1), Edge(_START + 200 * _S, 5, 1)]
    made = board(_SLEEPER.format(arm=arm, ms=""), timeline=Timeline(edges, {4: 1}))
    sim.clock.run_until(_START + 150 * _S if woken and woken.endswith("100") else _START + 201 * _S)
    said = _said(made)[1:2]
    assert [line.rsplit(" ", 1)[0] for line in said] == ([woken.rsplit(" ", 1)[0]] if woken else [])
    for line in said:  # the board's own clock began when it was switched on, a little after the simulation
        assert 0 <= int(str(woken).rsplit(" ", 1)[1]) - int(line.rsplit(" ", 1)[1]) <= 5


def test_watchdog_resets_a_program_that_hangs(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import machine, time\n"
        "print(machine.reset_cause())\n"
        "if machine.reset_cause() == 1:\n"
        "    machine.WDT(timeout=300)\n"
        "    while True: pass\n"
    )
    sim.clock.run_until(_START + 20 * _S)
    assert _said(made)[:2] == ["1", "3"]


def test_watchdog_bites_a_program_that_sleeps_without_feeding_it(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import machine, time\n"
        "print(machine.reset_cause(), time.time())\n"
        "if machine.reset_cause() == 1:\n"
        "    dog = machine.WDT(timeout=5000)\n"
        "    for _ in range(5): time.sleep(4); dog.feed()\n"
        "    time.sleep(3600)\n",
        boot_ms=0,
    )
    sim.clock.run_until(_START + 60 * _S)
    assert _said(made)[:2] == ["1 0", "3 25"]


def test_uncaught_exception_is_on_the_console_and_the_board_stays_powered(sim: Supervisor, board: MakeBoard) -> None:
    made = board("raise ValueError('broken')")
    sim.clock.run_until(_START + 10 * _S)
    assert "ValueError: broken" in _said(made)
    assert made.state == "running"


def test_files_survive_loss_of_power_and_rtc_memory_does_not(sim: Supervisor, board: MakeBoard) -> None:
    made = board(
        "import machine\n"
        "print(machine.RTC().memory())\n"
        "try: print(open('note').read())\n"
        "except OSError: print('no note')\n"
        "with open('note', 'w') as f: f.write('kept')\n"
        "machine.RTC().memory(b'gone')\n"
    )
    sim.clock.run_until(_START + 10 * _S)
    made.power_cut(off_us=10 * _S)
    sim.clock.run_until(_START + 60 * _S)
    assert [line for line in _said(made) if not line.startswith("main.py")] == ["b''", "no note", "b''", "kept"]


def test_tips_count_only_while_there_is_power(sim: Supervisor, board: MakeBoard) -> None:
    tips = [_START + s * _S for s in (50, 150, 250)]
    made = board("import machine\nmachine.deepsleep()", tips=tips)
    sim.clock.run_until(_START + 100 * _S)
    made.power_cut(off_us=100 * _S)
    sim.clock.run_until(_START + 300 * _S)
    assert made.tips_driven() == [tips[0], tips[2]]


def test_files_cannot_be_put_on_a_board_that_is_on(sim: Supervisor, board: MakeBoard) -> None:
    made = board("pass")
    sim.clock.run_until(_START + 10 * _S)
    with pytest.raises(BoardError, match="only while it is off"):
        made.put_files({"x": b""})


#: what _simboot.py charges a program for its names before it has any
_NAMES = 14200


def test_program_has_as_much_heap_as_without_the_simulation(sim: Supervisor, board: MakeBoard, tmp_path: Path) -> None:
    program = "import gc; gc.collect(); print(gc.mem_free())"
    made = board(program, heap_kb=128)
    sim.clock.run_until(_START + 10 * _S)
    (tmp_path / "plain.py").write_text(program)
    plain = subprocess.run(
        [sys.executable, "-m", "micropython_unix", "-X", "heapsize=128K", str(tmp_path / "plain.py")],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert -256 <= int(_said(made)[0]) + _NAMES - int(plain.stdout) < 1024


def test_day_of_a_quiet_board_takes_few_turns(sim: Supervisor, board: MakeBoard) -> None:
    board("import asyncio, machine\nasync def main():\n    while True: await asyncio.sleep(900)\nasyncio.run(main())")
    sim.clock.run_until(_START + 24 * _HOUR)
    assert sim.keeper.jump_count < 200


def test_console_lines_carry_simulated_time(sim: Supervisor, board: MakeBoard) -> None:
    made = board("import time\ntime.sleep(3600)\nprint('an hour later')")
    sim.clock.run_until(_START + 2 * _HOUR)
    assert re.search(r"^2026-06-09T01:00:\d\d\.\d{3}Z an hour later$", made.console.read_text(), re.M)
