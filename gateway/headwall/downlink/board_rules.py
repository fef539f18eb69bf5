"""A configuration by the board's own rules: the firmware's check, run as it is by this Python.

In a process of its own, since the firmware's modules are made for another interpreter and share a name with nothing
here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from headwall.errors import HeadwallError
from headwall.wire.contract import topic

#: what a board can receive, topic and all (firmware: headwall_node/room.py); its memory has no room for more
MESSAGE_BYTES: Final = 1536
#: they stand on the board in secrets.json: what is sent lies readable in the broker and in the ledger
SECRETS: Final = ("username", "password", "wifi", "sim_pin", "apn_password")
_FIRMWARE: Final = Path(__file__).resolve().parents[3] / "firmware" / "lib"
_PROGRAM: Final = """
import json, sys
from headwall_node import config
given = json.load(sys.stdin)
faults = config.validate(given)
sensors = [] if faults else config.complete(given)["sensors"]
print(json.dumps({"faults": faults, "sensors": sensors}))
"""


class Verdict(NamedTuple):
    """What a board would say of a configuration: its faults; without any, its sensors with every default."""

    faults: list[str]
    sensors: list[dict[str, Any]]

    @property
    def streams(self) -> list[str]:
        """The streams that it would send."""
        return [stream for sensor in self.sensors for stream in sensor["streams"]]


def board_verdict(settings: Mapping[str, Any], firmware: Path = _FIRMWARE) -> Verdict:
    """Check a configuration as a board will.

    Raises:
        HeadwallError: the firmware's files are not here, or its check ended with an error.
    """
    if not (firmware / "headwall_node" / "config.py").is_file():
        raise HeadwallError(
            f"the board's rules are not here ({firmware} is missing): run headwall from a checkout, which has firmware/"
        )
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=json.dumps(settings),
        env={**os.environ, "PYTHONPATH": str(firmware), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise HeadwallError(f"the board's rules in {firmware} failed on this configuration: {said}")
    return Verdict(**json.loads(done.stdout))


def message_bytes(node: str, payload: bytes) -> int:
    """Bytes of the MQTT message that brings a configuration: header, topic, packet id, payload (MQTT 3.1.1, 3.3)."""
    return 3 + 2 + len(topic(node, "config")) + 2 + len(payload)
