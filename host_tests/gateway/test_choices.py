"""Both values of every key that a municipality may choose: something else comes of another value than of the default.

choices.toml has a scenario for each key (support/scenario.py tells the form), the other value, and facts of the outcome
that are there with the one and not with the other.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from headwall.law.ambiguities import settings
from support.scenario import outcome_text, read_scenario
from support.scenario_town import play

_HERE = Path(__file__).parent
_GATEWAY = _HERE.parents[1] / "gateway" / "headwall"
_FILE = tomllib.loads((_HERE / "choices.toml").read_text("utf-8"))
_CASES: list[dict[str, Any]] = _FILE["case"]


@cache
def _outcome(profile: str, text: str, key: str, value: str) -> str:
    """What comes of a scenario with a value of a key as TOML, or by default."""
    more = f'[[choice]]\nkey = "{key}"\nvalue = {value}\nfrom = 2000-01-01\nby = "A. Counsel"\n' if value else ""
    with TemporaryDirectory() as folder:
        path = Path(folder) / profile / "case.toml"
        path.parent.mkdir()
        path.write_text(f"profile = '''\n{more}'''\n{text}", "utf-8")
        return outcome_text(play(read_scenario(path), Path(folder)))


@pytest.mark.parametrize("case", _CASES, ids=[each["key"] for each in _CASES])
def test_value_that_is_chosen_changes_what_comes_of_it(case: dict[str, Any]) -> None:
    text = _FILE["begin"].get(case.get("goes_on"), "") + case["scenario"]
    by_default, otherwise = (_outcome(case["as"], text, *each) for each in (("", ""), (case["key"], case["other"])))
    assert by_default != otherwise
    for fact in case["default"]:
        assert fact in by_default
        assert fact not in otherwise
    for fact in case["chosen"]:
        assert fact in otherwise
        assert fact not in by_default


def test_every_key_is_tried_with_both_values() -> None:
    assert {each["key"] for each in _CASES} == set(settings())


def test_every_key_is_read_by_something() -> None:
    """By a rule or command that names it, or by a profile that says which source or clause it decides."""
    sources = [*_GATEWAY.rglob("*.py"), *(_GATEWAY / "law" / "profiles").glob("*.toml")]
    text = "\n".join(re.sub(r"(?m)^\s*#.*$", "", each.read_text("utf-8")) for each in sources)
    assert [key for key in settings() if f'"{key}"' not in text and f"'{key}'" not in text] == []
