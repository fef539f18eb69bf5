"""Values as an officer reads them."""

from __future__ import annotations

import pytest
from headwall.hydrology.derived import Derived
from headwall.officer_units import shown, shown_derived


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0254, "m", "1 in"),
        (-0.0254, "m", "-1 in"),
        (3.047, "m", "120 in"),
        (3.048, "m", "10 ft"),
        (0.003785411784, "m3", "1 gal"),
        (500.0, "m3", "132,000 gal"),
        (0.0, "m3/s", "0 gpm"),
        (0.02831, "m3/s", "449 gpm"),
        (0.028316846592, "m3/s", "1 cfs"),
        (10.0, "Cel", "50 °F"),
        (-40.0, "Cel", "-40 °F"),
        (0.9, "K", "1.6 °F"),
        (0.0312, "S/m", "312 µS/cm"),
        (7.25, "pH", "7.25 pH"),
    ],
)
def test_each_quantity_has_its_unit(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_a_value_that_is_none_says_why_and_its_limit() -> None:
    assert shown_derived(Derived(0.0254), "m") == "1 in"
    assert shown_derived(Derived(None, "below_range", 0.0254), "m") == "< 1 in (below its range)"
    assert shown_derived(Derived(None, "surcharged"), "m3/s") == "the pipe runs full"
