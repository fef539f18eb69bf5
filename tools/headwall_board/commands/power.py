"""`headwall board power`: how long a battery lasts with a configuration."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from headwall.cli.common import read_json_object
from headwall.cli.node_config import LIKE_CONFIG
from headwall.downlink.board_rules import board_verdict
from headwall.errors import ConfigurationError, HeadwallError, InputError
from headwall_sim.wear import ERASES_PER_SECTOR
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from headwall_board.bench import JsonOption
from headwall_board.power import Budget, Day, budget, load_parts


def register(app: typer.Typer) -> None:
    app.command("power")(power)


def power(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="the board's config.json")],
    battery_mah: Annotated[float | None, typer.Option("--battery-mah", min=1, help="capacity of the battery")] = None,
    tips: Annotated[int, typer.Option("--tips", min=0, help="of each rain gauge in the day")] = 13,
    parts: Annotated[
        Path | None, typer.Option("--parts", help="your own figures, TOML: see docs/power.md", dir_okay=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """How long a battery lasts with a configuration: a simulated day of it, and currents from datasheets.

    13 tips of 0.01 in are New York's average day. An estimate: docs/power.md says of what.
    """
    given = read_json_object(config, LIKE_CONFIG)
    known = load_parts(parts)
    verdict = board_verdict(given)
    if verdict.faults:
        raise ConfigurationError(str(config), verdict.faults)
    if given.get("mode", "mains") != "battery":
        raise InputError(f'{config} has mode "mains": such a board never sleeps. For a battery set "mode": "battery"')
    for sensor in verdict.sensors:
        known.sensor(sensor["kind"])  # said before a minute is spent
    day = _simulated(given, verdict.sensors, tips, as_json)
    found = budget(verdict.sensors, day, known, battery_mah)
    if as_json:
        print(json.dumps({**asdict(found), "mah_a_day": found.mah_a_day, "day": asdict(day)}))
    else:
        _say(found, day, battery_mah)


def _simulated(given: dict[str, object], sensors: list[dict[str, object]], tips: int, quiet: bool) -> Day:
    try:
        from headwall_board.power_day import simulated_day
    except ImportError as error:
        raise HeadwallError(f"a simulated day needs more packages ({error}): pip install 'headwall[sim]'") from error
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("a simulated day", total=100)
        return simulated_day(given, sensors, tips, lambda percent: bar.update(task, completed=percent))


def _say(found: Budget, day: Day, battery_mah: float | None) -> None:
    table = Table("Use", "mAh a day", "Share")
    for use, mah in found.uses.items():
        table.add_row(use, f"{mah:.2f}", f"{100 * mah / found.mah_a_day:.0f} %")
    table.add_row("all", f"{found.mah_a_day:.2f}", "")
    Console().print(table)
    print(
        f"The simulated day: {day.wakes} wake-ups, {day.awake_s:.0f} s awake without Wi-Fi and {day.online_s:.0f} s "
        f"with, {day.connections} connections,\n"
        f"{day.records} records, {day.programs} writes and {day.erases} erases of the journal's flash."
    )
    if found.flash_years is not None:
        print(
            f"The journal's flash reaches its {ERASES_PER_SECTOR:,} erases a sector in {found.flash_years:,.0f} years."
        )
    if found.days is not None:
        print(f"A battery of {battery_mah:,.0f} mAh lasts {found.days:.0f} days.")
    print(f"Not from a datasheet, to be set by you (--parts): {', '.join(found.yours) or 'nothing'}.")
