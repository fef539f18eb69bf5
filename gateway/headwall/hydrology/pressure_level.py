"""Water above an unvented pressure transducer, with the air's pressure at the place taken off.

h = (p - p_air) / (rho g). The air's pressure is that at the station, not reduced to sea level: a hectopascal is 10 mm
of water.
"""

from __future__ import annotations

from typing import Final

from headwall.errors import InputError
from headwall.hydrology.derived import is_number, is_size

#: standard gravity, m/s² (NIST SP 811)
G_M_S2: Final = 9.80665


def water_above_m(pressure_pa: float, air_pa: float, density_kg_m3: float) -> float:
    """Depth of water over the transducer; negative where it reads less than the air has.

    Raises:
        InputError: a pressure that is no number, or a density that is none.
    """
    if not (is_number(pressure_pa) and is_number(air_pa) and is_size(density_kg_m3)):
        raise InputError(
            f"pressure {pressure_pa:g} Pa, air {air_pa:g} Pa and density {density_kg_m3:g} kg/m³ give no depth: "
            "pressures must be numbers, the density greater than 0"
        )
    return (pressure_pa - air_pa) / (density_kg_m3 * G_M_S2)
