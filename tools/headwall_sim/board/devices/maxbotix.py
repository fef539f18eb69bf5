# A MaxBotix ranger with its serial output. world(now_us): the true distance in mm, or None for no target. unit_um: size
# of its unit in micrometres: 1000, 10000 or 25400. nearest, no_target: what it says of all that is nearer, and without
# an echo. inverted: its line is that of RS232 between 0 V and the supply. on_us: when it got its supply; it says who
# it is first.
from . import faults

PERIOD_US = 148000
BANNER = b"HRXL-MaxSonar-WRMT\rPN:MB7389\rCopyright 2011-2013\rMaxBotix Inc.\rRoHS 1.8b090  0713\rTempI\r"


class Maxbotix:
    baudrate = 9600

    def __init__(self, world, unit_um=1000, digits=4, nearest=300, no_target=5000, inverted=False, on_us=0):
        self.faults = []
        self.inverted = inverted
        self._world = world
        self._unit_um = unit_um
        self._digits = digits
        self._nearest = nearest
        self._no_target = no_target
        self.on_us = on_us

    def written(self, data, now_us):
        pass  # its pin 4 is held high

    def bursts(self, from_us, to_us):
        out = []
        banner_us = self.on_us + 60000
        if from_us < banner_us <= to_us:
            out.append((banner_us, BANNER))
        first, last = max(from_us, self.on_us + PERIOD_US) // PERIOD_US + 1, to_us // PERIOD_US
        return out + [(n * PERIOD_US, self._text(n * PERIOD_US)) for n in range(max(first, last - 19), last + 1)]

    def _text(self, at_us):
        mm = self._world(faults.stuck_at(self.faults, at_us))
        value = self._no_target if mm is None else max(self._nearest, mm * 1000 // self._unit_um)
        return b"R%0*d\r" % (self._digits, min(value, self._no_target))
