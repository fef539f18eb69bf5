"""Speed of sound in air and in water, and what a range is worth whose sensor assumed another.

Sources: dry air 331.3 sqrt(1 + T / 273.15) m/s (ideal gas, 331.3 m/s at 0 °C); pure water of 0 to 95 °C at one
atmosphere by the polynomial of W. Marczak, J. Acoust. Soc. Am. 102(5), 1997.
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from headwall.errors import InputError
from headwall.hydrology.derived import is_number, is_size

_ZERO_C_IN_K: Final = 273.15
_AIR_AT_0_M_S: Final = 331.3
_MARCZAK: Final = (1.402385e3, 5.038813, -5.799136e-2, 3.287156e-4, -1.398845e-6, 2.787860e-9)
WATER_RANGE_C: Final = (0.0, 95.0)


def in_air_m_s(air_c: float) -> float:
    """Speed of sound in air.

    Raises:
        InputError: a temperature at or below absolute zero, or one that is no number.
    """
    if not (is_number(air_c) and air_c > -_ZERO_C_IN_K):
        raise InputError(f"{air_c:g} °C is no temperature of air")
    return _AIR_AT_0_M_S * sqrt(1 + air_c / _ZERO_C_IN_K)


def in_water_m_s(water_c: float) -> float:
    """Speed of sound in water.

    Raises:
        InputError: a temperature outside 0 to 95 °C.
    """
    if not WATER_RANGE_C[0] <= water_c <= WATER_RANGE_C[1]:
        raise InputError(f"{water_c:g} °C is outside the relation, which holds from 0 to 95 °C")
    return sum(c * water_c**i for i, c in enumerate(_MARCZAK))


def range_m(shown_m: float, assumed_m_s: float, true_m_s: float) -> float:
    """The distance that a sensor would have shown, had it known the speed of sound.

    Raises:
        InputError: a distance that is no number, or a speed that is none.
    """
    if not (is_number(shown_m) and is_size(assumed_m_s) and is_size(true_m_s)):
        raise InputError(f"{shown_m:g} m at {true_m_s:g} m/s, shown for {assumed_m_s:g} m/s, is no distance")
    return shown_m * true_m_s / assumed_m_s
