"""A board's time that is set forward and back, or comes late: no reading is lost, altered or put in another order."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from headwall_sim.broker import Broker
from scripted_gateway import ScriptedGateway
from sim_node import MINUTE_US, START_US, SimNode

pytestmark = pytest.mark.mosquitto
HOUR_S = 3600


@pytest.mark.parametrize("mode", ["mains", "battery"])
@pytest.mark.parametrize("wrong_s", [5 * HOUR_S, -3 * HOUR_S])
def test_step_of_the_clock_neither_loses_nor_reorders(
    wrong_s: int, mode: str, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    """NTP is wrong by hours at first; after the first question it tells the truth."""
    when = [3 + 2.1 * n for n in range(40)]
    settings = {"mode": mode, "ntp_every_s": 600, "uplink_s": 600, "report_s": 600}
    with SimNode(tmp_path, broker, when, **settings) as node:
        node.use_clock(gateway)
        node.sim.sntp.wrong_by_s = wrong_s
        node.run_to(5)
        node.sim.sntp.wrong_by_s = 0
        node.run_to(110)
        records = node.board.journal().records
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        node.run_until(lambda: {seq for _, seq in gateway.held} >= {record.seq for record in records}, 135)
        assert gateway.twice == 0
    tips = [record for record in records if record.value == "1"]
    off_s = [record.time_ms / 1000 - START_US / 1e6 - 60 * at for record, at in zip(tips, when, strict=True)]
    steps = [60 * round(each / 60) for each in off_s]
    assert steps[0] == wrong_s and steps[-1] == 0
    assert sum(a != b for a, b in pairwise(steps)) == 1, "each keeps the time it was taken at"
    assert [record.total for record in tips] == list(range(1, 41))


def test_tick_counter_that_wraps_during_a_day_without_time_is_dated_rightly_by_the_anchor(
    broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    """Its ticks begin ten minutes before they wrap; nobody tells the time for the first half hour."""
    when = [2, 9, 11, 25]
    with SimNode(tmp_path, broker, when, ntp_timeout_s=1, backoff_min_s=60) as node:
        node.use_clock(gateway)
        node.sim.sntp.answering = False
        node.proxy.set_mode("cut")
        node.run_to(30)
        node.sim.sntp.answering = True
        node.proxy.set_mode("open")
        node.run_until(lambda: bool(gateway.states) and sum(v == 1 for v in gateway.held.values()) == 4, 60)
        boot, up_ms, utc_ms = gateway.states[-1]["anchors"][0]
        tips = [record for record in node.board.journal().records if record.value == "1"]
    assert {record.boot for record in tips} == {boot}
    for record, minute in zip(tips, when, strict=True):
        assert record.time_ms is None
        dated_ms = utc_ms - (up_ms - (record.up_ms or 0))
        assert abs(dated_ms - START_US // 1000 - minute * MINUTE_US // 1000) < 1000
