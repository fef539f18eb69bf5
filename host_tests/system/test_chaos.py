"""The whole path while its parts are killed: nothing taken by a board is lost, stored twice or mailed twice.

Boards run the real firmware, the broker is mosquitto with TLS, the gateway is `headwall run`, InfluxDB is influxd.
All of them follow one simulated clock; what is killed gets SIGKILL.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.clock import to_us
from headwall.ledger import schema
from headwall_board.certs import Authority
from headwall_sim.mailbox import call_before_reply
from headwall_sim.proxy import Proxy
from headwall_sim.simulated_board import Board
from headwall_sim.storms import rain
from headwall_sim.supervisor import Supervisor
from headwall_sim.village import READY_S, Village
from support.ingest_rig import until
from support.long import LONG
from support.village import (
    FIRMWARE,
    HOUR,
    MINUTE,
    SECOND,
    count_in_ledger,
    in_influx,
    in_ledger,
    on_flash,
    open_ledger,
    registry,
)

pytestmark = [pytest.mark.mosquitto, pytest.mark.influxdb, pytest.mark.slow]

_START = to_us(datetime(2026, 6, 9, tzinfo=UTC))
_MACS = {f"board-{letter}": f"240ac400000{letter}" for letter in ("abcd" if LONG else "ab")}
_STREAM = "rain.tips"
_REPORT_S = 10
#: without network at the start of each round; 5,000 readings a board come together in six long ones, 20,000 in all
_OUTAGE = 2 * HOUR + 15 * MINUTE if LONG else 70 * MINUTE
_ROUND = _OUTAGE + 15 * MINUTE
_ROUNDS = 6
#: how long what was killed stays away
_DEAD = 15 * SECOND
_READINGS = (5_000 if LONG else 2_600) * len(_MACS)
#: rounds with a storm, one a board: in the third a mail is stopped
_STORMS = (2, 1, 0, 3)


class _Scene:
    """Boards in the village, and what is done to them."""

    def __init__(self, sim: Supervisor, village: Village) -> None:
        self.sim = sim
        self.village = village
        self.proxies: dict[str, Proxy] = {}
        self.boards: dict[str, Board] = {}
        for number, (node, mac) in zip(_STORMS, _MACS.items(), strict=False):
            self._add(node, mac, storm_us=_START + number * _ROUND + HOUR // 2)

    def _add(self, node: str, mac: str, storm_us: int) -> None:
        """A board that sees 0.6 in in half an hour."""
        proxy = self.sim.proxy((self.village.broker.host, self.village.broker.port_311))
        fallen = rain([storm_us + tip * 30 * SECOND for tip in range(60)], pin=4)
        self.boards[node] = self.sim.board(
            node,
            files=self.village.flash_files(
                node,
                proxy.port,
                self.sim.sntp.port,
                report_s=_REPORT_S,
                custody_timeout_s=5,
                watchdog_s=300,
                backoff_max_s=60,
            ),
            timeline=fallen.timeline,
            tips=fallen.tips,
            mac=mac,
            journal_blocks=64,  # 8,000 records: nothing is overwritten, so that flash tells all that was taken
        )
        self.proxies[node] = proxy

    def network(self, there: bool) -> None:
        for proxy in self.proxies.values():
            proxy.set_mode("open" if there else "cut")

    def stored(self) -> int:
        return count_in_ledger(self.village)

    def taken(self) -> int:
        return sum(board.taken() for board in self.boards.values())

    def pass_outage(self, number: int) -> None:
        self.network(False)
        self.sim.clock.run_until(_START + number * _ROUND + _OUTAGE)

    def drain_begins(self) -> None:
        """Return with a part of the backlog through, and more of it on its way."""
        before = self.stored()
        self.network(True)
        limit = self.sim.clock.now_us() + 10 * MINUTE
        assert self.sim.clock.run_while(lambda: self.stored() == before, limit, SECOND // 20)
        assert self.stored() < self.taken()

    def catch_up(self) -> None:
        """Let time pass until the ledger has everything, or 30 minutes."""
        limit = self.sim.clock.now_us() + 30 * MINUTE
        assert self.sim.clock.run_while(lambda: self.stored() < self.taken(), limit, 5 * SECOND), (
            f"{self.stored()} of {self.taken()} came"
        )

    def switch_off(self) -> None:
        """Take the power when nothing is on its way."""
        while True:
            self.catch_up()
            for board in self.boards.values():
                board.power_cut()
            until(lambda: all(board.state == "off" for board in self.boards.values()), "boards without power")
            if self.stored() == self.taken():
                return
            for board in self.boards.values():  # one has taken a reading at the last moment
                board.power_on()

    def rest(self, time_us: int) -> None:
        self.sim.clock.run_until(self.sim.clock.now_us() + time_us)


def _kill_broker(scene: _Scene) -> None:
    scene.drain_begins()
    scene.village.broker.kill()
    scene.rest(_DEAD)
    scene.village.broker.start()


def _kill_gateway(scene: _Scene) -> None:
    scene.drain_begins()
    scene.village.gateway.kill()
    scene.rest(_DEAD)
    scene.village.gateway.start(READY_S)


def _kill_gateway_that_mails(scene: _Scene) -> None:
    """The next mail is taken, but the gateway never hears the 250."""
    pid = scene.village.gateway.pid
    assert pid is not None
    scene.village.mailbox.then(call_before_reply(lambda: os.kill(pid, signal.SIGKILL)))
    scene.network(True)
    limit = scene.sim.clock.now_us() + 10 * MINUTE
    assert scene.sim.clock.run_while(lambda: scene.village.gateway.pid is not None, limit), "no mail came"
    scene.village.gateway.kill()
    scene.rest(_DEAD)
    scene.village.gateway.start(READY_S)


_FAULTS: list[Callable[[_Scene], None]] = [
    _kill_gateway,
    _kill_broker,
    _kill_gateway_that_mails,
    _kill_broker,
    _kill_gateway,
    lambda scene: scene.network(True),
]


@pytest.fixture
def scene(tmp_path: Path, ca: Authority) -> Iterator[_Scene]:
    with (
        Supervisor(tmp_path / "boards", start_us=_START, firmware=FIRMWARE) as sim,
        Village(tmp_path, sim.clock_setting, list(_MACS), registry(_MACS), ca=ca) as village,
    ):
        for node in _MACS:
            village.command("node", "accept", node, "--by", "Sam Okafor")
        yield _Scene(sim, village)


@pytest.mark.timeout(600)
def test_readings_survive_kills_of_every_part(scene: _Scene) -> None:
    village, influx = scene.village, scene.village.influx
    assert influx is not None
    influx.kill()
    for board in scene.boards.values():
        board.power_on()
    for number, fault in enumerate(_FAULTS):
        if number == _ROUNDS // 2:
            influx.start()
        scene.pass_outage(number)
        fault(scene)
        scene.catch_up()
    scene.switch_off()
    scene.rest(20 * MINUTE)  # facts wait up to a quarter of an hour for each other
    until(lambda: _forwarded(village), "the forwarder has caught up")
    _check_readings(scene)
    _check_mails(village)
    for board in scene.boards.values():
        assert "Traceback" not in board.console.read_text()


def _forwarded(village: Village) -> bool:
    with open_ledger(village) as ledger, ledger.read() as conn:
        cursors = {row.name: row.pos for row in conn.execute(sa.select(schema.cursors.c.name, schema.cursors.c.pos))}
        newest = conn.execute(sa.select(schema.append_position.c.pos)).scalar_one()
    return cursors["influx"] == newest


def _check_readings(scene: _Scene) -> None:
    """Every identity and every value: flash, ledger and InfluxDB say the same."""
    assert scene.village.influx is not None
    total = 0
    for node, board in scene.boards.items():
        journal = board.journal()
        taken = on_flash(journal.records, journal.jid)
        assert journal.floor == 1
        assert [seq for _, seq in taken] == list(range(1, board.taken() + 1))
        assert in_ledger(scene.village, node) == taken
        points = in_influx(scene.village.influx, node, [_STREAM], _START, _START + 24 * HOUR)
        assert len(points) == len(taken), "a reading stands twice in InfluxDB"
        assert dict(points) == in_ledger(scene.village, node, resolved=True)
        untimed = [identity for identity, content in taken.items() if content[1] is None]
        assert untimed == [(journal.jid, 1)], "the report at power-on, before the board has asked for the time"
        assert sum(value == 1 for _, _, value, _, _ in taken.values()) == len(board.tips_driven())
        total += len(taken)
    assert total >= _READINGS


def _check_mails(village: Village) -> None:
    """One mail a fact; one copy more of the mail whose 250 was not heard, and that is counted."""
    copies = Counter(str(mail.message["Message-ID"]) for mail in village.mailbox.mails())
    with open_ledger(village) as ledger, ledger.read() as conn:
        mails = conn.execute(sa.select(schema.mails.c.message_id, schema.mails.c.state, schema.mails.c.repeats)).all()
        facts = conn.execute(sa.select(schema.outbox.c.fact, schema.outbox.c.person, schema.outbox.c.mail)).all()
    assert {mail.state for mail in mails} == {"sent"}
    assert copies == {mail.message_id: 1 + mail.repeats for mail in mails}
    assert sorted(mail.repeats for mail in mails)[-2:] == [0, 1], "one kill fell between a 250 and its record"
    assert len({(fact.fact, fact.person) for fact in facts}) == len(facts)
    duties = [fact for fact in facts if fact.fact.startswith("duty/") and fact.person == "ruth-adler"]
    assert len(duties) == len(_MACS), "each board saw one storm of 0.6 in"
