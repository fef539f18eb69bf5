"""Settings of a tipping-bucket rain gauge on the hardware's pulse counter (see sensors/tipping_counter.py)."""

NAME = "rain"
QUANTITIES = ("tips",)
EVENTS = True
PINS = ("pin",)
COUNTER = {
    "unit": (int, 0, 0, 7, ""),  # of the pulse counter; ESP32 has 0 to 7, S3 0 to 3, C3 none
    "pin": (int, None, 0, 48, "GPIO"),
    "pull": ("choice", "up", ("up", "down", "none"), None, ""),
    "edge": ("choice", "falling", ("falling", "rising"), None, ""),
    "filter_ns": (int, 12787, 0, 12787, "ns"),  # shorter pulses are none; the hardware's longest is 12787
}
SPEC = dict(COUNTER)
SPEC["most_hz"] = (int, 2, 1, 20, "1/s")  # more tips in a second are no rain


def CLAIMS(sensor):  # noqa: N802 - it stands where others have a tuple
    return ("pulse counter %d" % sensor["unit"],)
