"""A02YYUW and its twins: waterproof ultrasonic rangers that send frames by themselves over a UART.

    range        30 to 4,500 mm (A02YYUW); SEN0627: 300 to 5,000 mm, frames in centimetres
    resolution   1 mm (SEN0627: 10 mm)
    timing       a frame every 100 to 300 ms, at 9600 8N1; after supply the first one in 500 ms
    wiring       supply 3.3 to 5 V, sensor's TX to `rx`; its RX to `tx`, which is held high: averaged values
    frame        FF high low sum, sum = (FF + high + low) & FF; value in the unit of the model
    source       DFRobot wiki SEN0311 (A02YYUW) and SEN0627

A frame of a value below the blind zone is told as such, one of 0 as no echo: the sensor sends it for both. The
distance of `sound` "node" is corrected here, once, for the air's temperature of another stream; a sensor that
corrects itself is left alone.
"""

import asyncio

from micropython import const

from ..ultrasound import corrected_mm, median

_HEAD = const(0xFF)
_LOOK_MS = const(20)
_STALE_MS = const(900000)  # an older temperature is none
_READ = const(64)


def find_frame(data, start=0):
    """(value, offset behind its frame) of the first whole frame with a right sum from `start` on, or (None, offset
    from which on a frame may still begin)."""
    at = start
    while at + 4 <= len(data):
        if data[at] == _HEAD and (_HEAD + data[at + 1] + data[at + 2]) & 0xFF == data[at + 3]:
            return data[at + 1] << 8 | data[at + 2], at + 4
        at += 1
    return None, at


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._rig = rig
        self._uart = rig.uart(settings, 9600, rxbuf=256)

    def close(self):
        self._uart.deinit()

    async def read(self):
        settings = self._settings
        values, heard = await self._values()
        if not values:
            return [("distance", None, "bad_frame" if heard else "no_signal")]
        raw = median(values)
        if raw == 0:
            return [("distance", None, "no_echo")]
        if settings["unit"] == "cm":
            raw *= 10
        if raw < settings["blind_mm"]:
            return [("distance", None, "blind_zone")]
        if raw > settings["range_mm"]:
            return [("distance", None, "out_of_range")]
        if settings["sound"] == "node":
            air = self._rig.newest(settings["temperature_from"], _STALE_MS)
            if air is None:
                return [("distance", None, "not_ready")]
            raw = corrected_mm(raw, air, settings["assumed_cel"])
        return [("distance", "%d.%03d" % divmod(raw, 1000), None)]

    async def _values(self):
        """Values of `median` frames that come from now on, and whether any byte came; fewer if they do not come."""
        uart, wanted = self._uart, self._settings["median"]
        uart.read(256)  # what is older
        waits = (self._settings["timeout_ms"] - 100) // _LOOK_MS
        values, left, heard = [], b"", False
        while len(values) < wanted and waits > 0:
            waits -= 1
            await asyncio.sleep_ms(_LOOK_MS)
            got = uart.read(_READ)
            if not got:
                continue
            heard = True
            left += got
            at = 0
            while True:
                value, at = find_frame(left, at)
                if value is None:
                    break
                values.append(value)
            left = left[at:]
        return (values if len(values) >= wanted else []), heard
