"""What several commands share: options, and how they read a duration or a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any

import typer

from headwall import units
from headwall.errors import InputError

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", help="settings file", envvar="HEADWALL_CONFIG", show_default=True)
]
DEFAULT_CONFIG = Path("headwall.toml")
AsJson = Annotated[bool, typer.Option("--json", help="as JSON")]
Decider = Annotated[str, typer.Option("--by", help="name of the person who decides")]
Note = Annotated[str, typer.Option("--note", help="what else is to be known")]
Reason = Annotated[str, typer.Option("--reason", help="why; it stands in the log book")]


def parse_duration_us(text: str, option: str, *, zero: bool = False) -> int:
    """A duration such as 30m, 2h or 1d in microseconds; InputError that names the option for anything else."""
    try:
        found_us = units.parse_duration_us(text)
    except InputError as error:
        raise InputError(f"{option} {error}") from None
    if found_us == 0 and not zero:
        raise InputError(f"{option} {text!r} must be more than 0")
    return found_us


def read_json_object(file: Path, what: str) -> dict[str, Any]:
    """The JSON object in a file.

    Args:
        what: which object is wanted and where one is shown, for the error.

    Raises:
        InputError: it cannot be read, or holds no JSON object.
    """
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{file} must hold one JSON object: {what}")
    return found


def print_json(found: Any) -> None:
    """What a command found or did, for scripts."""
    print(json.dumps(found, indent=2, ensure_ascii=False))


def wrapped(head: str, text: str) -> str:
    """Text beside its head, in lines that fit the terminal."""
    columns = min(max(get_terminal_size().columns, 80), 120)
    return fill(text, columns, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False)
