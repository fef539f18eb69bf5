"""`headwall board`: boards on the bench. The commands themselves are in tools/headwall_board."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from headwall.errors import HeadwallError


def register(app: typer.Typer) -> None:
    try:
        cli = import_module("headwall_board.cli")
    except ImportError as error:
        raise HeadwallError(
            f"headwall board is not installed ({error}); install it: pip install 'headwall[board]'"
        ) from error
    app.add_typer(cli.build(next(iter(sys.argv[2:]), None)), name="board")
