"""Settings of a ladder of electrodes or optical gates in a tank (see sensors/ladder.py)."""

from .current_loop import source_faults

NAME = "sludge"
QUANTITIES = ("level", "uncertainty")
SHARED = True
PINS = ()
MEDIA = ("sludge", "liquid", "scum", "air")
SPEC = {
    # top of the sludge, bottom of the scum, or where air begins
    "interface": ("choice", "sludge", ("sludge", "scum", "surface"), None, ""),
    "count": (int, 8, 2, 16, "electrodes"),
    "pitch_mm": (int, 50, 5, 500, "mm"),
    "lowest_mm": (int, 50, -5000, 5000, "mm"),  # height of electrode 0 over the level's zero
    "bands": ("list", None, 2, 8, ""),
    "doubt": (int, 1, 0, 15, "electrodes"),  # so many may be unclear; more: "low_confidence"
    "i2c": (int, 0, 0, 1, ""),  # of ADS1115s: electrodes 0 to 3 at `address`, 4 to 7 at the next one, and so on
    "scl": (int, -1, -1, 48, "GPIO"),
    "sda": (int, -1, -1, 48, "GPIO"),
    "address": (int, 72, 72, 75, ""),
    "mux": (int, 0, 0, 3, ""),  # number of a CD74HC4067 at the board's own ADC
    "pin": (int, -1, -1, 48, "GPIO"),  # of that ADC
    "s0": (int, -1, -1, 48, "GPIO"),
    "s1": (int, -1, -1, 48, "GPIO"),
    "s2": (int, -1, -1, 48, "GPIO"),
    "s3": (int, -1, -1, 48, "GPIO"),
}
ITEMS = {
    "bands": {
        "medium": ("choice", None, MEDIA, None, ""),
        "from_mv": (int, None, -300, 5000, "mV"),
        "to_mv": (int, None, 0, 5000, "mV"),
    }
}
_SELECT = ("s0", "s1", "s2", "s3")


def BUS(sensor):  # noqa: N802 - it stands where others have a tuple
    return ("mux", "pin") + _SELECT if sensor["pin"] >= 0 else ("i2c", "scl", "sda")


def faults(sensor):
    """Faults between keys."""
    found = source_faults(sensor)
    lines = [sensor[key] for key in _SELECT]
    needed = len(bin(sensor["count"] - 1)) - 2
    if sensor["pin"] >= 0 and min(lines[:needed]) < 0:
        found.append("s0 to s%d are needed for %d electrodes" % (needed - 1, sensor["count"]))
    if sensor["pin"] < 0 and sensor["address"] + (sensor["count"] - 1) // 4 > 75:
        found.append("count %d: four electrodes a chip, and the last address is 75" % sensor["count"])
    for i, band in enumerate(sensor["bands"]):
        if band["from_mv"] >= band["to_mv"]:
            found.append("bands[%d].from_mv must be less than to_mv" % i)
    given = [band["medium"] for band in sensor["bands"]]
    wanted = {"sludge": ("sludge",), "scum": ("liquid", "scum"), "surface": ("air",)}[sensor["interface"]]
    found += ["bands: one for %s is needed" % medium for medium in wanted if medium not in given]
    return found
