"""A simulated board: power, resets, deep sleep and flash around the process that runs its program.

Everything with a leading underscore lives in the clock's thread; the public methods may be called from any thread.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from headwall_sim import frames
from headwall_sim.board_process import CONTROL_IN, CONTROL_OUT, BoardStarter
from headwall_sim.board_run import BoardRun, Console
from headwall_sim.frames import FOREVER, Frame
from headwall_sim.journal_reader import JournalImage, read_journal
from headwall_sim.serial_port import SerialPort
from headwall_sim.timekeeper import Timekeeper, Timer
from headwall_sim.timeline import Timeline
from headwall_sim.wiring import Wired, write_wiring

BLOCK = 4096
#: room for the simulation's own modules and models; what they leave of it, the board's start takes away again
_BESIDE_KB = 320
#: machine.reset_cause() and machine.wake_reason() as numbers
POWER_ON, HARD, WATCHDOG, DEEP_SLEEP, SOFT = 1, 2, 3, 4, 5
EXT0_WAKE, EXT1_WAKE, TIMER_WAKE = 2, 3, 4
_CAUSES = {POWER_ON: "power_on", HARD: "hard", WATCHDOG: "watchdog", DEEP_SLEEP: "deep_sleep", SOFT: "soft"}
_WAKES = {0: None, EXT0_WAKE: "pin", EXT1_WAKE: "pin", TIMER_WAKE: "timer"}
#: what an ESP32's ROM prints after each reset, by cause
_ROM_SAYS = {
    POWER_ON: b"rst:0x1 (POWERON_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)",
    HARD: b"rst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)",
    WATCHDOG: b"rst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)",
    DEEP_SLEEP: b"rst:0x5 (DEEPSLEEP_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)",
    SOFT: b"rst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)",
}
#: of an ESP32's receive buffer
_UART_BYTES = 128
_COUNTS = struct.Struct("<8q")
#: each run's ticks begin so many ms before they wrap at 2^30: every run of ten minutes sees it
_TICKS_MS = 2**30 - 600_000

_PUT_WELL = "the files are on the flash"
_PUT_FILES = f"""
import json
import os
with open("/rom/names.json") as file:
    names = json.load(file)
for name in names:
    for end in [at for at in range(len(name)) if name[at] == "/"]:
        try:
            os.mkdir("/" + name[:end])
        except OSError:
            pass  # it is there
    with open("/rom/files/" + name, "rb") as source, open("/" + name, "wb") as target:
        target.write(source.read())
print("{_PUT_WELL}")
"""

State = Literal["off", "booting", "running", "deep_sleep"]


class BoardError(Exception):
    """Something was asked of a simulated board that it cannot do as it is."""


@dataclass(frozen=True)
class BoardOptions:
    """What a board is made of.

    Attributes:
        files: put on its flash when it is made, path → content (config.json, ca.der, …).
        timeline: levels of its pins over time.
        tips: instants at which its gauge tips, to count those driven while it had power.
        mac: machine.unique_id(), 12 hex digits.
        heap_kb: MicroPython's heap as its program finds it; what the simulation itself takes comes beside it.
        vfs_blocks, journal_blocks: size of the two flash partitions in blocks of 4 KiB.
        erase_ms: time of a sector's erase, in which interrupts wait.
        boot_ms: from power, reset or wake-up to the first line of the program.
        ticks_ms: value of the tick counter at boot.
        serial: it has a serial port (`Board.device`) with MicroPython's prompt, as on the bench; it keeps real time.
        wired: devices on its buses.
        environment: further variables for os.getenv().
    """

    files: Mapping[str, bytes]
    timeline: Timeline
    tips: Sequence[int] = ()
    mac: str = "240ac4000001"
    heap_kb: int = 128
    vfs_blocks: int = 64
    journal_blocks: int = 64
    erase_ms: int = 45
    boot_ms: int = 300
    ticks_ms: int = _TICKS_MS
    seed: int = 0
    wired: Sequence[Wired] = ()
    serial: bool = False
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True)
class FlashCounts:
    """What was done to a board's flash since it was made; `operations` counts programs, erases and NVS commits."""

    operations: int
    vfs_programs: int
    vfs_bytes: int
    vfs_erases: int
    journal_programs: int
    journal_bytes: int
    journal_erases: int
    nvs_commits: int


class Surroundings(Protocol):
    """What a board needs of its supervisor."""

    keeper: Timekeeper
    starter: BoardStarter
    boot_script: Path

    def board_of_process(self, pid: int, board: Board) -> None:
        """Tell `board` when the process ends."""

    def emit(self, board: str, event: str, **details: object) -> None:
        """Add to the stream of events."""


