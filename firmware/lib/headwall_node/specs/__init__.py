"""Settings of each kind of sensor, one file a kind named as its driver; loaded for the check and then forgotten.

A file has
    NAME        default of `name`: a stream is `<name>.<quantity>`
    QUANTITIES  quantities of its streams, or a function of the sensor's settings that gives them
    SPEC        key -> rule as in config.py, beside the keys that every sensor has
    PINS        keys of SPEC that are GPIO numbers which nobody else may use; -1 is none
    BUS         (optional) key of a bus's number, then the keys of its pins
    SHARED      (optional) True if several sensors may sit on that bus, all with the same pins
    ITEMS       (optional) key of a list in SPEC -> rules of its entries
    faults      (optional) function of the complete settings: list of faults between keys
    EVENTS      (optional) True for a sensor that is never sampled but tells by itself
"""

#: every kind that there is
KINDS = ("tipping_bucket", "a02yyuw", "modbus")

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
