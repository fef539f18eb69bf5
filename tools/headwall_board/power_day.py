"""A simulated day of a board with a configuration: the node's own program, a real broker and the real gateway.

Its sensors are those that the simulation has a model of; one without a model is as if unplugged, so that each reading
takes all the time that it is allowed.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from headwall.clock import to_us
from headwall.errors import HeadwallError
from headwall_sim.fitting import fitted
from headwall_sim.rom import find_firmware
from headwall_sim.simulated_board import Board
from headwall_sim.storms import contact_edges, type_iii_tips
from headwall_sim.supervisor import Supervisor
from headwall_sim.timeline import Edge, Timeline
from headwall_sim.village import Village

from headwall_board.power import DAY_S, Day
from headwall_board.release import compiled, driver_modules

_START_US: Final = to_us(datetime(2026, 6, 9, 4, tzinfo=UTC))
_SECOND_US: Final = 1_000_000
_FIRST_S: Final = 1800  # the start and the first connection are not an ordinary day's
_STEPS: Final = 96
_HEAP_KB: Final = 512  # objects are twice as large here as on an ESP32; whether a node fits is not asked here
_MAC: Final = "240ac4000001"
#: keys of a configuration that say where its network is: here it is the simulation's
_PLACE: Final = ("broker_host", "broker_port", "broker_name", "ntp_host", "ntp_port", "ca_file")
_SECRET: Final = ("username", "password", "wifi")


class _Watch:
    """Adds up what the board's events tell."""

    def __init__(self, connections: Callable[[], int]) -> None:
        self.wakes = 0
        self.awake_us = 0
        self.online_us = 0
        self._connections = connections
        self._since: tuple[int, int] | None = None

    def event(self, told: Mapping[str, Any]) -> None:
        if told["event"] == "boot":
            self.wakes += 1
            self._since = told["t_us"], self._connections()
        elif self._since is not None:
            self._count(told["t_us"])
            self._since = None

    def begin(self, now_us: int) -> None:
        """Forget what was; a board that is awake goes on."""
        self.wakes = self.awake_us = self.online_us = 0
        self._since = (now_us, self._connections()) if self._since is not None else None

    def end(self, now_us: int) -> None:
        if self._since is not None:
            self._count(now_us)

    def _count(self, now_us: int) -> None:
        assert self._since is not None
        begun, before = self._since
        if self._connections() > before:
            self.online_us += now_us - begun
        else:
            self.awake_us += now_us - begun


def simulated_day(
    config: Mapping[str, Any], sensors: Sequence[Mapping[str, Any]], tips: int, tell: Callable[[float], None]
) -> Day:
    """Run the configuration for a day.

    Args:
        config: as on the board; where its network is does not matter.
        sensors: the same, complete.
        tips: that fall on each rain gauge in the day, as a storm's do.
        tell: given the percent done.

    Raises:
        HeadwallError: the board does not come to connect; carries what it printed last.
    """
    with tempfile.TemporaryDirectory(prefix="headwall-power-") as folder:
        return _run(Path(folder), config, sensors, tips, tell)


