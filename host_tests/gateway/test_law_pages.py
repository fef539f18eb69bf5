"""The pages of the codes are what the generator makes, and every clause of the analysis has a provision."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from headwall.cli.law import JUDGED
from headwall.law.coverage import analysis_rows, coverage
from headwall.law.page import code_page, coverage_page
from headwall.law.profile import load_profile, profile_names

DOCS = Path(__file__).parents[2] / "docs" / "codes"


def made() -> dict[str, str]:
    pages = {name: code_page(name, load_profile(name)) for name in profile_names()}
    return {**pages, "coverage": coverage_page(map(load_profile, profile_names()), JUDGED)}


@pytest.mark.parametrize("name", [*profile_names(), "coverage"])
def test_page_is_what_the_profile_says(name: str) -> None:
    told = f"make it anew: headwall law page {name} > docs/codes/{name}.md"
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == made()[name], told


def test_there_is_no_page_of_a_code_that_is_gone() -> None:
    assert {page.stem for page in DOCS.glob("*.md")} == {*made(), "README"}


@pytest.mark.parametrize("name", profile_names())
def test_page_shows_every_provision_with_section_and_doubts(name: str) -> None:
    page = made()[name]
    for each in load_profile(name).provisions:
        assert f"### {each.citation}: {each.subject}\n\n{each.requirement}\n" in page
        assert each.confidence_text in page
        assert all(doubt.replace("|", "\\|") in page for doubt in (*each.ambiguities, each.incomplete))


def test_every_row_of_the_analysis_has_a_provision_and_no_provision_a_row_that_is_none() -> None:
    profiles = [load_profile(name) for name in profile_names()]
    found = coverage(profiles, JUDGED)
    assert [each.row for each in found] == list(analysis_rows())
    assert {row for profile in profiles for each in profile.provisions for row in each.covers} == set(analysis_rows())


def test_analysis_has_its_179_rows() -> None:
    counts = Counter(row[:3] for row in analysis_rows())
    assert counts == {"HIL": 41, "BAY": 27, "ELM": 46, "NCA": 45, "HOR": 20}
    assert counts.total() == 179


def test_row_is_implemented_only_where_a_rule_judges_it() -> None:
    profiles = [load_profile(name) for name in profile_names()]
    states = {each.row: each.state for each in coverage(profiles, {"storm_report"})}
    assert [row for row, state in states.items() if state == "implemented"] == ["ELM-10"]
    without = {each.row: each.state for each in coverage(profiles, ())}
    assert without["ELM-10"] == "not yet"
    assert "implemented" not in without.values()


def test_row_that_a_sensor_or_a_clock_decides_is_never_mere_information() -> None:
    profiles = [load_profile(name) for name in profile_names()]
    shown = [each.row for each in coverage(profiles, JUDGED) if each.state == "information"]
    # an interceptor's level, an inspection program's ranking: a sensor may help, the code asks nothing of it
    assert {row for row in shown if {"sensor", "clock"} & set(analysis_rows()[row])} == {"HIL-09", "NCA-19"}


def test_rows_of_the_pages_have_five_columns() -> None:
    rows = [line for line in made()["coverage"].splitlines() if re.match(r"\| [A-Z]{3}-", line)]
    assert len(rows) == 179
    assert {len(re.split(r"(?<!\\)\|", row)) - 2 for row in rows} == {5}
