"""Settings of a Blue Robotics Ping sonar (see sensors/ping1d.py)."""

NAME = "sludge"
QUANTITIES = ("distance", "confidence")
BUS = ("uart", "tx", "rx")
PINS = ()
SPEC = {
    "uart": (int, 1, 0, 2, ""),
    "tx": (int, None, 0, 48, "GPIO"),
    "rx": (int, None, 0, 48, "GPIO"),
    "looks": ("choice", "down", ("down", "up"), None, ""),  # at the sludge's top, or at the scum's bottom
    "end_mm": (int, 0, 0, 100000, "mm"),  # from its face to the floor (down) or the liquid's surface (up); 0: unknown
    "margin_mm": (int, 50, 1, 1000, "mm"),  # within which an echo is that of the end
    "median": (int, 5, 1, 15, "measurements"),  # so many make one reading
    "cycle_ms": (int, 200, 60, 10000, "ms"),  # from one to the next
    "spread_mm": (int, 100, 1, 5000, "mm"),  # more than half of them agree within this, or the reading is null
    "blind_mm": (int, 500, 0, 2000, "mm"),  # nearer is not measured
    "range_mm": (int, 10000, 500, 100000, "mm"),
    "confidence_min": (int, 60, 0, 100, "%"),  # a measurement of less is no value
    "sound": ("choice", "fixed", ("fixed", "water"), None, ""),  # where the speed of sound comes from
    "sound_m_s": (int, 1482, 1300, 1700, "m/s"),  # of "fixed"
    "temperature_from": (str, "", 0, 32, ""),  # stream of the water's temperature, for sound "water"
}


def faults(sensor):
    """Faults between keys."""
    found = []
    if sensor["blind_mm"] >= sensor["range_mm"]:
        found.append("blind_mm must be less than range_mm")
    if sensor["end_mm"] and not sensor["blind_mm"] < sensor["end_mm"] <= sensor["range_mm"]:
        found.append("end_mm must be between blind_mm and range_mm, or 0 if it is not known")
    if (sensor["sound"] == "water") != bool(sensor["temperature_from"]):
        found.append("temperature_from names the water's temperature exactly if sound is water")
    needed = 1000 + sensor["median"] * (sensor["cycle_ms"] + 300)
    if sensor["timeout_ms"] < needed:
        found.append("timeout_ms must be %d or more for these median and cycle_ms" % needed)
    return found
