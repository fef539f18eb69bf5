"""Custody with a whole board at one end and a whole gateway at the other: what goes wrong costs no reading."""

from __future__ import annotations

import json
import shutil
import struct
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
import sqlalchemy as sa
from headwall.clock import to_us
from headwall.ledger import schema
from headwall.wire.contract import topic
from headwall.wire.custody import custody_message
from headwall_board.certs import Authority
from headwall_sim import seeded_journal
from headwall_sim.proxy import Proxy
from headwall_sim.simulated_board import BLOCK, Board
from headwall_sim.supervisor import Supervisor
from headwall_sim.village import GATEWAY, READY_S, Village
from paho.mqtt import publish, subscribe
from paho.mqtt.enums import CallbackAPIVersion
from support.ingest_rig import until
from support.village import (
    FIRMWARE,
    MINUTE,
    SECOND,
    Content,
    Identity,
    copy_ledger,
    in_ledger,
    on_flash,
    open_ledger,
    registry,
)

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]

_START = to_us(datetime(2026, 6, 9, tzinfo=UTC))
_MACS = {"board-a": "240ac400000a", "board-b": "240ac400000b"}
_STRANGER, _STRANGERS_MAC = "board-x", "240ac40000ff"


class _Scene:
    """A village whose boards report every ten seconds; they begin without network."""

    def __init__(self, sim: Supervisor, village: Village) -> None:
        self.sim = sim
        self.village = village
        self.proxy: Proxy = sim.proxy((village.broker.host, village.broker.port_311))
        self.proxy.set_mode("cut")

    def files(self, node: str) -> dict[str, bytes]:
        return self.village.flash_files(
            node, self.proxy.port, self.sim.sntp.port, report_s=10, custody_timeout_s=1, backoff_max_s=30
        )

    def board(self, node: str, mac: str, *, extra: dict[str, bytes] | None = None, **options: Any) -> Board:
        return self.sim.board(node, files={**self.files(node), **(extra or {})}, mac=mac, **options)

    def minutes(self, count: float) -> None:
        self.sim.clock.run_until(self.sim.clock.now_us() + round(count * MINUTE))

    def outage(self, minutes: float) -> None:
        self.proxy.set_mode("cut")
        self.minutes(minutes)
        self.proxy.set_mode("open")

    def catch_up(self, board: Board, node: str) -> None:
        """Let time pass until the ledger has all that is on the board's flash, or 30 minutes."""
        limit = self.sim.clock.now_us() + 30 * MINUTE

        def is_behind() -> bool:
            held = flash(board)
            return not held or not held.keys() <= in_ledger(self.village, node).keys()

        assert self.sim.clock.run_while(is_behind, limit, 5 * SECOND), (
            f"missing: {sorted(flash(board).keys() - in_ledger(self.village, node).keys())[:10]}"
        )

    def restart_gateway(self) -> None:
        self.village.gateway.kill()
        self.village.gateway.start(READY_S)

    def account(self, name: str) -> dict[str, Any]:
        """How paho logs in to the broker as this account."""
        broker = self.village.broker
        auth = {"username": name, "password": self.village.passwords[name]}
        return {
            "hostname": "localhost",
            "port": broker.port_311,
            "auth": auth,
            "tls": {"ca_certs": str(broker.ca.cert)},
        }

    def state(self, node: str) -> dict[str, Any]:
        """What the node last said of itself."""
        told = subscribe.simple(topic(node, "state"), qos=1, **self.account(GATEWAY))
        found: dict[str, Any] = json.loads(told.payload)
        return found

    def scalar(self, query: sa.Select[Any]) -> list[Any]:
        with open_ledger(self.village) as ledger, ledger.read() as conn:
            return [row[0] if len(row) == 1 else tuple(row) for row in conn.execute(query)]


@pytest.fixture
def scene(tmp_path: Path, ca: Authority) -> Iterator[_Scene]:
    nodes = [*_MACS, _STRANGER]
    with (
        Supervisor(tmp_path / "boards", start_us=_START, firmware=FIRMWARE) as sim,
        Village(tmp_path, sim.clock_setting, nodes, registry(_MACS), ca=ca, influx=False) as village,
    ):
        yield _Scene(sim, village)


