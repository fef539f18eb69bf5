# An ultrasonic ranger of four-byte frames. world(now_us): the true distance in mm, or None for no echo. unit_mm: 1,
# or 10 for the twin that speaks centimetres. assumes: temperature that it computes with while the air has `air_cel`.
# ask: None if it sends by itself every 100 ms, else the byte (b"\xff": any falling edge) it measures after, for
# answer_ms.
from . import faults

PERIOD_US = 100000


def frame(value):
    high, low = value >> 8 & 0xFF, value & 0xFF
    return bytes((0xFF, high, low, 0xFF + high + low & 0xFF))


class A02yyuw:
    baudrate = 9600

    def __init__(self, world, unit_mm=1, assumes=None, air_cel=20, ask=None, answer_ms=900):
        self.faults = []
        self._world = world
        self._unit_mm = unit_mm
        # what it takes for the way that sound went: speeds as in 331.3 sqrt(1 + T / 273.15)
        self._factor = 1 if assumes is None else ((273.15 + assumes) / (273.15 + air_cel)) ** 0.5
        self._ask = ask
        self._answer_us = answer_ms * 1000
        self._due_us = []

    def written(self, data, now_us):
        # One that is measuring hears nothing.
        if self._ask and self._ask in data and not self._due_us:
            self._due_us.append(now_us + self._answer_us)

    def bursts(self, from_us, to_us):
        if self._ask:
            due = [at_us for at_us in self._due_us if at_us <= to_us]
            self._due_us = [at_us for at_us in self._due_us if at_us > to_us]
        else:
            first, last = from_us // PERIOD_US + 1, to_us // PERIOD_US  # of hours no more than the line can hold
            due = [n * PERIOD_US for n in range(max(first, last - 19), last + 1)]
        return [(at_us, self._frame(at_us)) for at_us in due]

    def _frame(self, at_us):
        mm = self._world(faults.stuck_at(self.faults, at_us))
        return frame(0 if mm is None else int(mm * self._factor + 0.5) // self._unit_mm)
