"""A law is data: no file that judges, tells or writes has a number, a section or the name of a municipality of a code.

Numbers are compared with those of the profiles. One that is there and is the program's own all the same stands in a
constant or function that is named below; write a new one there only if no code has anything to do with it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from headwall.law import profile

_HEADWALL = Path(profile.__file__).parents[1]
_PROFILES = _HEADWALL / "law" / "profiles"
_PACKAGES = ("rules", "cases", "notify", "reports")
_FILES = [*sorted(file for each in _PACKAGES for file in (_HEADWALL / each).rglob("*.py")), _HEADWALL / "codes.py"]

#: keys of a profile that hold sentences: a number in one counts where a rule reads it, under another key
_PROSE = {"requirement", "subject", "ambiguities", "citation", "enacted_by", "source", "text", "code", "disclaimer"}
_PROSE |= {"record", "id", "covers", "questions", "incomplete", "title", "absence", "warns", "only", "only_if"}
_PROSE |= {"municipality", "label"}
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
#: numbers so small that they count and split things everywhere
_SMALL = 2
_SECOND_US = 1_000_000
_SPANS_US = (60 * _SECOND_US, 3600 * _SECOND_US, 86_400 * _SECOND_US)
_CITED = re.compile(
    r"§ ?\d|\b\d{2,3}A?-\d+(?:\.\d)?[A-Z]?\(|Elmsford|Hillburn|Bayville|North.?Castle|Horseheads", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"\b(\d[\d,.]*) ?(?:in\b|inch|hours?\b|h\b|(?:business |calendar )?days?\b|weeks?\b|months?\b|years?\b|percent|%)"
    r"|\b(\d[\d,.]*) ?(?:acres?|square feet)|\$(\d[\d,]*)"
)

#: file: names of constants, or functions, whose numbers are the program's own
_OWN: dict[str, set[str]] = {
    "cases/clocks.py": {"after"},  # one instant for all readings
    "notify/gauge_rows.py": {"_LIKELY_STILL_RAINING_US"},
    "notify/links.py": {"_FORM_US", "__init__"},  # how long a form and a link hold
    "notify/hyetograph.py": {
        "_QUARTER_US",
        "_HOUR_US",
        "_DAY_US",
        "_TICK_STEPS_US",
        "_draw_gaps",
        "_label_time",
        "_quieten",
    },
    "notify/mailer.py": {"_FINISH_WITHIN_S", "_CUT_WITHIN_S", "_POLL_US"},
    "notify/outbox.py": {"due_mails"},  # rows at a time
    "notify/smtp.py": {"_still_answers", "_envelope", "_content"},  # answers of a mail server
    "notify/storm_section.py": {"_to_call", "_FIRED"},
    "notify/wording.py": {"full_time", "duration"},
    "reports/evidence.py": {"picture", "_AFTER_STORM_US", "_ticks", "_tick"},
    "rules/approval_spans.py": {"_NEAR_US"},
    "rules/clause_duties.py": {"_SOON_US", "_AT_ONCE"},
    "rules/clauses/approvals.py": {"_AHEAD_US", "_holds_at_noon", "_occurrence"},
    "rules/clauses/connections.py": {"illicit_connection"},  # the length of a text
    "rules/clauses/devices.py": {"_DAY_US", "_obstructions"},
    "rules/clauses/people.py": {"_AHEAD_US"},
    "rules/clauses/presence.py": {"_WEEK", "_DAYS_TOLD", "_business_days"},  # a calendar week; days that a line names
    "rules/device_neglect.py": {"_LASTS_US", "_neglected"},
    "rules/engine.py": {"_POLL_US"},
    "rules/gauge_silent.py": {"_LOOK_AGAIN_US"},
    "rules/layers.py": {"_SAID", "_of_calibration"},  # quality flags; a date out of an instant
    "rules/lost_tips.py": {"_cursor_name"},
    "rules/node_faults.py": {"_REMIND_US", "_parts"},
    "rules/outfall_line.py": {"_SPARE_US"},  # hours kept for what comes late
    "rules/outfalls.py": {"_CHUNK_US"},  # hours judged at a time
    "rules/outside_approvals.py": {"_runs"},
    "rules/rain.py": {"_RUN"},
    "rules/rain_doubts.py": {"_QUARTER_US"},
    "rules/rain_import.py": {"_BATCH"},
    "rules/rain_line.py": {"_PEAK_US"},
    "rules/rain_missing.py": {"_HOUR_US", "_LOOK_AGAIN_US", "_WANDERS_US", "_DRY_US", "_BACK_US", "_RISES_US"},
    "rules/retention.py": {"_until"},  # months of a year
    "rules/sensor_faults.py": {"_LOOK_AGAIN_US"},
    "rules/septic.py": {"_BLOCK_US", "_NO_LAYER_M"},
    "rules/site_rain.py": {"QUANTA_PER_MM"},
    "rules/storm.py": {"_DAY_US", "_compared"},
    "rules/watch.py": {"HOUR_US", "gap_us"},
    "rules/water_conditions.py": {"_TURBID_US", "_SHORT_GAP_US"},
}


def _values(table: Any, key: str = "") -> Iterator[Decimal]:
    """The numbers of a profile that a rule could read."""
    match table:
        case dict():
            for name, value in table.items():
                if name not in _PROSE:
                    yield from _values(value, name)
        case list():
            for value in table:
                yield from _values(value, key)
        case str():
            yield from (Decimal(each.replace(",", "")) for each in _NUMBER.findall(table))
        case int() | float() if not isinstance(table, bool):
            yield Decimal(str(table))


def _law() -> set[Decimal]:
    found: set[Decimal] = set()
    for file in _PROFILES.glob("*.toml"):
        found |= set(_values(tomllib.loads(file.read_text("utf-8"))))
    return {each for each in found if each > _SMALL or each != int(each)}


class _Sources(ast.NodeVisitor):
    """Numbers and sentences of a file with the name of the constant or function that they stand in."""

    def __init__(self) -> None:
        self.numbers: list[tuple[str, Decimal]] = []
        self.texts: list[tuple[str, str]] = []
        self._in = ["module"]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._within(node.name, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        self._named(target, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._named(node.target, node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring tells, and judges nothing
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.texts.append((self._in[-1], node.value))
        elif isinstance(node.value, int | float) and not isinstance(node.value, bool):
            self.numbers.append((self._in[-1], Decimal(str(node.value))))

    def _named(self, target: ast.expr, node: ast.AST) -> None:
        if len(self._in) == 1 and isinstance(target, ast.Name):
            self._within(target.id, node)
        else:
            self.generic_visit(node)

    def _within(self, name: str, node: ast.AST) -> None:
        self._in.append(name)
        self.generic_visit(node)
        self._in.pop()


def _faults(source: str, law: set[Decimal]) -> list[tuple[str, str]]:
    """Numbers of a code in a source, with the name of where each stands."""
    found = _Sources()
    found.visit(ast.parse(source))
    faults = [
        (where, str(number))
        for where, number in found.numbers
        if number in law
        or (number not in _SPANS_US and any(number > span and number / span in law for span in _SPANS_US))
    ]
    for where, text in found.texts:
        amounts = ["".join(each) for each in _AMOUNT.findall(text)]
        faults += [(where, text) for each in amounts if Decimal(each.replace(",", "").rstrip(".")) in law]
    return faults


@pytest.mark.parametrize("file", _FILES, ids=lambda file: str(file.relative_to(_HEADWALL)))
def test_file_that_judges_or_tells_holds_no_section_and_no_municipality(file: Path) -> None:
    assert _CITED.findall(file.read_text("utf-8")) == []


def test_file_that_judges_or_tells_holds_no_number_of_a_code() -> None:
    law, faults = _law(), {}
    for file in _FILES:
        name = str(file.relative_to(_HEADWALL))
        own = _OWN.get(name, set())
        if found := [each for each in _faults(file.read_text("utf-8"), law) if each[0] not in own]:
            faults[name] = found
    assert faults == {}


def test_names_of_the_programs_own_numbers_are_needed() -> None:
    law, there = _law(), {str(file.relative_to(_HEADWALL)): file for file in _FILES}
    assert set(_OWN) <= set(there)
    for name, own in _OWN.items():
        assert own <= {where for where, _ in _faults(there[name].read_text("utf-8"), law)}, name


@pytest.mark.parametrize(
    "source",
    [
        "DUE_US = 24 * HOUR_US",
        "def f(acres):\n    return acres >= 5",
        "WEEK_US = 604_800_000_000",
        "class A:\n    def f(self):\n        return parse_depth('0.5 in')",
        "def f(fine=350):\n    pass",
        "TEXT = f'within 3 business days of {start}'",
        "MAX = '$1,000'",
        "SHARE = 0.5",
    ],
)
def test_number_of_a_code_in_a_source_is_found(source: str) -> None:
    assert _faults(source, _law())


@pytest.mark.parametrize("source", ["N = 2", '"""24 hours."""', "TEXT = 'the 7th of June'", "A = True", "N = 62"])
def test_number_that_no_code_has_is_left_alone(source: str) -> None:
    assert _faults(source, _law()) == []


@pytest.mark.parametrize("text", ["§ 288-8A(2)", "192-13(", "the Village of hillburn", "north_castle"])
def test_section_or_municipality_in_a_source_is_found(text: str) -> None:
    assert _CITED.search(text)
