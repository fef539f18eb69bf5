"""`headwall board selftest`: each sensor of a board read once, with a verdict."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from headwall.errors import ConfigurationError
from rich.console import Console
from rich.table import Table

from headwall_board.bench import DEFAULT_WAIT, JsonOption, PortOption, WaitOption, bar, session
from headwall_board.session import BenchError, Session

#: reason of a null → what to look at
_ADVICE = {
    "no_signal": "does not answer: supply, wires, pins of the configuration",
    "bad_frame": "garbled: ground wire, length of the cable, its settings of unit and rate",
    "no_echo": "no echo: nothing in its range, or it points past the surface",
    "blind_zone": "nearer than it can measure",
    "out_of_range": "outside its range",
    "low_confidence": "the echo is weak: clean it, see that nothing is in its way",
    "not_ready": "waits for the value of another sensor, which gave none",
    "fault": "fault: the board's console says which (headwall board logs)",
}


def register(app: typer.Typer) -> None:
    app.command("selftest")(selftest)


@dataclass(frozen=True)
class Result:
    """One stream of one sensor: `value` as the driver gave it, or None with `why`."""

    sensor: str
    kind: str
    stream: str
    value: str | int | None
    ok: bool
    why: str


def selftest(
    port: PortOption = None,
    wait: WaitOption = DEFAULT_WAIT,
    listen: Annotated[
        float, typer.Option("--listen", min=0, help="seconds to count a rain gauge's tips: tip it by hand meanwhile")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Read each sensor of a board once, by the node's own drivers, with a verdict. Ends with 1 if one gives nothing.

    Nothing of it is recorded: a tip by hand meanwhile does not count as rain.
    """
    with bar(hidden=as_json) as shown, session(port, wait) as board:
        task = shown.add_task("read", total=None)
        results = read_sensors(board, listen, lambda: shown.advance(task))
    well = all(result.ok for result in results)
    if as_json:
        print(json.dumps({"port": board.port, "ok": well, "sensors": [asdict(result) for result in results]}))
    else:
        table = Table("Sensor", "Kind", "Stream", "Value", "Verdict")
        for one in results:
            value = "" if one.value is None else str(one.value)
            table.add_row(one.sensor, one.kind, one.stream, value, f"{'ok' if one.ok else 'FAILS'}: {one.why}")
        Console().print(table)
    if not well:
        raise typer.Exit(1)


def read_sensors(
    board: Session, listen_s: float = 0, done: Any = lambda: None, only: str | None = None
) -> list[Result]:
    """Have the board read its sensors.

    Args:
        listen_s: how long to count the closings of each contact.
        only: the name of one sensor.

    Raises:
        BenchError: no program, or one without this test.
        ConfigurationError: no configuration that can be used.
    """
    try:
        board.run("from headwall_node.bench import selftest as _t")
    except BenchError as error:
        raise BenchError(f"the board at {board.port} has no program that can do this: headwall board deploy") from error
    results: list[Result] = []

    def take(line: str) -> None:
        told = _parsed(line)
        if told is None:
            return
        if "faults" in told:
            raise ConfigurationError(f"/config.json of the board at {board.port}", told["faults"])
        results.extend(_judged(told, listen_s))
        done()

    board.run(f"_t({int(listen_s * 1000)}, {only!r})", timeout_s=listen_s + 150, line=take)
    return results


def _parsed(line: str) -> dict[str, Any] | None:
    """A line of JSON; None for what else the drivers print."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _judged(told: dict[str, Any], listen_s: float) -> list[Result]:
    name, kind = told["name"], told["kind"]
    if "closings" in told:
        return [_contact(name, kind, told["closed"], told["closings"], listen_s)]
    return [
        Result(name, kind, stream, value, value is not None, _ADVICE.get(reason, reason) if reason else "reads")
        for stream, value, reason in told["readings"]
    ]


def _contact(name: str, kind: str, closed: bool, closings: int, listen_s: float) -> Result:
    stream = f"{name}.tips"
    if closed and not closings:
        why = "the contact is closed: the bucket stands in the middle, the wires touch, or `closed` is the wrong level"
        return Result(name, kind, stream, closings, False, why)
    if not listen_s:
        return Result(name, kind, stream, None, True, "open; to see it close: --listen 20, and tip the bucket")
    if not closings:
        return Result(name, kind, stream, 0, False, f"no tip in {listen_s:g} s: was it tipped? Is it on this pin?")
    return Result(name, kind, stream, closings, True, f"{closings} closings in {listen_s:g} s")
