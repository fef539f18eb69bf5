# An ultrasonic ranger that sends a frame of four bytes every 100 ms. world(now_us): the true distance in mm, or None
# for no echo. unit_mm: 1, or 10 for the twin that speaks centimetres. assumes: temperature it computes with, or None.
from . import faults

PERIOD_US = 100000


class A02yyuw:
    baudrate = 9600

    def __init__(self, world, unit_mm=1):
        self.faults = []
        self._world = world
        self._unit_mm = unit_mm

    def written(self, data, now_us):
        pass  # it takes no commands

    def bursts(self, from_us, to_us):
        first = from_us // PERIOD_US + 1
        return [(n * PERIOD_US, self._frame(n * PERIOD_US)) for n in range(first, to_us // PERIOD_US + 1)][-20:]

    def _frame(self, at_us):
        mm = self._world(faults.stuck_at(self.faults, at_us))
        value = 0 if mm is None else mm // self._unit_mm
        high, low = value >> 8 & 0xFF, value & 0xFF
        return bytes((0xFF, high, low, 0xFF + high + low & 0xFF))
