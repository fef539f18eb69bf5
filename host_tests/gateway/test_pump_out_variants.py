"""Other authorities' distances at a pump-out (3 and 12 in, 6 and 12 in) are data: the same functions take them."""

from __future__ import annotations

import pytest
from headwall.derive.septic import Limits, within
from headwall.hydrology.septic import Tank, scum_clearance_m, sludge_clearance_m
from headwall.law.provisions import SepticPumpOut
from headwall.units import parse_depth
from pydantic import TypeAdapter, ValidationError

IN = 0.0254
TANK = Tank(floor_m=48 * IN, baffle_m=16 * IN)
SCUM, SLUDGE = ((name, SepticPumpOut.model_fields[name]) for name in ("scum_clearance", "sludge_clearance"))


@pytest.mark.parametrize(
    ("scum_limit", "sludge_limit", "scum_bottom_in", "sludge_in", "pump"),
    [
        ("3 in", "12 in", 13, 0, (True, False)),
        ("3 in", "12 in", 12.9, 20, (False, True)),
        ("3 in", "12 in", 12.9, 19.9, (False, False)),
        ("6 in", "12 in", 10, 19.9, (True, False)),
        ("6 in", "12 in", 9.9, 20, (False, True)),
        ("6 in", "12 in", 9.9, 19.9, (False, False)),
        ("3 in", "10 in", 12.9, 20, (False, False)),
    ],
)
def test_a_pump_out_is_due_at_the_distances_that_are_given_and_not_before(
    scum_limit: str, sludge_limit: str, scum_bottom_in: float, sludge_in: float, pump: tuple[bool, bool]
) -> None:
    limits = Limits(*(float(parse_depth(text).mm) / 1000 for text in (scum_limit, sludge_limit)))
    scum, sludge = scum_clearance_m(TANK, scum_bottom_in * IN), sludge_clearance_m(TANK, sludge_in * IN)
    assert (within(scum, limits.scum_m), within(sludge, limits.sludge_m)) == pump


@pytest.mark.parametrize("text", ["3 in", "6 in", "12 in", "300 mm"])
def test_a_clause_carries_any_distance(text: str) -> None:
    for _, field in (SCUM, SLUDGE):
        assert TypeAdapter(field.rebuild_annotation()).validate_python(text) == text


@pytest.mark.parametrize("text", ["25 %", "0.25", "1/4"])
def test_a_clause_cannot_carry_a_share_of_the_depth_and_says_so(text: str) -> None:
    """A share needs to say of which depth, and of sludge alone or with the scum: no code of the profiles has one."""
    for _, field in (SCUM, SLUDGE):
        with pytest.raises(ValidationError):
            TypeAdapter(field.rebuild_annotation()).validate_python(text)
