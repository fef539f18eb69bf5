# A contact or an open collector that gives pulses. world(now_us): how many there were till then; flooding adds
# 10,000 a second.
from . import faults


class Pulses:
    def __init__(self, world, pin=27):
        self.faults = []
        self.pins = (pin,)
        self._world = world
        self._noise = 0
        self._asked_us = None

    def driven(self, number, level, now_us):
        pass

    def level(self, number, now_us):
        return 1

    def edges(self, number, now_us):
        if faults.of(self.faults, "flooding", now_us) is not None and self._asked_us is not None:
            self._noise += (now_us - self._asked_us) // 100
        self._asked_us = now_us
        return int(self._world(now_us)) + self._noise
