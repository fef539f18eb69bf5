"""`headwall board …`: everything that is done to a board on the bench.

As in headwall.cli.main, only the module of the subcommand that is asked for is imported; what `headwall board --help`
says of the others stands here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, NamedTuple

import typer
from headwall.errors import HeadwallError


class Command(NamedTuple):
    """A module of headwall_board.commands, and the beginning of what its command says of itself."""

    module: str
    about: str


#: by name, in the order of `headwall board --help`: that of the work
COMMANDS: Final = {
    "list": Command("list", "Serial ports, and what answers at them."),
    "flash": Command("flash", "Put MicroPython on an ESP32, with the journal's partition."),
    "deploy": Command("deploy", "Put the node's program on a board: only what differs, every file verified."),
    "provision": Command("provision", "Give a board its name, Wi-Fi, account and keys."),
    "config": Command("config", "Check a configuration, show what it changes, put it on a board."),
    "verify": Command("verify", "Compare a board with this release, file by file."),
    "selftest": Command("selftest", "Read each sensor of a board once, with a verdict."),
    "calibrate": Command("calibrate", "Calibrate a sensor, guided, and record it."),
    "console": Command("console", "Watch what a board prints, and type to it."),
    "logs": Command("logs", "What a board last told of troubles, and why it last started."),
    "backup": Command("backup", "Copy a board's configuration, journal and files to this machine."),
    "bundle": Command("bundle", "Signed bundles for an update over the air."),
    "power": Command("power", "How long a battery lasts with a configuration."),
    "simulate": Command("simulate", "A simulated board on a serial port of its own, for practice and tests."),
}


def build(asked: str | None) -> typer.Typer:
    """The group `board` with one subcommand whole; the others stand in its help alone.

    Raises:
        HeadwallError: a package that the subcommand needs is not installed.
    """
    group = typer.Typer(no_args_is_help=True, help="Boards on the bench: flash, deploy, provision, test, calibrate.")
    for name, command in COMMANDS.items():
        if name == asked:
            try:
                import_module(f"headwall_board.commands.{command.module}").register(group)
            except ImportError as error:
                raise HeadwallError(
                    f"headwall board {name} needs more packages ({error}); install them: pip install 'headwall[board]'"
                ) from error
        else:
            group.command(name, help=command.about)(_root)
    return group


def _root() -> None:
    """Boards on the bench."""
