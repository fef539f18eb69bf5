"""Settings of a DS18B20 temperature probe on 1-Wire (see sensors/ds18b20.py)."""

NAME = "water"
QUANTITIES = ("temperature",)
BUS = ("onewire", "pin")
SHARED = True
PINS = ()
SPEC = {
    "onewire": (int, 0, 0, 7, ""),  # number of the bus: several probes may sit on one
    "pin": (int, None, 0, 48, "GPIO"),
    "rom": (str, "", 0, 16, ""),  # 16 hex digits of the probe; empty: the only one on its bus
}


def CLAIMS(sensor):  # noqa: N802 - it stands where others have a tuple
    return ("probe %s on onewire %d" % (sensor["rom"].lower() or "without rom", sensor["onewire"]),)


def faults(sensor):
    """Faults between keys."""
    rom = sensor["rom"].lower()
    if sensor["timeout_ms"] < 1000:
        return ["timeout_ms must be 1000 or more: a conversion takes 750"]
    if rom and (len(rom) != 16 or any(c not in "0123456789abcdef" for c in rom) or rom[:2] != "28"):
        return ["rom %s must be 16 hex digits that begin with 28, as the console lists them" % sensor["rom"]]
    return []
