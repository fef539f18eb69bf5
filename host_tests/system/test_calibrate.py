"""`headwall board calibrate`: its arithmetic, over the cable of a simulated board, and over the gateway's ledger."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from headwall.clock import SystemClock
from headwall.downlink import commands
from headwall.errors import InputError
from headwall.ledger.ledger import Ledger
from headwall.units import parse_depth
from headwall.wire.reply import Reply
from headwall_board import calibration
from headwall_board.calibration import Point
from headwall_board.release import build_release
from headwall_sim.timeline import Edge, Timeline
from headwall_sim.wiring import Wired
from support.bench import FIRMWARE, HEADWALL, Bench
from support.fleet import registry_toml
from support.readings import append, tip
from support.terminal import typed

SECOND_US = 1_000_000
PIN = 4
TIP = parse_depth("0.01 in")
#: funnel of 8 in
FUNNEL = Fraction("324.29")


# --- arithmetic ---


def test_volume_in_a_funnel_is_a_depth() -> None:
    assert calibration.poured_depth(Fraction(500), Fraction(200)).text_mm == "25"
    assert calibration.as_text(calibration.poured_depth(Fraction(500), FUNNEL).mm) == "15.418298"


@pytest.mark.parametrize(
    ("tips", "error", "passes"), [(60, "-1.156408", True), (61, "0.490985", True), (58, "-4.451194", False)]
)
def test_gauge_is_judged_by_what_it_counts_of_a_volume(tips: int, error: str, passes: bool) -> None:
    poured = calibration.poured_depth(Fraction(500), FUNNEL)
    outcome = calibration.rain([Point(poured.mm, tips * TIP.mm)], Fraction(2))
    assert (calibration.result_json(outcome), outcome.passes) == ({"error_percent": error}, passes)


def test_volume_of_which_one_tip_is_more_than_the_tolerance_is_refused() -> None:
    poured = calibration.poured_depth(Fraction(100), FUNNEL)
    with pytest.raises(InputError, match="pour at least 412 mL"):
        calibration.check_volume(poured, TIP, Fraction(2), FUNNEL)
    calibration.check_volume(calibration.poured_depth(Fraction(412), FUNNEL), TIP, Fraction(2), FUNNEL)


def test_two_points_give_slope_and_offset_that_put_both_right() -> None:
    points = [Point(Fraction("0.5"), Fraction("0.512")), Point(Fraction("2.5"), Fraction("2.492"))]
    outcome = calibration.two_points(points, Fraction("0.01"))
    slope, offset = outcome.result["slope"], outcome.result["offset"]
    assert [slope * point.reading + offset for point in points] == [point.reference for point in points]
    assert outcome.result["largest_error"] == Fraction("0.012")
    assert not outcome.passes
    assert calibration.two_points(points, Fraction("0.012")).passes


@pytest.mark.parametrize(
    ("references", "readings", "why"),
    [(("1", "1"), ("1", "2"), "same reference"), (("1", "2"), ("1.5", "1.5"), "stuck")],
)
def test_points_that_make_no_line_are_refused(references: tuple[str, str], readings: tuple[str, str], why: str) -> None:
    points = [Point(Fraction(a), Fraction(b)) for a, b in zip(references, readings, strict=True)]
    with pytest.raises(InputError, match=why):
        calibration.two_points(points, Fraction(1))


@pytest.mark.parametrize(
    ("current", "value"), [("4", "0"), ("12", "2.5"), ("20", "5"), ("3.8", "-0.0625"), ("20.5", "5.15625")]
)
def test_current_of_a_loop_is_a_value_of_its_span(current: str, value: str) -> None:
    assert calibration.at_current(Fraction(current), Fraction(0), Fraction(5)) == Fraction(value)


@pytest.mark.parametrize("text", ["", "five", "1e", None, "nan", "inf"])
def test_answer_that_is_no_number_is_refused_by_its_name(text: Any) -> None:
    with pytest.raises(InputError, match="volume_ml"):
        calibration.positive(text, "volume_ml")


# --- the command ---


def calibrate(folder: Path, *words: str, answers: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    if answers is not None:
        (folder / "answers.json").write_text(json.dumps(answers))
        words = (*words, "--answers", "answers.json")
    return subprocess.run(
        [str(HEADWALL), "board", "calibrate", *words],
        cwd=folder,
        input="",
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={key: value for key, value in os.environ.items() if key != "HEADWALL_CONFIG"},
    )


def record_of(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)["record"]
    return found


@pytest.fixture(scope="module")
def program() -> dict[str, bytes]:
    """The node's library as it is deployed, but nothing that starts by itself."""
    files = build_release(FIRMWARE).files
    return {path.lstrip("/"): data for path, data in files.items() if path.startswith("/lib/")}


