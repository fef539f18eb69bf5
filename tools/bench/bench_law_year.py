#!/usr/bin/env python3
"""A year of sites in five municipalities through rules, duties and mails: mails per officer and day, time, memory.

The goal is 1,000 sites and a year in 5 minutes. `host_tests/system/test_law_year.py` holds the same play to an oracle.

    python tools/bench/bench_law_year.py [SITES] [DAYS]
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import sqlalchemy as sa
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger

sys.path.insert(0, str(Path(__file__).parents[1]))
from headwall_sim.law_year import DAY_US, make
from headwall_sim.law_year_play import play

GOAL_S = 300.0
SITES, DAYS = 60, 60  # as many as `make bench` has time for


def main() -> None:
    sites = int(sys.argv[1]) if len(sys.argv) > 1 else SITES
    days = int(sys.argv[2]) if len(sys.argv) > 2 else DAYS
    world, processes = make(1, sites, days), os.cpu_count() or 1
    m, mails = schema.mails.c, []
    with tempfile.TemporaryDirectory() as folder:
        begun_s = time.monotonic()
        found = play(world, Path(folder), processes)
        wall_s = time.monotonic() - begun_s
        for each in found:
            ledger = Ledger.open(each.ledger_url)
            with ledger.read() as conn:
                mails += conn.execute(sa.select(m.recipient, m.at_us)).all()
            ledger.close()
    people = {row.recipient for row in mails}
    a_day = Counter((row.recipient, (row.at_us - world.begins_us) // DAY_US) for row in mails)
    counts = sorted(a_day[person, day] for person in people for day in range(days)) or [0]
    most, p95 = counts[-1], counts[len(counts) * 95 // 100]
    steps, cpu_s = sum(each.steps for each in found), sum(each.cpu_s for each in found)
    print(f"{len(world.places)} sites, {days} days: {len(world.happenings):,} happenings, {steps:,} rule passes")
    print(f"{len(mails):,} mails; a person and day: mean {statistics.mean(counts):.2f}, 95th {p95}, most {most}")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(
        f"{len(found)} gateways, {processes} at once: {wall_s:.1f} s in all, {cpu_s:.1f} s of CPU, {memory} MB the "
        f"largest; goal: {GOAL_S:.0f} s for 1,000 sites and 365 days"
    )


if __name__ == "__main__":
    main()
