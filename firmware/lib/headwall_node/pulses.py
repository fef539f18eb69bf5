"""Pulses counted by the ESP32's hardware (PCNT) through machine.Counter, and which of its counts are believed.

The hardware counts while the program is busy or flash is erased, but not in deep sleep and not during a reset, where
it begins at 0. Its filter leaves out pulses of less than 12.8 microseconds: the bounce of a contact, milliseconds
long, is counted. It turns over at 32000; machine.Counter adds the turns up.
"""

import machine
from micropython import const

_TURN = const(32000)


class Pulses:
    """settings: a sensor's `unit`, `pin`, `pull`, `edge` and `filter_ns`. OSError where the port has no Counter."""

    def __init__(self, settings):
        counter = getattr(machine, "Counter", None)
        if counter is None:
            raise OSError("this MicroPython has no machine.Counter: 1.26 or newer has")
        pull = {"up": machine.Pin.PULL_UP, "down": machine.Pin.PULL_DOWN, "none": None}[settings["pull"]]
        self._counter = counter(
            settings["unit"],
            machine.Pin(settings["pin"], machine.Pin.IN, pull),
            edge=counter.RISING if settings["edge"] == "rising" else counter.FALLING,
            filter_ns=settings["filter_ns"],
        )
        self._last = self._counter.value()
        self._doubtful = None  # a count that contradicts the one before, till the next one decides

    def take(self, most):
        """Pulses since the last call, or None for a count that cannot be: more than `most`, or a fall.

        After such a one the next call decides: if it goes on from before, the odd one was a glitch; if it goes on from
        the odd one, counting began anew there, and what lies between is not counted.
        """
        now, odd = self._counter.value(), self._doubtful
        self._doubtful = None
        step = now - self._last
        if step < 0 and step + _TURN <= most:  # a turn that was not added up
            step += _TURN
        if not 0 <= step <= most and odd is not None:
            step = now - odd
        if not 0 <= step <= most:
            self._doubtful = now
            return None
        self._last = now
        return step

    def close(self):
        self._counter.deinit()
