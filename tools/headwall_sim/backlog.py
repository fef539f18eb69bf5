"""A board with a long backlog whose network comes back while it rains: how fast it drains, and what goes ahead of it.

The backlog is written by the firmware's own journal (see seeded_journal); everything after that is the node's
program, the broker and the gateway as they are, in real time: a board with packs under way keeps the clock at 1:1.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Final

from headwall.clock import to_us

from headwall_sim import seeded_journal
from headwall_sim.simulated_board import Board
from headwall_sim.storms import rain
from headwall_sim.supervisor import Supervisor
from headwall_sim.village import Village, VillageError

NODE: Final = "board-a"
_MAC: Final = "240ac400000a"
_PIN: Final = 4
_START_US: Final = to_us(datetime(2026, 6, 9, 12, tzinfo=UTC))
_ONLINE_US: Final = _START_US + 30 * 60_000_000
#: half an inch lacks one tip when the network is back; the one that crosses it falls so long after
_CROSSING: Final = 49
_LIVE_US: Final = 3_000_000
_TIPS: Final = (
    *(_ONLINE_US - (_CROSSING - n) * 30_000_000 for n in range(_CROSSING)),
    *(_ONLINE_US + _LIVE_US + n * 1_000_000 for n in range(11)),
)
#: a gauge that reports every minute
_EVERY_MS: Final = 60_000
_RECORDS_A_SECTOR: Final = 126
_LOOK_US: Final = 100_000


@dataclass(frozen=True)
class Drained:
    """What came of it.

    Attributes:
        readings: in the ledger at the end.
        drained: of the backlog, counted from the first to the last look.
        seconds: real time between those looks.
        left_at_mail: readings of the backlog that were not in the ledger when the duty's mail had gone.
        mail_after_s: real time from the crossing tip to that look.
    """

    readings: int
    drained: int
    seconds: float
    left_at_mail: int
    mail_after_s: float

    @property
    def rate(self) -> float:
        """Readings/s."""
        return self.drained / self.seconds


@dataclass(frozen=True)
class _Seen:
    """What the ledger has at one look: readings of the backlog, all readings, and whether the duty's mail has gone."""

    backlog: int
    all: int
    duty_mailed: bool


class Backlog:
    """The scene; `drain()` plays it.

    Args:
        count: readings of the backlog, one a minute up to half an hour before the network is back.
        limit_s: real time after which it is given up.
    """

    def __init__(self, folder: Path, firmware: Path, count: int, *, limit_s: float = 600.0) -> None:
        self.count = count
        self._limit_s = limit_s
        registry = files("headwall_sim.demo").joinpath("registry.toml").read_text(encoding="utf-8")
        self.sim = Supervisor(folder / "boards", start_us=_START_US, firmware=firmware)
        self.village = Village(folder, self.sim.clock_setting, [NODE], registry, influx=False)
        self.proxy = self.sim.proxy((self.village.broker.host, self.village.broker.port_311))
        self.proxy.set_mode("cut")
        self.board = self._board()

    def close(self) -> None:
        """Stop everything; files stay."""
        self.village.stop()
        self.sim.stop()

    def _board(self) -> Board:
        fallen = rain(_TIPS, pin=_PIN)
        seed = seeded_journal.reports(
            self.count, first_us=_START_US - self.count * _EVERY_MS * 1000, every_ms=_EVERY_MS
        )
        flash = self.village.flash_files(NODE, self.proxy.port, self.sim.sntp.port, backoff_max_s=2)
        return self.sim.board(
            NODE,
            files={**flash, "boot.py": seed},
            timeline=fallen.timeline,
            tips=fallen.tips,
            mac=_MAC,
            erase_ms=0,
            journal_blocks=self.count // _RECORDS_A_SECTOR + 10,
        )

    def drain(self) -> Drained:
        """Fill the journal, let the network come back, and wait until the ledger has everything.

        Raises:
            VillageError: the backlog did not come through within the limit.
        """
        self.village.start()
        self.village.command("node", "accept", NODE, "--by", "Sam Okafor")
        self.board.power_on()
        self.sim.clock.run_until(_ONLINE_US)
        if self.board.taken() < self.count:
            raise VillageError(f"the journal holds {self.board.taken()} of {self.count}; see {self.board.console}")
        self.proxy.set_mode("open")
        return self._watch()

    def _watch(self) -> Drained:
        began = time.monotonic()
        first: tuple[float, int] | None = None
        mail: tuple[int, float] | None = None
        while True:
            self.sim.clock.run_until(self.sim.clock.now_us() + _LOOK_US)
            now, seen = time.monotonic(), self._look()
            if first is None and seen.backlog:
                first = (now, seen.backlog)
            if mail is None and seen.duty_mailed:
                mail = (self.count - seen.backlog, (self.sim.clock.now_us() - _TIPS[_CROSSING]) / 1e6)
            if first and mail and seen.backlog == self.count and seen.all == self.board.taken() and self._rained():
                return Drained(seen.all, seen.backlog - first[1], now - first[0], *mail)
            if now - began > self._limit_s:
                raise VillageError(f"{seen} of {self.count} after {self._limit_s:.0f} s; see {self.board.console}")

    def _rained(self) -> bool:
        return self.sim.clock.now_us() > _TIPS[-1] + _LIVE_US

    def _look(self) -> _Seen:
        with closing(sqlite3.connect(self.village.ledger_file)) as db:
            (backlog,) = db.execute("SELECT count(*) FROM readings WHERE seq <= ?", (self.count,)).fetchone()
            (whole,) = db.execute("SELECT count(*) FROM readings").fetchone()
            (mailed,) = db.execute(
                "SELECT count(*) FROM outbox JOIN mails ON mails.id = outbox.mail "
                "WHERE outbox.fact LIKE 'duty/%' AND mails.state = 'sent'"
            ).fetchone()
        return _Seen(int(backlog), int(whole), bool(mailed))
