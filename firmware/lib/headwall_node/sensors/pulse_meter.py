"""A flow or water meter that gives pulses: how many since the board started, and how fast they came.

    range        up to `most_hz` pulses a second
    resolution   one pulse; frequency is the mean since the reading before, to a millionth of 1/s
    timing       counted by hardware all the time; a reading waits only for a whole second since the one before
    wiring       contact or open collector to ground with pull-up; a mechanical one needs 10 kilohm and 100 nF before
                 the pin, since the hardware counts its bounce; on mains only: the counter stands still in deep sleep
    source       ESP32 technical reference manual, pulse count controller

`pulses` begins at 0 with each start of the board: a fall is a new beginning, and what flowed between the last reading
and the end of the start is not counted. A reading of more pulses than `most_hz` allows is null "fault", and they are
not added. Whether nothing flows or the cable is cut cannot be told from pulses.
"""

import asyncio

from micropython import const

from ..analog import rounded
from ..decimal import text_of
from ..pulses import Pulses

_LEAST_MS = const(1000)
_DECIMALS = const(6)


class Driver:
    RESIDENT = True  # it counts between the readings

    def __init__(self, settings, rig):
        self._most_hz = settings["most_hz"]
        self._uptime_ms = rig.uptime_ms
        self._pulses = Pulses(settings)
        self._total = 0
        self._at = None

    def close(self):
        self._pulses.close()

    async def read(self):
        if self._at is None:
            self._at = self._uptime_ms()
            return [("pulses", self._total, None), ("frequency", None, "not_ready")]
        wait = self._at + _LEAST_MS - self._uptime_ms()
        if wait > 0:
            await asyncio.sleep_ms(wait)
        up = self._uptime_ms()
        passed, self._at = up - self._at, up
        new = self._pulses.take(self._most_hz * passed // 1000 + 1)
        if new is None:
            return [("pulses", None, "fault"), ("frequency", None, "fault")]
        self._total += new
        return [("pulses", self._total, None), ("frequency", text_of(rounded(new * 10**9, passed), _DECIMALS), None)]
