"""Readings of one sensor for a calibration: over the cable, or over the gateway of a board that stands in the field."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final, Protocol

from headwall.cli.node_command import order, wait_for
from headwall.cli.opened import Opened, opened
from headwall.downlink.board_rules import board_verdict
from headwall.errors import ConfigurationError, HeadwallError, InputError
from headwall.ledger.reads import readings_of

from headwall_board import node_config
from headwall_board.commands.selftest import Result, read_sensors
from headwall_board.session import Session

#: how long a command to a board is worth doing, and how often the ledger is looked at
_WITHIN_US: Final = 3_600_000_000
_LOOK_S: Final = 1.0


@dataclass(frozen=True)
class Sensor:
    """What is calibrated.

    Attributes:
        kind: as in the board's configuration; None where that is not at hand.
        span: value at 4 mA and at 20 mA of a current loop, where it is known.
    """

    node: str
    name: str
    kind: str | None
    span: tuple[str, str] | None = None


class Person(Protocol):
    """Who pours and adjusts."""

    def tell(self, what: str) -> None:
        """Say what to do, without waiting."""

    def wait_for(self, what: str) -> None:
        """Return when it is so."""


class Reader(Protocol):
    """A way to a sensor; `streams` are the names of what it gives."""

    sensor: Sensor
    streams: list[str]

    def readings(self, count: int) -> dict[str, list[Fraction]]:
        """`count` readings in a row of each of its streams.

        Raises:
            HeadwallError: one of them is missing; says why.
        """

    def tips(self, person: Person, listen_s: float) -> tuple[str, int]:
        """Its stream, and how many tips came while the person let the volume run through."""


class CableReader:
    """Over a serial port: the board's program is stopped meanwhile, so that no tip of the test is rain."""

    def __init__(self, board: Session, name: str) -> None:
        self._board = board
        config = node_config.on_board(board)
        if config is None:
            raise InputError(f"the board at {board.port} has no configuration: headwall board provision, then config")
        verdict = board_verdict(config)
        if verdict.faults:
            raise ConfigurationError(f"{node_config.CONFIG} of the board at {board.port}", verdict.faults)
        found = next((one for one in verdict.sensors if one["name"] == name), None)
        if found is None:
            names = ", ".join(one["name"] for one in verdict.sensors)
            raise InputError(f"the board at {board.port} has no sensor {name!r}; it has: {names}")
        span = (found["low"], found["high"]) if "low" in found else None
        self.sensor = Sensor(config["node"], name, found["kind"], span)
        self.streams = list(found["streams"])

    def readings(self, count: int) -> dict[str, list[Fraction]]:
        taken: dict[str, list[Fraction]] = {}
        for _ in range(count):
            for one in read_sensors(self._board, only=self.sensor.name):
                taken.setdefault(one.stream, []).append(_value(one))
        return taken

    def tips(self, person: Person, listen_s: float) -> tuple[str, int]:
        person.tell(f"pour now: it listens for {listen_s:g} s")
        found = read_sensors(self._board, listen_s, only=self.sensor.name)[0]
        if found.value is None:
            raise HeadwallError(f"{found.stream}: {found.why}")
        return found.stream, int(found.value)


class FieldReader:
    """Over the gateway: `headwall run` must run, and the board be online or soon be."""

    def __init__(self, config: Path, node: str, name: str, by: str, wait_s: float) -> None:
        self._config = config
        self._by = by
        self._wait_s = wait_s
        with opened(config) as at:
            streams = [one.name for one in at.registry.require_node(node).datastreams]
        self.streams = [stream for stream in streams if stream.rpartition(".")[0] == name]
        if not self.streams:
            known = ", ".join(streams)
            raise InputError(f"{node} has no datastream of a sensor {name!r} in the registry; it has: {known}")
        quantity = self.streams[0].rpartition(".")[2]
        self.sensor = Sensor(node, name, "tipping_bucket" if quantity == "tips" else None)

    def readings(self, count: int) -> dict[str, list[Fraction]]:
        fields = {"sensor": self.sensor.name, "count": count}
        with opened(self._config) as at:
            command = order(at, self.sensor.node, "calibrate", fields, self._by, _WITHIN_US)
            command = wait_for(at, command, self._wait_s)
        if command.state != "done" or not isinstance(command.result, dict):
            why = command.why or f"no answer within {self._wait_s:g} s: is it online?"
            raise HeadwallError(f"{self.sensor.node} gave no readings of {self.sensor.name}: {why}")
        return {stream: [_sent(stream, one) for one in values] for stream, values in command.result.items()}

    def tips(self, person: Person, listen_s: float) -> tuple[str, int]:
        stream = self.streams[0]
        with opened(self._config) as at:
            begin_us = at.clock.now_us()
        person.wait_for("poured and run through")
        with opened(self._config) as at:
            end_us = at.clock.now_us()
            until = time.monotonic() + listen_s
            while not self._heard_after(at, stream, end_us):
                if time.monotonic() > until:
                    raise HeadwallError(
                        f"{self.sensor.node} has sent nothing of {stream} since the pouring ended; wait longer "
                        "(listen_s): at least its report_s, and its uplink_s on a battery"
                    )
                time.sleep(_LOOK_S)
            with at.ledger.read() as conn:
                found = readings_of(conn, self.sensor.node, stream, begin_us, end_us)
        return stream, sum(int(one.value) for one in found if one.value is not None)

    def _heard_after(self, at: Opened, stream: str, end_us: int) -> bool:
        later_us = end_us + timedelta(days=1) // timedelta(microseconds=1)
        with at.ledger.read() as conn:
            return bool(readings_of(conn, self.sensor.node, stream, end_us, later_us))


def _value(one: Result) -> Fraction:
    if one.value is None:
        raise HeadwallError(f"{one.stream} gives no reading: {one.why}")
    return Fraction(Decimal(str(one.value)))


def _sent(stream: str, value: object) -> Fraction:
    """A value as the board sent it; a text is the reason why there is none."""
    if isinstance(value, str):
        raise HeadwallError(f"{stream} gives no reading: {value}")
    return Fraction(Decimal(repr(value)))
