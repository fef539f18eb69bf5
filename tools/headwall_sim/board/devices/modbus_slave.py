# An instrument on RS-485 with a register map, at the level of frames.
#
# registers: (function, register) -> function of the instant that gives 16 bits. With `world` it holds one value there:
# kind as in the node's settings, scale: counts a unit. echoes: the board hears its own request, as with a transceiver
# whose receiver stays on.
import struct

from . import faults

CODES = {"u16": ">H", "s16": ">h", "u32": ">I", "s32": ">i", "f32": ">f"}


def crc16(data):
    # Of Modbus over serial line, 2.5.1.2. The model has its own: the program's must not check itself.
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc


class ModbusSlave:
    def __init__(
        self,
        world=None,
        address=1,
        baudrate=9600,
        function=3,
        register=0,
        kind="f32",
        scale=1,
        delay_ms=20,
        echoes=False,
    ):
        self.faults = []
        self.baudrate = baudrate
        self.address = address
        self.registers = {}
        self.exception = None  # code that it answers with, whatever is asked
        self._delay_us = delay_ms * 1000
        self._echoes = echoes
        self._out = []
        if world is not None:
            self.hold(world, function, register, kind, scale)

    def hold(self, world, function, register, kind, scale=1):
        words = struct.calcsize(CODES[kind]) // 2
        for i in range(words):
            self.registers[function, register + i] = lambda us, i=i: self._word(world(us), kind, scale, i)

    def _word(self, value, kind, scale, i):
        value = value * scale if kind == "f32" else int(value * scale)
        return struct.unpack_from(">H", struct.pack(CODES[kind], value), 2 * i)[0]

    def written(self, data, now_us):
        if self._echoes:
            self._out.append((now_us + 1000, data))
        if len(data) != 8 or struct.unpack_from("<H", data, 6)[0] != crc16(data[:6]) or data[0] != self.address:
            return
        _, function, register, count = struct.unpack_from(">BBHH", data)
        reply = self._reply(function, register, count, faults.stuck_at(self.faults, now_us))
        self._out.append((now_us + self._delay_us, reply + struct.pack("<H", crc16(reply))))

    def _reply(self, function, register, count, at_us):
        wanted = [(function, register + i) for i in range(count)]
        code = self.exception or (None if all(each in self.registers for each in wanted) else 2)
        if code:
            return bytes((self.address, function | 0x80, code))
        data = b"".join(struct.pack(">H", self.registers[each](at_us) & 0xFFFF) for each in wanted)
        return bytes((self.address, function, len(data))) + data

    def bursts(self, from_us, to_us):
        return faults.due(self._out, to_us)