def _switch_off(board: Board) -> None:
    board.power_cut()
    until(lambda: board.state == "off", f"{board.name} without power")


def flash(board: Board) -> dict[Identity, Content]:
    journal = board.journal()
    return on_flash(journal.records, journal.jid)


def numbers(rows: dict[Identity, Content], jid: str) -> list[int]:
    return sorted(seq for of, seq in rows if of == jid)


def test_ledger_restored_from_an_old_backup_gets_again_what_the_board_still_holds(
    scene: _Scene, tmp_path: Path
) -> None:
    village = scene.village
    board = scene.board("board-a", _MACS["board-a"], journal_blocks=4)
    board.power_on()
    scene.outage(30)
    scene.catch_up(board, "board-a")
    copy_ledger(village.ledger_file, tmp_path / "backup.db")
    in_backup = in_ledger(village, "board-a")
    for _ in range(3):
        scene.outage(40)
        scene.catch_up(board, "board-a")
    assert board.journal().floor > len(in_backup) + 1, "the ring has come round to what only the lost ledger had"
    village.gateway.kill()
    for file in village.folder.glob("headwall.db*"):
        file.unlink()
    shutil.copy(tmp_path / "backup.db", village.ledger_file)
    village.gateway.start(READY_S)
    scene.catch_up(board, "board-a")
    scene.proxy.set_mode("cut")

    restored, held, journal = in_ledger(village, "board-a"), flash(board), board.journal()
    assert {identity: restored[identity] for identity in in_backup} == in_backup
    assert {identity: restored[identity] for identity in held} == held
    gaps = scene.scalar(sa.select(schema.gaps.c.jid, schema.gaps.c.first_seq, schema.gaps.c.last_seq))
    assert len(gaps) == 1
    assert gaps[0][:2] == (journal.jid, len(in_backup) + 1)
    missing = set(range(1, journal.next)) - set(numbers(restored, journal.jid))
    assert missing == set(range(gaps[0][1], gaps[0][2] + 1)), "what is gone is noted as gone, number by number"


def test_reformatted_flash_begins_another_journal_and_leaves_the_old_rows(scene: _Scene) -> None:
    board = scene.board("board-a", _MACS["board-a"])
    board.power_on()
    scene.outage(20)
    scene.catch_up(board, "board-a")
    _switch_off(board)
    old_jid, old = board.journal().jid, flash(board)
    image = board.folder / "flash.bin"
    whole = image.read_bytes()
    image.write_bytes(whole[: board.options.vfs_blocks * BLOCK] + b"\xff" * board.options.journal_blocks * BLOCK)
    board.power_on()
    scene.outage(20)
    scene.catch_up(board, "board-a")
    scene.proxy.set_mode("cut")

    rows, journal = in_ledger(scene.village, "board-a"), board.journal()
    assert journal.jid != old_jid
    assert {identity: row for identity, row in rows.items() if identity[0] == old_jid} == old
    assert numbers(rows, journal.jid) == list(range(1, len(rows) - len(old) + 1))
    assert {identity: rows[identity] for identity in rows if identity[0] == journal.jid}.items() <= flash(board).items()
    assert scene.scalar(sa.select(schema.gaps.c.id)) == []


