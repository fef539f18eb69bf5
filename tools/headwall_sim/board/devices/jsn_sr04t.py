# A JSN-SR04T whose R27 is open: after a pulse of at least 10 us at `trig` its `echo` is high for as long as the sound
# is under way, 60 ms without an echo. In its serial modes it is an A02yyuw that computes with 340 m/s (15 Cel), and
# is asked with 55. world(now_us): the true distance in mm, or None.
#
# Faults of a pulse: late comes so much later; truncated n and garbled bit change its length by n ms and by that bit of
# its microseconds; flooding: the line changes level all the time, with no pattern.
from . import faults

_TRIGGER_US = 10
_DELAY_US = 2400  # from trigger to echo's rise: it sends first
_SILENT_US = 60000


class JsnSr04t:
    def __init__(self, world, trig=12, echo=13, air_cel=15):
        self.faults = []
        self.pins = (trig, echo)
        self._world = world
        self._mm_us = 0.3313 * ((273.15 + air_cel) / 273.15) ** 0.5
        self._high_us = None
        self._pulse = (0, 0)

    def driven(self, number, level, now_us):
        if number != self.pins[0]:
            return
        if level:
            self._high_us = now_us
        elif self._high_us is not None:
            if now_us - self._high_us >= _TRIGGER_US and now_us >= self._pulse[1]:
                self._begin(now_us)
            self._high_us = None

    def _begin(self, now_us):
        mm = self._world(faults.stuck_at(self.faults, now_us))
        length = _SILENT_US if mm is None else int(2 * mm / self._mm_us + 0.5)
        length -= (faults.of(self.faults, "truncated", now_us) or 0) * 1000
        bit = faults.of(self.faults, "garbled", now_us)
        if bit is not None:
            length ^= 1 << bit
        begin = now_us + _DELAY_US + (faults.of(self.faults, "late", now_us) or 0) * 1000
        self._pulse = (begin, begin + max(0, length))

    def level(self, number, now_us):
        if number == self.pins[0] or faults.silent(self.faults, now_us):
            return 0
        if faults.of(self.faults, "flooding", now_us) is not None:
            return _noise(now_us // 100)
        return 1 if self._pulse[0] <= now_us < self._pulse[1] else 0

    def change(self, number, after_us):
        if faults.of(self.faults, "flooding", after_us) is not None:
            return after_us + 100
        return min([at_us for at_us in self._pulse if at_us > after_us] or [None])


def _noise(number):
    return (number * 1103515245 + 12345 & 0x7FFFFFFF) >> 16 & 1
