"""The status as data, its JSON, and the server around it; no browser needed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from headwall.downlink import commands, configs
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.web.app import create_app
from headwall.web.server import WebServer, WebServerError
from headwall.web.status import Gauge, Status, build_status
from support.mail_facts import (
    CROSSING_US,
    GAUGE,
    HOUR_US,
    MINUTE_US,
    add_tips,
    at,
    duty,
    open_duty,
    open_ledger,
    profiles,
    registry,
    storm_tips,
)
from support.set_clock import SetClock


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = open_ledger(tmp_path)
    yield ledger
    ledger.close()


@pytest.fixture
def health() -> dict[str, str]:
    return {}


@pytest.fixture
def client(ledger: Ledger, health: dict[str, str]) -> Iterator[httpx.Client]:
    server = WebServer(
        create_app(ledger, registry(), profiles(), SetClock(CROSSING_US), lambda: health), "127.0.0.1", 0
    )
    server.start()
    with httpx.Client(base_url=server.url, timeout=30) as client:
        yield client
    server.stop()


def status_at(ledger: Ledger, now_us: int) -> Status:
    return build_status(ledger, registry(), profiles(), now_us, {})


def gauge_at(ledger: Ledger, now_us: int) -> Gauge:
    return next(gauge for gauge in status_at(ledger, now_us).gauges if gauge.datastream == GAUGE)


def test_gauge_without_data_has_null_and_never_zero(ledger: Ledger) -> None:
    gauge = gauge_at(ledger, CROSSING_US)
    assert (gauge.storm_in, gauge.last_24h_in, gauge.today_in, gauge.last_valid_us) == (None, None, None, None)
    assert gauge.silent


def test_storm_goes_on_until_the_dry_gap_of_the_code(ledger: Ledger) -> None:
    tips = storm_tips(63)
    add_tips(ledger, tips)
    assert (gauge_at(ledger, tips[49]).storm_in, gauge_at(ledger, tips[49]).storm_over) == ("0.5", False)
    assert not gauge_at(ledger, tips[-1] + 6 * HOUR_US - 1).storm_over
    over = gauge_at(ledger, tips[-1] + 6 * HOUR_US)
    assert (over.storm_in, over.storm_start_us, over.storm_over) == ("0.63", tips[0], True)


def test_today_begins_at_local_midnight_and_24_hours_roll(ledger: Ledger) -> None:
    add_tips(ledger, [at("06-09 23:59:59"), at("06-10 00:00:00"), at("06-10 12:00")])
    gauge = gauge_at(ledger, at("06-10 12:00"))
    assert (gauge.today_in, gauge.last_24h_in) == ("0.02", "0.03")
    assert gauge_at(ledger, at("06-10 23:59:59")).last_24h_in == "0.02"


def test_test_tips_in_maintenance_do_not_count_as_rain(ledger: Ledger) -> None:
    add_tips(ledger, [CROSSING_US, CROSSING_US + MINUTE_US])
    with ledger.begin() as conn:
        window = {"start_us": CROSSING_US + 1, "end_us": CROSSING_US + HOUR_US, "by": "Sam", "at_us": CROSSING_US}
        conn.execute(schema.maintenance.insert().values(node="gauge-a", **window))
    status = status_at(ledger, CROSSING_US + 2 * MINUTE_US)
    assert next(gauge for gauge in status.gauges if gauge.datastream == GAUGE).storm_in == "0.01"
    assert next(board for board in status.boards if board.node == "gauge-a").in_maintenance


def test_board_is_judged_by_its_data_not_by_a_retained_online(ledger: Ledger) -> None:
    add_tips(ledger, [CROSSING_US])
    with ledger.begin() as conn:
        row = {"status": "online", "body": {"battery_v": 3.7, "synced": True}, "received_us": CROSSING_US}
        conn.execute(schema.node_states.insert().values(node="gauge-a", **row))
    states = {
        now_us: next(board for board in status_at(ledger, now_us).boards if board.node == "gauge-a").state
        for now_us in (CROSSING_US, CROSSING_US + 60 * MINUTE_US, CROSSING_US + 61 * MINUTE_US)
    }
    assert list(states.values()) == ["reporting", "reporting", "silent"]


@pytest.mark.parametrize("body", [{"faults": 7, "battery_v": "x", "synced": []}, {"faults": [None, {}]}])
def test_board_that_says_nonsense_of_itself_does_not_break_the_page(
    ledger: Ledger, client: httpx.Client, body: dict[str, object]
) -> None:
    with ledger.begin() as conn:
        row = {"status": "online", "body": body, "received_us": CROSSING_US}
        conn.execute(schema.node_states.insert().values(node="gauge-a", **row))
    assert client.get("/").status_code == 200


def test_notice_of_an_unknown_kind_is_still_shown(ledger: Ledger, client: httpx.Client) -> None:
    with ledger.begin() as conn:
        row = {"kind": "rule_failed", "subject": "site-1", "key": "k", "body": {"error": "<b>"}, "opened_us": 1}
        conn.execute(schema.notices.insert().values(**row))
    assert status_at(ledger, CROSSING_US).notices[0].text == "error <b>"
    assert "error &lt;b&gt;" in client.get("/").text


def test_gaps_are_counted_in_numbers_lost(ledger: Ledger) -> None:
    with ledger.begin() as conn:
        for first, last in ((1, 10), (20, 20)):
            row = {"node": "gauge-a", "jid": "0" * 16, "first_seq": first, "last_seq": last, "reason": "floor_moved"}
            conn.execute(schema.gaps.insert().values(at_us=1, **row))
    counts = status_at(ledger, CROSSING_US).counts
    assert (counts.gaps, counts.lost) == (2, 11)


def test_json_has_what_the_page_has(ledger: Ledger, client: httpx.Client) -> None:
    add_tips(ledger, storm_tips(50))
    open_duty(ledger, duty())
    body = client.get("/api/status").json()
    assert body["duties"][0]["due_us"] == CROSSING_US + 24 * HOUR_US
    assert body["gauges"][0]["storm_in"] == "0.5"
    assert body["counts"]["appended"] == 50


def test_healthz_fails_while_a_part_is_unhealthy(client: httpx.Client, health: dict[str, str]) -> None:
    assert client.get("/healthz").status_code == 200
    health["mail"] = "no server"
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["parts"]) == (503, {"mail": "no server"})


def test_every_answer_forbids_foreign_content(client: httpx.Client) -> None:
    for path in ("/", "/api/status", "/healthz", "/duties/9"):
        policy = client.get(path).headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")


def test_page_takes_no_writes(client: httpx.Client) -> None:
    assert [client.request(method, "/").status_code for method in ("POST", "PUT", "DELETE")] == [405, 405, 405]


def test_unknown_duty_is_not_found(client: httpx.Client) -> None:
    assert client.get("/duties/9").status_code == 404
    assert client.get("/duties/9/hyetograph.png").status_code == 404
    assert client.get("/duties/x").status_code == 422
    assert client.get(f"/duties/{2**63}").status_code == 422  # more than a database's number holds
    assert client.get(f"/duties/{-(2**70)}").status_code == 422


def test_duty_without_readings_has_no_picture(ledger: Ledger, client: httpx.Client) -> None:
    open_duty(ledger, duty())
    assert client.get("/duties/1").status_code == 200
    assert client.get("/duties/1/hyetograph.png").status_code == 404


def test_server_starts_stops_and_starts_again(ledger: Ledger) -> None:
    app = create_app(ledger, registry(), profiles(), SetClock(CROSSING_US), dict)
    for _ in range(2):
        server = WebServer(app, "127.0.0.1", 0)
        server.start()
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        assert server.healthy() is None
        server.stop()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/healthz")
    assert not any(thread.name == "web" for thread in threading.enumerate())


def test_port_in_use_is_said_with_the_setting(ledger: Ledger) -> None:
    app = create_app(ledger, registry(), profiles(), SetClock(CROSSING_US), dict)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(WebServerError, match=r"web\.port"):
            WebServer(app, "127.0.0.1", port).start()


def _send_down(ledger: Ledger, said: dict[str, object]) -> None:
    """Configuration 1 and an update to 0.2.0 for gauge-a, which then says a state."""
    payload = b'{"node":"gauge-a","version":1}'
    now_us = CROSSING_US
    with ledger.begin() as conn:
        configs.add(conn, "gauge-a", 1, payload, "Sam", now_us)
        fields = {"bundle": "0" * 16, "size": 4096, "version": "0.2.0"}
        commands.queue(conn, "gauge-a", "update", fields, by="Sam", until_us=now_us + HOUR_US, now_us=now_us)
        body = {"config_refused": configs.config_hash(payload), **said}
        row = {"status": "online", "body": body, "received_us": now_us}
        conn.execute(schema.node_states.insert().values(node="gauge-a", **row))


def test_page_says_at_its_top_what_a_board_refused_and_why(ledger: Ledger, client: httpx.Client) -> None:
    update = {"bundle": "0" * 16, "version": "0.2.0", "state": "rolled_back", "why": "no custody in 3 starts"}
    _send_down(ledger, {"config_error": "report_s is 1 <b>", "update": update})
    text = client.get("/").text
    alarm = text[text.index('id="alarms"') : text.index('id="duties"')]
    assert "it refused configuration 1: report_s is 1 &lt;b&gt;" in alarm
    assert "its update to 0.2.0 was rolled back: no custody in 3 starts" in alarm
    board = text[text.index('id="boards"') :]
    assert "configuration 1 refused" in board
    assert "update to 0.2.0 rolled back" in board
    said = client.get("/api/status").json()["boards"]
    (shown,) = (each for each in said if each["node"] == "gauge-a")
    assert (shown["config"]["state"], shown["update"]["state"]) == ("refused", "rolled_back")


def test_page_alarms_nobody_over_what_is_on_its_way(ledger: Ledger, client: httpx.Client) -> None:
    _send_down(ledger, {"config_refused": "another", "update": {"bundle": "0" * 16, "state": "loading"}})
    text = client.get("/").text
    assert "it refused" not in text
    assert "configuration 1 pending" in text
    assert "update to 0.2.0 loading (0 %)" in text


@pytest.mark.parametrize(
    ("left_s", "after_us", "shown"), [(3600, HOUR_US - 1, True), (3600, HOUR_US, False), (0, 1, False)]
)
def test_board_is_in_maintenance_as_long_as_it_said(ledger: Ledger, left_s: int, after_us: int, shown: bool) -> None:
    with ledger.begin() as conn:
        row = {"status": "online", "body": {"maintenance": left_s}, "received_us": CROSSING_US}
        conn.execute(schema.node_states.insert().values(node="gauge-a", **row))
    boards = status_at(ledger, CROSSING_US + after_us).boards
    assert next(board for board in boards if board.node == "gauge-a").in_maintenance is shown
