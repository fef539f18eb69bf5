"""Settings of a JSN-SR04T ultrasonic ranger (see sensors/jsn_sr04t.py)."""

from . import asked_faults, ranger, ranger_faults

NAME = "stage"
QUANTITIES = ("distance",)
SPEC = ranger(blind_mm=250, range_mm=4500, assumed_cel=15)
SPEC.update(
    {
        "mode": ("choice", "echo", ("echo", "serial", "asked"), None, ""),
        "trig": (int, None, 0, 48, "GPIO"),  # to the module's Trig / RX
        "echo": (int, None, 0, 48, "GPIO"),  # from the module's Echo / TX
        "uart": (int, 1, 0, 2, ""),  # of the modes serial and asked
        "cycle_ms": (int, 100, 60, 10000, "ms"),  # from one measurement to the next, in the modes echo and asked
    }
)


def BUS(sensor):  # noqa: N802 - it stands where others have a tuple
    """The serial modes take a UART with both pins."""
    return () if sensor["mode"] == "echo" else ("uart", "trig", "echo")


def PINS(sensor):  # noqa: N802
    """Without a UART they are pins of their own."""
    return ("trig", "echo") if sensor["mode"] == "echo" else ()


def faults(sensor):
    """Faults between keys."""
    found = ranger_faults(sensor)
    if sensor["mode"] == "echo" and sensor["echo"] == sensor["trig"]:
        found.append("echo and trig must be two pins")
    if sensor["range_mm"] > 6000:
        found.append("range_mm must be 6000 or less: the board stands still while it waits for an echo")
    if sensor["mode"] != "serial":
        found += asked_faults(sensor)
    return found
