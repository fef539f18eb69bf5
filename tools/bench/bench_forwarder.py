#!/usr/bin/env python3
"""The InfluxDB forwarder, from the ledger and encoding included, beside a bare influxdb-client loop that sends
ready bytes to the same server in the same run. Prints points/s of both (medians) and their ratio; the goal is 0.8.

    python tools/bench/bench_forwarder.py [POINTS] [RUNS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from headwall.clock import SystemClock
from headwall.influx.feed import rows_after
from headwall.influx.forwarder import Forwarder
from headwall.influx.lines import encode
from headwall.ledger.append import NewReading, append_readings
from headwall.ledger.ledger import Ledger
from headwall.settings import InfluxSettings
from headwall_sim import parts
from headwall_sim.influx_server import InfluxServer
from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.client.write_api import SYNCHRONOUS
from pydantic import SecretStr

GOAL = 0.8
START_US = 1_717_243_200_000_000
NODES = 20


def fill(ledger: Ledger, points: int) -> None:
    """Tips of some nodes, one a second each."""
    for first in range(0, points, 10_000):
        with ledger.begin() as conn:
            append_readings(ledger, conn, [_tip(n) for n in range(first, min(points, first + 10_000))])


def _tip(number: int) -> NewReading:
    node, seq = number % NODES, number // NODES
    at_us = START_US + seq * 1_000_000
    return NewReading(
        node=f"gauge-{node:02}", jid=f"{node:016x}", seq=seq, stream="rain.tips", time_us=at_us, boot=None,
        uptime_ms=None, value=1.0, total=seq, null_reason=None, quality=1, quarantine=None, source="node",
        received_us=at_us,
    )  # fmt: skip


def ready_bodies(ledger: Ledger, batch: int) -> list[bytes]:
    """The very lines that the forwarder will send, as ready bytes."""
    bodies, after = [], 0
    with ledger.read() as conn:
        while found := rows_after(conn, after, batch):
            bodies.append("\n".join(encode(found)).encode())
            after = found[-1][0]
    return bodies


def bare_loop(settings: InfluxSettings, bodies: list[bytes]) -> float:
    """Seconds that influxdb-client needs for ready bytes, one request after the other."""
    token = settings.token.get_secret_value() if settings.token else ""
    with InfluxDBClient(url=settings.url, token=token, org=settings.org) as client:
        api = client.write_api(write_options=SYNCHRONOUS)
        started = time.perf_counter()
        for body in bodies:
            api.write(settings.bucket, record=body)
        return time.perf_counter() - started


def forward(settings: InfluxSettings, ledger: Ledger) -> float:
    """Seconds that the forwarder needs from the first reading to the last cursor."""
    with ledger.begin() as conn:
        ledger.set_cursor(conn, "influx", 0)
    forwarder = Forwarder(settings, ledger, SystemClock())
    started = time.perf_counter()
    forwarder.start()
    while forwarder.lag() > 0:
        time.sleep(0.04)  # asking costs; this errs by at most one part in fifty, against us
    took = time.perf_counter() - started
    forwarder.stop()
    return took


def main(points: int, runs: int) -> None:
    if parts.find("influxdb") is None:
        print(f"not run: {parts.why_absent('influxdb')}")
        return
    with tempfile.TemporaryDirectory() as folder, InfluxServer(Path(folder) / "influx") as server:
        ledger = Ledger.open(f"sqlite:///{folder}/ledger.db")
        print(f"filling a ledger with {points:,} readings …")
        fill(ledger, points)
        pairs = [_pair(server, ledger, number, points) for number in range(runs)]
        ledger.close()
    bare, ours = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    print(f"bare influxdb-client, ready bytes: {bare:,.0f} points/s (median of {runs})")
    print(f"forwarder, ledger to InfluxDB:     {ours:,.0f} points/s (median of {runs})")
    ratio = statistics.median(our_rate / bare_rate for bare_rate, our_rate in pairs)
    print(f"ratio {ratio:.2f} (median of the pairs; goal {GOAL})")


def _pair(server: InfluxServer, ledger: Ledger, number: int, points: int) -> tuple[float, float]:
    """Points/s of the bare loop and of the forwarder, one right after the other, into new buckets."""
    fields = {"url": server.url, "org": server.org, "token": SecretStr(server.token)}
    to_bare, to_ours = (
        InfluxSettings.model_validate({**fields, "bucket": server.make_bucket(f"{who}{number}")})
        for who in ("bare", "ours")
    )
    bodies = ready_bodies(ledger, to_bare.batch)
    if number % 2:  # InfluxDB compacts behind whoever wrote first: take turns
        ours, bare = forward(to_ours, ledger), bare_loop(to_bare, bodies)
    else:
        bare, ours = bare_loop(to_bare, bodies), forward(to_ours, ledger)
    bare, ours = points / bare, points / ours
    print(f"  run {number + 1}: bare {bare:,.0f}/s, forwarder {ours:,.0f}/s, ratio {ours / bare:.2f}")
    return bare, ours


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [200_000, 6][len(given) :]))
