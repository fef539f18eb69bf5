"""`headwall node config`, `command`, `update` and `show` as a person types them; the service does not run here."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.downlink import board_rules, commands, configs
from headwall.downlink.board_rules import MESSAGE_BYTES, board_verdict
from headwall.errors import ConfigurationError, HeadwallError, InputError, UnknownThingError
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.wire.bundle import SIGNATURE_BYTES, BundleFile, Head
from headwall.wire.command import FIELDS
from headwall.wire.contract import contract
from headwall.wire.reply import parse_reply
from support.desk import Desk
from support.rules_house import make_registry

FIRMWARE = Path(__file__).parents[2] / "firmware" / "lib" / "headwall_node"
SETTINGS: dict[str, Any] = {
    "node": "board-a",
    "broker_host": "broker.village.example",
    "sensors": [{"kind": "tipping_bucket", "pin": 4}],
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    make_registry(tmp_path)
    return Desk(tmp_path)


@contextmanager
def ledger_of(desk: Desk) -> Iterator[sa.Connection]:
    ledger = Ledger.open(desk.url)
    try:
        with ledger.begin() as conn:
            yield conn
    finally:
        ledger.close()


def file_of(desk: Desk, **change: Any) -> str:
    path = desk.folder / "board.json"
    path.write_text(json.dumps({**SETTINGS, **change}))
    return str(path)


def send(desk: Desk, *options: str, **change: Any) -> dict[str, Any]:
    said = desk.run("node", "config", "board-a", file_of(desk, **change), "--by", "Sam", "--json", *options)
    found: dict[str, Any] = json.loads(said)
    return found


def says(desk: Desk, **body: Any) -> None:
    """What the board said of itself last."""
    with ledger_of(desk) as conn:
        conn.execute(schema.node_states.delete())
        row = {"node": "board-a", "status": "online", "body": body, "received_us": 1_780_000_000_000_000}
        conn.execute(schema.node_states.insert().values(**row))


def show(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(desk.run("node", "show", "board-a", "--json"))
    return found


# --- configuration ---


def test_a_configuration_is_kept_under_a_version_and_a_name(desk: Desk) -> None:
    said = send(desk)
    assert (said["version"], said["sent"], said["compared_with"]) == (1, True, None)
    (row,) = desk.rows(schema.node_configs)
    assert json.loads(row.payload) == {**SETTINGS, "version": 1}
    assert (row.hash, row.by, row.published_us) == (hashlib.sha256(row.payload).hexdigest()[:16], "Sam", None)
    assert [record.kind for record in desk.rows(schema.records)] == ["node_config"]
    with ledger_of(desk) as conn:
        assert log_book.verify(conn) is None


def test_versions_rise_above_what_was_sent_and_what_the_file_says(desk: Desk) -> None:
    assert send(desk)["version"] == 1
    assert send(desk, report_s=60)["version"] == 2
    assert send(desk, report_s=61, version=7)["version"] == 8


def test_what_differs_from_the_configuration_in_force_is_shown(desk: Desk) -> None:
    send(desk)
    with ledger_of(desk) as conn:
        first = configs.newest(conn, "board-a")
    assert first is not None
    says(desk, config=first.hash)
    said = send(desk, "--dry-run", report_s=60, sensors=[{"kind": "tipping_bucket", "pin": 5}])
    assert (said["sent"], said["compared_with"]) == (False, 1)
    assert said["changes"] == [
        {"key": "report_s", "old": "absent", "new": 60},
        {"key": "sensors[0].pin", "old": 4, "new": 5},
    ]
    assert len(desk.rows(schema.node_configs)) == 1
    text = desk.run("node", "config", "board-a", file_of(desk, report_s=60), "--dry-run")
    assert "report_s: absent -> 60" in text
    assert "nothing was sent" in text


def test_the_same_configuration_is_not_sent_twice_but_a_refused_one_may_be(desk: Desk) -> None:
    send(desk)
    assert send(desk) == {"node": "board-a", "version": 1, "sent": False, "state": "pending", "compared_with": None,
                          "changes": send(desk)["changes"]}  # fmt: skip
    with ledger_of(desk) as conn:
        first = configs.newest(conn, "board-a")
    assert first is not None
    says(desk, config="0" * 16, config_refused=first.hash, config_error="no memory")
    assert send(desk)["version"] == 2


@pytest.mark.parametrize(
    ("change", "says_"),
    [
        ({"report_s": 5}, "report_s is 5"),
        ({"colour": "blue"}, "colour is not a setting"),
        ({"node": "board-b"}, 'it is to go to board-a: write "board-a"'),
        ({"password": "geheim"}, "password has no place here"),
        ({"wifi": [{"ssid": "x"}]}, "wifi has no place here"),
        ({"sensors": [{"kind": "tipping_bucket", "pin": 4, "name": "roof"}]}, "no datastream board-a/roof.tips"),
        ({"sensors": []}, "sensors has 0 entries"),
        ({"sensors": [{"kind": "modbus", "registers": [{"function": 6}]}]}, "function is 6; one of: 3, 4"),
        ({"version": 999999999}, "version is 1000000000; possible: 0 to 999999999"),
        ({"broker_name": "x" * 253, "ntp_host": "y" * 253, "ca_file": "z" * 64, "broker_host": "b" * 253}, None),
    ],
)
def test_a_configuration_that_the_board_would_refuse_is_not_sent(
    desk: Desk, change: dict[str, Any], says_: str | None
) -> None:
    if says_ is None:  # it fits, long as it is
        assert send(desk, **change)["sent"]
        return
    with pytest.raises(ConfigurationError, match=re.escape(says_)):
        send(desk, **change)
    assert desk.rows(schema.node_configs) == []
    assert "geheim" not in str(desk.rows(schema.records))


def test_a_configuration_too_large_for_the_boards_buffer_is_not_sent(desk: Desk) -> None:
    room = (FIRMWARE / "room.py").read_text()
    assert f"RX_BYTES = const({MESSAGE_BYTES})" in room
    many = [{"kind": "tipping_bucket", "pin": 4, "stuck_s" + " " * 1500: 4}]
    with pytest.raises(ConfigurationError, match=f"a board can receive {MESSAGE_BYTES}"):
        send(desk, sensors=many)


def test_the_size_of_a_message_is_that_of_its_packet() -> None:
    payload = b"x" * 1000
    name = b"headwall/v1/board-a/config"
    rest = 2 + len(name) + 2 + len(payload)
    assert board_rules.message_bytes("board-a", payload) == 1 + 2 + rest  # header, length in two bytes (128 to 16,383)


def test_secrets_of_the_firmware_are_those_that_are_kept_out() -> None:
    source = (FIRMWARE / "config.py").read_text()
    assert f"SECRETS = {json.dumps(board_rules.SECRETS)}".replace("[", "(").replace("]", ")") in source


def test_boards_rules_that_are_not_here_or_fail_are_named(tmp_path: Path) -> None:
    with pytest.raises(HeadwallError, match="run headwall from a checkout"):
        board_verdict({}, tmp_path)
    (tmp_path / "headwall_node").mkdir()
    (tmp_path / "headwall_node" / "__init__.py").touch()
    (tmp_path / "headwall_node" / "config.py").write_text("raise ValueError('broken')")
    with pytest.raises(HeadwallError, match="ValueError: broken"):
        board_verdict({}, tmp_path)


@pytest.mark.parametrize("text", ["[1]", "{", "nothing", "[" * 100_000, '{"ntp_host":"\\ud800"}'])
def test_a_file_that_holds_no_settings_is_named(desk: Desk, text: str) -> None:
    (desk.folder / "board.json").write_text(text)
    with pytest.raises(InputError, match=r"board\.json"):
        desk.run("node", "config", "board-a", str(desk.folder / "board.json"), "--by", "Sam")


def test_the_newest_configuration_can_be_printed_and_used_again(desk: Desk) -> None:
    send(desk, report_s=60)
    said = desk.run("node", "config", "board-a", "--show")
    assert json.loads(said[: said.rindex("}") + 1]) == {**SETTINGS, "report_s": 60, "version": 1}
    with pytest.raises(UnknownThingError):
        desk.run("node", "config", "board-x", "--show")


# --- commands ---


def test_no_more_commands_are_under_way_than_a_board_keeps_and_remembers() -> None:
    kept = int(re.findall(r"_COMMANDS_MAX = const\((\d+)\)", (FIRMWARE / "node.py").read_text())[0])
    remembered = int(re.findall(r"_KEPT_IDS = const\((\d+)\)", (FIRMWARE / "commands.py").read_text())[0])
    assert kept >= commands.WINDOW and remembered >= 2 * commands.WINDOW


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (["state"], {}),
        (["sample"], {}),
        (["reboot"], {}),
        (["identify", "--seconds", "20"], {"seconds": 20}),
        (["calibrate", "--sensor", "stage", "--count", "5"], {"sensor": "stage", "count": 5}),
        (["maintenance", "--on", "--minutes", "45"], {"on": True, "minutes": 45}),
        (["maintenance", "--off"], {"on": False}),
    ],
)
def test_a_command_is_kept_for_the_board(desk: Desk, arguments: list[str], fields: dict[str, Any]) -> None:
    desk.run("node", "command", "board-a", *arguments, "--by", "Sam")
    (row,) = desk.rows(schema.commands)
    assert (row.node, row.do, row.fields, row.by, row.state) == ("board-a", arguments[0], fields, "Sam", "queued")
    assert [(record.kind, record.by) for record in desk.rows(schema.records)] == [("node_command", "Sam")]
    (shown,) = show(desk)["commands"]
    assert (shown["command"], shown["do"], shown["state"]) == (row.name, arguments[0], "queued")


@pytest.mark.parametrize(
    ("arguments", "says_"),
    [
        (["dance"], "no command 'dance'"),
        (["identify"], "identify needs seconds"),
        (["identify", "--seconds", "0"], "from 1 to 600"),
        (["sample", "--seconds", "5"], "sample takes no seconds"),
        (["calibrate", "--sensor", "A b", "--count", "5"], "the name of a sensor"),
        (["maintenance", "--minutes", "5"], "true or false"),
        (["update"], "headwall node update"),
        (["state", "--by", " "], "--by needs the name"),
        (["state", "--by", "Sam\nOkafor"], "in one line"),
        (["state", "--by", "Sam\0"], "all printable"),
        (["state", "--by", "Sam\udcff"], "all printable"),
        (["state", "--by", "S" * 101], "at most 100"),
    ],
)
def test_a_command_that_the_board_would_not_understand_is_refused(desk: Desk, arguments: list[str], says_: str) -> None:
    by = [] if "--by" in arguments else ["--by", "Sam"]
    with pytest.raises(InputError, match=re.escape(says_)):
        desk.run("node", "command", "board-a", *arguments, *by)
    assert desk.rows(schema.commands) == []


def test_commands_are_those_of_the_contract() -> None:
    assert list(FIELDS) == contract()["command"]["do"]
    head = json.loads(commands.command_message(id="5f0c77a1", do="state", until_us=1_749_070_100_000_000, fields={}))
    assert list(head) == contract()["command"]["fields"]
    reply = parse_reply(b'{"v":1,"id":"5f0c77a1","do":"state","ok":true}')
    assert set(reply.__struct_fields__) == {*contract()["reply"]["fields"], *contract()["reply"]["optional"]}


def test_an_answer_that_does_not_come_in_time_is_an_error_that_says_where_to_look(desk: Desk) -> None:
    with pytest.raises(HeadwallError, match=r"has not answered state within 0\.3 s; .*headwall run"):
        desk.run("node", "command", "board-a", "state", "--by", "Sam", "--wait", "0.3")


# --- updates ---


def bundle_file(folder: Path, version: str = "0.2.0") -> Path:
    body = b"program"
    file = BundleFile("headwall_node/app.mpy", len(body), hashlib.sha256(body).digest())
    size = len(Head(version, "esp32", 6, 0, (file,)).pack()) + SIGNATURE_BYTES + len(body)
    path = folder / "new.bundle"
    path.write_bytes(Head(version, "esp32", 6, size, (file,)).pack() + b"s" * SIGNATURE_BYTES + body)
    return path


def test_a_bundle_is_taken_into_the_store_whole_and_once(desk: Desk) -> None:
    path = bundle_file(desk.folder)
    for _ in range(2):
        desk.run("node", "update", "board-a", str(path), "--by", "Sam")
    (kept,) = desk.rows(schema.bundles)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (kept.data, kept.digest, kept.version) == (path.read_bytes(), digest, "0.2.0")
    orders = desk.rows(schema.commands)
    size = path.stat().st_size
    assert [order.fields for order in orders] == [{"bundle": digest[:16], "size": size, "version": "0.2.0"}] * 2
    assert (show(desk)["update"]["state"], show(desk)["update"]["version"]) == ("waiting", "0.2.0")


def test_a_damaged_bundle_is_not_offered(desk: Desk) -> None:
    path = bundle_file(desk.folder)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(InputError, match="damaged"):
        desk.run("node", "update", "board-a", str(path), "--by", "Sam")
    assert desk.rows(schema.bundles) == desk.rows(schema.commands) == []


# --- show ---


def test_show_tells_a_board_whole(desk: Desk) -> None:
    send(desk)
    with ledger_of(desk) as conn:
        first = configs.newest(conn, "board-a")
    assert first is not None
    said = {"fw": "0.1.0", "mode": "battery", "battery_v": 3.71, "rssi_dbm": -71, "heap_free": 61000}
    said |= {
        "flash_free": 900_000,
        "reset": "deep_sleep",
        "loop_lag_ms": 12,
        "time_age_s": 300,
        "faults": ["journal_full"],
    }
    update = {"bundle": "0" * 16, "version": "0.1.0", "state": "rolled_back", "why": "no custody"}
    says(desk, **said, config="0" * 16, config_refused=first.hash, config_error="sensors is missing", update=update)
    found = show(desk)
    assert (found["firmware"], found["faults"], found["said"]) == ("0.1.0", ["journal_full"], "online")
    assert found["health"] == {key: said[key] for key in said if key not in ("fw", "faults")}
    assert (found["config"]["state"], found["config"]["why"]) == ("refused", "sensors is missing")
    assert (found["update"]["state"], found["update"]["why"]) == ("rolled_back", "no custody")
    text = desk.run("node", "show", "board-a")
    for word in ("never heard", "battery v: 3.71 V", "rolled back: no custody", "refused: sensors is missing"):
        assert word in text, text


def test_show_of_a_board_that_never_spoke_says_so(desk: Desk) -> None:
    assert "by its word: nothing yet" in desk.run("node", "show", "board-a")
    assert (show(desk)["config"], show(desk)["update"], show(desk)["health"]) == (None, None, {})