def _run(
    folder: Path,
    config: Mapping[str, Any],
    sensors: Sequence[Mapping[str, Any]],
    tips: int,
    tell: Callable[[float], None],
) -> Day:
    watches: list[_Watch] = []

    def heard(told: Mapping[str, Any]) -> None:
        for watch in watches:
            watch.event(told)

    node = str(config["node"])
    own = {key: value for key, value in config.items() if key not in ("node", *_PLACE, *_SECRET)}
    with (
        Supervisor(folder / "boards", start_us=_START_US, firmware=find_firmware(), on_event=heard) as sim,
        Village(folder, sim.clock_setting, [node], _registry(node, sensors), influx=False) as village,
    ):
        proxy = sim.proxy(("127.0.0.1", village.broker.port_311))
        watch = _Watch(lambda: proxy.connections)
        watches.append(watch)
        timeline, instants = _rain(sensors, tips)
        board = sim.board(
            node,
            files={**village.flash_files(node, proxy.port, sim.sntp.port, **own), **driver_files(sensors)},
            timeline=timeline,
            tips=instants,
            mac=_MAC,
            wired=fitted(sensors),
            heap_kb=_HEAP_KB,
        )
        board.power_on()
        begin_us = _START_US + _FIRST_S * _SECOND_US
        sim.clock.run_until(begin_us)
        if not proxy.connections:
            tail = "\n".join(board.console.read_text(errors="replace").splitlines()[-8:])
            raise HeadwallError(f"the simulated board does not connect with this configuration; it says:\n{tail}")
        sim.keeper.run(lambda: watch.begin(begin_us))
        before, records, taken = proxy.connections, board.taken(), board.flash()
        for step in range(1, _STEPS + 1):
            sim.clock.run_until(begin_us + step * DAY_S * _SECOND_US // _STEPS)
            tell(100 * step / _STEPS)
        sim.keeper.run(lambda: watch.end(begin_us + DAY_S * _SECOND_US))
        after = board.flash()
        return Day(
            wakes=watch.wakes,
            awake_s=watch.awake_us / _SECOND_US,
            online_s=watch.online_us / _SECOND_US,
            connections=proxy.connections - before,
            readings=_readings(board, sensors, records),
            records=board.taken() - records,
            programs=after.journal_programs - taken.journal_programs,
            erases=after.journal_erases - taken.journal_erases,
            journal_sectors=board.options.journal_blocks,
        )


def driver_files(sensors: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """What these sensors need on the board's flash beside the node's program, path → content."""
    if all(sensor["kind"] != "bme280" for sensor in sensors):
        return {}
    return {str(Path(name).with_suffix(".mpy")): compiled(source, name) for source, name in driver_modules()}


def _readings(board: Board, sensors: Sequence[Mapping[str, Any]], after: int) -> dict[str, int]:
    """How often each sensor was read, by the journal: each reading has one record of each stream."""
    counted = Counter(record.stream for record in board.journal().records if record.seq > after)
    return {sensor["name"]: max(counted[stream] for stream in sensor["streams"]) for sensor in sensors}


def _rain(sensors: Sequence[Mapping[str, Any]], tips: int) -> tuple[Timeline, list[int]]:
    edges: list[Edge] = []
    resting: dict[int, int] = {}
    instants = type_iii_tips(tips, _START_US + _FIRST_S * _SECOND_US) if tips else []
    for sensor in sensors:
        if sensor["kind"] == "tipping_bucket":
            edges += contact_edges(instants, pin=sensor["pin"], closed=sensor["closed"])
            resting[sensor["pin"]] = 1 - sensor["closed"]
    return Timeline(sorted(edges), resting), instants


def _registry(node: str, sensors: Sequence[Mapping[str, Any]]) -> str:
    """A registry that knows the board and all its streams, so that nothing of it is turned away."""
    streams = "".join(
        f'[[nodes.datastreams]]\nname = "{stream}"\nquantity = "{stream.rpartition(".")[2]}"\nfrom = 2026-01-01\n'
        + ('tip = "0.01 in"\n' if stream.endswith(".tips") else "")
        for sensor in sensors
        for stream in sensor["streams"]
    )
    return f"""sites = []
[[municipalities]]
id = "here"
name = "Here"
profile = "elmsford"
time_zone = "America/New_York"
[[people]]
id = "somebody"
name = "Somebody"
email = "somebody@here.example"
phone = "0"
roles = [
  {{ role = "smo", municipality = "here", from = 2026-01-01 }},
  {{ role = "operator", municipality = "here", from = 2026-01-01 }},
  {{ role = "installer", from = 2026-01-01 }},
]
[[nodes]]
id = "{node}"
mac = "{_MAC}"
place = "a simulated day"
legal_basis = "municipal_land"
legal_reference = "none: simulated"
installer = "somebody"
municipality = "here"
from = 2026-01-01
{streams}
"""
