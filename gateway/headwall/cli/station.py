"""`headwall station`: a BME280 at a Raspberry Pi, as a node of its own."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headwall.clock import SystemClock
from headwall.ops.logs import configure_logs
from headwall.settings import load_station_settings
from headwall.station.sensor import Bme280, open_i2c
from headwall.station.station import Station
from headwall.station.store import Store


def register(app: typer.Typer) -> None:
    @app.command("station")
    def station(
        config: Annotated[Path, typer.Argument(help="its settings, station.toml", show_default=False)],
        once: Annotated[bool, typer.Option("--once", help="read the sensor once, print it, and send nothing")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="with --once: one JSON object")] = False,
        json_logs: Annotated[bool, typer.Option("--json-logs", help="log lines as JSON")] = False,
    ) -> None:
        """Read a BME280 at this machine and publish it as a node. Stops on SIGTERM or Ctrl-C."""
        configure_logs(json_lines=json_logs)
        settings = load_station_settings(config)
        sensor = Bme280(open_i2c(), settings.address)
        if once:
            _print(settings.name, sensor, as_json)
            return
        stop = threading.Event()
        with closing(Store(settings.store)) as store:
            running = Station(settings, store, sensor, SystemClock())

            def end(*_: object) -> None:
                stop.set()
                running.wake()

            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, end)
            running.run(stop)


def _print(name: str, sensor: Bme280, as_json: bool) -> None:
    found = sensor.read()
    if as_json:
        print(json.dumps({f"{name}.{quantity}": value or {"null": reason} for quantity, value, reason in found}))
    else:
        table = Table("stream", "reads")
        for quantity, value, reason in found:
            table.add_row(f"{name}.{quantity}", value or f"null: {reason}")
        Console().print(table)
    if all(value is None for _, value, _ in found):
        raise typer.Exit(1)
