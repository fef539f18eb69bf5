"""`headwall` starts without the libraries that the command asked for does not use."""

from __future__ import annotations

import subprocess
import sys

import pytest
from headwall.cli.main import COMMANDS, build
from typer.testing import CliRunner

#: what the service needs and no command that only reads a file: a second of imports
_HEAVY = ("alembic", "cryptography", "fastapi", "influxdb_client", "matplotlib", "paho", "sqlalchemy")


@pytest.mark.parametrize("arguments", [["--help"], ["storms", "--help"]])
def test_help_and_storms_import_nothing_of_the_service(arguments: list[str]) -> None:
    program = (
        "import atexit, sys; from headwall.cli.main import app; "
        f"atexit.register(lambda: print('loaded', [name for name in {_HEAVY!r} if name in sys.modules])); "
        f"sys.argv[1:] = {arguments!r}; app()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "loaded []"


@pytest.mark.parametrize("name", COMMANDS)
def test_list_of_commands_says_what_the_command_says_of_itself(name: str) -> None:
    listed = COMMANDS[name].about
    shown = CliRunner().invoke(build(name), [name, "--help"], env={"COLUMNS": "200"}).output
    assert listed.rstrip(".") in " ".join(shown.split())


def test_unknown_command_is_refused_and_the_known_ones_are_to_be_had() -> None:
    result = CliRunner().invoke(build("rain"), ["rain"])
    assert result.exit_code == 2
    assert "No such command 'rain'" in result.output
