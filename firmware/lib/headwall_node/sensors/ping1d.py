"""Blue Robotics Ping sonar: distance through water to the top of the sludge, or from below to the bottom of the scum.

    range        500 mm (Ping2: 300 mm) to 30 m and more; beam 25 to 30 degrees wide
    resolution   1 mm; 0.5 % of the range
    timing       asked, answers within 50 ms what it measured last; it measures some ten times a second
    wiring       supply 5 V, some 100 mA; its TX (3.3 V) to `rx`, its RX to `tx`; 115200 8N1
    frame        "B" "R", u16 length, u16 number, source, destination, payload, u16 sum of all before; little-endian
    source       Blue Robotics Ping Protocol, messages common and ping1d

The sonar computes with the speed of sound that it is told (1002), so nothing is corrected here: this is the one place.
Before each reading it is asked which one it has (1203), since it forgets it when its supply goes. "confidence" is its
own word; `confidence_min` of it makes a measurement a value.

Both ways the distance is from the transducer's face. Looking down, an echo at `end_mm` is the floor, and a value: there
is no sludge. Looking up, an echo there is the liquid's surface: there is no scum, "no_layer". What seems to lie behind
`end_mm` has gone the way twice: "out_of_range".
"""

import asyncio
import struct

from micropython import const

from ..ultrasound import LOOK_MS, STALE_MS, agreed, median

_ACK_NOT = const(2)
_INFORMATION = const(4)
_VERSION = const(5)
_REQUEST = const(6)
_SET_SOUND = const(1002)
_SOUND = const(1203)
_DISTANCE = const(1211)

_ROOM = const(256)
_PAYLOAD = const(100)  # longer messages are not asked for
_REPLY_MS = const(300)
_ECHOSOUNDER = const(1)


def message(number, payload):
    """The bytes of one message."""
    head = struct.pack("<2sHHBB", b"BR", len(payload), number, 0, 0) + payload
    return head + struct.pack("<H", sum(head) & 0xFFFF)


def find_message(data):
    """(number, payload, offset behind it) of the first whole message with a right sum, or (None, None, offset from
    which on one may still begin)."""
    at, begun = 0, -1
    while at + 10 <= len(data):
        if data[at] == 0x42 and data[at + 1] == 0x52:
            size, number = struct.unpack_from("<HH", data, at + 2)
            end = at + 8 + size
            if size <= _PAYLOAD and end + 2 <= len(data):
                if sum(data[at:end]) & 0xFFFF == data[end] | data[end + 1] << 8:
                    return number, data[at + 8 : end], end + 2
            elif size <= _PAYLOAD and begun < 0:
                begun = at  # its rest may come, but a whole one may stand behind it
        at += 1
    return None, None, at if begun < 0 else begun


def sound_in_water(cel):
    """Speed of sound in mm/s in pure water of 0 to 95 degrees Celsius at one atmosphere (Marczak 1997)."""
    metres = 1402.385 + cel * (
        5.038813 + cel * (-5.799136e-2 + cel * (3.287156e-4 + cel * (-1.398845e-6 + cel * 2.787860e-9)))
    )
    return int(1000 * metres + 0.5)


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._rig = rig
        self._uart = rig.uart(settings, 115200, rxbuf=_ROOM)
        self._known = False  # that it is a Ping sonar whose protocol we speak
        self._heard = False

    def close(self):
        self._uart.deinit()

    async def read(self):
        self._heard = False
        speed = self._speed()
        if speed is None:
            return _nulls("not_ready")
        if not await self._is_ready(speed):
            self._known = False  # it may be another one when it is back
            return _nulls("bad_frame" if self._heard else "no_signal")
        found = []
        for _ in range(self._settings["median"]):
            data = await self._get(_DISTANCE, 5)
            if data and data[4] <= 100:
                found.append(struct.unpack("<IB", data))
            await asyncio.sleep_ms(self._settings["cycle_ms"])
        return self._reading(found)

    def _reading(self, found):
        settings = self._settings
        needed = settings["median"] // 2 + 1
        if len(found) < needed:
            return _nulls("bad_frame" if self._heard else "no_signal")
        confidence = "%d.%02d" % divmod(median([each[1] for each in found]), 100)
        sure = [mm for mm, percent in found if percent >= settings["confidence_min"]]
        if len(sure) < needed:
            value, reason = None, "low_confidence"
        else:
            value, reason = agreed(sure, needed, settings["spread_mm"])
        if value is not None:
            value, reason = _in_water(settings, value)
        return [("distance", value, reason), ("confidence", confidence, None)]

    def _speed(self):
        """Speed of sound in mm/s that the settings want now, or None: the water's temperature is not known."""
        settings = self._settings
        if settings["sound"] == "fixed":
            return settings["sound_m_s"] * 1000
        water = self._rig.newest(settings["temperature_from"], STALE_MS)
        if water is None or not 0 <= float(water) <= 95:
            return None
        return sound_in_water(float(water))

    async def _is_ready(self, speed):
        """Whether it answers and computes with this speed of sound; OSError if it is another device or refuses."""
        if not self._known:
            version = await self._get(_VERSION, 4)
            if version is None:
                return False
            if version[0] != 1:
                raise OSError("it speaks version %d.%d.%d of the Ping protocol, not 1" % tuple(version[:3]))
            information = await self._get(_INFORMATION, 6)
            if information is None:
                return False
            if information[0] != _ECHOSOUNDER:
                raise OSError("it is device type %d, no Ping echosounder" % information[0])
            self._known = True
        has = await self._get(_SOUND, 4)
        if has is None or struct.unpack("<I", has)[0] == speed:
            return has is not None
        self._uart.write(message(_SET_SOUND, struct.pack("<I", speed)))
        has = await self._get(_SOUND, 4)
        if has is None:
            return False
        if struct.unpack("<I", has)[0] != speed:
            raise OSError("it does not take the speed of sound: %d mm/s" % speed)
        await asyncio.sleep_ms(self._settings["cycle_ms"])  # its newest measurement is of the old one
        return True

    async def _get(self, number, size):
        """Payload of the message that is asked for, or None: it does not come in time."""
        uart = self._uart
        uart.read(_ROOM)  # what is older
        uart.write(message(_REQUEST, struct.pack("<H", number)))
        left = b""
        for _ in range(_REPLY_MS // LOOK_MS):
            await asyncio.sleep_ms(LOOK_MS)
            got = uart.read(_ROOM)
            if not got:
                continue
            self._heard = True
            left += got
            told, payload, at = find_message(left)
            while told is not None:
                if told == number and len(payload) == size:
                    return payload
                if told == _ACK_NOT and len(payload) >= 2:
                    raise OSError("it refuses message %d: %s" % (payload[0] | payload[1] << 8, bytes(payload[2:])))
                left = left[at:]
                told, payload, at = find_message(left)
            left = left[at:]
        return None


def _in_water(settings, mm):
    """(decimal text in m, None) of the distance to an echo, or (None, reason)."""
    end, margin = settings["end_mm"], settings["margin_mm"]
    if mm < settings["blind_mm"]:
        return None, "blind_zone"
    if mm > settings["range_mm"] or (end and mm > end + margin):
        return None, "out_of_range"
    if end and settings["looks"] == "up" and mm >= end - margin:
        return None, "no_layer"
    return "%d.%03d" % divmod(mm, 1000), None


def _nulls(reason):
    return [("distance", None, reason), ("confidence", None, reason)]
