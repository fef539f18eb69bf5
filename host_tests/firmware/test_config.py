"""Settings of the node: every fault named, and the old or the new file after a power cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mp
import pytest

pytestmark = pytest.mark.usefixtures("form")

GOOD: dict[str, Any] = {
    "node": "oak-street",
    "broker_host": "broker.example",
    "sensors": [{"kind": "tipping_bucket", "pin": 4}],
}


def faults(given: object) -> list[str]:
    script = "import json\nfrom headwall_node import config\nprint(json.dumps(config.validate(json.loads(%r))))"
    said = mp.run(script % json.dumps(given))
    return sorted(json.loads(said))


def test_validate_of_good_settings_has_no_fault() -> None:
    assert faults(GOOD) == []


def test_validate_tells_every_fault_at_once() -> None:
    given = {
        "node": "a/b",
        "broker_port": 0,
        "keepalive_s": "60",
        "mode": "solar",
        "watchdog_s": True,
        "colour": 1,
        "wifi": [{"ssid": ""}, 5],
        "sensors": [
            {"kind": "tipping_bucket", "pin": 4, "lockout_ms": 3},
            {"kind": "tipping_bucket", "pin": 4, "name": "Regen"},
        ],
    }
    assert faults(given) == [
        "broker_host is missing",
        "broker_port is 0; possible: 1 to 65535 ",
        "colour is not a setting",
        'keepalive_s is "60"; it must be a whole number',
        'mode is "solar"; one of: mains, battery',
        "sensors[0].lockout_ms is 3; possible: 50 to 5000 ms",
        "sensors[1].name Regen must be of a-z, 0-9 and _",
        "watchdog_s is true; it must be a whole number",
        "wifi[0].ssid has 0 characters; 1 to 32 are possible",
        "wifi[1] must be an object, not 5",
    ]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"node": "a/b"}, "node must not contain"),
        ({"backoff_min_s": 50, "backoff_max_s": 20}, "backoff_min_s is greater"),
        ({"watchdog_s": 20, "connect_timeout_s": 20}, "watchdog_s must be greater"),
        ({"sensors": []}, "sensors has 0 entries"),
        ({"sensors": "none"}, "sensors must be a list"),
    ],
)
def test_validate_of_settings_that_contradict_names_them(change: dict[str, Any], part: str) -> None:
    assert any(part in fault for fault in faults({**GOOD, **change}))


@pytest.mark.parametrize("given", [[], "x", 5, None])
def test_validate_of_no_object_is_a_fault(given: object) -> None:
    assert faults(given) == ["the settings are no JSON object"]


def load(folder: Path) -> list[Any]:
    said = mp.run("import json\nfrom headwall_node import config\nprint(json.dumps(config.load()))", cwd=folder)
    result: list[Any] = json.loads(said)
    return result


def test_load_fills_defaults_and_merges_secrets(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GOOD))
    (tmp_path / "secrets.json").write_text(json.dumps({"password": "hush", "node": "other"}))
    settings, digest, found = load(tmp_path)
    assert found == []
    assert len(digest) == 16
    assert (settings["password"], settings["node"], settings["report_s"]) == ("hush", "oak-street", 900)
    assert settings["sensors"][0]["lockout_ms"] == 500


def test_load_of_a_bad_file_gives_the_last_good_one_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GOOD))
    _, digest, _ = load(tmp_path)
    (tmp_path / "config.json").write_text('{"node": ')
    settings, same, found = load(tmp_path)
    assert settings["node"] == "oak-street"
    assert same == digest
    assert found == ["config.json is no JSON"]


def test_load_without_any_file_says_so(tmp_path: Path) -> None:
    settings, digest, found = load(tmp_path)
    assert settings is None
    assert digest is None
    assert "config.json cannot be read" in found[0]


def test_power_cut_at_every_operation_of_an_update_leaves_the_old_or_the_new_file() -> None:
    """On the real LittleFS, over flash in RAM that tears the operation it is cut at."""
    said = mp.run(mp.SCRIPTS / "config_cuts.py", heap="8M")
    words = said.split()
    assert words[0] == "held"
    assert int(words[1]) == len(words[2:]) >= 10
    assert words[2:] == sorted(words[2:], reverse=True), "new, and then old again"
    assert set(words[2:]) == {"old", "new"}
