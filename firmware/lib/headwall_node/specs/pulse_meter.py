"""Settings of a flow or water meter that gives pulses (see sensors/pulse_meter.py)."""

from .tipping_counter import CLAIMS, COUNTER  # noqa: F401

NAME = "flow"
QUANTITIES = ("pulses", "frequency")
PINS = ("pin",)
SPEC = dict(COUNTER)
SPEC["most_hz"] = (int, 1000, 1, 1000000, "1/s")  # more pulses in a second are interference
