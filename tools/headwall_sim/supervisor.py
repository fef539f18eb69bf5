"""Simulated boards, their clock and their network: what tests and the demo build their scenarios with.

    with Supervisor(folder, start_us=to_us(datetime(2026, 6, 9, tzinfo=UTC)), firmware=Path("firmware")) as sim:
        proxy = sim.proxy(("127.0.0.1", broker.port_311))
        storm = rain(type_iii_tips("1.2 in", …), pin=4)                      # storms.py
        board = sim.board("board-a", files={"config.json": config(proxy.port, sim.sntp.port), "ca.der": der},
                          timeline=storm.timeline, tips=storm.tips)
        board.power_on()
        sim.outage(board, proxy, from_us=…, to_us=…)                         # hours without network
        sim.at(instant_us, lambda: board.power_cut(off_us=60 * 10**6))       # a minute without power
        sim.clock.run_until(end_us)                                          # a day passes in seconds
        assert board.taken() == …

`sim.clock` is a headwall Clock for parts in this process; `sim.clock_setting` is what `headwall run` in another
process writes as `clock`. Between two calls of run_until time runs 1:1, so that what a test does then takes no
simulated time to speak of. `sim.events` is the stream of what happened, for a live view.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from headwall_sim.board_process import BoardStarter
from headwall_sim.net_thread import NetThread
from headwall_sim.proxy import Proxy
from headwall_sim.rom import build_overrides, build_rom, files_of, rom_image
from headwall_sim.simclock import SimClock
from headwall_sim.simulated_board import Board, BoardOptions
from headwall_sim.sntp_server import SntpServer
from headwall_sim.timekeeper import Timer
from headwall_sim.timeline import Timeline


class Supervisor:
    """Runs boards. Use it as a context manager, or call stop().

    Args:
        folder: a folder a board is made in it, with its flash and its console.log.
        start_us: where simulated time begins.
        firmware: the folder with main.py, boot.py and lib/; a board can have its own.
        compiled: run lib/ as .mpy, or as text (needs more heap).
        jumps: False keeps simulated time at 1:1.
        stall_s: real seconds after which whoever keeps time from jumping is named in a warning.
        seed: of the boards' random numbers.
        on_event: called with each event in the clock's thread; it must be quick.
    """

    def __init__(
        self,
        folder: Path,
        *,
        start_us: int,
        firmware: Path,
        compiled: bool = True,
        jumps: bool = True,
        stall_s: float = 30.0,
        seed: int = 0,
        on_event: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.folder = folder
        self.boards: dict[str, Board] = {}
        self.events: list[dict[str, Any]] = []
        self._seed = seed
        self._compiled = compiled
        self._on_event = on_event
        self._firmware = firmware
        self._roms: dict[Path, Path] = {}
        self._images: dict[Path, Path] = {}
        self._processes: dict[int, Board] = {}
        self._proxies: list[Proxy] = []
        folder.mkdir(parents=True, exist_ok=True)
        self.boot_script = build_overrides(folder / "sim")
        self._socket_folder = Path(tempfile.mkdtemp(prefix="headwall-"))  # short: a socket's path has 100 bytes at most
        self.clock = SimClock(start_us, jumps=jumps, stall_s=stall_s)
        self.keeper = self.clock.keeper
        self.clock.serve(self._socket_folder / "clock.sock")
        self.clock_setting = f"simulation:{self._socket_folder / 'clock.sock'}"
        self.starter = BoardStarter(self.keeper.call_soon, self._process_ended)
        self.keeper.run(lambda: self.keeper.watch(self.starter.fileno(), self.starter.hear))
        self.net = NetThread()
        self.sntp = SntpServer(self.net, self.keeper.now_us)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End boards, proxies, time server and clock; folders stay."""
        self.keeper.jumps = False
        for proxy in self._proxies:
            proxy.stop()
        self.sntp.stop()
        self.net.stop()
        self.clock.stop()
        self.starter.stop()
        shutil.rmtree(self._socket_folder, ignore_errors=True)

    def board(
        self,
        name: str,
        *,
        files: Mapping[str, bytes],
        timeline: Timeline | None = None,
        tips: Sequence[int] = (),
        firmware: Path | None = None,
        program: Literal["rom", "flash", "none"] = "rom",
        **options: Any,
    ) -> Board:
        """Make a board with `files` on its flash, off; see BoardOptions for `options`.

        A board whose folder holds a flash image keeps it, and `files` are written over those on it.

        Args:
            firmware: where its program comes from, if not from the supervisor's folder.
            program: in a read-only file system beside the flash, which starts quickly; on the flash, as on a real
                board; or nowhere, as on a board that nobody has deployed to.
        """
        built = None if program == "none" else self._rom(firmware or self._firmware)
        if built is not None and program == "flash":
            files = {**files_of(built), **files}
            built = None
        chosen = BoardOptions(
            files=files,
            timeline=timeline or Timeline(),
            tips=tips,
            **{"seed": self._seed + len(self.boards), **options},
        )
        board = Board(name, self.folder / name, built and self._images[built], chosen, self)
        self.boards[name] = board
        board.put_files(files)
        return board

    def proxy(self, target: tuple[str, int]) -> Proxy:
        """A proxy to (host, port) that can be cut, muted and slowed."""
        proxy = Proxy(self.net, target)
        self._proxies.append(proxy)
        return proxy

    def at(self, due_us: int, call: Callable[[], None]) -> Timer:
        """Run `call` in the clock's thread when the instant has come; it must be quick."""
        return self.keeper.at(due_us, call)

    def outage(self, board: Board, proxy: Proxy, *, from_us: int, to_us: int) -> None:
        """The board hears no access point, and its connections are reset, for that time."""

        def begin() -> None:
            board.hear(False)
            proxy.set_mode("cut")
            self.emit(board.name, "network_down")

        def end() -> None:
            board.hear(True)
            proxy.set_mode("open")
            self.emit(board.name, "network_up")

        self.at(from_us, begin)
        self.at(to_us, end)

    def emit(self, board: str, event: str, **details: object) -> None:
        """Add {"t_us", "board", "event", …} to the stream of events."""
        told = {"t_us": self.keeper.now_us(), "board": board, "event": event, **details}
        self.events.append(told)
        if self._on_event is not None:
            self._on_event(told)

    def board_of_process(self, pid: int, board: Board) -> None:
        """Have `board` told when the process ends."""
        self._processes[pid] = board

    def _process_ended(self, pid: int, status: int) -> None:
        board = self._processes.pop(pid, None)
        if board is not None:
            board.process_ended(status)

    def _rom(self, firmware: Path) -> Path:
        if firmware not in self._roms:
            target = self.folder / "sim" / f"rom-{len(self._roms)}"
            self._roms[firmware] = build_rom(firmware, target, compiled=self._compiled)
            self._images[self._roms[firmware]] = rom_image(self._roms[firmware])
        return self._roms[firmware]
