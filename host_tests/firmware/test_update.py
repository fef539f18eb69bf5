"""Updates over the air: whole boards on their own flash, bundles as the bench tool makes them, a real mosquitto."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mp
import pytest
from headwall_board.bundle import PRIVATE, PUBLIC, make_bundle, make_key, read_private
from headwall_board.release import build_release, version_of
from headwall_sim.broker import Broker
from scripted_gateway import ScriptedGateway, name_of
from sim_node import FIRMWARE, MINUTE_US, START_US, SimNode

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]
OLD, NEW = version_of(FIRMWARE), "9.9.9"
RAIN = [n * 0.5 for n in range(1, 60)]
#: a flash with room for three programs
BOARD = {"vfs_blocks": 400, "program": "flash"}
Make = Callable[..., bytes]


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a signing key."""
    folder = tmp_path_factory.mktemp("key")
    make_key(folder)
    return folder


@pytest.fixture
def make(key: Path, tmp_path: Path) -> Make:
    """A bundle of version NEW, with other text in files of headwall_node if asked: make({"app.py": ("old", "new")})."""

    def make(
        changes: dict[str, tuple[str, str]] | None = None,
        *,
        version: str = NEW,
        chip: str = "linux",
        signing: Path = key,
    ) -> bytes:
        folder = tmp_path / "firmware"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(FIRMWARE, folder)
        edits = {"__init__.py": (f'VERSION = "{OLD}"', f'VERSION = "{version}"'), **(changes or {})}
        for name, (old, new) in edits.items():
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

    def preload(self, bundle: bytes) -> None:
        """Put a bundle on the flash as if it had been ordered and pulled: the first start installs it."""
        order = {"id": "00c0ffee", "bundle": name_of(bundle), "size": len(bundle), "version": NEW, "slot": "slot_a"}
        slots = {"active": "", "update": {**order, "state": "loading"}}
        self.node.board.put_files({"update.bundle": bundle, "slots.json": json.dumps(slots).encode()})

    def order(self, bundle: bytes, *, id: str = "00c0ffee") -> None:
        """Send the command, now and when the board next says its state: it may be asleep."""
        self.gateway.bundle = bundle
        told = {
            "v": 1,
            "id": id,
            "do": "update",
            "bundle": name_of(bundle),
            "size": len(bundle),
            "version": NEW,
        }
        self.gateway.waiting.append(told)
        self.gateway.publish("node1", "command", told)

    def state(self) -> dict[str, Any]:
        """The newest that the board said; empty before it said anything."""
        return next(reversed(self.gateway.online()), {})

    def update(self) -> dict[str, Any]:
        found: dict[str, Any] = self.state().get("update") or {}
        return found

    def all_rain_arrived(self) -> None:
        """Every tip is with the gateway, once."""
        assert self.tips() == len(RAIN) and self.gateway.twice == 0

    def tips(self) -> int:
        return self.gateway.tips()

    def until(self, state: str, limit: float) -> None:
        """Let time pass until the board says so of its update."""
        self.node.run_until(lambda: self.update().get("state") == state, limit)


@pytest.fixture
def updated(broker: Broker, gateway: ScriptedGateway, key: Path, tmp_path: Path) -> Updated:
    """A board on mains, off, with rain twice a minute for half an hour to come."""
    return Updated(SimNode(tmp_path, broker, RAIN, board=BOARD), gateway, key)


def test_an_order_of_a_size_that_no_bundle_has_is_refused_at_once() -> None:
    said = mp.run(
        """
        from headwall_node import order
        for size in (0, -1, True, "7", None):
            print(order.order({"id": "00000001", "bundle": "0" * 16, "size": size, "version": "1"}))
        """
    )
    assert said.splitlines() == [
        "a bundle of 0 bytes is none",
        "a bundle of -1 bytes is none",
        *["bundle, size and version are needed"] * 3,
    ]


