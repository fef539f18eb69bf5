"""The forwarder against the real InfluxDB: everything in the ledger arrives, once, whatever happens on the way."""

from __future__ import annotations

import csv
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from headwall.clock import SystemClock
from headwall.influx.forwarder import CURSOR, Forwarder
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.resolve import add_anchor
from headwall.settings import InfluxSettings
from headwall_sim.influx_server import InfluxServer
from influxdb_client import InfluxDBClient
from influxdb_client.client.write_api import SYNCHRONOUS
from pydantic import SecretStr
from support.readings import JID, START_US, append, tip

pytestmark = pytest.mark.influxdb


def settings_for(server: InfluxServer, **changes: object) -> InfluxSettings:
    fields = {"url": server.url, "org": server.org, "bucket": server.bucket, "token": SecretStr(server.token)}
    return InfluxSettings.model_validate({**fields, **changes})


def until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    """Wait for a condition; fails the test when it does not come."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "did not come in time"
        time.sleep(0.05)


def stored(server: InfluxServer) -> dict[tuple[str, str, int], dict[str, str]]:
    """Every point of the bucket by identity (node, journal, number)."""
    flux = f'''from(bucket: "{server.bucket}") |> range(start: 1970-01-01T00:00:00Z, stop: 2100-01-01T00:00:00Z)
        |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")'''
    with InfluxDBClient(server.url, server.token, org=server.org, timeout=30_000) as client:
        text = client.query_api().query_raw(flux).data.decode()
    points: dict[tuple[str, str, int], dict[str, str]] = {}
    for table in text.replace("\r\n", "\n").split("\n\n"):
        for row in csv.DictReader(line for line in table.splitlines() if not line.startswith("#")):
            key = (row["node"], row["jid"], int(float(row["seq"])))
            assert key not in points, f"{key} is stored twice"
            points[key] = row
    return points


def identities(ledger: Ledger) -> set[tuple[str, str, int]]:
    table = schema.readings.c
    with ledger.read() as conn:
        return {tuple(row) for row in conn.execute(sa.select(table.node, table.jid, table.seq))}


def dead_letters(ledger: Ledger) -> list[tuple[str, str, bytes]]:
    table = schema.dead_letters.c
    with ledger.read() as conn:
        return [tuple(row) for row in conn.execute(sa.select(table.reason, table.detail, table.payload))]


@pytest.fixture
def forward(ledger: Ledger) -> Iterator[Callable[..., Forwarder]]:
    """Start a forwarder of the ledger; stopped at the end."""
    running: list[Forwarder] = []

    def start(settings: InfluxSettings, **more: object) -> Forwarder:
        forwarder = Forwarder(settings, ledger, SystemClock(), **more)  # type: ignore[arg-type]
        running.append(forwarder)
        forwarder.start()
        return forwarder

    yield start
    for forwarder in running:
        forwarder.stop()


def test_every_reading_arrives_with_its_value(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    append(ledger, [tip(seq, value=seq / 7) for seq in range(2500)])
    forwarder = forward(settings_for(influx, batch=1000))
    until(lambda: forwarder.lag() == 0)
    points = stored(influx)
    assert points.keys() == identities(ledger)
    assert {key[2]: float(row["value"]) for key, row in points.items()} == {seq: seq / 7 for seq in range(2500)}
    assert forwarder.healthy() is None


def test_reading_that_comes_later_is_forwarded_at_once(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    forwarder = forward(settings_for(influx))
    append(ledger, [tip(1)])
    until(lambda: forwarder.lag() == 0, 5)
    append(ledger, [tip(2)])
    until(lambda: forwarder.lag() == 0, 5)
    assert stored(influx).keys() == identities(ledger)


def test_readings_of_one_instant_and_zero_beside_a_tip_all_stand(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    append(ledger, [tip(1, time_us=START_US), tip(2, time_us=START_US), tip(3, time_us=START_US, value=0.0)])
    append(ledger, [tip(1, node="gauge-b", time_us=START_US)])
    forwarder = forward(settings_for(influx))
    until(lambda: forwarder.lag() == 0)
    assert stored(influx).keys() == identities(ledger)


def test_null_and_quarantined_reading_have_no_value(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    append(ledger, [tip(1, value=None, null_reason="no_signal"), tip(2, quarantine="clock_future"), tip(3)])
    forwarder = forward(settings_for(influx))
    until(lambda: forwarder.lag() == 0)
    rows = {key[2]: row for key, row in stored(influx).items()}
    assert [rows[1]["value"], rows[1]["reason"]] == ["", "no_signal"]
    assert [rows[2]["value"], rows[2]["quarantine"], rows[2]["quarantined_value"]] == ["", "clock_future", "1"]
    assert rows[3]["value"] == "1"


def test_reading_without_a_time_waits_for_its_anchor_and_holds_up_nothing(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    untimed = {"time_us": None, "boot": "0badcafe", "uptime_ms": 5000}
    append(ledger, [tip(1, **untimed), tip(2)])
    forwarder = forward(settings_for(influx))
    until(lambda: forwarder.lag() == 0)
    assert {key[2] for key in stored(influx)} == {2}
    with ledger.begin() as conn:
        add_anchor(
            ledger, conn, node="gauge-a", boot="0badcafe", uptime_ms=9000, time_us=START_US, received_us=START_US
        )
    ledger.announce()
    until(lambda: forwarder.lag() == 0)
    assert stored(influx)["gauge-a", JID, 1]["_time"].startswith("2024-06-01T11:59:56")


def test_wrong_token_alarms_once_and_keeps_the_cursor(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    faults: list[tuple[str, str, str]] = []
    append(ledger, [tip(1)])
    forwarder = forward(settings_for(influx, token=SecretStr("wrong")), on_fault=lambda *fault: faults.append(fault))
    until(lambda: forwarder.healthy() is not None)
    assert "401" in str(forwarder.healthy())
    assert [fault[:2] for fault in faults] == [("gateway", "influx_refused")]
    forwarder.stop()
    assert forwarder.lag() == 1
    assert dead_letters(ledger) == []


def test_missing_bucket_is_an_alarm_and_no_fault_of_the_points(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    append(ledger, [tip(1)])
    forwarder = forward(settings_for(influx, bucket="nowhere"))
    until(lambda: forwarder.healthy() is not None)
    assert "nowhere" in str(forwarder.healthy())
    assert (forwarder.lag(), dead_letters(ledger)) == (1, [])


def test_point_of_another_type_is_dead_lettered_and_the_rest_stored(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    """One measurement of the bucket was once written with text values: 422 for those points alone."""
    with InfluxDBClient(influx.url, influx.token, org=influx.org) as client:
        line = f'level,node=n,sensor=s value="text" {START_US * 1000}'
        client.write_api(write_options=SYNCHRONOUS).write(influx.bucket, record=line)
    bad = tip(150, stream="tank.level", value=0.5, total=None)
    append(ledger, [tip(seq) for seq in range(150)] + [bad] + [tip(seq) for seq in range(151, 300)])
    faults: list[tuple[str, str, str]] = []
    forwarder = forward(settings_for(influx), on_fault=lambda *fault: faults.append(fault))
    until(lambda: forwarder.lag() == 0)
    (letter,) = dead_letters(ledger)
    assert letter[0] == "influx_rejected"
    assert "type conflict" in letter[1]
    assert b"seq=150 " in letter[2]
    assert [fault[1] for fault in faults] == ["influx_rejected"]
    assert forwarder.healthy() is None
    with InfluxDBClient(influx.url, influx.token, org=influx.org) as client:
        count = client.query_api().query(
            f'from(bucket: "{influx.bucket}") |> range(start: 0) |> filter(fn: (r) => r._measurement == "tips" and '
            f'r._field == "seq") |> count()'
        )
    assert count[0].records[0].get_value() == 299


def test_unparsable_points_are_dead_lettered_and_the_rest_stored(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    """An infinite value makes a line that InfluxDB cannot parse, for which it refuses the whole body (400)."""
    bad = {3, 77}
    append(ledger, [tip(seq, value=float("inf") if seq in bad else 1.0) for seq in range(100)])
    forwarder = forward(settings_for(influx))
    until(lambda: forwarder.lag() == 0)
    assert {key[2] for key in stored(influx)} == set(range(100)) - bad
    assert [letter[0] for letter in dead_letters(ledger)] == ["influx_rejected"] * 2


@pytest.mark.postgresql
def test_ledger_on_postgresql_is_forwarded_alike(influx: InfluxServer, postgres_url: str) -> None:
    ledger = Ledger.open(postgres_url)
    append(ledger, [tip(seq, value=float("inf") if seq == 3 else seq / 7) for seq in range(300)])
    forwarder = Forwarder(settings_for(influx, batch=100), ledger, SystemClock())
    forwarder.start()
    until(lambda: forwarder.lag() == 0)
    forwarder.stop()
    values = {key[2]: float(row["value"]) for key, row in stored(influx).items()}
    assert values == {seq: seq / 7 for seq in range(300) if seq != 3}
    assert [letter[0] for letter in dead_letters(ledger)] == ["influx_rejected"]
    ledger.close()


def test_points_older_than_the_retention_are_warned_about_and_not_dead_lettered(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    bucket = influx.make_bucket(f"{influx.bucket}-short", retention_days=7)
    now_us = SystemClock().now_us()
    append(ledger, [tip(1, time_us=now_us), *(tip(seq, time_us=START_US + seq) for seq in range(2, 50))])
    faults: list[tuple[str, str, str]] = []
    forwarder = forward(
        settings_for(influx, bucket=bucket, retention_days=7), on_fault=lambda *fault: faults.append(fault)
    )
    until(lambda: forwarder.lag() == 0)
    assert [fault[1] for fault in faults] == ["influx_retention"]
    assert "48 points" in faults[0][2]
    assert dead_letters(ledger) == []


def test_database_down_then_up_loses_nothing(
    own_influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    own_influx.stop()
    append(ledger, [tip(seq) for seq in range(200)])
    forwarder = forward(settings_for(own_influx))
    until(lambda: forwarder.healthy() is not None)
    assert "refused" in str(forwarder.healthy())
    own_influx.start()
    until(lambda: forwarder.lag() == 0)
    assert forwarder.healthy() is None
    assert stored(own_influx).keys() == identities(ledger)


def test_database_killed_midway_loses_nothing(
    own_influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    append(ledger, [tip(seq) for seq in range(20_000)])
    forwarder = forward(settings_for(own_influx, batch=200))
    until(lambda: 0 < forwarder.lag() < 15_000)
    own_influx.kill()
    until(lambda: forwarder.healthy() is not None)
    own_influx.start()
    until(lambda: forwarder.lag() == 0)
    assert stored(own_influx).keys() == identities(ledger)


FORWARD = """
import sys, time
from pydantic import SecretStr
from headwall.clock import SystemClock
from headwall.influx.forwarder import Forwarder
from headwall.ledger.ledger import Ledger
from headwall.settings import InfluxSettings
url, org, bucket, token, ledger = sys.argv[1:]
settings = InfluxSettings(url=url, org=org, bucket=bucket, token=SecretStr(token), batch=100)
Forwarder(settings, Ledger.open(ledger), SystemClock()).start()
time.sleep(60)
"""


def test_forwarder_killed_midway_goes_on_where_it_was(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    append(ledger, [tip(seq) for seq in range(5000)])
    arguments = [influx.url, influx.org, influx.bucket, influx.token, str(ledger.engine.url)]

    def position() -> int:
        with ledger.read() as conn:
            return ledger.cursor(conn, CURSOR)

    def passed(before: int) -> Callable[[], bool]:
        return lambda: position() > before

    reached = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", FORWARD, *arguments])
        until(passed(reached))
        process.kill()
        process.wait()
        reached = position()
    assert reached < 5000
    forwarder = forward(settings_for(influx))
    until(lambda: forwarder.lag() == 0)
    assert stored(influx).keys() == identities(ledger)


def test_cursor_set_back_sends_again_and_stores_once(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    append(ledger, [tip(seq) for seq in range(300)])
    first = forward(settings_for(influx))
    until(lambda: first.lag() == 0)
    first.stop()
    with ledger.begin() as conn:
        ledger.set_cursor(conn, CURSOR, 100)
    second = forward(settings_for(influx))
    until(lambda: second.lag() == 0)
    assert len(stored(influx)) == 300


def test_stop_sends_what_was_just_appended(
    influx: InfluxServer, ledger: Ledger, forward: Callable[..., Forwarder]
) -> None:
    forwarder = forward(settings_for(influx))
    append(ledger, [tip(1)])
    until(lambda: forwarder.lag() == 0)
    append(ledger, [tip(seq) for seq in range(2, 7)])
    forwarder.stop()
    assert len(stored(influx)) == 6


def test_stop_right_after_start_ends_the_thread(influx: InfluxServer, ledger: Ledger) -> None:
    for pause_s in (0, 0, 0, 0.001, 0.002, 0.005, 0.01):
        forwarder = Forwarder(settings_for(influx), ledger, SystemClock())
        forwarder.start()
        time.sleep(pause_s)
        forwarder.stop()
        assert "influx" not in {thread.name for thread in threading.enumerate()}


def test_stop_with_the_database_gone_ends_the_thread_and_keeps_the_readings(
    ledger: Ledger, own_influx: InfluxServer, forward: Callable[..., Forwarder]
) -> None:
    own_influx.kill()
    append(ledger, [tip(seq) for seq in range(5)])
    forwarder = forward(settings_for(own_influx))
    until(lambda: forwarder.healthy() is not None)
    forwarder.stop()
    assert "influx" not in {thread.name for thread in threading.enumerate()}
    assert forwarder.lag() == 5
