"""Settings of a MaxBotix ultrasonic ranger with a serial output (see sensors/maxbotix.py)."""

from . import ranger, ranger_faults

NAME = "stage"
QUANTITIES = ("distance",)
BUS = ("uart", "tx", "rx")
PINS = ()
SPEC = ranger(blind_mm=300, range_mm=4999, assumed_cel=22)
SPEC.update(
    {
        "uart": (int, 1, 0, 2, ""),
        "tx": (int, None, 0, 48, "GPIO"),
        "rx": (int, None, 0, 48, "GPIO"),
        "unit": ("choice", "mm", ("mm", "cm", "in"), None, ""),
        "digits": (int, 4, 3, 4, ""),
        "no_target": (int, 5000, 100, 9999, ""),  # in the sensor's unit: this and more is no echo
        "levels": ("choice", "ttl", ("ttl", "rs232"), None, ""),  # rs232: inverted, between 0 V and the supply
    }
)


def faults(sensor):
    """Faults between keys."""
    found = ranger_faults(sensor)
    if sensor["no_target"] >= 10 ** sensor["digits"]:
        found.append("no_target has more digits than digits says")
    return found
