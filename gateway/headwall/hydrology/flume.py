"""Discharge through Parshall flumes by throat, heads in m and flows in m³/s.

Source: U.S. Bureau of Reclamation, Water Measurement Manual, 3rd edition (rev. 2001), chapter 8, tables 8-3 (ranges)
and 8-9 (Q = C h^n in ft and cfs). Above the submergence of its size the second head counts and the free-flow relation
no longer holds: that flow is not computed. Flumes of other kinds (H, Palmer-Bowlus) go by their owner's rating table.
"""

from __future__ import annotations

from math import isnan
from typing import Final, NamedTuple

from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived
from headwall.hydrology.weir import CFS_M3_S, FT_M


class _Size(NamedTuple):
    c: float
    n: float
    lowest_ft: float
    highest_ft: float
    submergence: float


#: throat as it is called -> constants for ft and cfs, range of the head in ft, greatest share of hb / ha in free flow
PARSHALL: Final[dict[str, _Size]] = {
    "3 in": _Size(0.992, 1.547, 0.10, 1.5, 0.5),
    "6 in": _Size(2.06, 1.58, 0.10, 1.5, 0.6),
    "9 in": _Size(3.07, 1.53, 0.10, 2.0, 0.6),
    "1 ft": _Size(4.0, 1.522, 0.10, 2.5, 0.7),
    "1.5 ft": _Size(6.0, 1.538, 0.10, 2.5, 0.7),
    "2 ft": _Size(8.0, 1.55, 0.15, 2.5, 0.7),
    "3 ft": _Size(12.0, 1.566, 0.15, 2.5, 0.7),
    "4 ft": _Size(16.0, 1.578, 0.20, 2.5, 0.7),
    "6 ft": _Size(24.0, 1.595, 0.25, 2.5, 0.7),
    "8 ft": _Size(32.0, 1.607, 0.25, 2.5, 0.7),
}


def parshall_m3_s(head_m: float, throat: str, second_head_m: float | None = None) -> Derived:
    """Free flow through a Parshall flume.

    Args:
        head_m: ha, at two thirds of the converging wall.
        throat: one of PARSHALL.
        second_head_m: hb, in the throat, if it is measured.

    Raises:
        InputError: a throat that the table lacks.
    """
    if throat not in PARSHALL:
        raise InputError(f"no Parshall flume of {throat!r}; known throats: {', '.join(PARSHALL)}")
    size = PARSHALL[throat]
    if isnan(head_m) or (second_head_m is not None and isnan(second_head_m)):
        return MISSING
    if second_head_m is not None and head_m > 0 and second_head_m / head_m > size.submergence:
        return Derived(None, "submerged")

    def flow(head_ft: float) -> float:
        return float(size.c * head_ft**size.n * CFS_M3_S)

    head_ft = head_m / FT_M
    if head_ft < size.lowest_ft:
        return Derived(None, "below_range", flow(size.lowest_ft))
    if head_ft > size.highest_ft:
        return Derived(None, "above_range", flow(size.highest_ft))
    return Derived(flow(head_ft))
