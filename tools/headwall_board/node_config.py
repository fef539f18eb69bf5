"""A node's configuration on the bench: checked by the firmware's own rules, compared without showing secrets."""

from __future__ import annotations

import json
from typing import Any, Final

from headwall.cli.node_config import ABSENT, differences
from headwall.downlink.board_rules import board_verdict
from headwall.errors import ConfigurationError

from headwall_board.session import BenchError, Session

CONFIG: Final = "/config.json"
SECRETS: Final = "/secrets.json"
#: a file whose name ends so is a private key
KEY_ENDS: Final = ".key.der"
HIDDEN_VALUE: Final = "(secret)"


def require_valid(given: dict[str, Any], source: str) -> None:
    """Check by the firmware's rules.

    Raises:
        ConfigurationError: with every fault.
    """
    if faults := faults_of(given):
        raise ConfigurationError(source, faults)


def faults_of(given: dict[str, Any]) -> list[str]:
    """Every fault by the firmware's rules."""
    return list(board_verdict(given).faults)


def on_board(board: Session) -> dict[str, Any] | None:
    """The configuration on a board, without its secrets.json; None where there is none or it is no JSON."""
    raw = board.read(CONFIG)
    try:
        given = json.loads(raw) if raw is not None else None
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def faults_on_board(board: Session, path: str = CONFIG) -> list[str]:
    """What the program on the board finds wrong with a configuration there, its secrets included.

    Raises:
        BenchError: no program is there to ask.
    """
    try:
        board.run("from headwall_node import config as _c")
    except BenchError as error:
        raise BenchError(f"the board at {board.port} has no program yet: headwall board deploy") from error
    board.run(f"_f = _c._read({path!r}, _c._secrets({SECRETS!r}))[2]")
    found: list[str] = board.ask("_f")
    return found


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(key, old value, new value) of every key that differs, secrets hidden; "" for a key that is not there."""
    return [
        (one["key"], _shown(one["key"], one["old"]), _shown(one["key"], one["new"])) for one in differences(old, new)
    ]


def is_secret(key: str) -> bool:
    """Whether the value of a setting is never shown."""
    return key.endswith("password") or key == "sim_pin"


def without_secrets(given: Any, found: set[str]) -> Any:
    """JSON data with HIDDEN_VALUE for each of its secrets, which are added to `found`."""
    if isinstance(given, list):
        return [without_secrets(inner, found) for inner in given]
    if not isinstance(given, dict):
        return given
    kept = {}
    for key, inner in given.items():
        if is_secret(key) and inner:
            kept[key] = HIDDEN_VALUE
            if isinstance(inner, str):
                found.add(inner)
        else:
            kept[key] = without_secrets(inner, found)
    return kept


def _shown(key: str, value: Any) -> str:
    if value == ABSENT:
        return ""
    name = key.rpartition(".")[2]
    shown = without_secrets({name: value}, set())[name]
    return HIDDEN_VALUE if shown == HIDDEN_VALUE else json.dumps(shown, ensure_ascii=False)
