"""Weirs, flumes, pipes and rating tables against published values, their ranges from both sides, and monotony."""

from __future__ import annotations

from collections.abc import Callable
from math import acos

import pytest
from headwall.errors import InputError
from headwall.hydrology.derived import Derived
from headwall.hydrology.flume import PARSHALL, parshall_m3_s
from headwall.hydrology.pipe import (
    area_velocity_m3_s,
    full_flow_m3_s,
    hydraulic_radius_m,
    manning_m3_s,
    wetted_area_m2,
)
from headwall.hydrology.rating import RatingTable
from headwall.hydrology.weir import CFS_M3_S, FT_M, LOWEST_HEAD_M, cipolletti_m3_s, rectangular_m3_s, v_notch_m3_s
from hypothesis import given
from hypothesis import strategies as st

IN_M = 0.0254


def cfs(found: Derived) -> float:
    assert found.value is not None, found
    return found.value / CFS_M3_S


@pytest.mark.parametrize(
    ("head_ft", "flow_cfs"),
    [(0.2, 0.0459), (0.3, 0.1248), (0.5, 0.4434), (0.75, 1.2161), (1.0, 2.4904), (1.25, 4.3443)],
)
def test_v_notch_of_90_degrees_gives_the_kindsvater_shen_values(head_ft: float, flow_cfs: float) -> None:
    assert cfs(v_notch_m3_s(head_ft * FT_M, 90)) == pytest.approx(flow_cfs, rel=1.5e-3)


@pytest.mark.parametrize(
    ("head_ft", "flow_cfs"),
    [(0.2, 0.0460), (0.3, 0.1257), (0.5, 0.4463), (0.75, 1.2200), (1.0, 2.4900), (1.25, 4.3305)],
)
def test_v_notch_of_90_degrees_is_within_one_percent_of_the_bureaus_rating(head_ft: float, flow_cfs: float) -> None:
    """USBR 2.49 h^2.48, made by other experiments."""
    assert cfs(v_notch_m3_s(head_ft * FT_M, 90)) == pytest.approx(flow_cfs, rel=0.01)


@pytest.mark.parametrize(("head_m", "flow_l_s"), [(0.10, 4.4126), (0.20, 24.689), (0.30, 67.785)])
def test_v_notch_of_90_degrees_in_si(head_m: float, flow_l_s: float) -> None:
    found = v_notch_m3_s(head_m, 90).value
    assert found is not None and found * 1000 == pytest.approx(flow_l_s, rel=1.5e-3)


@pytest.mark.parametrize(("head_ft", "flow_cfs"), [(0.25, 0.0451), (0.30, 0.0711), (0.50, 0.2551), (1.0, 1.443)])
def test_v_notch_of_60_degrees_is_within_three_percent_of_the_published_power_law(
    head_ft: float, flow_cfs: float
) -> None:
    assert cfs(v_notch_m3_s(head_ft * FT_M, 60)) == pytest.approx(flow_cfs, rel=0.03)


def test_straight_weirs_of_two_feet_at_half_a_foot() -> None:
    head, length = 0.5 * FT_M, 2 * FT_M
    assert cfs(rectangular_m3_s(head, length, contracted=False)) == pytest.approx(2.3547, abs=5e-5)
    assert cfs(rectangular_m3_s(head, length, contracted=True)) == pytest.approx(2.2369, abs=5e-5)
    assert cfs(cipolletti_m3_s(head, length)) == pytest.approx(2.3808, abs=5e-5)


@pytest.mark.parametrize(("head_m", "length_m"), [(0.08, 0.6), (0.15, 0.6), (0.3, 0.9), (0.5, 3.0)])
def test_straight_weirs_in_si(head_m: float, length_m: float) -> None:
    """Within 0.2 % of the SI forms, 1.84 (L - 0.2 h) h^1.5 and for Cipolletti 1.86 L h^1.5.

    M. G. Bos (ed.), Discharge Measurement Structures, ILRI publication 20, 1989, sections 5.1 and 5.3.
    """
    suppressed = 1.84 * length_m * head_m**1.5
    contracted = 1.84 * (length_m - 0.2 * head_m) * head_m**1.5
    assert rectangular_m3_s(head_m, length_m, contracted=False).value == pytest.approx(suppressed, rel=2e-3)
    assert rectangular_m3_s(head_m, length_m, contracted=True).value == pytest.approx(contracted, rel=2e-3)
    assert cipolletti_m3_s(head_m, length_m).value == pytest.approx(1.86 * length_m * head_m**1.5, rel=2e-3)


