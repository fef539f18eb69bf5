"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", help="settings file", envvar="HEADWALL_CONFIG", show_default=True)
]
DEFAULT_CONFIG = Path("headwall.toml")
