"""The `headwall` command. Each command lives in a module of its own with `register(app)`."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from headwall.errors import HeadwallError

#: modules of headwall.cli, in the order of `headwall --help`
COMMANDS: tuple[str, ...] = ("demo", "run", "check", "storms", "import_rain", "duty", "maintenance", "node", "dead_letters")


def _build() -> typer.Typer:
    built = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        help="Headwall: from field sensors to the duties of a stormwater code.",
    )
    built.callback()(_root)
    for name in COMMANDS:
        import_module(f"headwall.cli.{name}").register(built)
    return built


def _root() -> None:
    """Headwall: from field sensors to the duties of a stormwater code."""


def app() -> None:
    """Entry point: run a command; an error raised on purpose is printed without a traceback, exit 1."""
    try:
        _build()()
    except HeadwallError as error:
        print(f"headwall: {error}", file=sys.stderr)
        sys.exit(1)
