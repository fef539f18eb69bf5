"""Settings of a transmitter on a 4-20 mA loop (see sensors/current_loop.py)."""

from . import is_decimal

NAME = "stage"
SHARED = True
SPEC = {
    "i2c": (int, 0, 0, 1, ""),  # of an ADS1115
    "scl": (int, -1, -1, 48, "GPIO"),
    "sda": (int, -1, -1, 48, "GPIO"),
    "address": (int, 72, 72, 75, ""),
    "channel": (int, 0, 0, 3, ""),
    "pin": (int, -1, -1, 48, "GPIO"),  # instead of an ADS1115: the board's own ADC
    "shunt_mohm": (int, 150000, 1000, 1000000, "milliohm"),
    "median": (int, 5, 1, 15, "readings"),
    "quantity": (str, "level", 1, 16, ""),
    "low": (str, None, 1, 16, ""),  # decimal text: the value at 4 mA, in the contract's unit
    "high": (str, None, 1, 16, ""),  # at 20 mA
}


def QUANTITIES(sensor):  # noqa: N802 - these three stand where others have a tuple
    return [sensor["quantity"]]


def BUS(sensor):  # noqa: N802
    return () if sensor["pin"] >= 0 else ("i2c", "scl", "sda")


def PINS(sensor):  # noqa: N802
    return ("pin",)


def CLAIMS(sensor):  # noqa: N802
    if sensor["pin"] >= 0:
        return ()
    return ("channel %d of the ADS1115 %d on i2c %d" % (sensor["channel"], sensor["address"], sensor["i2c"]),)


def faults(sensor):
    """Faults between keys."""
    found = source_faults(sensor)
    for key in ("low", "high"):
        if not is_decimal(sensor[key]):
            found.append("%s %s is no decimal number" % (key, sensor[key]))
    if not found and _same(sensor["low"], sensor["high"]):
        found.append("low and high are equal")
    mohm = sensor["shunt_mohm"]
    least, most = (150, 2450) if sensor["pin"] >= 0 else (36, 4095)  # mV that can be measured
    if 36 * mohm < least * 10000 or 21 * mohm > most * 1000:
        found.append(
            "shunt_mohm %d: 3.6 to 21 mA must give %d to %d mV; possible: %d to %d"
            % (mohm, least, most, -(-least * 10000 // 36), most * 1000 // 21)
        )
    if sensor["pin"] < 0 and sensor["timeout_ms"] < 160 * sensor["median"]:
        found.append("timeout_ms must be %d or more for this median" % (160 * sensor["median"]))
    return found


def source_faults(sensor):
    """Faults of the keys that say where the voltage is measured."""
    chip = sensor["scl"] >= 0 and sensor["sda"] >= 0
    if (sensor["pin"] >= 0) == chip or (not chip and (sensor["scl"] >= 0 or sensor["sda"] >= 0)):
        return ["either scl and sda (an ADS1115) or pin (the board's own ADC) is needed"]
    return []


def _same(one, other):
    return float(one) == float(other)
