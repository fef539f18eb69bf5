# onewire as the ESP32 port has it frozen in, down to bytes; the devices at a pin are in _buses.wires.
#
# A device has `faults`, `rom` (8 bytes), `reset(now_us)`, `written(byte, now_us)` for what follows its selection, and
# `byte(now_us)` for the next one it sends.
import _buses
from devices import faults


class OneWireError(Exception):
    pass


class OneWire:
    SEARCH_ROM, MATCH_ROM, SKIP_ROM = 0xF0, 0x55, 0xCC

    def __init__(self, pin):
        self.pin = pin
        self._heard = None

    def _present(self):
        now = _buses.now_us()
        return [each for each in _buses.wires.get(self.pin.number, ()) if not faults.silent(each.faults, now)]

    def reset(self, required=False):
        self._heard = b""
        self._talking = []
        for each in self._present():
            each.reset(_buses.now_us())
        there = bool(self._present())
        if required and not there:
            raise OneWireError
        return there

    def writebyte(self, value):
        if self._heard is None or not self._select(value):
            return
        for each in self._talking:
            if each in self._present():
                each.written(value, _buses.now_us())

    def _select(self, value):
        # Whether devices are selected already; else this byte belongs to the selection.
        if self._talking:
            return True
        self._heard += bytes((value,))
        if self._heard[0] == self.SKIP_ROM:
            self._talking = self._present()
        elif self._heard[0] == self.MATCH_ROM and len(self._heard) == 9:
            self._talking = [each for each in self._present() if each.rom == self._heard[1:]]
        return False

    def write(self, data):
        for value in data:
            self.writebyte(value)

    def readbyte(self):
        # Devices that send at once pull the line down together.
        value = 0xFF
        for each in self._talking or ():
            if each in self._present():
                value &= each.byte(_buses.now_us())
        return value

    def readinto(self, buf):
        for i in range(len(buf)):
            buf[i] = self.readbyte()

    def select_rom(self, rom):
        self.reset()
        self.writebyte(self.MATCH_ROM)
        self.write(rom)

    def scan(self):
        return [bytearray(each.rom) for each in self._present()]

    def crc8(self, data):
        return crc8(data)


def crc8(data):
    # Dallas/Maxim: polynomial x^8 + x^5 + x^4 + 1, low bit first.
    crc = 0
    for value in data:
        crc ^= value
        for _ in range(8):
            crc = crc >> 1 ^ (0x8C if crc & 1 else 0)
    return crc