@pytest.mark.parametrize(
    ("weir", "highest_m"),
    [
        (lambda head: v_notch_m3_s(head, 90), 1.25 * FT_M),
        (lambda head: v_notch_m3_s(head, 25), 1.25 * FT_M),
        (lambda head: v_notch_m3_s(head, 100), 1.25 * FT_M),
        (lambda head: rectangular_m3_s(head, 0.9, contracted=True), 0.3),
        (lambda head: rectangular_m3_s(head, 0.9, contracted=False), 0.3),
        (lambda head: cipolletti_m3_s(head, 0.9), 0.3),
    ],
)
def test_weir_outside_its_heads_is_censored_and_never_clamped(
    weir: Callable[[float], Derived], highest_m: float
) -> None:
    lowest, highest = weir(LOWEST_HEAD_M), weir(highest_m)
    assert lowest.value is not None and highest.value is not None
    below, above = weir(LOWEST_HEAD_M - 1e-6), weir(highest_m + 1e-6)
    assert below == Derived(None, "below_range", lowest.value) and below.censored == "<"
    assert above == Derived(None, "above_range", highest.value) and above.censored == ">"


def test_weir_with_tailwater_at_the_crest_is_submerged() -> None:
    assert v_notch_m3_s(0.2, 90, tailwater_m=-0.05) == Derived(None, "submerged")
    assert v_notch_m3_s(0.2, 90, tailwater_m=-0.07).value is not None
    assert rectangular_m3_s(0.2, 1, contracted=True, tailwater_m=0.01).flag == "submerged"
    assert cipolletti_m3_s(0.2, 1, tailwater_m=-0.01).flag is None


def test_tailwater_may_come_to_a_fifth_of_a_foot_below_a_notch_and_to_a_straight_crest() -> None:
    clear, crest = -0.2 * FT_M, 0.0
    assert v_notch_m3_s(0.2, 90, tailwater_m=clear).value is not None
    assert v_notch_m3_s(0.2, 90, tailwater_m=clear + 1e-6).flag == "submerged"
    for contracted in (True, False):
        assert rectangular_m3_s(0.2, 1, contracted=contracted, tailwater_m=crest).value is not None
        assert rectangular_m3_s(0.2, 1, contracted=contracted, tailwater_m=1e-6).flag == "submerged"
    assert cipolletti_m3_s(0.2, 1, tailwater_m=crest).value is not None
    assert cipolletti_m3_s(0.2, 1, tailwater_m=1e-6).flag == "submerged"


@pytest.mark.parametrize("angle", [24.9, 100.1])
def test_notch_of_an_angle_outside_the_relation_is_refused(angle: float) -> None:
    with pytest.raises(InputError, match="25° to 100°"):
        v_notch_m3_s(0.2, angle)


@pytest.mark.parametrize(
    ("throat", "head_ft", "flow_cfs"),
    [
        ("3 in", 1.0, 0.992),
        ("6 in", 1.0, 2.06),
        ("9 in", 1.0, 3.07),
        ("1 ft", 1.0, 4.0),
        ("2 ft", 1.0, 8.0),
        ("1 ft", 2.5, 16.1),
        ("2 ft", 2.5, 33.1),
        ("9 in", 2.0, 8.87),
    ],
)
def test_parshall_flumes_by_throat(throat: str, head_ft: float, flow_cfs: float) -> None:
    assert cfs(parshall_m3_s(head_ft * FT_M, throat)) == pytest.approx(flow_cfs, rel=3e-3)


@pytest.mark.parametrize(
    ("throat", "c", "n"),
    [
        ("3 in", 0.1771, 1.550),
        ("6 in", 0.3812, 1.580),
        ("9 in", 0.5354, 1.530),
        ("1 ft", 0.6909, 1.522),
        ("1.5 ft", 1.056, 1.538),
        ("2 ft", 1.428, 1.550),
        ("3 ft", 2.184, 1.566),
        ("4 ft", 2.953, 1.578),
        ("6 ft", 4.519, 1.595),
        ("8 ft", 6.112, 1.607),
    ],
)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_parshall_flumes_in_si_over_their_whole_range(throat: str, c: float, n: float, share: float) -> None:
    """Q = c h^n in m and m³/s (Bos, as above, section 7.4): within 0.2 %, that of 3 in, whose n differs, within 1 %."""
    size = PARSHALL[throat]
    head_m = (size.lowest_ft + share * (size.highest_ft - size.lowest_ft)) * FT_M
    found = parshall_m3_s(head_m, throat)
    expected = found.value if found.value is not None else found.limit  # the ends, as floats round them
    assert expected == pytest.approx(c * head_m**n, rel=0.01 if throat == "3 in" else 2e-3)


