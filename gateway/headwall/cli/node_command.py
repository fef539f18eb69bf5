"""`headwall node command` and `headwall node update`: what a board is to do, kept until it has answered."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, parse_duration_us, print_json
from headwall.cli.opened import Opened, named, opened
from headwall.downlink import commands
from headwall.downlink.commands import Command
from headwall.downlink.updates import keep_bundle
from headwall.errors import HeadwallError, InputError
from headwall.law import localtime
from headwall.ledger import log_book
from headwall.wire.bundle import Bundle, read_bundle

_LOOK_S = 0.2
NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="node id of the registry")]
By = Annotated[str, typer.Option("--by", help="name of the person who orders it")]
Wait = Annotated[float, typer.Option("--wait", min=0, help="seconds to wait for the board's answer")]


def node_command(
    node: NodeArgument,
    do: Annotated[str, typer.Argument(metavar="DO", help="state, sample, identify, calibrate, maintenance or reboot")],
    by: By,
    seconds: Annotated[int | None, typer.Option("--seconds", help="identify: how long the LED blinks")] = None,
    sensor: Annotated[str | None, typer.Option("--sensor", help="calibrate: name of the sensor")] = None,
    count: Annotated[int | None, typer.Option("--count", help="calibrate: how many readings")] = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help="maintenance: enter or leave it")] = None,
    minutes: Annotated[int | None, typer.Option("--minutes", help="maintenance: how long at most")] = None,
    within: Annotated[str, typer.Option("--within", help="how long it is worth doing: 30m, 2h, 1d")] = "1h",
    wait: Wait = 0,
    as_json: AsJson = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Have a board do something: now if it is awake, else when it next connects.

    sample reads every sensor; identify blinks; calibrate takes readings in a row that are not recorded; maintenance
    marks readings so that nothing is judged by them; state and reboot are what they say.
    """
    if do == "update":
        raise InputError("an update needs its bundle: headwall node update NODE BUNDLE")
    given = {"seconds": seconds, "sensor": sensor, "count": count, "on": on, "minutes": minutes}
    fields = {name: value for name, value in given.items() if value is not None}
    with opened(config) as at:
        command = order(at, node, do, fields, by, parse_duration_us(within, "--within"))
        _tell(at, wait_for(at, command, wait), wait, as_json=as_json)


def node_update(
    node: NodeArgument,
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="file made by `headwall board bundle make`")],
    by: By,
    within: Annotated[str, typer.Option("--within", help="how long the board may take to begin")] = "7d",
    wait: Wait = 0,
    as_json: AsJson = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Offer a board a new program: it pulls the bundle, checks the signature, tries it, and keeps it or goes back.

    `headwall node show NODE` and the page say how far it is, and why it was refused or rolled back.
    """
    try:
        data = bundle.read_bytes()
    except OSError as error:
        raise InputError(f"{bundle} cannot be read: {error.strerror}") from None
    found = read_bundle(data, str(bundle))
    fields = {"bundle": found.name, "size": len(data), "version": found.head.version}
    with opened(config) as at:
        command = order(at, node, "update", fields, by, parse_duration_us(within, "--within"), (found, data))
        _tell(at, wait_for(at, command, wait), wait, as_json=as_json)


def order(
    at: Opened,
    node: str,
    do: str,
    fields: dict[str, Any],
    by: str,
    within_us: int,
    bundle: tuple[Bundle, bytes] | None = None,
) -> Command:
    """Keep a command for a board, in the log book too."""
    at.registry.require_node(node)
    who, now_us = named(by), at.clock.now_us()
    with at.ledger.begin() as conn:
        if bundle is not None:
            keep_bundle(conn, *bundle, who, now_us)
        command = commands.queue(conn, node, do, fields, by=who, until_us=now_us + within_us, now_us=now_us)
        body = {"node": node, "do": do, "command": command.name, **fields}
        log_book.append(conn, "node_command", who, body, now_us)
    return command


def wait_for(at: Opened, command: Command, wait_s: float) -> Command:
    """The command as it stands once it is answered, or when the time is over."""
    until_s = time.monotonic() + wait_s
    while not command.over and time.monotonic() < until_s:
        time.sleep(_LOOK_S)
        with at.ledger.read() as conn:
            command = commands.get(conn, command.name)
    return command


def _tell(at: Opened, command: Command, wait_s: float, *, as_json: bool) -> None:
    """Print how it stands; HeadwallError, so that scripts see it, where an answer was waited for and was not "done"."""
    if as_json:
        print_json(as_data(command))
    if command.state == "refused":
        raise HeadwallError(f"{command.node} refused {command.do}: {command.why}")
    if wait_s and not command.over:
        until = localtime.short(command.until_us, at.zone)
        raise HeadwallError(
            f"{command.node} has not answered {command.do} within {wait_s:g} s; it will get it until {until} (command "
            f"{command.name}). Does `headwall run` run, and is the board online?"
        )
    if not as_json:
        print(_said(at, command))


def _said(at: Opened, command: Command) -> str:
    if command.state == "done":
        begun = "has begun the update" if command.do == "update" else f"has done {command.do}"
        result = "" if command.result is None else f": {json.dumps(command.result)}"
        return f"{command.node} {begun}{result}"
    until = localtime.short(command.until_us, at.zone)
    return f"{command.node}: {command.do} is kept for it until {until} (command {command.name})."


def as_data(command: Command) -> dict[str, Any]:
    """A command for scripts."""
    names = ("do", "fields", "by", "state", "why", "result", "sends", "at_us", "until_us", "sent_us", "replied_us")
    return {"command": command.name, **{name: getattr(command, name) for name in names}}
