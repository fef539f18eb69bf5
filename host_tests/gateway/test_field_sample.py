"""A sample taken by hand at an outfall: both sides of each level, non-detects, and what the flow chart proposes."""

from __future__ import annotations

from math import inf, isfinite, nan

import pytest
from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived
from headwall.hydrology.field_sample import (
    RESIDENTIAL,
    UNITS,
    Parameter,
    Sample,
    action_levels,
    ammonia_to_potassium,
    propose,
    result,
)
from hypothesis import given
from hypothesis import strategies as st


def sample(**told: str) -> Sample:
    return {of: result(of, told[of]) for of in UNITS if of in told}


def reached(**told: str) -> list[bool | None]:
    return [each.reached for each in action_levels(sample(**told))]


# ---- results


def test_a_non_detect_is_below_its_limit_and_no_number() -> None:
    assert result("ammonia", "3.2") == Derived(3.2)
    assert result("ammonia", " < 0.05 ") == Derived(None, "below_range", 0.05)
    assert result("turbidity", ">1000") == Derived(None, "above_range", 1000)
    assert result("potassium", "0") == Derived(0.0)


@pytest.mark.parametrize("text", ["", "-1", "nd", "<", "<-1", "1e3", "3,2", "3 mg/L", "<<1", "1 2", "nan", "²"])
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no result"):
        result("ammonia", text)


def test_results_that_cannot_be_are_refused() -> None:
    assert result("ph", "14") == Derived(14.0)
    with pytest.raises(InputError, match="ends at 14"):
        result("ph", "14.1")
    with pytest.raises(InputError, match="the least that the test detects"):
        result("fluoride", "<0.00")


# ---- action levels


@pytest.mark.parametrize(
    ("of", "at", "short"),
    [
        ("ammonia", "50", "49.9"),
        ("conductivity", "2000", "1999"),
        ("potassium", "20", "19.9"),
        ("turbidity", "1000", "999"),
    ],
)
def test_an_action_level_is_reached_by_equality_and_not_below(of: Parameter, at: str, short: str) -> None:
    assert reached(**{of: at}) == [True]
    assert reached(**{of: short}) == [False]


@pytest.mark.parametrize(
    ("ph", "found"),
    [
        ("4.9", [True, False]),
        ("5", [True, False]),
        ("5.1", [False, False]),
        ("8.9", [False, False]),
        ("9", [False, True]),
        ("9.1", [False, True]),
    ],
)
def test_ph_has_a_level_at_5_and_at_9(ph: str, found: list[bool]) -> None:
    assert reached(ph=ph) == found


@pytest.mark.parametrize(
    ("text", "found"), [("<50", False), ("<49", False), ("<50.1", None), (">50", True), (">49", None), (">60", True)]
)
def test_a_censored_result_reaches_a_level_only_where_all_it_may_be_does(text: str, found: bool | None) -> None:
    assert reached(ammonia=text) == [found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<5", [True, False]),
        ("<5.1", [None, False]),
        (">5", [False, None]),
        (">4", [None, None]),
        (">9", [False, True]),
    ],
)
def test_a_censored_ph_is_judged_against_both_levels(text: str, found: list[bool | None]) -> None:
    assert reached(ph=text) == found


def test_what_was_not_tested_is_not_judged() -> None:
    assert reached() == []
    assert reached(fluoride="9", detergents="9") == []


# ---- the flow chart


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"detergents": "0.26", "ammonia": "2.1", "potassium": "2"}, "sewage"),
        ({"detergents": "0.26", "ammonia": "2", "potassium": "2"}, "wash_water"),
        ({"detergents": "0.26", "ammonia": "1.9", "potassium": "2"}, "wash_water"),
        ({"detergents": "0.25", "fluoride": "0.26", "ammonia": "2.1", "potassium": "2"}, "tap_water"),
        ({"detergents": "0.25", "fluoride": "0.25"}, "ground_water"),
        ({"detergents": "<0.05", "fluoride": "<0.1"}, "ground_water"),
        ({"detergents": "<0.25", "fluoride": ">1"}, "tap_water"),
        ({"detergents": ">3", "ammonia": "<0.05", "potassium": "2"}, "wash_water"),
        ({"detergents": ">3", "ammonia": ">10", "potassium": "2"}, "sewage"),
        ({"detergents": "1", "ammonia": "2", "potassium": "<2"}, "sewage"),
        ({"detergents": "1", "ammonia": "<2", "potassium": "2"}, "wash_water"),
    ],
)
def test_the_flow_chart_divides_by_more_than(told: dict[str, str], found: str) -> None:
    assert propose(sample(**told)).likeness == found