SETTINGS = {
    "node": "gauge-a",
    "broker_host": "broker.example",
    "sensors": [
        {"kind": "tipping_bucket", "pin": PIN},
        {"kind": "a02yyuw", "name": "stage", "tx": 17, "rx": 16},
        {"kind": "a02yyuw", "name": "gone", "uart": 2, "tx": 19, "rx": 18, "timeout_ms": 1000},
    ],
}


@pytest.fixture(scope="module")
def port(program: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A board whose gauge tips each second, whose range grows by 10 mm/s, and which has a sensor that is not there."""
    with Bench(tmp_path_factory.mktemp("boards")) as bench:
        now_us = SystemClock().now_us()
        tips = [now_us + n * SECOND_US for n in range(900)]
        edges = [edge for t in tips for edge in (Edge(t, PIN, 0), Edge(t + 100_000, PIN, 1))]
        board = bench.board(
            files={**program, "config.json": json.dumps(SETTINGS).encode()},
            timeline=Timeline(edges, {PIN: 1}),
            tips=tips,
            wired=[Wired("a02yyuw", "A02yyuw", "uart", 1, [(now_us, 500), (now_us + 300 * SECOND_US, 3500)])],
        )
        yield board.device


RAIN = {
    "by": "Sam Okafor",
    "method": "52 mL by needle",
    "device": "burette B2",
    "certificate": "2026-114",
    "funnel_cm2": 100,
}


@pytest.mark.slow
def test_gauge_is_calibrated_over_the_cable_and_recorded(port: str, tmp_path: Path) -> None:
    given = {**RAIN, "volume_ml": "50.8", "tolerance_percent": 15, "listen_s": 20}  # 20 tips
    record = record_of(calibrate(tmp_path, port, "rain", "--json", answers=given))
    point = record["as_found"][0]
    assert point["reference"] == "5.08"
    assert round(float(point["reading"]) / 0.254) in (19, 20, 21)
    assert (record["datastream"], record["kind"], record["unit"]) == ("gauge-a/rain.tips", "rain_volume", "mm")
    assert (record["by"], record["device"], record["certificate"]) == ("Sam Okafor", "burette B2", "2026-114")
    assert (record["verdict"], record["as_left"]) == ("pass", [])
    assert len(list(tmp_path.glob("calibration-gauge-a-rain-*.json"))) == 1


@pytest.mark.slow
def test_gauge_outside_its_tolerance_ends_with_1_and_is_recorded_too(port: str, tmp_path: Path) -> None:
    given = {**RAIN, "volume_ml": 127, "tolerance_percent": 2, "listen_s": 10}  # 50 tips, of which 10 come
    done = calibrate(tmp_path, port, "rain", "--out", "record.json", answers=given)
    assert done.returncode == 1
    assert "OUTSIDE its tolerance of 2 %" in done.stdout
    assert json.loads((tmp_path / "record.json").read_text())["verdict"] == "fail"


LEVEL = {"by": "Sam Okafor", "method": "plate on a tape", "tolerance": 9, "reference_1": "1.0", "reference_2": "2.0"}


@pytest.mark.slow
def test_range_is_calibrated_at_two_points_over_the_cable(port: str, tmp_path: Path) -> None:
    record = record_of(calibrate(tmp_path, port, "stage", "--json", answers=LEVEL))
    assert (record["datastream"], record["kind"], record["unit"]) == ("gauge-a/stage.distance", "level_two_point", "m")
    low, high = (Fraction(point["reading"]) for point in record["as_found"])
    assert high > low  # the target moved away between them
    slope, offset = Fraction(record["result"]["slope"]), Fraction(record["result"]["offset"])
    assert abs(slope * low + offset - 1) < Fraction("0.001")
    assert abs(slope * high + offset - 2) < Fraction("0.001")


@pytest.mark.slow
def test_sensor_that_gives_nothing_is_not_calibrated(port: str, tmp_path: Path) -> None:
    done = calibrate(tmp_path, port, "gone", answers=LEVEL)
    assert done.returncode == 1
    assert "gone.distance gives no reading" in done.stderr
    assert list(tmp_path.glob("calibration-*")) == []


@pytest.mark.slow
def test_name_of_no_sensor_is_told_with_those_there_are(port: str, tmp_path: Path) -> None:
    done = calibrate(tmp_path, port, "tank", answers=LEVEL)
    assert done.returncode == 1
    assert "it has: rain, stage, gone" in done.stderr


@pytest.mark.parametrize(
    ("words", "answers", "why"),
    [
        (["gauge-a", "rain"], {"by": "Sam"}, "give --config headwall.toml"),
        (["gauge-a", "rain"], {}, "no 'by'"),
        (["/dev/ttyUSB99", "rain"], {"by": "Sam"}, "/dev/ttyUSB99"),
    ],
)
def test_command_that_lacks_something_says_what(
    tmp_path: Path, words: list[str], answers: dict[str, Any], why: str
) -> None:
    done = calibrate(tmp_path, *words, answers=answers)
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr


# --- over the gateway ---


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "registry.toml").write_text(registry_toml("gauge-a"))
    file = tmp_path / "headwall.toml"
    file.write_text(
        'registry = "registry.toml"\n[mqtt]\nhost = "localhost"\n'
        '[smtp]\nhost = "localhost"\nsender = "a@b.example"\n[web]\nenabled = false\n'
    )
    return file


@contextmanager
def answering(folder: Path, result: Callable[[commands.Command], Reply]) -> Iterator[Ledger]:
    """The board's side of the ledger: each command is answered as soon as it stands there."""
    ended = threading.Event()
    with closing(Ledger.open(f"sqlite:///{folder / 'headwall.db'}")) as ledger:

        def serve() -> None:
            while not ended.wait(0.1):
                with ledger.begin() as conn:
                    for command in commands.waiting(conn, ["gauge-a"]):
                        commands.record(conn, "gauge-a", result(command), SystemClock().now_us())

        thread = threading.Thread(target=serve)
        thread.start()
        yield ledger
        ended.set()
        thread.join()


def test_level_of_a_board_in_the_field_is_calibrated_by_commands_and_added(config: Path) -> None:
    levels = iter([1.02, 3.04])

    def result(command: commands.Command) -> Reply:
        assert command.fields == {"sensor": "tank", "count": 5}
        at = next(levels)
        values = [at, at + 0.5, at - 0.01, at, at]  # the middle one counts
        return Reply(1, command.name, "calibrate", True, result={"tank.level": values})

    given = {**LEVEL, "tolerance": "0.03", "reference_1": 1, "reference_2": 3}
    with answering(config.parent, result):
        done = calibrate(config.parent, "gauge-a", "tank", "--config", str(config), "--json", answers=given)
    record = record_of(done, code=1)  # 0.04 m is more than 0.03 m
    assert [point["reading"] for point in record["as_found"]] == ["1.02", "3.04"]
    assert (record["verdict"], record["result"]["largest_error"]) == ("fail", "0.04")
    listed = subprocess.run(
        [str(HEADWALL), "calibration", "list", "--json", "--config", str(config)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [each["datastream"] for each in json.loads(listed.stdout)] == ["gauge-a/tank.level"]


def test_loop_in_the_field_is_calibrated_at_two_currents(config: Path) -> None:
    levels = iter([0.0, 4.99])

    def result(command: commands.Command) -> Reply:
        return Reply(1, command.name, "calibrate", True, result={"tank.level": [next(levels)] * 5})

    given = {"by": "Sam", "method": "loop calibrator", "loop": "yes", "low": "0", "high": "5", "tolerance": "0.02"}
    with answering(config.parent, result):
        record = record_of(
            calibrate(config.parent, "gauge-a", "tank", "--config", str(config), "--json", answers=given)
        )
    assert record["kind"] == "current_two_point"
    assert record["as_found"] == [{"reference": "0", "reading": "0"}, {"reference": "5", "reading": "4.99"}]


def test_reason_of_a_board_in_the_field_is_told(config: Path) -> None:
    def result(command: commands.Command) -> Reply:
        return Reply(1, command.name, "calibrate", True, result={"tank.level": ["no_echo"]})

    with answering(config.parent, result):
        done = calibrate(config.parent, "gauge-a", "tank", "--config", str(config), answers=LEVEL)
    assert done.returncode == 1
    assert "tank.level gives no reading: no_echo" in done.stderr


def test_board_that_does_not_answer_is_told(config: Path) -> None:
    given = {**LEVEL, "answer_s": 1}
    done = calibrate(config.parent, "gauge-a", "tank", "--config", str(config), answers=given)
    assert done.returncode == 1
    assert "no answer within 1 s" in done.stderr


def test_tips_of_a_board_in_the_field_are_counted_from_the_ledger(config: Path) -> None:
    """The pouring takes no time here: a thread puts the tips there as they would come, and the report after them."""
    ended = threading.Event()
    with closing(Ledger.open(f"sqlite:///{config.parent / 'headwall.db'}")) as ledger:

        def rain() -> None:
            for seq in range(1, 10_000):
                now_us = SystemClock().now_us()
                append(ledger, [tip(seq, time_us=now_us, received_us=now_us)])
                if ended.wait(0.2):
                    return

        thread = threading.Thread(target=rain)
        thread.start()
        given = {**RAIN, "volume_ml": 127, "tolerance_percent": 2, "listen_s": 20}
        done = calibrate(config.parent, "gauge-a", "rain", "--config", str(config), "--json", answers=given)
        ended.set()
        thread.join()
    record = record_of(done, code=1)  # far fewer than 50 fell in no time
    assert record["datastream"] == "gauge-a/rain.tips"
    assert 0 <= round(float(record["as_found"][0]["reading"]) / 0.254) < 50


def test_a_person_is_led_through_it_at_a_terminal(config: Path) -> None:
    levels = iter([1.02, 3.01])

    def result(command: commands.Command) -> Reply:
        return Reply(1, command.name, "calibrate", True, result={"tank.level": [next(levels)] * 5})

    command = [str(HEADWALL), "board", "calibrate", "gauge-a", "tank", "--config", str(config), "--out", "record.json"]
    dialogue = [
        ("your name", "Sam Okafor"),
        ("seconds to wait", ""),
        ("4-20 mA loop", ""),
        ("which of its streams", ""),
        ("tolerance in m", "0.05"),
        ("point 1", "1"),
        ("set the sensor to 1 m", ""),
        ("point 2", "3"),
        ("set the sensor to 3 m", ""),
        ("did you adjust it", ""),
        ("how, in a line", "staff gauge"),
        ("reference device", ""),
        ("certificate", ""),
        ("note", "first one"),
    ]
    with answering(config.parent, result):
        code, seen = typed(command, config.parent, dialogue)
    assert code == 0, seen
    assert "gauge-a/tank.level is within its tolerance of 0.05 m" in seen
    record = json.loads((config.parent / "record.json").read_text())
    assert (record["by"], record["method"], record["note"]) == ("Sam Okafor", "staff gauge", "first one")


def test_second_measurement_after_an_adjustment_decides(config: Path) -> None:
    levels = iter([1.2, 3.2, 1.0, 3.0])

    def result(command: commands.Command) -> Reply:
        return Reply(1, command.name, "calibrate", True, result={"tank.level": [next(levels)] * 5})

    given = {**LEVEL, "tolerance": "0.05", "reference_1": 1, "reference_2": 3, "adjusted": "yes"}
    with answering(config.parent, result):
        record = record_of(
            calibrate(config.parent, "gauge-a", "tank", "--config", str(config), "--json", answers=given)
        )
    assert [point["reading"] for point in record["as_found"] + record["as_left"]] == ["1.2", "3.2", "1", "3"]
    assert record["verdict"] == "pass"
