# A ladder in a tank: electrodes `pitch_mm` apart, the lowest at `lowest_mm`. world(now_us): the sludge's top in mm, or
# None for no sludge; scum_mm and surface_mm: bottom of the scum (None: there is none) and surface of all.
# broken: {electrode: mV} that read something else.
from . import faults
from .ads1115 import Ads1115

MILLIVOLTS = {"sludge": 1300, "liquid": 500, "scum": 2000, "air": 2400}


class Tank:
    def __init__(self, world, pitch_mm=50, lowest_mm=50, scum_mm=None, surface_mm=1000, broken=None, millivolts=None):
        self.world = world
        self.pitch_mm, self.lowest_mm = pitch_mm, lowest_mm
        self.scum_mm, self.surface_mm = scum_mm, surface_mm
        self.broken = broken or {}
        self.millivolts = millivolts or MILLIVOLTS

    def uv(self, electrode, now_us):
        at, sludge = self.lowest_mm + electrode * self.pitch_mm, self.world(now_us)
        if sludge is not None and at <= sludge:
            medium = "sludge"
        elif at > self.surface_mm:
            medium = "air"
        else:
            medium = "scum" if self.scum_mm is not None and at >= self.scum_mm else "liquid"
        return 1000 * self.broken.get(electrode, self.millivolts[medium])


class MuxLadder:
    # Behind a CD74HC4067: the board drives `select`, reads `pin`.
    def __init__(self, world, pin=34, select=(25, 26, 27, 14), **tank):
        self.faults = []
        self.tank = Tank(world, **tank)
        self.pins = (pin,) + tuple(select)
        self._select = tuple(select)
        self._levels = [0] * len(select)

    def driven(self, number, level, now_us):
        self._levels[self._select.index(number)] = level

    def level(self, number, now_us):
        return self._levels[self._select.index(number)]

    def microvolts(self, number, now_us):
        if faults.silent(self.faults, now_us):
            return 0
        electrode = sum([level << bit for bit, level in enumerate(self._levels)])
        return self.tank.uv(electrode, faults.stuck_at(self.faults, now_us))


class ChipLadder(Ads1115):
    # Electrodes `first` to first + 3 at one ADS1115.
    def __init__(self, world, first=0, **tank):
        Ads1115.__init__(self, world)
        self.tank = Tank(world, **tank)
        self._first = first

    def input_uv(self, channel, now_us):
        return self.tank.uv(self._first + channel, now_us)
