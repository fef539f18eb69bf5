"""Settings of an instrument that speaks Modbus RTU over RS-485 (see sensors/modbus.py)."""

from . import is_decimal

NAME = "meter"
BUS = ("uart", "tx", "rx", "de")
SHARED = True
PINS = ()
SPEC = {
    "uart": (int, 1, 0, 2, ""),
    "tx": (int, None, 0, 48, "GPIO"),
    "rx": (int, None, 0, 48, "GPIO"),
    "de": (int, -1, -1, 48, "GPIO"),  # high while the board sends; -1: the transceiver switches by itself
    "baud": ("choice", 9600, (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200), None, ""),
    "parity": ("choice", "none", ("none", "even", "odd"), None, ""),
    "stop": (int, 1, 1, 2, "bits"),
    "slave": (int, 1, 1, 247, ""),
    "reply_ms": (int, 500, 20, 5000, "ms"),
    "retries": (int, 1, 0, 5, ""),
    "registers": ("list", None, 1, 8, ""),
}
ITEMS = {
    "registers": {
        "quantity": (str, None, 1, 16, ""),
        "register": (int, None, 0, 65535, ""),  # as on the wire: the first one is 0
        "function": ("choice", 3, (3, 4), None, ""),  # 3 holding registers, 4 input registers
        "type": ("choice", "u16", ("u16", "s16", "u32", "s32", "f32"), None, ""),
        "order": ("choice", "abcd", ("abcd", "cdab", "badc", "dcba"), None, ""),  # of the bytes of a 32-bit value
        "scale": (str, "1", 1, 16, ""),  # decimal text: value = raw x scale + offset, in the contract's unit
        "offset": (str, "0", 1, 16, ""),
        "low": (str, "", 0, 16, ""),  # values below and above are "out_of_range"; empty: none is
        "high": (str, "", 0, 16, ""),
        "error": (str, "", 0, 16, ""),  # raw value by which the maker says that there is none
    }
}


def QUANTITIES(sensor):  # noqa: N802 - it stands where others have a tuple
    """Quantities of the registers, in their order."""
    return [entry["quantity"] for entry in sensor["registers"]]


def faults(sensor):
    """Faults between keys."""
    found = []
    for i, entry in enumerate(sensor["registers"]):
        for key in ("scale", "offset", "low", "high", "error"):
            if entry[key] and not is_decimal(entry[key]):
                found.append("registers[%d].%s %s is no decimal number" % (i, key, entry[key]))
        if entry["type"][1:] == "16" and entry["order"] not in ("abcd", "badc"):
            found.append("registers[%d].order: a 16-bit value knows abcd and badc" % i)
    asking = 2 * sensor["reply_ms"] * (sensor["retries"] + 1)
    if sensor["timeout_ms"] < asking + sensor["reply_ms"] * len(sensor["registers"]):
        found.append(
            "timeout_ms must be %d or more for these retries and registers"
            % (asking + sensor["reply_ms"] * len(sensor["registers"]))
        )
    return found
