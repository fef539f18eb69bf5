"""Weeks in the field: a board on a battery with five sensors, and all that befalls it, into the real ledger.

Every reading that was taken is in the ledger or counted as lost, and none is lost while the journal is not full.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.clock import to_us
from headwall.ingest.service import IngestService
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall_sim.broker import Broker
from headwall_sim.proxy import Proxy
from headwall_sim.simulated_board import Board
from headwall_sim.storms import rain
from headwall_sim.supervisor import Supervisor
from headwall_sim.wear import wear
from headwall_sim.wiring import Wired
from support.fleet import MACS, registry
from support.ingest_rig import PASSWORD, running_ingest
from support.long import LONG
from support.village import FIRMWARE, HOUR, MINUTE, SECOND

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow, pytest.mark.timeout(1800)]

_START = to_us(datetime(2026, 6, 1, tzinfo=UTC))
_DAY = 24 * HOUR
_DAYS = 30 if LONG else 12
_BROWN_OUTS, _LOST = (20, 10) if LONG else (8, 4)
_NODE = "gauge-a"
_STREAMS = {
    "rain.tips": "tips",
    "stage.distance": "distance",
    "tank.level": "level",
    "water.temperature": "temperature",
    "node.voltage": "voltage",
}
_SENSORS = [
    {"kind": "tipping_bucket", "pin": 4},
    {"kind": "a02yyuw", "tx": 17, "rx": 16, "period_s": 7200, "fast_s": 1800},
    {
        "kind": "current_loop",
        "name": "tank",
        "pin": 34,
        "shunt_mohm": 100000,
        "low": "0",
        "high": "5",
        "period_s": 3600,
    },
    {"kind": "ds18b20", "name": "water", "pin": 5, "period_s": 7200},
    {"kind": "adc_voltage", "pin": 35, "period_s": 14400},
]
#: twice as long as the flash keeps what is in it (W25Q32JV: 20 years)
_YEARS = 40
#: instants of the tips of a storm a day, some 5 mm of rain each
_DRY_S = 29 * 3600
_TIPS = 20


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "sim", start_us=_START, firmware=FIRMWARE) as made:
        yield made


@pytest.fixture
def ingest(broker: Broker, ledger: Ledger, sim: Supervisor) -> Iterator[IngestService]:
    with running_ingest(broker, ledger, registry(_NODE, streams=_STREAMS), sim.clock) as running:
        yield running


def _storms(days: int, chance: random.Random) -> list[int]:
    """Instants of tips: a storm every other day or so, heavier in its middle."""
    found, at_s = [], 8 * 3600
    while at_s < days * 86400 - 7200:
        tip_s = float(at_s)
        for n in range(_TIPS):
            tip_s += 20 + abs(n - _TIPS / 2) * 20 * chance.random()
            found.append(_START + int(tip_s * SECOND))
        at_s += _DRY_S + chance.randrange(40 * 3600)
    return found


def _wired(days: int) -> list[Wired]:
    """Stages that rise and fall, a battery that runs down."""
    stage = [(_START + n * 6 * HOUR, 3000 - 800 * (n % 20 == 2)) for n in range(days * 4)]
    return [
        Wired("a02yyuw", "A02yyuw", "uart", 1, stage),
        Wired("analog", "Analog", "pins", 0, [(_START, 600_000), (_START + days * _DAY, 1_700_000)], args={"pin": 34}),
        Wired("ds18b20", "Ds18b20", "onewire", 5, [(_START, 0xA2), (_START + days * _DAY, 0x110)]),
        Wired(
            "analog", "Analog", "pins", 0, [(_START, 2_000_000), (_START + days * _DAY, 1_800_000)], args={"pin": 35}
        ),
    ]


def _board(sim: Supervisor, broker: Broker, proxy: Proxy, days: int, chance: random.Random, blocks: int) -> Board:
    config = {
        "node": _NODE,
        "mode": "battery",
        "broker_host": broker.host,
        "broker_port": proxy.port,
        "broker_name": "localhost",
        "ntp_host": sim.sntp.host,
        "ntp_port": sim.sntp.port,
        "uplink_s": 14400,
        "report_s": 28800,
        "rise_of": "stage.distance",
        "fast_minutes": 45,
        "connect_timeout_s": 5,
        "keepalive_s": 1200,
        "sensors": _SENSORS,
    }
    secrets = {"username": _NODE, "password": PASSWORD, "wifi": [{"ssid": "site", "password": "not a secret"}]}
    fallen = rain(_storms(days, chance), pin=4)
    files = {
        "config.json": json.dumps(config).encode(),
        "secrets.json": json.dumps(secrets).encode(),
        "ca.der": broker.ca.der.read_bytes(),
    }
    return sim.board(
        _NODE,
        files=files,
        timeline=fallen.timeline,
        tips=fallen.tips,
        mac=MACS[_NODE],
        journal_blocks=blocks,
        wired=_wired(days),
    )


@dataclass
class Fate:
    """What befalls the board, drawn by lot; every instant in simulated us."""

    outages: list[tuple[int, int]] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)
    brown_outs: list[int] = field(default_factory=list)

    @classmethod
    def drawn(cls, chance: random.Random, days: int, outages: int, resets: int, brown_outs: int, lost: int) -> Fate:
        """`lost` of the brown-outs fall into an outage, so that the board comes back without the time."""
        span = days * _DAY // outages
        fate = cls()
        for n in range(outages):
            begin = _START + n * span + chance.randrange(span // 3)
            fate.outages.append((begin, begin + chance.randrange(5 * MINUTE, span * 5 // 9)))
        long = [each for each in fate.outages if each[1] - each[0] > HOUR]
        fate.brown_outs = [begin + 10 * MINUTE for begin, _ in chance.sample(long, lost)]
        while len(fate.brown_outs) < brown_outs:
            at = _START + HOUR + chance.randrange(days * _DAY - 8 * HOUR)
            if not any(begin - MINUTE <= at <= end for begin, end in fate.outages):
                fate.brown_outs.append(at)
        fate.resets = [_START + HOUR + chance.randrange(days * _DAY - 8 * HOUR) for _ in range(resets)]
        return fate

    def befall(self, sim: Supervisor, board: Board, proxy: Proxy) -> None:
        """Plan it. Each second brown-out hits a flash operation soon after, the others the very instant."""

        def _at_once() -> None:
            board.power_cut(3 * SECOND)

        def _at_the_next_write() -> None:
            board.power_cut_at_operation(2, 3 * SECOND)

        for begin, end in self.outages:
            sim.outage(board, proxy, from_us=begin, to_us=end)
        for at in self.resets:
            sim.at(at, board.press_reset)
        for n, at in enumerate(self.brown_outs):
            sim.at(at, _at_once if n % 2 else _at_the_next_write)


def _rows(ledger: Ledger, jid: str) -> dict[int, Any]:
    r = schema.readings.c
    query = sa.select(r.seq, r.stream, r.time_us, r.value, r.total, r.null_reason).where(r.node == _NODE, r.jid == jid)
    with ledger.read() as conn:
        return {row.seq: tuple(row)[1:] for row in conn.execute(query)}


def _gaps(ledger: Ledger) -> list[tuple[int, int]]:
    g = schema.gaps.c
    with ledger.read() as conn:
        return [tuple(row) for row in conn.execute(sa.select(g.first_seq, g.last_seq).where(g.node == _NODE))]


def _state(ledger: Ledger) -> dict[str, Any]:
    with ledger.read() as conn:
        body = conn.execute(sa.select(schema.node_states.c.body).where(schema.node_states.c.node == _NODE)).scalar_one()
    told: dict[str, Any] = body if isinstance(body, dict) else json.loads(body)
    return told


def _catch_up(sim: Supervisor, board: Board, ledger: Ledger) -> None:
    """Let time pass until everything is in the ledger or known as a gap, or half a day."""

    def is_behind() -> bool:
        gone = sum(last - first + 1 for first, last in _gaps(ledger))
        return len(_rows(ledger, board.journal().jid)) + gone < board.taken()

    assert sim.clock.run_while(is_behind, sim.clock.now_us() + 12 * HOUR, MINUTE), "the board's journal does not drain"


def test_weeks_of_outages_resets_and_brown_outs_loses_no_reading(
    sim: Supervisor, broker: Broker, ledger: Ledger, ingest: IngestService
) -> None:
    days, chance = _DAYS, random.Random(20260601)
    proxy = sim.proxy((broker.host, broker.port_311))
    board = _board(sim, broker, proxy, days, chance, blocks=16)
    fate = Fate.drawn(chance, days, outages=days * 20 // 3, resets=days * 5 // 3, brown_outs=_BROWN_OUTS, lost=_LOST)
    fate.befall(sim, board, proxy)
    board.power_on()
    sim.clock.run_until(_START + HOUR // 2)
    jid = board.journal().jid
    sim.clock.run_until(_START + days * _DAY)
    _catch_up(sim, board, ledger)

    assert ingest.healthy() is None
    assert len(board.powered()) == 1 + _BROWN_OUTS
    assert board.journal().jid == jid, "one journal from the first day to the last"
    stored = _rows(ledger, jid)
    assert set(stored) == set(range(1, board.taken() + 1)), "readings taken = stored"
    assert _gaps(ledger) == [] and _state(ledger)["counts"]["lost"] == 0
    for record in board.journal().records:
        value = None if record.value is None else float(record.value)
        time_us = None if record.time_ms is None else record.time_ms * 1000
        assert stored[record.seq] == (record.stream, time_us, value, record.total, record.reason)
    _check_clock(stored)
    _check_tips(sim, board, stored)
    for stream in _STREAMS:
        values = [row[2] for row in stored.values() if row[0] == stream]
        assert sum(value is not None for value in values) > 0.97 * len(values) > 3 * days, stream
    lasts = wear(board.flash(), days, journal_blocks=board.options.journal_blocks, vfs_blocks=board.options.vfs_blocks)
    assert lasts.years > _YEARS
    print(f"{board.boots} starts, {len(stored)} readings, {lasts}")


def _check_clock(stored: dict[int, Any]) -> None:
    """The clock was lost with outages, and what was taken without it has been dated by nobody but an anchor."""
    untimed = [seq for seq, row in stored.items() if row[1] is None]
    spells = sum(seq - 1 not in untimed for seq in untimed)
    assert spells >= _LOST
    timed = [row[1] for _, row in sorted(stored.items()) if row[1] is not None]
    assert all(later - earlier > -2 * SECOND for earlier, later in pairwise(timed))


def _check_tips(sim: Supervisor, board: Board, stored: dict[int, Any]) -> None:
    """Every tip counts once, but for those that fell while the board was starting or in the second before a cut."""
    counted = sum(row[0] == "rain.tips" and row[2] == 1 for row in stored.values())
    starts = sorted(each["t_us"] for each in sim.events if each["event"] in ("boot", "power_cut"))

    def at_risk(tip: int) -> bool:
        after = bisect_left(starts, tip)
        return any(-SECOND < tip - start < SECOND for start in starts[max(0, after - 1) : after + 1])

    driven = board.tips_driven()
    assert 0 <= len(driven) - counted <= sum(map(at_risk, driven))


def test_journal_that_fills_gives_up_its_oldest_readings_and_says_how_many(
    sim: Supervisor, broker: Broker, ledger: Ledger, ingest: IngestService
) -> None:
    chance = random.Random(7)
    proxy = sim.proxy((broker.host, broker.port_311))
    board = _board(sim, broker, proxy, 12, chance, blocks=4)
    board.power_on()
    sim.clock.run_until(_START + 13 * HOUR)
    before = len(_rows(ledger, board.journal().jid))
    assert before > 20
    sim.outage(board, proxy, from_us=sim.clock.now_us(), to_us=_START + 10 * _DAY)
    sim.clock.run_until(_START + 10 * _DAY)
    journal = board.journal()
    assert journal.floor > before + 1, "the ring has come round"
    sim.clock.run_until(_START + 11 * _DAY)
    _catch_up(sim, board, ledger)
    stored, gaps, told = _rows(ledger, journal.jid), _gaps(ledger), _state(ledger)
    lost = sum(last - first + 1 for first, last in gaps)
    assert lost > 0
    assert len(stored) + lost == board.taken(), "readings taken = stored + reported lost"
    assert set(stored).isdisjoint(seq for first, last in gaps for seq in range(first, last + 1))
    assert told["journals"][0]["floor"] > before
    assert ingest.healthy() is None
