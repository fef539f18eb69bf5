"""A folder with settings and a ledger, and the `headwall` command on it, as a person at a desk has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from headwall.cli.main import build
from headwall.errors import HeadwallError
from headwall.ledger.ledger import Ledger
from typer.testing import CliRunner

SETTINGS = """
registry = "registry.toml"
[mqtt]
host = "127.0.0.1"
[smtp]
host = "127.0.0.1"
sender = "headwall@village.example"
[ledger]
url = "sqlite:///headwall.db"
"""


class Desk:
    """Settings and ledger in a folder. The test writes its own `folder / "registry.toml"`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder / 'headwall.db'}"
        self._config = folder / "headwall.toml"
        self._config.write_text(SETTINGS, "utf-8")
        self.said = ""

    def run(self, *arguments: str) -> str:
        """Standard output of a command that must succeed; what else it prints is `said`. Its own errors are raised."""
        result = CliRunner().invoke(build(arguments[0]), [*arguments, "--config", str(self._config)])
        if isinstance(result.exception, HeadwallError):
            raise result.exception
        assert result.exit_code == 0, (result.output, result.exception)
        self.said = result.stderr
        return result.stdout

    def rows(self, table: sa.Table) -> list[Any]:
        """Every row of a table of the ledger."""
        ledger = Ledger.open(self.url)
        with ledger.read() as conn:
            found = list(conn.execute(sa.select(table)))
        ledger.close()
        return found