def test_parshall_flume_of_two_feet_passes_three_quarters_of_a_cubic_metre_at_66_centimetres() -> None:
    assert parshall_m3_s(0.66, "2 ft").value == pytest.approx(0.75, rel=0.01)


@pytest.mark.parametrize("throat", PARSHALL)
def test_parshall_flume_outside_its_range_or_submerged_gives_no_flow(throat: str) -> None:
    size = PARSHALL[throat]
    assert parshall_m3_s(size.lowest_ft * FT_M * 1.000001, throat).value is not None
    assert parshall_m3_s(size.lowest_ft * FT_M * 0.999, throat).censored == "<"
    assert parshall_m3_s(size.highest_ft * FT_M * 0.999999, throat).value is not None
    assert parshall_m3_s(size.highest_ft * FT_M * 1.001, throat).censored == ">"
    head = size.highest_ft * FT_M / 2
    assert parshall_m3_s(head, throat, head * (size.submergence + 0.01)).flag == "submerged"
    assert parshall_m3_s(head, throat, head * (size.submergence - 0.01)).flag is None


def test_parshall_flume_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(InputError, match="known throats: 3 in"):
        parshall_m3_s(0.2, "5 in")


@pytest.mark.parametrize(
    ("share", "flow_share"),
    [(0.10, 0.0209), (0.25, 0.1370), (0.50, 0.5000), (0.75, 0.9119), (0.938, 1.0757), (0.999999, 1.0)],
)
def test_partly_full_pipe_carries_its_share_of_the_full_flow(share: float, flow_share: float) -> None:
    found = manning_m3_s(share * 0.3, 0.3, 0.01, 0.013).value
    assert found is not None
    assert found / full_flow_m3_s(0.3, 0.01, 0.013) == pytest.approx(flow_share, abs=1e-3 if share > 0.99 else 6e-5)


def test_pipe_carries_its_full_flow_at_two_depths() -> None:
    """At 0.8196 of the diameter (Chow, appendix A) and full; between them more, so a flow has two depths."""
    full = full_flow_m3_s(0.3, 0.01, 0.013)
    below, at, above = (manning_m3_s(0.3 * share, 0.3, 0.01, 0.013).value for share in (0.8190, 0.8196, 0.8205))
    assert at == pytest.approx(full, rel=1e-4)
    assert below is not None and above is not None and below < full < above


@pytest.mark.parametrize(("diameter_in", "slope", "n"), [(8, 0.004, 0.013), (15, 0.0015, 0.011), (24, 0.02, 0.024)])
def test_full_pipe_is_that_of_the_formula_in_feet(diameter_in: float, slope: float, n: float) -> None:
    """Q = 0.463 / n D^(8/3) S^(1/2) in ft and cfs, the form of design manuals."""
    expected = 0.463 / n * (diameter_in / 12) ** (8 / 3) * slope**0.5
    assert full_flow_m3_s(diameter_in * IN_M, slope, n) / CFS_M3_S == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("depth_m", [0.03, 0.1, 0.225, 0.3, 0.44])
def test_wetted_area_is_that_of_the_segment_and_its_radius_that_of_the_arc(depth_m: float) -> None:
    """The other form: r² acos((r - y) / r) - (r - y) sqrt(2 r y - y²), over the arc 2 r acos((r - y) / r)."""
    r = 0.225
    arc = acos((r - depth_m) / r)
    area = r**2 * arc - (r - depth_m) * (2 * r * depth_m - depth_m**2) ** 0.5
    assert wetted_area_m2(depth_m, 2 * r) == pytest.approx(area)
    assert hydraulic_radius_m(depth_m, 2 * r) == pytest.approx(area / (2 * r * arc))


@pytest.mark.parametrize("depth_m", [-1e-9, 0.300001])
def test_depth_outside_a_pipe_has_no_area(depth_m: float) -> None:
    assert wetted_area_m2(0, 0.3) == 0
    assert wetted_area_m2(0.3, 0.3) == pytest.approx(0.0706858, abs=5e-8)
    with pytest.raises(InputError, match="is not within a pipe"):
        wetted_area_m2(depth_m, 0.3)


def test_twelve_inch_pipe_at_one_percent() -> None:
    assert full_flow_m3_s(12 * IN_M, 0.01, 0.013) / CFS_M3_S == pytest.approx(3.5628, rel=3e-4)
    assert cfs(manning_m3_s(6 * IN_M, 12 * IN_M, 0.01, 0.013)) == pytest.approx(1.7814, rel=3e-4)


