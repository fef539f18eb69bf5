"""Settings of an ultrasonic ranger of the A02YYUW family (see sensors/a02yyuw.py)."""

from . import asked_faults, ranger, ranger_faults

NAME = "stage"
QUANTITIES = ("distance",)
BUS = ("uart", "tx", "rx")
PINS = ()
SPEC = ranger(blind_mm=30, range_mm=4500, assumed_cel=20)
SPEC.update(
    {
        "uart": (int, 1, 0, 2, ""),
        "tx": (int, None, 0, 48, "GPIO"),
        "rx": (int, None, 0, 48, "GPIO"),
        "unit": ("choice", "mm", ("mm", "cm"), None, ""),  # of the frame: A02YYUW mm, SEN0627 cm
        "ask": ("choice", "no", ("no", "edge"), None, ""),  # edge: a frame comes after a falling edge of tx (SEN0627)
        "cycle_ms": (int, 2600, 60, 10000, "ms"),  # from one asking to the next
    }
)


def faults(sensor):
    """Faults between keys."""
    found = ranger_faults(sensor)
    if sensor["ask"] != "no":
        found += asked_faults(sensor)
    return found
