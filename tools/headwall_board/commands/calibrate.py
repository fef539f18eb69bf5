"""`headwall board calibrate`: guided calibration of one sensor, with a dated record of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final

import typer
from headwall.cli.calibration import add
from headwall.cli.common import read_json_object
from headwall.errors import InputError
from headwall.ledger.calibrations import parse_calibrations
from headwall.units import parse_depth
from headwall.wire.contract import contract

from headwall_board import calibration
from headwall_board.bench import DEFAULT_WAIT, JsonOption, WaitOption, session
from headwall_board.calibration import Outcome, Point
from headwall_board.sensor_reader import CableReader, FieldReader, Reader

_READINGS: Final = 5
_LEVELS: Final = ("level", "distance")


def register(app: typer.Typer) -> None:
    app.command("calibrate")(calibrate)


def calibrate(
    where: Annotated[str, typer.Argument(metavar="NODE_OR_PORT", help="serial port, or node id with --config")],
    sensor: Annotated[str, typer.Argument(metavar="SENSOR", help="its name in the board's configuration")],
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="the gateway's settings: it is added there", envvar="HEADWALL_CONFIG"),
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="JSON with the answers, instead of asking: docs/calibration.md")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="where the record is written")] = None,
    wait: WaitOption = DEFAULT_WAIT,
    as_json: JsonOption = False,
) -> None:
    """Calibrate a sensor, guided, and record it: a rain gauge by a measured volume, a level at two points, a 4-20 mA
    loop at two currents.

    Over the cable the board's program stops meanwhile, so that nothing of the test is taken for rain. Over the gateway
    put the node into maintenance first. Ends with 1 when the sensor is outside its tolerance.
    """
    ask = _Asker(answers)
    by = ask("by", "your name")
    with _reader(where, sensor, config, by, wait, ask) as reader:
        record = _guided(reader, ask, by)
    target = out or Path(f"calibration-{reader.sensor.node}-{sensor}-{datetime.now():%Y%m%d-%H%M%S}.json")
    target.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    parse_calibrations(target.read_bytes(), str(target))  # what is written, the gateway takes
    if as_json:
        print(json.dumps({"file": str(target), "record": record}))
    else:
        _say(record, target)
    if config is not None:
        with redirect_stdout(sys.stderr if as_json else sys.stdout):  # with --json there is one object alone
            add([target], as_json=False, config=config)
    if record["verdict"] == "fail":
        raise typer.Exit(1)


class _Asker:
    """Asks at the terminal, or takes each answer from a file."""

    def __init__(self, file: Path | None) -> None:
        self._given: dict[str, Any] | None = None
        self._file = file
        if file is not None:
            self._given = read_json_object(file, "docs/calibration.md names the answers")

    def __call__(self, key: str, question: str, default: str | None = None) -> str:
        if self._given is None:
            return str(typer.prompt(question, default=default, err=True)).strip()
        found = self._given.get(key, default)
        if found is None:
            raise InputError(f"{self._file} has no {key!r}: {question}")
        return str(found).strip()

    def tell(self, what: str) -> None:
        print(what, file=sys.stderr)

    def wait_for(self, what: str) -> None:
        """With a file of answers it is taken as done."""
        if self._given is None:
            typer.prompt(f"{what}. Enter when it is so", default="", show_default=False, err=True)


@contextmanager
def _reader(where: str, sensor: str, config: Path | None, by: str, wait: float, ask: _Asker) -> Iterator[Reader]:
    if "/" in where or where.upper().startswith("COM"):
        with session(where, wait) as board:
            yield CableReader(board, sensor)
        return
    if config is None:
        raise InputError(f"{where} is no serial port; to calibrate a node over the gateway give --config headwall.toml")
    wait_s = float(calibration.positive(ask("answer_s", "seconds to wait for the board's answers", "60"), "answer_s"))
    yield FieldReader(config, where, sensor, by, wait_s)


def _guided(reader: Reader, ask: _Asker, by: str) -> dict[str, Any]:
    if reader.sensor.kind in ("tipping_bucket", "tipping_counter"):
        kind, unit, tolerance, measure, judge = _rain(reader, ask)
    else:
        kind, unit, tolerance, measure, judge = _two_points(reader, ask)
    stream, found = measure("as found")
    left: list[Point] = []
    outcome = judge(found)
    if _yes(ask("adjusted", "did you adjust it, to measure again (yes, no)", "no")):
        stream, left = measure("as left")
        outcome = judge(left)
    return {
        "v": 1,
        "datastream": f"{reader.sensor.node}/{stream}",
        "kind": kind,
        "at": datetime.now().astimezone().isoformat(timespec="seconds"),
        "by": by,
        "unit": unit,
        "method": ask("method", "how, in a line (volume and rate, gauge plate, calibrator)"),
        "device": ask("device", "the reference device", ""),
        "certificate": ask("certificate", "number and date of its certificate", ""),
        "as_found": calibration.points_json(found),
        "as_left": calibration.points_json(left),
        "result": calibration.result_json(outcome),
        "tolerance": tolerance,
        "verdict": "pass" if outcome.passes else "fail",
        "note": ask("note", "note", ""),
    }


#: measures the points of a turn ("as found", "as left"); judges them
_Measure = Callable[[str], tuple[str, list[Point]]]
_Judge = Callable[[Sequence[Point]], Outcome]


def _rain(reader: Reader, ask: _Asker) -> tuple[str, str, str, _Measure, _Judge]:
    tip = parse_depth(ask("tip", "depth of one tip, from its plate", "0.01 in"))
    funnel = calibration.positive(ask("funnel_cm2", "area of the funnel in cm²"), "funnel_cm2")
    volume = calibration.positive(ask("volume_ml", "volume that you pour, in mL"), "volume_ml")
    tolerance = calibration.positive(ask("tolerance_percent", "tolerance in percent", "2"), "tolerance_percent")
    poured = calibration.poured_depth(volume, funnel)
    calibration.check_volume(poured, tip, tolerance, funnel)
    seconds = int(poured.mm / tip.mm * 2 * calibration.SLOW_S_A_TIP)

    def measure(turn: str) -> tuple[str, list[Point]]:
        told = f"{turn}: let {calibration.as_text(volume)} mL run through slowly, in {seconds // 60} minutes or more"
        asked = ask("listen_s", f"{told}. Seconds to listen", str(seconds + 60))
        listen = float(calibration.positive(asked, "listen_s"))
        stream, tips = reader.tips(ask, listen)
        return stream, [Point(poured.mm, tips * tip.mm)]

    said = f"{calibration.as_text(tolerance)} %"
    return "rain_volume", "mm", said, measure, lambda points: calibration.rain(points, tolerance)


def _two_points(reader: Reader, ask: _Asker) -> tuple[str, str, str, _Measure, _Judge]:
    kind = reader.sensor.kind
    loop = kind == "current_loop" or (kind is None and _yes(ask("loop", "is it a 4-20 mA loop (yes, no)", "no")))
    span = _span(reader, ask) if loop else None
    stream = ask("stream", "which of its streams", _first_stream(reader))
    unit = str(contract()["quantities"][stream.rpartition(".")[2]]["unit"])
    tolerance = calibration.positive(ask("tolerance", f"tolerance in {unit}"), "tolerance")

    def reference(turn: str, number: int) -> Fraction:
        which = f"{turn}, point {number}"
        if span is None:
            key = f"reference_{number}"
            return calibration.number(ask(key, f"{which}: the true value in {unit}"), key)
        key = f"current_{number}_ma"
        current = calibration.positive(ask(key, f"{which}: the current in mA", ("4", "20")[number - 1]), key)
        return calibration.at_current(current, *span)

    def measure(turn: str) -> tuple[str, list[Point]]:
        points = []
        for number in (1, 2):
            true = reference(turn, number)
            ask.wait_for(f"set the sensor to {calibration.as_text(true)} {unit}")
            points.append(Point(true, _read(reader, stream)))
        return stream, points

    how = "current_two_point" if loop else "level_two_point"
    said = f"{calibration.as_text(tolerance)} {unit}"
    return how, unit, said, measure, lambda points: calibration.two_points(points, tolerance)


def _span(reader: Reader, ask: _Asker) -> tuple[Fraction, Fraction]:
    low, high = reader.sensor.span or (None, None)
    return (
        calibration.number(ask("low", "value at 4 mA", low), "low"),
        calibration.number(ask("high", "value at 20 mA", high), "high"),
    )


def _first_stream(reader: Reader) -> str:
    streams = reader.streams
    level = [stream for stream in streams if stream.rpartition(".")[2] in _LEVELS]
    return (level or streams)[0]


def _read(reader: Reader, stream: str) -> Fraction:
    taken = reader.readings(_READINGS)
    if stream not in taken:
        raise InputError(f"the sensor has no stream {stream!r}; it has: {', '.join(taken)}")
    return median(taken[stream])


def _yes(text: str) -> bool:
    return text.lower() in ("y", "yes", "true", "1")


def _say(record: dict[str, Any], target: Path) -> None:
    for turn in ("as_found", "as_left"):
        for point in record[turn]:
            print(f"{turn.replace('_', ' ')}: {point['reading']} for {point['reference']} {record['unit']}")
    for name, value in record["result"].items():
        print(f"{name.replace('_', ' ')}: {value}")
    within = "within" if record["verdict"] == "pass" else "OUTSIDE"
    print(f"{record['datastream']} is {within} its tolerance of {record['tolerance']}; recorded in {target}")
