"""Settings of a BME280 for air and barometric pressure (see sensors/bme280.py)."""

NAME = "air"
QUANTITIES = ("temperature", "pressure", "humidity")
BUS = ("i2c", "scl", "sda")
SHARED = True
PINS = ()
SPEC = {
    "i2c": (int, 0, 0, 1, ""),
    "scl": (int, None, 0, 48, "GPIO"),
    "sda": (int, None, 0, 48, "GPIO"),
    "address": (int, 119, 118, 119, ""),  # 119 (0x77): SDO high, as on Adafruit's board; 118 (0x76): SDO low
}


def CLAIMS(sensor):  # noqa: N802 - it stands where others have a tuple
    return ("address %d on i2c %d" % (sensor["address"], sensor["i2c"]),)
