"""The list of the domain's values names tests that exist, in files that hold those values."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[1]
VALUES: list[dict[str, Any]] = tomllib.loads((HERE / "domain_values.toml").read_text("utf-8"))["value"]
#: how many entries each section has
SECTIONS = {1: 15, 2: 4, 3: 5, 4: 8, 5: 7, 6: 3}


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((HERE / file).read_text("utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value["id"]))
def test_each_value_of_the_domain_stands_in_tests_that_exist(value: dict[str, Any]) -> None:
    assert value["tests"], f"nothing holds: {value['what']}"
    files = {file for file, _, _ in (test.partition("::") for test in value["tests"])}
    missing = [test for test in value["tests"] if test.partition("::")[2] not in names_in(test.partition("::")[0])]
    assert missing == []
    text = "".join((HERE / file).read_text("utf-8") for file in files)
    assert [each for each in value["values"] if each not in text] == []


def test_no_value_of_the_domain_is_left_out() -> None:
    wanted = [f"{section}.{n}" for section, count in SECTIONS.items() for n in range(1, count + 1)]
    assert [value["id"] for value in VALUES] == wanted
