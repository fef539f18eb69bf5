# A DS18B20 on 1-Wire. world(now_us): the temperature in sixteenths of a degree. bits: its resolution, 9 to 12.
from binascii import unhexlify

import onewire

from . import faults

CONVERT, READ = 0x44, 0xBE
POWER_ON = 0x0550
LONGEST_US = 750000


class Ds18b20:
    def __init__(self, world, rom="28ff4b6d9116041c", bits=12):
        self.faults = []
        self.rom = unhexlify(rom)
        self._world = world
        self._bits = bits
        self._sends = b""
        self._begun_us = None
        self._raw = POWER_ON

    def reset(self, now_us):
        self._sends = b""
        self._finish(now_us)

    def lose_power(self):
        self._raw, self._begun_us = POWER_ON, None

    def _finish(self, now_us):
        taken = LONGEST_US >> 12 - self._bits
        if self._begun_us is not None and now_us >= self._begun_us + taken:
            noise = (1 << 12 - self._bits) - 1  # the lowest bits mean nothing at a lower resolution
            self._raw = self._world(faults.stuck_at(self.faults, self._begun_us)) | noise
            self._begun_us = None

    def written(self, value, now_us):
        if value == CONVERT:
            late = faults.of(self.faults, "late", now_us) or 0
            self._begun_us = now_us + late * 1000
        elif value == READ:
            self._finish(now_us)
            raw = self._raw & 0xFFFF
            data = bytes((raw & 0xFF, raw >> 8, 0x4B, 0x46, (self._bits - 9) << 5 | 0x1F, 0xFF, 0x0C, 0x10))
            self._sends = faults.bent(self.faults, data + bytes((onewire.crc8(data),)), now_us)

    def byte(self, now_us):
        if not self._sends:
            return 0xFF
        value, self._sends = self._sends[0], self._sends[1:]
        return value
