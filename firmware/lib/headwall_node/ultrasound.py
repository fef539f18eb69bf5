"""What every ultrasonic ranger needs: the median of its echoes, and the speed of sound in air."""

from math import sqrt


def median(values):
    """The middle one of a list of numbers; of an even count the lower of the two."""
    return sorted(values)[(len(values) - 1) // 2]


def sound_m_s(air_cel):
    """Speed of sound in air: 331.3 sqrt(1 + T / 273.15), T in degrees Celsius (dry air at sea level)."""
    return 331.3 * sqrt(1 + air_cel / 273.15)


def corrected_mm(raw_mm, air, assumed_cel):
    """A distance in mm that was computed for `assumed_cel`, as it is at the air's temperature (decimal text, Cel)."""
    return int(raw_mm * sound_m_s(float(air)) / sound_m_s(assumed_cel) + 0.5)
