"""The `headwall` command. Each command lives in a module of its own with `register(app)`.

Only the module of the command that is asked for is imported: together they need a second of libraries, which
`headwall --help` and `headwall storms` have no use for. So what `headwall --help` says of each stands here.
"""

from __future__ import annotations

import errno
import sys
from importlib import import_module
from typing import Final, NamedTuple

import typer

from headwall.errors import HeadwallError

#: what a disk says that takes no more
_DISK: Final = (errno.ENOSPC, errno.EDQUOT)


class Command(NamedTuple):
    """A module of headwall.cli, and the beginning of what its command says of itself."""

    module: str
    about: str


#: by name, in the order of `headwall --help`
COMMANDS: Final = {
    "demo": Command("demo", "A village's construction sites in a storm: real firmware, broker, ledger and mail."),
    "run": Command("run", "Run the gateway: receive, keep, judge, tell."),
    "check": Command("check", "Try configuration, ledger, clock, broker, InfluxDB and SMTP."),
    "storms": Command("storms", "Storm events and triggered inspections from any rain file."),
    "import": Command("import_rain", "Put a rain file into the ledger."),
    "duty": Command("duty", "What is due, and closing it."),
    "law": Command("law", "The codes as data: provisions, clocks, differences."),
    "maintenance": Command("maintenance", "Keep a node's readings out of every judgement for a while."),
    "node": Command("node", "Boards: how they are, accepting them, and what goes down to them."),
    "board": Command("board", "Boards on the bench: flash, deploy, provision, test, calibrate."),
    "station": Command("station", "Read a BME280 at this machine and publish it as a node."),
    "certs": Command("certs", "Certificates, access list and passwords for the broker."),
    "site": Command("site", "What stands at a site: readings and entries."),
    "explain": Command("explain", "How a value came about: the reading at or before a time, and every layer over it."),
    "calibration": Command("calibration", "What was measured of sensors, and when."),
    "record": Command("record", "What a person measured or did at a place."),
    "quality": Command("quality", "What tests and persons say of readings."),
    "approval": Command("approval", "What is allowed or suspended at a place, and by whom."),
    "case": Command("case", "Suspected conditions, what persons decide of them, and the clocks."),
    "logbook": Command("logbook", "The log book: looking, verifying, exporting, what is attached and kept."),
    "mail": Command("mail", "Mails that failed, and what was seen of others."),
    "dead-letters": Command("dead_letters", "Payloads that could not be taken."),
}


def build(asked: str | None) -> typer.Typer:
    """The command line with one command whole; the others stand in its help alone."""
    built = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        help="Headwall: from field sensors to the duties of a stormwater code.",
    )
    built.callback()(_root)
    for name, command in COMMANDS.items():
        if name == asked:
            import_module(f"headwall.cli.{command.module}").register(built)
        else:
            built.command(name, help=command.about)(_root)
    return built


def _root() -> None:
    """Headwall: from field sensors to the duties of a stormwater code."""


def app() -> None:
    """Entry point: run a command; an error raised on purpose is printed without a traceback, exit 1."""
    if any(each != each.encode("utf-8", "replace").decode() for each in sys.argv):
        _fail("an argument is no UTF-8 text; set the terminal to UTF-8, and give files other names")
    try:
        build(next(iter(sys.argv[1:]), None))()
    except HeadwallError as error:
        _fail(str(error))
    except OSError as error:
        if error.errno not in _DISK:
            raise
        _fail(f"cannot write: {error.strerror}; make room, or send the output elsewhere")


def _fail(what: str) -> None:
    print(f"headwall: {what}", file=sys.stderr)
    sys.exit(1)
