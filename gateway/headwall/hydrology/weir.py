"""Discharge over sharp-crested weirs, heads in m and flows in m³/s.

Sources: U.S. Bureau of Reclamation, Water Measurement Manual, 3rd edition (rev. 2001), chapter 7: V-notch 7.7 and
7.9 (Kindsvater-Shen, from Kulin and Compton, NBS 421), rectangular 7.10 (Francis), Cipolletti 7.11. The manual's
constants are for feet; here they carry the feet with them.

Ranges: heads of less than 0.2 ft cling to the plate and are censored; tailwater must stay 0.2 ft below a notch's
vertex and below a straight crest, else the flow is submerged and not computed. A rectangular or Cipolletti weir holds
up to a head of a third of its length.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isnan, radians, sqrt, tan
from typing import Final

from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived, is_size
from headwall.units import FACTORS

FT_M: Final = float(FACTORS["ft"][0])
CFS_M3_S: Final = float(FACTORS["cfs"][0])
_G_FT_S2: Final = 32.174
LOWEST_HEAD_M: Final = 0.2 * FT_M
_CLEARANCE_M: Final = 0.2 * FT_M
V_NOTCH_HIGHEST_HEAD_M: Final = 1.25 * FT_M
V_NOTCH_ANGLES: Final = (25.0, 100.0)
#: Ce and kh in feet of a fully contracted notch by its angle in degrees: polynomials through figures 7-6a and 7-6b
_CE: Final = (0.607165052, -8.74466963e-4, 6.10393334e-6)
_KH_FT: Final = (1.44902648e-2, -3.3955535e-4, 3.29819003e-6, -1.06215442e-8)
_FRANCIS: Final = 3.33
_CIPOLLETTI: Final = 3.367
_STRAIGHT_HEAD_SHARE: Final = 1 / 3


def v_notch_m3_s(head_m: float, angle_deg: float, tailwater_m: float | None = None) -> Derived:
    """Kindsvater-Shen, USBR equation 7-3: Q = 8/15 sqrt(2 g) Ce tan(angle / 2) (h + kh)^2.5.

    Args:
        head_m: of the water above the vertex, measured upstream.
        angle_deg: of the notch, 25 to 100.
        tailwater_m: level below the weir above the vertex (negative below it), if it is measured.

    Raises:
        InputError: an angle outside the relation.
    """
    if not V_NOTCH_ANGLES[0] <= angle_deg <= V_NOTCH_ANGLES[1]:
        raise InputError(f"a V-notch of {angle_deg:g}° is outside the relation, which holds from 25° to 100°")
    if tailwater_m is not None and not tailwater_m <= -_CLEARANCE_M:
        return MISSING if isnan(tailwater_m) else Derived(None, "submerged")

    factor, kh = _notch(angle_deg)

    def flow(head: float) -> float:
        return float(factor * (head / FT_M + kh) ** 2.5)

    return _within(flow, head_m, V_NOTCH_HIGHEST_HEAD_M)


def rectangular_m3_s(head_m: float, length_m: float, *, contracted: bool, tailwater_m: float | None = None) -> Derived:
    """Francis: Q = 3.33 (L - 0.2 h) h^1.5 with both ends contracted, 3.33 L h^1.5 with both suppressed (ft, cfs)."""
    return _straight(_FRANCIS, head_m, length_m, 0.2 if contracted else 0.0, tailwater_m)


def cipolletti_m3_s(head_m: float, length_m: float, tailwater_m: float | None = None) -> Derived:
    """Trapezoid with sides of 1 to 4: Q = 3.367 L h^1.5 (ft, cfs); `length_m` is that of the crest."""
    return _straight(_CIPOLLETTI, head_m, length_m, 0.0, tailwater_m)


@lru_cache(maxsize=256)
def _notch(angle_deg: float) -> tuple[float, float]:
    """What stays the same of a notch: flow in m³/s of an effective head of 1 ft, and kh in ft."""
    ce, kh = _polynomial(_CE, angle_deg), _polynomial(_KH_FT, angle_deg)
    return 8 / 15 * sqrt(2 * _G_FT_S2) * ce * tan(radians(angle_deg) / 2) * CFS_M3_S, kh


def _straight(
    constant: float, head_m: float, length_m: float, contraction: float, tailwater_m: float | None
) -> Derived:
    if not is_size(length_m):
        raise InputError(f"a crest of {length_m:g} m is no weir; give its length in metres")
    if tailwater_m is not None and not tailwater_m <= 0:
        return MISSING if isnan(tailwater_m) else Derived(None, "submerged")

    def flow(head: float) -> float:
        length_ft, head_ft = length_m / FT_M, head / FT_M
        return float(constant * (length_ft - contraction * head_ft) * head_ft**1.5 * CFS_M3_S)

    return _within(flow, head_m, length_m * _STRAIGHT_HEAD_SHARE)


def _within(flow: Callable[[float], float], head_m: float, highest_m: float) -> Derived:
    if isnan(head_m):
        return MISSING
    if head_m < LOWEST_HEAD_M:
        return Derived(None, "below_range", flow(LOWEST_HEAD_M))
    if head_m > highest_m:
        return Derived(None, "above_range", flow(highest_m))
    return Derived(flow(head_m))


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return sum(c * x**i for i, c in enumerate(coefficients))