def test_pipe_that_is_full_is_surcharged_and_has_no_flow_by_depth() -> None:
    assert manning_m3_s(0.3, 0.3, 0.01, 0.013) == Derived(None, "surcharged")
    assert manning_m3_s(0.45, 0.3, 0.01, 0.013) == Derived(None, "surcharged")
    assert manning_m3_s(0.2999, 0.3, 0.01, 0.013).value is not None
    assert manning_m3_s(0.0, 0.3, 0.01, 0.013) == Derived(0.0)
    assert manning_m3_s(-0.001, 0.3, 0.01, 0.013) == Derived(None, "below_range", 0.0)


def test_area_velocity_in_a_pipe_of_45_centimetres() -> None:
    assert wetted_area_m2(0.20, 0.45) == pytest.approx(0.068295, abs=5e-7)
    assert area_velocity_m3_s(0.20, 0.45, 0.8).value == pytest.approx(0.054636, abs=5e-7)
    assert area_velocity_m3_s(0.20, 0.45, -0.8).value == pytest.approx(-0.054636, abs=5e-7)
    assert area_velocity_m3_s(0.60, 0.45, 1.0).value == pytest.approx(0.159043, abs=5e-7)
    assert area_velocity_m3_s(-0.01, 0.45, 0.1).flag == "below_range"


def test_half_full_pipe_has_half_the_area_and_a_quarter_of_the_diameter_as_radius() -> None:
    assert wetted_area_m2(0.5, 1.0) == pytest.approx(0.392699, abs=5e-7)
    assert hydraulic_radius_m(0.5, 1.0) == pytest.approx(0.25)
    assert hydraulic_radius_m(1.0, 1.0) == pytest.approx(0.25)
    assert hydraulic_radius_m(0.0, 1.0) == 0.0


@pytest.mark.parametrize(("diameter", "slope", "n"), [(0.0, 0.01, 0.013), (0.3, 0.0, 0.013), (0.3, 0.01, 0.0)])
def test_pipe_that_cannot_be_is_refused(diameter: float, slope: float, n: float) -> None:
    with pytest.raises(InputError):
        full_flow_m3_s(diameter, slope, n)


def test_rating_table_follows_a_power_law_between_its_points() -> None:
    table = RatingTable([(0.2, 1.5 * 0.1**2), (0.5, 1.5 * 0.4**2), (1.1, 1.5)], offset_m=0.1)
    for stage in (0.2, 0.3, 0.5, 0.77, 1.1):
        assert table.flow_m3_s(stage).value == pytest.approx(1.5 * (stage - 0.1) ** 2)
    assert table.flow_m3_s(0.199) == Derived(None, "below_range", table.points[0][1])
    assert table.flow_m3_s(1.101) == Derived(None, "above_range", 1.5)


@pytest.mark.parametrize(
    ("points", "offset", "part"),
    [
        ([(0.1, 1.0)], 0.0, "two points"),
        ([(0.1, 1.0), (0.2, 1.0)], 0.0, "must rise"),
        ([(0.2, 1.0), (0.1, 2.0)], 0.0, "must rise"),
        ([(0.1, 1.0), (0.2, 2.0)], 0.1, "above the stage of zero flow"),
        ([(0.1, 0.0), (0.2, 2.0)], 0.0, "above the stage of zero flow"),
    ],
)
def test_rating_table_that_does_not_hold_together_is_refused(
    points: list[tuple[float, float]], offset: float, part: str
) -> None:
    with pytest.raises(InputError, match=part):
        RatingTable(points, offset)


heads = st.floats(0, 3, allow_nan=False)
FORMULAS: list[Callable[[float], Derived]] = [
    *(lambda head, angle=angle: v_notch_m3_s(head, angle) for angle in (25, 60, 90, 100)),  # type: ignore[misc]
    lambda head: rectangular_m3_s(head, 1.2, contracted=True),
    lambda head: rectangular_m3_s(head, 1.2, contracted=False),
    lambda head: cipolletti_m3_s(head, 1.2),
    *(lambda head, throat=throat: parshall_m3_s(head, throat) for throat in PARSHALL),  # type: ignore[misc]
    lambda head: manning_m3_s(head * 0.8 / 3, 0.9, 0.01, 0.013),
    lambda head: area_velocity_m3_s(head, 3.0, 0.5),
    RatingTable([(0.1, 0.01), (0.5, 0.3), (2.0, 4.0)]).flow_m3_s,
]


@pytest.mark.parametrize("formula", FORMULAS)
@given(st.tuples(heads, heads).map(sorted))
def test_more_head_is_never_less_flow(formula: Callable[[float], Derived], pair: list[float]) -> None:
    low, high = formula(pair[0]), formula(pair[1])
    if low.value is not None and high.value is not None:
        assert 0 <= low.value <= high.value * (1 + 1e-12)
    assert (low.value is None) == (low.flag is not None)
