"""A node's configuration on the bench: checked by the firmware's own rules, compared without showing secrets."""

from __future__ import annotations

import json
from typing import Any, Final

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


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(key, old value, new value) of every key that differs, secrets hidden; "" for a key that is not there."""
    before, after = dict(_leaves("", old)), dict(_leaves("", new))
    return [
        (key, _shown(key, before), _shown(key, after))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]


def is_secret(key: str) -> bool:
    """Whether the value of a setting is never shown."""
    return key.endswith("password") or key == "sim_pin"


def _leaves(where: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves(f"{where}.{key}" if where else key, inner)]
    if isinstance(value, list) and value:
        return [leaf for n, inner in enumerate(value) for leaf in _leaves(f"{where}[{n}]", inner)]
    return [(where, value)] if where else []


def _shown(key: str, values: dict[str, Any]) -> str:
    if key not in values:
        return ""
    if is_secret(key.rpartition(".")[2]):
        return HIDDEN_VALUE
    return json.dumps(values[key], ensure_ascii=False)
