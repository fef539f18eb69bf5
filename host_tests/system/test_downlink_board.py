"""A configuration from a person at the gateway to the board's own program, and its verdict back: no part scripted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.clock import to_us
from headwall.downlink import configs
from headwall.ledger import schema
from headwall_board.certs import Authority
from headwall_sim.supervisor import Supervisor
from headwall_sim.village import Village
from support.village import FIRMWARE, MINUTE, SECOND, open_ledger, registry

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]

_START = to_us(datetime(2026, 6, 9, tzinfo=UTC))
_MAC = "240ac400000a"


class _Scene:
    """A village with one board."""

    def __init__(self, sim: Supervisor, village: Village) -> None:
        self.sim, self.village = sim, village
        self.proxy = sim.proxy((village.broker.host, village.broker.port_311))

    def start(self) -> None:
        """The board, heard by the gateway."""
        files = self.village.flash_files("board-a", self.proxy.port, self.sim.sntp.port, report_s=600)
        self.settings: dict[str, Any] = json.loads(files["config.json"])
        board = self.sim.board("board-a", files=files, mac=_MAC, heap_kb=256)  # memory has tests of its own
        board.power_on()
        self.wait(lambda: self.board()["heard_us"] is not None, "the board's first state")

    def wait(self, true: Callable[[], object], what: str, minutes: float = 90) -> None:
        limit = self.sim.clock.now_us() + round(minutes * MINUTE)
        assert self.sim.clock.run_while(lambda: not true(), limit, 5 * SECOND), f"{what}: {self.board()}"

    def board(self) -> dict[str, Any]:
        """What the page says of it."""
        found: dict[str, Any] = self.village.status()["boards"][0]
        return found

    def show(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.village.command("node", "show", "board-a", "--json"))
        return found

    def send(self, **change: Any) -> None:
        file = self.village.folder / "new.json"
        file.write_text(json.dumps({**self.settings, **change}))
        self.village.command("node", "config", "board-a", str(file), "--by", "Sam")


@pytest.fixture
def scene(tmp_path: Path, ca: Authority) -> Iterator[_Scene]:
    with (
        Supervisor(tmp_path / "boards", start_us=_START, firmware=FIRMWARE) as sim,
        Village(tmp_path, sim.clock_setting, ["board-a"], registry({"board-a": _MAC}), ca=ca, influx=False) as village,
    ):
        yield _Scene(sim, village)


def test_a_configuration_is_taken_by_the_board_and_a_bad_one_is_refused_with_the_reason_shown(scene: _Scene) -> None:
    scene.start()
    scene.send(report_s=300)
    scene.wait(lambda: scene.board()["config"]["state"] == "applied", "applied")
    applied = scene.show()["config"]
    assert (applied["version"], applied["by"]) == (1, "Sam")
    bad = json.dumps({**scene.settings, "report_s": 1, "version": 2}).encode()
    with open_ledger(scene.village) as ledger, ledger.begin() as conn:  # past the check that the command makes
        configs.add(conn, "board-a", 2, bad, "Sam", scene.sim.clock.now_us())
    scene.wait(lambda: scene.board()["config"]["state"] == "refused", "refused")
    found = scene.show()
    assert "report_s is 1" in found["config"]["why"]
    with open_ledger(scene.village) as ledger, ledger.read() as conn:
        said = conn.execute(sa.select(schema.node_states.c.body)).scalar_one()
        first = conn.execute(sa.select(schema.node_configs.c.hash).where(schema.node_configs.c.version == 1)).scalar()
    assert said["config"] == first, "it keeps the good one"
    assert said["config_refused"] == hashlib.sha256(bad).hexdigest()[:16]
    scene.wait(lambda: "config refused" in str(scene.village.status()["notices"]), "told")
    scene.send(report_s=300, uplink_s=1200)
    scene.wait(lambda: scene.board()["config"]["state"] == "applied", "the next one is taken")
    assert scene.show()["config"]["version"] == 3