def test_new_version_is_loaded_tried_and_confirmed_by_custody(updated: Updated, make: Make) -> None:
    node, gateway = updated.node, updated.gateway
    with node:
        updated.order(make())
        updated.until("confirmed", 30)
        assert updated.state()["fw"] == NEW
        first = gateway.replies[0]
        assert (first["id"], first["do"], first["ok"], first.get("want")) == ("00c0ffee", "update", True, None)
        assert gateway.replies[-1]["want"] == len(gateway.bundle)
        assert node.board.boots >= 4, "it starts anew to load, to install and to try"
        node.board.press_reset()
        node.run_to(40)
        assert updated.state()["fw"] == NEW and updated.update()["state"] == "confirmed"
        updated.all_rain_arrived()


def test_second_update_goes_to_the_other_slot(updated: Updated, make: Make) -> None:
    updated.preload(make())
    with updated.node:
        updated.until("confirmed", 10)
        assert updated.update()["slot"] == "slot_a"
        updated.order(make(version="9.9.10"), id="00c0ffef")
        updated.node.run_until(lambda: updated.state()["fw"] == "9.9.10", 60)
        updated.until("confirmed", 60)
        assert updated.update()["slot"] == "slot_b"


def test_pull_goes_on_where_it_was_after_lost_connections_and_resets(updated: Updated, make: Make) -> None:
    node, gateway = updated.node, updated.gateway
    wanted: list[int] = []
    with node:
        updated.order(make())
        for share in (0.2, 0.4, 0.6, 0.8):
            node.run_until(lambda share=share: _want(gateway) > share * len(gateway.bundle), 60)  # type: ignore[misc]
            wanted.append(_want(gateway))
            if len(wanted) % 2:
                node.proxy.drop()
            else:
                node.board.power_cut(off_us=1_000_000)
        updated.until("confirmed", 90)
        asked = [reply["want"] for reply in gateway.replies if "want" in reply]
        assert asked == sorted(asked), "no piece that was on flash is asked for again"


def _want(gateway: ScriptedGateway) -> int:
    return max([reply.get("want", 0) for reply in gateway.replies], default=0)


def test_battery_board_pulls_while_it_is_connected_and_tries_at_once(
    broker: Broker, gateway: ScriptedGateway, make: Make, key: Path, tmp_path: Path
) -> None:
    node = SimNode(tmp_path, broker, RAIN, board=BOARD, mode="battery", uplink_s=600, report_s=3600)
    updated = Updated(node, gateway, key)
    with node:
        node.run_to(5.2)
        assert node.board.state == "deep_sleep"
        updated.order(make())
        updated.until("confirmed", 60)
        node.run_to(90.2)
        assert node.board.state == "deep_sleep"
        assert updated.state()["fw"] == NEW and updated.update()["state"] == "confirmed"
        assert updated.tips() >= len(RAIN) - 3, "only while it starts can tips pass unseen"


def test_settings_that_come_during_a_trial_wait_for_the_version_that_stays(updated: Updated, make: Make) -> None:
    """A version that is taken back may know other keys: what came meanwhile must not leave the old one without any."""
    node, gateway = updated.node, updated.gateway
    other = json.dumps({**json.loads(node.config), "report_s": 120}).encode()
    gateway.publish("node1", "config", other, retain=True)
    updated.preload(make({"session.py": ("slots.judge(True, 0)", "pass")}))
    with node:
        updated.until("trial", 10)
        node.run_to(100)
        assert updated.state()["config"] == hashlib.sha256(node.config).hexdigest()[:16]
        updated.until("rolled_back", 150)
        node.run_until(lambda: updated.state()["config"] == hashlib.sha256(other).hexdigest()[:16], 160)
        assert updated.state()["fw"] == OLD


@pytest.mark.parametrize("text", [b"[1]", b"5", b'{"update":"x"}', b'{"trial":5,"starts":"x","update":{}}', b"\xff"])
def test_slots_that_somebody_has_spoilt_do_not_keep_the_program_from_running(text: bytes, updated: Updated) -> None:
    updated.node.board.put_files({"slots.json": text})
    with updated.node as node:
        node.run_until(lambda: bool(updated.state()), 5)
        assert updated.state()["fw"] == OLD


