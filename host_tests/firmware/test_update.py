"""Updates over the air: whole boards on their own flash, bundles as the bench tool makes them, a real mosquitto."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from headwall_board.bundle import PRIVATE, PUBLIC, make_bundle, make_key, read_private
from headwall_board.release import build_release
from headwall_sim.broker import Account, Broker
from scripted_gateway import ScriptedGateway
from sim_node import ACCOUNTS, FIRMWARE, SimNode

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]
NEW = "9.9.9"
#: a flash with room for three programs
BOARD = {"vfs_blocks": 400, "program": "flash"}
Make = Callable[..., bytes]


@pytest.fixture
def broker(mosquitto: Callable[[Sequence[Account]], Broker]) -> Broker:
    return mosquitto(ACCOUNTS)


@pytest.fixture
def gateway(broker: Broker) -> Iterator[ScriptedGateway]:
    with ScriptedGateway(broker) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a signing key."""
    folder = tmp_path_factory.mktemp("key")
    make_key(folder)
    return folder


@pytest.fixture
def make(key: Path, tmp_path: Path) -> Make:
    """A bundle of version NEW, with other text in files of headwall_node if asked: make({"app.py": ("old", "new")})."""

    def make(changes: dict[str, tuple[str, str]] | None = None, *, chip: str = "linux", signing: Path = key) -> bytes:
        folder = tmp_path / "firmware"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(FIRMWARE, folder)
        version = {"__init__.py": ('VERSION = "0.1.0"', f'VERSION = "{NEW}"')}
        for name, (old, new) in {**version, **(changes or {})}.items():
            path = folder / "lib" / "headwall_node" / name
            text = path.read_text()
            assert old in text, f"{name} has changed; this test must too"
            path.write_text(text.replace(old, new))
        return make_bundle(build_release(folder), chip, read_private(signing / PRIVATE))

    return make


class Updated:
    """A board with a program on its flash and a key, and a gateway that has a bundle for it."""

    def __init__(self, node: SimNode, gateway: ScriptedGateway, key: Path | None) -> None:
        self.node, self.gateway = node, gateway
        node.use_clock(gateway)
        if key is not None:
            node.board.put_files({PUBLIC: (key / PUBLIC).read_bytes()})

    def order(self, bundle: bytes, *, id: str = "00c0ffee", **fields: Any) -> None:
        """Send the command, once the board is there."""
        self.node.run_until(lambda: bool(self.gateway.states), 10)
        self.gateway.bundle = bundle
        name = hashlib.sha256(bundle).hexdigest()[:16]
        told = {"v": 1, "id": id, "do": "update", "bundle": name, "size": len(bundle), "version": NEW, **fields}
        self.gateway.publish("node1", "command", told)

    def state(self) -> dict[str, Any]:
        return [said for said in self.gateway.states if said["status"] == "online"][-1]

    def update(self) -> dict[str, Any]:
        found: dict[str, Any] = self.state().get("update") or {}
        return found

    def until(self, state: str, limit: float) -> None:
        """Let time pass until the board says so of its update."""
        self.node.run_until(lambda: self.update().get("state") == state, limit)


def test_new_version_is_loaded_tried_and_confirmed_by_custody(
    broker: Broker, gateway: ScriptedGateway, make: Make, key: Path, tmp_path: Path
) -> None:
    node = SimNode(tmp_path, broker, [n * 0.5 for n in range(1, 60)], board=BOARD)
    updated = Updated(node, gateway, key)
    with node:
        updated.order(make())
        updated.until("confirmed", 30)
        assert updated.state()["fw"] == NEW
        assert gateway.replies[0] == {"v": 1, "id": "00c0ffee", "do": "update", "ok": True}
        assert gateway.replies[-1]["want"] == len(gateway.bundle)
        assert node.board.boots == 4, "it starts anew to load, to install and to try"
        node.board.press_reset()
        node.run_to(35)
        assert updated.state()["fw"] == NEW
        assert sum(value == 1 for value in gateway.held.values()) == 59
