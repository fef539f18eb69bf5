"""One suite over both places where the past can be read: they must not differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from headwall.clock import SystemClock
from headwall.influx.forwarder import Forwarder
from headwall.influx.history import History, HistoryUnavailableError, InfluxHistory, LedgerHistory, Past
from headwall.ledger.append import NewReading
from headwall.ledger.ledger import Ledger
from headwall.ledger.resolve import add_anchor
from headwall.settings import InfluxSettings
from headwall_sim.influx_server import InfluxServer
from pydantic import SecretStr
from support.readings import JID, START_US, append, tip

SECOND_US = 1_000_000
Prepare = Callable[[list[NewReading]], History]


@pytest.fixture(params=["ledger", pytest.param("influx", marks=pytest.mark.influxdb)])
def history_of(request: pytest.FixtureRequest, ledger: Ledger) -> Iterator[Prepare]:
    """Append readings, have them forwarded where InfluxDB is meant, and give the history."""
    opened: list[InfluxHistory] = []

    def prepare(readings: list[NewReading]) -> History:
        append(ledger, readings)
        if request.param == "ledger":
            return LedgerHistory(ledger)
        server: InfluxServer = request.getfixturevalue("influx")
        settings = InfluxSettings(url=server.url, org=server.org, bucket=server.bucket, token=SecretStr(server.token))
        forward_all(settings, ledger)
        opened.append(InfluxHistory(settings))
        return opened[0]

    yield prepare
    for history in opened:
        history.close()


def forward_all(settings: InfluxSettings, ledger: Ledger) -> None:
    forwarder = Forwarder(settings, ledger, SystemClock())
    forwarder.start()
    deadline = time.monotonic() + 20
    while forwarder.lag() > 0:
        assert time.monotonic() < deadline, forwarder.healthy()
        time.sleep(0.02)
    forwarder.stop()


def all_of(history: History, stream: str = "rain.tips") -> list[Past]:
    return history.readings("gauge-a", stream, 0, 4_000_000_000 * SECOND_US)


def test_values_totals_and_identities_come_back_in_order_of_time(history_of: Prepare) -> None:
    history = history_of([tip(seq, value=seq / 3, time_us=START_US - seq) for seq in range(1, 50)])
    assert all_of(history) == [Past(START_US - seq, seq / 3, None, seq, JID, seq) for seq in range(49, 0, -1)]


def test_start_is_in_and_end_is_not(history_of: Prepare) -> None:
    history = history_of([tip(seq) for seq in range(10)])
    found = history.readings("gauge-a", "rain.tips", START_US + 3 * SECOND_US, START_US + 6 * SECOND_US)
    assert [past.seq for past in found] == [3, 4, 5]


def test_readings_of_one_instant_all_come_in_order_of_number(history_of: Prepare) -> None:
    history = history_of([tip(seq, time_us=START_US) for seq in (999, 1000, 1001)])
    assert [(past.time_us, past.seq) for past in all_of(history)] == [(START_US, s) for s in (999, 1000, 1001)]


def test_null_comes_with_its_reason(history_of: Prepare) -> None:
    history = history_of([tip(1, stream="tank.level", value=None, total=None, null_reason="no_echo")])
    assert all_of(history, "tank.level") == [Past(START_US + SECOND_US, None, "no_echo", None, JID, 1)]


def test_quarantined_reading_is_not_given(history_of: Prepare) -> None:
    history = history_of([tip(1), tip(2, quarantine="clock_future"), tip(3, value=None, quarantine="x")])
    assert [past.seq for past in all_of(history)] == [1]


def test_other_nodes_and_streams_are_not_given(history_of: Prepare) -> None:
    history = history_of([tip(1), tip(1, node="gauge-b"), tip(2, stream="hail.tips"), tip(3, stream="rain.level")])
    assert [past.seq for past in all_of(history)] == [1]


def test_reading_without_a_time_is_given_once_it_has_one(history_of: Prepare, ledger: Ledger) -> None:
    with ledger.begin() as conn:
        at = {"uptime_ms": 9000, "time_us": START_US, "received_us": START_US}
        add_anchor(ledger, conn, node="gauge-a", boot="0badcafe", **at)
    untimed = tip(1, time_us=None, boot="0badcafe", uptime_ms=5000)
    history = history_of([untimed, tip(2, time_us=None, boot="00000000", uptime_ms=1)])
    assert [(past.seq, past.time_us) for past in all_of(history)] == [(1, START_US - 4 * SECOND_US)]


def test_nothing_there_is_an_empty_list(history_of: Prepare) -> None:
    history = history_of([tip(1)])
    assert all_of(history, "no.such") == []
    assert history.readings("gauge-a", "rain.tips", START_US, START_US) == []


def test_absent_influx_is_an_error_and_not_an_empty_past() -> None:
    history = InfluxHistory(InfluxSettings(url="http://127.0.0.1:1", org="o", bucket="b"))
    with pytest.raises(HistoryUnavailableError, match="did not answer"):
        all_of(history)
    history.close()


def test_name_that_could_change_the_query_is_refused() -> None:
    history = InfluxHistory(InfluxSettings(url="http://127.0.0.1:1", org="o", bucket="b"))
    with pytest.raises(ValueError, match="no name"):
        history.readings('x" or true', "rain.tips", 0, 1)
    history.close()
