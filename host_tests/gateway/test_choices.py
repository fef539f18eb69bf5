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
from headwall.law.ambiguities import question_of, questions, settings
from support.profile_text import profile_text
from support.scenario import outcome_text, read_scenario
from support.scenario_town import play

_HERE = Path(__file__).parent
_GATEWAY = _HERE.parents[1] / "gateway" / "headwall"
_FILE = tomllib.loads((_HERE / "choices.toml").read_text("utf-8"))
_CASES: list[dict[str, Any]] = _FILE["case"]
_NOTHING_YET = 'begins = "2026-08-20 00:00"\nplaces = ["outfall"]\nleaves_out = ["mails", "log_book"]\n'


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


@pytest.mark.parametrize("case", _FILE["data"], ids=[each["question"] for each in _FILE["data"]])
def test_what_a_profile_has_otherwise_changes_what_comes_of_it(case: dict[str, Any], tmp_path: Path) -> None:
    said = []
    for n, text in enumerate((profile_text(case["as"]), profile_text(case["as"]).replace(case["old"], case["new"], 1))):
        folder = tmp_path / str(n)
        path = folder / "town" / "case.toml"
        path.parent.mkdir(parents=True)
        (folder / "own.toml").write_text(text, "utf-8")
        begin = _FILE["begin"].get(case.get("goes_on"), _NOTHING_YET)
        event = f"[[event]]\nat = \"2026-08-20 15:00\"\nshow = true\ndo = '''{case['do']}'''\n"
        path.write_text(f'as = "{folder / "own.toml"}"\n{begin}{event}', "utf-8")
        said.append(" ".join(outcome_text(play(read_scenario(path), folder)).split()))
    by_default, otherwise = said
    default, chosen = (" ".join(case[each].split()) for each in ("default", "chosen"))
    assert default in by_default
    assert default not in otherwise
    assert chosen in otherwise
    assert not chosen or chosen not in by_default


def test_every_question_without_a_reason_is_tried() -> None:
    tried = {question_of(each["key"]) for each in _CASES}
    tried |= {each["question"] for each in (*_FILE["data"], *_FILE["tested"])}
    assert tried == {number for number, each in questions().items() if not each.reason}


@pytest.mark.parametrize("name", [name for each in _FILE["tested"] for name in each["by"]])
def test_test_of_a_question_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    assert f"def {test}(" in (_HERE / file).read_text("utf-8")


def test_every_key_is_tried_with_both_values() -> None:
    assert {each["key"] for each in _CASES} == set(settings())


def test_every_key_is_read_by_something() -> None:
    """By a rule or command that names it, or by a profile that says which source or clause it decides."""
    sources = [*_GATEWAY.rglob("*.py"), *(_GATEWAY / "law" / "profiles").glob("*.toml")]
    text = "\n".join(re.sub(r"(?m)^\s*#.*$", "", each.read_text("utf-8")) for each in sources)
    assert [key for key in settings() if f'"{key}"' not in text and f"'{key}'" not in text] == []
