"""Whether a whole simulated board, TLS and all, serves its sensors with a given heap."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from headwall.clock import to_us
from headwall.wire.contract import topic
from headwall_board.power_day import driver_files
from headwall_sim.broker import Account, Broker, open_broker
from headwall_sim.every_kind import DEVICES
from headwall_sim.storms import rain
from headwall_sim.supervisor import Supervisor
from paho.mqtt.enums import CallbackAPIVersion

ROOT = Path(__file__).resolve().parents[2]
NODE, PASSWORD = "bench", "not-a-secret"
START_US = to_us(datetime(2026, 6, 9, tzinfo=UTC))
TIPS, S = 40, 1_000_000


class Custodian:
    """Takes every pack in order and answers with custody, as the gateway does, but keeps nothing."""

    def __init__(self, broker: Broker) -> None:
        self.through = 0
        self.packs = 0
        self._state: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self._client.username_pw_set("gateway", PASSWORD)
        self._client.tls_set(str(broker.ca.cert))
        self._client.on_connect = lambda client, *_: client.subscribe(f"{topic(NODE, 'state')[:-5]}#", qos=1)
        self._client.on_message = self._take
        self._client.connect(broker.host, broker.port_5)
        self._client.loop_start()

    def stop(self) -> None:
        self._client.loop_stop()

    def _take(self, client: mqtt.Client, _data: object, message: mqtt.MQTTMessage) -> None:
        kind = message.topic.rsplit("/", 1)[1]
        body = json.loads(message.payload) if kind in ("state", "tele", "event") else None
        self.packs += kind in ("tele", "event")
        if isinstance(body, list) and body[0]["seq"] == self.through + 1:
            self.through += len(body)
        elif isinstance(body, dict) and body.get("status") == "online":
            self._state = body
        if self._state and body is not None:
            custody = {"v": 1, "ledger": "00" * 8, "jid": self._state["journals"][0]["jid"], "through": self.through}
            custody |= {"boot": self._state["boot"], "nonce": self._state["nonce"], "time": None}
            client.publish(topic(NODE, "custody"), json.dumps(custody), qos=1)


def board_passes(folder: Path, heap_kb: int, mode: str, sensors: Sequence[dict[str, Any]]) -> bool:
    """True if the board, its program on its own flash and its heap of `heap_kb`, reads all its sensors, finds room for
    whatever it does in half an hour of its time, and has its tips in custody."""
    accounts = [Account("gateway", PASSWORD, "gateway"), Account(NODE, PASSWORD)]
    fall = rain([START_US + (20 + 10 * i) * S for i in range(TIPS)], pin=4)
    with (
        open_broker(folder / "broker", accounts) as broker,
        Supervisor(folder / "sim", start_us=START_US, firmware=ROOT / "firmware") as sim,
    ):
        custodian = Custodian(broker)
        given = settings(broker, sim.sntp.port) | {"mode": mode, "uplink_s": 300, "sensors": list(sensors)}
        board = sim.board(
            NODE,
            files={
                "config.json": json.dumps(given).encode(),
                "ca.der": broker.ca.der.read_bytes(),
                **driver_files(sensors),
            },
            timeline=fall.timeline,
            tips=fall.tips,
            heap_kb=heap_kb,
            program="flash",
            vfs_blocks=512,
            wired=DEVICES,
        )
        board.power_on()
        sim.clock.run_until(START_US + 1800 * S)
        records = board.journal().records
        held = [record for record in records if record.value == "1" and record.stream == "rain.tips"]
        custodian.stop()
    said = board.console.read_text()
    whole = "memory" not in said and "Error" not in said
    return whole and len(held) == TIPS and custodian.through >= held[-1].seq


def settings(broker: Broker, ntp_port: int) -> dict[str, Any]:
    """Settings of a node at this broker, without sensors."""
    return {
        "node": NODE,
        "broker_host": broker.host,
        "broker_port": broker.port_311,
        "broker_name": "localhost",
        "ntp_host": "127.0.0.1",
        "ntp_port": ntp_port,
        "username": NODE,
        "password": PASSWORD,
        "wifi": [{"ssid": "bench"}],
    }
