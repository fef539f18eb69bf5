from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from headwall import units
from headwall.errors import InputError
from hypothesis import given
from hypothesis import strategies as st

HALF_INCH = units.parse_depth("0.5 in")


def test_half_an_inch_is_12_7_mm_exactly() -> None:
    assert units.parse_depth("12.7 mm") == HALF_INCH
    assert (HALF_INCH.text_in, HALF_INCH.text_mm, str(HALF_INCH)) == ("0.5", "12.7", "0.5 in (12.7 mm)")


@pytest.mark.parametrize(
    ("tip", "tips"), [("0.01 in", 50), ("0.254 mm", 50), ("0.2 mm", 64), ("0.1 mm", 127), ("0.2794 mm", 46)]
)
def test_threshold_is_reached_at_this_tip_and_not_one_before(tip: str, tips: int) -> None:
    quantum = units.parse_depth(tip)
    assert units.quanta_to_reach(HALF_INCH, quantum) == tips
    assert quantum * (tips - 1) < HALF_INCH <= quantum * tips


def test_twenty_five_tips_of_a_quarter_millimetre_make_6_35_mm() -> None:
    total = units.Depth(Fraction(0))
    for _ in range(25):
        total += units.parse_depth("0.254 mm")
    assert total == units.parse_depth("6.35 mm")
    assert total.text_mm == "6.35"


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        ("25.4", "mm/h", "in/h", Fraction(1)),
        ("1", "in", "mm", Fraction(254, 10)),
        ("12", "in", "ft", Fraction(1)),
        ("1", "gal", "L", Fraction(3785411784, 1000000000)),
        ("1", "cfs", "m3/s", Fraction(28316846592, 1000000000000)),
        ("1", "ft3", "gal", Fraction(1728, 231)),
    ],
)
def test_conversion_is_exact(value: str, unit: str, to: str, expected: Fraction) -> None:
    assert units.convert(Decimal(value), unit, to) == expected


def test_unlike_units_are_refused() -> None:
    with pytest.raises(InputError, match="gal cannot be turned into mm"):
        units.convert(1, "gal", "mm")
    with pytest.raises(InputError, match="unknown unit 'furlong'"):
        units.convert(1, "furlong", "mm")


@pytest.mark.parametrize("text", ["", "in", "0.5", "0.5 ft", "-1 in", "1e-2 in", "0.5 in in", "½ in", "nan mm"])
def test_text_that_is_no_depth_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"in or mm|is not a depth"):
        units.parse_depth(text)


@pytest.mark.parametrize(("text", "minutes"), [("30m", 30), ("30 min", 30), ("6h", 360), ("7 d", 10080), ("0min", 0)])
def test_duration_is_read_in_its_usual_spellings(text: str, minutes: int) -> None:
    assert units.parse_duration_us(text) == minutes * 60_000_000


@pytest.mark.parametrize("text", ["", "30", "soon", "-5m", "1.5h", "6 hours", "1h30m", "9" * 40 + "d"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no duration"):
        units.parse_duration_us(text)


@pytest.mark.parametrize("text", ["0.01in", "0.01 inch", ".01 inches", ' 0.01 "', "0.254mm", "0.254 millimetres"])
def test_usual_spellings_of_one_tip_are_one_depth(text: str) -> None:
    assert units.parse_depth(text) == units.parse_depth("0.01 in")


def test_depth_just_below_the_threshold_never_reads_as_the_threshold() -> None:
    below = units.parse_depth("12.699999999999 mm")
    assert below < HALF_INCH
    assert below.text_in == "0.499999"


@given(st.integers(0, 10**9), st.integers(0, 9))
def test_decimal_text_of_an_exact_decimal_reads_back_as_the_same_number(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    text = units.decimal_text(value)
    assert Fraction(text) == value
    assert not ("." in text and text.endswith(("0", ".")))


@given(st.fractions(min_value=0, max_value=1000))
def test_decimal_text_is_never_more_than_the_value(value: Fraction) -> None:
    assert 0 <= value - Fraction(units.decimal_text(value)) < Fraction(1, 10**6)
