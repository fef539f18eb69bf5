"""`python -m headwall` is the `headwall` command."""

from headwall.cli.main import app

app()
