"""The forwarder's own reading of the ledger sees what every other follower sees."""

from __future__ import annotations

import tempfile
from pathlib import Path

from headwall.influx.feed import rows_after
from headwall.ledger.ledger import Ledger
from headwall.ledger.reads import readings_after
from headwall.ledger.resolve import add_anchor
from hypothesis import given, settings
from hypothesis import strategies as st
from support.readings import START_US, append, tip

BOOTS = ["0000000a", "0000000b"]
#: a reading with a time, a reading without one from either boot, or an anchor of either boot
STEPS = st.lists(st.sampled_from(["timed", *(f"untimed {b}" for b in BOOTS), *(f"anchor {b}" for b in BOOTS)]))


def play(ledger: Ledger, steps: list[str]) -> None:
    for number, step in enumerate(steps):
        kind, _, boot = step.partition(" ")
        if kind == "anchor":
            with ledger.begin() as conn:
                at = {"uptime_ms": 1000 * number, "time_us": START_US, "received_us": START_US}
                add_anchor(ledger, conn, node="gauge-a", boot=boot, **at)
        elif kind == "untimed":
            append(ledger, [tip(number, time_us=None, boot=boot, uptime_ms=1000 * number)])
        else:
            append(ledger, [tip(number)])


@settings(max_examples=30, deadline=None)
@given(STEPS, st.integers(1, 5))
def test_feed_gives_every_timed_reading_that_a_follower_meets(steps: list[str], limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(f"sqlite:///{Path(folder)}/ledger.db")
        play(ledger, steps)
        fed, after = [], 0
        with ledger.read() as conn:
            while rows := rows_after(conn, after, limit):
                assert len(rows) <= limit
                fed += [(row[3], row[5]) for row in rows if row[5] is not None]
                assert rows[-1][0] > after
                after = rows[-1][0]
            met = [(r.seq, r.time_us) for r in readings_after(conn, 0, 1000) if r.time_us is not None]
        ledger.close()
    assert sorted(set(fed)) == sorted(met)