def test_cloned_flash_on_another_board_takes_no_identity_of_the_first(scene: _Scene) -> None:
    first = scene.board("board-a", _MACS["board-a"])
    first.power_on()
    scene.outage(20)
    scene.catch_up(first, "board-a")
    _switch_off(first)
    rows, jid = in_ledger(scene.village, "board-a"), first.journal().jid
    (scene.sim.folder / "board-b").mkdir()
    for name in ("flash.bin", "nvs.json"):
        shutil.copy(first.folder / name, scene.sim.folder / "board-b" / name)
    # as it is, settings of the first board and all
    second = scene.sim.board("board-b", files={}, mac=_MACS["board-b"])
    second.power_on()
    refused = sa.select(schema.dead_letters.c.reason).distinct()
    assert scene.sim.clock.run_while(lambda: not scene.scalar(refused), scene.sim.clock.now_us() + 5 * MINUTE)
    assert scene.scalar(refused) == ["mac_mismatch"]
    assert in_ledger(scene.village, "board-a") == rows, "a pack of another board's MAC is no reading of this one"
    assert second.journal().jid != jid
    # then as the installer sets it right
    _switch_off(second)
    second.put_files(scene.files("board-b"))
    for board in (second, first):
        board.power_on()
    scene.catch_up(second, "board-b")
    scene.catch_up(first, "board-a")
    scene.proxy.set_mode("cut")

    assert second.journal().floor == 1, "what was taken under the wrong name was kept until somebody had it"
    assert in_ledger(scene.village, "board-b").keys() <= flash(second).keys()
    assert numbers(in_ledger(scene.village, "board-b"), second.journal().jid)[0] == 1
    after = in_ledger(scene.village, "board-a")
    assert first.journal().jid == jid
    assert rows.items() < after.items()
    assert numbers(after, jid) == list(range(1, len(after) + 1))


def test_forged_and_stale_custody_leaves_the_board_sending_what_nobody_has(scene: _Scene) -> None:
    village = scene.village
    board = scene.board("board-a", _MACS["board-a"])
    board.power_on()
    scene.outage(5)
    scene.catch_up(board, "board-a")
    stale = scene.state("board-a")["nonce"]
    village.gateway.kill()
    safe = max(numbers(in_ledger(village, "board-a"), board.journal().jid))
    scene.outage(6)
    scene.minutes(0.5)
    said = scene.state("board-a")
    assert said["nonce"] != stale
    for account, nonce in (("board-b", said["nonce"]), ("board-a", said["nonce"]), (GATEWAY, stale)):
        _tell_custody(scene, account, board, {**said, "nonce": nonce})
    first, next_ = _sent_after_a_new_broker(scene, board)
    assert first <= safe + 1, "it still takes nothing for safe that the ledger lacks"
    assert next_ > safe + 30

    # that this can be seen at all: the gateway's account and the newest nonce do move the board
    _tell_custody(scene, GATEWAY, board, scene.state("board-a"))
    after, _ = _sent_after_a_new_broker(scene, board)
    assert after > safe + 30
    # and even then the real gateway asks it back
    village.gateway.start(READY_S)
    scene.catch_up(board, "board-a")
    assert board.journal().floor == 1
    assert scene.scalar(sa.select(schema.gaps.c.id)) == []


def _tell_custody(scene: _Scene, account: str, board: Board, said: dict[str, Any]) -> None:
    """Tell board-a that everything is safe, from this account."""
    payload = custody_message(
        boot=said["boot"],
        nonce=said["nonce"],
        ledger="feedfeedfeedfeed",
        jid=said["journals"][0]["jid"],
        through=board.journal().next - 1,
        time_us=scene.sim.clock.now_us(),
    )
    publish.single(topic("board-a", "custody"), payload, qos=1, **scene.account(account))
    time.sleep(0.5)  # the clock runs 1:1 meanwhile; a message that is not to come cannot be waited for


def _sent_after_a_new_broker(scene: _Scene, board: Board) -> tuple[int, int]:
    """Have the broker forget everything; first and last number that the board then sends, with no gateway there."""
    broker = scene.village.broker
    broker.kill()
    for file in (broker.folder / "data").iterdir():
        file.unlink()
    broker.start()
    seen: list[tuple[int, int]] = []

    def note(_client: Any, _userdata: Any, message: Any) -> None:
        pack = json.loads(message.payload)
        seen.append((pack[0]["seq"], pack[0]["seq"] + len(pack) - 1))

    client = _listener(scene, note)
    try:
        limit = scene.sim.clock.now_us() + 10 * MINUTE
        newest = board.journal().next - 1
        assert scene.sim.clock.run_while(lambda: not seen or seen[-1][1] < newest, limit, SECOND)
    finally:
        client.loop_stop()
        client.disconnect()
    return min(first for first, _ in seen), max(last for _, last in seen)


