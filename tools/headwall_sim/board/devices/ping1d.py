# A Blue Robotics Ping sonar, at the level of messages. world(now_us): the true distance in mm, or None for no echo,
# which it tells with confidence 0. It computes with the speed of sound that it was told, while sound goes at
# `true_mm_s`; it forgets it when its supply goes (off()). refuses: number of a message that it answers with a NACK.
import struct

from . import faults


def message(number, payload, source=1):
    head = struct.pack("<2sHHBB", b"BR", len(payload), number, source, 0) + payload
    return head + struct.pack("<H", sum(head) & 0xFFFF)


class Ping1d:
    baudrate = 115200

    def __init__(self, world, confidence=97, true_mm_s=1482000, version=(1, 0, 0), device_type=1, delay_ms=5):
        self.faults = []
        self.confidence = confidence
        self.true_mm_s = true_mm_s
        self.version = version
        self.device_type = device_type
        self.refuses = None
        self.sets = 0  # how often it was told a speed of sound
        self._world = world
        self._delay_us = delay_ms * 1000
        self._out = []
        self.off()

    def off(self):
        self.speed = 1500000

    def written(self, data, now_us):
        size, number = struct.unpack_from("<HH", data, 2)
        if len(data) != size + 10 or sum(data[:-2]) & 0xFFFF != struct.unpack_from("<H", data, size + 8)[0]:
            return
        payload = data[8:-2]
        reply = self._reply(number, payload, faults.stuck_at(self.faults, now_us))
        self._out.append((now_us + self._delay_us, reply))

    def _reply(self, number, payload, at_us):
        wanted = struct.unpack("<H", payload)[0] if number == 6 else number
        if wanted == self.refuses:
            return message(2, struct.pack("<H", wanted) + b"not now")
        if number == 1002:
            self.speed = struct.unpack("<I", payload)[0]
            self.sets += 1
            return message(1, struct.pack("<H", 1002))
        if wanted == 5:
            return message(5, bytes(self.version) + b"\0")
        if wanted == 4:
            return message(4, bytes((self.device_type, 1, 3, 29, 0, 0)))
        if wanted == 1203:
            return message(1203, struct.pack("<I", self.speed))
        if wanted == 1211:
            mm = self._world(at_us)
            told = 0 if mm is None else int(mm * self.speed // self.true_mm_s)
            return message(1211, struct.pack("<IB", told, 0 if mm is None else self.confidence))
        return message(2, struct.pack("<H", wanted) + b"unknown")

    def bursts(self, from_us, to_us):
        return faults.due(self._out, to_us)
