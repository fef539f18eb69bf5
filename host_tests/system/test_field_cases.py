"""The list of faults from the field names tests that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[1]
CASES: list[dict[str, Any]] = tomllib.loads((HERE / "field_cases.toml").read_text())["case"]
#: what concerns node, rain and sensors
NODE = [*range(1, 16), 20, 21, 22, *range(28, 32), *range(38, 43), 49, 50, 52, 53]
TESTS = {
    name
    for path in HERE.rglob("test_*.py")
    for name in re.findall(r"^(?:async )?def (test_\w+)\(", path.read_text(), re.M)
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["n"]))
def test_every_fault_of_the_field_has_tests_and_they_exist(case: dict[str, Any]) -> None:
    assert case["tests"], f"nothing holds off: {case['fault']}"
    assert [name for name in case["tests"] if name not in TESTS] == []


def test_no_fault_of_node_rain_and_sensors_is_left_out() -> None:
    assert [case["n"] for case in CASES] == sorted({case["n"] for case in CASES})
    assert set(NODE) <= {case["n"] for case in CASES}
