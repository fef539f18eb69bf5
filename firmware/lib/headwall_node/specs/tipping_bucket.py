"""Settings of a tipping-bucket rain gauge on an interrupt."""

NAME = "rain"
QUANTITIES = ("tips",)
EVENTS = True
PINS = ("pin",)
SPEC = {
    "pin": (int, None, 0, 48, "GPIO"),
    "pull": ("choice", "up", ("up", "down", "none"), None, ""),
    "closed": (int, 0, 0, 1, "level"),  # of the pin while the contact is closed
    "lockout_ms": (int, 500, 50, 5000, "ms"),  # a bucket's tip takes 524 ms (JTECH 31(6)): two within are one
    "settle_ms": (int, 50, 5, 100, "ms"),  # open this long before a closing can be a new tip
    "stuck_s": (int, 10, 1, 3600, "s"),  # closed longer than this is a fault
}
