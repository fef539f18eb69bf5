# A DS3231 at the level of registers. It runs on while the board has no power: `keep_in` gives it a file to last in.
# world(now_us): 1 while its battery is good; None or 0: it stands still, and says so.
import struct

_DAY_S = 86400


class Ds3231:
    def __init__(self, world, ppm=0):
        self.faults = []
        self._world = world
        self._ppm = ppm
        self._pointer = 0
        self._control = 0x1C
        self._file = None
        self._set_us, self._seconds, self._stopped = 0, 0, 1  # seconds since 2000 at that instant

    def keep_in(self, file):
        self._file = file
        kept = file.read(17)
        if any(kept):
            self._set_us, self._seconds, self._stopped = struct.unpack("<qqB", kept)

    def _keep(self):
        if self._file:
            self._file.seek(0)
            self._file.write(struct.pack("<qqB", self._set_us, self._seconds, self._stopped))

    def written(self, data, now_us):
        if not data:
            return
        self._pointer = data[0]
        registers = self._registers(now_us)
        for byte in data[1:]:
            registers[self._pointer] = byte
            self._pointer = (self._pointer + 1) % len(registers)
        if len(data) > 1:
            self._control = registers[0x0E]
            self._stopped = registers[0x0F] >> 7
            if data[0] <= 6:
                self._set_us, self._seconds = now_us, _seconds(registers)
            self._keep()

    def read(self, count, now_us):
        registers = self._registers(now_us)
        found = bytes(registers[(self._pointer + i) % len(registers)] for i in range(count))
        self._pointer = (self._pointer + count) % len(registers)
        return found

    def _registers(self, now_us):
        if not self._world(now_us):
            self._stopped = 1
            self._keep()
        passed_us = now_us - self._set_us
        seconds = self._seconds + (passed_us + passed_us * self._ppm // 1000000) // 1000000
        registers = bytearray(0x13)
        for at, value in enumerate(_parts(seconds)):
            registers[at] = value // 10 << 4 | value % 10
        registers[0x0E], registers[0x0F] = self._control, self._stopped << 7
        return registers


def _month_days(year):
    return (31, 29 if year % 4 == 0 else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _parts(seconds):
    # Seconds since 2000 as (second, minute, hour, weekday, day, month, year), a year of two digits.
    days, rest = divmod(seconds, _DAY_S)
    year, month, weekday = 0, 0, (days + 5) % 7 + 1
    while days >= sum(_month_days(year)):
        days -= sum(_month_days(year))
        year += 1
    while days >= _month_days(year)[month]:
        days -= _month_days(year)[month]
        month += 1
    return (rest % 60, rest // 60 % 60, rest // 3600, weekday, days + 1, month + 1, year % 100)


def _seconds(registers):
    second, minute, hour, _, day, month, year = [(each >> 4) * 10 + (each & 15) for each in registers[:7]]
    days = sum(sum(_month_days(each)) for each in range(year)) + sum(_month_days(year)[: month - 1]) + day - 1
    return days * _DAY_S + hour * 3600 + minute * 60 + second
