"""A gateway in a hundred lines for the uplink's tests: paho over TLS, a dict as ledger, and knobs to misbehave with."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import paho.mqtt.client as paho
from headwall_sim.broker import Broker

ROOT = "headwall/v1"


def name_of(data: bytes) -> str:
    """What names a configuration or a bundle on the wire: the start of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


class ScriptedGateway:
    """Takes packs, gives custody. Knobs: `silent` gives none, `refuses(record)` drops the pack a record is in.

    held: (jid, seq) -> value or "raw" · packs: (kind, first, count) in order of arrival · states, replies: in order of
    arrival · bundle: what boards that ask for a piece get · waiting: commands for boards, sent with the answer to their
    next state
    """

    def __init__(self, broker: Broker, account: str = "gateway", password: str = "gpw") -> None:
        self.held: dict[tuple[str, int], Any] = {}
        self.packs: list[tuple[str, int, int]] = []
        self.states: list[dict[str, Any]] = []
        self.replies: list[dict[str, Any]] = []
        self.bundle = b""
        self.waiting: list[dict[str, Any]] = []
        self.twice = 0
        self.silent = False
        self.now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        self.refuses: Callable[[dict[str, Any]], bool] = lambda _: False
        self.forge: Callable[[dict[str, Any]], dict[str, Any]] = lambda custody: custody
        self._state: dict[str, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=account, clean_session=False)
        self._client.username_pw_set(account, password)
        self._client.tls_set(ca_certs=str(broker.ca.cert))
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = lambda client, *_: client.subscribe(
            [(f"{ROOT}/+/{k}", 1) for k in ("tele", "event", "state", "reply")]
        )
        self._client.on_message = self._on_message
        self._client.connect("localhost", broker.port_5)
        self._client.loop_start()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def __enter__(self) -> ScriptedGateway:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def publish(self, node: str, kind: str, body: Any, *, retain: bool = False) -> None:
        payload = body if isinstance(body, str | bytes) else json.dumps(body)
        self._client.publish(f"{ROOT}/{node}/{kind}", payload, qos=1, retain=retain).wait_for_publish(10)

    def wait_for(self, condition: Callable[[], bool], timeout_s: float = 20) -> None:
        """Wait until a condition on this object's attributes holds."""
        with self._changed:
            assert self._changed.wait_for(condition, timeout_s), (
                f"held {len(self.held)}, packs {self.packs[-5:]}, last states {self.states[-2:]}"
            )

    def online(self) -> list[dict[str, Any]]:
        """The states that were no last will."""
        return [state for state in self.states if state["status"] == "online"]

    def tips(self) -> int:
        """How many tips it holds."""
        return sum(value == 1 for value in self.held.values())

    def custody(self, node: str) -> dict[str, Any]:
        """What a custody message for the node's newest state says now."""
        state = self._state[node]
        journal = state["journals"][0]
        through = journal["floor"]
        while (journal["jid"], through) in self.held:
            through += 1
        return {
            "v": 1,
            "boot": state["boot"],
            "nonce": state["nonce"],
            "ledger": "0123456789abcdef",
            "jid": journal["jid"],
            "through": through - 1,
            "time": self.now_ms(),
        }

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        node, kind = message.topic.split("/")[2:]
        body = json.loads(message.payload)
        if kind == "reply":
            self._reply(node, body)
            return
        with self._changed:
            if kind == "state":
                self.states.append(body)
                if body["status"] == "online":
                    self._state[node] = body
            else:
                self._take(kind, body)
            self._changed.notify_all()
            answer = None if self.silent or node not in self._state else self.forge(self.custody(node))
            orders, self.waiting = (
                (self.waiting, []) if kind == "state" and body["status"] == "online" else ([], self.waiting)
            )
        for order in orders:
            self._client.publish(f"{ROOT}/{node}/command", json.dumps(order), qos=1)
        if answer is not None:
            self._client.publish(f"{ROOT}/{node}/custody", json.dumps(answer), qos=1)

    def _reply(self, node: str, body: dict[str, Any]) -> None:
        with self._changed:
            self.replies.append(body)
            self._changed.notify_all()
        at = body.get("want", len(self.bundle))
        if at < len(self.bundle):
            name = hashlib.sha256(self.bundle).digest()[:8]
            piece = name + at.to_bytes(4, "big") + self.bundle[at : at + 1024]
            self._client.publish(f"{ROOT}/{node}/update", piece, qos=1)

    def _take(self, kind: str, pack: list[dict[str, Any]]) -> None:
        first, jid = pack[0]["seq"], pack[0]["jid"]
        self.packs.append((kind, first, len(pack)))
        if any(self.refuses({**record, "seq": first + n}) for n, record in enumerate(pack)):
            return
        for n, record in enumerate(pack):
            value = record["v"] if "v" in record else decode_raw(record) if "vd" in record else record["vs"]
            if self.held.setdefault((jid, first + n), value) is not value:
                self.twice += 1


def decode_raw(record: dict[str, Any]) -> str:
    coded = record["vd"]
    return "raw " + base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode()
