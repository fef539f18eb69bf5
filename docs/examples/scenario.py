"""A scenario in a few lines: half an inch of rain on a simulated board that loses its power in the middle of it.

The board runs the files of firmware/ in the real MicroPython; no broker answers, so its readings stay in the journal.
A day of simulated time passes in a few seconds.
"""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from headwall.clock import to_us
from headwall_sim.storms import rain, type_iii_tips
from headwall_sim.supervisor import Supervisor

START = to_us(datetime(2026, 6, 9, tzinfo=UTC))
MINUTE = 60_000_000

with (
    tempfile.TemporaryDirectory() as folder,
    Supervisor(Path(folder), start_us=START, firmware=Path("firmware")) as sim,
):
    storm = rain(type_iii_tips(50, START), pin=4)
    config = {
        "node": "gauge-a",
        "broker_host": "127.0.0.1",
        "broker_port": 1,
        "ntp_host": sim.sntp.host,
        "ntp_port": sim.sntp.port,
        "sensors": [{"kind": "tipping_bucket", "pin": 4}],
    }
    board = sim.board(
        "gauge-a",
        files={"config.json": json.dumps(config).encode(), "ca.der": b""},
        timeline=storm.timeline,
        tips=storm.tips,
    )
    board.power_on()
    sim.at(START + 13 * 60 * MINUTE, lambda: board.power_cut(off_us=MINUTE))
    sim.clock.run_until(START + 24 * 60 * MINUTE)
    tips = sum(record.value == "1" for record in board.journal().records)
    print(
        f"{len(storm.tips)} tips fell, {len(board.tips_driven())} while the board had power, {tips} are in its journal"
    )
