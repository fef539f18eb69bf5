"""Settings of each kind of sensor, one file a kind named as its driver; loaded for the check and then forgotten.

A file has
    NAME        default of `name`: a stream is `<name>.<quantity>`
    QUANTITIES  quantities of its streams, or a function of the sensor's settings that gives them
    SPEC        key -> rule as in config.py, beside the keys that every sensor has
    PINS        keys of SPEC that are GPIO numbers which nobody else may use; -1 is none. Or a function as above
    BUS         (optional) key of a bus's number, then the keys of its pins. Or a function as above
    SHARED      (optional) True if several sensors may sit on that bus, all with the same pins
    CLAIMS      (optional) names of what nobody else may use, as a channel of a chip. Or a function as above
    ITEMS       (optional) key of a list in SPEC -> rules of its entries
    faults      (optional) function of the complete settings: list of faults between keys
    EVENTS      (optional) True for a sensor that is never sampled but tells by itself
"""

#: every kind that there is
KINDS = (
    "tipping_bucket",
    "a02yyuw",
    "modbus",
    "jsn_sr04t",
    "maxbotix",
    "ping1d",
    "current_loop",
    "adc_voltage",
    "ladder",
    "ds18b20",
    "bme280",
    "pulse_meter",
    "tipping_counter",
)

#: of these, rain gauges: not sampled, and limited in number (config.py)
GAUGES = ("tipping_bucket", "tipping_counter")
#: of these, what counts with hardware that stands still in deep sleep
MAINS_ONLY = ("tipping_counter", "pulse_meter")

#: of every sensor
COMMON = {
    "kind": ("choice", None, KINDS, None, ""),
    "name": (str, None, 1, 24, ""),
}

#: of every sensor that is sampled
SAMPLED = {
    "period_s": (int, 300, 1, 86400, "s"),
    "fast_s": (int, 0, 0, 86400, "s"),  # period while it rains or the stage rises; 0: never faster
    "timeout_ms": (int, 5000, 50, 60000, "ms"),  # of one reading, warm-up not counted
    "power_pin": (int, -1, -1, 48, "GPIO"),  # switches the sensor's supply; -1: always on
    "power_on": (int, 1, 0, 1, "level"),  # of power_pin that supplies it
    "warmup_ms": (int, 0, 0, 60000, "ms"),  # from supply to the first reading
    "same": (int, 0, 0, 10000, "readings"),  # so many equal ones in a row are "stuck"; 0: equal ones are possible
}


def ranger(blind_mm, range_mm, assumed_cel):
    """Keys of every ultrasonic ranger in air, with the defaults of one kind (see ultrasound.py)."""
    return {
        "median": (int, 5, 1, 15, "measurements"),  # so many make one reading
        "spread_mm": (int, 100, 1, 5000, "mm"),  # more than half of them agree within this, or the reading is null
        "blind_mm": (int, blind_mm, 0, 2000, "mm"),  # nearer is not measured
        "range_mm": (int, range_mm, 100, 20000, "mm"),
        "sound": ("choice", "sensor", ("sensor", "node"), None, ""),  # who corrects for the air's temperature
        "temperature_from": (str, "", 0, 32, ""),  # stream of the air's temperature, for sound "node"
        "assumed_cel": (int, assumed_cel, -40, 60, "Cel"),  # temperature that an uncorrected sensor assumes
    }


def ranger_faults(sensor):
    """Faults between the keys of ranger()."""
    found = []
    if sensor["blind_mm"] >= sensor["range_mm"]:
        found.append("blind_mm must be less than range_mm")
    if (sensor["sound"] == "node") != bool(sensor["temperature_from"]):
        found.append("temperature_from names the air's temperature exactly if sound is node")
    return found


def asked_faults(sensor):
    """Faults of a ranger that is asked for each of its measurements."""
    needed = 200 + sensor["median"] * sensor["cycle_ms"]
    if sensor["timeout_ms"] < needed:
        return ["timeout_ms must be %d or more for these median and cycle_ms" % needed]
    return []


def is_decimal(text):
    """Whether a setting is decimal text, as "-1.50"."""
    digits = text[1:] if text[0] == "-" else text
    whole, _, part = digits.partition(".")
    return whole.isdigit() and (part.isdigit() or "." not in digits)
