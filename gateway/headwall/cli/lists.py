"""How commands list what there may be thousands of: so many, and what is left out or cannot be read is said."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from headwall.ledger.unreadable import Unreadable

_MOST: Final = 50
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help=f"at most so many; default: {_MOST}, and all of them with --json")
]


def most(limit: int | None, *, everything: bool, as_json: bool) -> int | None:
    """How many to show at most; None: all of them. A script that asks for no limit gets all."""
    return limit if limit is not None or everything or as_json else _MOST


def say_rest(shown: int, there_are: int, which: str, unreadable: Sequence[Unreadable] = (), *, as_json: bool) -> None:
    """Say what a list leaves out, and end with 1 where something could not be read.

    Args:
        which: of all that there are, the first by what: "soonest due first".
    """
    if shown < there_are:
        told = f"{shown:,} of {there_are:,} shown, {which}: --limit N for more, --all for all there are."
        print(told, file=sys.stderr if as_json else sys.stdout)
    for each in unreadable:
        print(f"headwall: {each}", file=sys.stderr)
    if unreadable:
        raise typer.Exit(1)
