"""Settings of a voltage behind a divider at the board's own ADC (see sensors/adc_voltage.py)."""

from . import is_decimal

NAME = "node"
QUANTITIES = ("voltage",)
PINS = ("pin",)
SPEC = {
    "pin": (int, None, 0, 48, "GPIO"),
    "ratio": (str, "2", 1, 12, ""),  # decimal text: voltage = voltage at the pin x ratio
    "median": (int, 15, 1, 63, "readings"),
    "low_mv": (int, 150, 0, 3300, "mV"),  # the ADC is linear from here
    "high_mv": (int, 2450, 500, 3300, "mV"),  # to here
}


def faults(sensor):
    """Faults between keys."""
    found = []
    if not is_decimal(sensor["ratio"]) or float(sensor["ratio"]) < 1:
        found.append("ratio %s must be a decimal number of 1 or more" % sensor["ratio"])
    if sensor["low_mv"] >= sensor["high_mv"]:
        found.append("low_mv must be less than high_mv")
    return found