@pytest.mark.parametrize(
    ("told", "steps"),
    [
        ({}, ["detergents"]),
        ({"ammonia": "9", "potassium": "1", "fluoride": "1"}, ["detergents"]),
        ({"detergents": "<0.5", "ammonia": "9", "potassium": "1"}, ["detergents"]),
        ({"detergents": "1", "fluoride": "1"}, ["detergents", "ammonia_to_potassium"]),
        ({"detergents": "1", "ammonia": "9", "potassium": "0"}, ["detergents", "ammonia_to_potassium"]),
        ({"detergents": "1", "ammonia": "1", "potassium": "<2"}, ["detergents", "ammonia_to_potassium"]),
        ({"detergents": "1", "ammonia": "<3", "potassium": "2"}, ["detergents", "ammonia_to_potassium"]),
        ({"detergents": "1", "ammonia": "<3", "potassium": "<2"}, ["detergents", "ammonia_to_potassium"]),
        ({"detergents": "0.1"}, ["detergents", "fluoride"]),
        ({"detergents": "0.1", "fluoride": "<0.3"}, ["detergents", "fluoride"]),
    ],
)
def test_what_the_sample_does_not_answer_is_not_told(told: dict[str, str], steps: list[str]) -> None:
    found = propose(sample(**told))
    assert found.likeness == "not_told"
    assert [each.of for each in found.steps] == steps
    assert found.steps[-1].over is None


@pytest.mark.parametrize(
    ("ammonia", "potassium", "ratio"),
    [
        ("3", "2", Derived(1.5)),
        ("0", "2", Derived(0.0)),
        ("3", "<2", Derived(None, "above_range", 1.5)),
        ("3", ">2", Derived(None, "below_range", 1.5)),
        ("<3", "2", Derived(None, "below_range", 1.5)),
        (">3", "2", Derived(None, "above_range", 1.5)),
        ("<3", ">2", Derived(None, "below_range", 1.5)),
        (">3", "<2", Derived(None, "above_range", 1.5)),
        ("3", "0", MISSING),
        ("0", "0", MISSING),
        ("0", "<2", MISSING),
        ("<3", "<2", MISSING),
        (">3", ">2", MISSING),
    ],
)
def test_a_ratio_of_non_detects_is_bounded_and_potassium_of_0_has_none(
    ammonia: str, potassium: str, ratio: Derived
) -> None:
    assert ammonia_to_potassium(sample(ammonia=ammonia, potassium=potassium)) == ratio


def test_the_charts_numbers_are_said_not_to_be_confirmed() -> None:
    assert RESIDENTIAL.confirmed is False
    assert RESIDENTIAL.source


_AMOUNT = st.sampled_from([0.0, 0.05, 0.25, 1.0, 2.0, 9.0])


def _within(value: Derived) -> st.SearchStrategy[Derived]:
    """Numbers for which a result may stand, short of 0: potassium of 0 has no ratio."""
    if value.value is not None or value.limit is None:
        return st.just(value)
    low, high = (1e-6, value.limit) if value.censored == "<" else (value.limit, 1e6)
    ends = st.floats(low, high, exclude_min=value.censored == ">", exclude_max=value.censored == "<")
    return ends.map(Derived)


_VALUE = st.one_of(
    _AMOUNT.map(Derived),
    _AMOUNT.filter(bool).map(lambda limit: Derived(None, "below_range", limit)),
    _AMOUNT.filter(bool).map(lambda limit: Derived(None, "above_range", limit)),
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(UNITS, _VALUE)), st.data())
def test_what_a_censored_sample_tells_every_sample_within_it_tells(told: Sample, data: st.DataObject) -> None:
    """Knowing a value better may answer what was open, and never changes an answer."""
    exact = {of: data.draw(_within(value)) for of, value in told.items()}
    for rough, fine in zip(action_levels(told), action_levels(exact), strict=True):
        assert rough.reached in (None, fine.reached)
        assert fine.reached is not None
    assert propose(told).likeness in ("not_told", propose(exact).likeness)


@given(st.floats(), st.floats(), st.sampled_from([None, "below_range", "above_range", "missing"]))
def test_no_number_that_is_none_is_judged(one: float, other: float, flag: str | None) -> None:
    values = [Derived(each) if flag is None else Derived(None, flag, each) for each in (one, other)]  # type: ignore[arg-type]
    ratio = ammonia_to_potassium({"ammonia": values[0], "potassium": values[1]})
    for each in (ratio.value, ratio.limit):
        assert each is None or (isfinite(each) and each >= 0)
    for bad in (nan, inf, -inf):
        (judged,) = action_levels({"ammonia": Derived(bad)})
        assert judged.reached is None
        assert ammonia_to_potassium({"ammonia": Derived(bad), "potassium": Derived(2.0)}) == MISSING
