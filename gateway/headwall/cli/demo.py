"""`headwall demo`: the whole path on simulated boards, from a tip of the bucket to the officer's inbox."""

from __future__ import annotations

import signal
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from headwall.errors import HeadwallError


def register(app: typer.Typer) -> None:
    @app.command("demo")
    def demo(
        once: Annotated[bool, typer.Option("--once", help="exit when it is over, 0 only if all came out")] = False,
        report: Annotated[Path | None, typer.Option("--report", help="write the numbers as JSON to this file")] = None,
        folder: Annotated[Path, typer.Option("--folder", help="where all files go; emptied first")] = Path("demo-run"),
        port: Annotated[int, typer.Option("--port", help="of the web page")] = 8080,
    ) -> None:
        """A village's construction sites in a storm: real firmware, broker, ledger and mail in simulated time."""
        try:
            run = import_module("headwall_sim.demo.run")
        except ImportError as error:
            raise HeadwallError(f"the demo needs headwall[sim]: {error}; in a checkout: make demo") from error
        # in the background SIGINT is ignored, and SIGTERM alone would leave broker and gateway behind
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        if not run.run_demo(folder.resolve(), once=once, report_file=report, web_port=port):
            raise typer.Exit(1)
