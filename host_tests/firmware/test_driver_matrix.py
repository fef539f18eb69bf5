"""Every kind of sensor under every fault, in the real MicroPython: the right value or a null with a reason, in time.

What a sensor needs for it stands in matrix/<kind>.py; scripts/driver_matrix.py says what such a file has.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import drivers
import mp
import pytest

MATRIX = Path(__file__).parent / "matrix"
#: not sampled: test_tipping_bucket.py and test_tipping_counter.py have their faults
EVENTS = {"tipping_bucket", "tipping_counter"}
FAULTS = ("unplugged", "late", "truncated", "garbled", "stuck", "flooding", "absent")
#: reasons that a fault may have; a bus that is gone is a fault to some and silence to others
REASONS = {
    "unplugged": {"no_signal", "fault", "no_echo"},
    "absent": {"no_signal", "fault", "no_echo"},
    "stuck": {"stuck"},
}


def kinds() -> list[str]:
    text = (mp.FIRMWARE / "headwall_node" / "specs" / "__init__.py").read_text()
    found = re.search(r"KINDS = \((.*?)\)", text, re.S)
    assert found
    return [kind for kind in re.findall(r'"(\w+)"', found[1]) if kind not in EVENTS]


@cache
def readings(kind: str) -> dict[str, list[dict[str, Any]]]:
    """What a kind's readings were, by case."""
    found: dict[str, list[dict[str, Any]]] = {}
    for said in drivers.run(mp.SCRIPTS / "driver_matrix.py", MATRIX, args=[kind]):
        found.setdefault(said["case"], []).append(said)
    return found


@cache
def entry(kind: str) -> dict[str, Any]:
    """The plain values of a kind's file."""
    text = (MATRIX / f"{kind}.py").read_text()
    known: dict[str, Any] = {"SKIP": {}, "BLIND": ()}
    for name in ("TRUE", "WITHIN", "FRAME_BYTES", "SKIP", "BLIND"):
        line = re.search(rf"^{name} = (.*?)(?=^\w|\Z)", text, re.S | re.M)
        if line:
            known[name] = eval(line[1])
    return known


def is_right(kind: str, quantity: str, value: str | int | None) -> bool:
    known = entry(kind)
    return value is not None and abs(float(value) - known["TRUE"][quantity]) <= known["WITHIN"]


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_of_sensor_has_its_place_in_the_matrix(kind: str) -> None:
    assert (MATRIX / f"{kind}.py").is_file(), f"write matrix/{kind}.py"


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("fault", FAULTS)
def test_under_a_fault_a_reading_is_right_or_a_null_with_its_reason(kind: str, fault: str) -> None:
    if fault in entry(kind)["SKIP"]:
        pytest.skip(entry(kind)["SKIP"][fault])
    told = readings(kind)[fault]
    for number, each in enumerate(told):
        for quantity, value, reason in each["found"]:
            if value is None:
                assert reason in REASONS.get(fault, {reason}) and reason is not None, (quantity, reason)
            elif not (fault == "garbled" and number in entry(kind)["BLIND"]):
                assert is_right(kind, quantity, value), f"{fault} {number}: {quantity} {value} is wrong"
    if fault in ("unplugged", "absent"):
        assert all(value is None for each in told for _, value, _ in each["found"])
    if fault == "stuck":
        assert any(reason == "stuck" for each in told for _, _, reason in each["found"])


@pytest.mark.parametrize("kind", kinds())
def test_no_reading_takes_longer_than_its_timeout(kind: str) -> None:
    longest = max(each["ms"] for told in readings(kind).values() for each in told)
    assert longest <= 5000 + 200


@pytest.mark.parametrize("kind", kinds())
def test_a_sensor_that_is_well_again_reads_right_again(kind: str) -> None:
    well = [each for case, told in readings(kind).items() if case.startswith("well") for each in told]
    assert len(well) >= 2
    for each in well:
        assert {quantity for quantity, _, _ in each["found"]} == set(entry(kind)["TRUE"])
        for quantity, value, _ in each["found"]:
            assert is_right(kind, quantity, value), (each["case"], quantity, value)
