#!/usr/bin/env python3
"""The backlog of one board: readings/s from its flash over TLS, mosquitto and the whole gateway into the ledger, while
it rains and a threshold crossing goes ahead of the backlog. The goal of the design is 200 readings/s.

    python tools/bench/bench_backlog.py [READINGS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from headwall_sim import parts
from headwall_sim.backlog import Backlog

GOAL = 200
FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"


def main(count: int) -> None:
    if parts.find("mosquitto") is None:
        raise SystemExit(parts.why_absent("mosquitto"))
    with tempfile.TemporaryDirectory() as folder:
        scene = Backlog(Path(folder), FIRMWARE, count)
        try:
            done = scene.drain()
        finally:
            scene.close()
    print(f"backlog of {count}: {done.rate:.0f} readings/s in {done.seconds:.1f} s (goal {GOAL})")
    print(f"duty mailed {done.mail_after_s:.1f} s after the crossing, with {done.left_at_mail} still to come")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