def _listener(scene: _Scene, on_message: Any) -> paho.Client:
    """A client with the gateway's account that hears the boards' packs."""
    how = scene.account(GATEWAY)
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="listener")
    client.username_pw_set(**how["auth"])
    client.tls_set(**how["tls"])
    client.on_message = on_message
    client.on_connect = lambda c, *_: c.subscribe([(topic("+", kind), 1) for kind in ("tele", "event")])
    heard: list[bool] = []
    client.on_subscribe = lambda *_: heard.append(True)
    client.connect(how["hostname"], how["port"])
    client.loop_start()
    until(lambda: heard, "subscribed")
    return client


def test_unclaimed_board_keeps_everything_until_somebody_claims_it(scene: _Scene) -> None:
    board = scene.board(_STRANGER, _STRANGERS_MAC)
    board.power_on()
    scene.outage(20)
    letters = sa.select(schema.dead_letters.c.reason)
    assert scene.sim.clock.run_while(lambda: not scene.scalar(letters), scene.sim.clock.now_us() + 5 * MINUTE)
    assert in_ledger(scene.village, _STRANGER) == {}
    assert [one["node"] for one in scene.village.status()["unclaimed"]] == [_STRANGER]
    assert set(scene.scalar(letters)) == {"unknown_node"}
    assert scene.scalar(sa.select(schema.journals.c.node)) == [], "no custody"
    scene.village.write_registry(registry({**_MACS, _STRANGER: _STRANGERS_MAC}))
    scene.restart_gateway()
    scene.catch_up(board, _STRANGER)
    scene.proxy.set_mode("cut")

    held, journal = flash(board), board.journal()
    assert journal.floor == 1
    rows = in_ledger(scene.village, _STRANGER)
    assert rows.items() <= held.items()
    assert numbers(rows, journal.jid) == list(range(1, len(rows) + 1))
    assert scene.village.status()["unclaimed"] == []


def test_poison_records_end_as_dead_letters_and_hold_up_no_other(scene: _Scene) -> None:
    refused, rotten, count = 21, 33, 60
    given = ["2.5" if seq == refused else "0" for seq in range(1, count + 1)]
    seed = seeded_journal.values(given, first_us=_START - 20 * MINUTE, every_ms=10_000)
    board = scene.board("board-a", _MACS["board-a"], extra={"boot.py": seed})
    board.power_on()
    scene.minutes(2)
    _switch_off(board)
    _rot(board, rotten)
    board.power_on()
    scene.outage(2)
    journal = board.journal()
    limit = scene.sim.clock.now_us() + 30 * MINUTE

    def waits() -> bool:
        return scene.scalar(sa.select(schema.journals.c.through))[:1] < [journal.next - 1]

    assert scene.sim.clock.run_while(waits, limit, 5 * SECOND)
    scene.proxy.set_mode("cut")
    d = schema.dead_letters.c
    letters = scene.scalar(sa.select(d.seq, d.reason).where(d.jid == journal.jid).order_by(d.seq))
    assert letters == [(refused, "raw_record"), (rotten, "raw_record")]
    rows = in_ledger(scene.village, "board-a")
    held = {identity: row for identity, row in flash(board).items() if identity[1] != refused}
    assert rows.items() <= held.items()
    assert numbers(rows, journal.jid) == [
        n for n in range(1, max(numbers(rows, journal.jid)) + 1) if n not in (refused, rotten)
    ]
    assert scene.scalar(sa.select(schema.gaps.c.id)) == []


def _rot(board: Board, seq: int) -> None:
    """Flip a bit of a record on flash, as a cell that loses its charge does."""
    image = bytearray((board.folder / "flash.bin").read_bytes())
    start = board.options.vfs_blocks * BLOCK
    for at in range(start + 48, start + BLOCK, 16):
        size, found = struct.unpack_from("<4xB3xI", image, at)
        if found == seq and size == 32:
            image[at + 20] ^= 0x10
            (board.folder / "flash.bin").write_bytes(image)
            return
    raise AssertionError(f"no record {seq} in the first sector")
