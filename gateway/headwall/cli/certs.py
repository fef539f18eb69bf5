"""`headwall certs`: what the broker needs. The commands themselves are in tools/headwall_board."""

from __future__ import annotations

from importlib import import_module

import typer


def register(app: typer.Typer) -> None:
    import_module("headwall_board.commands.certs").register(app)
