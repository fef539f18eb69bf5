"""Flow in circular pipes that run partly full: Manning's equation, and velocity times wetted area. SI units.

With the angle theta = 2 acos(1 - 2 y / D): area D² (theta - sin theta) / 8, wetted perimeter D theta / 2 (Chow,
Open-Channel Hydraulics, 1959, table 2-1 and section 6-4). Flow is greatest at y / D = 0.938, 1.076 times that of the
full pipe; above y / D of 0.8196, where it equals the full flow, one flow has two depths. A pipe that is full is
surcharged: its flow is driven by pressure that a depth does not show.
"""

from __future__ import annotations

from math import acos, isnan, pi, sin, sqrt

from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived, is_number, is_size


def wetted_area_m2(depth_m: float, diameter_m: float) -> float:
    """Area of the water in a pipe.

    Raises:
        InputError: a depth outside 0 to the diameter, or a diameter that is none.
    """
    _check(depth_m, diameter_m)
    theta = _theta(depth_m, diameter_m)
    return diameter_m**2 * (theta - sin(theta)) / 8


def hydraulic_radius_m(depth_m: float, diameter_m: float) -> float:
    """Wetted area over wetted perimeter; 0 in a dry pipe. Raises as wetted_area_m2 does."""
    _check(depth_m, diameter_m)
    theta = _theta(depth_m, diameter_m)
    return wetted_area_m2(depth_m, diameter_m) / (diameter_m * theta / 2) if theta else 0.0


def full_flow_m3_s(diameter_m: float, slope: float, n: float) -> float:
    """Manning's flow of the full pipe without pressure: A R^(2/3) S^(1/2) / n."""
    _check_channel(slope, n)
    _check(0.0, diameter_m)
    return float(pi * diameter_m**2 / 4 * (diameter_m / 4) ** (2 / 3) * sqrt(slope) / n)


def manning_m3_s(depth_m: float, diameter_m: float, slope: float, n: float) -> Derived:
    """Flow at a depth by Manning's equation, for steady uniform flow.

    Args:
        depth_m: y, above the invert.
        slope: of the energy line, m per m; that of the pipe where flow is uniform.
        n: Manning's roughness, as 0.013 for concrete.

    Raises:
        InputError: a diameter, slope or roughness that cannot be.
    """
    _check_channel(slope, n)
    _check(0.0, diameter_m)
    if isnan(depth_m):
        return MISSING
    if depth_m >= diameter_m:
        return Derived(None, "surcharged")
    if depth_m < 0:
        return Derived(None, "below_range", 0.0)
    area = wetted_area_m2(depth_m, diameter_m)
    return Derived(area * hydraulic_radius_m(depth_m, diameter_m) ** (2 / 3) * sqrt(slope) / n)


def area_velocity_m3_s(depth_m: float, diameter_m: float, velocity_m_s: float) -> Derived:
    """Mean velocity times wetted area. A full pipe counts: its velocity is measured. Backflow keeps its sign.

    Raises:
        InputError: a diameter that cannot be.
    """
    _check(0.0, diameter_m)
    if isnan(depth_m) or not is_number(velocity_m_s):
        return MISSING
    if depth_m < 0:
        return Derived(None, "below_range", 0.0)
    return Derived(wetted_area_m2(min(depth_m, diameter_m), diameter_m) * velocity_m_s)


def _theta(depth_m: float, diameter_m: float) -> float:
    return 2 * acos(1 - 2 * depth_m / diameter_m)


def _check(depth_m: float, diameter_m: float) -> None:
    if not is_size(diameter_m):
        raise InputError(f"a pipe of diameter {diameter_m:g} m; give its inner diameter in metres")
    if not 0 <= depth_m <= diameter_m:
        raise InputError(f"a depth of {depth_m:g} m is not within a pipe of {diameter_m:g} m")


def _check_channel(slope: float, n: float) -> None:
    if not (is_size(slope) and is_size(n)):
        raise InputError(f"slope {slope:g} and roughness {n:g} must both be greater than 0, and numbers")
