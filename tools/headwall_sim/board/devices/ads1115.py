# An ADS1115 at the level of registers. world(now_us) x uv: microvolts at `channel`; the other inputs are at 0 V.
from . import faults

FULL_UV = (6144000, 4096000, 2048000, 1024000, 512000, 256000, 256000, 256000)
PER_SECOND = (8, 16, 32, 64, 128, 250, 475, 860)


class Ads1115:
    def __init__(self, world, channel=0, uv=1):
        self.faults = []
        self._world = world
        self._channel = channel
        self._uv = uv
        self._pointer = 0
        self._config = 0x8583
        self._count = 0
        self._done_us = None

    def input_uv(self, channel, now_us):
        return int(self._world(now_us) * self._uv) if channel == self._channel else 0

    def written(self, data, now_us):
        if data:
            self._pointer = data[0] & 3
        if len(data) == 3 and self._pointer == 1:
            config = data[1] << 8 | data[2]
            self._finish(now_us)
            self._config = config & 0x7FFF
            if config & 0x8000 and config & 0x0100:  # single shot
                late = faults.of(self.faults, "late", now_us) or 0
                self._done_us = now_us + 1000000 // PER_SECOND[config >> 5 & 7] + late * 1000

    def _finish(self, now_us):
        if self._done_us is None or now_us < self._done_us:
            return
        mux, gain = self._config >> 12 & 7, self._config >> 9 & 7
        at_us = faults.stuck_at(self.faults, self._done_us)
        self._done_us = None
        uv = self.input_uv(mux - 4, at_us) if mux >= 4 else 0
        self._count = max(-32768, min(32767, uv * 32768 // FULL_UV[gain]))

    def read(self, count, now_us):
        self._finish(now_us)
        if self._pointer == 1:
            value = self._config | (0x8000 if self._done_us is None else 0)
        else:
            value = self._count & 0xFFFF if self._pointer == 0 else 0
        return (value.to_bytes(2, "big") + bytes(count))[:count]
