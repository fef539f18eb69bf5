"""Topics, state and custody messages, and the contract they follow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from headwall.wire.contract import NULL_REASONS, contract, topic
from headwall.wire.custody import custody_message
from headwall.wire.errors import StateError, TopicError
from headwall.wire.state import Anchor, JournalState, parse_state
from headwall.wire.topics import FROM_NODE, split_topic, subscriptions
from hypothesis import given
from hypothesis import strategies as st

ONLINE: dict[str, Any] = {
    "v": 1,
    "status": "online",
    "fw": "0.1.0",
    "boot": "00c0ffee",
    "nonce": "0123456789abcdef",
    "journals": [{"jid": "00112233445566aa", "floor": 1, "next": 51}],
    "uptime_s": 12,
    "reset": "power_on",
    "heap_free": 60000,
    "config": "abcd",
    "synced": True,
    "time": 1780000000000,
    "mode": "mains",
}


def test_state_online_is_read() -> None:
    state = parse_state(json.dumps({**ONLINE, "anchors": [["00c0ffee", 1500, 1780000000123]]}).encode())
    assert (state.status, state.boot, state.nonce) == ("online", "00c0ffee", "0123456789abcdef")
    assert state.journals == [JournalState("00112233445566aa", 1, 51)]
    assert state.anchors == [Anchor("00c0ffee", 1500, 1780000000123)]
    assert state.body["heap_free"] == 60000


def test_state_offline_will_needs_no_more_than_the_status() -> None:
    assert parse_state(b'{"v":1,"status":"offline"}').status == "offline"


@pytest.mark.parametrize("field", contract()["state"]["online"])
def test_state_online_without_a_field_of_the_contract_is_refused(field: str) -> None:
    body = {key: value for key, value in ONLINE.items() if key != field}
    with pytest.raises(StateError, match=field):
        parse_state(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"v": 2}, "bad_state"),
        ({"status": "asleep"}, "bad_state"),
        ({"boot": "xyz"}, "bad_state"),
        ({"nonce": 5}, "bad_state"),
        ({"nonce": "short"}, "bad_state"),
        ({"journals": {"jid": "a"}}, "bad_state"),
        ({"journals": [{"jid": "00112233445566aa", "floor": 9, "next": 3}]}, "bad_state"),
        ({"journals": [{"jid": "00112233445566aa", "floor": -1, "next": 3}]}, "bad_state"),
        ({"journals": [{"jid": "nope", "floor": 1, "next": 3}]}, "bad_state"),
        ({"anchors": [["00c0ffee", 1]]}, "bad_state"),
        ({"anchors": [["00c0ffee", -1, 5]]}, "bad_state"),
        ({"pad": "x" * 9000}, "too_large"),
    ],
)
def test_state_that_breaks_the_contract_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(StateError) as caught:
        parse_state(json.dumps({**ONLINE, **change}).encode())
    assert caught.value.reason == reason


@given(payload=st.binary(max_size=200) | st.sampled_from([b"[]", b"null", b"[" * 5000, b'{"v":1}', b'{"v":1}\0']))
def test_state_any_bytes_give_a_state_or_a_refusal(payload: bytes) -> None:
    with pytest.raises(StateError):
        parse_state(payload)


def test_custody_message_says_what_the_contract_lists() -> None:
    payload = custody_message(
        boot="00c0ffee", nonce="0123456789abcdef", ledger="feed", jid="aa", through=9, time_us=1780000000_123456
    )
    body = json.loads(payload)
    assert list(body) == contract()["custody"]["fields"]
    assert (body["through"], body["time"]) == (9, 1780000000123)


def test_subscriptions_cover_what_nodes_publish_and_nothing_of_the_gateway() -> None:
    assert FROM_NODE == ("tele", "event", "state", "reply")
    assert subscriptions() == [f"headwall/v1/+/{kind}" for kind in FROM_NODE]


def test_split_topic_is_the_inverse_of_topic() -> None:
    assert split_topic(topic("gauge-a", "tele")) == ("gauge-a", "tele")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "headwall/v1/gauge-a",
        "headwall/v2/gauge-a/tele",
        "headwall/v1/Gauge/tele",
        "headwall/v1/a/b/tele",
        "headwall/v1/gauge-a/custody",
        "headwall/v1/gauge-a/telex",
        "headwall/v1/gauge-a/tele\n",
        "headwallxv1/a/tele",
    ],
)
def test_split_topic_outside_the_contract_is_refused(name: str) -> None:
    with pytest.raises(TopicError):
        split_topic(name)


def test_null_reasons_fit_the_ledgers_column() -> None:
    assert all(len(reason) <= 32 for reason in NULL_REASONS)
