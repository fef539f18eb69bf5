"""Tipping-bucket rain gauge on the hardware's pulse counter: for a gauge with a clean electronic output.

    range        up to `most_hz` tips a second
    resolution   one tip; its time to a second
    timing       the counter is looked at each second; a tip is in the journal a second later
    wiring       the gauge's output at the pin; a bare reed contact needs 10 kilohm, 100 nF and a Schmitt trigger before
                 it, since the counter's filter ends at 12.8 microseconds and bounce lasts milliseconds
    source       ESP32 technical reference manual, pulse count controller; JTECH 31(6) for the time of a tip (0.524 s)

It counts while the program is busy for long, and wakes nothing: on mains only. What falls while the board starts is
lost, a second or two. A bare contact that bounces shows as more than `most_hz` tips a second: a null "fault",
and the tips of that second and the one before are withdrawn. tipping_bucket.py is right for every other gauge.
"""

from micropython import const

from .. import log
from ..pulses import Pulses
from .tipping_bucket import Gauge

_LOOK_MS = const(1000)


class TippingCounter(Gauge):
    """As TippingBucket, but for deep sleep, which settings refuse."""

    may_sleep = True

    def __init__(self, settings, contact, tips, retained, report_s):
        Gauge.__init__(self, contact, tips, retained, report_s)
        self._settings = settings
        self._pulses = None
        self._doubt = False
        self._at = self._before = self._clock.uptime_ms()  # of the last look, and the one before it

    def start(self, woken=False):
        """Begin to count. A port that has no counter is a fault of this gauge alone."""
        try:
            self._pulses = Pulses(self._settings)
        except (OSError, ValueError) as error:
            log.trouble(self._settings["name"], str(error))

    @property
    def reason(self):
        return "fault" if self._doubt or self._pulses is None else None

    @property
    def faults(self):
        """Names for the state message."""
        if self._pulses is None:
            return ["counter_missing"]
        return ["contact_chatter"] if self._doubt else []

    def service(self):
        """Look at the counter if it is time; returns after how many ms to call again at the latest."""
        up = self._clock.uptime_ms()
        if up - self._at >= _LOOK_MS:
            self._look(up)
        try:
            self._tips.write(self._before)  # later ones may still be withdrawn
            self._report(up)
        except OSError:  # flash refused: the tips wait in RTC memory
            return _LOOK_MS
        return max(1, self._at + _LOOK_MS - up)

    def _look(self, up):
        if self._pulses is None:
            self._before = self._at = up
            return
        passed = up - self._at
        new = self._pulses.take(-(-self._settings["most_hz"] * passed // 1000))
        self._doubt = new is None
        if new is None:
            self._tips.withdraw(self._contact, self._before + 1)
        else:
            for i in range(new):
                self._tips.add(self._contact, self._at + passed * (i + 1) // new)
        if new != 0:
            self._retained.save()
        self._before, self._at = self._at, up
