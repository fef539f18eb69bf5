# A BME280 at the level of registers. world(now_us): its three raw values (temperature, pressure, humidity), or None
# for those of RAW; a None among them is skipped: 0x80000, of humidity 0x8000. number: of the chip.
from . import faults

CALIBRATION = {
    0x88: bytes((0x70, 0x6B, 0x43, 0x67, 0x18, 0xFC, 0x7D, 0x8E, 0x43, 0xD6, 0xD0, 0x0B, 0x27, 0x0B, 0x8C, 0x00, 0xF9,
                 0xFF, 0x8C, 0x3C, 0xF8, 0xC6, 0x70, 0x17)),
    0xA1: bytes((0x4B,)),
    0xE1: bytes((0x6A, 0x01, 0x00, 0x14, 0x0D, 0x00, 0x1E)),
}  # fmt: skip
RAW = (519888, 415148, 25000)
BUSY_US = 43000  # a measurement at pressure x16


class Bme280:
    def __init__(self, world=None, number=0x60, hangs=False):
        self.faults = []
        self.number = number
        self.hangs = hangs  # it never ends a measurement
        self._world = world or (lambda now_us: None)
        self._memory = bytearray(256)
        self._pointer = 0
        self.lose_power()

    def lose_power(self):
        self._memory[:] = bytes(256)
        for at, data in CALIBRATION.items():
            self._memory[at : at + len(data)] = data
        self._put((None, None, None))
        self._busy_us = -1

    def _put(self, values):
        temperature, pressure, humidity = (0x80000 if values[i] is None else values[i] for i in range(3))
        humidity = 0x8000 if values[2] is None else humidity
        self._memory[0xF7:0xFF] = (
            (pressure << 4).to_bytes(3, "big") + (temperature << 4).to_bytes(3, "big") + humidity.to_bytes(2, "big")
        )

    def written(self, data, now_us):
        if not data:
            return
        self._pointer = data[0]
        for value in data[1:]:
            if data[0] == 0xE0 and value == 0xB6:
                self.lose_power()
            elif data[0] == 0xF4 and value & 3:
                self._memory[0xF4] = value
                values = self._world(faults.stuck_at(self.faults, now_us)) or RAW
                on = (value >> 5, value >> 2 & 7, self._memory[0xF2] & 7)
                self._put([values[i] if on[i] else None for i in range(3)])
                self._busy_us = now_us + BUSY_US
            else:
                self._memory[data[0]] = value

    def read(self, count, now_us):
        self._memory[0xD0] = self.number
        self._memory[0xF3] = 0x08 if now_us < self._busy_us or self.hangs else 0
        return bytes(self._memory[self._pointer : self._pointer + count])
