"""Settings of an ultrasonic ranger of the A02YYUW family (see sensors/a02yyuw.py)."""

NAME = "stage"
QUANTITIES = ("distance",)
BUS = ("uart", "tx", "rx")
PINS = ()
SPEC = {
    "uart": (int, 1, 0, 2, ""),
    "tx": (int, None, 0, 48, "GPIO"),  # high or open: the sensor averages; low: it answers faster
    "rx": (int, None, 0, 48, "GPIO"),
    "unit": ("choice", "mm", ("mm", "cm"), None, ""),  # of the frame: A02YYUW mm, SEN0627 cm
    "median": (int, 5, 1, 15, "readings"),  # so many frames make one reading
    "blind_mm": (int, 30, 0, 1000, "mm"),  # nearer is not measured (A02YYUW: 3 cm)
    "range_mm": (int, 4500, 100, 20000, "mm"),
    "sound": ("choice", "sensor", ("sensor", "node"), None, ""),  # who corrects for the air's temperature
    "temperature_from": (str, "", 0, 32, ""),  # stream of the air's temperature, for sound "node"
    "assumed_cel": (int, 20, -40, 60, "Cel"),  # temperature that an uncorrected sensor assumes
}


def faults(sensor):
    """Faults between keys."""
    found = []
    if sensor["blind_mm"] >= sensor["range_mm"]:
        found.append("blind_mm must be less than range_mm")
    if (sensor["sound"] == "node") != bool(sensor["temperature_from"]):
        found.append("temperature_from names the air's temperature exactly if sound is node")
    return found
