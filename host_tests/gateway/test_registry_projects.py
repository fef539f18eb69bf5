"""Projects of construction sites in the registry: dated, checked against their code, and never guessed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from headwall.errors import ConfigurationError, InputError
from headwall.registry import Registry
from headwall.units import parse_area
from hypothesis import given
from hypothesis import strategies as st
from support.rules_house import at, make_registry

_ACRE = 43_560


def _project(*more: str) -> str:
    return "\n".join(["[[sites.projects]]", 'name = "Phase 1"', "from = 2026-01-01", *more, ""])


def _made(folder: Path, *more: str) -> Registry:
    return make_registry(folder, more=_project(*more))


def _faults(folder: Path, *more: str) -> str:
    with pytest.raises(ConfigurationError) as raised:
        _made(folder, *more)
    return "; ".join(raised.value.faults)


def test_an_open_area_holds_for_its_dates_and_is_not_known_between(tmp_path: Path) -> None:
    registry = _made(
        tmp_path,
        'area = "6.2 acres"',
        'open = [{ area = "2 acres", by = "Bella", from = 2026-03-01, to = 2026-04-01 }]',
    )
    project = registry.project_at("yard", at("2026-03-15 12:00"))
    assert project is not None
    assert project.area == Fraction(62, 10) * _ACRE
    open_then = project.open_at(at("2026-03-15 12:00"))
    assert open_then is not None
    assert parse_area(open_then.area) == 2 * _ACRE
    assert project.open_at(at("2026-04-15 12:00")) is None


def test_a_project_is_the_sites_for_its_dates_alone(tmp_path: Path) -> None:
    registry = _made(tmp_path, "to = 2026-09-01", 'area = "1 acre"')
    assert registry.project_at("yard", at("2025-12-31 12:00")) is None
    assert registry.project_at("yard", at("2026-09-01 12:00")) is None
    assert registry.project_at("yard", at("2026-08-31 12:00")) is not None


def test_dates_without_a_time_are_local_midnight(tmp_path: Path) -> None:
    registry = _made(tmp_path, 'area = "1 acre"', "start_of_work = 2026-06-01", "final_stabilization = 2026-12-01")
    project = registry.project_at("yard", at("2026-06-15 12:00"))
    assert project is not None
    assert project.start_us == at("2026-06-01 04:00")  # summer time
    assert project.stabilised_us == at("2026-12-01 05:00")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('area = "6.2"', "no area"),
        ('area = "1 acre"\nstages = [{ stage = "lunch", planned = 2026-07-01 }]', "stage 'lunch' is none of its code"),
        ('area = "1 acre"\nconditions = [{ met = ["E"], by = "O", from = 2026-01-01 }]', "condition E is none"),
        ('area = "1 acre"\nexempt = "it is small"\nexempt_by = "O"', "no exemption of its code"),
        ('area = "1 acre"\nexempt = "cemetery graves"', "exempt_by"),
        ('area = "1 acre"\ncommon_plan = "Riverside"', "common_area"),
        ('area = "1 acre"\nfinal_stabilization = 2026-12-01', "start_of_work"),
        (
            'area = "1 acre"\nopen = [{ area = "1 acre", by = "O", from = 2026-01-01 },'
            ' { area = "2 acres", by = "O", from = 2026-02-01 }]',
            "overlap",
        ),
    ],
)
def test_what_does_not_hold_together_is_told(tmp_path: Path, line: str, said: str) -> None:
    assert said in _faults(tmp_path, line)


def test_a_project_belongs_to_a_construction_site(tmp_path: Path) -> None:
    outfall = """
[[sites]]
id = "pipe"
kind = "outfall"
name = "Pipe"
place = "river"
municipality = "elmsford"
status = [{ status = "active", from = 2020-01-01, by = "Olive" }]
"""
    with pytest.raises(ConfigurationError) as raised:
        make_registry(tmp_path, more=outfall + _project('area = "1 acre"'))
    assert "projects` are of construction sites" in str(raised.value.faults)


@given(whole=st.integers(0, 9_999_999), thousandths=st.integers(0, 999))
def test_areas_are_exact_in_both_units(whole: int, thousandths: int) -> None:
    number = f"{whole}.{thousandths:03}"
    assert parse_area(f"{number} acres") == _ACRE * parse_area(f"{number} sq ft")


@pytest.mark.parametrize("text", ["", "5", "5 ac", "-1 acre", "1e3 acres", "5 acres of mud"])
def test_what_is_no_area_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no area"):
        parse_area(text)
