# A voltage at a pin of the board's own ADC. world(now_us) x uv: microvolts there; unplugged it is at 0 V.
from . import faults


class Analog:
    def __init__(self, world, pin=34, uv=1):
        self.faults = []
        self.pins = (pin,)
        self._world = world
        self._uv = uv

    def driven(self, number, level, now_us):
        pass

    def level(self, number, now_us):
        return 0

    def microvolts(self, number, now_us):
        if faults.silent(self.faults, now_us):
            return 0
        return int(self._world(faults.stuck_at(self.faults, now_us)) * self._uv)