class Board:
    """One board. Made by Supervisor.board(); it is off until power_on()."""

    def __init__(
        self, name: str, folder: Path, rom: Path | None, options: BoardOptions, surroundings: Surroundings
    ) -> None:
        self.name = name
        self.folder = folder
        self.options = options
        self.state: State = "off"
        self.boots = 0
        self._rom = rom
        self._around = surroundings
        self._keeper = surroundings.keeper
        self._run: BoardRun | None = None
        self._then: Callable[[], None] | None = None
        self._timer: Timer | None = None  # of the next boot, wake-up or return of power: only one can be due
        self._powered: list[tuple[int, int | None]] = []
        self._rtc_ahead_us = 0
        self._fail_at = -1
        self._off_us: int | None = None
        folder.mkdir(parents=True, exist_ok=True)
        options.timeline.write(folder / "pins.bin")
        write_wiring(options.wired, folder)
        self._up = False  # a serial board hears what is typed
        self._early = b""
        self._port = SerialPort(folder / "console.log", self._keeper) if options.serial else None
        self._console: Console = self._port or Console(folder / "console.log", self._keeper)
        if self._port is not None:
            self._port.listen(self._typed)
        image = folder / "flash.bin"
        if not image.exists():
            image.write_bytes(b"\xff" * BLOCK * (options.vfs_blocks + options.journal_blocks))
        self.hear(True)

    # power

    def power_on(self) -> None:
        """Apply power; nothing happens where it is on."""
        self._keeper.run(self._power_on)

    def power_cut(self, off_us: int | None = None) -> None:
        """Cut the power now; it comes back after `off_us` of simulated time, or with power_on()."""
        self._keeper.run(lambda: self._power_cut(off_us))

    def power_cut_at_operation(self, count: int, off_us: int | None = None) -> None:
        """Cut the power in the middle of the `count`-th flash operation from now on (1: the next one).

        Half of it is done: a program has written its first half, an erase has erased the first half of its sector, an
        NVS commit has not happened.
        """
        self._keeper.run(lambda: self._set_failure(self.flash().operations + count, off_us))

    def press_reset(self) -> None:
        """The reset button: the program starts anew, RTC memory and clock stay."""
        self._keeper.run(self._press_reset)

    def put_files(self, files: Mapping[str, bytes]) -> None:
        """Write files, path → content, on the flash of a board that is off, with the board's own file system code.

        Raises:
            BoardError: the board is on, or its file system refused (the console's words are in the message).
        """
        if self.state != "off":
            raise BoardError(f"{self.name} is {self.state}: files can be put on its flash only while it is off")
        stage = self.folder / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        (stage / "files").mkdir(parents=True)
        for name, content in files.items():
            (stage / "files" / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / "files" / name).write_bytes(content)
        (stage / "names.json").write_text(json.dumps(list(files)))
        (stage / "put_files.py").write_text(_PUT_FILES)
        changed = {
            "SIM_ROM": stage.absolute(),
            "SIM_ONLY": "put_files.py",
            "SIM_IN": 0,
            "SIM_OUT": 2,
            "SIM_ERASE_US": 0,
        }
        ended = subprocess.run(
            [sys.executable, "-m", "micropython_unix", "-X", "heapsize=1M", str(self._around.boot_script.absolute())],
            env={**os.environ, **self._environment(POWER_ON, 0), **{k: str(v) for k, v in changed.items()}},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if _PUT_WELL.encode() not in ended.stdout:
            said = (ended.stdout + ended.stderr).decode(errors="replace").strip()
            raise BoardError(f"{self.name}: the files could not be put on its flash: {said}")

    def hear(self, access_point: bool) -> None:
        """Whether the Wi-Fi access point is in reach: WLAN.isconnected() follows."""
        air = self.folder / "air"
        if not air.exists():
            air.write_bytes(b"0")
        with air.open("r+b") as file:  # in place: a running board has it open
            file.write(b"1" if access_point else b"0")

    # what can be seen

    @property
    def console(self) -> Path:
        """The file of what it printed, each line with its simulated time."""
        return self._console.path

    @property
    def device(self) -> str:
        """The path of its serial port.

        Raises:
            BoardError: it was made without one.
        """
        if self._port is None:
            raise BoardError(f"{self.name} has no serial port: make it with serial=True")
        return self._port.device

    @property
    def pid(self) -> int | None:
        """Process id of the running program, None while off, booting or in deep sleep."""
        return self._run.pid if self._run is not None else None

    def flash(self) -> FlashCounts:
        """What was done to its flash so far."""
        path = self.folder / "flash.counts"
        data = path.read_bytes() if path.exists() else b""
        return FlashCounts(*_COUNTS.unpack(data if len(data) == _COUNTS.size else bytes(_COUNTS.size)))

    def journal(self) -> JournalImage:
        """The journal as it stands on flash, read by other code than the firmware's."""
        with (self.folder / "flash.bin").open("rb") as file:
            file.seek(self.options.vfs_blocks * BLOCK)
            return read_journal(file.read(), self._journal_in_nvs())

    def taken(self) -> int:
        """How many appends to the journal are whole on flash, erased ones included."""
        return self.journal().next - 1

    def powered(self) -> list[tuple[int, int | None]]:
        """When it had power: (from, to) in us, `to` None for now."""
        return list(self._powered)

    def tips_driven(self) -> list[int]:
        """The instants of the tips up to now while it had power, deep sleep included."""
        now_us = self._keeper.now_us()
        spans = self.powered()
        return [
            tip for tip in self.options.tips if any(on <= tip < (now_us if off is None else off) for on, off in spans)
        ]

    def _journal_in_nvs(self) -> str | None:
        """The id of the journal that is in force: NVS keeps it with a mark of its number."""
        path = self.folder / "nvs.json"
        spaces = json.loads(path.read_text()) if path.exists() else {}
        kept = [space["journal"][1][:16] for space in spaces.values() if "journal" in space]
        return kept[0] if kept else None

    # what follows lives in the clock's thread

    def _power_on(self) -> None:
        if self.state != "off":
            return
        now_us = self._keeper.now_us()
        self._powered.append((now_us, None))
        self._rtc_ahead_us = -now_us  # the clock begins at 2000-01-01
        self._emit("power_on")
        self._boot(POWER_ON, 0)

    def _power_cut(self, off_us: int | None) -> None:
        if self.state == "off":
            return
        self._off_us = off_us
        self._end_run(self._lose_power)

    def _lose_power(self) -> None:
        now_us = self._keeper.now_us()
        self._forget_timer()
        self.state = "off"
        self._fail_at = -1
        self._powered[-1] = (self._powered[-1][0], now_us)
        (self.folder / "rtc.memory").unlink(missing_ok=True)
        self._emit("power_cut", operations=self.flash().operations)
        if self._off_us is not None:
            self._later(now_us + self._off_us, self._power_on)

    def _set_failure(self, operation: int, off_us: int | None) -> None:
        self._fail_at = operation
        self._off_us = off_us
        if self._run is not None:
            self._run.tell(Frame(frames.FAIL_AT, operation))

    def _press_reset(self) -> None:
        if self.state != "off":
            self._end_run(lambda: self._reset(HARD))

    def _reset(self, cause: int) -> None:
        self._emit("reset", cause=_CAUSES[cause])
        self._boot(cause, 0)

    def _soft_reset(self) -> None:
        """The prompt was left by Ctrl-D: only MicroPython starts anew."""
        assert self._port is not None
        self._port.send(b"MPY: soft reboot\r\n")
        self._emit("reset", cause=_CAUSES[SOFT])
        self._start(SOFT, 0, prompt=self._port.raw)

    def _typed(self, data: bytes) -> None:
        if self._run is not None and self._up:
            self._run.type(data)
        elif self.state in ("booting", "running"):  # it waits in the UART
            self._early = (self._early + data)[:_UART_BYTES]

    def _boot(self, cause: int, wake: int) -> None:
        self.state = "booting"
        if self._port is not None:
            self._port.raw = False
            self._port.send(b"ets Jul 29 2019 12:21:46\r\n\r\n" + _ROM_SAYS[cause] + b"\r\n")
        self._later(self._keeper.now_us() + self.options.boot_ms * 1000, lambda: self._start(cause, wake))

    def _start(self, cause: int, wake: int, *, prompt: bool = False) -> None:
        self.boots += 1
        self._up = False
        self.state = "running"
        self._emit("boot", cause=_CAUSES[cause], wake=_WAKES[wake])
        self._run = BoardRun(
            self.name,
            self._keeper,
            self._around.starter,
            self._console,
            self._on_frame,
            self._on_hang,
            terminal=self.options.serial,
        )
        heap = f"heapsize={self.options.heap_kb + _BESIDE_KB}K"
        argv = ["micropython", "-X", heap, *["-i"] * self.options.serial, str(self._around.boot_script.absolute())]
        environment = self._environment(cause, wake)
        if self.options.serial:
            environment["SIM_SERIAL"] = "prompt" if prompt else "run"
        self._run.start(argv, self.folder, environment)
        self._around.board_of_process(self._run.pid, self)

    def _environment(self, cause: int, wake: int) -> dict[str, str]:
        options = self.options
        given: dict[str, object] = {
            "TZ": "UTC",
            "MICROPYPATH": ".frozen",
            "SIM_IN": CONTROL_IN,
            "SIM_OUT": CONTROL_OUT,
            "SIM_FOLDER": self.folder.absolute(),
            "SIM_ROM_IMAGE": "" if self._rom is None else self._rom.absolute(),
            "SIM_OFFSET": self._keeper.offset_us,
            "SIM_FAIL_AT": self._fail_at,
            "SIM_LEVELS": options.timeline.resting_levels,
            "SIM_TICKS_MS": options.ticks_ms,
            "SIM_RTC": self._rtc_ahead_us,
            "SIM_CAUSE": cause,
            "SIM_WAKE": wake,
            "SIM_MAC": options.mac,
            "SIM_BLOCKS": f"{options.vfs_blocks} {options.journal_blocks}",
            "SIM_ERASE_US": options.erase_ms * 1000,
            "SIM_WIRED": len(options.wired) or "",
            "SIM_HEAP_KB": options.heap_kb,
            "SIM_SEED": options.seed * 100_003 + self.boots,
            **(options.environment or {}),
        }
        return {key: str(value) for key, value in given.items()}

    def _on_frame(self, frame: Frame) -> None:
        if frame.op == frames.RTC:
            self._rtc_ahead_us = frame.a
        elif frame.op == frames.UP:
            self._up = True
            early, self._early = self._early, b""
            if self._port is not None:
                self._typed((b"\x01" if self._port.raw else b"") + early)
        elif frame.op == frames.SLEEP:
            self._end_run(lambda: self._sleep(frame.a, frame.b))
        elif frame.op == frames.RESET:
            self._end_run(lambda: self._reset(frame.a))
        elif frame.op == frames.CUT:
            self._end_run(self._lose_power)

    def _on_hang(self) -> None:
        self._console.note("the watchdog was not fed in time")
        self._end_run(lambda: self._reset(WATCHDOG))

    def _end_run(self, then: Callable[[], None]) -> None:
        """End the program at once, then do what follows; the first reason to end stands, but for loss of power."""
        if self._run is None:
            self._forget_timer()
            then()
            return
        if self._then is None or then == self._lose_power:
            self._then = then
            self._run.kill()

    def process_ended(self, status: int) -> None:
        """Called by the supervisor in the clock's thread when the process has ended."""
        run, then = self._run, self._then
        assert run is not None
        run.close()
        self._run, self._then = None, None
        code = os.waitstatus_to_exitcode(status)
        if then is not None:
            then()
        elif self.options.serial and code in (0, -signal.SIGINT):
            # Ctrl-C in the instant between a program and the prompt ends this port; on a board it does nothing
            self._soft_reset()
        else:
            self._console.note(f"the interpreter ended with status {code}; the board resets")
            self._emit("crash", status=code)
            self._boot(HARD, 0)

    def _sleep(self, ms: int, sources: int) -> None:
        now_us = self._keeper.now_us()
        self.state = "deep_sleep"
        wakes = self._pin_wakes(sources, now_us)
        if ms != FOREVER:
            wakes.append((now_us + ms * 1000, TIMER_WAKE))
        self._emit("deep_sleep", ms=None if ms == FOREVER else ms)
        if wakes:
            at_us, reason = min(wakes)
            self._later(at_us, lambda: self._boot(DEEP_SLEEP, reason))

    def _pin_wakes(self, sources: int, from_us: int) -> list[tuple[int, int]]:
        """When the armed pins would wake the board: level, not edge, as the ESP32's ext0 and ext1 do."""
        timeline = self.options.timeline
        found: list[tuple[int | None, int]] = []
        if sources & 0x7F:
            found.append((timeline.first_with_level((sources & 0x7F) - 1, sources >> 7 & 1, from_us), EXT0_WAKE))
        pins = [pin for pin in range(48) if sources >> 9 >> pin & 1]
        if pins and sources >> 8 & 1:
            found += [(timeline.first_with_level(pin, 1, from_us), EXT1_WAKE) for pin in pins]
        elif pins:
            found.append((timeline.first_all_low(pins, from_us), EXT1_WAKE))
        return [(at_us, reason) for at_us, reason in found if at_us is not None]

    def _later(self, due_us: int, call: Callable[[], None]) -> None:
        self._timer = self._keeper.at(due_us, call)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _emit(self, event: str, **details: object) -> None:
        told = ", ".join(f"{key} {value}" for key, value in details.items() if value is not None)
        self._console.note(event.replace("_", " ") + (f": {told}" if told else ""))
        self._around.emit(self.name, event, **details)