def _blocks(bundle: bytes) -> int:
    """So many blocks of flash the program that came by cable and a bundle need, without folders."""
    sizes = [len(bundle), *(len(data) for data in build_release(FIRMWARE).files.values())]
    return sum(-(-size // 4096) for size in sizes)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("signature", "bad signature"),
        ("altered", "bad signature"),
        ("chip", "it is for the chip esp32, this board has linux"),
        ("size", "wrong size: "),
        ("damaged", ".mpy is not what the head says"),
        ("garbage", "it is no bundle of Headwall's"),
        ("no_key", "this board has no update.key"),
        ("no_room", "no room: "),
    ],
)
def test_bundle_that_must_not_run_is_refused_with_the_reason(
    fault: str, why: str, broker: Broker, gateway: ScriptedGateway, make: Make, key: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    if fault == "signature":
        make_key(other)
    bundle = make(chip="esp32" if fault == "chip" else "linux", signing=other if fault == "signature" else key)
    if fault == "altered":
        bundle = bundle.replace(NEW.encode(), b"9.9.8", 1)
    if fault == "damaged":
        bundle = bundle[:-1] + bytes([bundle[-1] ^ 1])
    if fault == "garbage":
        bundle = b"#!/bin/sh\n" * 20
    if fault == "size":
        bundle += b"behind the last file"
    tight = {**BOARD, "vfs_blocks": _blocks(bundle) + 14}
    board = tight if fault == "no_room" else BOARD
    updated = Updated(SimNode(tmp_path, broker, RAIN, board=board), gateway, None if fault == "no_key" else key)
    updated.preload(bundle)
    with updated.node as node:
        updated.until("refused", 10)
        assert why in updated.update()["why"]
        assert updated.state()["fw"] == OLD
        boots = node.board.boots
        node.run_to(40)
        assert node.board.boots == boots, "it is not tried again"
        updated.all_rain_arrived()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("crash", "ValueError: no such pin"),
        ("import", "ImportError: "),
        ("ends", "the program ended"),
        ("hang", "no custody in 5 starts"),
        ("deaf", "no custody in 120 minutes"),
        ("settings", "the program ended"),
    ],
)
def test_version_that_fails_its_trial_is_taken_back_by_itself(
    fault: str, why: str, updated: Updated, make: Make
) -> None:
    run = "def run():\n"
    changes = {
        "crash": {"app.py": (run, run + '    raise ValueError("no such pin")\n')},
        "import": {"app.py": ("import asyncio\n", "import asyncio\nimport no_such_module\n")},
        "ends": {"app.py": (run, run + "    return\n")},
        "hang": {"app.py": (run, run + "    import time\n    time.sleep(86400)\n")},
        "deaf": {"session.py": ("slots.judge(True, 0)", "pass")},
        "settings": {"config.py": ('"node": (str', '"town": (str, None, 1, 9, ""),\n    "node": (str')},
    }
    updated.preload(make(changes[fault]))
    with updated.node as node:
        updated.until("rolled_back", 200)
        assert why in updated.update()["why"]
        assert updated.state()["fw"] == OLD
        boots = node.board.boots
        node.run_to(220)
        assert node.board.boots == boots, "the old version stays"
        assert fault == "hang" or updated.tips() >= len(RAIN) - 3, "only while it starts can tips pass unseen"


def test_power_cuts_all_along_an_update_leave_a_board_that_runs_with_its_journal(updated: Updated, make: Make) -> None:
    node = updated.node
    with node:
        updated.order(make())
        armed = 0
        while updated.update().get("state") != "confirmed":
            if node.board.boots > armed and node.board.state == "running":
                armed = node.board.boots
                node.board.power_cut_at_operation(23 + 3 * armed, off_us=1_000_000)
            node.run_to((node.sim.clock.now_us() - START_US) / MINUTE_US + 0.01)
            assert updated.state().get("fw", OLD) in (OLD, NEW)
        cuts = sum(event["event"] == "power_cut" for event in node.sim.events)
        assert cuts >= 5
        node.run_to(320)
        assert updated.state()["fw"] == NEW
        image = node.board.journal()
        assert node.board.taken() == image.next - 1
        assert {seq for _, seq in updated.gateway.held} == set(range(1, image.next)), "every reading, and none twice"
        assert updated.gateway.twice == 0
