"""A day of a rain gauge and a stage sensor on battery: the node, and beside it plain JSON without a journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from headwall_sim.broker import Account, open_broker
from headwall_sim.storms import rain
from headwall_sim.supervisor import Supervisor
from headwall_sim.wiring import Wired
from node_heap import NODE, PASSWORD, ROOT, START_US, Custodian, settings

S = 1_000_000
DAY_S = 86400
PLAIN = Path(__file__).parent / "node" / "plain.py"
SENSORS = [
    {"kind": "tipping_bucket", "pin": 4},
    {"kind": "a02yyuw", "tx": 17, "rx": 16, "period_s": 300},
]


class NodeDay(NamedTuple):
    awake_s: float
    starts: int
    connections: int
    wire_bytes: int
    readings: int
    flash_programs: int
    flash_erases: int


def node_day(folder: Path, *, plain: bool) -> NodeDay:
    """A simulated day with 60 tips, from the third minute on."""
    awake_us, starts, since = 0, 0, 0

    def heard(told: Mapping[str, Any]) -> None:
        nonlocal awake_us, starts, since
        if told["event"] == "boot":
            starts, since = starts + 1, told["t_us"]
        elif told["event"] == "deep_sleep":
            awake_us += told["t_us"] - since

    accounts = [Account("gateway", PASSWORD, "gateway"), Account(NODE, PASSWORD)]
    fall = rain([START_US + (7200 + 90 * i) * S for i in range(60)], pin=4)
    with (
        open_broker(folder / "broker", accounts) as broker,
        Supervisor(folder / "sim", start_us=START_US, firmware=ROOT / "firmware", on_event=heard) as sim,
    ):
        custodian = Custodian(broker)
        proxy = sim.proxy((broker.host, broker.port_311))
        given = settings(broker, sim.sntp.port) | {"mode": "battery", "broker_port": proxy.port, "sensors": SENSORS}
        board = sim.board(
            NODE,
            files={"config.json": json.dumps(given).encode(), "ca.der": broker.ca.der.read_bytes()},
            timeline=fall.timeline,
            tips=fall.tips,
            wired=[Wired("a02yyuw", "A02yyuw", "uart", 1, [(START_US, 2000), (START_US + DAY_S * S, 1000)])],
            heap_kb=512,
        )
        if plain:
            board.put_files({"main.py": PLAIN.read_bytes()})
        board.power_on()
        sim.clock.run_until(START_US + 180 * S)
        before, taken = board.flash(), custodian.packs
        awake_us, starts, connections, passed = 0, 0, proxy.connections, proxy.passed
        sim.clock.run_until(START_US + (180 + DAY_S) * S)
        after = board.flash()
        readings = custodian.packs - taken if plain else custodian.through
        custodian.stop()
    return NodeDay(
        awake_s=awake_us / S,
        starts=starts,
        connections=proxy.connections - connections,
        wire_bytes=proxy.passed - passed,
        readings=readings,
        flash_programs=after.journal_programs + after.vfs_programs - before.journal_programs - before.vfs_programs,
        flash_erases=after.journal_erases + after.vfs_erases - before.journal_erases - before.vfs_erases,
    )
